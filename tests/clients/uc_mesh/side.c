/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/clients/uc_mesh/side.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "tests/clients/uc_mesh/platform.h"

#define HELLO_MAGIC 0x75636d31U
#define CONNECT_MAX 12

struct hello {
    uint32_t magic;
    uint32_t rank;
    uint32_t ranks;
};

static bool send_all(int fd, const void *data, size_t bytes, struct fault *fault)
{
    const char *at = data;

    while (bytes > 0) {
        ssize_t n = send(fd, at, bytes, platform_send_flags());

        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return fault_errno(fault, errno, "side channel: send");
        at += n;
        bytes -= (size_t)n;
    }
    return true;
}

static bool recv_all(int fd, void *data, size_t bytes, struct fault *fault)
{
    char *at = data;

    while (bytes > 0) {
        ssize_t n = recv(fd, at, bytes, 0);

        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return fault_errno(fault, errno, "side channel: receive");
        if (n == 0)
            return fault_set(fault, "side channel: the other rank has gone");
        at += n;
        bytes -= (size_t)n;
    }
    return true;
}

static bool parse_address(const char *text, struct sockaddr_in *ret, struct fault *fault)
{
    const char *colon = strchr(text, ':');
    char host[INET_ADDRSTRLEN] = "";
    char *end = NULL;
    long port = colon ? strtol(colon + 1, &end, 10) : 0;

    *ret = (struct sockaddr_in){.sin_family = AF_INET};
    if (colon && (size_t)(colon - text) < sizeof host)
        memcpy(host, text, (size_t)(colon - text));
    if (!end || *end || port < 1 || port > 65535 || inet_pton(AF_INET, host, &ret->sin_addr) != 1)
        return fault_set(fault, "'%s' is no coordinator: a.b.c.d:port is accepted", text);
    ret->sin_port = htons((uint16_t)port);
    return true;
}

static bool tune(int fd, struct fault *fault)
{
    int on = 1;

    if (platform_quiet_socket(fd) || setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on))
        return fault_errno(fault, errno, "side channel: setsockopt");
    return true;
}

/* Accepts one rank and files its connection. */
static bool accept_rank(struct side *side, int listener, struct fault *fault)
{
    struct hello hello;
    int fd;

    do {
        fd = accept(listener, NULL, NULL);
    } while (fd < 0 && errno == EINTR);
    if (fd < 0)
        return fault_errno(fault, errno, "side channel: accept");
    if (!tune(fd, fault) || !recv_all(fd, &hello, sizeof hello, fault)) {
        (void)close(fd);
        return false;
    }
    if (hello.magic != HELLO_MAGIC || hello.ranks != side->ranks || hello.rank == 0 ||
        hello.rank >= side->ranks || side->fds[hello.rank] >= 0) {
        (void)close(fd);
        return fault_set(fault, "side channel: a stranger, or two ranks of one number, called");
    }
    side->fds[hello.rank] = fd;
    return true;
}

static bool listen_star(struct side *side, const struct sockaddr_in *address, struct fault *fault)
{
    int listener = socket(AF_INET, SOCK_STREAM, 0);
    int on = 1;
    bool ok = true;

    if (listener < 0)
        return fault_errno(fault, errno, "side channel: socket");
    if (setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on) ||
        bind(listener, (const struct sockaddr *)address, sizeof *address) ||
        listen(listener, 0)) /* as JACCL does */
        ok = fault_errno(fault, errno, "side channel: rank 0 cannot listen");
    for (unsigned i = 1; ok && i < side->ranks; i++)
        ok = accept_rank(side, listener, fault);
    (void)close(listener);
    return ok;
}

/* One attempt: the socket, or -1 and errno. */
static int try_connect(const struct sockaddr_in *address)
{
    int fd = socket(AF_INET, SOCK_STREAM, 0);
    int code;

    if (fd < 0 || connect(fd, (const struct sockaddr *)address, sizeof *address) == 0)
        return fd;
    code = errno;
    (void)close(fd);
    errno = code;
    return -1;
}

/* Rank 0 may not listen yet: 10 ms, 20 ms, ... about 40 s in all. */
static bool call_star(struct side *side, const struct sockaddr_in *address, struct fault *fault)
{
    struct hello hello = {HELLO_MAGIC, side->rank, side->ranks};
    int fd = -1;

    for (int i = 0; i < CONNECT_MAX && fd < 0; i++) {
        long wait_ms = 10L << i;
        struct timespec pause = {wait_ms / 1000, wait_ms % 1000 * 1000000};

        fd = try_connect(address);
        if (fd < 0)
            (void)fprintf(stderr, "uc_mesh: attempt %d to reach rank 0 failed\n", i + 1);
        if (fd < 0 && nanosleep(&pause, NULL) && errno != EINTR)
            return fault_errno(fault, errno, "side channel: nanosleep");
    }
    if (fd < 0)
        return fault_errno(fault, errno, "side channel: rank 0 does not answer");
    side->fds[0] = fd;
    return tune(fd, fault) && send_all(fd, &hello, sizeof hello, fault);
}

bool side_open(struct side *side, unsigned rank, unsigned ranks, const char *coordinator,
               struct fault *fault)
{
    struct sockaddr_in address;

    *side = (struct side){.rank = rank, .ranks = ranks};
    for (unsigned i = 0; i < MATRIX_RANK_MAX; i++)
        side->fds[i] = -1;
    if (!parse_address(coordinator, &address, fault))
        return false;
    return rank == 0 ? listen_star(side, &address, fault) : call_star(side, &address, fault);
}

bool side_all_gather(struct side *side, const void *mine, void *all, size_t bytes,
                     struct fault *fault)
{
    char *at = all;

    memcpy(at + side->rank * bytes, mine, bytes);
    if (side->rank > 0)
        return send_all(side->fds[0], mine, bytes, fault) &&
               recv_all(side->fds[0], all, bytes * side->ranks, fault);
    for (unsigned i = 1; i < side->ranks; i++) {
        if (!recv_all(side->fds[i], at + i * bytes, bytes, fault))
            return false;
    }
    for (unsigned i = 1; i < side->ranks; i++) {
        if (!send_all(side->fds[i], all, bytes * side->ranks, fault))
            return false;
    }
    return true;
}

bool side_barrier(struct side *side, struct fault *fault)
{
    char all[MATRIX_RANK_MAX];

    return side_all_gather(side, "b", all, 1, fault);
}

void side_close(struct side *side)
{
    for (unsigned i = 0; i < MATRIX_RANK_MAX; i++) {
        if (side->fds[i] >= 0)
            (void)close(side->fds[i]);
        side->fds[i] = -1;
    }
}
