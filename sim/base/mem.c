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
