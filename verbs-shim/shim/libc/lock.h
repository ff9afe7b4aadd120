/* SPDX-License-Identifier: Apache-2.0 */
/* Taking something that one can also try to take. */
#ifndef VERBS_SHIM_SHIM_LIBC_LOCK_H
#define VERBS_SHIM_SHIM_LIBC_LOCK_H

#include <stdbool.h>

#include "verbs-shim/shim/actor.h"

struct lock {
    void *object;             /* borrowed */
    int (*try)(void *object); /* 0, EBUSY, or what went wrong */
    bool is_shared;           /* with other processes */
    bool is_interruptible;    /* a handler ends the wait with EINTR */
};

/* 0, ETIMEDOUT, EINTR or what `try` said. */
int lock_take(struct actor *a, const struct lock *lock, simtime deadline);
/* After the real release: wakes `count` who wait. `a` may be NULL. */
void lock_released(struct actor *a, const void *object, bool is_shared, uint32_t count);

#endif
