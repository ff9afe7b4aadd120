/* SPDX-License-Identifier: Apache-2.0 */
/* The heap, for what outlives no arena: out of memory ends the program. */
#ifndef SIM_BASE_MEM_H
#define SIM_BASE_MEM_H

#include <stddef.h>

/* Zeroed memory for count elements, also for none; the caller frees it. Never NULL. */
void *mem_alloc_zeroed(size_t count, size_t size);

#endif
