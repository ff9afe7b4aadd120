/* SPDX-License-Identifier: Apache-2.0 */
/* The table of patched sites and the handler that plays the instruction. */
#ifndef VERBS_SHIM_SHIM_TSC_TSC_TRAP_H
#define VERBS_SHIM_SHIM_TSC_TSC_TRAP_H

#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "verbs-shim/shim/tsc/tsc_find.h"

/* Sites in ascending order of address. A table that has been published never changes. */
struct tsc_table {
    size_t count;
    struct tsc_site site[];
};

/* Takes SIGILL. `loaded` is called for a site of kind TSC_LOADER. Returns 0 or errno. */
int tsc_trap_install(uint64_t (*now_cycles)(void), void (*loaded)(void));

/* From here on the handler knows these sites. The old table must stay where it is: a handler in
 * another thread may be reading it. */
void tsc_trap_publish(const struct tsc_table *table);

/* sigaction for SIGILL, as the program sees it. */
int tsc_trap_sigaction(const struct sigaction *act, struct sigaction *old);

#endif
