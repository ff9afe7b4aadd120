/* SPDX-License-Identifier: Apache-2.0 */
/* What a descriptor stands for. */
#ifndef VERBS_SHIM_SHIM_LIBC_FD_H
#define VERBS_SHIM_SHIM_LIBC_FD_H

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <sys/socket.h>
#include <sys/stat.h>

enum fd_kind {
    FD_FILE,   /* never waits, or is none */
    FD_SOCKET, /* can be asked not to wait */
    FD_PIPE,   /* anything else that waits: pipes, terminals, eventfds, timerfds */
};

/* Leaves errno alone. Not remembered: the C library closes and opens descriptors unseen. */
static inline enum fd_kind fd_kind_of(int fd)
{
    struct stat st;
    int saved = errno;

    if (fstat(fd, &st) != 0) {
        errno = saved;
        return FD_FILE;
    }
    if (S_ISSOCK(st.st_mode))
        return FD_SOCKET;
    return S_ISREG(st.st_mode) || S_ISDIR(st.st_mode) || S_ISBLK(st.st_mode) ? FD_FILE : FD_PIPE;
}

/* The process takes a lock on a file (ipc.c). */
void fd_note_lock(void);
/* Has it ever done so? Then any close may give one back. */
bool fd_may_lock(void);

/* What others may notice when the descriptor is closed. */
static inline bool fd_is_shared(int fd)
{
    struct stat st;
    int saved = errno;
    bool is_open = fd_may_lock() && fstat(fd, &st) == 0;

    errno = saved;
    return is_open || fd_kind_of(fd) != FD_FILE;
}

static inline bool fd_is_blocking(int fd)
{
    return (fcntl(fd, F_GETFL) & O_NONBLOCK) == 0;
}

#endif
