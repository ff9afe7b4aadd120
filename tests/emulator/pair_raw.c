/* SPDX-License-Identifier: Apache-2.0 */
/* Calls that wait, made by their numbers, as runtimes of other languages make them. */
#include <errno.h>
#include <poll.h>
#include <sys/epoll.h>
#include <sys/select.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/un.h>
#include <unistd.h>

#include "tests/emulator/pair.h"

static struct sockaddr_un at = {.sun_family = AF_UNIX};
static char byte;
static struct iovec part = {.iov_base = &byte, .iov_len = 1};

/* In the order in which rank 1 sends a byte each ten milliseconds from 20 ms on. */
static long take(int fd, int way)
{
    struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1};

    switch (way) {
    case 0:
        return syscall(SYS_read, fd, &byte, 1L);
    case 1:
        return syscall(SYS_readv, fd, &part, 1);
    case 2:
        return syscall(SYS_recvfrom, fd, &byte, 1L, 0, NULL, NULL);
    default:
        return syscall(SYS_recvmsg, fd, &message, 0);
    }
}

static long look(int fd, int way)
{
    struct pollfd p = {.fd = fd, .events = POLLIN};
    struct epoll_event event = {.events = EPOLLIN};
    struct timespec span = {.tv_sec = 1};
    uint64_t mask = 0;
    struct {
        const void *mask;
        size_t size;
    } masked = {&mask, sizeof mask};
    fd_set set;
    int epoll;
    long rc;

    FD_ZERO(&set);
    FD_SET(fd, &set);
    switch (way) {
    case 0:
        return syscall(SYS_poll, &p, 1L, -1);
    case 1:
        rc = syscall(SYS_ppoll, &p, 1L, &span, &mask, sizeof mask);
        CHECK(span.tv_sec == 0 && span.tv_nsec > 980 * MS); /* the rest */
        return rc;
    case 2:
        return syscall(SYS_select, fd + 1, &set, NULL, NULL, NULL);
    case 3:
        return syscall(SYS_pselect6, fd + 1, &set, NULL, NULL, NULL, &masked);
    default:
        epoll = epoll_create1(0);
        CHECK(epoll >= 0 && epoll_ctl(epoll, EPOLL_CTL_ADD, fd, &event) == 0);
        rc = way == 4 ? syscall(SYS_epoll_wait, epoll, &event, 1, -1)
                      : syscall(SYS_epoll_pwait, epoll, &event, 1, -1, NULL, 8L);
        CHECK(close(epoll) == 0);
        return rc;
    }
}

static void wait_raw(void)
{
    int listener = socket(AF_UNIX, SOCK_STREAM, 0);
    int64_t t = 10 * MS;
    int fd;

    CHECK(bind(listener, (struct sockaddr *)&at, sizeof at) == 0);
    CHECK(syscall(SYS_listen, listener, 1) == 0);
    fd = (int)syscall(SYS_accept4, listener, NULL, NULL, 0);
    CHECK(fd >= 0);
    CHECK_CAUSE(t);
    for (int way = 0; way < 4; way++) {
        t += 10 * MS;
        CHECK(take(fd, way) == 1);
        CHECK_CAUSE(t);
    }
    for (int way = 0; way < 6; way++) {
        t += 10 * MS;
        CHECK(look(fd, way) == 1);
        CHECK_CAUSE(t);
        CHECK(take(fd, way) == 1);
    }
    CHECK(syscall(SYS_io_uring_setup, 8, NULL) == -1 && errno == ENOSYS);
    CHECK(syscall(SYS_read, -1, &byte, 1L) == -1 && errno == EBADF);
    t = pair_now();
    CHECK(syscall(SYS_poll, NULL, 0L, 5) == 0);
    CHECK_SPAN(pair_now() - t, 5 * MS);
}

static void act_raw(void)
{
    struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1};
    int fd = socket(AF_UNIX, SOCK_STREAM, 0);
    int64_t t = 10 * MS;

    pair_sleep_until(t);
    CHECK(syscall(SYS_connect, fd, &at, sizeof at) == 0);
    for (int way = 0; way < 10; way++) {
        t += 10 * MS;
        pair_sleep_until(t);
        switch (way % 4) {
        case 0:
            CHECK(syscall(SYS_write, fd, "x", 1L) == 1);
            break;
        case 1:
            CHECK(syscall(SYS_writev, fd, &part, 1) == 1);
            break;
        case 2:
            CHECK(syscall(SYS_sendto, fd, "x", 1L, 0, NULL, 0) == 1);
            break;
        default:
            CHECK(syscall(SYS_sendmsg, fd, &message, 0) == 1);
            break;
        }
    }
}

int main(int argc, char **argv)
{
    CHECK(argc == 2);
    (void)snprintf(at.sun_path, sizeof at.sun_path, "%s/stream", argv[1]);
    if (pair_is_waiter())
        wait_raw();
    else
        act_raw();
    return 0;
}
