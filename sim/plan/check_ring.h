/* SPDX-License-Identifier: Apache-2.0 */
/* A ring through all machines, if their cables allow one. */
#ifndef SIM_PLAN_CHECK_RING_H
#define SIM_PLAN_CHECK_RING_H

#include <stdbool.h>
#include <stddef.h>

#define RING_MACHINES_MAX 64U

/*
 * Looks for an order of n machines in which neighbours, the last and the first included, are
 * linked; machine 0 stays first, and among several orders the least is taken.
 *
 * Returns:  true and ret[n]; false when there is none, n is below 2 or above RING_MACHINES_MAX, or
 *           the search was given up after a fixed number of steps.
 * Shape:    linked[n * n], symmetric.
 */
bool ring_find(const bool *linked, size_t n, size_t *ret);

#endif
