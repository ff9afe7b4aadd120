/* SPDX-License-Identifier: Apache-2.0 */
/*
 * DOC: Many messages in one call
 *
 * recvmmsg and sendmmsg are made of our recvmsg and sendmsg: each message is charged, waits and is
 * announced as if it went alone. What the kernel does between two messages is done here. So
 * recvmmsg looks at its timeout only after a message has come, however late that is; MSG_WAITFORONE
 * makes it wait for the first one alone; and an error after the first message is not told. The
 * kernel would keep that error for the next call, which only it can do.
 *
 * preadv2 and pwritev2 at offset -1 are readv and writev with flags. Only RWF_NOWAIT is of
 * interest: a file never waits here, and everything else can say EAGAIN.
 */
#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/uio.h>

#include "verbs-shim/shim/libc/fd.h"
#include "verbs-shim/shim/libc/real.h"
#include "verbs-shim/shim/libc/vclock.h"
#include "verbs-shim/shim/libc/wait.h"

/* The kernel takes no more at once. */
#define MESSAGES_MAX ((unsigned)IOV_MAX)

/* Receives until an error, or one of the reasons to be content with less. */
static unsigned receive_many(struct actor *a, int fd, struct mmsghdr *messages, unsigned count,
                             int flags, simtime deadline)
{
    unsigned done = 0;

    while (done < count) {
        ssize_t size = recvmsg(fd, &messages[done].msg_hdr, flags & ~MSG_WAITFORONE);

        if (size == -1)
            break;
        messages[done].msg_len = (unsigned)size;
        done++;
        if (flags & MSG_WAITFORONE)
            flags |= MSG_DONTWAIT;
        if (actor_now(a).ps >= deadline.ps || (messages[done - 1].msg_hdr.msg_flags & MSG_OOB))
            break;
    }
    return done;
}

SHIM_EXPORT int recvmmsg(int fd, struct mmsghdr *messages, unsigned count, int flags,
                         struct timespec *span)
{
    struct actor *a = actor_self();
    simtime deadline = simtime_never();
    int saved = errno;
    unsigned done;

    if (!a || count == 0 || (span && !vclock_is_span(span)))
        return REAL(recvmmsg)(fd, messages, count, flags, span);
    if (span)
        deadline = vclock_after(actor_now(a), span);
    done = receive_many(a, fd, messages, count, flags, deadline);
    if (done == 0)
        return -1;
    errno = saved;
    if (span)
        *span = vclock_rest(actor_now(a), deadline);
    return (int)done;
}

SHIM_EXPORT int sendmmsg(int fd, struct mmsghdr *messages, unsigned count, int flags)
{
    int saved = errno;
    unsigned done = 0;

    if (!actor_self() || count == 0)
        return REAL(sendmmsg)(fd, messages, count, flags);
    if (count > MESSAGES_MAX)
        count = MESSAGES_MAX;
    while (done < count) {
        ssize_t size = sendmsg(fd, &messages[done].msg_hdr, flags);

        if (size == -1)
            break;
        messages[done].msg_len = (unsigned)size;
        done++;
    }
    if (done == 0)
        return -1;
    errno = saved;
    return (int)done;
}

/* 0 and errno EAGAIN: RWF_NOWAIT, and the call would have to wait. */
static bool may_go_on(int fd, short events, int flags)
{
    struct pollfd p = {.fd = fd, .events = events};

    if (!(flags & RWF_NOWAIT) || REAL(poll)(&p, 1, 0) != 0)
        return true;
    errno = EAGAIN;
    return false;
}

SHIM_EXPORT ssize_t preadv2(int fd, const struct iovec *vector, int count, off_t offset, int flags)
{
    if (!actor_self() || offset != -1 || (flags & ~(RWF_NOWAIT | RWF_HIPRI)) ||
        fd_kind_of(fd) == FD_FILE)
        return REAL(preadv2)(fd, vector, count, offset, flags);
    return may_go_on(fd, POLLIN, flags) ? readv(fd, vector, count) : -1;
}

SHIM_EXPORT ssize_t pwritev2(int fd, const struct iovec *vector, int count, off_t offset, int flags)
{
    if (!actor_self() || offset != -1 ||
        (flags & ~(RWF_NOWAIT | RWF_HIPRI | RWF_DSYNC | RWF_SYNC)) || fd_kind_of(fd) == FD_FILE)
        return REAL(pwritev2)(fd, vector, count, offset, flags);
    return may_go_on(fd, POLLOUT, flags) ? writev(fd, vector, count) : -1;
}

SHIM_EXPORT ssize_t preadv64v2(int fd, const struct iovec *vector, int count, off64_t offset,
                               int flags)
{
    return preadv2(fd, vector, count, offset, flags);
}

SHIM_EXPORT ssize_t pwritev64v2(int fd, const struct iovec *vector, int count, off64_t offset,
                                int flags)
{
    return pwritev2(fd, vector, count, offset, flags);
}
