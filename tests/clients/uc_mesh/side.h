/* SPDX-License-Identifier: Apache-2.0 */
/* The side channel: a star of TCP connections around rank 0. */
#ifndef TESTS_CLIENTS_UC_MESH_SIDE_H
#define TESTS_CLIENTS_UC_MESH_SIDE_H

#include <stdbool.h>
#include <stddef.h>

#include "tests/clients/uc_mesh/fault.h"
#include "tests/clients/uc_mesh/matrix.h"

struct side {
    unsigned rank;
    unsigned ranks;
    int fds[MATRIX_RANK_MAX]; /* rank 0: [r] to rank r; others: [0] to rank 0; -1: none */
};

/* `coordinator` is "a.b.c.d:port", where rank 0 listens. */
bool side_open(struct side *side, unsigned rank, unsigned ranks, const char *coordinator,
               struct fault *fault);
/* Collective: `mine` is `bytes` long, `all` holds that of every rank in rank order. */
bool side_all_gather(struct side *side, const void *mine, void *all, size_t bytes,
                     struct fault *fault);
bool side_barrier(struct side *side, struct fault *fault);
void side_close(struct side *side);

#endif
