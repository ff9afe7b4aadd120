/* SPDX-License-Identifier: Apache-2.0 */
/* Command line and environment of uc_mesh. */
#ifndef TESTS_CLIENTS_UC_MESH_OPTIONS_H
#define TESTS_CLIENTS_UC_MESH_OPTIONS_H

#include <stdbool.h>
#include <stdint.h>

#include "tests/clients/uc_mesh/collective.h"
#include "tests/clients/uc_mesh/fault.h"

#define OPTIONS_SIZE_MAX   32U
#define OPTIONS_REPEAT_MAX 1000000U

struct options {
    enum op op;
    enum dtype dtype;
    uint64_t sizes[OPTIONS_SIZE_MAX]; /* bytes */
    unsigned size_count;
    uint32_t repeat;
    uint32_t warmup;
    bool is_ring;
    unsigned wires; /* 0: as many as the matrix has */
    bool has_small_buffers;
    bool checks_all; /* every repetition; else the last */
    bool fills_once; /* and compares once: the first repetition */
    bool is_tsv;
    bool is_help;
    unsigned rank;
    const char *matrix_path; /* borrowed from the environment */
    const char *coordinator; /* likewise */
};

extern const char options_usage[];

const char *options_op_name(enum op op);
/* Reads argv, then, unless it asks for help, the environment. */
bool options_read(int argc, char *const *argv, struct options *ret, struct fault *fault);

#endif
