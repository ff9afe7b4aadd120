/* SPDX-License-Identifier: Apache-2.0 */
/* Sleeps and timers take their own length of virtual time, however long, and no real time. */
#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "tests/emulator/emu.h"

static volatile sig_atomic_t alarms;

static void on_alarm(int number)
{
    (void)number;
    alarms++;
}

static void check_sleeps(void)
{
    struct timespec hour = {.tv_sec = 3600};
    struct timespec bad = {.tv_nsec = 1000000000L};
    struct timespec when;
    int64_t start = emu_now();

    CHECK(nanosleep(&hour, NULL) == 0);
    CHECK_SPAN(emu_now() - start, 3600 * S);
    start = emu_now();
    CHECK(usleep(250) == 0);
    CHECK_SPAN(emu_now() - start, 250 * US);
    start = emu_now();
    CHECK(sleep(7) == 0);
    CHECK_SPAN(emu_now() - start, 7 * S);
    CHECK(clock_gettime(CLOCK_REALTIME, &when) == 0);
    when.tv_sec += 5;
    start = emu_now();
    CHECK(clock_nanosleep(CLOCK_REALTIME, TIMER_ABSTIME, &when, NULL) == 0);
    CHECK_SPAN(emu_now() - start, 5 * S - US);
    start = emu_now();
    CHECK(clock_nanosleep(CLOCK_REALTIME, TIMER_ABSTIME, &when, NULL) == 0);
    CHECK_SPAN(emu_now() - start, 0);
    start = emu_now();
    CHECK(syscall(SYS_nanosleep, &hour, NULL) == 0);
    CHECK_SPAN(emu_now() - start, 3600 * S);
    errno = 0;
    CHECK(nanosleep(&bad, NULL) == -1 && errno == EINVAL);
    CHECK(clock_nanosleep(CLOCK_MONOTONIC, 0, &bad, NULL) == EINVAL);
    start = emu_now();
    CHECK(sched_yield() == 0 && usleep(0) == 0);
    CHECK(emu_now() > start);
}

static void check_alarms(void)
{
    struct sigaction action = {.sa_handler = on_alarm};
    struct itimerval every = {.it_value = {.tv_usec = 100}, .it_interval = {.tv_usec = 100}};
    struct itimerval none = {0};
    int64_t start = emu_now();

    CHECK(sigaction(SIGALRM, &action, NULL) == 0);
    CHECK(alarm(2) == 0);
    CHECK(sleep(10) == 8);
    CHECK(alarms == 1);
    CHECK_SPAN(emu_now() - start, 2 * S);
    start = emu_now();
    CHECK(alarm(3) == 0);
    CHECK(pause() == -1 && errno == EINTR && alarms == 2);
    CHECK_SPAN(emu_now() - start, 3 * S);
    /* A loop that only reads the clock is interrupted as well. */
    alarms = 0;
    start = emu_now();
    CHECK(setitimer(ITIMER_REAL, &every, NULL) == 0);
    while (alarms < 5)
        (void)emu_now();
    CHECK_SPAN(emu_now() - start, 500 * US);
    CHECK(setitimer(ITIMER_REAL, &none, &every) == 0);
    CHECK(every.it_value.tv_usec > 0 && every.it_value.tv_usec <= 100);
    CHECK(sleep(1) == 0 && alarms == 5);
}

static void check_timers(void)
{
    struct sigevent event = {.sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGUSR1};
    struct itimerspec spec = {.it_value = {.tv_sec = 1}, .it_interval = {.tv_sec = 2}};
    struct timespec limit = {.tv_sec = 60};
    int64_t start = emu_now();
    siginfo_t info;
    timer_t timer;
    sigset_t set;

    event.sigev_value.sival_int = 77;
    CHECK(sigemptyset(&set) == 0 && sigaddset(&set, SIGUSR1) == 0);
    CHECK(sigprocmask(SIG_BLOCK, &set, NULL) == 0);
    CHECK(timer_create(CLOCK_MONOTONIC, &event, &timer) == 0);
    CHECK(timer_settime(timer, 0, &spec, NULL) == 0);
    CHECK(sigtimedwait(&set, &info, &limit) == SIGUSR1 && info.si_value.sival_int == 77);
    CHECK_SPAN(emu_now() - start, 1 * S);
    CHECK(sigwaitinfo(&set, &info) == SIGUSR1);
    CHECK_SPAN(emu_now() - start, 3 * S);
    CHECK(timer_gettime(timer, &spec) == 0 && spec.it_value.tv_sec == 1);
    CHECK(timer_delete(timer) == 0);
    start = emu_now();
    CHECK(sigtimedwait(&set, &info, &limit) == -1 && errno == EAGAIN);
    CHECK_SPAN(emu_now() - start, 60 * S);
}

int main(void)
{
    check_sleeps();
    check_alarms();
    check_timers();
    return 0;
}
