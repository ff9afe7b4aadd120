/* SPDX-License-Identifier: Apache-2.0 */
/* Sockets and pipes: calls wait without stopping the others, and time is virtual. */
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <pthread.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/select.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/emulator/emu.h"

#define BIG (8U << 20)

static struct sockaddr_in address = {.sin_family = AF_INET};

static void *serve(void *arg)
{
    int listener = *(int *)arg;
    int fd = accept(listener, NULL, NULL);
    char *bytes = malloc(BIG);
    uint32_t sum = 0;

    CHECK(fd >= 0 && bytes);
    CHECK(recv(fd, bytes, BIG, MSG_WAITALL) == (ssize_t)BIG);
    for (size_t i = 0; i < BIG; i++)
        sum += (unsigned char)bytes[i];
    CHECK(usleep(700) == 0);
    CHECK(write(fd, &sum, sizeof(sum)) == (ssize_t)sizeof(sum));
    CHECK(recv(fd, bytes, 1, 0) == 0);
    CHECK(close(fd) == 0);
    free(bytes);
    return NULL;
}

/* Both ends in one process: whoever waits must let the other go on. */
static void check_tcp(void)
{
    int listener = socket(AF_INET, SOCK_STREAM, 0);
    int fd = socket(AF_INET, SOCK_STREAM, 0);
    socklen_t size = sizeof(address);
    uint32_t sum = 0;
    uint32_t expected = 0;
    char *bytes = malloc(BIG);
    pthread_t thread;
    int64_t begun;

    CHECK(bind(listener, (struct sockaddr *)&address, sizeof(address)) == 0);
    CHECK(listen(listener, 0) == 0);
    CHECK(getsockname(listener, (struct sockaddr *)&address, &size) == 0);
    CHECK(pthread_create(&thread, NULL, serve, &listener) == 0);
    CHECK(usleep(100) == 0);
    CHECK(connect(fd, (struct sockaddr *)&address, sizeof(address)) == 0);
    for (size_t i = 0; i < BIG; i++) {
        bytes[i] = (char)(i * 7);
        expected += (unsigned char)bytes[i];
    }
    CHECK(send(fd, bytes, BIG, 0) == (ssize_t)BIG);
    begun = emu_now();
    CHECK(recv(fd, &sum, 1, MSG_DONTWAIT) == -1 && errno == EAGAIN);
    CHECK(read(fd, &sum, sizeof(sum)) == (ssize_t)sizeof(sum));
    CHECK(sum == expected);
    CHECK(emu_now() - begun < 2 * MS);
    CHECK(shutdown(fd, SHUT_WR) == 0);
    CHECK(pthread_join(thread, NULL) == 0);
    CHECK(read(fd, &sum, sizeof(sum)) == 0);
    CHECK(close(fd) == 0 && close(listener) == 0);
    free(bytes);
    fd = socket(AF_INET, SOCK_STREAM, 0);
    CHECK(connect(fd, (struct sockaddr *)&address, sizeof(address)) == -1);
    CHECK(errno == ECONNREFUSED);
    CHECK(close(fd) == 0);
}

static void check_timeouts(void)
{
    struct timeval limit = {.tv_sec = 30};
    struct timespec span = {.tv_sec = 40};
    struct pollfd p = {.events = POLLIN};
    struct epoll_event event = {.events = EPOLLIN};
    int fds[2];
    int ep = epoll_create1(0);
    int64_t begun = emu_now();
    fd_set set;

    CHECK(socketpair(AF_UNIX, SOCK_STREAM, 0, fds) == 0);
    p.fd = fds[0];
    CHECK(poll(&p, 1, 10000) == 0 && p.revents == 0);
    CHECK_SPAN(emu_now() - begun, 10 * S);
    CHECK(setsockopt(fds[0], SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit)) == 0);
    begun = emu_now();
    CHECK(recv(fds[0], &begun, 1, 0) == -1 && errno == EAGAIN);
    CHECK_SPAN(emu_now() - begun, 30 * S);
    FD_ZERO(&set);
    FD_SET(fds[0], &set);
    begun = emu_now();
    CHECK(select(fds[0] + 1, &set, NULL, NULL, &limit) == 0);
    CHECK(!FD_ISSET(fds[0], &set) && limit.tv_sec == 0);
    CHECK_SPAN(emu_now() - begun, 30 * S);
    begun = emu_now();
    CHECK(ppoll(&p, 1, &span, NULL) == 0);
    CHECK(poll(NULL, 0, 1000) == 0);
    CHECK_SPAN(emu_now() - begun, 41 * S);
    CHECK(epoll_ctl(ep, EPOLL_CTL_ADD, fds[0], &event) == 0);
    begun = emu_now();
    CHECK(epoll_wait(ep, &event, 1, 5000) == 0);
    CHECK_SPAN(emu_now() - begun, 5 * S);
    CHECK(write(fds[1], "x", 1) == 1);
    CHECK(epoll_wait(ep, &event, 1, -1) == 1);
    FD_SET(fds[0], &set);
    CHECK(select(fds[0] + 1, &set, NULL, NULL, NULL) == 1 && FD_ISSET(fds[0], &set));
    CHECK(poll(&p, 1, -1) == 1 && p.revents == POLLIN);
    CHECK(close(ep) == 0 && close(fds[0]) == 0 && close(fds[1]) == 0);
}

