/* SPDX-License-Identifier: Apache-2.0 */
/* Counts allocations: the linker sends the calls here first (--wrap in CMakeLists.txt). */
#include <stdint.h>
#include <stdlib.h>

#include "tests/bench/bench.h"

static uint64_t allocation_count;

void *__real_malloc(size_t size);
void *__real_calloc(size_t count, size_t size);
void *__real_realloc(void *mem, size_t size);
void *__real_aligned_alloc(size_t align, size_t size);
void *__wrap_malloc(size_t size);
void *__wrap_calloc(size_t count, size_t size);
void *__wrap_realloc(void *mem, size_t size);
void *__wrap_aligned_alloc(size_t align, size_t size);

void *__wrap_malloc(size_t size)
{
    allocation_count++;
    return __real_malloc(size);
}

void *__wrap_calloc(size_t count, size_t size)
{
    allocation_count++;
    return __real_calloc(count, size);
}

void *__wrap_realloc(void *mem, size_t size)
{
    allocation_count++;
    return __real_realloc(mem, size);
}

void *__wrap_aligned_alloc(size_t align, size_t size)
{
    allocation_count++;
    return __real_aligned_alloc(align, size);
}

uint64_t bench_allocation_count(void)
{
    return allocation_count;
}
