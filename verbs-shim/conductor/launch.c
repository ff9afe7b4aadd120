/* SPDX-License-Identifier: Apache-2.0 */
/*
 * DOC: A rank's program
 *
 * Each runs in a session of its own, so that Ctrl-C reaches only us; dies with us; reads nothing
 * from the terminal; and has its memory always at the same addresses, since programs make hashes
 * and identifiers of them. What fails in the child before the program runs comes back through a
 * pipe that the program's start closes.
 */
#define _GNU_SOURCE

#include "verbs-shim/conductor/launch.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stddef.h>
#include <string.h>
#include <sys/personality.h>
#include <sys/pidfd.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <glib.h>

#include "verbs-shim/conductor/lack.h"

static void reset_signals(void)
{
    sigset_t none;

    for (int number = 1; number < NSIG; number++) {
        struct sigaction action;

        /* SIGINT and the like that whoever started us ignores stay ignored. */
        if (sigaction(number, NULL, &action) == 0 &&
            (action.sa_handler != SIG_IGN || number == SIGPIPE || number == SIGXFSZ))
            (void)signal(number, SIG_DFL);
    }
    (void)sigemptyset(&none);
    (void)pthread_sigmask(SIG_SETMASK, &none, NULL);
}

/* In the child. Returns only when the program could not be started; errno says why. */
static void become(const struct launch *launch, pid_t parent)
{
    int null = open("/dev/null", O_RDONLY);

    (void)setsid();
    (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent)
        _exit(1);
    if (null < 0 || dup2(null, STDIN_FILENO) < 0 || dup2(launch->out_fd, STDOUT_FILENO) < 0 ||
        dup2(launch->err_fd, STDERR_FILENO) < 0)
        return;
    if (null > STDERR_FILENO)
        (void)close(null);
    if (!launch->keeps_aslr) {
        int before = personality(0xffffffff);

        if (before >= 0)
            (void)personality((unsigned long)before | ADDR_NO_RANDOMIZE);
    }
    reset_signals();
    if (launch->descriptors)
        (void)setrlimit(RLIMIT_NOFILE, launch->descriptors);
    (void)execve(launch->path, launch->argv, launch->envp);
}

/* What the child could not do: its errno, or 0. */
static int read_failure(int fd)
{
    int status = 0;
    ssize_t got;

    do
        got = read(fd, &status, sizeof status);
    while (got < 0 && errno == EINTR);
    return got == (ssize_t)sizeof status ? status : 0;
}

bool launch_start(const struct launch *launch, pid_t *ret_pid, int *ret_pidfd, struct err *reterr)
{
    pid_t parent = getpid();
    int fds[2];
    int status;

    if (pipe2(fds, O_CLOEXEC) != 0)
        return lack_report("a pipe to a rank", reterr);
    *ret_pid = fork();
    if (*ret_pid == 0) {
        become(launch, parent);
        status = errno;
        if (write(fds[1], &status, sizeof status) < 0)
            _exit(126);
        _exit(127);
    }
    if (*ret_pid < 0) {
        (void)lack_report("starting a rank", reterr);
        (void)close(fds[0]);
        (void)close(fds[1]);
        return false;
    }
    (void)close(fds[1]);
    status = read_failure(fds[0]);
    (void)close(fds[0]);
    *ret_pidfd = status == 0 ? pidfd_open(*ret_pid, 0) : -1;
    if (*ret_pidfd >= 0)
        return true;
    if (status == 0)
        (void)lack_report("watching a rank", reterr);
    (void)kill(*ret_pid, SIGKILL);
    (void)waitpid(*ret_pid, NULL, 0);
    if (status == 0)
        return false;
    errno = status;
    if (status == EMFILE || status == ENFILE || status == ENOMEM || status == EAGAIN)
        return lack_report("starting a rank", reterr);
    return err_set(reterr, ERR_REFERENCE, (struct src_pos){0}, "%.200s: %s", launch->path,
                   g_strerror(status));
}

static bool is_set(const char *entry, const struct launch_variable *variables, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        size_t length = strlen(variables[i].name);

        if (strncmp(entry, variables[i].name, length) == 0 && entry[length] == '=')
            return true;
    }
    return false;
}

char **launch_environment(const struct launch_variable *variables, size_t count,
                          struct arena *arena)
{
    size_t present = 0;
    size_t used = 0;
    char **list;

    while (environ && environ[present])
        present++;
    list = arena_alloc_array(arena, present + count + 1, sizeof *list);
    for (size_t i = 0; i < present; i++) {
        if (!is_set(environ[i], variables, count))
            list[used++] = environ[i];
    }
    for (size_t i = 0; i < count; i++) {
        if (variables[i].value)
            list[used++] = arena_format(arena, "%s=%s", variables[i].name, variables[i].value);
    }
    return list;
}

const char *launch_prepend(const char *name, const char *first, const char *separator,
                           struct arena *arena)
{
    const char *present = NULL;
    size_t length = strlen(name);

    for (size_t i = 0; environ && environ[i]; i++) {
        if (strncmp(environ[i], name, length) == 0 && environ[i][length] == '=')
            present = environ[i] + length + 1;
    }
    if (!present || !*present)
        return first;
    return arena_format(arena, "%s%s%s", first, separator, present);
}
