/* SPDX-License-Identifier: Apache-2.0 */
/* Processes that the program makes. */
#ifndef VERBS_SHIM_SHIM_LIBC_CHILD_H
#define VERBS_SHIM_SHIM_LIBC_CHILD_H

/* In a child with a memory of its own that no handler of pthread_atfork has told: it is not under
 * the clock. */
void child_begun(void);

#endif
