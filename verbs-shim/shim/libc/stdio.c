/* SPDX-License-Identifier: Apache-2.0 */
/*
 * DOC: Streams over descriptors that wait
 *
 * A FILE reads and writes inside the C library, with the turn in its hand. A stream that an actor
 * opens on a socket or a pipe therefore gets our calls as its own (fopencookie), and so wait as
 * they do; its descriptor's number stays what fileno says. Streams on files never wait, and those
 * opened before the process joined are as they were.
 *
 * popen and pclose are made of the same: the child may be a client of this very run.
 */
#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "verbs-shim/shim/actor.h"
#include "verbs-shim/shim/libc/fd.h"
#include "verbs-shim/shim/libc/real.h"

#define CHILDREN_MAX 32

/* The cookie is the descriptor. */
static int fd_of(void *cookie)
{
    return (int)(intptr_t)cookie;
}

static ssize_t stream_read(void *cookie, char *buf, size_t size)
{
    return read(fd_of(cookie), buf, size);
}

static ssize_t stream_write(void *cookie, const char *buf, size_t size)
{
    size_t done = 0;

    while (done < size) {
        ssize_t put = write(fd_of(cookie), buf + done, size - done);

        if (put <= 0)
            break;
        done += (size_t)put;
    }
    return (ssize_t)done;
}

/* The C library looks at the error: with this one it flushes a stream that has unread bytes. */
// NOLINTNEXTLINE(readability-non-const-parameter): cookie_seek_function_t
static int stream_seek(void *cookie, off64_t *at, int whence)
{
    (void)cookie;
    (void)at;
    (void)whence;
    errno = ESPIPE;
    return -1;
}

static int stream_close(void *cookie)
{
    return close(fd_of(cookie));
}

SHIM_EXPORT FILE *fdopen(int fd, const char *mode)
{
    const cookie_io_functions_t calls = {
        .read = stream_read, .write = stream_write, .seek = stream_seek, .close = stream_close};
    FILE *file;

    if (!actor_self() || fd_kind_of(fd) == FD_FILE || fd <= STDERR_FILENO)
        return REAL(fdopen)(fd, mode);
    // NOLINTNEXTLINE(performance-no-int-to-ptr): the cookie is a number
    file = fopencookie((void *)(intptr_t)fd, mode, calls);
    if (file)
        file->_fileno = fd; /* the C library's field, which fileno reads */
    return file;
}

static struct {
    FILE *file; /* borrowed; NULL: free */
    pid_t pid;
} children[CHILDREN_MAX];

/* The child's end of the pipe becomes its input or output, and the other streams of popen are not
 * for it. errno. */
static int start_shell(const char *command, int end, int target, pid_t *ret)
{
    char name[] = "sh";
    char option[] = "-c";
    char *argv[] = {name, option, strdup(command), NULL};
    posix_spawn_file_actions_t actions;
    int error;

    if (!argv[2] || posix_spawn_file_actions_init(&actions) != 0) {
        free(argv[2]);
        return ENOMEM;
    }
    error = posix_spawn_file_actions_adddup2(&actions, end, target);
    for (size_t i = 0; i < CHILDREN_MAX && !error; i++) {
        if (children[i].file)
            error = posix_spawn_file_actions_addclose(&actions, fileno(children[i].file));
    }
    if (!error)
        error = posix_spawn(ret, "/bin/sh", &actions, NULL, argv, environ);
    (void)posix_spawn_file_actions_destroy(&actions);
    free(argv[2]);
    return error;
}

/* NULL and errno. */
static FILE *open_child(const char *command, bool is_read, bool is_cloexec, size_t place)
{
    int fds[2];
    int own;
    int error;

    if (pipe2(fds, O_CLOEXEC) != 0)
        return NULL;
    own = is_read ? fds[0] : fds[1];
    error = start_shell(command, is_read ? fds[1] : fds[0], is_read ? 1 : 0, &children[place].pid);
    (void)close(is_read ? fds[1] : fds[0]);
    if (!is_cloexec)
        (void)fcntl(own, F_SETFD, 0);
    if (!error) {
        children[place].file = fdopen(own, is_read ? "r" : "w");
        if (children[place].file)
            return children[place].file;
        error = errno;
    }
    (void)close(own);
    errno = error;
    return NULL;
}

SHIM_EXPORT FILE *popen(const char *command, const char *mode)
{
    bool is_read = strchr(mode, 'r') != NULL;
    size_t place = 0;

    while (place < CHILDREN_MAX && children[place].file)
        place++;
    if (!actor_self() || place == CHILDREN_MAX || is_read == (strchr(mode, 'w') != NULL))
        return REAL(popen)(command, mode);
    return open_child(command, is_read, strchr(mode, 'e') != NULL, place);
}

SHIM_EXPORT int pclose(FILE *file)
{
    int status = -1;
    pid_t got;

    for (size_t i = 0; i < CHILDREN_MAX; i++) {
        if (children[i].file != file || !file)
            continue;
        children[i].file = NULL;
        (void)fclose(file);
        do
            got = waitpid(children[i].pid, &status, 0);
        while (got == -1 && errno == EINTR);
        return got == -1 ? -1 : status;
    }
    return REAL(pclose)(file);
}
