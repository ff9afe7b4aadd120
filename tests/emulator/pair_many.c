/* SPDX-License-Identifier: Apache-2.0 */
/* recvmmsg, sendmmsg, preadv2 and pwritev2 between two ranks. */
#include <errno.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <sys/un.h>
#include <unistd.h>

#include "tests/emulator/pair.h"

#define COUNT 4U
#define FLOOD 200U
#define BYTES 512U

static char bytes[COUNT][BYTES];
static struct iovec parts[COUNT];
static struct mmsghdr messages[COUNT];

static void lay_out(void)
{
    for (unsigned i = 0; i < COUNT; i++) {
        parts[i] = (struct iovec){.iov_base = bytes[i], .iov_len = BYTES};
        messages[i] = (struct mmsghdr){.msg_hdr = {.msg_iov = &parts[i], .msg_iovlen = 1}};
    }
}

static struct sockaddr_un place(const char *folder, const char *name)
{
    struct sockaddr_un at = {.sun_family = AF_UNIX};

    (void)snprintf(at.sun_path, sizeof at.sun_path, "%s/%s", folder, name);
    return at;
}

/* All at once, one by one, with a timeout between two and after none. */
static void receive_datagrams(const char *folder)
{
    struct sockaddr_un at = place(folder, "datagrams");
    struct timespec span = {.tv_nsec = 2 * MS};
    int fd = socket(AF_UNIX, SOCK_DGRAM, 0);

    CHECK(bind(fd, (struct sockaddr *)&at, sizeof at) == 0);
    CHECK(recvmmsg(fd, messages, COUNT, MSG_DONTWAIT, NULL) == -1 && errno == EAGAIN);
    CHECK(recvmmsg(fd, messages, COUNT, 0, NULL) == (int)COUNT);
    CHECK_CAUSE(11 * MS);
    CHECK(messages[3].msg_len == 3 && bytes[3][0] == 'd');
    CHECK(recvmmsg(fd, messages, COUNT, MSG_WAITFORONE, NULL) == 2);
    CHECK_CAUSE(20 * MS);
    CHECK(recvmmsg(fd, messages, COUNT, MSG_WAITFORONE, NULL) == 1);
    CHECK_CAUSE(21 * MS);
    CHECK(recvmmsg(fd, messages, COUNT, 0, &span) == 1); /* late, but there is no other look */
    CHECK_CAUSE(30 * MS);
    CHECK(span.tv_sec == 0 && span.tv_nsec == 0);
    span.tv_nsec = 5 * MS;
    CHECK(recvmmsg(fd, messages, 1, 0, &span) == 1);
    CHECK_CAUSE(31 * MS);
    CHECK(span.tv_nsec > 3 * MS && span.tv_nsec < 5 * MS);
    span.tv_nsec = -1;
    CHECK(recvmmsg(fd, messages, COUNT, 0, &span) == -1 && errno == EINVAL);
    CHECK(recvmmsg(fd, messages, 0, 0, NULL) == 0);
    CHECK(recvmmsg(-1, messages, 1, 0, NULL) == -1 && errno == EBADF);
    CHECK(close(fd) == 0);
}

static void send_datagrams(const char *folder)
{
    struct sockaddr_un at = place(folder, "datagrams");
    int fd = socket(AF_UNIX, SOCK_DGRAM, 0);

    for (unsigned i = 0; i < COUNT; i++) {
        bytes[i][0] = (char)('a' + (int)i);
        parts[i].iov_len = i;
        messages[i].msg_hdr.msg_name = &at;
        messages[i].msg_hdr.msg_namelen = sizeof at;
    }
    pair_sleep_until(10 * MS);
    CHECK(sendmmsg(fd, messages, 2, 0) == 2 && messages[1].msg_len == 1);
    pair_sleep_until(11 * MS);
    CHECK(sendmmsg(fd, messages + 2, 2, 0) == 2 && messages[3].msg_len == 3);
    pair_sleep_until(20 * MS);
    CHECK(sendmmsg(fd, messages, 2, 0) == 2);
    pair_sleep_until(21 * MS);
    CHECK(sendmmsg(fd, messages, 1, 0) == 1);
    pair_sleep_until(30 * MS);
    CHECK(sendmmsg(fd, messages, 1, 0) == 1);
    pair_sleep_until(31 * MS);
    CHECK(sendmmsg(fd, messages, 1, 0) == 1);
    CHECK(sendmmsg(-1, messages, 1, 0) == -1 && errno == EBADF);
    CHECK(close(fd) == 0);
}

/* A sender whose socket is full waits for the reader. How much TCP holds is the kernel's affair and
 * varies; this kind of socket counts what was sent. */
static void take_flood(const char *folder)
{
    struct sockaddr_un at = place(folder, "stream");
    int listener = socket(AF_UNIX, SOCK_STREAM, 0);
    struct iovec one = {.iov_base = bytes[0], .iov_len = 1};
    size_t left = (size_t)FLOOD * COUNT * BYTES;
    int fd;

    CHECK(bind(listener, (struct sockaddr *)&at, sizeof at) == 0 && listen(listener, 1) == 0);
    fd = accept(listener, NULL, NULL);
    CHECK(fd >= 0);
    CHECK(preadv2(fd, parts, COUNT, -1, RWF_NOWAIT) == -1 && errno == EAGAIN);
    CHECK(preadv2(fd, &one, 1, -1, 0) == 1); /* waits */
    CHECK_CAUSE(110 * MS);
    pair_sleep_until(200 * MS);
    while (left > 0) {
        ssize_t got = preadv2(fd, parts, COUNT, -1, 0);

        CHECK(got > 0);
        left -= (size_t)got;
    }
    CHECK(preadv2(fd, parts, 1, -1, 0) == 0);
    CHECK(preadv2(fd, parts, 1, 0, 0) == -1 && errno == ESPIPE);
    CHECK(close(fd) == 0 && close(listener) == 0);
}

static void flood(const char *folder)
{
    struct sockaddr_un at = place(folder, "stream");
    struct iovec one = {.iov_base = bytes[0], .iov_len = 1};
    int fd = socket(AF_UNIX, SOCK_STREAM, 0);

    lay_out();
    pair_sleep_until(100 * MS);
    CHECK(connect(fd, (struct sockaddr *)&at, sizeof at) == 0);
    pair_sleep_until(110 * MS);
    CHECK(pwritev2(fd, &one, 1, -1, 0) == 1);
    for (unsigned i = 0; i < FLOOD; i++)
        CHECK(sendmmsg(fd, messages, COUNT, 0) == (int)COUNT && messages[1].msg_len == BYTES);
    CHECK(pair_now() > 200 * MS); /* the socket had been full */
    CHECK(close(fd) == 0);
}

int main(int argc, char **argv)
{
    CHECK(argc == 2);
    lay_out();
    if (pair_is_waiter()) {
        receive_datagrams(argv[1]);
        take_flood(argv[1]);
    } else {
        send_datagrams(argv[1]);
        flood(argv[1]);
    }
    return 0;
}
