/* SPDX-License-Identifier: Apache-2.0 */
/* Signals between threads: the handler runs at the sender's time, under the clock, and whatever its
 * thread waits for ends as it does on a machine. */
#include <errno.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdbool.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/emulator/emu.h"

static volatile sig_atomic_t taken;
static volatile int64_t taken_at;
static volatile pthread_t taken_by;
static volatile int taken_code;
static volatile int taken_value;
static int pipe_fds[2];
static sem_t sem;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t cond = PTHREAD_COND_INITIALIZER;

static void on_signal(int number, siginfo_t *info, void *context)
{
    (void)number;
    (void)context;
    taken_at = emu_now(); /* takes virtual time, so the thread must have the turn */
    taken_by = pthread_self();
    taken_code = info->si_code;
    taken_value = info->si_value.sival_int;
    taken++;
}

static void handle(int number, int flags)
{
    struct sigaction action = {.sa_sigaction = on_signal, .sa_flags = SA_SIGINFO | flags};

    CHECK(sigaction(number, &action, NULL) == 0);
    taken = 0;
}

static void block(int how, int number)
{
    sigset_t set;

    CHECK(sigemptyset(&set) == 0 && sigaddset(&set, number) == 0);
    CHECK(pthread_sigmask(how, &set, NULL) == 0);
}

/* What a thread may be in when the signal comes. */

static void *in_sleep(void *arg)
{
    struct timespec hour = {.tv_sec = 3600};
    struct timespec rest;

    (void)arg;
    CHECK(nanosleep(&hour, &rest) == -1 && errno == EINTR);
    CHECK(rest.tv_sec == 3599);
    return NULL;
}

static void *in_read(void *arg)
{
    char byte;

    (void)arg;
    CHECK(read(pipe_fds[0], &byte, 1) == -1 && errno == EINTR);
    return NULL;
}

static void *in_sem(void *arg)
{
    (void)arg;
    CHECK(sem_wait(&sem) == -1 && errno == EINTR);
    return NULL;
}

static void *in_pause(void *arg)
{
    (void)arg;
    CHECK(pause() == -1 && errno == EINTR);
    return NULL;
}

static void *in_loop(void *arg)
{
    (void)arg;
    while (!taken)
        (void)emu_now();
    return NULL;
}

static void *in_nap(void *arg)
{
    (void)arg;
    while (!taken)
        CHECK(usleep(3000) == 0 || errno == EINTR);
    return NULL;
}

/* Handlers do not end these. */
static void *in_cond(void *arg)
{
    (void)arg;
    CHECK(pthread_mutex_lock(&mutex) == 0);
    while (!taken || taken_at == 0)
        CHECK(pthread_cond_wait(&cond, &mutex) == 0);
    CHECK(pthread_mutex_unlock(&mutex) == 0);
    return NULL;
}

static int send_kill(pthread_t thread)
{
    return pthread_kill(thread, SIGUSR1);
}

static int send_queue(pthread_t thread)
{
    return pthread_sigqueue(thread, SIGUSR1, (union sigval){.sival_int = 5});
}

/* The signal comes after 1 ms; its handler runs then, in that thread. */
static void check_one(void *(*run)(void *), int (*send)(pthread_t thread))
{
    int64_t begun = emu_now();
    pthread_t thread;

    handle(SIGUSR1, 0);
    CHECK(pthread_create(&thread, NULL, run, NULL) == 0);
    CHECK(usleep(1000) == 0);
    CHECK(send(thread) == 0);
    /* Not yet: that thread has to have its turn. */
    CHECK(taken == 0);
    CHECK(usleep(100) == 0);
    CHECK(taken == 1 && pthread_equal(taken_by, thread));
    CHECK_SPAN(taken_at - begun, MS);
    CHECK(taken_code == (send == send_queue ? SI_QUEUE : SI_TKILL));
    CHECK(pthread_cond_broadcast(&cond) == 0);
    CHECK(pthread_join(thread, NULL) == 0);
}

