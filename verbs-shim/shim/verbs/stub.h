/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Shapes of functions that the real libibverbs exports and we do not offer: providers link them,
 * nobody is served by them. Only the generated list of stubs includes this, and no header of verbs,
 * since a stub takes no arguments.
 */
#ifndef VERBS_SHIM_SHIM_VERBS_STUB_H
#define VERBS_SHIM_SHIM_VERBS_STUB_H

#include <errno.h>
#include <stddef.h>
#include <stdint.h>

#define STUB_NOTHING(name) \
    uintptr_t name(void);  \
    uintptr_t name(void)   \
    {                      \
        return 0;          \
    }
#define STUB_NULL(name)     \
    void *name(void);       \
    void *name(void)        \
    {                       \
        errno = EOPNOTSUPP; \
        return NULL;        \
    }
#define STUB_MINUS(name)    \
    int name(void);         \
    int name(void)          \
    {                       \
        errno = EOPNOTSUPP; \
        return -1;          \
    }
#define STUB_ERRNO(name)   \
    int name(void);        \
    int name(void)         \
    {                      \
        return EOPNOTSUPP; \
    }
#define STUB_DATA(name, size) \
    extern char name[size];   \
    char name[size];

/* Under a version node that is not the name's default. */
#define STUB_OLD(name, versioned)         __asm__(".symver " #name ", " versioned);
#define STUB_OLD_NOTHING(name, versioned) STUB_NOTHING(name) STUB_OLD(name, versioned)
#define STUB_OLD_NULL(name, versioned)    STUB_NULL(name) STUB_OLD(name, versioned)
#define STUB_OLD_MINUS(name, versioned)   STUB_MINUS(name) STUB_OLD(name, versioned)
#define STUB_OLD_ERRNO(name, versioned)   STUB_ERRNO(name) STUB_OLD(name, versioned)

#endif
