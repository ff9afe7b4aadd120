/* SPDX-License-Identifier: Apache-2.0 */
/* Starts a rank's program in surroundings of its own. */
#ifndef VERBS_SHIM_CONDUCTOR_LAUNCH_H
#define VERBS_SHIM_CONDUCTOR_LAUNCH_H

#include <stdbool.h>
#include <sys/types.h>

#include "sim/base/arena.h"
#include "sim/base/err.h"

struct rlimit;

struct launch {
    const char *path; /* as program_find says */
    char *const *argv;
    char *const *envp;
    int out_fd, err_fd; /* become the program's stdout and stderr */
    bool keeps_aslr;
    const struct rlimit *descriptors; /* its limit; NULL: as ours */
};

/* Starts it. Returns true and its pid and pidfd; false and *reterr when it could not be. */
bool launch_start(const struct launch *launch, pid_t *ret_pid, int *ret_pidfd, struct err *reterr);

/* One "NAME=value" of an environment. */
struct launch_variable {
    const char *name;
    const char *value;
};

/* This process's environment with these variables set; in the arena, ends with NULL. */
char **launch_environment(const struct launch_variable *variables, size_t count,
                          struct arena *arena);

/* `first`, and `separator` and the variable's present value behind it, if there is one. */
const char *launch_prepend(const char *name, const char *first, const char *separator,
                           struct arena *arena);

#endif
