/* SPDX-License-Identifier: Apache-2.0 */
/*
 * DOC: Threads
 *
 * A thread that an actor creates is an actor, from before the first line of its function until
 * after its last destructor. The end is noticed by a destructor of thread-specific data that puts
 * itself back until the C library's last round: the program's own destructors have run by then,
 * those of C++ thread_local variables long before. What follows in the C library runs beside the
 * clock; nobody can tell, and whoever joins waits really for that little rest.
 *
 * A thread that a thread outside the clock creates is outside as well ("loose", see sync.c).
 */
#include <errno.h>
#include <limits.h>
#include <stddef.h>
#include <sys/syscall.h>

#include "verbs-shim/shim/guest.h"
#include "verbs-shim/shim/libc/real.h"
#include "verbs-shim/shim/libc/sent.h"
#include "verbs-shim/shim/libc/sync.h"
#include "verbs-shim/shim/libc/vclock.h"

#define THREADS_MAX 256U

struct thread {
    bool is_used;
    bool is_ended;
    bool is_detached;
    int rounds; /* of destructors */
    uint32_t number;
    pthread_t handle;
    void *(*run)(void *);
    void *arg;
};

/* Those that are or were actors, and still can be joined. */
static struct thread threads[THREADS_MAX];
/* Stands for the thread that joined the simulation, when it calls pthread_exit. */
static struct thread first_thread = {.is_detached = true};
static pthread_key_t end_key;
static pthread_once_t key_once = PTHREAD_ONCE_INIT;

static void thread_ended(void *ctx)
{
    struct thread *t = ctx;
    struct actor *a = actor_self();

    if (++t->rounds < PTHREAD_DESTRUCTOR_ITERATIONS) {
        (void)pthread_setspecific(end_key, t);
        return;
    }
    if (!a)
        return;
    sent_end(a);
    t->is_ended = true;
    if (t->is_detached)
        t->is_used = false;
    else
        (void)sync_wake(a, t, UINT32_MAX);
    actor_end(a);
}

static void make_key(void)
{
    (void)pthread_key_create(&end_key, thread_ended);
}

static void *run_actor(void *ctx)
{
    struct thread *t = ctx;

    actor_begin(t->number);
    (void)pthread_setspecific(end_key, t);
    return t->run(t->arg);
}

static struct thread *thread_new(void)
{
    for (size_t i = 0; i < THREADS_MAX; i++) {
        if (!threads[i].is_used) {
            threads[i] = (struct thread){.is_used = true};
            return &threads[i];
        }
    }
    return NULL;
}

static struct thread *thread_find(pthread_t handle)
{
    for (size_t i = 0; i < THREADS_MAX; i++) {
        if (threads[i].is_used && !threads[i].is_detached &&
            pthread_equal(threads[i].handle, handle))
            return &threads[i];
    }
    return NULL;
}

static int create_actor(struct actor *a, pthread_t *ret, const pthread_attr_t *attr,
                        struct thread *t)
{
    int state = PTHREAD_CREATE_JOINABLE;
    int error;

    if (attr)
        (void)pthread_attr_getdetachstate(attr, &state);
    t->is_detached = state == PTHREAD_CREATE_DETACHED;
    (void)REAL(pthread_once)(&key_once, make_key);
    t->number = actor_new(a);
    if (t->number == PROTO_ACTORS_MAX)
        return EAGAIN;
    error = REAL(pthread_create)(&t->handle, attr, run_actor, t);
    if (error) {
        actor_cancel(a, t->number);
        return error;
    }
    actor_name(t->number, t->handle);
    *ret = t->handle;
    return 0;
}

struct loose_start {
    void *(*run)(void *);
    void *arg;
};

static void loose_ended(void *ctx)
{
    (void)ctx;
    client_count_loose(-1);
}

static void *run_loose(void *ctx)
{
    struct loose_start start = *(struct loose_start *)ctx;
    void *result;

    shim_free(ctx);
    pthread_cleanup_push(loose_ended, NULL);
    result = start.run(start.arg);
    pthread_cleanup_pop(1);
    return result;
}

static int create_loose(pthread_t *ret, const pthread_attr_t *attr, void *(*run)(void *), void *arg)
{
    struct loose_start *start = shim_alloc(sizeof(*start));
    int error;

    if (!start)
        return EAGAIN;
    *start = (struct loose_start){.run = run, .arg = arg};
    client_count_loose(1);
    error = REAL(pthread_create)(ret, attr, run_loose, start);
    if (error) {
        client_count_loose(-1);
        shim_free(start);
    }
    return error;
}

