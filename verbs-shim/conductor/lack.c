/* SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE

#include "verbs-shim/conductor/lack.h"

#include <errno.h>
#include <stdio.h>
#include <sys/resource.h>

#include <glib.h>

/* Every run of the largest kind fits: three files for each client, two descriptors for its line,
 * five for each rank. */
#define DESCRIPTORS_ENOUGH 1024

/* The words for a limit of ours, empty if there is none. */
static void put_limit(char *ret, size_t size, const char *option, enum __rlimit_resource resource,
                      rlim_t unit)
{
    struct rlimit limit;

    ret[0] = '\0';
    if (getrlimit(resource, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY)
        (void)snprintf(ret, size, " (ulimit %s is %llu)", option,
                       (unsigned long long)(limit.rlim_cur / unit));
}

static void put_advice(char *ret, size_t size, int error)
{
    char limit[64];

    ret[0] = '\0';
    switch (error) {
    case EMFILE:
        put_limit(limit, sizeof limit, "-n", RLIMIT_NOFILE, 1);
        (void)snprintf(ret, size, "%s; ulimit -n %d is enough for every run", limit,
                       DESCRIPTORS_ENOUGH);
        break;
    case EAGAIN:
        put_limit(limit, sizeof limit, "-u", RLIMIT_NPROC, 1);
        (void)snprintf(ret, size, "%s; allow more processes, or use fewer ranks", limit);
        break;
    case ENOMEM:
        put_limit(limit, sizeof limit, "-v", RLIMIT_AS, 1024);
        (void)snprintf(ret, size, "%s; allow more memory, or use fewer ranks", limit);
        break;
    default:
        break;
    }
}

bool lack_report(const char *what, struct err *reterr)
{
    int error = errno;
    char advice[128];

    put_advice(advice, sizeof advice, error);
    return err_set(reterr, ERR_MEMORY, (struct src_pos){0}, "%s: %s%s", what, g_strerror(error),
                   advice);
}

bool lack_report_path(const char *path, struct err *reterr)
{
    int error = errno;
    char what[208];

    (void)snprintf(what, sizeof what, "%.200s", path);
    if (error != EROFS && error != EACCES && error != ENOSPC && error != EDQUOT && error != ENOENT)
        return lack_report(what, reterr);
    return err_set(reterr, ERR_MEMORY, (struct src_pos){0},
                   "%s: %s; TMPDIR names a folder that can be written to", what, g_strerror(error));
}
