/* SPDX-License-Identifier: Apache-2.0 */
/*
 * DOC: Sleeping
 *
 * A sleep lets virtual time pass and costs nothing beyond its length; one of no length costs as
 * much as a call that synchronises, so that a loop of them moves on. A sleeper wakes early only
 * for a timer of its own process (alarm.c), since nothing else can happen to it in virtual time.
 *
 * A thread that waits for a signal has to see those from outside as well. It keeps the signals that
 * have a handler blocked while it waits, looks for pending ones now and then, and lets them in
 * when it is back, under the clock: a handler never runs inside the scheduler.
 */
#include <errno.h>
#include <sched.h>
#include <unistd.h>

#include "verbs-shim/shim/actor.h"
#include "verbs-shim/shim/libc/real.h"
#include "verbs-shim/shim/libc/vclock.h"
#include "verbs-shim/shim/libc/wait.h"

static enum wait_end end_of(enum alarm_effect effect)
{
    return effect == ALARM_HANDLED ? WAIT_SIGNAL : WAIT_RESTART;
}

enum wait_end wait_until(struct actor *a, simtime t)
{
    for (;;) {
        enum alarm_effect effect = alarm_fire(a);

        if (effect != ALARM_NONE)
            return end_of(effect);
        if (actor_now(a).ps >= t.ps)
            return WAIT_TIMEOUT;
        actor_sleep_until(a, simtime_min(t, alarm_next(a)));
    }
}

static enum wait_end wait_watching(struct actor *a, bool (*try)(void *ctx), void *ctx,
                                   simtime deadline, const struct actor_watch *watch)
{
    for (;;) {
        enum alarm_effect effect = alarm_fire(a);

        if (try(ctx))
            return WAIT_DONE;
        if (effect != ALARM_NONE)
            return end_of(effect);
        if (actor_now(a).ps >= deadline.ps)
            return WAIT_TIMEOUT;
        if (actor_wait_watching(a, try, ctx, simtime_min(deadline, alarm_next(a)), watch))
            return WAIT_DONE;
    }
}

enum wait_end wait_outside(struct actor *a, bool (*try)(void *ctx), void *ctx, simtime deadline)
{
    return wait_watching(a, try, ctx, deadline, NULL);
}

struct descriptors {
    struct actor *a;
    bool (*try)(void *ctx);
    void *ctx;
    struct actor_watch watch;
};

static bool try_descriptors(void *ctx)
{
    struct descriptors *d = ctx;

    client_look(d->a, &d->watch);
    return d->try(d->ctx);
}

enum wait_end wait_descriptors(struct actor *a, bool (*try)(void *ctx), void *ctx, simtime deadline)
{
    struct descriptors d = {.a = a, .try = try, .ctx = ctx};

    return wait_watching(a, try_descriptors, &d, deadline, &d.watch);
}

enum wait_end wait_outside_restarting(struct actor *a, bool (*try)(void *ctx), void *ctx,
                                      simtime deadline)
{
    enum wait_end end;

    do
        end = wait_outside(a, try, ctx, deadline);
    while (end == WAIT_RESTART);
    return end;
}

/* 0 or EINTR. */
static int sleep_until(struct actor *a, simtime t)
{
    if (actor_now(a).ps >= t.ps) {
        actor_charge(a, PROTO_CHARGE_SYNC, 1);
        return 0;
    }
    return wait_until(a, t) == WAIT_TIMEOUT ? 0 : EINTR;
}

/* 0 or errno, as clock_nanosleep. */
static int sleep_for(struct actor *a, const struct timespec *span, struct timespec *ret_rest)
{
    simtime end;
    int error;

    if (!span)
        return EFAULT;
    if (!vclock_is_span(span))
        return EINVAL;
    end = vclock_after(actor_now(a), span);
    error = sleep_until(a, end);
    if (error && ret_rest)
        *ret_rest = vclock_rest(actor_now(a), end);
    return error;
}

SHIM_EXPORT int nanosleep(const struct timespec *span, struct timespec *ret_rest)
{
    struct actor *a = actor_self();
    int error;

    if (!a)
        return REAL(nanosleep)(span, ret_rest);
    error = sleep_for(a, span, ret_rest);
    if (error == 0)
        return 0;
    errno = error;
    return -1;
}

SHIM_EXPORT int clock_nanosleep(clockid_t clock, int flags, const struct timespec *when,
                                struct timespec *ret_rest)
{
    struct actor *a = actor_self();

    if (!a || !vclock_is_settable(clock))
        return REAL(clock_nanosleep)(clock, flags, when, ret_rest);
    if (!(flags & TIMER_ABSTIME))
        return sleep_for(a, when, ret_rest);
    if (!when)
        return EFAULT;
    if (when->tv_nsec < 0 || when->tv_nsec >= 1000000000L)
        return EINVAL;
    return sleep_until(a, vclock_read(clock, when));
}

