/* SPDX-License-Identifier: Apache-2.0 */
/*
 * DOC: Connections
 *
 * connect may wait in the kernel until the peer accepts, and the peer may need the turn for that.
 * So a blocking connect is made as a non-blocking one and waited for outside; and every listener
 * gets a backlog that all ranks fit in, whatever it asked for, because a full backlog makes the
 * kernel drop a connection's first packet and try again a real second later.
 *
 * JACCL's ranks find each other before they load a verbs library. Who listens or calls at the
 * coordinator's address joins there, so that also these calls happen in order: rank 0 listens
 * before anybody calls, and nobody sleeps a real second because it did not.
 */
#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

#include "verbs-shim/shim/libc/asked.h"
#include "verbs-shim/shim/libc/fd.h"
#include "verbs-shim/shim/libc/real.h"
#include "verbs-shim/shim/libc/vclock.h"
#include "verbs-shim/shim/libc/wait.h"

#define BACKLOG_LEAST 128

/* Is it where the environment says that rank 0 listens: "a.b.c.d:port"? */
static bool is_coordinator(const struct sockaddr *address, socklen_t size)
{
    struct sockaddr_in at;
    struct in_addr host;
    char text[INET_ADDRSTRLEN] = "";
    const char *wanted = getenv("JACCL_COORDINATOR"); // NOLINT(concurrency-mt-unsafe): start-up
    const char *colon = wanted ? strchr(wanted, ':') : NULL;

    if (!colon || (size_t)(colon - wanted) >= sizeof text || !address || size < sizeof at ||
        address->sa_family != AF_INET)
        return false;
    memcpy(&at, address, sizeof at);
    memcpy(text, wanted, (size_t)(colon - wanted));
    return inet_pton(AF_INET, text, &host) == 1 && host.s_addr == at.sin_addr.s_addr &&
           strtoul(colon + 1, NULL, 10) == ntohs(at.sin_port);
}

/* The calling thread, joined now if this is the ranks' meeting point; NULL: an outsider. */
static struct actor *self_at(const struct sockaddr *address, socklen_t size)
{
    struct actor *a = actor_self();

    if (a || !is_coordinator(address, size))
        return a;
    return client_join() ? actor_self() : NULL;
}

struct connecting {
    int fd;
    const struct sockaddr *address; /* borrowed */
    socklen_t size;
    bool is_under_way; /* else to be tried again from the start */
    int error;
};

static void connect_now(struct connecting *c)
{
    int flags = fcntl(c->fd, F_GETFL);

    (void)fcntl(c->fd, F_SETFL, flags | O_NONBLOCK);
    c->error = REAL(connect)(c->fd, c->address, c->size) == 0 ? 0 : errno;
    (void)fcntl(c->fd, F_SETFL, flags);
    c->is_under_way = c->error == EINPROGRESS;
}

/* True: connected or failed. */
static bool try_connect(void *ctx)
{
    struct connecting *c = ctx;
    struct pollfd p = {.fd = c->fd, .events = POLLOUT};
    socklen_t size = sizeof(c->error);

    if (!c->is_under_way) {
        connect_now(c);
        return !c->is_under_way && c->error != EAGAIN;
    }
    if (REAL(poll)(&p, 1, 0) == 0)
        return false;
    if (getsockopt(c->fd, SOL_SOCKET, SO_ERROR, &c->error, &size) != 0)
        c->error = errno;
    return true;
}

static simtime connect_deadline(const struct actor *a, int fd)
{
    struct timeval tv = {0};
    socklen_t size = sizeof(tv);
    struct timespec span;

    if (getsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &tv, &size) != 0 ||
        (tv.tv_sec == 0 && tv.tv_usec == 0))
        return simtime_never();
    span = (struct timespec){.tv_sec = tv.tv_sec, .tv_nsec = tv.tv_usec * 1000};
    return vclock_after(actor_now(a), &span);
}

/* 0 or errno. */
static int connect_waiting(struct actor *a, struct connecting *c)
{
    if (!try_connect(c)) {
        switch (wait_outside_restarting(a, try_connect, c, connect_deadline(a, c->fd))) {
        case WAIT_TIMEOUT:
            return EINPROGRESS;
        case WAIT_SIGNAL:
        case WAIT_RESTART:
            return EINTR;
        case WAIT_DONE:
            break;
        }
    }
    return c->error;
}

