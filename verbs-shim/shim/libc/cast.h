/* SPDX-License-Identifier: Apache-2.0 */
/* Pointers as the kernel's interfaces want them, where C has no cast without a warning. */
#ifndef VERBS_SHIM_SHIM_LIBC_CAST_H
#define VERBS_SHIM_SHIM_LIBC_CAST_H

#include <string.h>

/* The program's bytes are only read; the kernel's types are the same for both ways. */
static inline void *drop_const(const void *p)
{
    void *q;

    memcpy(&q, &p, sizeof(q));
    return q;
}

/* An argument of syscall(). */
static inline void *as_pointer(long value)
{
    void *pointer;

    memcpy(&pointer, &value, sizeof(pointer));
    return pointer;
}

#endif
