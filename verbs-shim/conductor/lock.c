/* SPDX-License-Identifier: Apache-2.0 */
/*
 * DOC: The hub's lock, seen from the conductor
 *
 * The word holds the owner's thread id, and PROTO_LOCK_WAITERS once somebody sleeps on it. A client
 * may be killed while it owns it; nobody but the conductor can find out, because a client cannot
 * tell a slow owner from a dead one. The shim has the other half in shim/core/lock.c.
 */
#define _GNU_SOURCE

#include "verbs-shim/conductor/lock.h"

#include <linux/futex.h>
#include <stdatomic.h>
#include <stddef.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "verbs-shim/conductor/proc.h"
#include "verbs-shim/proto/proto.h"

#define WAIT_MS 20
/* An owner needs microseconds; one that was stopped or swapped out gets this many times 20 ms. */
#define WAITS_MAX 150

static void futex_wait(_Atomic uint32_t *word, uint32_t value)
{
    const struct timespec limit = {.tv_nsec = WAIT_MS * 1000000L};

    (void)syscall(SYS_futex, word, FUTEX_WAIT, value, &limit, NULL, 0);
}

static void futex_wake(_Atomic uint32_t *word)
{
    (void)syscall(SYS_futex, word, FUTEX_WAKE, 1, NULL, NULL, 0);
}

pid_t lock_take(_Atomic uint32_t *lock)
{
    uint32_t own = (uint32_t)gettid();
    uint32_t seen = 0;
    uint32_t before = 0;
    int waits = 0;

    while (!atomic_compare_exchange_strong(lock, &seen, own)) {
        uint32_t marked = seen | PROTO_LOCK_WAITERS;

        if (seen != marked && !atomic_compare_exchange_strong(lock, &seen, marked)) {
            seen = 0;
            continue;
        }
        futex_wait(lock, marked);
        waits = marked == before ? waits + 1 : 0;
        before = marked;
        if (waits > 0 && atomic_load(lock) == marked &&
            (waits > WAITS_MAX || !proc_is_alive((pid_t)(marked & ~PROTO_LOCK_WAITERS))))
            return (pid_t)(marked & ~PROTO_LOCK_WAITERS);
        own |= PROTO_LOCK_WAITERS; /* others may wait still */
        seen = 0;
    }
    return 0;
}

void lock_give(_Atomic uint32_t *lock)
{
    if (atomic_exchange(lock, 0) & PROTO_LOCK_WAITERS)
        futex_wake(lock);
}

void lock_wake_turn(_Atomic uint32_t *turn, _Atomic uint32_t *is_sleeping)
{
    /* Pairs with the sleeper, who stores is_sleeping and then reads turn. */
    atomic_store(turn, 1);
    if (atomic_load(is_sleeping))
        futex_wake(turn);
}
