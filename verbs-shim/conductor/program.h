/* SPDX-License-Identifier: Apache-2.0 */
/* Can this program be preloaded into? Asked before anything starts. */
#ifndef VERBS_SHIM_CONDUCTOR_PROGRAM_H
#define VERBS_SHIM_CONDUCTOR_PROGRAM_H

#include <stdbool.h>

#include "sim/base/arena.h"
#include "sim/base/err.h"

/*
 * Finds a command as execvp would and looks whether the loader will put the shim into it: a
 * dynamic ELF file for this processor, or a script whose interpreter is one.
 *
 * Returns: true and *ret, the path in the arena; false and *reterr with the reason.
 */
bool program_find(const char *command, struct arena *arena, const char **ret, struct err *reterr);

#endif
