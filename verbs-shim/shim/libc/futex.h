/* SPDX-License-Identifier: Apache-2.0 */
/* syscall(SYS_futex): std::future, std::latch, std::atomic::wait and static initialisers. */
#ifndef VERBS_SHIM_SHIM_LIBC_FUTEX_H
#define VERBS_SHIM_SHIM_LIBC_FUTEX_H

#include <stdbool.h>

#include "verbs-shim/shim/actor.h"

/* `arg`: the six arguments. False: not served, ask the kernel; else *ret is syscall()'s result. */
bool futex_serve(struct actor *a, const long *arg, long *ret);

#endif
