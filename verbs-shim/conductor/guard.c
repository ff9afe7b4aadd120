/* SPDX-License-Identifier: Apache-2.0 */
/*
 * DOC: The guard
 *
 * The ranks' own children do not die with us (only direct children can ask for that), and SIGKILL
 * leaves us no time. So a second process waits at a pipe that only we hold open. When it closes
 * without a goodbye, the guard cleans up: it finds the run's processes by the unique mark in their
 * environment, whatever session or parent they have by then.
 */
#define _GNU_SOURCE

#include "verbs-shim/conductor/guard.h"

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <signal.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "verbs-shim/conductor/lack.h"
#include "verbs-shim/conductor/proc.h"

#define DEPTH 16

static int remove_one(const char *path, const struct stat *st, int kind, struct FTW *place)
{
    (void)st;
    (void)kind;
    (void)place;
    (void)remove(path);
    return 0;
}

void guard_remove_folder(const char *folder)
{
    // NOLINTNEXTLINE(concurrency-mt-unsafe): there is one thread here
    (void)nftw(folder, remove_one, DEPTH, FTW_DEPTH | FTW_PHYS | FTW_MOUNT);
}

static _Noreturn void watch(int fd, const char *mark, const char *folder)
{
    char byte;
    ssize_t got;

    (void)setsid();
    for (int number = 1; number < NSIG; number++)
        (void)signal(number, SIG_IGN);
    (void)prctl(PR_SET_NAME, "tbmesh-guard");
    if (fd != STDIN_FILENO)
        (void)dup2(fd, STDIN_FILENO);
    (void)close_range(1, ~0U, 0);
    do
        got = read(STDIN_FILENO, &byte, 1);
    while (got < 0 && errno == EINTR);
    if (got != 1) {
        proc_kill_marked(mark, 0, 0);
        guard_remove_folder(folder);
    }
    _exit(0);
}

bool guard_start(struct guard *ret, const char *mark, const char *folder, struct err *reterr)
{
    int fds[2];

    *ret = (struct guard){.pid = -1, .fd = -1};
    if (pipe2(fds, O_CLOEXEC) != 0)
        return lack_report("a pipe to the guard", reterr);
    ret->pid = fork();
    if (ret->pid == 0) {
        (void)close(fds[1]);
        watch(fds[0], mark, folder);
    }
    if (ret->pid < 0) {
        (void)lack_report("starting the guard", reterr);
        (void)close(fds[0]);
        (void)close(fds[1]);
        return false;
    }
    (void)close(fds[0]);
    ret->fd = fds[1];
    return true;
}

void guard_dismiss(struct guard *guard)
{
    if (guard->fd >= 0) {
        /* If it is gone already there is nobody to dismiss. */
        if (write(guard->fd, "x", 1) == 1)
            (void)waitpid(guard->pid, NULL, 0);
        (void)close(guard->fd);
    }
    *guard = (struct guard){.pid = -1, .fd = -1};
}
