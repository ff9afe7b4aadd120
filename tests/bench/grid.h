/* SPDX-License-Identifier: Apache-2.0 */
/* Rings and tori of any size, with round numbers: 80 Gb/s of payload, 5 us. */
#ifndef TESTS_BENCH_GRID_H
#define TESTS_BENCH_GRID_H

#include <stdint.h>

#include "sim/fabric/cluster.h"
#include "sim/fabric/param.h"

/* Neighbours in the order of a host's ports. In a ring (one row) the last two have no cable. */
enum grid_side {
    GRID_RIGHT,
    GRID_LEFT,
    GRID_DOWN,
    GRID_UP,
    GRID_SIDES
};

struct grid {
    struct cluster cluster; /* owned arrays */
    struct param_set params;
    uint32_t rows, columns;
};

/* At least three columns, and one row or at least three; each row and column is a ring. */
void grid_init(struct grid *grid, uint32_t rows, uint32_t columns);
void grid_done(struct grid *grid);
uint32_t grid_neighbour(const struct grid *grid, uint32_t host, enum grid_side side);
enum grid_side grid_opposite(enum grid_side side);
/* The cable at that side of the host; ID_NONE when there is none. */
cable_id grid_cable(const struct grid *grid, uint32_t host, enum grid_side side);

#endif
