/* SPDX-License-Identifier: Apache-2.0 */
/*
 * DOC: Other processes
 *
 * A child of fork is not under the clock: it has no channel. Its copy of our tables starts empty.
 * What it execs joins by itself if it is a client. The same holds for _Fork, for clone without
 * CLONE_VM, and for those calls by number (syscall.c). vfork and posix_spawn need nothing: the
 * child runs none of our code before exec.
 *
 * A child may be a client of the same run, so its parent must not keep the turn while it waits.
 * The C library's system() would; ours is spawned and waited for here. wordexp() still waits with
 * the turn.
 */
#include "verbs-shim/shim/libc/child.h"

#include <errno.h>
#include <sched.h>
#include <spawn.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "verbs-shim/shim/libc/real.h"
#include "verbs-shim/shim/libc/sync.h"

static void forget(void)
{
    sync_forget_all();
    alarm_forget_all();
}

__attribute__((constructor)) static void on_load(void)
{
    (void)pthread_atfork(NULL, NULL, forget);
}

void child_begun(void)
{
    if (!client_is_joined())
        return;
    client_forget();
    forget();
}

/* The fork that calls no handlers. */
// NOLINTNEXTLINE(bugprone-reserved-identifier,readability-identifier-naming): the C library's name
SHIM_EXPORT pid_t _Fork(void)
{
    pid_t child = REAL(_Fork)();

    if (child == 0)
        child_begun();
    return child;
}

struct begin {
    int (*run)(void *arg);
    void *arg;
};

/* The child reads its own copy of what its parent had on the stack. */
static int run_child(void *ctx)
{
    struct begin begin = *(struct begin *)ctx;

    child_begun();
    return begin.run(begin.arg);
}

SHIM_EXPORT int clone(int (*run)(void *arg), void *stack, int flags, void *arg, ...)
{
    struct begin begin = {.run = run, .arg = arg};
    va_list args;
    pid_t *parent_id;
    void *tls;
    pid_t *child_id;

    va_start(args, arg);
    parent_id = va_arg(args, pid_t *);
    tls = va_arg(args, void *);
    child_id = va_arg(args, pid_t *);
    va_end(args);
    if (!run || (flags & CLONE_VM))
        return REAL(clone)(run, stack, flags, arg, parent_id, tls, child_id);
    return REAL(clone)(run_child, stack, flags, &begin, parent_id, tls, child_id);
}

/*
 * The end that calls no handlers. As at any other (core/actor.c, client_leave) the process keeps
 * the turn until it is gone, and what it did before comes first.
 */
static void end_in_order(void)
{
    struct actor *a = actor_self();

    if (a)
        actor_order(a);
}

// NOLINTNEXTLINE(bugprone-reserved-identifier,readability-identifier-naming): the C library's name
SHIM_EXPORT _Noreturn void _exit(int status)
{
    end_in_order();
    REAL(_exit)(status);
    __builtin_unreachable();
}

// NOLINTNEXTLINE(bugprone-reserved-identifier,readability-identifier-naming): the C library's name
SHIM_EXPORT _Noreturn void _Exit(int status) __attribute__((alias("_exit")));

struct child_wait {
    pid_t who;
    int options;
    struct rusage *usage;
    int status;
    pid_t result;
};

static bool try_child(void *ctx)
{
    struct child_wait *wait = ctx;

    wait->result = REAL(wait4)(wait->who, &wait->status, wait->options | WNOHANG, wait->usage);
    return wait->result != 0;
}

SHIM_EXPORT pid_t wait4(pid_t who, int *ret_status, int options, struct rusage *ret_usage)
{
    struct actor *a = actor_self();
    struct child_wait call = {.who = who, .options = options, .usage = ret_usage};

    if (!a)
        return REAL(wait4)(who, ret_status, options, ret_usage);
    begin_outside(a);
    if (!try_child(&call) && !(options & WNOHANG) &&
        wait_outside_restarting(a, try_child, &call, simtime_never()) != WAIT_DONE) {
        errno = EINTR;
        return -1;
    }
    if (call.result > 0 && ret_status)
        *ret_status = call.status;
    return call.result;
}

SHIM_EXPORT pid_t wait3(int *ret_status, int options, struct rusage *ret_usage)
{
    return wait4(-1, ret_status, options, ret_usage);
}

SHIM_EXPORT pid_t waitpid(pid_t who, int *ret_status, int options)
{
    return wait4(who, ret_status, options, NULL);
}

SHIM_EXPORT pid_t wait(int *ret_status)
{
    return wait4(-1, ret_status, 0, NULL);
}

struct id_wait {
    idtype_t type;
    id_t who;
    siginfo_t info;
    int options;
    int result;
};

static bool try_id(void *ctx)
{
    struct id_wait *wait = ctx;

    wait->info.si_pid = 0;
    wait->result = REAL(waitid)(wait->type, wait->who, &wait->info, wait->options | WNOHANG);
    return wait->result != 0 || wait->info.si_pid != 0;
}

SHIM_EXPORT int waitid(idtype_t type, id_t who, siginfo_t *ret_info, int options)
{
    struct actor *a = actor_self();
    struct id_wait call = {.type = type, .who = who, .options = options};

    if (!a)
        return REAL(waitid)(type, who, ret_info, options);
    begin_outside(a);
    if (!try_id(&call) && !(options & WNOHANG) &&
        wait_outside_restarting(a, try_id, &call, simtime_never()) != WAIT_DONE) {
        errno = EINTR;
        return -1;
    }
    if (call.result == 0 && ret_info)
        *ret_info = call.info;
    return call.result;
}

/* -1, or the status of the shell. */
static int run_shell(const char *command, const sigset_t *mask)
{
    char name[] = "sh";
    char option[] = "-c";
    char *text = strdup(command);
    char *argv[] = {name, option, text, NULL};
    posix_spawnattr_t attr;
    sigset_t defaults;
    int status = -1;
    pid_t pid;
    int error;

    if (!text)
        return -1;
    (void)sigemptyset(&defaults);
    (void)sigaddset(&defaults, SIGINT);
    (void)sigaddset(&defaults, SIGQUIT);
    (void)posix_spawnattr_init(&attr);
    (void)posix_spawnattr_setsigmask(&attr, mask);
    (void)posix_spawnattr_setsigdefault(&attr, &defaults);
    (void)posix_spawnattr_setflags(&attr, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
    error = posix_spawn(&pid, "/bin/sh", NULL, &attr, argv, environ);
    (void)posix_spawnattr_destroy(&attr);
    free(text);
    if (error) {
        errno = error;
        return -1;
    }
    while (waitpid(pid, &status, 0) == -1) {
        if (errno != EINTR)
            return -1;
    }
    return status;
}

SHIM_EXPORT int system(const char *command)
{
    struct sigaction ignore = {.sa_handler = SIG_IGN};
    struct sigaction on_int;
    struct sigaction on_quit;
    sigset_t block;
    sigset_t mask;
    int status;

    if (!actor_self() || !command)
        return REAL(system)(command);
    (void)sigaction(SIGINT, &ignore, &on_int);
    (void)sigaction(SIGQUIT, &ignore, &on_quit);
    (void)sigemptyset(&block);
    (void)sigaddset(&block, SIGCHLD);
    (void)pthread_sigmask(SIG_BLOCK, &block, &mask);
    status = run_shell(command, &mask);
    (void)sigaction(SIGINT, &on_int, NULL);
    (void)sigaction(SIGQUIT, &on_quit, NULL);
    (void)pthread_sigmask(SIG_SETMASK, &mask, NULL);
    return status;
}