static void check_threads(void)
{
    void *(*const all[])(void *) = {in_sleep, in_read, in_sem, in_pause, in_loop, in_nap, in_cond};

    CHECK(pipe(pipe_fds) == 0 && sem_init(&sem, 0, 0) == 0);
    for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
        check_one(all[i], send_kill);
        check_one(all[i], send_queue);
        CHECK(taken_value == 5);
    }
}

/* With SA_RESTART the wait goes on. */
static void *in_long_read(void *arg)
{
    char byte;

    (void)arg;
    CHECK(read(pipe_fds[0], &byte, 1) == 1);
    return NULL;
}

static void check_restart(void)
{
    pthread_t thread;

    handle(SIGUSR1, SA_RESTART);
    CHECK(pthread_create(&thread, NULL, in_long_read, NULL) == 0);
    CHECK(usleep(1000) == 0 && pthread_kill(thread, SIGUSR1) == 0);
    CHECK(usleep(1000) == 0 && taken == 1);
    CHECK(write(pipe_fds[1], "x", 1) == 1 && pthread_join(thread, NULL) == 0);
}

/* Before the thread has had its first turn. */
static void check_young(void)
{
    pthread_t thread;

    handle(SIGUSR1, 0);
    CHECK(pthread_create(&thread, NULL, in_loop, NULL) == 0);
    CHECK(pthread_kill(thread, SIGUSR1) == 0 && pthread_kill(thread, 0) == 0 && taken == 0);
    CHECK(pthread_join(thread, NULL) == 0 && taken == 1);
    CHECK(pthread_kill(pthread_self(), NSIG + 1) == EINVAL);
}

/* To oneself: before the call returns. */
static void check_self(void)
{
    handle(SIGUSR1, 0);
    CHECK(raise(SIGUSR1) == 0 && taken == 1);
    CHECK(pthread_kill(pthread_self(), SIGUSR1) == 0 && taken == 2);
    CHECK(kill(getpid(), SIGUSR1) == 0 && taken == 3 && taken_code == SI_USER);
    CHECK(sigqueue(getpid(), SIGUSR1, (union sigval){.sival_int = 9}) == 0);
    CHECK(taken == 4 && taken_code == SI_QUEUE && taken_value == 9);
    CHECK(syscall(SYS_tgkill, getpid(), gettid(), SIGUSR1) == 0 && taken == 5);
    block(SIG_BLOCK, SIGUSR1);
    CHECK(kill(getpid(), SIGUSR1) == 0 && raise(SIGUSR1) == 0 && taken == 5);
    block(SIG_UNBLOCK, SIGUSR1);
    CHECK(taken == 6 || taken == 7);
}

static void *take_one(void *arg)
{
    sigset_t set;
    siginfo_t info;

    CHECK(sigemptyset(&set) == 0 && sigaddset(&set, SIGUSR1) == 0);
    CHECK(sigwaitinfo(&set, &info) == SIGUSR1);
    *(int64_t *)arg = emu_now();
    return NULL;
}

static void *read_one(void *arg)
{
    struct signalfd_siginfo info;
    sigset_t set;
    int fd;

    CHECK(sigemptyset(&set) == 0 && sigaddset(&set, SIGUSR1) == 0);
    fd = signalfd(-1, &set, 0);
    CHECK(read(fd, &info, sizeof(info)) == (ssize_t)sizeof(info) && info.ssi_signo == SIGUSR1);
    *(int64_t *)arg = emu_now();
    CHECK(close(fd) == 0);
    return NULL;
}

static void *wait_unblocked(void *arg)
{
    block(SIG_UNBLOCK, SIGUSR1);
    CHECK(sem_wait(&sem) == -1 && errno == EINTR);
    *(int64_t *)arg = taken_at;
    return NULL;
}

/* Sent by the process or by a timer of it, while the thread that has the turn blocks it: whoever
 * wants it gets it. */
