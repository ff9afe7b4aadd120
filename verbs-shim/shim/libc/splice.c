/* SPDX-License-Identifier: Apache-2.0 */
/*
 * DOC: Bytes that the kernel moves by itself
 *
 * sendfile, splice, tee and vmsplice wait like reads and writes, for bytes in a pipe or a socket or
 * for room in one. Both ends are asked not to wait by O_NONBLOCK for as long as the call takes, and
 * pipes by a flag of the call as well. What a program prints costs nothing. copy_file_range knows
 * only files.
 */
#include <errno.h>
#include <fcntl.h>
#include <sys/sendfile.h>
#include <sys/uio.h>
#include <unistd.h>

#include "verbs-shim/shim/libc/fd.h"
#include "verbs-shim/shim/libc/real.h"
#include "verbs-shim/shim/libc/wait.h"

struct pour {
    ssize_t (*now)(const struct pour *pour); /* makes the call, without waiting */
    int in, out;                             /* `out` of vmsplice: the pipe, whichever end */
    off64_t *in_offset, *out_offset;
    size_t size;
    unsigned flags;
    const struct iovec *vector;
    ssize_t result;
    int error;
};

/* The flags as they were; -1: they stay. */
static int stop_waiting(int fd)
{
    int flags = fd >= 0 ? fcntl(fd, F_GETFL) : -1;

    if (flags == -1 || (flags & O_NONBLOCK) || fd_kind_of(fd) == FD_FILE)
        return -1;
    (void)fcntl(fd, F_SETFL, flags | O_NONBLOCK);
    return flags;
}

static void wait_again(int fd, int flags)
{
    if (flags != -1)
        (void)fcntl(fd, F_SETFL, flags);
}

static bool try_pour(void *ctx)
{
    struct pour *pour = ctx;
    int saved = errno;
    int in = stop_waiting(pour->in);
    int out = stop_waiting(pour->out);

    pour->result = pour->now(pour);
    pour->error = errno;
    wait_again(pour->out, out);
    wait_again(pour->in, in);
    errno = saved;
    return pour->result != -1 || pour->error != EAGAIN;
}

/* Does a descriptor ask for the call not to wait? */
static bool is_patient(int in, int out)
{
    return (in < 0 || fd_kind_of(in) == FD_FILE || fd_is_blocking(in)) &&
           (out < 0 || fd_kind_of(out) == FD_FILE || fd_is_blocking(out));
}

/* Once, after waiting if need be. 0 or errno. */
static int pour_step(struct actor *a, struct pour *pour, bool waits)
{
    if (!try_pour(pour) && waits) {
        switch (wait_outside_restarting(a, try_pour, pour, simtime_never())) {
        case WAIT_TIMEOUT:
        case WAIT_SIGNAL:
        case WAIT_RESTART:
            return EINTR;
        case WAIT_DONE:
            break;
        }
    }
    if (pour->result == -1)
        return pour->error;
    if (pour->result > 0)
        actor_acted_outside(a);
    return 0;
}

static ssize_t pour_once(struct actor *a, struct pour *pour, bool waits)
{
    int error;

    begin_outside(a);
    error = pour_step(a, pour, waits);
    if (!error)
        return pour->result;
    errno = error;
    return -1;
}

static ssize_t send_now(const struct pour *pour)
{
    return REAL(sendfile)(pour->out, pour->in, pour->in_offset, pour->size);
}

/* Goes on until all is sent or the file ends. */
static ssize_t send_all(struct actor *a, struct pour *pour, bool waits)
{
    size_t done = 0;
    int error;

    begin_outside(a);
    do {
        error = pour_step(a, pour, waits);
        if (error || pour->result == 0)
            break;
        done += (size_t)pour->result;
        pour->size -= (size_t)pour->result;
    } while (pour->size > 0);
    if (!error || done > 0)
        return (ssize_t)done;
    errno = error;
    return -1;
}

SHIM_EXPORT ssize_t sendfile(int out, int in, off_t *offset, size_t size)
{
    struct actor *a = actor_self();
    struct pour pour = {.now = send_now, .in = in, .out = out, .in_offset = offset, .size = size};

    if (!a || size == 0 || out == STDOUT_FILENO || out == STDERR_FILENO ||
        (fd_kind_of(out) == FD_FILE && fd_kind_of(in) == FD_FILE))
        return REAL(sendfile)(out, in, offset, size);
    return send_all(a, &pour, is_patient(in, out));
}

SHIM_EXPORT ssize_t sendfile64(int out, int in, off64_t *offset, size_t size)
{
    return sendfile(out, in, offset, size);
}

static ssize_t splice_now(const struct pour *pour)
{
    return REAL(splice)(pour->in, pour->in_offset, pour->out, pour->out_offset, pour->size,
                        pour->flags | SPLICE_F_NONBLOCK);
}

SHIM_EXPORT ssize_t splice(int in, off64_t *in_offset, int out, off64_t *out_offset, size_t size,
                           unsigned flags)
{
    struct actor *a = actor_self();
    struct pour pour = {.now = splice_now,
                        .in = in,
                        .out = out,
                        .in_offset = in_offset,
                        .out_offset = out_offset,
                        .size = size,
                        .flags = flags};

    if (!a || size == 0)
        return REAL(splice)(in, in_offset, out, out_offset, size, flags);
    return pour_once(a, &pour, !(flags & SPLICE_F_NONBLOCK) && is_patient(in, out));
}

static ssize_t tee_now(const struct pour *pour)
{
    return REAL(tee)(pour->in, pour->out, pour->size, pour->flags | SPLICE_F_NONBLOCK);
}

SHIM_EXPORT ssize_t tee(int in, int out, size_t size, unsigned flags)
{
    struct actor *a = actor_self();
    struct pour pour = {.now = tee_now, .in = in, .out = out, .size = size, .flags = flags};

    if (!a || size == 0)
        return REAL(tee)(in, out, size, flags);
    return pour_once(a, &pour, !(flags & SPLICE_F_NONBLOCK) && is_patient(in, out));
}

static ssize_t vmsplice_now(const struct pour *pour)
{
    return REAL(vmsplice)(pour->out, pour->vector, pour->size, pour->flags | SPLICE_F_NONBLOCK);
}

SHIM_EXPORT ssize_t vmsplice(int pipe, const struct iovec *vector, size_t count, unsigned flags)
{
    struct actor *a = actor_self();
    struct pour pour = {.now = vmsplice_now,
                        .in = -1,
                        .out = pipe,
                        .size = count,
                        .flags = flags,
                        .vector = vector};

    if (!a || count == 0)
        return REAL(vmsplice)(pipe, vector, count, flags);
    return pour_once(a, &pour, !(flags & SPLICE_F_NONBLOCK) && is_patient(-1, pipe));
}
