/* SPDX-License-Identifier: Apache-2.0 */
/*
 * DOC: Other things that processes wait for
 *
 * Locks on files, semaphores and queues of System V, queues of POSIX. Each is asked for without
 * waiting; the actor waits outside until somebody has acted there. Every call is charged, those
 * that only look as well: a loop that looks until something has changed has to get there.
 *
 * A lock on a file is given back by a close, too, of any descriptor of that file (fcntl(2)). So a
 * process that has ever locked a file announces each file that it closes.
 */
#include <errno.h>
#include <fcntl.h>
#include <mqueue.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <sys/msg.h>
#include <sys/sem.h>
#include <unistd.h>

#include "verbs-shim/shim/guest.h"
#include "verbs-shim/shim/libc/cast.h"
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
    bool is_system_v;
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
        struct {
            mqd_t queue;
            char *bytes;
            size_t size;
            unsigned *ret_priority; /* receive */
            unsigned priority;      /* send */
        } posix;
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
        } else if (attempt->result == -1 && attempt->error == EINVAL && attempt->is_system_v) {
            attempt->error = EIDRM; /* it was there when the wait began */
        }
    }
    if (attempt->result == -1)
        errno = attempt->error;
    else
        actor_acted_outside(a);
    return attempt->result;
}

static atomic_bool locks_files;

void fd_note_lock(void)
{
    atomic_store_explicit(&locks_files, true, memory_order_relaxed);
}

bool fd_may_lock(void)
{
    return atomic_load_explicit(&locks_files, memory_order_relaxed);
}

static void lock_file_now(struct attempt *attempt)
{
    attempt->result = REAL(fcntl)(attempt->file.fd, attempt->file.command, attempt->file.lock);
    attempt->error = errno == EACCES ? EAGAIN : errno;
}

/* `command`: one that does not wait, which `waits` then does here. */
static int lock_file(struct actor *a, int fd, int command, void *lock, bool waits)
{
    struct attempt attempt = {.now = lock_file_now,
                              .busy = waits ? EAGAIN : 0,
                              .file = {.fd = fd, .command = command, .lock = lock}};

    return (int)attempt_until(a, &attempt, simtime_never());
}

