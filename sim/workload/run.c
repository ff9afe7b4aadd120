/* SPDX-License-Identifier: Apache-2.0 */
/*
 * DOC: Names of operations, libraries and types
 *
 * One table each, made from the lists in the header, so that a name cannot be printed that the
 * scenario language does not read.
 */
#include "sim/workload/run.h"

const char *const run_op_names[RUN_OP_COUNT] = {
#define X(id, name) name,
    RUN_OP_LIST(X)
#undef X
};

const char *const run_library_names[LIBRARY_COUNT] = {
#define X(id, name) name,
    RUN_LIBRARY_LIST(X)
#undef X
};

const char *const jaccl_version_names[JACCL_VERSION_COUNT] = {
#define X(id, name) name,
    JACCL_VERSION_LIST(X)
#undef X
};

const char *const dtype_names[DTYPE_COUNT] = {
#define X(id, name, size) name,
    DTYPE_LIST(X)
#undef X
};

const char *const reduction_names[REDUCTION_COUNT] = {
#define X(id, name) name,
    REDUCTION_LIST(X)
#undef X
};

const char *const handoff_names[HANDOFF_COUNT] = {
#define X(id, name) name,
    HANDOFF_LIST(X)
#undef X
};

const char *run_op_name(enum run_op op)
{
    return run_op_names[op];
}

const char *run_library_name(enum run_library library)
{
    return run_library_names[library];
}

const char *jaccl_version_name(enum jaccl_version version)
{
    return jaccl_version_names[version];
}

const char *dtype_name(enum dtype dtype)
{
    return dtype_names[dtype];
}

const char *reduction_name(enum reduction reduction)
{
    return reduction_names[reduction];
}

const char *handoff_name(enum handoff handoff)
{
    return handoff_names[handoff];
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
