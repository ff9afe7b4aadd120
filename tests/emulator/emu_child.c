/* SPDX-License-Identifier: Apache-2.0 */
/* Other processes: a child has the machine's clock and its parent's processors, a parent waits for
 * it without time passing, and nothing of either disturbs the other. */
#include <errno.h>
#include <fcntl.h>
#include <linux/sched.h>
#include <sched.h>
#include <signal.h>
#include <spawn.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/emulator/emu.h"

/* Exit code of a child. */
static int end_of(pid_t child)
{
    int status = -1;

    CHECK(child > 0 && waitpid(child, &status, 0) == child);
    CHECK(WIFEXITED(status));
    return WEXITSTATUS(status);
}

/* Is the clock the machine's? Then work takes time. */
static int has_real_clock(void)
{
    int64_t begun = emu_now();

    for (volatile int i = 0; i < 20000000; i++)
        continue;
    return emu_now() - begun > MS;
}

/* On a copy of the parent's memory. */
static int run_clone(void *arg)
{
    _exit(has_real_clock() ? *(int *)arg : 1);
}

/* By number, past the C library's fork. */
static void check_raw_fork(void)
{
    static char stack[65536] __attribute__((aligned(16)));
    struct clone_args args = {.exit_signal = SIGCHLD};
    int64_t begun = emu_now();
    int wanted = 46;
    long child;

#ifdef SYS_fork
    child = syscall(SYS_fork);
    if (child == 0)
        _exit(has_real_clock() ? 43 : 1);
    CHECK(end_of((pid_t)child) == 43);
    child = syscall(SYS_vfork);
    if (child == 0)
        _exit(has_real_clock() ? 44 : 1);
    CHECK(end_of((pid_t)child) == 44);
#endif
    child = syscall(SYS_clone, (long)SIGCHLD, NULL, NULL, NULL, 0L);
    if (child == 0)
        _exit(has_real_clock() ? 45 : 1);
    CHECK(end_of((pid_t)child) == 45);
    CHECK(end_of(clone(run_clone, stack + sizeof(stack), SIGCHLD, &wanted)) == 46);
    child = syscall(SYS_clone3, &args, sizeof(args));
    if (child == 0)
        _exit(has_real_clock() ? 47 : 1);
    CHECK(end_of((pid_t)child) == 47);
    CHECK(emu_now() - begun < MS);
}

static void check_fork(void)
{
    int64_t begun = emu_now();
    pid_t child = fork();

    if (child == 0)
        _exit(has_real_clock() ? 41 : 1);
    CHECK(end_of(child) == 41);
    child = _Fork();
    if (child == 0)
        _exit(has_real_clock() ? 42 : 1);
    CHECK(end_of(child) == 42);
    CHECK(emu_now() - begun < MS);
}

static void check_exec(void)
{
    char sh[] = "/bin/sh";
    char c[] = "-c";
    char command[] = "sleep 0.05; exit 9";
    char *argv[] = {sh, c, command, NULL};
    int64_t begun = emu_now();
    pid_t child = vfork();

    if (child == 0) {
        (void)execv(sh, argv);
        _exit(1);
    }
    CHECK(end_of(child) == 9);
    CHECK(posix_spawn(&child, sh, NULL, NULL, argv, environ) == 0);
    CHECK(end_of(child) == 9);
    CHECK(posix_spawnp(&child, "sh", NULL, NULL, argv, environ) == 0);
    CHECK(end_of(child) == 9);
    child = fork();
    if (child == 0) {
        (void)execl(sh, "sh", "-c", command, NULL);
        _exit(1);
    }
    CHECK(end_of(child) == 9);
    CHECK(WEXITSTATUS(system(command)) == 9);
    CHECK(emu_now() - begun < MS);
}

