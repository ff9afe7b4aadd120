/* SPDX-License-Identifier: Apache-2.0 */
/*
 * DOC: Named pipes
 *
 * The kernel lets an open wait until the other end is opened as well (fifo(7)). Here the end is
 * opened with O_NONBLOCK, which is announced, and the wait for the other one is outside. A reader
 * knows of a writer by what a read of an empty pipe says: the end of the file without one, EAGAIN
 * with one.
 */
#include "verbs-shim/shim/libc/fifo.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "verbs-shim/shim/libc/real.h"
#include "verbs-shim/shim/libc/wait.h"

struct opening {
    int folder;
    const char *path; /* borrowed */
    int flags;        /* with O_NONBLOCK */
    int fd;
    int error;
};

bool fifo_waits(int folder, const char *path, int flags)
{
    struct stat st;
    int saved = errno;
    bool is_fifo;

    if (!path || !actor_self() || (flags & (O_NONBLOCK | O_PATH)) || (flags & O_ACCMODE) == O_RDWR)
        return false;
    is_fifo = REAL(fstatat)(folder, path, &st, 0) == 0 && S_ISFIFO(st.st_mode);
    errno = saved;
    return is_fifo;
}

/* The end for writing can be opened once there is one for reading. */
static bool try_open(void *ctx)
{
    struct opening *o = ctx;

    o->fd = REAL(openat)(o->folder, o->path, o->flags);
    o->error = errno;
    return o->fd != -1 || o->error != ENXIO;
}

static bool try_writer(void *ctx)
{
    const struct opening *o = ctx;
    struct pollfd p = {.fd = o->fd, .events = POLLIN};
    char byte;

    /* There is something to read, or the writer has already left. */
    if (REAL(poll)(&p, 1, 0) != 0)
        return true;
    return REAL(read)(o->fd, &byte, 1) == -1;
}

static bool wait_for_end(struct actor *a, bool (*try)(void *ctx), struct opening *o)
{
    return try(o) || wait_outside_restarting(a, try, o, simtime_never()) == WAIT_DONE;
}

/* 0 or errno. */
static int open_end(struct actor *a, struct opening *o)
{
    bool is_reader = (o->flags & O_ACCMODE) == O_RDONLY;

    if (!wait_for_end(a, try_open, o))
        return EINTR;
    if (o->fd == -1)
        return o->error;
    actor_acted_outside(a);
    if (!is_reader || wait_for_end(a, try_writer, o))
        return 0;
    (void)REAL(close)(o->fd);
    return EINTR;
}

int fifo_open(int folder, const char *path, int flags)
{
    struct actor *a = actor_self();
    struct opening o = {.folder = folder, .path = path, .flags = flags | O_NONBLOCK, .fd = -1};
    int saved = errno;
    int error;

    begin_outside(a);
    error = open_end(a, &o);
    if (error) {
        errno = error;
        return -1;
    }
    (void)REAL(fcntl)(o.fd, F_SETFL, REAL(fcntl)(o.fd, F_GETFL) & ~O_NONBLOCK);
    errno = saved;
    return o.fd;
}

int fifo_flags(const char *mode)
{
    int flags = mode[0] == 'r' ? O_RDONLY : O_WRONLY;

    if (strchr(mode, '+'))
        flags = O_RDWR;
    return strchr(mode, 'e') ? flags | O_CLOEXEC : flags;
}
