/* SPDX-License-Identifier: Apache-2.0 */
/* What a process holds until it ends, others get when it ends: locks on files, and the end of what
 * comes on a socket or through a pipe. Its last words come before. */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "tests/emulator/pair.h"

#define RETURNS (50 * MS) /* rank 1, from main */
#define LEAVES  (70 * MS) /* rank 2, by _exit */

static const char *folder;

static const char *in_folder(const char *name, char *path, size_t size)
{
    (void)snprintf(path, size, "%s/%s", folder, name);
    return path;
}

static int open_file(const char *name)
{
    char path[256];
    int fd = open(in_folder(name, path, sizeof path), O_RDWR | O_CREAT | O_CLOEXEC, 0600);

    CHECK(fd >= 0);
    return fd;
}

static struct sockaddr_un place(const char *name)
{
    struct sockaddr_un at = {.sun_family = AF_UNIX};

    (void)in_folder(name, at.sun_path, sizeof at.sun_path);
    return at;
}

static void *wait_flock(void *arg)
{
    int fd = open_file("flock");

    (void)arg;
    pair_sleep_until(20 * MS);
    CHECK(flock(fd, LOCK_EX) == 0);
    CHECK_CAUSE(RETURNS);
    return NULL;
}

static void *wait_record(void *arg)
{
    struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
    int fd = open_file("record");

    (void)arg;
    pair_sleep_until(20 * MS);
    CHECK(fcntl(fd, F_SETLKW, &lock) == 0);
    CHECK_CAUSE(LEAVES);
    return NULL;
}

/* The last message, then the end. */
static void *wait_stream(void *arg)
{
    struct sockaddr_un at = place("stream");
    int listener = socket(AF_UNIX, SOCK_STREAM, 0);
    char bytes[8];
    int fd;

    (void)arg;
    CHECK(bind(listener, (struct sockaddr *)&at, sizeof at) == 0 && listen(listener, 1) == 0);
    fd = accept(listener, NULL, NULL);
    CHECK(fd >= 0);
    CHECK(read(fd, bytes, sizeof bytes) == 3);
    CHECK_CAUSE(RETURNS);
    CHECK(read(fd, bytes, sizeof bytes) == 0);
    CHECK_CAUSE(RETURNS);
    return NULL;
}

static void *wait_datagram(void *arg)
{
    struct sockaddr_un at = place("datagram");
    int fd = socket(AF_UNIX, SOCK_DGRAM, 0);
    char bytes[8];

    (void)arg;
    CHECK(bind(fd, (struct sockaddr *)&at, sizeof at) == 0);
    CHECK(recv(fd, bytes, sizeof bytes, 0) == 2);
    CHECK_CAUSE(LEAVES);
    return NULL;
}

/* Somebody for whom time goes on. */
static void *go_on(void *arg)
{
    (void)arg;
    for (int64_t t = 21 * MS; t < 65 * MS; t += MS)
        pair_sleep_until(t);
    return NULL;
}

static void wait_for_all(void)
{
    void *(*const kinds[])(void *) = {wait_flock, wait_record, wait_stream, wait_datagram, go_on};
    pthread_t threads[sizeof kinds / sizeof kinds[0]];

    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++)
        CHECK(pthread_create(&threads[i], NULL, kinds[i], NULL) == 0);
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++)
        CHECK(pthread_join(threads[i], NULL) == 0);
}

int main(int argc, char **argv)
{
    struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
    struct sockaddr_un at;
    int fd;

    CHECK(argc == 2);
    folder = argv[1];
    switch (pair_rank()) {
    case 0:
        wait_for_all();
        return 0;
    case 1:
        pair_sleep_until(10 * MS);
        CHECK(flock(open_file("flock"), LOCK_EX) == 0);
        at = place("stream");
        fd = socket(AF_UNIX, SOCK_STREAM, 0);
        CHECK(connect(fd, (struct sockaddr *)&at, sizeof at) == 0);
        pair_sleep_until(RETURNS);
        CHECK(send(fd, "end", 3, 0) == 3);
        return 0;
    default:
        pair_sleep_until(10 * MS);
        CHECK(fcntl(open_file("record"), F_SETLK, &lock) == 0);
        at = place("datagram");
        fd = socket(AF_UNIX, SOCK_DGRAM, 0);
        pair_sleep_until(LEAVES);
        CHECK(sendto(fd, "ex", 2, 0, (struct sockaddr *)&at, sizeof at) == 2);
        _exit(0);
    }
}
