/* SPDX-License-Identifier: Apache-2.0 */
/* Every clock shows virtual time: it advances by what calls cost and by nothing else. */
#include <errno.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/times.h>
#include <unistd.h>

#include "tests/emulator/emu.h"

static void check_steps(clockid_t clock)
{
    int64_t first = emu_read(clock);
    int64_t step = emu_read(clock) - first;

    CHECK(step > 0);
    CHECK(step < US);
    /* Work between two readings takes no virtual time. */
    for (volatile int i = 0; i < 3000000; i++)
        continue;
    for (int i = 0; i < 100; i++)
        (void)emu_read(clock);
    CHECK(emu_read(clock) - first == 102 * step);
}

int main(void)
{
    static const clockid_t clocks[] = {CLOCK_REALTIME,
                                       CLOCK_MONOTONIC,
                                       CLOCK_MONOTONIC_RAW,
                                       CLOCK_MONOTONIC_COARSE,
                                       CLOCK_BOOTTIME,
                                       CLOCK_PROCESS_CPUTIME_ID,
                                       CLOCK_TAI,
                                       CLOCK_REALTIME_COARSE,
                                       CLOCK_THREAD_CPUTIME_ID};
    struct timespec ts;
    struct timeval tv;
    struct rusage usage;
    struct tms tms;
    clock_t ticks;

    for (size_t i = 0; i < sizeof(clocks) / sizeof(*clocks); i++)
        check_steps(clocks[i]);
    CHECK(emu_now() >= 1000 * S);
    CHECK(gettimeofday(&tv, NULL) == 0);
    CHECK(labs(tv.tv_sec - time(NULL)) <= 1);
    CHECK(labs(emu_read(CLOCK_REALTIME) / S - time(NULL)) <= 1);
    CHECK(timespec_get(&ts, TIME_UTC) == TIME_UTC);
    CHECK(labs(ts.tv_sec - time(NULL)) <= 1);
    CHECK(clock_getres(CLOCK_MONOTONIC, &ts) == 0 && ts.tv_nsec == 1);
    CHECK(getrusage(RUSAGE_SELF, &usage) == 0 && usage.ru_stime.tv_usec == 0);
    ticks = times(&tms);
    CHECK(sleep(1) == 0);
    CHECK(times(&tms) - ticks == 100);
    CHECK(clock() >= CLOCKS_PER_SEC);
    errno = 0;
    CHECK(clock_gettime(12345, &ts) == -1 && errno == EINVAL);
    CHECK(syscall(SYS_clock_gettime, CLOCK_MONOTONIC, &ts) == 0);
    CHECK_SPAN(emu_now() - (ts.tv_sec * S + ts.tv_nsec), 0);
    CHECK(syscall(SYS_getpid) == getpid());
    return 0;
}
