/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The hub's lock: the owner's thread id, so that the conductor can tell who died with it. Taken
 * for the microsecond that a step of the scheduler lasts; with strict turns nobody ever waits.
 */
#include <stdatomic.h>
#include <stdint.h>

#include "verbs-shim/proto/proto.h"
#include "verbs-shim/shim/core/client.h"
#include "verbs-shim/shim/core/sys.h"

#define WAIT_MS 500

void hub_lock(uint32_t own)
{
    _Atomic uint32_t *lock = &client.hub->lock;
    uint32_t seen = 0;

    while (!atomic_compare_exchange_strong_explicit(lock, &seen, own, memory_order_acquire,
                                                    memory_order_relaxed)) {
        if (!(seen & PROTO_LOCK_WAITERS) &&
            !atomic_compare_exchange_strong_explicit(lock, &seen, seen | PROTO_LOCK_WAITERS,
                                                     memory_order_relaxed, memory_order_relaxed)) {
            seen = 0;
            continue;
        }
        sys_futex_wait(lock, seen | PROTO_LOCK_WAITERS, WAIT_MS);
        if (sys_is_hung_up(client.socket))
            sys_die();
        /* Others may wait still: keep their mark. */
        own |= PROTO_LOCK_WAITERS;
        seen = 0;
    }
}

void hub_unlock(void)
{
    _Atomic uint32_t *lock = &client.hub->lock;

    if (atomic_exchange_explicit(lock, 0, memory_order_release) & PROTO_LOCK_WAITERS)
        sys_futex_wake(lock, 1);
}
