/* SPDX-License-Identifier: Apache-2.0 */
/* rdtsc and the clock agree, in handlers, in threads, and whatever the program does with signals.
 * Only where there is a conductor: the others have no patcher. */
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <sys/time.h>
#include <unistd.h>

#include "tests/emulator/emu.h"

#if defined(__x86_64__)
#include <x86intrin.h>

static volatile sig_atomic_t handled;
static volatile sig_atomic_t illegal;
static uint64_t seen_in_handler;

/* 1 GHz: a cycle is a nanosecond, and monotonic time began 1,000 s before the counter. */
static void check_agreement(void)
{
    unsigned processor = 7;
    int64_t before = emu_now();
    uint64_t cycles = __rdtsc();
    int64_t after = emu_now();

    CHECK((int64_t)cycles + 1000 * S > before && (int64_t)cycles + 1000 * S < after);
    cycles = __rdtscp(&processor);
    CHECK((int64_t)cycles + 1000 * S > after && processor == 0);
}

static void on_alarm(int number)
{
    (void)number;
    seen_in_handler = __rdtsc();
    handled++;
}

static void check_handlers(void)
{
    struct sigaction action = {.sa_handler = on_alarm};
    struct itimerval every = {.it_value = {.tv_usec = 200}, .it_interval = {.tv_usec = 200}};
    struct itimerval none = {0};

    (void)sigfillset(&action.sa_mask);
    CHECK(sigaction(SIGALRM, &action, NULL) == 0 && sigaction(SIGUSR1, &action, NULL) == 0);
    CHECK(setitimer(ITIMER_REAL, &every, NULL) == 0);
    while (handled < 5)
        (void)__rdtsc();
    CHECK(setitimer(ITIMER_REAL, &none, NULL) == 0);
    CHECK(seen_in_handler + 1000 * (uint64_t)S <= (uint64_t)emu_now());
    CHECK(raise(SIGUSR1) == 0 && handled == 6);
}

static void on_illegal(int number)
{
    (void)number;
    illegal = (int)(__rdtsc() > 0);
}

static void check_own_sigill(void)
{
    struct sigaction old;

    CHECK(signal(SIGILL, on_illegal) == SIG_DFL);
    check_agreement();
    CHECK(raise(SIGILL) == 0 && illegal == 1);
    CHECK(sigaction(SIGILL, NULL, &old) == 0 && old.sa_handler == on_illegal);
    CHECK(signal(SIGILL, SIG_IGN) == on_illegal && raise(SIGILL) == 0);
    check_agreement();
    CHECK(signal(SIGILL, SIG_DFL) == SIG_IGN);
}

static void *read_blocked(void *arg)
{
    sigset_t all;
    uint64_t last = 0;

    (void)sigfillset(&all);
    CHECK(pthread_sigmask(SIG_SETMASK, &all, NULL) == 0);
    CHECK(sigprocmask(SIG_BLOCK, &all, NULL) == 0);
    for (int i = 0; i < 200; i++) {
        uint64_t now = __rdtsc();

        CHECK(now > last);
        last = now;
        check_agreement();
    }
    return arg;
}

static void check_threads(void)
{
    pthread_t threads[4];

    for (int i = 0; i < 4; i++)
        CHECK(pthread_create(&threads[i], NULL, read_blocked, NULL) == 0);
    (void)read_blocked(NULL);
    for (int i = 0; i < 4; i++)
        CHECK(pthread_join(threads[i], NULL) == 0);
}

static void check_cpuinfo(void)
{
    FILE *file = fopen("/proc/cpuinfo", "r");
    char line[4096];
    int found = 0;

    CHECK(file);
    while (fgets(line, sizeof(line), file)) {
        if (strncmp(line, "cpu MHz", 7) == 0) {
            CHECK(strcmp(strchr(line, ':'), ": 1000.000\n") == 0);
            found++;
        }
    }
    CHECK(found > 0 && fclose(file) == 0);
}

int main(void)
{
    if (!getenv("TBMESH_SOCKET"))
        return 0;
    check_agreement();
    check_handlers();
    check_own_sigill();
    check_threads();
    check_cpuinfo();
    return 0;
}
#else
int main(void)
{
    return 0;
}
#endif
