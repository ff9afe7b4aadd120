/* SPDX-License-Identifier: Apache-2.0 */
/*
 * DOC: Locks
 *
 * The lock's state stays where the C library keeps it: an actor takes it with the real trylock, so
 * a lock taken before the process joined can be given back afterwards, and threads outside the
 * clock use it at the same time. Only the waiting is ours (sync.c). Without contention a lock costs
 * nothing in virtual time.
 *
 * A lock that other processes share is asked for now and then; its release tells everybody outside.
 */
#include "verbs-shim/shim/libc/lock.h"

#include <errno.h>
#include <string.h>
#include <sys/syscall.h>

#include "verbs-shim/shim/libc/real.h"
#include "verbs-shim/shim/libc/sync.h"
#include "verbs-shim/shim/libc/vclock.h"

#define KIND_SHARED                                                              \
    INT32_C(128) /* of pthread_mutex_t's __kind; sem_t's flag has the same value \
                  */
#define KIND_TYPE INT32_C(3)

struct attempt {
    const struct lock *lock; /* borrowed */
    int result;
};

static bool try_lock(void *ctx)
{
    struct attempt *attempt = ctx;

    attempt->result = attempt->lock->try(attempt->lock->object);
    return attempt->result != EBUSY;
}

/* One wait for a chance; what is known afterwards. */
static enum wait_end wait_chance(struct actor *a, struct attempt *attempt, simtime deadline)
{
    const struct lock *lock = attempt->lock;
    struct sync_waiter *w;

    if (lock->is_shared)
        return wait_outside(a, try_lock, attempt, deadline);
    /* First the queue, then the look: a thread beside the clock may release in between. */
    w = sync_enter(lock->object, false);
    if (try_lock(attempt)) {
        sync_leave(w);
        return WAIT_DONE;
    }
    return sync_wait(a, w, deadline);
}

int lock_take(struct actor *a, const struct lock *lock, simtime deadline)
{
    struct attempt attempt = {.lock = lock};

    if (try_lock(&attempt))
        return attempt.result;
    actor_charge(a, PROTO_CHARGE_SYNC, 1);
    for (;;) {
        enum wait_end end;

        if (lock->is_interruptible)
            pthread_testcancel();
        end = wait_chance(a, &attempt, deadline);
        if (attempt.result != EBUSY || try_lock(&attempt))
            return attempt.result;
        if (end == WAIT_TIMEOUT)
            return ETIMEDOUT;
        if (end == WAIT_SIGNAL && lock->is_interruptible)
            return EINTR;
    }
}

void lock_released(struct actor *a, const void *object, bool is_shared, uint32_t count)
{
    (void)sync_wake(a, object, count);
    if (a && is_shared)
        actor_acted_outside(a);
}

static bool is_time(const struct timespec *when)
{
    return when->tv_nsec >= 0 && when->tv_nsec < 1000000000L;
}

/* Books a lock that was taken. */
static int counted(struct actor *a, int error)
{
    if (error == 0)
        actor_count_lock(a, 1);
    return error;
}

static int try_mutex(void *object)
{
    return REAL(pthread_mutex_trylock)(object);
}

static bool mutex_is_shared(const pthread_mutex_t *m)
{
    return (m->__data.__kind & KIND_SHARED) != 0;
}

/* A second lock by the owner of a mutex that checks for it fails; a try would only be busy. */
static bool is_own_checked(const pthread_mutex_t *m)
{
    return (m->__data.__kind & KIND_TYPE) == PTHREAD_MUTEX_ERRORCHECK &&
           m->__data.__owner == (int)REAL(syscall)(SYS_gettid);
}

static int mutex_take(struct actor *a, pthread_mutex_t *m, simtime deadline)
{
    struct lock lock = {.object = m, .try = try_mutex, .is_shared = mutex_is_shared(m)};

    if (is_own_checked(m))
        return REAL(pthread_mutex_lock)(m);
    return counted(a, lock_take(a, &lock, deadline));
}