static int control(int fd, int command, void *arg)
{
    struct actor *a = actor_self();

    switch (command) {
    case F_SETLKW:
    case F_OFD_SETLKW:
        fd_note_lock();
        if (a)
            return lock_file(a, fd, command == F_SETLKW ? F_SETLK : F_OFD_SETLK, arg, true);
        break;
    case F_SETLK:
    case F_OFD_SETLK:
        fd_note_lock();
        if (a)
            return lock_file(a, fd, command, arg, false);
        break;
    default:
        break;
    }
    return REAL(fcntl)(fd, command, arg);
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

    if (command == F_TEST || !actor_self()) {
        fd_note_lock();
        return REAL(lockf)(fd, command, length);
    }
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

#define OPERATIONS     16U
#define OPERATIONS_MAX 32000U /* the kernel's own limit is lower, and it says so */

/* `own`: room for a copy of the operations. */
static int change_semaphores(struct actor *a, struct attempt *attempt,
                             const struct sembuf *operations, struct sembuf *own, simtime deadline)
{
    bool waits = false;

    for (size_t i = 0; i < attempt->semaphore.count; i++) {
        waits = waits || !(operations[i].sem_flg & IPC_NOWAIT);
        own[i] = operations[i];
        own[i].sem_flg |= IPC_NOWAIT;
    }
    attempt->semaphore.operations = own;
    attempt->busy = waits ? EAGAIN : 0; /* else it is the answer */
    return (int)attempt_until(a, attempt, deadline);
}

SHIM_EXPORT int semtimedop(int id, struct sembuf *operations, size_t count,
                           const struct timespec *span)
{
    struct actor *a = actor_self();
    struct sembuf few[OPERATIONS];
    struct sembuf *own = few;
    struct attempt attempt = {
        .now = semaphore_now, .is_system_v = true, .semaphore = {.id = id, .count = count}};
    int rc;

    if (!a || !operations || count > OPERATIONS_MAX || (span && !vclock_is_span(span)))
        return REAL(semtimedop)(id, operations, count, span);
    if (count > OPERATIONS && !(own = shim_alloc(count * sizeof(*own))))
        return -1;
    rc = change_semaphores(a, &attempt, operations, own,
                           span ? vclock_after(actor_now(a), span) : simtime_never());
    if (own != few)
        shim_free(own);
    return rc;
}

SHIM_EXPORT int semop(int id, struct sembuf *operations, size_t count)
{
    return actor_self() ? semtimedop(id, operations, count, NULL)
                        : REAL(semop)(id, operations, count);
}

/* A look costs time, a change is announced. The fourth argument may be absent; the kernel knows. */
SHIM_EXPORT int semctl(int id, int which, int command, ...)
{
    struct actor *a = actor_self();
    void *arg;
    va_list args;
    int rc;

    va_start(args, command);
    arg = va_arg(args, void *);
    va_end(args);
    if (!a)
        return REAL(semctl)(id, which, command, arg);
    begin_outside(a);
    rc = REAL(semctl)(id, which, command, arg);
    if (rc != -1 &&
        (command == SETVAL || command == SETALL || command == IPC_RMID || command == IPC_SET))
        actor_acted_outside(a);
    return rc;
}

SHIM_EXPORT int msgctl(int id, int command, struct msqid_ds *about)
{
    struct actor *a = actor_self();
    int rc;

    if (!a)
        return REAL(msgctl)(id, command, about);
    begin_outside(a);
    rc = REAL(msgctl)(id, command, about);
    /* A new size may be room for a sender. */
    if (rc != -1 && (command == IPC_RMID || command == IPC_SET))
        actor_acted_outside(a);
    return rc;
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

SHIM_EXPORT int msgsnd(int id, const void *bytes, size_t size, int flags)
{
    struct actor *a = actor_self();
    struct attempt attempt = {
        .now = message_now,
        .is_system_v = true,
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
        .is_system_v = true,
        .busy = (flags & IPC_NOWAIT) ? 0 : ENOMSG,
        .message = {.id = id, .flags = flags, .bytes = bytes, .size = size, .type = type}};

    if (!a)
        return REAL(msgrcv)(id, bytes, size, type, flags);
    return attempt_until(a, &attempt, simtime_never());
}

/* A time that has passed: the kernel answers at once. */
static const struct timespec at_once = {.tv_sec = 0};

static void post_now(struct attempt *attempt)
{
    attempt->result = REAL(mq_timedsend)(attempt->posix.queue, attempt->posix.bytes,
                                         attempt->posix.size, attempt->posix.priority, &at_once);
    attempt->error = errno;
}

static void take_now(struct attempt *attempt)
{
    attempt->result =
        REAL(mq_timedreceive)(attempt->posix.queue, attempt->posix.bytes, attempt->posix.size,
                              attempt->posix.ret_priority, &at_once);
    attempt->error = errno;
}

static bool is_instant(const struct timespec *when)
{
    return when->tv_sec >= 0 && when->tv_nsec >= 0 && when->tv_nsec < 1000000000L;
}

static int post(struct actor *a, mqd_t queue, const char *bytes, size_t size, unsigned priority,
                simtime deadline)
{
    struct attempt attempt = {
        .now = post_now,
        .busy = ETIMEDOUT,
        .posix = {.queue = queue, .bytes = drop_const(bytes), .size = size, .priority = priority}};

    return (int)attempt_until(a, &attempt, deadline);
}

SHIM_EXPORT int mq_timedsend(mqd_t queue, const char *bytes, size_t size, unsigned priority,
                             const struct timespec *when)
{
    struct actor *a = actor_self();

    if (!a || !is_instant(when))
        return REAL(mq_timedsend)(queue, bytes, size, priority, when);
    return post(a, queue, bytes, size, priority, vclock_read(CLOCK_REALTIME, when));
}

SHIM_EXPORT int mq_send(mqd_t queue, const char *bytes, size_t size, unsigned priority)
{
    struct actor *a = actor_self();

    return a ? post(a, queue, bytes, size, priority, simtime_never())
             : REAL(mq_send)(queue, bytes, size, priority);
}

// NOLINTNEXTLINE(readability-non-const-parameter): the kernel writes there
static ssize_t take(struct actor *a, mqd_t queue, char *bytes, size_t size, unsigned *ret_priority,
                    simtime deadline)
{
    struct attempt attempt = {
        .now = take_now,
        .busy = ETIMEDOUT,
        .posix = {.queue = queue, .bytes = bytes, .size = size, .ret_priority = ret_priority}};

    return attempt_until(a, &attempt, deadline);
}

SHIM_EXPORT ssize_t mq_timedreceive(mqd_t queue, char *restrict bytes, size_t size,
                                    unsigned *restrict ret_priority,
                                    const struct timespec *restrict when)
{
    struct actor *a = actor_self();

    if (!a || !is_instant(when))
        return REAL(mq_timedreceive)(queue, bytes, size, ret_priority, when);
    return take(a, queue, bytes, size, ret_priority, vclock_read(CLOCK_REALTIME, when));
}

SHIM_EXPORT ssize_t mq_receive(mqd_t queue, char *bytes, size_t size, unsigned *ret_priority)
{
    struct actor *a = actor_self();

    return a ? take(a, queue, bytes, size, ret_priority, simtime_never())
             : REAL(mq_receive)(queue, bytes, size, ret_priority);
}
