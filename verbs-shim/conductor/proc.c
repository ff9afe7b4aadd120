/* SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE

#include "verbs-shim/conductor/proc.h"

#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define PATH_MAX_HERE 64
#define STAT_BYTES    1024
#define ENVIRON_BYTES (1U << 20)
#define KILL_ROUNDS   200
#define KILL_ROUND_NS 5000000L
#define FLAG_EXITING  UINT64_C(4) /* PF_EXITING, include/linux/sched.h; proc(5): flags */

/* Reads at most size - 1 bytes; returns how many, 0 when the file cannot be read. */
static size_t read_file(const char *path, char *bytes, size_t size)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    size_t length = 0;
    ssize_t got;

    if (fd < 0)
        return 0;
    while (length + 1 < size && (got = read(fd, bytes + length, size - 1 - length)) > 0)
        length += (size_t)got;
    (void)close(fd);
    bytes[length] = '\0';
    return length;
}

struct stat_line {
    char state;
    pid_t parent;
    uint64_t flags; /* PF_... of the kernel */
    uint64_t ticks;
};

/* Where the last of these fields ends; NULL: the line is too short. */
static const char *skip_fields(const char *at, int first, int last)
{
    for (int field = first; at && field <= last; field++)
        at = strchr(at + 1, ' ');
    return at;
}

/* The program's name in the second field may hold anything, also brackets and spaces. */
static bool read_stat(pid_t pid, struct stat_line *ret)
{
    char path[PATH_MAX_HERE];
    char text[STAT_BYTES];
    const char *at;
    char *end;

    (void)snprintf(path, sizeof path, "/proc/%ld/stat", (long)pid);
    if (read_file(path, text, sizeof text) == 0 || !(at = strrchr(text, ')')) || at[1] != ' ')
        return false;
    *ret = (struct stat_line){.state = at[2]};
    ret->parent = (pid_t)strtol(at + 3, &end, 10);
    at = skip_fields(end, 5, 8);
    if (!at)
        return false;
    ret->flags = strtoull(at, &end, 10);
    at = skip_fields(end, 10, 13);
    if (!at)
        return false;
    ret->ticks = strtoull(at, &end, 10);
    ret->ticks += strtoull(end, NULL, 10);
    return true;
}

static bool is_dead(const struct stat_line *line)
{
    return line->state == 'Z' || line->state == 'X';
}

bool proc_is_alive(pid_t pid)
{
    struct stat_line line;

    return read_stat(pid, &line) && !is_dead(&line);
}

bool proc_is_ending(pid_t pid)
{
    struct stat_line line;

    return !read_stat(pid, &line) || is_dead(&line) || (line.flags & FLAG_EXITING) != 0;
}

char proc_look(pid_t pid, uint64_t *ret_ticks)
{
    struct stat_line line = {0};

    *ret_ticks = 0;
    if (!read_stat(pid, &line))
        return 0;
    *ret_ticks = line.ticks;
    return line.state;
}

static bool has_mark(pid_t pid, const char *mark, char *bytes)
{
    char path[PATH_MAX_HERE];
    size_t length;
    size_t size = strlen(mark) + 1;

    (void)snprintf(path, sizeof path, "/proc/%ld/environ", (long)pid);
    length = read_file(path, bytes, ENVIRON_BYTES);
    for (size_t at = 0; at + size <= length + 1; at += strlen(bytes + at) + 1)
        if (memcmp(bytes + at, mark, size) == 0)
            return true;
    return false;
}

/* Goes over all processes once and sends `number` (0: nothing) to those that are meant. Returns how
 * many of them may still run. */
static size_t pass_over(const char *mark, pid_t parent, pid_t spared, int number, char *bytes)
{
    DIR *folder = opendir("/proc");
    const struct dirent *entry;
    size_t count = 0;

    // NOLINTNEXTLINE(concurrency-mt-unsafe): nobody else reads this folder
    while (folder && (entry = readdir(folder))) {
        pid_t pid = (pid_t)strtol(entry->d_name, NULL, 10);
        struct stat_line line;
        bool is_own;

        if (pid <= 1 || pid == getpid() || pid == spared || !read_stat(pid, &line))
            continue;
        is_own = parent > 0 && line.parent == parent;
        if (line.state == 'Z' && is_own && number)
            (void)waitpid(pid, NULL, WNOHANG);
        if (is_dead(&line) || (!is_own && !has_mark(pid, mark, bytes)))
            continue;
        count++;
        if (number)
            (void)kill(pid, number);
    }
    if (folder)
        (void)closedir(folder);
    return count;
}

void proc_kill_marked(const char *mark, pid_t parent, pid_t spared)
{
    const struct timespec pause = {.tv_nsec = KILL_ROUND_NS};
    char *bytes = malloc(ENVIRON_BYTES);

    for (int round = 0; bytes && round < KILL_ROUNDS; round++) {
        if (pass_over(mark, parent, spared, SIGKILL, bytes) == 0)
            break;
        (void)nanosleep(&pause, NULL);
    }
    free(bytes);
}

size_t proc_count_marked(const char *mark, pid_t spared)
{
    char *bytes = malloc(ENVIRON_BYTES);
    size_t count = bytes ? pass_over(mark, 0, spared, 0, bytes) : SIZE_MAX;

    free(bytes);
    return count;
}
