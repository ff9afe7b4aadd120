/* SPDX-License-Identifier: Apache-2.0 */
/*
 * DOC: Timers
 *
 * A timer is an entry with a due time. No thread watches it: an actor of the process whose time
 * reaches the due time fires it, in a wait of this folder or, for a thread that polls queues, in
 * actor_charge (client_set_alarm). A signal for another thread goes by sent.c. So a handler runs on
 * a thread that has the turn, at its own time, and may call whatever it likes.
 *
 * A timerfd is an eventfd to which the expirations are written when they are due; whoever waits on
 * descriptors calls alarm_fire first and waits until alarm_next at most.
 */
#include "verbs-shim/shim/libc/alarm.h"

#include <errno.h>
#include <stddef.h>
#include <sys/eventfd.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "verbs-shim/shim/libc/real.h"
#include "verbs-shim/shim/libc/sent.h"
#include "verbs-shim/shim/libc/vclock.h"

#define TIMERS_MAX 64U

enum timer_kind {
    TIMER_FREE,
    TIMER_SIGNAL, /* alarm, setitimer and timer_create */
    TIMER_THREAD, /* SIGEV_THREAD */
    TIMER_SILENT, /* SIGEV_NONE */
    TIMER_FD,
};

struct timer {
    enum timer_kind kind;
    clockid_t clock;
    simtime due; /* or never: disarmed */
    simspan interval;
    int signal;
    int thread; /* SIGEV_THREAD_ID; or 0 */
    int fd;
    int overrun;
    union sigval value;
    void (*notify)(union sigval value);
};

/* The first is that of alarm and setitimer. */
static struct timer timers[TIMERS_MAX] = {[0] = {.due = {SIMTIME_NEVER_PS}}};
static simtime next_due = {SIMTIME_NEVER_PS};

simtime alarm_next(const struct actor *a)
{
    return simtime_min(next_due, sent_next(a));
}

static void find_next(void)
{
    next_due = simtime_never();
    for (size_t i = 0; i < TIMERS_MAX; i++) {
        if (timers[i].kind != TIMER_FREE)
            next_due = simtime_min(next_due, timers[i].due);
    }
    client_set_alarm(next_due, alarm_hook);
}

static struct timer *timer_new(enum timer_kind kind, clockid_t clock)
{
    for (size_t i = 1; i < TIMERS_MAX; i++) {
        if (timers[i].kind == TIMER_FREE) {
            timers[i] = (struct timer){.kind = kind, .clock = clock, .due = simtime_never()};
            return &timers[i];
        }
    }
    errno = EAGAIN;
    return NULL;
}

static void timer_free(struct timer *t)
{
    *t = (struct timer){.kind = TIMER_FREE, .due = simtime_never()};
    find_next();
}

/* Moves the due time past `now`; how often it was due. */
static uint64_t timer_advance(struct timer *t, simtime now)
{
    uint64_t count = 1;

    if (t->interval.ps <= 0) {
        t->due = simtime_never();
        return 1;
    }
    count += (uint64_t)((now.ps - t->due.ps) / t->interval.ps);
    t->due = simtime_add(t->due, simspan_mul(t->interval, count));
    return count;
}

static enum alarm_effect send_signal(struct actor *a, const struct timer *t)
{
    siginfo_t info = {.si_signo = t->signal, .si_code = SI_TIMER};
    uint32_t number;

    info.si_value = t->value;
    info.si_overrun = t->overrun;
    if (!t->thread)
        return sent_to_process(a, &info);
    number = client_find_actor(NULL, (uint32_t)t->thread);
    if (number != PROTO_ACTORS_MAX)
        return sent_to_actor(a, number, &info);
    (void)REAL(syscall)(SYS_rt_tgsigqueueinfo, getpid(), t->thread, t->signal, &info);
    return ALARM_NONE;
}

static enum alarm_effect timer_fire(struct actor *a, struct timer *t, uint64_t count)
{
    void (*notify)(union sigval) = t->notify;
    enum alarm_effect effect = ALARM_NONE;

    t->overrun = (int)(count - 1);
    switch (t->kind) {
    case TIMER_SIGNAL:
        effect = send_signal(a, t);
        break;
    case TIMER_THREAD:
        notify(t->value);
        break;
    case TIMER_FD:
        (void)REAL(write)(t->fd, &count, sizeof(count));
        break;
    case TIMER_FREE:
    case TIMER_SILENT:
        break;
    }
    return effect;
}

enum alarm_effect alarm_fire(struct actor *a)
{
    enum alarm_effect effect = ALARM_NONE;
    simtime now = actor_now(a);
    enum alarm_effect one;

