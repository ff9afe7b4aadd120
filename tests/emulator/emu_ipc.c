/* SPDX-License-Identifier: Apache-2.0 */
/* System V semaphores and queues, and locks on files: who waits lets the others go on, and time is
 * virtual. */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <string.h>
#include <sys/ipc.h>
#include <sys/msg.h>
#include <sys/sem.h>
#include <unistd.h>

#include "tests/emulator/emu.h"

#define LATER    700 /* microseconds */
#define MESSAGES 4000

struct message {
    long type;
    char bytes[64];
};

static int semaphores;
static int queue;

static int change(unsigned short which, short by, short flags)
{
    struct sembuf operation = {.sem_num = which, .sem_op = by, .sem_flg = flags};

    return semop(semaphores, &operation, 1);
}

static void *raise_later(void *arg)
{
    (void)arg;
    CHECK(usleep(LATER) == 0);
    CHECK(change(0, 1, 0) == 0);
    CHECK(usleep(LATER) == 0);
    CHECK(change(1, 2, 0) == 0);
    return NULL;
}

static void check_semaphores(void)
{
    struct sembuf both[2] = {{.sem_num = 0, .sem_op = -1}, {.sem_num = 1, .sem_op = -2}};
    struct timespec span = {.tv_sec = 5};
    int64_t begun = emu_now();
    pthread_t thread;

    semaphores = semget(IPC_PRIVATE, 2, 0600);
    CHECK(semaphores >= 0);
    CHECK(semctl(semaphores, 0, SETVAL, 0) == 0 && semctl(semaphores, 1, SETVAL, 0) == 0);
    CHECK(change(0, -1, IPC_NOWAIT) == -1 && errno == EAGAIN);
    CHECK(semtimedop(semaphores, both, 1, &span) == -1 && errno == EAGAIN);
    CHECK_SPAN(emu_now() - begun, 5 * S);
    span = (struct timespec){.tv_nsec = -1};
    CHECK(semtimedop(semaphores, both, 1, &span) == -1 && errno == EINVAL);
    CHECK(semop(semaphores, NULL, 1) == -1 && errno == EFAULT);
    CHECK(semop(-1, both, 1) == -1 && errno == EINVAL);
    begun = emu_now();
    CHECK(pthread_create(&thread, NULL, raise_later, NULL) == 0);
    CHECK(semop(semaphores, both, 2) == 0); /* all or nothing */
    CHECK(emu_now() - begun >= 2 * LATER * US && emu_now() - begun < 2 * LATER * US + 500 * US);
    CHECK(semctl(semaphores, 0, GETVAL) == 0 && semctl(semaphores, 1, GETVAL) == 0);
    CHECK(pthread_join(thread, NULL) == 0);
    CHECK(semctl(semaphores, 0, IPC_RMID) == 0);
    CHECK(change(0, 1, 0) == -1 && (errno == EINVAL || errno == EIDRM));
}

static void *send_all(void *arg)
{
    struct message message = {.type = 2};

    (void)arg;
    CHECK(usleep(LATER) == 0);
    /* More than a queue holds: the sender waits as well. */
    for (int i = 0; i < MESSAGES; i++) {
        memcpy(message.bytes, &i, sizeof i);
        CHECK(msgsnd(queue, &message, sizeof message.bytes, 0) == 0);
    }
    message.type = 1;
    CHECK(msgsnd(queue, &message, 0, 0) == 0);
    return NULL;
}

static void check_queues(void)
{
    struct message message;
    pthread_t thread;
    int64_t begun = emu_now();

    queue = msgget(IPC_PRIVATE, 0600);
    CHECK(queue >= 0);
    CHECK(msgrcv(queue, &message, 64, 0, IPC_NOWAIT) == -1 && errno == ENOMSG);
    CHECK(msgrcv(-1, &message, 64, 0, 0) == -1 && errno == EINVAL);
    message.type = -1;
    CHECK(msgsnd(queue, &message, 64, 0) == -1 && errno == EINVAL);
    CHECK(pthread_create(&thread, NULL, send_all, NULL) == 0);
    for (int i = 0; i < MESSAGES; i++) {
        CHECK(msgrcv(queue, &message, 64, 2, 0) == 64 && message.type == 2);
        CHECK(memcmp(message.bytes, &i, sizeof i) == 0);
        CHECK(i > 0 || emu_now() - begun >= LATER * US);
    }
    CHECK(msgrcv(queue, &message, 64, 0, 0) == 0 && message.type == 1);
    CHECK(pthread_join(thread, NULL) == 0);
    CHECK(msgctl(queue, IPC_RMID, NULL) == 0);
}

static void *unlock_later(void *arg)
{
    struct flock lock = {.l_type = F_UNLCK, .l_whence = SEEK_SET};

    CHECK(usleep(LATER) == 0);
    CHECK(fcntl(*(int *)arg, F_OFD_SETLK, &lock) == 0);
    return NULL;
}

static void check_locks(void)
{
    struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
    char path[] = "/tmp/emu-ipc-XXXXXX";
    int first = mkstemp(path);
    int second = open(path, O_RDWR | O_CLOEXEC);
    int64_t begun;
    pthread_t thread;

    CHECK(first >= 0 && second >= 0 && unlink(path) == 0);
    CHECK(fcntl(first, F_OFD_SETLK, &lock) == 0);
    CHECK(fcntl(second, F_OFD_SETLK, &lock) == -1 && (errno == EAGAIN || errno == EACCES));
    begun = emu_now();
    CHECK(pthread_create(&thread, NULL, unlock_later, &first) == 0);
    CHECK(fcntl64(second, F_OFD_SETLKW, &lock) == 0);
    CHECK(emu_now() - begun >= LATER * US && emu_now() - begun < LATER * US + 500 * US);
    CHECK(pthread_join(thread, NULL) == 0);
    CHECK(lockf(-1, F_LOCK, 0) == -1 && errno == EBADF);
    CHECK(close(first) == 0 && close(second) == 0);
}

int main(void)
{
    check_semaphores();
    check_queues();
    check_locks();
    return 0;
}
