/* SPDX-License-Identifier: Apache-2.0 */
/* Queues, semaphores and locks on files between two ranks: whoever waits goes on at the time of
 * what it has waited for. */
#include <errno.h>
#include <fcntl.h>
#include <mqueue.h>
#include <sys/file.h>
#include <sys/ipc.h>
#include <sys/msg.h>
#include <sys/sem.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/emulator/pair.h"

#define MANY 40

static const char *folder;
static int semaphores;
static int queue;

static void find_system_v(void)
{
    key_t key = ftok(folder, 7);

    CHECK(key != -1);
    semaphores = semget(key, MANY, IPC_CREAT | 0600);
    queue = msgget(key, IPC_CREAT | 0600);
    CHECK(semaphores >= 0 && queue >= 0);
}

static mqd_t find_posix(void)
{
    const char *slash = strrchr(folder, '/');
    struct mq_attr attr = {.mq_maxmsg = 2, .mq_msgsize = 16};
    const char *dot = strrchr(folder, '.');
    char name[64];
    mqd_t found;

    (void)snprintf(name, sizeof name, "/pair-%ld-%.20s", (long)getppid(),
                   dot ? dot + 1 : slash + 1);
    for (char *c = name + 1; *c; c++)
        *c = *c == '/' ? '-' : *c;
    found = mq_open(name, O_RDWR | O_CREAT, 0600, &attr);
    CHECK(found != (mqd_t)-1);
    if (pair_is_waiter()) {
        pair_sleep_until(5 * MS);
        CHECK(mq_unlink(name) == 0);
    }
    return found;
}

static struct timespec in_run(int64_t t)
{
    int64_t ns = emu_read(CLOCK_REALTIME) - pair_now() + t;

    return (struct timespec){.tv_sec = ns / S, .tv_nsec = ns % S};
}

static void wait_posix(void)
{
    mqd_t posix = find_posix();
    struct timespec when = in_run(12 * MS);
    char bytes[16];
    unsigned priority;

    CHECK(mq_timedreceive(posix, bytes, sizeof bytes, NULL, &when) == -1 && errno == ETIMEDOUT);
    CHECK_CAUSE(12 * MS);
    when.tv_nsec = -1;
    CHECK(mq_timedreceive(posix, bytes, sizeof bytes, NULL, &when) == -1 && errno == EINVAL);
    CHECK(mq_receive(posix, bytes, sizeof bytes, &priority) == 5 && priority == 3);
    CHECK_CAUSE(15 * MS);
    when = in_run(50 * MS);
    CHECK(mq_timedreceive(posix, bytes, sizeof bytes, NULL, &when) == 1);
    CHECK_CAUSE(20 * MS);
    /* Full: the third has to wait for a receiver. */
    CHECK(mq_send(posix, "a", 1, 0) == 0 && mq_send(posix, "b", 1, 0) == 0);
    when = in_run(22 * MS);
    CHECK(mq_timedsend(posix, "c", 1, 0, &when) == -1 && errno == ETIMEDOUT);
    CHECK_CAUSE(22 * MS);
    CHECK(mq_send(posix, "c", 1, 0) == 0);
    CHECK_CAUSE(25 * MS);
    CHECK(mq_send(-1, "c", 1, 0) == -1 && errno == EBADF);
    CHECK(mq_close(posix) == 0);
}

static void act_posix(void)
{
    mqd_t posix = find_posix();
    char bytes[16];

    pair_sleep_until(15 * MS);
    CHECK(mq_send(posix, "three", 5, 3) == 0);
    pair_sleep_until(20 * MS);
    CHECK(mq_send(posix, "x", 1, 0) == 0);
    pair_sleep_until(25 * MS);
    CHECK(mq_receive(posix, bytes, sizeof bytes, NULL) == 1 && bytes[0] == 'a');
    CHECK(mq_close(posix) == 0);
}

static int take_many(int count)
{
    struct sembuf operations[MANY];

    for (int i = 0; i < count; i++)
        operations[i] = (struct sembuf){.sem_num = (unsigned short)i, .sem_op = -1};
    return semop(semaphores, operations, (size_t)count);
}