    while (next_due.ps <= now.ps) {
        struct timer *t = timers;
        uint64_t count;

        while (t->kind == TIMER_FREE || t->due.ps != next_due.ps)
            t++;
        count = timer_advance(t, now);
        find_next();
        /* A handler may change timers and let time pass. */
        one = timer_fire(a, t, count);
        effect = one > effect ? one : effect;
    }
    one = sent_take(a);
    return one > effect ? one : effect;
}

void alarm_hook(struct actor *a)
{
    int saved = errno;

    (void)alarm_fire(a);
    errno = saved;
}

void alarm_forget_fd(int fd)
{
    for (size_t i = 1; i < TIMERS_MAX; i++) {
        if (timers[i].kind == TIMER_FD && timers[i].fd == fd)
            timer_free(&timers[i]);
    }
}

void alarm_forget_all(void)
{
    for (size_t i = 0; i < TIMERS_MAX; i++)
        timers[i].due = simtime_never();
    next_due = simtime_never();
    sent_forget_all();
}

static void timer_show(const struct timer *t, simtime now, struct itimerspec *ret)
{
    struct timespec rest = {0};

    if (t->due.ps != SIMTIME_NEVER_PS) {
        rest = vclock_rest(now, t->due);
        /* Zero would say that it is disarmed. */
        if (rest.tv_sec == 0 && rest.tv_nsec == 0)
            rest.tv_nsec = 1;
    }
    ret->it_value = rest;
    ret->it_interval = vclock_rest((simtime){0}, (simtime){t->interval.ps});
}

/* 0 or errno. */
static int timer_set(struct timer *t, simtime now, bool is_absolute, const struct itimerspec *value)
{
    const struct timespec *first = &value->it_value;

    if (!vclock_is_span(first) || !vclock_is_span(&value->it_interval))
        return EINVAL;
    t->interval = (simspan){vclock_after((simtime){0}, &value->it_interval).ps};
    if (first->tv_sec == 0 && first->tv_nsec == 0)
        t->due = simtime_never();
    else
        t->due = is_absolute ? vclock_read(t->clock, first) : vclock_after(now, first);
    find_next();
    return 0;
}

static struct timespec span_of(const struct timeval *tv)
{
    return (struct timespec){.tv_sec = tv->tv_sec, .tv_nsec = tv->tv_usec * 1000};
}

static struct timeval timeval_of(const struct timespec *ts)
{
    /* Up: what is left of a running timer must not look like nothing. */
    return (struct timeval){.tv_sec = ts->tv_sec + (ts->tv_nsec > 999999000L),
                            .tv_usec = (ts->tv_nsec + 999) / 1000 % 1000000};
}

SHIM_EXPORT int getitimer(__itimer_which_t which, struct itimerval *ret)
{
    struct actor *a = actor_self();
    struct itimerspec old;

    if (!a || which != ITIMER_REAL)
        return REAL(getitimer)((int)which, ret);
    timer_show(&timers[0], actor_now(a), &old);
    *ret = (struct itimerval){.it_value = timeval_of(&old.it_value),
                              .it_interval = timeval_of(&old.it_interval)};
    return 0;
}

SHIM_EXPORT int setitimer(__itimer_which_t which, const struct itimerval *restrict value,
                          struct itimerval *restrict ret_old)
{
    struct actor *a = actor_self();
    struct itimerspec spec = {0};

    if (!a || which != ITIMER_REAL)
        return REAL(setitimer)((int)which, value, ret_old);
    if (ret_old)
        (void)getitimer(which, ret_old);
    if (value) {
        spec.it_value = span_of(&value->it_value);
        spec.it_interval = span_of(&value->it_interval);
    }
    timers[0].kind = TIMER_SIGNAL;
    timers[0].signal = SIGALRM;
    timers[0].clock = CLOCK_REALTIME;
    errno = timer_set(&timers[0], actor_now(a), false, &spec);
    return errno ? -1 : 0;
}

SHIM_EXPORT unsigned alarm(unsigned seconds)
{
    struct itimerval value = {.it_value = {.tv_sec = seconds}};
    struct itimerval old = {0};
    int saved = errno;

    if (!actor_self())
        return REAL(alarm)(seconds);
    (void)setitimer(ITIMER_REAL, &value, &old);
    errno = saved;
    return (unsigned)old.it_value.tv_sec + (old.it_value.tv_usec > 0);
}

/* NULL: not one of ours. */
static struct timer *timer_of(timer_t id)
{
    for (size_t i = 1; i < TIMERS_MAX; i++) {
        if ((id == (timer_t)(&timers[i])) && timers[i].kind != TIMER_FREE)
            return &timers[i];
    }
    return NULL;
}

