/* SPDX-License-Identifier: Apache-2.0 */
/*
 * DOC: Waits by number
 *
 * Calls that may wait, made with syscall(): each goes to the wrapper of its name. What differs
 * between the kernel's call and the C library's function of that name is done here: masks of
 * signals are eight bytes long, and some calls write back what is left of a timeout.
 *
 * io_uring does everything without calls; it is refused as by a kernel without it, and programs
 * then take the other way.
 */
#include "verbs-shim/shim/libc/raw.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <sys/select.h>
#include <sys/sendfile.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "verbs-shim/shim/libc/cast.h"
#include "verbs-shim/shim/libc/real.h"
#include "verbs-shim/shim/libc/vclock.h"

#define KERNEL_MASK ((size_t)8) /* bytes of a mask of signals */

#define INT(n)  ((int)arg[n])
#define SIZE(n) ((size_t)arg[n])
#define PTR(n)  as_pointer(arg[n])

static bool serve_bytes(long number, const long *arg, long *ret)
{
    switch (number) {
    case SYS_read:
        *ret = read(INT(0), PTR(1), SIZE(2));
        return true;
    case SYS_write:
        *ret = write(INT(0), PTR(1), SIZE(2));
        return true;
    case SYS_readv:
        *ret = readv(INT(0), PTR(1), INT(2));
        return true;
    case SYS_writev:
        *ret = writev(INT(0), PTR(1), INT(2));
        return true;
    case SYS_recvfrom:
        *ret = recvfrom(INT(0), PTR(1), SIZE(2), INT(3), PTR(4), PTR(5));
        return true;
    case SYS_sendto:
        *ret = sendto(INT(0), PTR(1), SIZE(2), INT(3), PTR(4), (socklen_t)arg[5]);
        return true;
    case SYS_recvmsg:
        *ret = recvmsg(INT(0), PTR(1), INT(2));
        return true;
    case SYS_sendmsg:
        *ret = sendmsg(INT(0), PTR(1), INT(2));
        return true;
    case SYS_recvmmsg:
        *ret = recvmmsg(INT(0), PTR(1), (unsigned)arg[2], INT(3), PTR(4));
        return true;
    case SYS_sendmmsg:
        *ret = sendmmsg(INT(0), PTR(1), (unsigned)arg[2], INT(3));
        return true;
    case SYS_sendfile:
        *ret = sendfile(INT(0), INT(1), PTR(2), SIZE(3));
        return true;
    case SYS_splice:
        *ret = splice(INT(0), PTR(1), INT(2), PTR(3), SIZE(4), (unsigned)arg[5]);
        return true;
    case SYS_fcntl:
        *ret = fcntl(INT(0), INT(1), PTR(2));
        return true;
    case SYS_flock:
        *ret = flock(INT(0), INT(1));
        return true;
    default:
        return false;
    }
}

static bool serve_connections(long number, const long *arg, long *ret)
{
    switch (number) {
    case SYS_accept:
        *ret = accept(INT(0), PTR(1), PTR(2));
        return true;
    case SYS_accept4:
        *ret = accept4(INT(0), PTR(1), PTR(2), INT(3));
        return true;
    case SYS_connect:
        *ret = connect(INT(0), PTR(1), (socklen_t)arg[2]);
        return true;
    case SYS_listen:
        *ret = listen(INT(0), INT(1));
        return true;
    case SYS_shutdown:
        *ret = shutdown(INT(0), INT(1));
        return true;
    default:
        return false;
    }
}

/* The kernel's mask as the C library's, in `place`; NULL stays. */
static const sigset_t *wide_mask(const void *mask, sigset_t *place)
{
    if (!mask)
        return NULL;
    (void)sigemptyset(place);
    memcpy(place, mask, KERNEL_MASK);
    return place;
}

