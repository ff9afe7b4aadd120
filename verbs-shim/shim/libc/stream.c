/* SPDX-License-Identifier: Apache-2.0 */
/*
 * DOC: Bytes between processes
 *
 * Bytes of sockets and pipes move as they always do, through the kernel; virtual time stands still
 * meanwhile. A call is charged, then tries without waiting. If it would have to wait, and the
 * program did not ask for the opposite, the actor waits outside: others get the turn, and whenever
 * one of them did something to a socket or a pipe, the call is tried again. The scheduler does so
 * in the order of ranks, and on one machine what has been sent is there when the send returns, so
 * the order of all this is the same in every run.
 *
 * A transfer that made progress is announced (actor_acted_outside). Of receives only those after
 * which a sender may go on whose buffer was full: where there was little to take nobody waits.
 *
 * Files cost nothing and never wait. So does output to descriptors 1 and 2: what a program prints
 * shall not change its time.
 */
#include <limits.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "verbs-shim/shim/guest.h"
#include "verbs-shim/shim/libc/asked.h"
#include "verbs-shim/shim/libc/cast.h"
#include "verbs-shim/shim/libc/fd.h"
#include "verbs-shim/shim/libc/real.h"
#include "verbs-shim/shim/libc/vclock.h"
#include "verbs-shim/shim/libc/wait.h"

/* Bytes in a TCP connection's queue below which no sender waits for room, however small the buffers
 * are that were asked for. */
#define TCP_FULL 512

struct transfer {
    int fd;
    enum fd_kind kind;
    bool is_write;
    int flags;
    struct msghdr *message; /* borrowed; its vector shrinks as bytes go */
    size_t done;
    ssize_t result;
    int error;
};

static bool is_ready(int fd, short events)
{
    struct pollfd p = {.fd = fd, .events = events};

    return REAL(poll)(&p, 1, 0) != 0;
}

/* At most what a pipe takes at once when it says that it takes anything. */
static ssize_t write_pipe(const struct transfer *t)
{
    const struct msghdr *m = t->message;
    size_t total = 0;

    for (size_t i = 0; i < m->msg_iovlen; i++)
        total += m->msg_iov[i].iov_len;
    if (total <= PIPE_BUF || m->msg_iovlen == 0)
        return REAL(writev)(t->fd, m->msg_iov, (int)m->msg_iovlen);
    if (m->msg_iov[0].iov_len <= PIPE_BUF)
        return REAL(writev)(t->fd, m->msg_iov, 1);
    return REAL(write)(t->fd, m->msg_iov[0].iov_base, PIPE_BUF);
}

static ssize_t move_bytes(const struct transfer *t)
{
    struct msghdr *m = t->message;

    if (t->kind == FD_SOCKET && t->is_write)
        return REAL(sendmsg)(t->fd, m, t->flags | MSG_DONTWAIT);
    if (t->kind == FD_SOCKET)
        return REAL(recvmsg)(t->fd, m, t->flags | MSG_DONTWAIT);
    if (!is_ready(t->fd, t->is_write ? POLLOUT : POLLIN)) {
        errno = EAGAIN;
        return -1;
    }
    return t->is_write ? write_pipe(t) : REAL(readv)(t->fd, m->msg_iov, (int)m->msg_iovlen);
}

static void skip_bytes(struct msghdr *m, size_t bytes)
{
    while (m->msg_iovlen > 0 && bytes >= m->msg_iov->iov_len) {
        bytes -= m->msg_iov->iov_len;
        m->msg_iov++;
        m->msg_iovlen--;
    }
    if (m->msg_iovlen > 0) {
        m->msg_iov->iov_base = (char *)m->msg_iov->iov_base + bytes;
        m->msg_iov->iov_len -= bytes;
    }
    /* Control data goes with the first byte. */
    m->msg_controllen = 0;
}

/* True: no more waiting. Then result and error are what the call says. */
static bool try_transfer(void *ctx)
{
    struct transfer *t = ctx;
    int saved = errno;

    t->result = move_bytes(t);
    t->error = errno;
    errno = saved;
    return t->result != -1 || (t->error != EAGAIN && t->error != EINTR);
}

