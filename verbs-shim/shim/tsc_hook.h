/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What libtbmesh-tsc.so offers to the rest of the shim once it is loaded.
 *
 * It keeps a decoder out of programs that need none: core loads it when a process joins (tsc_start)
 * and everybody else asks tsc_hook().
 */
#ifndef VERBS_SHIM_SHIM_TSC_HOOK_H
#define VERBS_SHIM_SHIM_TSC_HOOK_H

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <ucontext.h>

#include "verbs-shim/shim/export.h"

#define TSC_WRITES      2U
#define TSC_WRITE_BYTES 64U

/* What one instruction writes to memory. */
struct tsc_effect {
    uint32_t count;
    struct {
        uint64_t address;
        uint32_t bytes; /* 1 .. TSC_WRITE_BYTES */
    } write[TSC_WRITES];
};

struct tsc_hook {
    /* After dlopen has returned: patches the objects that are new. Sites, or -errno. */
    int (*rescan)(void);
    /* sigaction(SIGILL, act, old): our handler stays, the program's is called for what is not ours.
     * 0, or -1 and errno. */
    int (*sigaction)(const struct sigaction *act, struct sigaction *old);
    /* What the next instruction will write; false: it enters the kernel, or nobody can tell. */
    bool (*effect)(const ucontext_t *uc, struct tsc_effect *ret);
};

/* NULL before tsc_start, or when it could not be loaded: then do nothing. */
SHIM_EXPORT const struct tsc_hook *tsc_hook(void);

/* Called by a process that has joined, in its first actor: from here on rdtsc and rdtscp in the
 * program and in its libraries tell virtual time, at 1 GHz. Says on stderr why, if not. */
void tsc_start(void);

#endif
