/* SPDX-License-Identifier: Apache-2.0 */
/* Work on memory that programs may have damaged. */
#ifndef VERBS_SHIM_CONDUCTOR_CAREFUL_H
#define VERBS_SHIM_CONDUCTOR_CAREFUL_H

#include <stdbool.h>

/*
 * Calls work(ctx). False: it ran into damage (a bad address, a failed check, a loop without end)
 * and was given up where it was; what it had locked stays locked. Not for work that allocates or
 * opens.
 */
bool careful_call(void (*work)(void *ctx), void *ctx);

#endif
