/* SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE

#include "verbs-shim/conductor/output.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <glib.h>

#include "verbs-shim/conductor/lack.h"

#define READS_MAX 1024 /* at the end: what is in the pipe, and no more for ever */

bool output_open_pipe(struct output *ret, const char *prefix, int target, struct err *reterr)
{
    int fds[2];

    if (pipe2(fds, O_CLOEXEC) != 0)
        return lack_report("a pipe for a program's output", reterr);
    (void)fcntl(fds[0], F_SETFL, O_NONBLOCK);
    ret->read_fd = fds[0];
    ret->write_fd = fds[1];
    ret->target = target;
    ret->prefix = prefix;
    ret->length = 0;
    return true;
}

bool output_open_file(struct output *ret, const char *path, struct err *reterr)
{
    ret->read_fd = -1;
    ret->target = -1;
    ret->write_fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_APPEND, 0666);
    if (ret->write_fd < 0)
        return err_set(reterr, ERR_REFERENCE, (struct src_pos){0}, "%.200s: %s", path,
                       g_strerror(errno));
    return true;
}

void output_started(struct output *output)
{
    if (output->write_fd >= 0)
        (void)close(output->write_fd);
    output->write_fd = -1;
}

/* Waits until the target takes a piece. False: it is full, and the run is to stop. */
static bool wait_target(const struct output *output)
{
    struct pollfd fds[] = {{.fd = output->target, .events = POLLOUT},
                           {.fd = output->stop_fd, .events = POLLIN}};

    for (;;) {
        if (poll(fds, 2, -1) < 0 && errno != EINTR)
            return true; /* write() will tell */
        if (fds[0].revents)
            return true;
        if (fds[1].revents)
            return false;
    }
}

/* A pipe that says it is ready takes so much without waiting. Whoever prints the result notices a
 * target that is broken as well, but may have little to print. */
static void write_all(struct output *output, const char *bytes, size_t length)
{
    while (length > 0 && output->error == 0 && wait_target(output)) {
        ssize_t put = write(output->target, bytes, length < PIPE_BUF ? length : PIPE_BUF);

        if (put > 0) {
            bytes += put;
            length -= (size_t)put;
        } else if (put < 0 && errno != EINTR && errno != EAGAIN) {
            output->error = errno;
        }
    }
}

/* One line in one write, so that lines of several ranks never mix. */
static void put_line(struct output *output)
{
    char text[OUTPUT_LINE_MAX + 128];
    int head;

    if (output->target >= 0) {
        head = snprintf(text, 127, "[%.100s] ", output->prefix);
        memcpy(text + head, output->line, output->length);
        text[(size_t)head + output->length] = '\n';
        write_all(output, text, (size_t)head + output->length + 1);
    }
    output->length = 0;
}

static void take(struct output *output, const char *bytes, size_t length)
{
    for (size_t i = 0; i < length; i++) {
        if (bytes[i] == '\n') {
            put_line(output);
            continue;
        }
        output->line[output->length++] = bytes[i];
        if (output->length == OUTPUT_LINE_MAX)
            put_line(output);
    }
}

static void hang_up(struct output *output)
{
    if (output->length > 0)
        put_line(output);
    (void)close(output->read_fd);
    output->read_fd = -1;
}

void output_read(struct output *output)
{
    char bytes[16384];
    ssize_t got = read(output->read_fd, bytes, sizeof bytes);

    if (got > 0)
        take(output, bytes, (size_t)got);
    else if (got == 0 || (errno != EAGAIN && errno != EINTR))
        hang_up(output);
}

void output_close(struct output *output)
{
    output_started(output);
    for (int i = 0; output->read_fd >= 0 && i < READS_MAX; i++) {
        struct pollfd ready = {.fd = output->read_fd, .events = POLLIN};

        if (poll(&ready, 1, 0) <= 0)
            break;
        output_read(output);
    }
    if (output->read_fd >= 0)
        hang_up(output);
}
