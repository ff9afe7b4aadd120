/* SPDX-License-Identifier: Apache-2.0 */
/*
 * DOC: Clocks
 *
 *   CLOCK_REALTIME, TAI (and coarse)         agreed epoch + virtual time
 *   CLOCK_MONOTONIC (RAW, COARSE), BOOTTIME  1000 s + virtual time: a machine that is up for a
 * while CPU time of threads and processes        virtual time, since time measured here would
 * differ from run to run
 *
 * A clock ticks in nanoseconds; the virtual time of a picosecond grid is rounded down, so that no
 * deadline a program computes from a reading lies before the reading. Each reading costs
 * PROTO_CHARGE_CLOCK: a loop until the clock has moved has to end.
 */
#include "verbs-shim/shim/actor.h"
#include "verbs-shim/shim/libc/real.h"
#include "verbs-shim/shim/libc/vclock.h"

#define NS_PER_S      INT64_C(1000000000)
#define UP_SINCE_S    INT64_C(1000)
#define PS_PER_TICK   (PS_PER_S / 100) /* of times(): sysconf(_SC_CLK_TCK) is 100 on Linux */
#define PROCESS_CLOCK (-1)             /* any clockid_t below zero is a CPU clock of somebody */

static int64_t clock_base_ns(clockid_t clock)
{
    const struct proto_agreed *agreed = client_agreed();

    switch (clock) {
    case CLOCK_REALTIME:
    case CLOCK_REALTIME_COARSE:
    case CLOCK_REALTIME_ALARM:
    case CLOCK_TAI:
        return agreed ? agreed->epoch_ns : 0;
    case CLOCK_MONOTONIC:
    case CLOCK_MONOTONIC_RAW:
    case CLOCK_MONOTONIC_COARSE:
    case CLOCK_BOOTTIME:
    case CLOCK_BOOTTIME_ALARM:
        return UP_SINCE_S * NS_PER_S;
    default:
        return 0;
    }
}

bool vclock_is_settable(clockid_t clock)
{
    return clock >= 0 && clock != CLOCK_PROCESS_CPUTIME_ID && clock != CLOCK_THREAD_CPUTIME_ID;
}

struct timespec vclock_show(clockid_t clock, simtime t)
{
    int64_t ns = clock_base_ns(clock) + t.ps / PS_PER_NS;

    return (struct timespec){.tv_sec = ns / NS_PER_S, .tv_nsec = ns % NS_PER_S};
}

simtime vclock_after(simtime now, const struct timespec *span)
{
    int64_t ps;

    if (__builtin_mul_overflow(span->tv_sec, PS_PER_S, &ps) ||
        __builtin_add_overflow(ps, span->tv_nsec * PS_PER_NS, &ps) ||
        __builtin_add_overflow(ps, now.ps, &ps))
        return simtime_never();
    return (simtime){ps};
}

simtime vclock_after_ms(simtime now, int ms)
{
    if (ms < 0)
        return simtime_never();
    return simtime_add(now, (simspan){ms * PS_PER_MS});
}

simtime vclock_read(clockid_t clock, const struct timespec *when)
{
    int64_t base = clock_base_ns(clock);
    struct timespec span = {.tv_sec = when->tv_sec - base / NS_PER_S,
                            .tv_nsec = when->tv_nsec - base % NS_PER_S};
    simtime t = vclock_after((simtime){0}, &span);

    return t.ps < 0 ? (simtime){0} : t;
}

struct timespec vclock_rest(simtime now, simtime t)
{
    int64_t ns = t.ps > now.ps ? (t.ps - now.ps) / PS_PER_NS : 0;

    return (struct timespec){.tv_sec = ns / NS_PER_S, .tv_nsec = ns % NS_PER_S};
}

/* The time after the charge for having asked. */
static simtime read_time(struct actor *a)
{
    actor_charge(a, PROTO_CHARGE_CLOCK, 1);
    return actor_now(a);
}

static struct timeval show_timeval(clockid_t clock, simtime t)
{
    struct timespec ts = vclock_show(clock, t);

    return (struct timeval){.tv_sec = ts.tv_sec, .tv_usec = ts.tv_nsec / 1000};
}

SHIM_EXPORT int clock_gettime(clockid_t clock, struct timespec *ret)
{
    struct actor *a = actor_self();

    if (!a)
        return REAL(clock_gettime)(clock, ret);
    /* The kernel judges the clock's number and the address. */
    if (REAL(clock_gettime)(clock, ret) != 0)
        return -1;
    *ret = vclock_show(clock, read_time(a));
    return 0;
}

SHIM_EXPORT int clock_getres(clockid_t clock, struct timespec *ret)
{
    struct actor *a = actor_self();
    int rc = REAL(clock_getres)(clock, ret);

    if (!a || rc != 0)
        return rc;
    actor_charge(a, PROTO_CHARGE_CLOCK, 1);
    if (ret)
        *ret = (struct timespec){.tv_nsec = 1};
    return 0;
}

SHIM_EXPORT int gettimeofday(struct timeval *restrict ret, void *restrict zone)
{
    struct actor *a = actor_self();

    int rc = REAL(gettimeofday)(ret, zone);

    if (a && rc == 0)
        *ret = show_timeval(CLOCK_REALTIME, read_time(a));
    return rc;
}

SHIM_EXPORT time_t time(time_t *ret)
{
    struct actor *a = actor_self();
    time_t now;

    if (!a)
        return REAL(time)(ret);
    now = vclock_show(CLOCK_REALTIME, read_time(a)).tv_sec;
    if (ret)
        *ret = now;
    return now;
}

SHIM_EXPORT int timespec_get(struct timespec *ret, int base)
{
    struct actor *a = actor_self();

    if (!a || base != TIME_UTC)
        return REAL(timespec_get)(ret, base);
    *ret = vclock_show(CLOCK_REALTIME, read_time(a));
    return base;
}

SHIM_EXPORT clock_t times(struct tms *ret)
{
    struct actor *a = actor_self();
    simtime now;

    if (!a)
        return REAL(times)(ret);
    now = read_time(a);
    if (ret)
        *ret = (struct tms){.tms_utime = now.ps / PS_PER_TICK};
    return UP_SINCE_S * PS_PER_S / PS_PER_TICK + now.ps / PS_PER_TICK;
}

SHIM_EXPORT clock_t clock(void)
{
    struct actor *a = actor_self();

    return a ? read_time(a).ps / PS_PER_US : REAL(clock)();
}

SHIM_EXPORT int getrusage(__rusage_who_t who, struct rusage *ret)
{
    struct actor *a = actor_self();
    int rc = REAL(getrusage)((int)who, ret);

    if (!a || rc != 0)
        return rc;
    ret->ru_utime = show_timeval(CLOCK_PROCESS_CPUTIME_ID, read_time(a));
    ret->ru_stime = (struct timeval){0};
    return 0;
}
