/* SPDX-License-Identifier: Apache-2.0 */
/* The connected ranks: a mesh with a wire to every peer, or a ring with several to two. */
#ifndef TESTS_CLIENTS_UC_MESH_GROUP_H
#define TESTS_CLIENTS_UC_MESH_GROUP_H

#include <stdbool.h>

#include "tests/clients/uc_mesh/fault.h"
#include "tests/clients/uc_mesh/matrix.h"
#include "tests/clients/uc_mesh/side.h"
#include "tests/clients/uc_mesh/wire.h"

#define GROUP_SIDES 2U

struct group {
    unsigned rank;
    unsigned ranks;
    bool is_ring;
    unsigned wire_count;        /* ring: to each neighbour; mesh: 1 */
    struct wire_buffers shared; /* mesh */
    /* Mesh: [peer][0]; its own place is unused. Ring: [0][w] to the left, [1][w] to the right. */
    struct wire wires[MATRIX_RANK_MAX][MATRIX_WIRE_MAX];
};

enum group_side {
    GROUP_LEFT,
    GROUP_RIGHT
};

/* Collective over `side`. What was made is released by group_close, also after a failure. */
bool group_open(struct group *group, const struct matrix *matrix, bool is_ring, unsigned wires,
                struct side *side, struct fault *fault);
bool group_close(struct group *group, struct fault *fault);

#endif
