/* SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE

#include "verbs-shim/conductor/door.h"

#include <errno.h>
#include <poll.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "verbs-shim/conductor/lack.h"

#define UNDER_WAY_TRIES 2000 /* of a millisecond */

bool door_open(struct door *ret, const char *name, struct err *reterr)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    size_t length;

    (void)snprintf(ret->name, sizeof ret->name, "%s", name);
    length = strlen(ret->name);
    memcpy(address.sun_path + 1, ret->name, length);
    ret->fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (ret->fd >= 0 &&
        bind(ret->fd, (const struct sockaddr *)&address,
             (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + length)) == 0 &&
        listen(ret->fd, (int)PROTO_CLIENTS_MAX) == 0)
        return true;
    return lack_report("a socket for the ranks", reterr);
}

void door_close(struct door *door)
{
    if (door->fd >= 0)
        (void)close(door->fd);
    door->fd = -1;
}

int door_accept(const struct door *door, pid_t *ret_pid)
{
    struct ucred who = {0};
    socklen_t size = sizeof who;
    int fd = accept4(door->fd, NULL, NULL, SOCK_CLOEXEC);

    if (fd < 0)
        return -1;
    if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &who, &size) != 0 || who.uid != getuid()) {
        (void)close(fd);
        return -1;
    }
    *ret_pid = who.pid;
    return fd;
}

bool door_read_hello(int fd, struct proto_hello *ret)
{
    if (recv(fd, ret, sizeof *ret, MSG_DONTWAIT) != (ssize_t)sizeof *ret)
        return false;
    ret->program[sizeof ret->program - 1] = '\0';
    return ret->magic == PROTO_MAGIC;
}

void door_refuse(int fd, int status, const char *why)
{
    struct proto_welcome welcome = {
        .magic = PROTO_MAGIC, .version = PROTO_VERSION, .status = (uint32_t)status};

    (void)snprintf(welcome.why, sizeof welcome.why, "%s", why);
    (void)send(fd, &welcome, sizeof welcome, MSG_NOSIGNAL | MSG_DONTWAIT);
}

static bool send_fds(int fd, const int *fds, uint32_t count)
{
    union {
        struct cmsghdr align;
        char bytes[CMSG_SPACE(PROTO_FDS_A_MESSAGE * sizeof(int))];
    } control;
    char byte = 0;
    struct iovec part = {.iov_base = &byte, .iov_len = 1};
    struct msghdr message = {.msg_iov = &part,
                             .msg_iovlen = 1,
                             .msg_control = control.bytes,
                             .msg_controllen = CMSG_SPACE(count * sizeof(int))};
    struct cmsghdr *head;

    memset(&control, 0, sizeof control);
    head = CMSG_FIRSTHDR(&message);
    head->cmsg_level = SOL_SOCKET;
    head->cmsg_type = SCM_RIGHTS;
    head->cmsg_len = CMSG_LEN(count * sizeof(int));
    memcpy(CMSG_DATA(head), fds, count * sizeof(int));
    for (int tries = 0; sendmsg(fd, &message, MSG_NOSIGNAL) != 1; tries++) {
        /* A user's descriptors under way are limited; the others are about to take theirs. */
        if (errno != ETOOMANYREFS || tries == UNDER_WAY_TRIES)
            return false;
        (void)poll(NULL, 0, 1);
    }
    return true;
}

/* The descriptors in the order that proto.h says; returns how many. */
static uint32_t list_fds(uint32_t client, bool is_inline, const struct memory *memory,
                         int fds[1 + 2 * PROTO_CLIENTS_MAX])
{
    uint32_t count = 0;

    if (is_inline)
        fds[count++] = memory->hub_fd;
    for (uint32_t i = 0; i < memory->client_count; i++) {
        if (is_inline || i == client)
            fds[count++] = memory->segment_fds[i];
    }
    for (uint32_t i = 0; i < memory->client_count; i++)
        fds[count++] = i == client ? memory->arena_fds[i] : memory->arena_read_fds[i];
    return count;
}

bool door_welcome(int fd, uint32_t client, bool is_inline, const struct memory *memory)
{
    int fds[1 + 2 * PROTO_CLIENTS_MAX];
    const struct proto_welcome welcome = {
        .magic = PROTO_MAGIC,
        .version = PROTO_VERSION,
        .client = client,
        .client_count = memory->client_count,
        .is_inline = is_inline,
        .fd_count = list_fds(client, is_inline, memory, fds),
        .hub_bytes = memory->hub_bytes,
    };

    if (send(fd, &welcome, sizeof welcome, MSG_NOSIGNAL) != (ssize_t)sizeof welcome)
        return false;
    for (uint32_t at = 0; at < welcome.fd_count; at += PROTO_FDS_A_MESSAGE) {
        uint32_t left = welcome.fd_count - at;

        if (!send_fds(fd, fds + at, left < PROTO_FDS_A_MESSAGE ? left : PROTO_FDS_A_MESSAGE))
            return false;
    }
    return true;
}
