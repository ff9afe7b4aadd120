/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Waits in loops over memory, one way a call: `spin WHAT`. Needs no other rank.
 *
 *   thread   two threads hand a number back and forth by atomics; each step of one costs a
 *            registration, whose time the other has to see
 *   lock     waits for a flag that a mutex guards
 *   call     the loop compares buffers by calls of the C library
 *   blocked  with every signal blocked in its mask
 *   timer    a handler of SIGALRM, due at 3 ms, changes the memory
 *   signal   as timer, but the signal is sent by another thread, after 1 ms
 *   polled   the same, to a loop that polls an empty completion queue
 *   loose    a thread that began before the program joined the clock changes the memory, after some
 *            real time: to the clock that is at once
 *   compute  a long loop that counts in memory and one that counts in registers: no time passes
 *   forever  a loop that nothing ends
 *
 * Prints what it saw of the clock, in nanoseconds; exit code 1 when that is wrong.
 */
#include <dlfcn.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <time.h>

#include <infiniband/verbs.h>

#define ROUNDS   20
#define LONG     300000000
#define TIMER_US 3000

static _Atomic int turn;
static int guarded;
static pthread_mutex_t guard = PTHREAD_MUTEX_INITIALIZER;
static _Atomic bool is_waiting;
static char mine[64], other[64];
static volatile sig_atomic_t rung;
static volatile uint64_t counted;
static struct ibv_context *context;
static struct ibv_cq *queue;

