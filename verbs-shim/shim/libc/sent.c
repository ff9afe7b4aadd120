/* SPDX-License-Identifier: Apache-2.0 */
/*
 * DOC: Signals within a process
 *
 * A signal that reached a parked thread at once would have its handler run there without a turn, at
 * a moment of the wall clock. So it waits here, and its target is interrupted: whatever that waits
 * for, it gets its turn at the sender's time and sends the signal to itself, wherever it lets
 * timers fire (alarm.c). What is then blocked stays pending in the kernel, as always.
 *
 * One for the process goes to the sender, if that does not block it; the C library promises no
 * less, and the kernel has no rule that would be the same in every run. Else it is offered to each
 * thread in turn, and the first that does not block it takes it. When all have refused, the kernel
 * keeps it for the process, and all look again: one may sit in sigwait or read a signalfd.
 *
 * SIGKILL, SIGSTOP, SIGCONT, those of the C library's own and whatever goes to other processes are
 * the kernel's as ever.
 */
#include "verbs-shim/shim/libc/sent.h"

#include <errno.h>
#include <signal.h>
#include <stddef.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "verbs-shim/shim/libc/real.h"
#include "verbs-shim/shim/spin_signal.h"

#define SENT_MAX 256U

struct sent {
    bool is_used;
    bool is_any;      /* for the process */
    uint32_t from;    /* actor */
    uint32_t to;      /* else for this actor */
    uint64_t refused; /* by actors, bits as in client_actors */
    simtime due;
    uint64_t order; /* of sending */
    siginfo_t info;
};

static struct sent sents[SENT_MAX];
static uint64_t orders;
static uint32_t sent_count;

void sent_forget_all(void)
{
    for (size_t i = 0; i < SENT_MAX; i++)
        sents[i].is_used = false;
    sent_count = 0;
}

static void discard(struct sent *s)
{
    s->is_used = false;
    sent_count--;
}

static uint64_t bit_of(uint32_t number)
{
    return UINT64_C(1) << number % PROTO_CLIENT_ACTORS;
}

static bool is_for(const struct sent *s, uint32_t number)
{
    return s->is_used && (s->is_any ? (s->refused & bit_of(number)) == 0 : s->to == number);
}

/* When one that polls sees it: what it did at the very instant of sending came before, if it is
 * first in the order of actors. */
static simtime seen_at(const struct sent *s, uint32_t number)
{
    return simtime_add(s->due, (simspan){number < s->from});
}

static simtime next_for(uint32_t number)
{
    simtime next = simtime_never();

    for (size_t i = 0; sent_count > 0 && i < SENT_MAX; i++) {
        if (is_for(&sents[i], number))
            next = simtime_min(next, seen_at(&sents[i], number));
    }
    return next;
}

static void set_alarm(uint32_t number)
{
    actor_set_alarm(number, next_for(number), alarm_hook);
}

simtime sent_next(const struct actor *a)
{
    return next_for(actor_number(a));
}

/* Does the calling thread block it? */
static bool blocks(int number)
{
    sigset_t blocked;

    return pthread_sigmask(SIG_SETMASK, NULL, &blocked) != 0 || sigismember(&blocked, number) == 1;
}

/* What the program will notice of a signal sent to this thread now. */
static enum alarm_effect effect_of(int number)
{
    struct sigaction action;

    if (blocks(number) || sigaction(number, NULL, &action) != 0)
        return ALARM_NONE;
    if (action.sa_handler == SIG_IGN || action.sa_handler == SIG_DFL)
        return ALARM_NONE;
    return (action.sa_flags & SA_RESTART) ? ALARM_RESTARTED : ALARM_HANDLED;
}

/* Sends it to the calling thread. */
static enum alarm_effect receive(const siginfo_t *info)
{
    enum alarm_effect effect = effect_of(info->si_signo);
    int self = (int)REAL(syscall)(SYS_gettid);

    (void)REAL(syscall)(SYS_rt_tgsigqueueinfo, getpid(), self, info->si_signo, info);
    return effect;
}

/* Lets the actors of the set look. */
static void interrupt(struct actor *a, uint64_t set)
{
    uint32_t self = actor_number(a) % PROTO_CLIENT_ACTORS;

    for (uint32_t k = 0; k < PROTO_CLIENT_ACTORS; k++) {
        if (k != self && (set & bit_of(k)))
            actor_interrupt(a, actor_number(a) - self + k);
    }
}

/* Nobody wants it now. */
static void leave_pending(struct actor *a, const siginfo_t *info)
{
    if (info->si_code == SI_USER)
        (void)REAL(kill)(getpid(), info->si_signo);
    else
        (void)REAL(syscall)(SYS_rt_sigqueueinfo, getpid(), info->si_signo, info);
    interrupt(a, client_actors());
}

/* As in the kernel, another of the standard signals to the same target is none. */
static bool is_pending(const struct sent *new)
{
    for (size_t i = 0; i < SENT_MAX; i++) {
        const struct sent *s = &sents[i];

        if (new->info.si_signo < SIGRTMIN && s->is_used && s->is_any == new->is_any &&
            s->to == new->to && s->info.si_signo == new->info.si_signo)
            return true;
    }
    return false;
}

/* Puts it down and tells those who may take it. */
static void put(struct actor *a, const struct sent *new)
{
    struct sent *s = sents;
    uint64_t set = new->is_any ? client_actors() & ~new->refused : bit_of(new->to);

    if (is_pending(new))
        return;
    while (s < sents + SENT_MAX && s->is_used)
        s++;
    if (s == sents + SENT_MAX)
        return; /* more than anybody counts */
    *s = *new;
    s->is_used = true;
    sent_count++;
    s->from = actor_number(a);
    s->due = actor_now(a);
    s->order = orders++;
    for (uint32_t k = 0; k < PROTO_CLIENT_ACTORS; k++) {
        uint32_t number = actor_number(a) - actor_number(a) % PROTO_CLIENT_ACTORS + k;

        if (set & bit_of(k))
            set_alarm(number);
    }
    interrupt(a, set);
}

