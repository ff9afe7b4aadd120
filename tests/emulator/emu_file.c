/* SPDX-License-Identifier: Apache-2.0 */
/* Streams of the C library over sockets: reading waits as recv does, writing as send does. */
#include <errno.h>
#include <pthread.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "tests/emulator/emu.h"

#define LATER 700        /* microseconds */
#define BIG   (2U << 20) /* more than a socket takes */

static void *answer(void *arg)
{
    FILE *file = fdopen(*(int *)arg, "r+");
    char line[64];
    int number;

    CHECK(file);
    CHECK(fgets(line, sizeof line, file) && strcmp(line, "hello\n") == 0);
    CHECK(usleep(LATER) == 0);
    CHECK(fseek(file, 0, SEEK_CUR) == -1 && errno == ESPIPE);
    CHECK(fprintf(file, "42 words\nlast") > 0 && fflush(file) == 0);
    CHECK(fscanf(file, "%d", &number) == 1 && number == 7 && getc(file) == '\n');
    CHECK(usleep(LATER) == 0);
    CHECK(fputc('!', file) == '!');
    CHECK(fclose(file) == 0);
    return NULL;
}

static void check_talk(void)
{
    int fds[2];
    FILE *in;
    FILE *out;
    char *line = NULL;
    size_t room = 0;
    char rest[8] = "";
    int64_t begun = emu_now();
    pthread_t thread;

    CHECK(socketpair(AF_UNIX, SOCK_STREAM, 0, fds) == 0);
    CHECK(pthread_create(&thread, NULL, answer, &fds[1]) == 0);
    in = fdopen(fds[0], "r");
    out = fdopen(dup(fds[0]), "w");
    CHECK(in && out);
    CHECK(fputs("hello\n", out) >= 0 && fflush(out) == 0);
    CHECK(getline(&line, &room, in) == 9 && strcmp(line, "42 words\n") == 0);
    CHECK(emu_now() - begun >= LATER * US && emu_now() - begun < LATER * US + 500 * US);
    CHECK(fprintf(out, "7\n") == 2 && fflush(out) == 0);
    CHECK(fread(rest, 1, sizeof rest, in) == 5 && memcmp(rest, "last!", 5) == 0);
    CHECK(feof(in) && !ferror(in));
    CHECK(emu_now() - begun >= 2 * LATER * US && emu_now() - begun < 2 * LATER * US + 1000 * US);
    CHECK(pthread_join(thread, NULL) == 0);
    CHECK(fclose(in) == 0 && fclose(out) == 0);
    free(line);
}

static void *read_slowly(void *arg)
{
    FILE *file = fdopen(*(int *)arg, "r");
    uint32_t sum = 0;
    size_t total = 0;
    int c;

    CHECK(file);
    while ((c = getc(file)) != EOF) {
        sum += (unsigned)c;
        if (++total % (BIG / 8) == 0)
            CHECK(usleep(LATER) == 0);
    }
    CHECK(total == BIG);
    CHECK(fclose(file) == 0);
    *(uint32_t *)arg = sum;
    return NULL;
}

static void check_much(void)
{
    int fds[2];
    char *bytes = malloc(BIG);
    uint32_t expected = 0;
    pthread_t thread;
    FILE *out;

    CHECK(bytes && socketpair(AF_UNIX, SOCK_STREAM, 0, fds) == 0);
    for (size_t i = 0; i < BIG; i++) {
        bytes[i] = (char)(i * 13);
        expected += (unsigned char)bytes[i];
    }
    CHECK(pthread_create(&thread, NULL, read_slowly, &fds[1]) == 0);
    out = fdopen(fds[0], "w");
    CHECK(out && fwrite(bytes, 1, BIG, out) == BIG && fclose(out) == 0);
    CHECK(pthread_join(thread, NULL) == 0);
    CHECK((uint32_t)fds[1] == expected);
    free(bytes);
}

/* A socket that asks not to wait is not waited for. */
static void check_nonblocking(void)
{
    int fds[2];
    FILE *in;
    int64_t begun = emu_now();

    CHECK(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, fds) == 0);
    in = fdopen(fds[0], "r");
    CHECK(in && getc(in) == EOF && ferror(in) && errno == EAGAIN);
    CHECK(emu_now() - begun < 100 * US);
    CHECK(fclose(in) == 0 && close(fds[1]) == 0);
}

int main(void)
{
    check_talk();
    check_much();
    check_nonblocking();
    return 0;
}