static void wait_system_v(void)
{
    struct {
        long type;
        char bytes[16];
    } message;

    find_system_v();
    CHECK(take_many(MANY) == 0);
    CHECK_CAUSE(105 * MS);
    CHECK(take_many(1) == 0);
    CHECK_CAUSE(110 * MS);
    CHECK(take_many(1) == -1 && errno == EIDRM);
    CHECK_CAUSE(115 * MS);
    CHECK(msgrcv(queue, &message, sizeof message.bytes, 0, 0) == -1 && errno == EIDRM);
    CHECK_CAUSE(120 * MS);
}

static void act_system_v(void)
{
    unsigned short values[MANY];

    find_system_v();
    for (int i = 0; i < MANY; i++)
        values[i] = 1;
    pair_sleep_until(105 * MS);
    CHECK(semctl(semaphores, 0, SETALL, values) == 0);
    pair_sleep_until(110 * MS);
    CHECK(semctl(semaphores, 0, GETVAL) == 0);
    CHECK(semctl(semaphores, 0, SETVAL, 1) == 0);
    pair_sleep_until(115 * MS);
    CHECK(semctl(semaphores, 0, IPC_RMID) == 0);
    pair_sleep_until(120 * MS);
    CHECK(msgctl(queue, IPC_RMID, NULL) == 0);
}

static int open_file(const char *name)
{
    char path[256];
    int fd;

    (void)snprintf(path, sizeof path, "%s/%s", folder, name);
    fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    CHECK(fd >= 0);
    return fd;
}

static void wait_locks(void)
{
    struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
    struct flock read_lock = {.l_type = F_RDLCK, .l_whence = SEEK_SET};

    pair_sleep_until(202 * MS);
    CHECK(flock(open_file("one"), LOCK_EX) == 0);
    CHECK_CAUSE(210 * MS);
    CHECK(fcntl(open_file("two"), F_SETLKW, &lock) == 0);
    CHECK_CAUSE(215 * MS);
    CHECK(lockf(open_file("three"), F_LOCK, 0) == 0);
    CHECK_CAUSE(220 * MS);
    CHECK(fcntl(open_file("four"), F_SETLKW, &read_lock) == 0);
    CHECK_CAUSE(225 * MS);
    CHECK(fcntl(open_file("five"), F_OFD_SETLKW, &lock) == 0);
    CHECK_CAUSE(230 * MS);
}

static void act_locks(void)
{
    struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
    struct flock read_lock = {.l_type = F_RDLCK, .l_whence = SEEK_SET};
    FILE *three = fdopen(open_file("three"), "w");
    int one = open_file("one");
    int two = open_file("two");
    int other_two = open_file("two");
    int four = open_file("four");
    int five = open_file("five");

    CHECK(three);
    CHECK(flock(one, LOCK_EX) == 0);
    CHECK(fcntl(two, F_SETLK, &lock) == 0 && fcntl(four, F_SETLK, &lock) == 0);
    CHECK(fcntl(five, F_OFD_SETLK, &lock) == 0);
    CHECK(lockf(fileno(three), F_TLOCK, 0) == 0);
    pair_sleep_until(210 * MS);
    CHECK(close(one) == 0);
    pair_sleep_until(215 * MS);
    CHECK(close(other_two) == 0); /* any descriptor of the file */
    pair_sleep_until(220 * MS);
    CHECK(fclose(three) == 0);
    pair_sleep_until(225 * MS);
    CHECK(fcntl(four, F_SETLK, &read_lock) == 0); /* readers may come in */
    pair_sleep_until(230 * MS);
    CHECK(dup2(two, five) == five);
}

int main(int argc, char **argv)
{
    CHECK(argc == 2);
    folder = argv[1];
    if (pair_is_waiter()) {
        wait_posix();
        wait_system_v();
        wait_locks();
    } else {
        act_posix();
        act_system_v();
        act_locks();
    }
    return 0;
}
