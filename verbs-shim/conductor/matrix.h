/* SPDX-License-Identifier: Apache-2.0 */
/* Which Macs take part, in which order, and JACCL's device matrix for them. */
#ifndef VERBS_SHIM_CONDUCTOR_MATRIX_H
#define VERBS_SHIM_CONDUCTOR_MATRIX_H

#include <stdbool.h>
#include <stdint.h>

#include "sim/base/arena.h"
#include "sim/base/err.h"
#include "sim/base/ids.h"
#include "sim/scenario/scenario.h"

struct matrix {
    host_id *hosts; /* of each rank */
    uint32_t rank_count;
    const char *json; /* NULL: the cabling has neither mesh nor ring */
    bool is_ring;
};

/*
 * Gives each rank its computer: the scenario's own device matrix if it has one of as many rows;
 * otherwise the first computers of the scenario, in the order in which cables make them a ring if
 * they are no mesh.
 *
 * count: ranks wanted; 0: one for each computer.
 * Returns: true and *ret, what it points to in the arena; false when there are fewer computers.
 */
bool matrix_place_ranks(const struct scenario *scenario, uint32_t count, struct arena *arena,
                        struct matrix *ret, struct err *reterr);

#endif