SHIM_EXPORT int pthread_create(pthread_t *restrict ret, const pthread_attr_t *restrict attr,
                               void *(*run)(void *), void *restrict arg)
{
    struct actor *a = actor_self();
    struct thread *t;
    int error;

    if (!a)
        return create_loose(ret, attr, run, arg);
    t = thread_new();
    if (!t)
        return EAGAIN;
    t->run = run;
    t->arg = arg;
    error = create_actor(a, ret, attr, t);
    if (error) {
        t->is_used = false;
        if (error == EAGAIN)
            shim_log("no more than %u threads can be under the clock", PROTO_CLIENT_ACTORS);
    }
    return error;
}

/* What a thread outside the clock leaves behind for its joiner. */
struct outside_join {
    pthread_t handle;
    void **ret;
    int result;
};

static bool try_join(void *ctx)
{
    struct outside_join *join = ctx;

    join->result = REAL(pthread_tryjoin_np)(join->handle, join->ret);
    return join->result != EBUSY;
}

static int join_until(struct actor *a, pthread_t handle, void **ret, simtime deadline)
{
    struct thread *t = thread_find(handle);
    struct outside_join outside = {.handle = handle, .ret = ret};
    int error;

    if (pthread_equal(handle, pthread_self()))
        return EDEADLK;
    if (!t)
        return wait_outside_restarting(a, try_join, &outside, deadline) == WAIT_DONE
                   ? outside.result
                   : ETIMEDOUT;
    while (!t->is_ended) {
        pthread_testcancel();
        if (sync_wait(a, sync_enter(t, false), deadline) == WAIT_TIMEOUT && !t->is_ended)
            return ETIMEDOUT;
    }
    error = REAL(pthread_join)(handle, ret);
    t->is_used = false;
    return error;
}

/* After a real join by a thread outside the clock. */
static int joined(pthread_t handle, int error)
{
    struct thread *t = error ? NULL : thread_find(handle);

    if (t)
        t->is_used = false;
    return error;
}

SHIM_EXPORT int pthread_join(pthread_t handle, void **ret)
{
    struct actor *a = actor_self();

    return a ? join_until(a, handle, ret, simtime_never())
             : joined(handle, REAL(pthread_join)(handle, ret));
}

SHIM_EXPORT int pthread_tryjoin_np(pthread_t handle, void **ret)
{
    struct thread *t = thread_find(handle);

    if (!actor_self() || !t)
        return joined(handle, REAL(pthread_tryjoin_np)(handle, ret));
    actor_charge(actor_self(), PROTO_CHARGE_SYNC, 1);
    return t->is_ended ? pthread_join(handle, ret) : EBUSY;
}

SHIM_EXPORT int pthread_clockjoin_np(pthread_t handle, void **ret, clockid_t clock,
                                     const struct timespec *when)
{
    struct actor *a = actor_self();

    if (!a)
        return joined(handle, REAL(pthread_clockjoin_np)(handle, ret, clock, when));
    return join_until(a, handle, ret, when ? vclock_read(clock, when) : simtime_never());
}

SHIM_EXPORT int pthread_timedjoin_np(pthread_t handle, void **ret, const struct timespec *when)
{
    return pthread_clockjoin_np(handle, ret, CLOCK_REALTIME, when);
}

SHIM_EXPORT int pthread_detach(pthread_t handle)
{
    struct thread *t = thread_find(handle);
    int error = REAL(pthread_detach)(handle);

    if (t && error == 0) {
        t->is_detached = true;
        if (t->is_ended)
            t->is_used = false;
    }
    return error;
}

SHIM_EXPORT int pthread_cancel(pthread_t handle)
{
    struct actor *a = actor_self();
    int error = REAL(pthread_cancel)(handle);

    if (error == 0)
        sync_wake_thread(a, handle);
    return error;
}

SHIM_EXPORT void pthread_exit(void *result)
{
    if (actor_self()) {
        (void)REAL(pthread_once)(&key_once, make_key);
        if (!pthread_getspecific(end_key))
            (void)pthread_setspecific(end_key, &first_thread);
    }
    REAL(pthread_exit)(result);
    __builtin_unreachable();
}