SHIM_EXPORT int connect(int fd, __CONST_SOCKADDR_ARG address, socklen_t size)
{
    struct actor *a = self_at(address.__sockaddr__, size);
    struct connecting c = {.fd = fd, .address = address.__sockaddr__, .size = size};
    int rc;

    if (!a)
        return REAL(connect)(fd, address.__sockaddr__, size);
    begin_outside(a);
    if (fd_is_blocking(fd)) {
        int error = connect_waiting(a, &c);

        rc = error ? -1 : 0;
        if (error)
            errno = error;
    } else {
        rc = REAL(connect)(fd, address.__sockaddr__, size);
    }
    if (rc == 0 || errno == EINPROGRESS) {
        int saved = errno;

        actor_acted_outside(a);
        errno = saved;
    }
    return rc;
}

struct accepting {
    int fd;
    struct sockaddr *address;
    socklen_t *size;
    int flags;
    int result;
    int error;
};

static bool try_accept(void *ctx)
{
    struct accepting *c = ctx;
    struct pollfd p = {.fd = c->fd, .events = POLLIN};

    if (REAL(poll)(&p, 1, 0) == 0) {
        c->result = -1;
        c->error = EAGAIN;
        return false;
    }
    c->result = REAL(accept4)(c->fd, c->address, c->size, c->flags);
    c->error = errno;
    return true;
}

static simtime accept_deadline(const struct actor *a, int fd)
{
    struct timeval tv = {0};
    socklen_t size = sizeof(tv);
    struct timespec span;

    if (getsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &tv, &size) != 0 ||
        (tv.tv_sec == 0 && tv.tv_usec == 0))
        return simtime_never();
    span = (struct timespec){.tv_sec = tv.tv_sec, .tv_nsec = tv.tv_usec * 1000};
    return vclock_after(actor_now(a), &span);
}

SHIM_EXPORT int accept4(int fd, __SOCKADDR_ARG ret_address, socklen_t *restrict ret_size, int flags)
{
    struct actor *a = actor_self();
    struct accepting c = {.fd = fd,
                          .address = ret_address.__sockaddr__,
                          .size = ret_size,
                          .flags = flags,
                          .result = -1};

    if (!a)
        return REAL(accept4)(fd, ret_address.__sockaddr__, ret_size, flags);
    begin_outside(a);
    if (!try_accept(&c) && fd_is_blocking(fd) &&
        wait_outside_restarting(a, try_accept, &c, accept_deadline(a, fd)) == WAIT_SIGNAL)
        c.error = EINTR;
    if (c.result == -1)
        errno = c.error;
    else
        actor_acted_outside(a);
    return c.result;
}

SHIM_EXPORT int accept(int fd, __SOCKADDR_ARG ret_address, socklen_t *restrict ret_size)
{
    return actor_self() ? accept4(fd, ret_address, ret_size, 0)
                        : REAL(accept)(fd, ret_address.__sockaddr__, ret_size);
}

SHIM_EXPORT int listen(int fd, int backlog)
{
    struct sockaddr_in own = {0};
    socklen_t size = sizeof own;
    struct actor *a;
    int rc;

    (void)getsockname(fd, (struct sockaddr *)&own, &size); /* fails: then listen says why */
    a = self_at((const struct sockaddr *)&own, size);

    if (!a)
        return REAL(listen)(fd, backlog);
    begin_outside(a);
    rc = REAL(listen)(fd, backlog < BACKLOG_LEAST ? BACKLOG_LEAST : backlog);
    if (rc == 0)
        actor_acted_outside(a);
    return rc;
}

SHIM_EXPORT int shutdown(int fd, int how)
{
    struct actor *a = actor_self();
    int rc;

    if (!a)
        return REAL(shutdown)(fd, how);
    begin_outside(a);
    rc = REAL(shutdown)(fd, how);
    if (rc == 0)
        actor_acted_outside(a);
    return rc;
}

/* What the descriptor stood for until now may have been the last word of a conversation. */
static void announce_closed(struct actor *a, int fd, bool is_shared)
{
    alarm_forget_fd(fd);
    if (is_shared)
        actor_acted_outside(a);
}

