/* SPDX-License-Identifier: Apache-2.0 */
/* Files that ranks find in the place of the machine's own. */
#ifndef VERBS_SHIM_CONDUCTOR_TREE_H
#define VERBS_SHIM_CONDUCTOR_TREE_H

#include <stdbool.h>

#include "sim/base/err.h"

/* Makes those of every Mac under `root`. Which paths lead there is for the shim to say
 * (shim/libc/path.c). */
bool tree_make(const char *root, struct err *reterr);

/* Writes one file and the folders above it; `path` as the ranks name it. */
bool tree_add_file(const char *root, const char *path, const char *text, struct err *reterr);

#endif