/* What is left of the time is written back. */
static void show_rest(const struct actor *a, struct timespec *span, simtime begun)
{
    if (span && vclock_is_span(span))
        *span = vclock_rest(actor_now(a), vclock_after(begun, span));
}

static int raw_ppoll(const struct actor *a, const long *arg)
{
    simtime begun = actor_now(a);
    sigset_t place;
    int rc = ppoll(PTR(0), (nfds_t)arg[1], PTR(2), wide_mask(PTR(3), &place));

    show_rest(a, PTR(2), begun);
    return rc;
}

struct mask_argument {
    const void *mask;
    size_t size;
};

static int raw_pselect(const struct actor *a, const long *arg)
{
    const struct mask_argument *mask = PTR(5);
    simtime begun = actor_now(a);
    sigset_t place;
    int rc;

    if (mask && mask->mask && mask->size != KERNEL_MASK) {
        errno = EINVAL;
        return -1;
    }
    rc = pselect(INT(0), PTR(1), PTR(2), PTR(3), PTR(4),
                 mask ? wide_mask(mask->mask, &place) : NULL);
    show_rest(a, PTR(4), begun);
    return rc;
}

static bool serve_looks(const struct actor *a, long number, const long *arg, long *ret)
{
    sigset_t place;

    switch (number) {
#ifdef SYS_poll
    case SYS_poll:
        *ret = poll(PTR(0), (nfds_t)arg[1], INT(2));
        return true;
    case SYS_select:
        *ret = select(INT(0), PTR(1), PTR(2), PTR(3), PTR(4));
        return true;
    case SYS_epoll_wait:
        *ret = epoll_wait(INT(0), PTR(1), INT(2), INT(3));
        return true;
#endif
    case SYS_ppoll:
        *ret = raw_ppoll(a, arg);
        return true;
    case SYS_pselect6:
        *ret = raw_pselect(a, arg);
        return true;
    case SYS_epoll_pwait:
        *ret = epoll_pwait(INT(0), PTR(1), INT(2), INT(3), wide_mask(PTR(4), &place));
        return true;
    case SYS_epoll_pwait2:
        *ret = epoll_pwait2(INT(0), PTR(1), INT(2), PTR(3), wide_mask(PTR(4), &place));
        return true;
    default:
        return false;
    }
}

static bool serve_signals(long number, const long *arg, long *ret)
{
    sigset_t place;

    switch (number) {
#ifdef SYS_pause
    case SYS_pause:
        *ret = pause(); // NOLINT(concurrency-mt-unsafe): the program's own call
        return true;
#endif
    case SYS_rt_sigsuspend:
        // NOLINTNEXTLINE(concurrency-mt-unsafe): the program's own call
        *ret = arg[0] ? sigsuspend(wide_mask(PTR(0), &place)) : -1;
        return arg[0] != 0;
    case SYS_rt_sigtimedwait:
        *ret = arg[0] ? sigtimedwait(wide_mask(PTR(0), &place), PTR(1), PTR(2)) : -1;
        return arg[0] != 0;
    case SYS_wait4:
        *ret = wait4((pid_t)arg[0], PTR(1), INT(2), PTR(3));
        return true;
    case SYS_waitid:
        if (arg[4] != 0)
            memset(PTR(4), 0, sizeof(struct rusage));
        *ret = waitid((idtype_t)arg[0], (id_t)arg[1], PTR(2), INT(3));
        return true;
    case SYS_exit_group:
        _exit(INT(0));
#ifdef SYS_futex_waitv
    case SYS_futex_waitv: /* as a kernel before 5.16 */
#endif
    case SYS_io_uring_setup:
        errno = ENOSYS;
        *ret = -1;
        return true;
    default:
        return false;
    }
}

bool raw_serve(struct actor *a, long number, const long *arg, long *ret)
{
    return serve_bytes(number, arg, ret) || serve_connections(number, arg, ret) ||
           serve_looks(a, number, arg, ret) || serve_signals(number, arg, ret);
}
