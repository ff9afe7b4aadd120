/* SPDX-License-Identifier: Apache-2.0 */
/* Threads are under the clock: what one does at its time, the other sees from that time on. */
#include <errno.h>
#include <linux/futex.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "tests/emulator/emu.h"

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t cond = PTHREAD_COND_INITIALIZER;
static pthread_mutex_t early = PTHREAD_MUTEX_INITIALIZER;
static int stage;
static int64_t signalled_at;

static struct timespec in(int64_t ns)
{
    int64_t t = emu_read(CLOCK_REALTIME) + ns;

    return (struct timespec){.tv_sec = t / S, .tv_nsec = t % S};
}

static pthread_t start(void *(*run)(void *), void *arg)
{
    pthread_t thread;

    CHECK(pthread_create(&thread, NULL, run, arg) == 0);
    return thread;
}

static void finish(pthread_t thread)
{
    CHECK(pthread_join(thread, NULL) == 0);
}

static void *signal_later(void *arg)
{
    CHECK(usleep(300) == 0);
    CHECK(pthread_mutex_lock(&mutex) == 0);
    stage = 1;
    signalled_at = emu_now();
    CHECK(pthread_cond_signal(&cond) == 0);
    CHECK(pthread_mutex_unlock(&mutex) == 0);
    return arg;
}

static void check_cond(void)
{
    int64_t begun = emu_now();
    pthread_t thread = start(signal_later, &stage);
    struct timespec limit;
    void *result;

    CHECK(pthread_mutex_lock(&mutex) == 0);
    while (stage == 0)
        CHECK(pthread_cond_wait(&cond, &mutex) == 0);
    CHECK_SPAN(emu_now() - begun, 300 * US);
    CHECK(emu_now() >= signalled_at);
    limit = in(2 * S);
    begun = emu_now();
    CHECK(pthread_cond_timedwait(&cond, &mutex, &limit) == ETIMEDOUT);
    CHECK_SPAN(emu_now() - begun, 2 * S - US);
    CHECK(pthread_mutex_unlock(&mutex) == 0);
    CHECK(pthread_join(thread, &result) == 0 && result == &stage);
}

static void *hold_mutex(void *arg)
{
    CHECK(pthread_mutex_lock(&mutex) == 0);
    CHECK(usleep(500) == 0);
    CHECK(pthread_mutex_unlock(&mutex) == 0);
    return arg;
}

static void check_mutex(void)
{
    int64_t begun = emu_now();
    pthread_t thread = start(hold_mutex, NULL);
    struct timespec limit;

    CHECK(usleep(100) == 0);
    CHECK(pthread_mutex_trylock(&mutex) == EBUSY);
    limit = in(100 * US);
    CHECK(pthread_mutex_timedlock(&mutex, &limit) == ETIMEDOUT);
    CHECK_SPAN(emu_now() - begun, 200 * US);
    CHECK(pthread_mutex_lock(&mutex) == 0);
    CHECK_SPAN(emu_now() - begun, 500 * US);
    CHECK(pthread_mutex_unlock(&mutex) == 0);
    finish(thread);
    /* Taken before the process joined. */
    CHECK(pthread_mutex_unlock(&early) == 0 && pthread_mutex_trylock(&early) == 0);
}

static void check_kinds(void)
{
    pthread_mutexattr_t attr;
    pthread_mutex_t m;

    CHECK(pthread_mutexattr_init(&attr) == 0);
    CHECK(pthread_mutexattr_settype(&attr, PTHREAD_MUTEX_ERRORCHECK) == 0);
    CHECK(pthread_mutex_init(&m, &attr) == 0);
    CHECK(pthread_mutex_lock(&m) == 0 && pthread_mutex_lock(&m) == EDEADLK);
    CHECK(pthread_mutex_unlock(&m) == 0 && pthread_mutex_unlock(&m) == EPERM);
    CHECK(pthread_mutex_destroy(&m) == 0);
    CHECK(pthread_mutexattr_settype(&attr, PTHREAD_MUTEX_RECURSIVE) == 0);
    CHECK(pthread_mutex_init(&m, &attr) == 0);
    CHECK(pthread_mutex_lock(&m) == 0 && pthread_mutex_lock(&m) == 0);
    CHECK(pthread_mutex_unlock(&m) == 0 && pthread_mutex_unlock(&m) == 0);
    CHECK(pthread_mutex_destroy(&m) == 0);
}

static sem_t semaphore;
static pthread_rwlock_t rwlock = PTHREAD_RWLOCK_INITIALIZER;
static pthread_spinlock_t spin;
static pthread_barrier_t barrier;
static atomic_int serials;

static void *give(void *arg)
{
    int64_t begun = emu_now();

    for (int i = 0; i < 3; i++) {
        CHECK(usleep(100) == 0);
        CHECK(sem_post(&semaphore) == 0);
    }
    CHECK(pthread_rwlock_wrlock(&rwlock) == 0);
    CHECK(pthread_spin_lock(&spin) == 0);
    CHECK(usleep(400) == 0);
    CHECK(pthread_spin_unlock(&spin) == 0);
    CHECK(pthread_rwlock_unlock(&rwlock) == 0);
    CHECK_SPAN(emu_now() - begun, 700 * US);
    return arg;
}

