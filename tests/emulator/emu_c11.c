/* SPDX-License-Identifier: Apache-2.0 */
/* C11's threads, locks and conditions are under the clock as POSIX's are. */
#include <threads.h>
#include <unistd.h>

#include "tests/emulator/emu.h"

static mtx_t mutex;
static cnd_t cond;
static once_flag flag = ONCE_FLAG_INIT;
static tss_t slot;
static int stage;
static int once_runs;
static int destroyed;

static struct timespec in(int64_t ns)
{
    int64_t t = emu_read(CLOCK_REALTIME) + ns;

    return (struct timespec){.tv_sec = t / S, .tv_nsec = t % S};
}

static int signal_later(void *arg)
{
    const struct timespec span = {.tv_nsec = 300 * US};

    CHECK(thrd_sleep(&span, NULL) == 0);
    CHECK(mtx_lock(&mutex) == thrd_success);
    stage = 1;
    CHECK(cnd_broadcast(&cond) == thrd_success);
    CHECK(mtx_unlock(&mutex) == thrd_success);
    return *(int *)arg;
}

static void check_cond(void)
{
    int64_t begun = emu_now();
    int answer = -42;
    int result = 0;
    struct timespec limit;
    thrd_t thread;

    CHECK(thrd_create(&thread, signal_later, &answer) == thrd_success);
    CHECK(mtx_lock(&mutex) == thrd_success);
    while (stage == 0)
        CHECK(cnd_wait(&cond, &mutex) == thrd_success);
    CHECK_SPAN(emu_now() - begun, 300 * US);
    limit = in(3 * S);
    begun = emu_now();
    CHECK(cnd_timedwait(&cond, &mutex, &limit) == thrd_timedout);
    CHECK_SPAN(emu_now() - begun, 3 * S - US);
    CHECK(mtx_unlock(&mutex) == thrd_success);
    CHECK(thrd_join(thread, &result) == thrd_success && result == -42);
}

static int hold(void *arg)
{
    CHECK(mtx_lock(&mutex) == thrd_success);
    CHECK(usleep(500) == 0);
    CHECK(mtx_unlock(&mutex) == thrd_success);
    thrd_exit(*(int *)arg);
}

static void check_mutex(void)
{
    int64_t begun = emu_now();
    int seven = 7;
    int result = 0;
    struct timespec limit;
    thrd_t thread;

    CHECK(thrd_create(&thread, hold, &seven) == thrd_success);
    CHECK(usleep(100) == 0);
    CHECK(mtx_trylock(&mutex) == thrd_busy);
    limit = in(100 * US);
    CHECK(mtx_timedlock(&mutex, &limit) == thrd_timedout);
    CHECK_SPAN(emu_now() - begun, 200 * US - US);
    CHECK(mtx_lock(&mutex) == thrd_success);
    CHECK_SPAN(emu_now() - begun, 500 * US);
    CHECK(mtx_unlock(&mutex) == thrd_success);
    CHECK(thrd_join(thread, &result) == thrd_success && result == 7);
}

static void run_once(void)
{
    CHECK(usleep(100) == 0);
    once_runs++;
}

static void destroy(void *arg)
{
    (void)arg;
    CHECK(usleep(50) == 0);
    destroyed++;
}

static int use_once(void *arg)
{
    call_once(&flag, run_once);
    CHECK(once_runs == 1);
    CHECK(tss_set(slot, &slot) == thrd_success);
    thrd_yield();
    return arg != NULL;
}

static void check_once(void)
{
    thrd_t threads[4];

    CHECK(tss_create(&slot, destroy) == thrd_success);
    for (int i = 0; i < 4; i++)
        CHECK(thrd_create(&threads[i], use_once, NULL) == thrd_success);
    for (int i = 0; i < 3; i++)
        CHECK(thrd_join(threads[i], NULL) == thrd_success);
    CHECK(thrd_detach(threads[3]) == thrd_success);
    CHECK(usleep(1000) == 0);
    CHECK(destroyed == 4 && once_runs == 1);
}

int main(void)
{
    CHECK(mtx_init(&mutex, mtx_timed) == thrd_success && cnd_init(&cond) == thrd_success);
    check_cond();
    check_mutex();
    check_once();
    return 0;
}
