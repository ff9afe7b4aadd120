/* SPDX-License-Identifier: Apache-2.0 */
/*
 * DOC: C11 threads
 *
 * In the C library these lead to its own pthread functions without passing the linker, so each is
 * made here of our wrappers. Its objects are those of pthread under other names. What never waits
 * and wakes nobody is left to the C library: mtx_init, mtx_trylock, tss_get and so on.
 */
#include <assert.h>
#include <errno.h>
#include <sched.h>
#include <stdint.h>
#include <threads.h>
#include <time.h>

#include "verbs-shim/shim/guest.h"
#include "verbs-shim/shim/libc/real.h"

static_assert(sizeof(mtx_t) == sizeof(pthread_mutex_t), "the same object");
static_assert(sizeof(cnd_t) == sizeof(pthread_cond_t), "the same object");
static_assert(sizeof(once_flag) == sizeof(pthread_once_t), "the same object");

static int result_of(int error)
{
    switch (error) {
    case 0:
        return thrd_success;
    case ENOMEM:
        return thrd_nomem;
    case ETIMEDOUT:
        return thrd_timedout;
    case EBUSY:
        return thrd_busy;
    default:
        return thrd_error;
    }
}

struct start {
    thrd_start_t run;
    void *arg;
};

static void *as_result(int result)
{
    return (void *)(intptr_t)result; // NOLINT(performance-no-int-to-ptr): as the C library does
}

static void *run_thread(void *ctx)
{
    const struct start start = *(struct start *)ctx;

    shim_free(ctx);
    return as_result(start.run(start.arg));
}

SHIM_EXPORT int thrd_create(thrd_t *ret, thrd_start_t run, void *arg)
{
    struct start *start = shim_alloc(sizeof(*start));
    int error;

    if (!start)
        return thrd_nomem;
    *start = (struct start){.run = run, .arg = arg};
    error = pthread_create(ret, NULL, run_thread, start);
    if (error)
        shim_free(start);
    return error == EAGAIN ? thrd_nomem : result_of(error);
}

SHIM_EXPORT int thrd_join(thrd_t thread, int *ret)
{
    void *result = NULL;
    int error = pthread_join(thread, &result);

    if (ret && error == 0)
        *ret = (int)(intptr_t)result;
    return result_of(error);
}

SHIM_EXPORT int thrd_detach(thrd_t thread)
{
    return result_of(pthread_detach(thread));
}

SHIM_EXPORT void thrd_exit(int result)
{
    pthread_exit(as_result(result));
}

SHIM_EXPORT int thrd_sleep(const struct timespec *span, struct timespec *ret_rest)
{
    int error = clock_nanosleep(CLOCK_REALTIME, 0, span, ret_rest);

    if (error == 0)
        return 0;
    return error == EINTR ? -1 : -2;
}

SHIM_EXPORT void thrd_yield(void)
{
    (void)sched_yield();
}

static pthread_mutex_t *mutex_of(mtx_t *m)
{
    void *object = m;

    return object;
}

static pthread_cond_t *cond_of(cnd_t *c)
{
    void *object = c;

    return object;
}

SHIM_EXPORT int mtx_lock(mtx_t *m)
{
    return result_of(pthread_mutex_lock(mutex_of(m)));
}

SHIM_EXPORT int mtx_timedlock(mtx_t *restrict m, const struct timespec *restrict when)
{
    return result_of(pthread_mutex_timedlock(mutex_of(m), when));
}

SHIM_EXPORT int mtx_unlock(mtx_t *m)
{
    return result_of(pthread_mutex_unlock(mutex_of(m)));
}

SHIM_EXPORT int cnd_wait(cnd_t *c, mtx_t *m)
{
    return result_of(pthread_cond_wait(cond_of(c), mutex_of(m)));
}

SHIM_EXPORT int cnd_timedwait(cnd_t *restrict c, mtx_t *restrict m,
                              const struct timespec *restrict when)
{
    return result_of(pthread_cond_timedwait(cond_of(c), mutex_of(m), when));
}

SHIM_EXPORT int cnd_signal(cnd_t *c)
{
    return result_of(pthread_cond_signal(cond_of(c)));
}

SHIM_EXPORT int cnd_broadcast(cnd_t *c)
{
    return result_of(pthread_cond_broadcast(cond_of(c)));
}

SHIM_EXPORT void call_once(once_flag *once, void (*run)(void))
{
    void *object = once;

    (void)pthread_once(object, run);
}
