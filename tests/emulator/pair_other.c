/* SPDX-License-Identifier: Apache-2.0 */
/* Futexes in memory of two ranks, and named pipes. */
#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <stdatomic.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "tests/emulator/pair.h"

static const char *folder;
static char path[256];

static const char *in_folder(const char *name)
{
    (void)snprintf(path, sizeof path, "%s/%s", folder, name);
    return path;
}

static _Atomic uint32_t *map_word(void)
{
    int fd = open(in_folder("word"), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    void *memory;

    CHECK(fd >= 0 && ftruncate(fd, 4096) == 0);
    memory = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    CHECK(memory != MAP_FAILED);
    return memory;
}

static void wait_all(void)
{
    _Atomic uint32_t *word = map_word();
    struct timespec span = {.tv_nsec = 3 * MS};
    char byte;
    FILE *file;
    int fd;

    CHECK(syscall(SYS_futex, word, FUTEX_WAIT, 1, NULL, NULL, 0) == -1 && errno == EAGAIN);
    CHECK(syscall(SYS_futex, word, FUTEX_WAIT, 0, &span, NULL, 0) == -1 && errno == ETIMEDOUT);
    CHECK_CAUSE(3 * MS);
    CHECK(syscall(SYS_futex, word, FUTEX_WAIT, 0, NULL, NULL, 0) == 0 && *word == 1);
    CHECK_CAUSE(20 * MS);
    CHECK(mkfifo(in_folder("read"), 0600) == 0 && mkfifo(in_folder("written"), 0600) == 0);
    fd = open(in_folder("read"), O_RDONLY | O_CLOEXEC);
    CHECK(fd >= 0 && (fcntl(fd, F_GETFL) & O_NONBLOCK) == 0);
    CHECK_CAUSE(30 * MS);
    CHECK(read(fd, &byte, 1) == 1);
    CHECK_CAUSE(35 * MS);
    CHECK(read(fd, &byte, 1) == 0);
    CHECK_CAUSE(40 * MS);
    file = fopen(in_folder("written"), "w");
    CHECK(file);
    CHECK_CAUSE(50 * MS);
    CHECK(fputc('y', file) == 'y' && fclose(file) == 0);
    CHECK(open(in_folder("nothing"), O_RDONLY) == -1 && errno == ENOENT);
}

static void act_all(void)
{
    _Atomic uint32_t *word = map_word();
    FILE *file;
    int fd;

    pair_sleep_until(20 * MS);
    *word = 1;
    CHECK(syscall(SYS_futex, word, FUTEX_WAKE, 1, NULL, NULL, 0) >= 0);
    pair_sleep_until(30 * MS);
    fd = open(in_folder("read"), O_WRONLY | O_CLOEXEC);
    CHECK(fd >= 0);
    pair_sleep_until(35 * MS);
    CHECK(write(fd, "x", 1) == 1);
    pair_sleep_until(40 * MS);
    CHECK(close(fd) == 0);
    pair_sleep_until(50 * MS);
    file = fopen(in_folder("written"), "r");
    CHECK(file && fgetc(file) == 'y' && fclose(file) == 0);
}

int main(int argc, char **argv)
{
    CHECK(argc == 2);
    folder = argv[1];
    if (pair_is_waiter())
        wait_all();
    else
        act_all();
    return 0;
}