/* Does the call go on until all bytes have moved? */
static bool wants_all(const struct transfer *t)
{
    int type = SOCK_STREAM;
    socklen_t size = sizeof(type);

    if (t->message->msg_iovlen == 0)
        return false;
    if (!t->is_write && (t->kind != FD_SOCKET || !(t->flags & MSG_WAITALL)))
        return false;
    return t->kind != FD_SOCKET ||
           (getsockopt(t->fd, SOL_SOCKET, SO_TYPE, &type, &size) == 0 && type == SOCK_STREAM);
}

static simtime deadline_of(const struct actor *a, const struct transfer *t)
{
    struct timeval tv = {0};
    socklen_t size = sizeof(tv);
    struct timespec span;

    if (t->kind != FD_SOCKET ||
        getsockopt(t->fd, SOL_SOCKET, t->is_write ? SO_SNDTIMEO : SO_RCVTIMEO, &tv, &size) != 0 ||
        (tv.tv_sec == 0 && tv.tv_usec == 0))
        return simtime_never();
    span = (struct timespec){.tv_sec = tv.tv_sec, .tv_nsec = tv.tv_usec * 1000};
    return vclock_after(actor_now(a), &span);
}

/* Has a read of an eventfd taken so much that a writer may have waited for it? */
static bool takes_many(const struct transfer *t)
{
    uint64_t count = 0;

    if (t->result != (ssize_t)sizeof(count) || t->message->msg_iov->iov_len < sizeof(count))
        return false;
    memcpy(&count, t->message->msg_iov->iov_base, sizeof(count));
    return count > UINT64_MAX / 2;
}

/* May somebody have waited for the room of what was just taken? */
static bool makes_room(const struct transfer *t)
{
    int domain = AF_UNSPEC;
    socklen_t size = sizeof(domain);
    int saved = errno;
    int left = 0;
    int room;

    (void)ioctl(t->fd, FIONREAD, &left);
    if (t->kind == FD_SOCKET) {
        (void)getsockopt(t->fd, SOL_SOCKET, SO_DOMAIN, &domain, &size);
        /* Others count messages too, and may be full of a few bytes. */
        return (domain != AF_INET && domain != AF_INET6) || t->result + left >= TCP_FULL;
    }
    room = REAL(fcntl)(t->fd, F_GETPIPE_SZ);
    errno = saved;
    /* A full pipe has at least a byte on each of its pages. */
    return room > 0 ? t->result + left >= room / PIPE_BUF : takes_many(t);
}

/* One step that may wait; errno of what stopped it. */
static int transfer_step(struct actor *a, struct transfer *t)
{
    if (!try_transfer(t)) {
        if ((t->flags & MSG_DONTWAIT) || !fd_is_blocking(t->fd))
            return EAGAIN;
        switch (wait_outside_restarting(a, try_transfer, t, deadline_of(a, t))) {
        case WAIT_TIMEOUT:
            return EAGAIN;
        case WAIT_SIGNAL:
        case WAIT_RESTART:
            return EINTR;
        case WAIT_DONE:
            break;
        }
    }
    if (t->result == -1)
        return t->error;
    if (t->kind == FD_SOCKET && (t->result > 0 || !t->is_write))
        asked_note(t->fd, t->is_write);
    /* A datagram may be empty. */
    if ((t->result > 0 || t->kind == FD_SOCKET) && (t->is_write || makes_room(t)))
        actor_acted_outside(a);
    return 0;
}

static ssize_t transfer(struct actor *a, struct transfer *t)
{
    bool is_all;
    int error;

    begin_outside(a);
    is_all = wants_all(t);
    do {
        error = transfer_step(a, t);
        if (error)
            break;
        t->done += (size_t)t->result;
        if (!is_all || t->result == 0)
            break;
        skip_bytes(t->message, (size_t)t->result);
    } while (t->message->msg_iovlen > 0);
    if (error && t->done == 0) {
        errno = error;
        return -1;
    }
    return (ssize_t)t->done;
}

#define OWN_VECTOR 16U

