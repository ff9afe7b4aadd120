/* SPDX-License-Identifier: Apache-2.0 */
/*
 * DOC: Conditions, barriers, once
 *
 * An actor that waits for a condition is in its queue (sync.c) before it gives the mutex back, so
 * no signal is lost; it never enters the C library's own queue. A signal goes to both: to the first
 * actor, and, if there is none, to the C library for threads outside the clock.
 *
 * A condition that processes share cannot tell what happened elsewhere: a wait for it ends, as if
 * by chance, whenever something happened outside. POSIX allows that, and callers look again.
 *
 * A barrier uses the C library's memory with a simpler rule: `in` counts arrivals, the last one
 * resets it and begins a new round.
 */
#include <errno.h>
#include <stdatomic.h>

#include "verbs-shim/shim/libc/lock.h"
#include "verbs-shim/shim/libc/real.h"
#include "verbs-shim/shim/libc/sync.h"
#include "verbs-shim/shim/libc/vclock.h"

#define COND_SHARED    1U /* bits of pthread_cond_t's __wrefs */
#define COND_MONOTONIC 2U

static bool try_again(void *ctx)
{
    int *calls = ctx;

    return ++*calls > 2;
}

static int cond_wait_until(struct actor *a, pthread_cond_t *c, pthread_mutex_t *m, simtime deadline)
{
    bool is_shared = (c->__data.__wrefs & COND_SHARED) != 0;
    struct sync_waiter *w;
    enum wait_end end;
    int error;

    pthread_testcancel();
    w = is_shared ? NULL : sync_enter(c, false);
    error = pthread_mutex_unlock(m);
    if (error) {
        sync_leave(w);
        return error;
    }
    actor_charge(a, PROTO_CHARGE_SYNC, 1);
    if (is_shared) {
        int calls = 0;

        end = wait_outside(a, try_again, &calls, deadline);
    } else {
        end = sync_wait(a, w, deadline);
    }
    error = pthread_mutex_lock(m);
    pthread_testcancel();
    if (error)
        return error;
    return end == WAIT_TIMEOUT ? ETIMEDOUT : 0;
}

SHIM_EXPORT int pthread_cond_wait(pthread_cond_t *restrict c, pthread_mutex_t *restrict m)
{
    struct actor *a = actor_self();

    return a ? cond_wait_until(a, c, m, simtime_never()) : REAL(pthread_cond_wait)(c, m);
}

SHIM_EXPORT int pthread_cond_clockwait(pthread_cond_t *restrict c, pthread_mutex_t *restrict m,
                                       clockid_t clock, const struct timespec *restrict when)
{
    struct actor *a = actor_self();

    if (!a)
        return REAL(pthread_cond_clockwait)(c, m, clock, when);
    if (when->tv_nsec < 0 || when->tv_nsec >= 1000000000L ||
        (clock != CLOCK_REALTIME && clock != CLOCK_MONOTONIC))
        return EINVAL;
    return cond_wait_until(a, c, m, vclock_read(clock, when));
}

SHIM_EXPORT int pthread_cond_timedwait(pthread_cond_t *restrict c, pthread_mutex_t *restrict m,
                                       const struct timespec *restrict when)
{
    clockid_t clock = c->__data.__wrefs & COND_MONOTONIC ? CLOCK_MONOTONIC : CLOCK_REALTIME;

    return actor_self() ? pthread_cond_clockwait(c, m, clock, when)
                        : REAL(pthread_cond_timedwait)(c, m, when);
}

SHIM_EXPORT int pthread_cond_signal(pthread_cond_t *c)
{
    struct actor *a = actor_self();

    if (a && (c->__data.__wrefs & COND_SHARED))
        actor_acted_outside(a);
    if (sync_wake(a, c, 1) > 0)
        return 0;
    return REAL(pthread_cond_signal)(c);
}

SHIM_EXPORT int pthread_cond_broadcast(pthread_cond_t *c)
{
    struct actor *a = actor_self();
    int error = REAL(pthread_cond_broadcast)(c);

    if (a && (c->__data.__wrefs & COND_SHARED))
        actor_acted_outside(a);
    (void)sync_wake(a, c, UINT32_MAX);
    return error;
}

/* The C library's pthread_barrier_t. */
struct barrier {
    _Atomic unsigned in;
    _Atomic unsigned round;
    unsigned count;
    int shared;
    unsigned out;
};

static_assert(sizeof(struct barrier) <= sizeof(pthread_barrier_t), "it lies inside");

struct barrier_wait {
    struct barrier *barrier; /* borrowed */
    unsigned round;
};

static bool try_barrier(void *ctx)
{
    const struct barrier_wait *wait = ctx;

    return atomic_load(&wait->barrier->round) != wait->round;
}

SHIM_EXPORT int pthread_barrier_wait(pthread_barrier_t *object)
{
    struct actor *a = actor_self();
    struct barrier_wait wait;
    void *bytes = object;
    struct barrier *b;

    if (!a)
        return REAL(pthread_barrier_wait)(object);
    b = bytes;
    wait = (struct barrier_wait){.barrier = b, .round = atomic_load(&b->round)};
    if (atomic_fetch_add(&b->in, 1) + 1 == b->count) {
        bool is_shared = b->shared != 0;

        atomic_store(&b->in, 0);
        atomic_fetch_add(&b->round, 1);
        lock_released(a, object, is_shared, UINT32_MAX);
        return PTHREAD_BARRIER_SERIAL_THREAD;
    }
    actor_charge(a, PROTO_CHARGE_SYNC, 1);
    while (!try_barrier(&wait)) {
        if (b->shared)
            (void)wait_outside(a, try_barrier, &wait, simtime_never());
        else
            (void)sync_wait(a, sync_enter(object, false), simtime_never());
    }
    return 0;
}

#define ONCE_RUNNING 1
#define ONCE_DONE    2

static int once_state(const pthread_once_t *once)
{
    return __atomic_load_n(once, __ATOMIC_ACQUIRE);
}

/* Also when the function left by an exception: then the next in the queue runs it. */
static void once_left(pthread_once_t **once)
{
    (void)sync_wake(actor_self(), *once, UINT32_MAX);
}

SHIM_EXPORT int pthread_once(pthread_once_t *once, void (*run)(void))
{
    struct actor *a = actor_self();

    if (once_state(once) & ONCE_DONE)
        return 0;
    if (a) {
        while ((once_state(once) & (ONCE_RUNNING | ONCE_DONE)) == ONCE_RUNNING) {
            struct sync_waiter *w = sync_enter(once, false);

            if (once_state(once) & ONCE_DONE)
                sync_leave(w);
            else
                (void)sync_wait(a, w, simtime_never());
        }
    }
    {
        __attribute__((cleanup(once_left))) pthread_once_t *leaving = once;

        return REAL(pthread_once)(leaving, run);
    }
}
