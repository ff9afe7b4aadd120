/* SPDX-License-Identifier: Apache-2.0 */
/* sendfile, splice, tee and vmsplice between two ranks: from what is empty, into what is full. */
#include <errno.h>
#include <fcntl.h>
#include <sys/sendfile.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <sys/un.h>
#include <unistd.h>

#include "tests/emulator/pair.h"

#define BIG ((size_t)2 << 20) /* more than a socket or a pipe holds */

static char bytes[65536];
static struct sockaddr_un at = {.sun_family = AF_UNIX};

static size_t drain(int fd, size_t size)
{
    size_t done = 0;

    while (done < size) {
        ssize_t got = read(fd, bytes, sizeof bytes < size - done ? sizeof bytes : size - done);

        CHECK(got > 0);
        done += (size_t)got;
    }
    return done;
}

/* Rank 0: splices what comes, tees it on, then lets the sender wait for room. */
static void take(void)
{
    int listener = socket(AF_UNIX, SOCK_STREAM, 0);
    int first[2];
    int second[2];
    int fd;

    CHECK(bind(listener, (struct sockaddr *)&at, sizeof at) == 0 && listen(listener, 1) == 0);
    CHECK(pipe(first) == 0 && pipe(second) == 0);
    fd = accept(listener, NULL, NULL);
    CHECK(fd >= 0);
    CHECK(splice(fd, NULL, first[1], NULL, 4096, SPLICE_F_NONBLOCK) == -1 && errno == EAGAIN);
    CHECK(splice(fd, NULL, first[1], NULL, 4096, 0) == 3);
    CHECK_CAUSE(20 * MS);
    CHECK(tee(first[0], second[1], 4096, 0) == 3);
    CHECK(drain(first[0], 3) == 3 && drain(second[0], 3) == 3);
    CHECK(tee(first[0], second[1], 4096, SPLICE_F_NONBLOCK) == -1 && errno == EAGAIN);
    pair_sleep_until(40 * MS);
    CHECK(drain(fd, BIG) == BIG);
    pair_sleep_until(60 * MS);
    CHECK(drain(fd, 5) == 5);
    CHECK(read(fd, bytes, 1) == 0);
}

static void put(void)
{
    const struct iovec part = {.iov_base = bytes, .iov_len = 5};
    FILE *file = tmpfile();
    int fd = socket(AF_UNIX, SOCK_STREAM, 0);
    int ends[2];
    off_t offset = 0;

    CHECK(file && ftruncate(fileno(file), (off_t)BIG) == 0 && pipe(ends) == 0);
    pair_sleep_until(10 * MS);
    CHECK(connect(fd, (struct sockaddr *)&at, sizeof at) == 0);
    pair_sleep_until(20 * MS);
    CHECK(write(fd, "abc", 3) == 3);
    pair_sleep_until(30 * MS);
    CHECK(sendfile(fd, fileno(file), &offset, BIG) == (ssize_t)BIG && offset == (off_t)BIG);
    CHECK(pair_now() >= 40 * MS && pair_now() < 50 * MS);
    CHECK(sendfile(fd, fileno(file), &offset, BIG) == 0); /* the file's end */
    CHECK(vmsplice(ends[1], &part, 1, 0) == 5);
    CHECK(splice(ends[0], NULL, fd, NULL, 4096, 0) == 5);
    CHECK(fcntl(fd, F_GETFL) == O_RDWR);
    CHECK(splice(-1, NULL, fd, NULL, 1, 0) == -1 && errno == EBADF);
    (void)fclose(file);
}

int main(int argc, char **argv)
{
    CHECK(argc == 2);
    (void)snprintf(at.sun_path, sizeof at.sun_path, "%s/stream", argv[1]);
    if (pair_is_waiter())
        take();
    else
        put();
    return 0;
}
