/* SPDX-License-Identifier: Apache-2.0 */
/* What /proc says about other processes. */
#ifndef VERBS_SHIM_CONDUCTOR_PROC_H
#define VERBS_SHIM_CONDUCTOR_PROC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* Neither gone nor waiting to be reaped. Also for the id of a thread. */
bool proc_is_alive(pid_t pid);

/* Is the kernel taking it down, or has it done so? */
bool proc_is_ending(pid_t pid);

/* CPU time of all threads so far, in ticks of the kernel's clock; and one of its state letters, 0
 * when there is no such process. */
char proc_look(pid_t pid, uint64_t *ret_ticks);

/* How many processes, `spared` not among them, have `mark` in their environment and may run. */
size_t proc_count_marked(const char *mark, pid_t spared);

/*
 * Sends SIGKILL to every process whose environment has `mark` ("NAME=value"), and to children of
 * `parent` (0: none) but `spared`, again and again until none is left that could still be running.
 */
void proc_kill_marked(const char *mark, pid_t parent, pid_t spared);

#endif
