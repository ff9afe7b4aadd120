/* SPDX-License-Identifier: Apache-2.0 */
/* Replaces instructions of running code. */
#ifndef VERBS_SHIM_SHIM_TSC_TSC_PATCH_H
#define VERBS_SHIM_SHIM_TSC_TSC_PATCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "verbs-shim/shim/tsc/tsc_find.h"

/*
 * Puts an instruction that there is not at each of `count` sites, which are in ascending order and
 * lie in readable code that nobody may write. Other threads may execute the pages meanwhile.
 *
 * Returns: how many were patched; fewer than `count`: errno.
 */
size_t tsc_patch_sites(const struct tsc_site *sites, size_t count);

bool tsc_is_patched(const struct tsc_site *site);

#endif
