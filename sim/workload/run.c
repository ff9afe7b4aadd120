/* SPDX-License-Identifier: Apache-2.0 */
/*
 * DOC: Names of operations, libraries and types
 *
 * One table each, made from the lists in the header, so that a name cannot be printed that the
 * scenario language does not read.
 */
#include "sim/workload/run.h"

const char *run_op_name(enum run_op op)
{
    static const char *const names[] = {
#define X(id, name) name,
        RUN_OP_LIST(X)
#undef X
    };
    return names[op];
}

const char *run_library_name(enum run_library library)
{
    static const char *const names[] = {
#define X(id, name) name,
        RUN_LIBRARY_LIST(X)
#undef X
    };
    return names[library];
}

const char *jaccl_version_name(enum jaccl_version version)
{
    static const char *const names[] = {
#define X(id, name) name,
        JACCL_VERSION_LIST(X)
#undef X
    };
    return names[version];
}

const char *dtype_name(enum dtype dtype)
{
    static const char *const names[] = {
#define X(id, name, size) name,
        DTYPE_LIST(X)
#undef X
    };
    return names[dtype];
}

uint32_t dtype_size(enum dtype dtype)
{
    static const uint32_t sizes[] = {
#define X(id, name, size) size,
        DTYPE_LIST(X)
#undef X
    };
    return sizes[dtype];
}

const char *reduction_name(enum reduction reduction)
{
    static const char *const names[] = {
#define X(id, name) name,
        REDUCTION_LIST(X)
#undef X
    };
    return names[reduction];
}

const char *handoff_name(enum handoff handoff)
{
    static const char *const names[] = {
#define X(id, name) name,
        HANDOFF_LIST(X)
#undef X
    };
    return names[handoff];
}
