/* SPDX-License-Identifier: Apache-2.0 */
/* The heap, for what outlives no arena: out of memory ends the program. And sizes of parts. */
#ifndef SIM_BASE_MEM_H
#define SIM_BASE_MEM_H

#include <stddef.h>
#include <stdint.h>

/* Zeroed memory for count elements, also for none; the caller frees it. Never NULL. */
void *mem_alloc_zeroed(size_t count, size_t size);

/* A size or offset up to the next multiple of 64: where the next part of a block may begin. */
static inline size_t mem_align64(size_t n)
{
    return (n + 63) & ~(size_t)63;
}

/* The least power of two that is at least n; n is at most 2^31. */
uint32_t mem_power_of_two(uint32_t n);

#endif
