/* SPDX-License-Identifier: Apache-2.0 */
/*
 * DOC: Calls by number
 *
 * What a program asks the kernel for with syscall() is served as if it had called the C library's
 * function, where that is one of ours.
 */
#include <errno.h>
#include <sched.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#include "verbs-shim/shim/actor.h"
#include "verbs-shim/shim/libc/futex.h"
#include "verbs-shim/shim/libc/real.h"

struct call {
    long number;
    long arg[6];
};

static void *as_pointer(long value)
{
    void *pointer;

    memcpy(&pointer, &value, sizeof(pointer));
    return pointer;
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
    case SYS_futex:
        return futex_serve(a, c->arg, ret);
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
    if (a && serve_call(a, &c, &result))
        return result;
    return REAL(syscall)(number, c.arg[0], c.arg[1], c.arg[2], c.arg[3], c.arg[4], c.arg[5]);
}