enum alarm_effect sent_to_process(struct actor *a, const siginfo_t *info)
{
    struct sent offer = {.is_any = true, .refused = bit_of(actor_number(a)), .info = *info};

    if (!blocks(info->si_signo))
        return receive(info);
    if (client_actors() & ~offer.refused)
        put(a, &offer);
    else
        leave_pending(a, info);
    return ALARM_NONE;
}

enum alarm_effect sent_to_actor(struct actor *a, uint32_t number, const siginfo_t *info)
{
    if (number == actor_number(a))
        return receive(info);
    put(a, &(struct sent){.to = number, .info = *info});
    return ALARM_NONE;
}

static void refuse(struct actor *a, struct sent *s)
{
    siginfo_t info = s->info;

    s->refused |= bit_of(actor_number(a));
    if (client_actors() & ~s->refused)
        return;
    discard(s);
    leave_pending(a, &info);
}

/* The first that has arrived; NULL: none. */
static struct sent *find_first(const struct actor *a)
{
    struct sent *first = NULL;

    for (size_t i = 0; sent_count > 0 && i < SENT_MAX; i++) {
        struct sent *s = &sents[i];

        if (is_for(s, actor_number(a)) && s->due.ps <= actor_now(a).ps &&
            (!first || s->order < first->order))
            first = s;
    }
    return first;
}

enum alarm_effect sent_take(struct actor *a)
{
    enum alarm_effect effect = ALARM_NONE;
    struct sent *s;

    while ((s = find_first(a)) != NULL) {
        siginfo_t info = s->info;
        bool is_refused = s->is_any && blocks(info.si_signo);
        enum alarm_effect one = ALARM_NONE;

        if (is_refused)
            refuse(a, s);
        else
            discard(s);
        set_alarm(actor_number(a));
        /* Its handler may send, and wait, and never come back. */
        if (!is_refused)
            one = receive(&info);
        effect = one > effect ? one : effect;
    }
    return effect;
}

void sent_end(struct actor *a)
{
    (void)sent_take(a);
    for (size_t i = 0; i < SENT_MAX; i++) {
        if (!is_for(&sents[i], actor_number(a)))
            continue;
        if (sents[i].is_any)
            refuse(a, &sents[i]);
        else
            discard(&sents[i]);
    }
}

/* Is it one whose arrival has a time? */
static bool is_timed(int number)
{
    bool is_fixed = number == SIGKILL || number == SIGSTOP || number == SIGCONT;
    bool is_library = number >= __SIGRTMIN && number < SIGRTMIN;

    return number > 0 && number < NSIG && number != SPIN_SIGNAL && !is_fixed && !is_library;
}

static siginfo_t from_here(int number, int code)
{
    siginfo_t info = {.si_signo = number, .si_code = code};

    info.si_pid = getpid();
    info.si_uid = getuid();
    return info;
}

SHIM_EXPORT int kill(pid_t pid, int number)
{
    struct actor *a = actor_self();
    siginfo_t info;

    if (!a || pid != getpid() || !is_timed(number))
        return REAL(kill)(pid, number);
    info = from_here(number, SI_USER);
    actor_charge(a, PROTO_CHARGE_SYNC, 1);
    (void)sent_to_process(a, &info);
    return 0;
}

SHIM_EXPORT int sigqueue(pid_t pid, int number, const union sigval value)
{
    struct actor *a = actor_self();
    siginfo_t info;

    if (!a || pid != getpid() || !is_timed(number))
        return REAL(sigqueue)(pid, number, value);
    info = from_here(number, SI_QUEUE);
    info.si_value = value;
    actor_charge(a, PROTO_CHARGE_SYNC, 1);
    (void)sent_to_process(a, &info);
    return 0;
}

/* False: not to an actor of this process, or not one of those signals. */
static bool send_inside(uint32_t number, const siginfo_t *info)
{
    struct actor *a = actor_self();

    if (number == PROTO_ACTORS_MAX)
        return false;
    actor_charge(a, PROTO_CHARGE_SYNC, 1);
    (void)sent_to_actor(a, number, info);
    return true;
}

static uint32_t find_handle(pthread_t handle, int number)
{
    return actor_self() && is_timed(number) ? client_find_actor(&handle, 0) : PROTO_ACTORS_MAX;
}

SHIM_EXPORT int pthread_kill(pthread_t handle, int number)
{
    siginfo_t info = from_here(number, SI_TKILL);

    return send_inside(find_handle(handle, number), &info) ? 0 : REAL(pthread_kill)(handle, number);
}

SHIM_EXPORT int pthread_sigqueue(pthread_t handle, int number, const union sigval value)
{
    siginfo_t info = from_here(number, SI_QUEUE);

    info.si_value = value;
    return send_inside(find_handle(handle, number), &info)
               ? 0
               : REAL(pthread_sigqueue)(handle, number, value);
}

SHIM_EXPORT int tgkill(pid_t pid, pid_t thread, int number)
{
    siginfo_t info = from_here(number, SI_TKILL);
    bool is_own = actor_self() && pid == getpid() && is_timed(number);

    return send_inside(is_own ? client_find_actor(NULL, (uint32_t)thread) : PROTO_ACTORS_MAX, &info)
               ? 0
               : REAL(tgkill)(pid, thread, number);
}