SHIM_EXPORT int timer_create(clockid_t clock, struct sigevent *restrict event,
                             timer_t *restrict ret)
{
    struct timer *t;

    if (!actor_self() || !vclock_is_settable(clock))
        return REAL(timer_create)(clock, event, ret);
    t = timer_new(TIMER_SIGNAL, clock);
    if (!t)
        return -1;
    t->signal = event ? event->sigev_signo : SIGALRM;
    if (event)
        t->value = event->sigev_value;
    else
        t->value.sival_ptr = t;
    if (event && event->sigev_notify == SIGEV_NONE)
        t->kind = TIMER_SILENT;
    if (event && event->sigev_notify == SIGEV_THREAD) {
        t->kind = TIMER_THREAD;
        t->notify = event->sigev_notify_function;
    }
    if (event && event->sigev_notify == SIGEV_THREAD_ID)
        t->thread = event->_sigev_un._tid;
    *ret = (timer_t)t;
    return 0;
}

SHIM_EXPORT int timer_delete(timer_t id)
{
    struct timer *t = timer_of(id);

    if (!t)
        return REAL(timer_delete)(id);
    timer_free(t);
    return 0;
}

SHIM_EXPORT int timer_gettime(timer_t id, struct itimerspec *ret)
{
    struct timer *t = timer_of(id);
    struct actor *a = actor_self();

    if (!t)
        return REAL(timer_gettime)(id, ret);
    timer_show(t, a ? actor_now(a) : (simtime){0}, ret);
    return 0;
}

SHIM_EXPORT int timer_settime(timer_t id, int flags, const struct itimerspec *restrict value,
                              struct itimerspec *restrict ret_old)
{
    struct timer *t = timer_of(id);
    struct actor *a = actor_self();

    if (!a || !t)
        return REAL(timer_settime)(id, flags, value, ret_old);
    if (ret_old)
        timer_show(t, actor_now(a), ret_old);
    errno = timer_set(t, actor_now(a), flags & TIMER_ABSTIME, value);
    return errno ? -1 : 0;
}

SHIM_EXPORT int timer_getoverrun(timer_t id)
{
    const struct timer *t = timer_of(id);

    return t ? t->overrun : REAL(timer_getoverrun)(id);
}

static struct timer *timer_of_fd(int fd)
{
    for (size_t i = 1; i < TIMERS_MAX; i++) {
        if (timers[i].kind == TIMER_FD && timers[i].fd == fd)
            return &timers[i];
    }
    return NULL;
}

SHIM_EXPORT int timerfd_create(clockid_t clock, int flags)
{
    int event_flags =
        ((flags & TFD_NONBLOCK) ? EFD_NONBLOCK : 0) | ((flags & TFD_CLOEXEC) ? EFD_CLOEXEC : 0);
    struct timer *t;

    if (!actor_self() || !vclock_is_settable(clock) || (flags & ~(TFD_NONBLOCK | TFD_CLOEXEC)))
        return REAL(timerfd_create)(clock, flags);
    t = timer_new(TIMER_FD, clock);
    if (!t)
        return -1;
    t->fd = eventfd(0, event_flags);
    if (t->fd == -1) {
        int saved = errno;

        timer_free(t);
        errno = saved;
        return -1;
    }
    return t->fd;
}

/* Expirations that nobody has read are gone when the timer is set anew. */
static void drain(int fd)
{
    struct pollfd p = {.fd = fd, .events = POLLIN};
    uint64_t count;

    if (REAL(poll)(&p, 1, 0) == 1)
        (void)REAL(read)(fd, &count, sizeof(count));
}

SHIM_EXPORT int timerfd_settime(int fd, int flags, const struct itimerspec *value,
                                struct itimerspec *ret_old)
{
    struct timer *t = timer_of_fd(fd);
    struct actor *a = actor_self();

    if (!a || !t)
        return REAL(timerfd_settime)(fd, flags, value, ret_old);
    (void)alarm_fire(a);
    if (ret_old)
        timer_show(t, actor_now(a), ret_old);
    drain(fd);
    errno = timer_set(t, actor_now(a), flags & TFD_TIMER_ABSTIME, value);
    return errno ? -1 : 0;
}

SHIM_EXPORT int timerfd_gettime(int fd, struct itimerspec *ret)
{
    struct timer *t = timer_of_fd(fd);
    struct actor *a = actor_self();

    if (!a || !t)
        return REAL(timerfd_gettime)(fd, ret);
    timer_show(t, actor_now(a), ret);
    return 0;
}