SHIM_EXPORT int close(int fd)
{
    struct actor *a = actor_self();
    bool is_shared;
    int rc;

    if (fd >= 0 && fd == client_line()) {
        errno = EBADF; /* nothing that the program ever opened */
        return -1;
    }
    if (!a)
        return REAL(close)(fd);
    is_shared = fd_is_shared(fd);
    if (is_shared)
        begin_outside(a);
    asked_closed(fd);
    rc = REAL(close)(fd);
    if (rc == 0)
        announce_closed(a, fd, is_shared);
    return rc;
}

/* The C library's own closes unseen. Only a lock is of interest: a stream on what waits is ours. */
SHIM_EXPORT int fclose(FILE *file)
{
    struct actor *a = fd_may_lock() ? actor_self() : NULL;
    int rc;

    if (!a)
        return REAL(fclose)(file);
    begin_outside(a);
    rc = REAL(fclose)(file);
    actor_acted_outside(a);
    return rc;
}

#define CLOSED_MAX 4096U /* numbers looked at, of a range that is closed */

/* Without the life line. */
static int close_around(unsigned first, unsigned last, int flags)
{
    int line = client_line();
    int rc = 0;

    if (line < 0 || (unsigned)line < first || (unsigned)line > last)
        return REAL(close_range)(first, last, flags);
    if (first < (unsigned)line)
        rc = REAL(close_range)(first, (unsigned)line - 1, flags);
    if (rc == 0 && (unsigned)line < last)
        rc = REAL(close_range)((unsigned)line + 1, last, flags);
    return rc;
}

SHIM_EXPORT int close_range(unsigned first, unsigned last, int flags)
{
    struct actor *a = actor_self();
    int rc;

    if (!a || first > last || (flags & (int)CLOSE_RANGE_CLOEXEC))
        return close_around(first, last, flags);
    begin_outside(a);
    rc = close_around(first, last, flags);
    for (unsigned fd = first; rc == 0 && fd <= last && fd - first < CLOSED_MAX; fd++)
        alarm_forget_fd((int)fd);
    actor_acted_outside(a);
    return rc;
}

SHIM_EXPORT void closefrom(int first)
{
    (void)close_range(first > 0 ? (unsigned)first : 0, ~0U, 0);
}

/* A number that the program has chosen is its own. */
static void make_way(int fd)
{
    if (fd >= 0 && fd == client_line())
        client_move_line();
}

/* What `fd` stands for is about to be replaced; returns what announce_closed wants to know. */
static bool begin_replacing(struct actor *a, int fd)
{
    bool is_shared;

    make_way(fd);
    is_shared = a && fd_is_shared(fd);
    if (is_shared)
        begin_outside(a);
    return is_shared;
}

SHIM_EXPORT int dup2(int old, int fd)
{
    struct actor *a = old != fd ? actor_self() : NULL;
    bool is_shared = begin_replacing(a, fd);
    int rc = REAL(dup2)(old, fd);

    if (a && rc != -1)
        announce_closed(a, fd, is_shared);
    return rc;
}

SHIM_EXPORT int dup3(int old, int fd, int flags)
{
    struct actor *a = actor_self();
    bool is_shared = begin_replacing(a, fd);
    int rc = REAL(dup3)(old, fd, flags);

    if (a && rc != -1)
        announce_closed(a, fd, is_shared);
    return rc;
}

struct file_lock {
    int fd;
    int operation;
    int error;
};

static bool try_file_lock(void *ctx)
{
    struct file_lock *lock = ctx;

    lock->error = REAL(flock)(lock->fd, lock->operation | LOCK_NB) == 0 ? 0 : errno;
    return lock->error != EWOULDBLOCK;
}

SHIM_EXPORT int flock(int fd, int operation)
{
    struct actor *a = actor_self();
    struct file_lock lock = {.fd = fd, .operation = operation};

    fd_note_lock();
    if (!a)
        return REAL(flock)(fd, operation);
    begin_outside(a);
    if (!try_file_lock(&lock) && !(operation & LOCK_NB) &&
        wait_outside_restarting(a, try_file_lock, &lock, simtime_never()) == WAIT_SIGNAL)
        lock.error = EINTR;
    if (lock.error) {
        errno = lock.error;
        return -1;
    }
    actor_acted_outside(a); /* a lock that is shared from now on lets others in, too */
    return 0;
}