static void *fill_pipe(void *arg)
{
    static char bytes[300000];
    struct iovec parts[2] = {{.iov_base = bytes, .iov_len = 100000},
                             {.iov_base = bytes, .iov_len = sizeof(bytes)}};

    CHECK(usleep(100) == 0);
    CHECK(writev(*(int *)arg, parts, 2) == 400000);
    CHECK(close(*(int *)arg) == 0);
    return NULL;
}

static void check_pipe(void)
{
    char bytes[50000];
    size_t total = 0;
    pthread_t thread;
    int fds[2];

    CHECK(pipe(fds) == 0);
    CHECK(pthread_create(&thread, NULL, fill_pipe, &fds[1]) == 0);
    for (;;) {
        ssize_t n = read(fds[0], bytes, sizeof(bytes));

        CHECK(n >= 0);
        if (n == 0)
            break;
        total += (size_t)n;
    }
    CHECK(total == 400000);
    CHECK(pthread_join(thread, NULL) == 0);
    CHECK(close(fds[0]) == 0);
}

static void check_timerfd(void)
{
    struct itimerspec spec = {.it_value = {.tv_sec = 2}, .it_interval = {.tv_sec = 3}};
    int fd = timerfd_create(CLOCK_MONOTONIC, 0);
    struct pollfd p = {.fd = fd, .events = POLLIN};
    int64_t begun = emu_now();
    uint64_t count;

    CHECK(timerfd_settime(fd, 0, &spec, NULL) == 0);
    CHECK(poll(&p, 1, 1000) == 0);
    CHECK(poll(&p, 1, 100000) == 1);
    CHECK_SPAN(emu_now() - begun, 2 * S);
    CHECK(read(fd, &count, sizeof(count)) == (ssize_t)sizeof(count) && count == 1);
    CHECK(read(fd, &count, sizeof(count)) == (ssize_t)sizeof(count) && count == 1);
    CHECK_SPAN(emu_now() - begun, 5 * S);
    CHECK(sleep(7) == 0);
    CHECK(read(fd, &count, sizeof(count)) == (ssize_t)sizeof(count) && count == 2);
    CHECK(timerfd_gettime(fd, &spec) == 0 && spec.it_value.tv_sec == 1);
    CHECK(close(fd) == 0);
}

static void *add_later(void *arg)
{
    CHECK(usleep(100) == 0);
    CHECK(eventfd_write(*(int *)arg, 5) == 0);
    return NULL;
}

static void check_eventfd(void)
{
    int fd = eventfd(0, 0);
    eventfd_t value;
    pthread_t thread;

    CHECK(pthread_create(&thread, NULL, add_later, &fd) == 0);
    CHECK(eventfd_read(fd, &value) == 0 && value == 5);
    CHECK(pthread_join(thread, NULL) == 0);
    CHECK(fcntl(fd, F_SETFL, O_NONBLOCK) == 0);
    CHECK(eventfd_read(fd, &value) == -1 && errno == EAGAIN);
    CHECK(close(fd) == 0);
}

static void check_children(void)
{
    siginfo_t info = {0};
    int status;
    pid_t child = fork();
    FILE *file;
    int c;

    if (child == 0) {
        struct timespec real;

        /* A child lives in real time. */
        CHECK(clock_gettime(CLOCK_REALTIME, &real) == 0);
        _exit(7);
    }
    CHECK(syscall(SYS_waitid, P_PID, child, &info, WEXITED | WNOWAIT, NULL) == 0);
    CHECK(info.si_status == 7);
    CHECK(syscall(SYS_wait4, child, &status, WNOHANG, NULL) == child);
    CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 7);
    CHECK(waitpid(-1, &status, 0) == -1 && errno == ECHILD);
    status = system("exit 3");
    CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 3);
    file = popen("echo y", "r");
    CHECK(file);
    c = fgetc(file);
    CHECK(c == 'y');
    CHECK(pclose(file) == 0);
}

int main(void)
{
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    check_tcp();
    check_timeouts();
    check_pipe();
    check_timerfd();
    check_eventfd();
    check_children();
    return 0;
}