static int64_t now_ns(void)
{
    struct timespec now;

    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

static void nap(long us)
{
    const struct timespec time = {.tv_nsec = us * 1000};

    (void)nanosleep(&time, NULL);
}

static void *answer(void *arg)
{
    (void)arg;
    for (int i = 0; i < ROUNDS; i++) {
        while (atomic_load_explicit(&turn, memory_order_acquire) != 2 * i + 1) {
        }
        nap(10);
        atomic_store_explicit(&turn, 2 * i + 2, memory_order_release);
    }
    return NULL;
}

static void ask(void)
{
    for (int i = 0; i < ROUNDS; i++) {
        nap(10);
        atomic_store_explicit(&turn, 2 * i + 1, memory_order_release);
        while (atomic_load_explicit(&turn, memory_order_acquire) != 2 * i + 2) {
        }
    }
}

static void *open_guard(void *arg)
{
    nap(1000);
    (void)pthread_mutex_lock(&guard);
    guarded = 1;
    (void)pthread_mutex_unlock(&guard);
    memcpy(mine, other, sizeof mine);
    return arg;
}

static void wait_guarded(void)
{
    for (bool is_open = false; !is_open;) {
        (void)pthread_mutex_lock(&guard);
        is_open = guarded;
        (void)pthread_mutex_unlock(&guard);
    }
}

static void wait_same(void)
{
    int (*volatile compare)(const void *, const void *, size_t) = memcmp;

    while (compare(mine, other, sizeof mine) != 0) {
    }
}

static void ring(int number)
{
    (void)number;
    rung = 1;
}

static void wait_timer(void)
{
    const struct itimerval time = {.it_value = {.tv_usec = TIMER_US}};

    (void)signal(SIGALRM, ring);
    (void)setitimer(ITIMER_REAL, &time, NULL);
    while (!rung) {
    }
}

static void *ring_later(void *arg)
{
    nap(1000);
    (void)pthread_kill(*(pthread_t *)arg, SIGUSR1);
    return NULL;
}

static void wait_signal(bool polls)
{
    pthread_t self = pthread_self();
    pthread_t thread;
    struct ibv_wc wc;

    (void)signal(SIGUSR1, ring);
    (void)pthread_create(&thread, NULL, ring_later, &self);
    while (!rung) {
        if (polls)
            (void)ibv_poll_cq(queue, 1, &wc);
    }
    (void)pthread_join(thread, NULL);
}

static void compute(void)
{
    uint64_t x = 1;

    for (counted = 0; counted < LONG / 4;)
        counted++;
    for (long i = 0; i < LONG; i++)
        x = x * UINT64_C(6364136223846793005) + 1;
    counted += x & 1;
}

static void *open_late(void *arg)
{
    while (!atomic_load(&is_waiting)) {
    }
    nap(30000);
    memcpy(mine, other, sizeof mine);
    return arg;
}

static void work(const char *what)
{
    pthread_t thread;

    if (strcmp(what, "loose") == 0) {
        atomic_store(&is_waiting, true);
        wait_same();
    } else if (strcmp(what, "thread") == 0) {
        (void)pthread_create(&thread, NULL, answer, NULL);
        ask();
        (void)pthread_join(thread, NULL);
    } else if (strcmp(what, "lock") == 0) {
        (void)pthread_create(&thread, NULL, open_guard, NULL);
        wait_guarded();
        (void)pthread_join(thread, NULL);
    } else if (strcmp(what, "call") == 0 || strcmp(what, "blocked") == 0) {
        (void)pthread_create(&thread, NULL, open_guard, NULL);
        wait_same();
        (void)pthread_join(thread, NULL);
    } else if (strcmp(what, "timer") == 0) {
        wait_timer();
    } else if (strcmp(what, "signal") == 0 || strcmp(what, "polled") == 0) {
        wait_signal(strcmp(what, "polled") == 0);
    } else if (strcmp(what, "compute") == 0) {
        compute();
    } else if (strcmp(what, "forever") == 0) {
        for (;;) {
        }
    }
}

/* What the clock has to say, at least and at most. */
static bool is_right(const char *what, int64_t ns)
{
    if (strcmp(what, "thread") == 0)
        return ns >= ROUNDS * 20000 && ns < ROUNDS * 20000 + 100000;
    if (strcmp(what, "timer") == 0)
        return ns >= TIMER_US * 1000 && ns < TIMER_US * 1000 + 10000;
    if (strcmp(what, "compute") == 0 || strcmp(what, "loose") == 0)
        return ns < 1000;
    return ns >= 1000000 && ns < 1010000;
}

/* Loads verbs, opens the first device and makes a queue. */
static bool join_clock(void)
{
    void *verbs = dlopen("libibverbs.so.1", RTLD_NOW);
    void **(*list_devices)(int *) = NULL;
    struct ibv_context *(*open_device)(void *) = NULL;
    struct ibv_cq *(*create_cq)(struct ibv_context *, int, void *, void *, int) = NULL;
    void **list;

    if (!verbs)
        return false;
    *(void **)(void *)&list_devices = dlsym(verbs, "ibv_get_device_list");
    *(void **)(void *)&open_device = dlsym(verbs, "ibv_open_device");
    *(void **)(void *)&create_cq = dlsym(verbs, "ibv_create_cq");
    list = list_devices ? list_devices(NULL) : NULL;
    context = list && list[0] && open_device ? open_device(list[0]) : NULL;
    queue = context && create_cq ? create_cq(context, 16, NULL, NULL, 0) : NULL;
    return queue != NULL;
}

int main(int argc, char **argv)
{
    const char *what = argc > 1 ? argv[1] : "";
    bool is_loose = strcmp(what, "loose") == 0;
    pthread_t early;
    sigset_t all;
    int64_t since;
    int64_t ns;

    memset(other, 7, sizeof other);
    if (is_loose && pthread_create(&early, NULL, open_late, NULL) != 0)
        return 3;
    if (!join_clock())
        return 3;
    if (strcmp(what, "blocked") == 0) {
        (void)sigfillset(&all);
        (void)pthread_sigmask(SIG_BLOCK, &all, NULL);
    }
    since = now_ns();
    work(what);
    ns = now_ns() - since;
    if (is_loose)
        (void)pthread_join(early, NULL);
    printf("%s: %lld ns\n", what, (long long)ns);
    return is_right(what, ns) ? 0 : 1;
}
