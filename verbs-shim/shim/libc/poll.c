/* SPDX-License-Identifier: Apache-2.0 */
/*
 * DOC: Waiting for one of many
 *
 * poll, select and epoll_wait are charged, then look without waiting. If nothing is ready they wait
 * outside, until something happened there or the timeout has passed in virtual time, and look
 * again. A call without descriptors is a sleep.
 */
#include <errno.h>
#include <string.h>

#include "verbs-shim/shim/guest.h"
#include "verbs-shim/shim/libc/real.h"
#include "verbs-shim/shim/libc/vclock.h"
#include "verbs-shim/shim/libc/wait.h"

struct look {
    int (*now)(struct look *look); /* the real call with no time to wait */
    const sigset_t *mask;          /* borrowed; or NULL */
    int result;
    int error;
    union {
        struct {
            struct pollfd *fds;
            nfds_t count;
        } poll;
        struct {
            int fd;
            struct epoll_event *events;
            int room;
        } epoll;
        struct {
            int count;
            size_t bytes;    /* of a set */
            fd_set *sets[3]; /* the program's: what it asks, then the answer */
            char *asked;     /* copies of what it asked, one after the other */
        } select;
    };
};

static bool try_look(void *ctx)
{
    struct look *look = ctx;
    int saved = errno;

    look->result = look->now(look);
    look->error = errno;
    errno = saved;
    return look->result != 0;
}

static int look_until(struct actor *a, struct look *look, simtime deadline)
{
    struct actor_watch none;

    begin_outside(a);
    (void)alarm_fire(a);
    client_look(a, &none);
    if (!try_look(look)) {
        enum wait_end end = wait_descriptors(a, try_look, look, deadline);

        if (end == WAIT_SIGNAL || end == WAIT_RESTART) {
            errno = EINTR;
            return -1;
        }
    }
    if (look->result == -1)
        errno = look->error;
    return look->result;
}

/* 0, or -1 and EINTR. */
static int only_sleep(struct actor *a, simtime deadline)
{
    begin_outside(a);
    if (wait_until(a, deadline) == WAIT_TIMEOUT)
        return 0;
    errno = EINTR;
    return -1;
}

/* False: errno is EINVAL. */
static bool deadline_after(const struct actor *a, const struct timespec *span, simtime *ret)
{
    *ret = simtime_never();
    if (!span)
        return true;
    if (!vclock_is_span(span)) {
        errno = EINVAL;
        return false;
    }
    *ret = vclock_after(actor_now(a), span);
    return true;
}

static int poll_now(struct look *look)
{
    struct timespec zero = {0};

    return REAL(ppoll)(look->poll.fds, look->poll.count, &zero, look->mask);
}

static int poll_until(struct actor *a, struct pollfd *fds, nfds_t count, simtime deadline,
                      const sigset_t *mask)
{
    struct look look = {.now = poll_now, .mask = mask, .poll = {.fds = fds, .count = count}};

    if (count == 0 && deadline.ps != SIMTIME_NEVER_PS)
        return only_sleep(a, deadline);
    return look_until(a, &look, deadline);
}

SHIM_EXPORT int poll(struct pollfd *fds, nfds_t count, int ms)
{
    struct actor *a = actor_self();

    return a ? poll_until(a, fds, count, vclock_after_ms(actor_now(a), ms), NULL)
             : REAL(poll)(fds, count, ms);
}

SHIM_EXPORT int ppoll(struct pollfd *fds, nfds_t count, const struct timespec *span,
                      const sigset_t *mask)
{
    struct actor *a = actor_self();
    simtime deadline;

    if (!a)
        return REAL(ppoll)(fds, count, span, mask);
    return deadline_after(a, span, &deadline) ? poll_until(a, fds, count, deadline, mask) : -1;
}

/* What programs compiled with _FORTIFY_SOURCE call. The C library reports an overflow. */
// NOLINTBEGIN(bugprone-reserved-identifier,readability-identifier-naming): the C library's names
int __poll_chk(struct pollfd *fds, nfds_t count, int ms, size_t room);
int __ppoll_chk(struct pollfd *fds, nfds_t count, const struct timespec *span, const sigset_t *mask,
                size_t room);

SHIM_EXPORT int __poll_chk(struct pollfd *fds, nfds_t count, int ms, size_t room)
{
    return actor_self() && count <= room / sizeof(*fds) ? poll(fds, count, ms)
                                                        : REAL(__poll_chk)(fds, count, ms, room);
}

SHIM_EXPORT int __ppoll_chk(struct pollfd *fds, nfds_t count, const struct timespec *span,
                            const sigset_t *mask, size_t room)
{
    return actor_self() && count <= room / sizeof(*fds)
               ? ppoll(fds, count, span, mask)
               : REAL(__ppoll_chk)(fds, count, span, mask, room);
}
// NOLINTEND(bugprone-reserved-identifier,readability-identifier-naming)

