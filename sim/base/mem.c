/* SPDX-License-Identifier: Apache-2.0 */
#include "sim/base/mem.h"

#include <stdlib.h>

void *mem_alloc_zeroed(size_t count, size_t size)
{
    void *mem = calloc(count && size ? count : 1, size ? size : 1);

    if (!mem)
        abort(); /* see docs/style.md, "Ownership" */
    return mem;
}

uint32_t mem_power_of_two(uint32_t n)
{
    uint32_t p = 1;

    while (p < n)
        p *= 2;
    return p;
}
