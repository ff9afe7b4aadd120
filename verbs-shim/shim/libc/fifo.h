/* SPDX-License-Identifier: Apache-2.0 */
/* Opening a named pipe, which waits for the other end. */
#ifndef VERBS_SHIM_SHIM_LIBC_FIFO_H
#define VERBS_SHIM_SHIM_LIBC_FIFO_H

#include <stdbool.h>

/* Would the actor wait in the kernel to open this? `flags`: as of open. */
bool fifo_waits(int folder, const char *path, int flags);
/* Opens it, as open does. -1 and errno. */
int fifo_open(int folder, const char *path, int flags);
/* The flags of fopen's mode. */
int fifo_flags(const char *mode);

#endif