static void check_process(void *(*run)(void *), bool by_timer)
{
    struct sigevent event = {.sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGUSR1};
    struct itimerspec spec = {.it_value = {.tv_nsec = 2000000}};
    int64_t begun = emu_now();
    int64_t at = 0;
    pthread_t thread;
    timer_t timer;

    handle(SIGUSR1, 0);
    block(SIG_BLOCK, SIGUSR1);
    CHECK(pthread_create(&thread, NULL, run, &at) == 0);
    CHECK(timer_create(CLOCK_MONOTONIC, &event, &timer) == 0);
    if (by_timer)
        CHECK(timer_settime(timer, 0, &spec, NULL) == 0);
    CHECK(usleep(2000) == 0);
    if (!by_timer)
        CHECK(kill(getpid(), SIGUSR1) == 0);
    CHECK(pthread_join(thread, NULL) == 0);
    CHECK_SPAN(at - begun, 2 * MS);
    CHECK(taken == (run == wait_unblocked));
    CHECK(timer_delete(timer) == 0);
    block(SIG_UNBLOCK, SIGUSR1);
    CHECK(taken == (run == wait_unblocked));
}

/* Nobody wants it until somebody does. */
static void *sleep_on(void *arg)
{
    (void)arg;
    CHECK(usleep(5000) == 0);
    return NULL;
}

static void check_nobody(void)
{
    pthread_t threads[2];

    handle(SIGUSR1, 0);
    block(SIG_BLOCK, SIGUSR1);
    for (int i = 0; i < 2; i++)
        CHECK(pthread_create(&threads[i], NULL, sleep_on, NULL) == 0);
    CHECK(usleep(1000) == 0 && kill(getpid(), SIGUSR1) == 0);
    for (int i = 0; i < 2; i++)
        CHECK(pthread_join(threads[i], NULL) == 0);
    CHECK(taken == 0);
    block(SIG_UNBLOCK, SIGUSR1);
    CHECK(taken == 1);
}

/* A timer of one thread. */
static void check_thread_timer(void)
{
    struct sigevent event = {.sigev_notify = SIGEV_THREAD_ID, .sigev_signo = SIGUSR1};
    struct itimerspec spec = {.it_value = {.tv_nsec = 1000000}};
    int64_t begun = emu_now();
    pthread_t thread;
    timer_t timer;

    handle(SIGUSR1, 0);
    event._sigev_un._tid = gettid();
    CHECK(timer_create(CLOCK_MONOTONIC, &event, &timer) == 0);
    CHECK(timer_settime(timer, 0, &spec, NULL) == 0);
    CHECK(pthread_create(&thread, NULL, in_loop, NULL) == 0);
    CHECK(sem_wait(&sem) == -1 && errno == EINTR);
    CHECK(taken == 1 && pthread_equal(taken_by, pthread_self()));
    CHECK_SPAN(taken_at - begun, MS);
    CHECK(pthread_join(thread, NULL) == 0 && timer_delete(timer) == 0);
}

/* Others of the machine get theirs from the kernel, as ever. */
static void check_children(void)
{
    int status;
    pid_t child = fork();

    if (child == 0) {
        (void)pause();
        _exit(1);
    }
    CHECK(kill(child, 0) == 0 && kill(child, SIGTERM) == 0);
    CHECK(waitpid(child, &status, 0) == child && WIFSIGNALED(status));
    CHECK(WTERMSIG(status) == SIGTERM);
    CHECK(kill(getpid(), 0) == 0);
}

int main(void)
{
    check_self();
    check_threads();
    check_restart();
    check_young();
    for (int by_timer = 0; by_timer < 2; by_timer++) {
        check_process(take_one, by_timer);
        check_process(read_one, by_timer);
        check_process(wait_unblocked, by_timer);
    }
    check_nobody();
    check_thread_timer();
    check_children();
    return 0;
}
