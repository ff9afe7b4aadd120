/* SPDX-License-Identifier: Apache-2.0 */
/* Manners of a guest in a stranger's process: one way to get memory, one way to say something. */
#ifndef VERBS_SHIM_SHIM_GUEST_H
#define VERBS_SHIM_SHIM_GUEST_H

#include <stddef.h>

#include "verbs-shim/shim/export.h"

/* Zeroed memory, or NULL and errno ENOMEM. TBMESH_FAIL_ALLOC=n makes the n-th call of a process
 * fail (n from 1), for tests. */
SHIM_EXPORT void *shim_alloc(size_t bytes);
/* NULL is fine. */
SHIM_EXPORT void shim_free(void *p);

/* One line on stderr by one write(2), with "tbmesh: rank N: " in front. Only for what a user must
 * know. Formats %s %d %u %lu %lx %%, nothing else; async-signal-safe; leaves errno alone. */
SHIM_EXPORT void shim_log(const char *format, ...) __attribute__((format(printf, 1, 2)));

#endif
