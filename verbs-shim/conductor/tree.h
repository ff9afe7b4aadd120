/* SPDX-License-Identifier: Apache-2.0 */
/* Files that ranks find in the place of the machine's own. */
#ifndef VERBS_SHIM_CONDUCTOR_TREE_H
#define VERBS_SHIM_CONDUCTOR_TREE_H

#include <stdbool.h>

#include "sim/base/arena.h"
#include "sim/base/err.h"

/* This machine's /proc/cpuinfo at 1 GHz; NULL without /proc: then a program finds no frequency,
 * which is no error of ours. */
const char *tree_cpuinfo(struct arena *arena);
/* Makes those of every Mac under `root`; `cpuinfo` may be NULL. Which paths lead there is for the
 * shim to say (shim/libc/path.c). */
bool tree_make(const char *root, const char *cpuinfo, struct err *reterr);

/* Makes one file or link and the folders above it; `path` as the ranks name it. */
bool tree_add_file(const char *root, const char *path, const char *text, struct err *reterr);
bool tree_add_link(const char *root, const char *path, const char *target, struct err *reterr);

#endif
