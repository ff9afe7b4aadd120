/* SPDX-License-Identifier: Apache-2.0 */
/*
 * DOC: Queues of waiting threads
 *
 * Every lock, condition, semaphore and futex has a queue, named by its address, in order of
 * arrival. A waiter waits on a key of its own (its entry's address), so whoever wakes chooses whom:
 * the first. Threads under the clock arrive in an order that is the same in every run, therefore
 * they leave in one, too.
 *
 * Cost: a wake without waiters is one load. A wait charges PROTO_CHARGE_SYNC, a wake that finds
 * somebody charges it again; locks that nobody waits for are free, since every allocation takes
 * some.
 *
 * Threads from before the process joined ("loose") run in real time and have no actor to wake with.
 * While there are any, and for objects shared with other processes, a waiter counts as waiting for
 * the outside: it is asked now and then whether its entry is marked. That is slower and its order
 * is not guaranteed, so results count as reproducible in practice only. Entries are atomic for the
 * sake of these threads.
 */
#include "verbs-shim/shim/libc/sync.h"

#include <stdatomic.h>
#include <stddef.h>

#define WAITERS_MAX ((size_t)2 * PROTO_CLIENT_ACTORS)

struct sync_waiter {
    _Atomic uintptr_t key; /* 0: free */
    _Atomic bool is_woken;
    bool is_outside;
    pthread_t thread;
    _Atomic uint64_t number; /* order of arrival */
};

static struct sync_waiter waiters[WAITERS_MAX];
static uint64_t arrivals;
static _Atomic uint32_t waiting;

void sync_forget_all(void)
{
    for (size_t i = 0; i < WAITERS_MAX; i++)
        atomic_store(&waiters[i].key, 0);
    atomic_store(&waiting, 0);
}

struct sync_waiter *sync_enter(const void *key, bool is_shared)
{
    for (size_t i = 0; i < WAITERS_MAX; i++) {
        struct sync_waiter *w = &waiters[i];

        if (atomic_load(&w->key) != 0)
            continue;
        atomic_store(&w->is_woken, false);
        atomic_store(&w->number, ++arrivals);
        w->thread = pthread_self();
        w->is_outside = is_shared || client_has_loose();
        atomic_store(&w->key, (uintptr_t)key);
        atomic_fetch_add(&waiting, 1);
        return w;
    }
    return NULL;
}

void sync_leave(struct sync_waiter *w)
{
    if (!w)
        return;
    atomic_store(&w->key, 0);
    atomic_fetch_sub(&waiting, 1);
}

bool sync_is_woken(const struct sync_waiter *w)
{
    return atomic_load(&w->is_woken);
}

static bool try_woken(void *ctx)
{
    return sync_is_woken(ctx);
}

static enum wait_end wait_inside(struct actor *a, struct sync_waiter *w, simtime deadline)
{
    for (;;) {
        enum alarm_effect effect = alarm_fire(a);

        if (try_woken(w))
            return WAIT_DONE;
        if (effect != ALARM_NONE)
            return effect == ALARM_HANDLED ? WAIT_SIGNAL : WAIT_RESTART;
        if (actor_now(a).ps >= deadline.ps)
            return WAIT_TIMEOUT;
        (void)actor_wait(a, (uintptr_t)w, simtime_min(deadline, alarm_next(a)));
    }
}

enum wait_end sync_wait(struct actor *a, struct sync_waiter *w, simtime deadline)
{
    enum wait_end end;

    if (!w) {
        actor_charge(a, PROTO_CHARGE_SYNC, 1);
        return WAIT_DONE;
    }
    end = w->is_outside ? wait_outside(a, try_woken, w, deadline) : wait_inside(a, w, deadline);
    /* A wake that came together with the end of the time counts: it is spent on this waiter. */
    if (try_woken(w))
        end = WAIT_DONE;
    sync_leave(w);
    if (end == WAIT_DONE)
        actor_charge(a, PROTO_CHARGE_SYNC, 1);
    return end;
}

/* The first of the queue that has not been woken yet; NULL: none. */
static struct sync_waiter *find_first(const void *key)
{
    struct sync_waiter *first = NULL;

    for (size_t i = 0; i < WAITERS_MAX; i++) {
        struct sync_waiter *w = &waiters[i];

        if (atomic_load(&w->key) == (uintptr_t)key && !atomic_load(&w->is_woken) &&
            (!first || atomic_load(&w->number) < atomic_load(&first->number)))
            first = w;
    }
    return first;
}

static void wake_one(struct actor *a, struct sync_waiter *w)
{
    atomic_store(&w->is_woken, true);
    if (!a)
        return;
    if (w->is_outside)
        actor_acted_outside(a);
    else
        actor_wake(a, (uintptr_t)w, 1);
}

void sync_wake_thread(struct actor *a, pthread_t thread)
{
    for (size_t i = 0; i < WAITERS_MAX; i++) {
        if (atomic_load(&waiters[i].key) != 0 && pthread_equal(waiters[i].thread, thread))
            wake_one(a, &waiters[i]);
    }
}

uint32_t sync_wake(struct actor *a, const void *key, uint32_t count)
{
    uint32_t woken = 0;

    if (atomic_load(&waiting) == 0 || !find_first(key))
        return 0;
    if (a)
        actor_charge(a, PROTO_CHARGE_SYNC, 1);
    while (woken < count) {
        struct sync_waiter *w = find_first(key);

        if (!w)
            break;
        woken++;
        wake_one(a, w);
    }
    return woken;
}

uint32_t sync_requeue(const void *from, const void *to, uint32_t count)
{
    uint32_t moved = 0;

    while (moved < count) {
        struct sync_waiter *w = find_first(from);

        if (!w)
            break;
        atomic_store(&w->key, (uintptr_t)to);
        moved++;
    }
    return moved;
}