static void check_popen(void)
{
    int64_t begun = emu_now();
    char text[64] = "";
    FILE *child = popen("sleep 0.05; echo a b; echo c; exit 5", "r");

    CHECK(child && fileno(child) > 2);
    CHECK(fgets(text, sizeof(text), child) && strcmp(text, "a b\n") == 0);
    CHECK(fscanf(child, "%60s", text) == 1 && strcmp(text, "c") == 0);
    CHECK(WEXITSTATUS(pclose(child)) == 5);
    child = popen("read a; [ \"$a\" = hello ] && exit 6", "we");
    CHECK(child && fputs("hello\n", child) >= 0);
    CHECK(WEXITSTATUS(pclose(child)) == 6);
    CHECK(!popen("true", "x"));
    CHECK(emu_now() - begun < MS);
}

/* A stream on a pipe whose other end is a thread's, which needs the turn to write. */
static void check_stream(void)
{
    int fds[2];
    char text[16] = "";
    FILE *in;
    FILE *out;

    CHECK(pipe(fds) == 0);
    in = fdopen(fds[0], "r");
    out = fdopen(fds[1], "w");
    CHECK(in && out && fileno(in) == fds[0]);
    CHECK(fputs("line\n", out) >= 0 && fflush(out) == 0);
    CHECK(fgets(text, sizeof(text), in) && strcmp(text, "line\n") == 0);
    CHECK(fclose(out) == 0);
    CHECK(!fgets(text, sizeof(text), in) && feof(in) && fclose(in) == 0);
    CHECK(close(fds[0]) == -1 && errno == EBADF);
}

/* The turns of a run are on one processor; nobody shall see it. */
static void check_processors(void)
{
    cpu_set_t set;
    char command[80];

    CHECK(sched_getaffinity(0, sizeof(set), &set) == 0);
    CHECK(snprintf(command, sizeof(command), "[ \"$(nproc)\" = %d ]", CPU_COUNT(&set)) > 0);
    CHECK(system(command) == 0);
    CHECK(sysconf(_SC_NPROCESSORS_ONLN) >= CPU_COUNT(&set));
}

static void check_locks(void)
{
    char name[] = "/tmp/emu_child_XXXXXX";
    int fd = mkstemp(name);
    int ready[2];
    int go[2];
    char byte = 0;
    pid_t child;

    CHECK(fd >= 0 && pipe(ready) == 0 && pipe(go) == 0);
    child = fork();
    if (child == 0) {
        if (lockf(fd, F_LOCK, 0) != 0 || write(ready[1], "x", 1) != 1 || read(go[0], &byte, 1) != 1)
            _exit(1);
        (void)usleep(20000);
        _exit(0); /* lets the lock go */
    }
    CHECK(read(ready[0], &byte, 1) == 1);
    CHECK(lockf(fd, F_TLOCK, 0) == -1 && (errno == EAGAIN || errno == EACCES));
    CHECK(write(go[1], "x", 1) == 1);
    CHECK(lockf(fd, F_LOCK, 0) == 0 && lockf(fd, F_ULOCK, 0) == 0);
    CHECK(end_of(child) == 0);
    CHECK(unlink(name) == 0 && close(fd) == 0);
}

/* A program that closes all that it does not know goes on. */
static void check_closing(void)
{
    int64_t begun = emu_now();

    for (int fd = 3; fd < 1024; fd++)
        (void)close(fd);
    closefrom(3);
    CHECK(close_range(3, ~0U, 0) == 0);
    for (int fd = 3; fd < 1024; fd++)
        (void)syscall(SYS_close, fd);
    CHECK(syscall(SYS_close_range, 3U, ~0U, 0) == 0);
    CHECK(syscall(SYS_dup3, 2, 500, 0) == 500 && syscall(SYS_close, 500) == 0);
    for (int fd = 490; fd < 520; fd++)
        CHECK(dup2(2, fd) == fd);
    CHECK(usleep(1000) == 0);
    CHECK_SPAN(emu_now() - begun, MS);
}

int main(void)
{
    check_fork();
    check_raw_fork();
    check_exec();
    check_popen();
    check_stream();
    check_processors();
    check_locks();
    check_closing();
    return 0;
}
