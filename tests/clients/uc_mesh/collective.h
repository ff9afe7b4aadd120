/* SPDX-License-Identifier: Apache-2.0 */
/* Collective operations over a group. */
#ifndef TESTS_CLIENTS_UC_MESH_COLLECTIVE_H
#define TESTS_CLIENTS_UC_MESH_COLLECTIVE_H

#include <stdbool.h>
#include <stdint.h>

#include "tests/clients/uc_mesh/fault.h"
#include "tests/clients/uc_mesh/group.h"
#include "tests/clients/uc_mesh/phase.h"
#include "tests/clients/uc_mesh/pool.h"

enum op {
    OP_ALL_REDUCE,
    OP_ALL_GATHER,
    OP_REDUCE_SCATTER,
    OP_SEND_RECV, /* rank 0 to rank 1 */
    OP_BARRIER,
    OP_COUNT
};

struct collective {
    struct group *group; /* borrowed */
    struct pool *pool;   /* borrowed; NULL: no threads */
    enum op op;
    enum dtype dtype;
    unsigned class_max;                /* largest buffer class in use */
    uint64_t elements;                 /* all_gather: of one rank; else of the whole vector */
    char *input;                       /* borrowed; all_gather: own part */
    char *output;                      /* borrowed; all_gather: the parts of all ranks */
    uint32_t numbers[MATRIX_WIRE_MAX]; /* of the next phase of each thread */
};

/* ceil(elements / ranks): block r of a vector begins at r times this. */
uint64_t collective_block(uint64_t elements, unsigned ranks);
/* Begins with output = input (or its own part) and ends when this rank may use the output. */
bool collective_run(struct collective *collective, struct fault *fault);

#endif
