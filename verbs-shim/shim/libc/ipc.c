/* SPDX-License-Identifier: Apache-2.0 */
/*
 * DOC: Other things that processes wait for
 *
 * Locks on files, System V semaphores and queues, messages by the dozen. Each is asked for without
 * waiting; the actor waits outside until somebody has acted there.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <string.h>
#include <sys/msg.h>
#include <sys/sem.h>
#include <unistd.h>

#include "verbs-shim/shim/libc/fd.h"
#include "verbs-shim/shim/libc/real.h"
#include "verbs-shim/shim/libc/vclock.h"
#include "verbs-shim/shim/libc/wait.h"

/* A call that can be made without waiting. */
struct attempt {
    void (*now)(struct attempt *attempt); /* makes it: result, and error if that is -1 */
    long result;
    int error;
    int busy; /* the error that says: not now */
    union {
        struct {
            int fd, command;
            void *lock;
        } file;
        struct {
            int id;
            struct sembuf *operations; /* own copy, with IPC_NOWAIT */
            size_t count;
        } semaphore;
        struct {
            int id, flags;
            void *bytes;
            size_t size;
            long type;
            bool is_send;
        } message;
    };
};

static bool try_attempt(void *ctx)
{
    struct attempt *attempt = ctx;

    attempt->now(attempt);
    return attempt->result != -1 || attempt->error != attempt->busy;
}

/* With everything set: waits until the call can be made. Interrupted by a handler: EINTR. */
static long attempt_until(struct actor *a, struct attempt *attempt, simtime deadline)
{
    begin_outside(a);
    if (!try_attempt(attempt)) {
        enum wait_end end = wait_outside(a, try_attempt, attempt, deadline);

        if (end == WAIT_SIGNAL || end == WAIT_RESTART) {
            attempt->result = -1;
            attempt->error = EINTR;
        }
    }
    if (attempt->result == -1)
        errno = attempt->error;
    else
        actor_acted_outside(a);
    return attempt->result;
}

static void lock_file_now(struct attempt *attempt)
{
    attempt->result = REAL(fcntl)(attempt->file.fd, attempt->file.command, attempt->file.lock);
    attempt->error = errno == EACCES ? EAGAIN : errno;
}

static long lock_file(struct actor *a, int fd, int command, void *lock)
{
    struct attempt attempt = {
        .now = lock_file_now, .busy = EAGAIN, .file = {.fd = fd, .command = command, .lock = lock}};

    return attempt_until(a, &attempt, simtime_never());
}

static int control(int fd, int command, void *arg)
{
    struct actor *a = actor_self();
    const struct flock *lock = arg;

    switch (a ? command : F_GETFD) {
    case F_SETLKW:
        return (int)lock_file(a, fd, F_SETLK, arg);
    case F_OFD_SETLKW:
        return (int)lock_file(a, fd, F_OFD_SETLK, arg);
    case F_SETLK:
    case F_OFD_SETLK:
        /* Others may wait for what is given back here. */
        if (lock && lock->l_type == F_UNLCK)
            return (int)lock_file(a, fd, command, arg);
        return REAL(fcntl)(fd, command, arg);
    default:
        return REAL(fcntl)(fd, command, arg);
    }
}

SHIM_EXPORT int fcntl(int fd, int command, ...)
{
    va_list args;
    void *arg;

    va_start(args, command);
    arg = va_arg(args, void *);
    va_end(args);
    return control(fd, command, arg);
}

/* The same, for programs with large files: the two have had one off_t on 64 bits ever since. */
SHIM_EXPORT int fcntl64(int fd, int command, ...) __attribute__((alias("fcntl")));

SHIM_EXPORT int lockf(int fd, int command, off_t length)
{
    struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_CUR, .l_len = length};

    if (!actor_self() || (command != F_LOCK && command != F_ULOCK))
        return REAL(lockf)(fd, command, length);
    if (command == F_ULOCK)
        lock.l_type = F_UNLCK;
    return control(fd, command == F_LOCK ? F_SETLKW : F_SETLK, &lock);
}

static void semaphore_now(struct attempt *attempt)
{
    attempt->result =
        REAL(semop)(attempt->semaphore.id, attempt->semaphore.operations, attempt->semaphore.count);
    attempt->error = errno;
}

#define OPERATIONS 16U

SHIM_EXPORT int semtimedop(int id, struct sembuf *operations, size_t count,
                           const struct timespec *span)
{
    struct actor *a = actor_self();
    struct sembuf own[OPERATIONS];
    struct attempt attempt = {.now = semaphore_now,
                              .busy = EAGAIN,
                              .semaphore = {.id = id, .operations = own, .count = count}};
    bool waits = false;

    if (!a || !operations || count > OPERATIONS || (span && !vclock_is_span(span)))
        return REAL(semtimedop)(id, operations, count, span);
    for (size_t i = 0; i < count; i++) {
        waits = waits || !(operations[i].sem_flg & IPC_NOWAIT);
        own[i] = operations[i];
        own[i].sem_flg |= IPC_NOWAIT;
    }
    if (!waits)
        attempt.busy = 0; /* EAGAIN is the answer */
    return (int)attempt_until(a, &attempt,
                              span ? vclock_after(actor_now(a), span) : simtime_never());
}

SHIM_EXPORT int semop(int id, struct sembuf *operations, size_t count)
{
    return actor_self() ? semtimedop(id, operations, count, NULL)
                        : REAL(semop)(id, operations, count);
}

static void message_now(struct attempt *attempt)
{
    int flags = attempt->message.flags | IPC_NOWAIT;

    if (attempt->message.is_send)
        attempt->result =
            REAL(msgsnd)(attempt->message.id, attempt->message.bytes, attempt->message.size, flags);
    else
        attempt->result = REAL(msgrcv)(attempt->message.id, attempt->message.bytes,
                                       attempt->message.size, attempt->message.type, flags);
    attempt->error = errno;
}

static void *drop_const(const void *p)
{
    void *q;

    memcpy(&q, &p, sizeof(q));
    return q;
}

SHIM_EXPORT int msgsnd(int id, const void *bytes, size_t size, int flags)
{
    struct actor *a = actor_self();
    struct attempt attempt = {
        .now = message_now,
        .busy = (flags & IPC_NOWAIT) ? 0 : EAGAIN,
        .message = {
            .id = id, .flags = flags, .bytes = drop_const(bytes), .size = size, .is_send = true}};

    if (!a)
        return REAL(msgsnd)(id, bytes, size, flags);
    return (int)attempt_until(a, &attempt, simtime_never());
}

SHIM_EXPORT ssize_t msgrcv(int id, void *bytes, size_t size, long type, int flags)
{
    struct actor *a = actor_self();
    struct attempt attempt = {
        .now = message_now,
        .busy = (flags & IPC_NOWAIT) ? 0 : ENOMSG,
        .message = {.id = id, .flags = flags, .bytes = bytes, .size = size, .type = type}};

    if (!a)
        return REAL(msgrcv)(id, bytes, size, type, flags);
    return attempt_until(a, &attempt, simtime_never());
}
