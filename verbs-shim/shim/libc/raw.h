/* SPDX-License-Identifier: Apache-2.0 */
/* syscall() with the number of a call that may wait. */
#ifndef VERBS_SHIM_SHIM_LIBC_RAW_H
#define VERBS_SHIM_SHIM_LIBC_RAW_H

#include <stdbool.h>

#include "verbs-shim/shim/actor.h"

/* `arg`: the six arguments. False: not served, ask the kernel; else *ret is syscall()'s result. */
bool raw_serve(struct actor *a, long number, const long *arg, long *ret);

#endif
