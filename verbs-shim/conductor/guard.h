/* SPDX-License-Identifier: Apache-2.0 */
/* Nothing of a run survives it, even if the conductor is killed. */
#ifndef VERBS_SHIM_CONDUCTOR_GUARD_H
#define VERBS_SHIM_CONDUCTOR_GUARD_H

#include <stdbool.h>
#include <sys/types.h>

#include "sim/base/err.h"

struct guard {
    pid_t pid;
    int fd;
};

/* Starts a process that waits for the end of this one; then it kills every process that has `mark`
 * in its environment and removes `folder`. */
bool guard_start(struct guard *ret, const char *mark, const char *folder, struct err *reterr);
/* Sends it away with nothing left to do. */
void guard_dismiss(struct guard *guard);

/* Removes a folder with all that is in it. */
void guard_remove_folder(const char *folder);

#endif
