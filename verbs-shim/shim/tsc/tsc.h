/* SPDX-License-Identifier: Apache-2.0 */
/*
 * libtbmesh-tsc.so: rdtsc and rdtscp that tell virtual time.
 *
 * A shared object of its own, loaded by dlopen, since it brings an instruction decoder. Nothing
 * here may be called before tbmesh_tsc_install has returned a number that is not negative.
 */
#ifndef VERBS_SHIM_SHIM_TSC_TSC_H
#define VERBS_SHIM_SHIM_TSC_TSC_H

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <ucontext.h>

#include "verbs-shim/shim/export.h"
#include "verbs-shim/shim/tsc_hook.h"

/*
 * Patches every rdtsc and rdtscp in the executable segments of the loaded objects, except libc, the
 * loader, the vDSO and our own objects, and takes SIGILL.
 *
 * now_cycles: what the instruction reads; called in the thread that executes it, inside a signal
 *             handler for a fault of that very instruction: it may wait, for as long as it likes.
 *             Threads and children that are not under the clock come here, too.
 * say:        one line for the user, without a newline; during install and rescan only. May be
 * NULL.
 *
 * Returns: the number of patched sites; -errno: -ENOTSUP on another processor, -ENOMEM, -EALREADY.
 */
SHIM_EXPORT int tbmesh_tsc_install(uint64_t (*now_cycles)(void), void (*say)(const char *text));

/* Patches what has been loaded since, which happens by itself where the loader can be watched.
 * Returns the number of new sites, or -errno. Not reentrant: the caller holds the loader's lock, or
 * is alone. */
SHIM_EXPORT int tbmesh_tsc_rescan(void);

/* What sigaction(SIGILL, act, old) has to do for the program. 0, or -1 and errno. */
SHIM_EXPORT int tbmesh_tsc_sigaction(const struct sigaction *act, struct sigaction *old);

/* What the instruction at which a signal has stopped the program will write. False: it enters the
 * kernel, or cannot be followed. Async-signal-safe. */
SHIM_EXPORT bool tbmesh_tsc_effect(const ucontext_t *uc, struct tsc_effect *ret);

#endif