SHIM_EXPORT int usleep(useconds_t us)
{
    struct timespec span = {.tv_sec = us / 1000000U, .tv_nsec = us % 1000000U * 1000L};

    return actor_self() ? nanosleep(&span, NULL) : REAL(usleep)(us);
}

SHIM_EXPORT unsigned sleep(unsigned seconds)
{
    struct timespec span = {.tv_sec = seconds};
    struct timespec rest = {0};

    if (!actor_self())
        return REAL(sleep)(seconds);
    if (nanosleep(&span, &rest) == 0)
        return 0;
    return (unsigned)rest.tv_sec + (rest.tv_nsec >= 500000000L);
}

SHIM_EXPORT int sched_yield(void)
{
    struct actor *a = actor_self();

    if (!a)
        return REAL(sched_yield)();
    actor_charge(a, PROTO_CHARGE_SYNC, 1);
    return 0;
}

struct signal_wait {
    const sigset_t *mask; /* borrowed; of the thread while it waits */
};

/* Would the signal interrupt a wait? Some do nothing unless there is a handler. */
static bool signal_interrupts(int number)
{
    struct sigaction action;

    if (sigaction(number, NULL, &action) != 0 || action.sa_handler == SIG_IGN)
        return false;
    if (action.sa_handler != SIG_DFL)
        return true;
    return number != SIGCHLD && number != SIGURG && number != SIGWINCH && number != SIGCONT;
}

static bool try_signal(void *ctx)
{
    const struct signal_wait *wait = ctx;
    sigset_t pending;

    if (sigpending(&pending) != 0)
        return true;
    for (int number = 1; number < NSIG; number++) {
        if (sigismember(&pending, number) == 1 && sigismember(wait->mask, number) == 0 &&
            signal_interrupts(number))
            return true;
    }
    return false;
}

/* Waits for a handler to have run under `mask`. The mask is as before afterwards. */
static void wait_for_signal(struct actor *a, const sigset_t *mask)
{
    struct signal_wait wait = {.mask = mask};
    struct timespec zero = {0};
    sigset_t before;
    sigset_t all;

    (void)sigfillset(&all);
    (void)pthread_sigmask(SIG_SETMASK, &all, &before);
    (void)wait_outside(a, try_signal, &wait, simtime_never());
    /* Pending signals that the mask lets in have their handlers run here, and only here. */
    (void)REAL(ppoll)(NULL, 0, &zero, mask);
    (void)pthread_sigmask(SIG_SETMASK, &before, NULL);
}

SHIM_EXPORT int pause(void)
{
    struct actor *a = actor_self();
    sigset_t mask;

    if (!a)
        return REAL(pause)();
    (void)pthread_sigmask(SIG_SETMASK, NULL, &mask);
    wait_for_signal(a, &mask);
    errno = EINTR;
    return -1;
}

SHIM_EXPORT int sigsuspend(const sigset_t *mask)
{
    struct actor *a = actor_self();

    if (!a)
        return REAL(sigsuspend)(mask);
    wait_for_signal(a, mask);
    errno = EINTR;
    return -1;
}

struct signal_take {
    const sigset_t *set; /* borrowed */
    siginfo_t info;
    int number; /* or -1 and errno */
};

static bool try_take_signal(void *ctx)
{
    struct signal_take *take = ctx;
    struct timespec zero = {0};

    take->number = REAL(sigtimedwait)(take->set, &take->info, &zero);
    return take->number != -1 || errno != EAGAIN;
}

SHIM_EXPORT int sigtimedwait(const sigset_t *set, siginfo_t *ret_info, const struct timespec *span)
{
    struct actor *a = actor_self();
    struct signal_take take = {.set = set};
    simtime deadline = simtime_never();
    enum wait_end end;

    if (!a)
        return REAL(sigtimedwait)(set, ret_info, span);
    if (span && !vclock_is_span(span)) {
        errno = EINVAL;
        return -1;
    }
    if (span)
        deadline = vclock_after(actor_now(a), span);
    actor_charge(a, PROTO_CHARGE_SYNC, 1);
    end = wait_outside(a, try_take_signal, &take, deadline);
    if (end != WAIT_DONE) {
        errno = end == WAIT_TIMEOUT ? EAGAIN : EINTR;
        return -1;
    }
    if (take.number != -1 && ret_info)
        *ret_info = take.info;
    return take.number;
}

SHIM_EXPORT int sigwaitinfo(const sigset_t *set, siginfo_t *ret_info)
{
    return actor_self() ? sigtimedwait(set, ret_info, NULL) : REAL(sigwaitinfo)(set, ret_info);
}

SHIM_EXPORT int sigwait(const sigset_t *set, int *ret_number)
{
    int number;

    if (!actor_self())
        return REAL(sigwait)(set, ret_number);
    do
        number = sigtimedwait(set, NULL, NULL);
    while (number == -1 && errno == EINTR);
    if (number == -1)
        return errno;
    *ret_number = number;
    return 0;
}