static int epoll_now(struct look *look)
{
    return REAL(epoll_pwait)(look->epoll.fd, look->epoll.events, look->epoll.room, 0, look->mask);
}

static int epoll_until(struct actor *a, int fd, struct epoll_event *events, int room,
                       simtime deadline, const sigset_t *mask)
{
    struct look look = {
        .now = epoll_now, .mask = mask, .epoll = {.fd = fd, .events = events, .room = room}};

    return look_until(a, &look, deadline);
}

SHIM_EXPORT int epoll_pwait(int fd, struct epoll_event *events, int room, int ms,
                            const sigset_t *mask)
{
    struct actor *a = actor_self();

    return a ? epoll_until(a, fd, events, room, vclock_after_ms(actor_now(a), ms), mask)
             : REAL(epoll_pwait)(fd, events, room, ms, mask);
}

SHIM_EXPORT int epoll_wait(int fd, struct epoll_event *events, int room, int ms)
{
    return actor_self() ? epoll_pwait(fd, events, room, ms, NULL)
                        : REAL(epoll_wait)(fd, events, room, ms);
}

SHIM_EXPORT int epoll_pwait2(int fd, struct epoll_event *events, int room,
                             const struct timespec *span, const sigset_t *mask)
{
    struct actor *a = actor_self();
    simtime deadline;

    if (!a)
        return REAL(epoll_pwait2)(fd, events, room, span, mask);
    return deadline_after(a, span, &deadline) ? epoll_until(a, fd, events, room, deadline, mask)
                                              : -1;
}

static int select_now(struct look *look)
{
    struct timespec zero = {0};

    for (size_t i = 0; i < 3; i++) {
        if (look->select.sets[i])
            memcpy(look->select.sets[i], look->select.asked + i * look->select.bytes,
                   look->select.bytes);
    }
    return REAL(pselect)(look->select.count, look->select.sets[0], look->select.sets[1],
                         look->select.sets[2], &zero, look->mask);
}

/* `look` has everything but room for the copies. */
static int select_until(struct actor *a, struct look *look, simtime deadline)
{
    char few[3 * sizeof(fd_set)];
    bool is_few;
    int result;

    /* The kernel reads and writes whole words. */
    look->select.bytes = ((size_t)look->select.count + 63) / 64 * 8;
    is_few = look->select.bytes <= sizeof(fd_set);
    look->select.asked = is_few ? few : shim_alloc(3 * look->select.bytes);
    if (!look->select.asked) {
        errno = ENOMEM;
        return -1;
    }
    for (size_t i = 0; i < 3; i++) {
        if (look->select.sets[i])
            memcpy(look->select.asked + i * look->select.bytes, look->select.sets[i],
                   look->select.bytes);
    }
    result = look_until(a, look, deadline);
    if (!is_few)
        shim_free(look->select.asked);
    look->select.asked = NULL;
    return result;
}

SHIM_EXPORT int pselect(int count, fd_set *restrict readers, fd_set *restrict writers,
                        fd_set *restrict others, const struct timespec *restrict span,
                        const sigset_t *restrict mask)
{
    struct actor *a = actor_self();
    struct look look = {
        .now = select_now,
        .mask = mask,
        .select = {.count = count, .sets = {readers, writers, others}},
    };
    simtime deadline;

    if (!a || count < 0)
        return REAL(pselect)(count, readers, writers, others, span, mask);
    if (!deadline_after(a, span, &deadline))
        return -1;
    if (!readers && !writers && !others && span)
        return only_sleep(a, deadline);
    return select_until(a, &look, deadline);
}

/* Linux tells how much of the time was left. */
SHIM_EXPORT int select(int count, fd_set *restrict readers, fd_set *restrict writers,
                       fd_set *restrict others, struct timeval *restrict limit)
{
    struct actor *a = actor_self();
    struct timespec span;
    simtime deadline;
    int result;

    if (!a || count < 0)
        return REAL(select)(count, readers, writers, others, limit);
    if (!limit)
        return pselect(count, readers, writers, others, NULL, NULL);
    if (limit->tv_sec < 0 || limit->tv_usec < 0) {
        errno = EINVAL;
        return -1;
    }
    span = (struct timespec){.tv_sec = limit->tv_sec + limit->tv_usec / 1000000,
                             .tv_nsec = limit->tv_usec % 1000000 * 1000};
    deadline = vclock_after(actor_now(a), &span);
    result = pselect(count, readers, writers, others, &span, NULL);
    span = vclock_rest(actor_now(a), deadline);
    *limit = (struct timeval){.tv_sec = span.tv_sec, .tv_usec = span.tv_nsec / 1000};
    return result;
}
