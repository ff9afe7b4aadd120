/* SPDX-License-Identifier: Apache-2.0 */
/*
 * DOC: Signals of the shim
 *
 * A clock read by rdtsc is a SIGILL (shim/tsc), so that signal has a handler of ours and must be
 * open in every thread: the kernel ends a process that faults while the signal is blocked. The
 * program may have a handler of its own, which the hook plays, and may believe that it has blocked
 * SIGILL; nothing else than a fault or a kill would show it the difference.
 *
 * Memory spinners are found by a signal of the shim's own (spin_signal.h), which no program may
 * have for itself, as it cannot have the C library's.
 *
 * Masks lose both in every process of a run, also before it joins: a thread that was started with
 * all signals blocked reads the clock later.
 */
#include <errno.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "verbs-shim/proto/proto.h"
#include "verbs-shim/shim/libc/real.h"
#include "verbs-shim/shim/spin_signal.h"
#include "verbs-shim/shim/tsc_hook.h"

static bool is_in_run(void)
{
    enum {
        UNKNOWN,
        NO,
        YES,
    };
    static _Atomic int state = UNKNOWN;
    int now = atomic_load_explicit(&state, memory_order_relaxed);

    if (now == UNKNOWN) {
        now = getenv(PROTO_ENV_SOCKET) ? YES : NO; // NOLINT(concurrency-mt-unsafe): start-up
        atomic_store_explicit(&state, now, memory_order_relaxed);
    }
    return now == YES;
}

/* Does the mask block a signal that has to be open? */
static bool blocks_ours(const sigset_t *set)
{
    return sigismember(set, SIGILL) == 1 || sigismember(set, SPIN_SIGNAL) == 1;
}

static void open_ours(sigset_t *set)
{
    (void)sigdelset(set, SIGILL);
    (void)sigdelset(set, SPIN_SIGNAL);
}

static int set_action(int number, const struct sigaction *act, struct sigaction *ret_old)
{
    const struct tsc_hook *hook = tsc_hook();
    struct sigaction open;

    if (number == SIGILL && hook)
        return hook->sigaction(act, ret_old);
    if (number == SPIN_SIGNAL && is_in_run()) {
        errno = EINVAL;
        return -1;
    }
    if (act && is_in_run() && blocks_ours(&act->sa_mask)) {
        open = *act;
        open_ours(&open.sa_mask);
        act = &open;
    }
    return REAL(sigaction)(number, act, ret_old);
}

SHIM_EXPORT int sigaction(int number, const struct sigaction *restrict act,
                          struct sigaction *restrict ret_old)
{
    return set_action(number, act, ret_old);
}

/* signal() for those that are ours. */
static __sighandler_t set_handler(int number, __sighandler_t handler, int flags)
{
    struct sigaction action = {.sa_handler = handler, .sa_flags = flags};
    struct sigaction old;

    if (handler == SIG_ERR) {
        errno = EINVAL;
        return SIG_ERR;
    }
    return set_action(number, &action, &old) == 0 ? old.sa_handler : SIG_ERR;
}

static bool is_hooked(int number)
{
    return (number == SIGILL && tsc_hook()) || (number == SPIN_SIGNAL && is_in_run());
}

SHIM_EXPORT __sighandler_t signal(int number, __sighandler_t handler)
{
    return is_hooked(number) ? set_handler(number, handler, SA_RESTART)
                             : REAL(signal)(number, handler);
}

SHIM_EXPORT __sighandler_t ssignal(int number, __sighandler_t handler)
{
    return signal(number, handler);
}

// NOLINTNEXTLINE(bugprone-reserved-identifier,readability-identifier-naming): the C library's name
SHIM_EXPORT __sighandler_t __sysv_signal(int number, __sighandler_t handler)
{
    return is_hooked(number) ? set_handler(number, handler, (int)(SA_RESETHAND | SA_NODEFER))
                             : REAL(__sysv_signal)(number, handler);
}

SHIM_EXPORT __sighandler_t sysv_signal(int number, __sighandler_t handler)
{
    return __sysv_signal(number, handler);
}

/* The mask without what has to be open, if that would block it. */
static const sigset_t *opened(int how, const sigset_t *set, sigset_t *place)
{
    if (!set || how == SIG_UNBLOCK || !is_in_run() || !blocks_ours(set))
        return set;
    *place = *set;
    open_ours(place);
    return place;
}

SHIM_EXPORT int pthread_sigmask(int how, const sigset_t *restrict set, sigset_t *restrict ret_old)
{
    sigset_t place;

    return REAL(pthread_sigmask)(how, opened(how, set, &place), ret_old);
}

SHIM_EXPORT int sigprocmask(int how, const sigset_t *restrict set, sigset_t *restrict ret_old)
{
    sigset_t place;

    return REAL(sigprocmask)(how, opened(how, set, &place), ret_old);
}
