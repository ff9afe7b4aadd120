/* SPDX-License-Identifier: Apache-2.0 */
/*
 * DOC: Calls by number
 *
 * What a program asks the kernel for with syscall() is served as if it had called the C library's
 * function, where that is one of ours.
 */
#include <errno.h>
#include <linux/sched.h>
#include <sched.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#include "verbs-shim/shim/actor.h"
#include "verbs-shim/shim/libc/cast.h"
#include "verbs-shim/shim/libc/child.h"
#include "verbs-shim/shim/libc/futex.h"
#include "verbs-shim/shim/libc/raw.h"
#include "verbs-shim/shim/libc/real.h"

struct call {
    long number;
    long arg[6];
};

/* Does the call make a process with a memory of its own? */
static bool makes_process(const struct call *c)
{
    const struct clone_args *args = as_pointer(c->arg[0]);

    switch (c->number) {
#ifdef SYS_fork
    case SYS_fork:
    case SYS_vfork:
        return true;
#endif
    case SYS_clone:
        return (c->arg[0] & CLONE_VM) == 0;
    case SYS_clone3:
        return args && (args->flags & CLONE_VM) == 0;
    default:
        return false;
    }
}

static long call_kernel(const struct call *c)
{
    return REAL(syscall)(c->number, c->arg[0], c->arg[1], c->arg[2], c->arg[3], c->arg[4],
                         c->arg[5]);
}

/* The child of vfork would return through frames that its parent still needs: it gets a copy. */
static long make_process(const struct call *c)
{
    struct call own = *c;
    long child;

#ifdef SYS_fork
    if (c->number == SYS_vfork)
        own.number = SYS_fork;
#endif
    child = call_kernel(&own);
    if (child == 0)
        child_begun();
    return child;
}

/* True: the call was served and *ret is what syscall() returns. */
static bool serve_call(struct actor *a, const struct call *c, long *ret)
{
    switch (c->number) {
    case SYS_clock_gettime:
        *ret = clock_gettime((clockid_t)c->arg[0], as_pointer(c->arg[1]));
        return true;
    case SYS_gettimeofday:
        *ret = gettimeofday(as_pointer(c->arg[0]), as_pointer(c->arg[1]));
        return true;
    case SYS_time:
        *ret = time(as_pointer(c->arg[0]));
        return true;
    case SYS_nanosleep:
        *ret = nanosleep(as_pointer(c->arg[0]), as_pointer(c->arg[1]));
        return true;
    case SYS_clock_nanosleep:
        errno = clock_nanosleep((clockid_t)c->arg[0], (int)c->arg[1], as_pointer(c->arg[2]),
                                as_pointer(c->arg[3]));
        *ret = errno ? -1 : 0;
        return true;
    case SYS_sched_yield:
        *ret = sched_yield();
        return true;
    case SYS_kill:
        *ret = kill((pid_t)c->arg[0], (int)c->arg[1]);
        return true;
    case SYS_tkill:
        if (client_find_actor(NULL, (uint32_t)c->arg[0]) == PROTO_ACTORS_MAX)
            return false;
        *ret = tgkill(getpid(), (pid_t)c->arg[0], (int)c->arg[1]);
        return true;
    case SYS_tgkill:
        *ret = tgkill((pid_t)c->arg[0], (pid_t)c->arg[1], (int)c->arg[2]);
        return true;
    case SYS_futex:
        return futex_serve(a, c->arg, ret);
    default:
        return raw_serve(a, c->number, c->arg, ret);
    }
}

/* Also from threads that are not under the clock. */
static bool serve_anybody(const struct call *c, long *ret)
{
    if (makes_process(c)) {
        *ret = make_process(c);
        return true;
    }
    switch (c->number) {
    case SYS_close:
        *ret = close((int)c->arg[0]);
        return true;
    case SYS_close_range:
        *ret = close_range((unsigned)c->arg[0], (unsigned)c->arg[1], (int)c->arg[2]);
        return true;
#ifdef SYS_dup2
    case SYS_dup2:
        *ret = dup2((int)c->arg[0], (int)c->arg[1]);
        return true;
#endif
    case SYS_dup3:
        *ret = dup3((int)c->arg[0], (int)c->arg[1], (int)c->arg[2]);
        return true;
    default:
        return false;
    }
}

SHIM_EXPORT long syscall(long number, ...)
{
    struct actor *a = actor_self();
    struct call c = {.number = number};
    long result;
    va_list args;

    va_start(args, number);
    for (size_t i = 0; i < sizeof(c.arg) / sizeof(*c.arg); i++)
        c.arg[i] = va_arg(args, long);
    va_end(args);
    if (serve_anybody(&c, &result) || (a && serve_call(a, &c, &result)))
        return result;
    return call_kernel(&c);
}