static void check_semaphore(void)
{
    int64_t begun = emu_now();
    struct timespec limit = in(50 * US);
    pthread_t thread;

    CHECK(sem_init(&semaphore, 0, 0) == 0);
    CHECK(pthread_spin_init(&spin, PTHREAD_PROCESS_PRIVATE) == 0);
    thread = start(give, NULL);
    CHECK(sem_timedwait(&semaphore, &limit) == -1 && errno == ETIMEDOUT);
    for (int i = 0; i < 3; i++)
        CHECK(sem_wait(&semaphore) == 0);
    CHECK_SPAN(emu_now() - begun, 300 * US);
    CHECK(usleep(50) == 0);
    CHECK(pthread_spin_lock(&spin) == 0);
    CHECK(pthread_spin_unlock(&spin) == 0);
    CHECK(pthread_rwlock_rdlock(&rwlock) == 0);
    CHECK_SPAN(emu_now() - begun, 700 * US);
    CHECK(pthread_rwlock_unlock(&rwlock) == 0);
    finish(thread);
}

static void *meet(void *arg)
{
    CHECK(usleep(*(useconds_t *)arg) == 0);
    for (int i = 0; i < 5; i++) {
        int rc = pthread_barrier_wait(&barrier);

        CHECK(rc == 0 || rc == PTHREAD_BARRIER_SERIAL_THREAD);
        atomic_fetch_add(&serials, rc == PTHREAD_BARRIER_SERIAL_THREAD);
    }
    return arg;
}

static void check_barrier(void)
{
    int64_t begun = emu_now();
    useconds_t delays[] = {100, 900};
    useconds_t none = 0;
    pthread_t threads[2];

    CHECK(pthread_barrier_init(&barrier, NULL, 3) == 0);
    for (int i = 0; i < 2; i++)
        threads[i] = start(meet, &delays[i]);
    (void)meet(&none);
    CHECK_SPAN(emu_now() - begun, 900 * US);
    for (int i = 0; i < 2; i++)
        finish(threads[i]);
    CHECK(serials == 5);
    CHECK(pthread_barrier_destroy(&barrier) == 0);
}

static _Atomic uint32_t word;

static void *wake_word(void *arg)
{
    CHECK(usleep(200) == 0);
    atomic_store(&word, 1);
    CHECK(syscall(SYS_futex, &word, FUTEX_WAKE_PRIVATE, 10, NULL, NULL, 0) == 1);
    return arg;
}

static void check_futex(void)
{
    int64_t begun = emu_now();
    struct timespec span = {.tv_nsec = 70000};
    pthread_t thread = start(wake_word, NULL);

    CHECK(syscall(SYS_futex, &word, FUTEX_WAIT_PRIVATE, 5, NULL, NULL, 0) == -1);
    CHECK(errno == EAGAIN);
    CHECK(syscall(SYS_futex, &word, FUTEX_WAIT_PRIVATE, 0, &span, NULL, 0) == -1);
    CHECK(errno == ETIMEDOUT);
    CHECK_SPAN(emu_now() - begun, 70 * US);
    while (atomic_load(&word) == 0)
        CHECK(syscall(SYS_futex, &word, FUTEX_WAIT_PRIVATE, 0, NULL, NULL, 0) == 0);
    CHECK_SPAN(emu_now() - begun, 200 * US);
    finish(thread);
}

static pthread_key_t key;
static int64_t destroyed_at;
static int once_runs;

static void slow_destructor(void *arg)
{
    (void)arg;
    CHECK(usleep(1000) == 0);
    destroyed_at = emu_now();
}

static void *leave_data(void *arg)
{
    CHECK(pthread_setspecific(key, &key) == 0);
    pthread_exit(arg);
}

static void slow_init(void)
{
    CHECK(usleep(100) == 0);
    once_runs++;
}

static void *run_once(void *arg)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;

    CHECK(pthread_once(&once, slow_init) == 0);
    CHECK(once_runs == 1);
    return arg;
}

static void check_ends(void)
{
    int64_t begun = emu_now();
    pthread_t threads[3];

    CHECK(pthread_key_create(&key, slow_destructor) == 0);
    finish(start(leave_data, NULL));
    CHECK_SPAN(emu_now() - begun, 1000 * US);
    CHECK(destroyed_at > begun && destroyed_at <= emu_now());
    for (int i = 0; i < 3; i++)
        threads[i] = start(run_once, NULL);
    for (int i = 0; i < 3; i++)
        finish(threads[i]);
    CHECK(once_runs == 1);
}

static void *wait_for_ever(void *arg)
{
    CHECK(pthread_mutex_lock(&mutex) == 0);
    for (;;)
        (void)pthread_cond_wait(&cond, &mutex);
    return arg;
}

static void check_cancel(void)
{
    pthread_t thread = start(wait_for_ever, NULL);
    void *result;

    CHECK(usleep(100) == 0);
    CHECK(pthread_tryjoin_np(thread, NULL) == EBUSY);
    CHECK(pthread_cancel(thread) == 0);
    CHECK(pthread_join(thread, &result) == 0 && result == PTHREAD_CANCELED);
    /* It had the mutex back, and nobody to give it away. */
    CHECK(pthread_mutex_trylock(&mutex) == EBUSY);
}

__attribute__((constructor)) static void before_joining(void)
{
    CHECK(pthread_mutex_lock(&early) == 0);
}

int main(void)
{
    check_cond();
    check_mutex();
    check_kinds();
    check_semaphore();
    check_barrier();
    check_futex();
    check_ends();
    check_cancel();
    return 0;
}
