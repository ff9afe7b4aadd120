/* SPDX-License-Identifier: Apache-2.0 */
/* The hub's lock as the conductor takes it: never for ever. */
#ifndef VERBS_SHIM_CONDUCTOR_LOCK_H
#define VERBS_SHIM_CONDUCTOR_LOCK_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/*
 * Takes the lock.
 *
 * Returns: 0, or the thread id of an owner that died with it or holds it for seconds.
 */
pid_t lock_take(_Atomic uint32_t *lock);
void lock_give(_Atomic uint32_t *lock);

/* Gives an actor's channel the turn and wakes who sleeps on it. */
void lock_wake_turn(_Atomic uint32_t *turn, _Atomic uint32_t *is_sleeping);

#endif