/* Runs the transfer over a copy of the program's vector, which stays as it is. */
static ssize_t transfer_copy(struct actor *a, struct transfer *t, const struct iovec *vector,
                             size_t count)
{
    struct iovec few[OWN_VECTOR];
    struct iovec *own = count <= OWN_VECTOR ? few : shim_alloc(count * sizeof(*own));
    ssize_t result;

    if (!own) {
        errno = ENOMEM;
        return -1;
    }
    memcpy(own, vector, count * sizeof(*own));
    t->message->msg_iov = own;
    t->message->msg_iovlen = count;
    result = transfer(a, t);
    if (own != few)
        shim_free(own);
    return result;
}

/* read, write and their vectors on what waits. */
static ssize_t transfer_vector(struct actor *a, enum fd_kind kind, int fd,
                               const struct iovec *vector, int count, bool is_write)
{
    struct msghdr message = {0};
    struct transfer t = {.fd = fd, .kind = kind, .is_write = is_write, .message = &message};

    /* An empty read succeeds at once, an empty recvmsg might wait. */
    if (count <= 0 || count > IOV_MAX || (count == 1 && vector->iov_len == 0))
        return is_write ? REAL(writev)(fd, vector, count) : REAL(readv)(fd, vector, count);
    return transfer_copy(a, &t, vector, (size_t)count);
}

SHIM_EXPORT ssize_t read(int fd, void *buf, size_t n)
{
    struct actor *a = actor_self();
    struct iovec part = {.iov_base = buf, .iov_len = n};
    enum fd_kind kind = a ? fd_kind_of(fd) : FD_FILE;

    return kind == FD_FILE ? REAL(read)(fd, buf, n) : transfer_vector(a, kind, fd, &part, 1, false);
}

SHIM_EXPORT ssize_t readv(int fd, const struct iovec *vector, int count)
{
    struct actor *a = actor_self();
    enum fd_kind kind = a ? fd_kind_of(fd) : FD_FILE;

    return kind == FD_FILE ? REAL(readv)(fd, vector, count)
                           : transfer_vector(a, kind, fd, vector, count, false);
}

static enum fd_kind written_kind(const struct actor *a, int fd)
{
    return a && fd != STDOUT_FILENO && fd != STDERR_FILENO ? fd_kind_of(fd) : FD_FILE;
}

SHIM_EXPORT ssize_t write(int fd, const void *buf, size_t n)
{
    struct actor *a = actor_self();
    struct iovec part = {.iov_base = drop_const(buf), .iov_len = n};
    enum fd_kind kind = written_kind(a, fd);

    return kind == FD_FILE ? REAL(write)(fd, buf, n) : transfer_vector(a, kind, fd, &part, 1, true);
}

SHIM_EXPORT ssize_t writev(int fd, const struct iovec *vector, int count)
{
    struct actor *a = actor_self();
    enum fd_kind kind = written_kind(a, fd);

    return kind == FD_FILE ? REAL(writev)(fd, vector, count)
                           : transfer_vector(a, kind, fd, vector, count, true);
}

SHIM_EXPORT ssize_t recvmsg(int fd, struct msghdr *message, int flags)
{
    struct actor *a = actor_self();
    struct transfer t = {.fd = fd, .kind = FD_SOCKET, .flags = flags, .message = message};
    struct iovec *vector;
    size_t count;
    ssize_t result;

    if (!a || message->msg_iovlen > IOV_MAX)
        return REAL(recvmsg)(fd, message, flags);
    if (!(flags & MSG_WAITALL))
        return transfer(a, &t);
    /* What comes after the first bytes must not overwrite what the header says of them. */
    vector = message->msg_iov;
    count = message->msg_iovlen;
    result = transfer_copy(a, &t, vector, count);
    message->msg_iov = vector;
    message->msg_iovlen = count;
    return result;
}

