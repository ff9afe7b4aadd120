/* SPDX-License-Identifier: Apache-2.0 */
/* Memory that a key gives access to. */
#ifndef VERBS_SHIM_SHIM_VERBS_MEMORY_H
#define VERBS_SHIM_SHIM_VERBS_MEMORY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <infiniband/verbs.h>

#include "verbs-shim/shim/verbs/objects.h"

/* Where the element's bytes are; NULL: no such key in this domain, not for this access, or beyond
 * the region. */
void *memory_at(const struct pd *pd, const struct ibv_sge *sge, unsigned int access);
/* ... of a region; NULL: beyond it. */
void *memory_in(const struct mr *mr, uint64_t addr, uint64_t length);
/* Is there memory at all? */
bool memory_is_mapped(uintptr_t addr, size_t length);

#endif
