/* SPDX-License-Identifier: Apache-2.0 */
/*
 * DOC: The tree of files
 *
 * rdtsc ticks at 1 GHz in a run (shim/tsc), so what tells programs how fast it ticks has to say
 * so, too: perftest compares /proc/cpuinfo with its own measurement and believes neither when they
 * differ by 2 %.
 */
#define _GNU_SOURCE

#include "verbs-shim/conductor/tree.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "sim/base/arena.h"
#include "sim/base/text.h"
#include "verbs-shim/conductor/lack.h"

static bool make_folders(char *path)
{
    for (char *slash = strchr(path + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
        *slash = '\0';
        if (mkdir(path, 0700) != 0 && errno != EEXIST)
            return false;
        *slash = '/';
    }
    return true;
}

/* Where `path` lies, with the folders above it. False: errno. */
static bool prepare(const char *root, const char *path, char where[PATH_MAX])
{
    int length = snprintf(where, PATH_MAX, "%s%s", root, path);

    if (length >= PATH_MAX)
        errno = ENAMETOOLONG;
    return length > 0 && length < PATH_MAX && make_folders(where);
}

bool tree_add_link(const char *root, const char *path, const char *target, struct err *reterr)
{
    char where[PATH_MAX];

    return (prepare(root, path, where) && symlink(target, where) == 0) ||
           lack_report_path(where, reterr);
}

bool tree_add_file(const char *root, const char *path, const char *text, struct err *reterr)
{
    char where[PATH_MAX];
    FILE *file = prepare(root, path, where) ? fopen(where, "we") : NULL;
    bool ok = file && fputs(text, file) >= 0;

    if (file)
        ok &= fclose(file) == 0;
    return ok || lack_report_path(where, reterr);
}

/* The line of /proc/cpuinfo, as it would be if the processor ran at 1 GHz. */
static void put_line(struct text *text, const char *line)
{
    const char *at = strstr(line, " @ ");

    if (strncmp(line, "cpu MHz", strlen("cpu MHz")) == 0)
        text_add(text, "cpu MHz\t\t: 1000.000\n");
    else if (strncmp(line, "model name", strlen("model name")) == 0 && at && strstr(at, "Hz"))
        text_add(text, "%.*s @ 1.00GHz\n", (int)(at - line), line);
    else
        text_add(text, "%s", line);
}

const char *tree_cpuinfo(struct arena *arena)
{
    FILE *file = fopen("/proc/cpuinfo", "re");
    char *line = NULL;
    size_t room = 0;
    struct text text;

    if (!file)
        return NULL;
    text_init(&text, arena);
    while (getline(&line, &room, file) > 0)
        put_line(&text, line);
    free(line);
    (void)fclose(file);
    return text.bytes;
}

bool tree_make(const char *root, const char *cpuinfo, struct err *reterr)
{
    return (!cpuinfo || tree_add_file(root, "/proc/cpuinfo", cpuinfo, reterr)) &&
           tree_add_file(root, "/sys/devices/system/cpu/cpu0/tsc_freq_khz", "1000000\n", reterr);
}