SHIM_EXPORT ssize_t recvfrom(int fd, void *restrict buf, size_t n, int flags,
                             __SOCKADDR_ARG ret_from, socklen_t *restrict ret_size)
{
    struct actor *a = actor_self();
    struct iovec part = {.iov_base = buf, .iov_len = n};
    struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1};
    struct transfer t = {.fd = fd, .kind = FD_SOCKET, .flags = flags, .message = &message};
    struct sockaddr *from = ret_from.__sockaddr__;
    ssize_t result;

    if (!a)
        return REAL(recvfrom)(fd, buf, n, flags, from, ret_size);
    if (from && ret_size) {
        message.msg_name = from;
        message.msg_namelen = *ret_size;
    }
    result = transfer(a, &t);
    if (result != -1 && from && ret_size)
        *ret_size = message.msg_namelen;
    return result;
}

SHIM_EXPORT ssize_t recv(int fd, void *buf, size_t n, int flags)
{
    return actor_self() ? recvfrom(fd, buf, n, flags, NULL, NULL) : REAL(recv)(fd, buf, n, flags);
}

SHIM_EXPORT ssize_t sendmsg(int fd, const struct msghdr *message, int flags)
{
    struct actor *a = actor_self();
    struct msghdr own = *message;
    struct transfer t = {
        .fd = fd, .kind = FD_SOCKET, .is_write = true, .flags = flags, .message = &own};

    if (!a || message->msg_iovlen > IOV_MAX)
        return REAL(sendmsg)(fd, message, flags);
    return transfer_copy(a, &t, message->msg_iov, message->msg_iovlen);
}

SHIM_EXPORT ssize_t sendto(int fd, const void *buf, size_t n, int flags, __CONST_SOCKADDR_ARG to,
                           socklen_t size)
{
    struct iovec part = {.iov_base = drop_const(buf), .iov_len = n};
    struct msghdr message = {.msg_name = drop_const(to.__sockaddr__),
                             .msg_namelen = to.__sockaddr__ ? size : 0,
                             .msg_iov = &part,
                             .msg_iovlen = 1};

    return actor_self() ? sendmsg(fd, &message, flags)
                        : REAL(sendto)(fd, buf, n, flags, to.__sockaddr__, size);
}

SHIM_EXPORT ssize_t send(int fd, const void *buf, size_t n, int flags)
{
    return actor_self() ? sendto(fd, buf, n, flags, NULL, 0) : REAL(send)(fd, buf, n, flags);
}

/* What programs compiled with _FORTIFY_SOURCE call. The C library reports an overflow. */
// NOLINTBEGIN(bugprone-reserved-identifier,readability-identifier-naming): the C library's names
// NOLINTBEGIN(readability-function-size): and its parameters
ssize_t __read_chk(int fd, void *buf, size_t n, size_t room);
ssize_t __recv_chk(int fd, void *buf, size_t n, size_t room, int flags);
ssize_t __recvfrom_chk(int fd, void *buf, size_t n, size_t room, int flags, struct sockaddr *from,
                       socklen_t *size);

SHIM_EXPORT ssize_t __read_chk(int fd, void *buf, size_t n, size_t room)
{
    return actor_self() && n <= room ? read(fd, buf, n) : REAL(__read_chk)(fd, buf, n, room);
}

SHIM_EXPORT ssize_t __recv_chk(int fd, void *buf, size_t n, size_t room, int flags)
{
    return actor_self() && n <= room ? recv(fd, buf, n, flags)
                                     : REAL(__recv_chk)(fd, buf, n, room, flags);
}

SHIM_EXPORT ssize_t __recvfrom_chk(int fd, void *buf, size_t n, size_t room, int flags,
                                   struct sockaddr *from, socklen_t *size)
{
    return actor_self() && n <= room ? recvfrom(fd, buf, n, flags, from, size)
                                     : REAL(__recvfrom_chk)(fd, buf, n, room, flags, from, size);
}
// NOLINTEND(readability-function-size)
// NOLINTEND(bugprone-reserved-identifier,readability-identifier-naming)

/* The C library's own would read and write unseen. */
SHIM_EXPORT int eventfd_read(int fd, uint64_t *ret)
{
    return read(fd, ret, sizeof(*ret)) == (ssize_t)sizeof(*ret) ? 0 : -1;
}

SHIM_EXPORT int eventfd_write(int fd, uint64_t value)
{
    return write(fd, &value, sizeof(value)) == (ssize_t)sizeof(value) ? 0 : -1;
}