SHIM_EXPORT int pthread_mutex_trylock(pthread_mutex_t *m)
{
    return counted(actor_self(), REAL(pthread_mutex_trylock)(m));
}

SHIM_EXPORT int pthread_mutex_lock(pthread_mutex_t *m)
{
    struct actor *a = actor_self();

    return a ? mutex_take(a, m, simtime_never()) : REAL(pthread_mutex_lock)(m);
}

SHIM_EXPORT int pthread_mutex_clocklock(pthread_mutex_t *m, clockid_t clock,
                                        const struct timespec *when)
{
    struct actor *a = actor_self();

    if (!a || !is_time(when) || (clock != CLOCK_REALTIME && clock != CLOCK_MONOTONIC))
        return REAL(pthread_mutex_clocklock)(m, clock, when);
    return mutex_take(a, m, vclock_read(clock, when));
}

SHIM_EXPORT int pthread_mutex_timedlock(pthread_mutex_t *restrict m,
                                        const struct timespec *restrict when)
{
    return actor_self() ? pthread_mutex_clocklock(m, CLOCK_REALTIME, when)
                        : REAL(pthread_mutex_timedlock)(m, when);
}

SHIM_EXPORT int pthread_mutex_unlock(pthread_mutex_t *m)
{
    bool is_shared = mutex_is_shared(m);
    int error = REAL(pthread_mutex_unlock)(m);

    /* The mutex may be gone by now: only its address counts. */
    if (error == 0) {
        actor_count_lock(actor_self(), -1);
        lock_released(actor_self(), m, is_shared, 1);
    }
    return error;
}

static int try_read(void *object)
{
    return REAL(pthread_rwlock_tryrdlock)(object);
}

static int try_write(void *object)
{
    return REAL(pthread_rwlock_trywrlock)(object);
}

static int rwlock_take(struct actor *a, pthread_rwlock_t *l, int (*try)(void *), simtime deadline)
{
    struct lock lock = {.object = l, .try = try, .is_shared = l->__data.__shared != 0};

    if (l->__data.__cur_writer == (int)REAL(syscall)(SYS_gettid))
        return EDEADLK;
    return counted(a, lock_take(a, &lock, deadline));
}

SHIM_EXPORT int pthread_rwlock_tryrdlock(pthread_rwlock_t *l)
{
    return counted(actor_self(), REAL(pthread_rwlock_tryrdlock)(l));
}

SHIM_EXPORT int pthread_rwlock_trywrlock(pthread_rwlock_t *l)
{
    return counted(actor_self(), REAL(pthread_rwlock_trywrlock)(l));
}

SHIM_EXPORT int pthread_rwlock_rdlock(pthread_rwlock_t *l)
{
    struct actor *a = actor_self();

    return a ? rwlock_take(a, l, try_read, simtime_never()) : REAL(pthread_rwlock_rdlock)(l);
}

SHIM_EXPORT int pthread_rwlock_wrlock(pthread_rwlock_t *l)
{
    struct actor *a = actor_self();

    return a ? rwlock_take(a, l, try_write, simtime_never()) : REAL(pthread_rwlock_wrlock)(l);
}

SHIM_EXPORT int pthread_rwlock_clockrdlock(pthread_rwlock_t *restrict l, clockid_t clock,
                                           const struct timespec *restrict when)
{
    struct actor *a = actor_self();

    if (!a || !is_time(when))
        return REAL(pthread_rwlock_clockrdlock)(l, clock, when);
    return rwlock_take(a, l, try_read, vclock_read(clock, when));
}

SHIM_EXPORT int pthread_rwlock_clockwrlock(pthread_rwlock_t *restrict l, clockid_t clock,
                                           const struct timespec *restrict when)
{
    struct actor *a = actor_self();

    if (!a || !is_time(when))
        return REAL(pthread_rwlock_clockwrlock)(l, clock, when);
    return rwlock_take(a, l, try_write, vclock_read(clock, when));
}

SHIM_EXPORT int pthread_rwlock_timedrdlock(pthread_rwlock_t *restrict l,
                                           const struct timespec *restrict when)
{
    return actor_self() ? pthread_rwlock_clockrdlock(l, CLOCK_REALTIME, when)
                        : REAL(pthread_rwlock_timedrdlock)(l, when);
}

SHIM_EXPORT int pthread_rwlock_timedwrlock(pthread_rwlock_t *restrict l,
                                           const struct timespec *restrict when)
{
    return actor_self() ? pthread_rwlock_clockwrlock(l, CLOCK_REALTIME, when)
                        : REAL(pthread_rwlock_timedwrlock)(l, when);
}

SHIM_EXPORT int pthread_rwlock_unlock(pthread_rwlock_t *l)
{
    bool is_shared = l->__data.__shared != 0;
    int error = REAL(pthread_rwlock_unlock)(l);

    if (error == 0) {
        actor_count_lock(actor_self(), -1);
        lock_released(actor_self(), l, is_shared, UINT32_MAX);
    }
    return error;
}

static int try_spin(void *object)
{
    return REAL(pthread_spin_trylock)(object);
}

SHIM_EXPORT int pthread_spin_lock(pthread_spinlock_t *l)
{
    struct actor *a = actor_self();
    struct lock lock = {.try = try_spin};

    if (!a)
        return REAL(pthread_spin_lock)(l);
    /* Only the address goes through: a spin lock is volatile, a queue's name is not. */
    lock.object = (void *)(uintptr_t)l; // NOLINT(performance-no-int-to-ptr): drops the qualifier
    return counted(a, lock_take(a, &lock, simtime_never()));
}

SHIM_EXPORT int pthread_spin_trylock(pthread_spinlock_t *l)
{
    return counted(actor_self(), REAL(pthread_spin_trylock)(l));
}

SHIM_EXPORT int pthread_spin_unlock(pthread_spinlock_t *l)
{
    int error = REAL(pthread_spin_unlock)(l);

    actor_count_lock(actor_self(), error == 0 ? -1 : 0);
    // NOLINTNEXTLINE(performance-no-int-to-ptr): drops the qualifier
    lock_released(actor_self(), (const void *)(uintptr_t)l, false, 1);
    return error;
}

static int try_semaphore(void *object)
{
    int saved = errno;
    int error;

    if (REAL(sem_trywait)(object) == 0)
        return 0;
    error = errno;
    errno = saved;
    return error == EAGAIN ? EBUSY : error;
}

/* The C library's sem_t: an eight-byte value, then a flag for futex(2). */
static bool semaphore_is_shared(const sem_t *s)
{
    int flag;

    memcpy(&flag, (const char *)s + sizeof(uint64_t), sizeof(flag));
    return flag == KIND_SHARED;
}

static int semaphore_take(struct actor *a, sem_t *s, simtime deadline)
{
    struct lock lock = {.object = s,
                        .try = try_semaphore,
                        .is_shared = semaphore_is_shared(s),
                        .is_interruptible = true};
    int error = lock_take(a, &lock, deadline);

    if (error == 0)
        return 0;
    errno = error;
    return -1;
}

SHIM_EXPORT int sem_wait(sem_t *s)
{
    struct actor *a = actor_self();

    return a ? semaphore_take(a, s, simtime_never()) : REAL(sem_wait)(s);
}

SHIM_EXPORT int sem_clockwait(sem_t *restrict s, clockid_t clock,
                              const struct timespec *restrict when)
{
    struct actor *a = actor_self();

    if (!a || !is_time(when))
        return REAL(sem_clockwait)(s, clock, when);
    return semaphore_take(a, s, vclock_read(clock, when));
}

SHIM_EXPORT int sem_timedwait(sem_t *restrict s, const struct timespec *restrict when)
{
    return actor_self() ? sem_clockwait(s, CLOCK_REALTIME, when) : REAL(sem_timedwait)(s, when);
}

SHIM_EXPORT int sem_post(sem_t *s)
{
    bool is_shared = semaphore_is_shared(s);
    int rc = REAL(sem_post)(s);

    if (rc == 0)
        lock_released(actor_self(), s, is_shared, 1);
    return rc;
}
