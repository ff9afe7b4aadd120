/* SPDX-License-Identifier: Apache-2.0 */
/* Who is connected with whom, by how many threads and queue pairs, for one item of a run. */
#ifndef SIM_WORKLOAD_LAYOUT_H
#define SIM_WORKLOAD_LAYOUT_H

#include <stdbool.h>
#include <stdint.h>

#include "sim/base/arena.h"
#include "sim/base/err.h"
#include "sim/base/ids.h"
#include "sim/fabric/cluster.h"
#include "sim/fabric/fabric.h"
#include "sim/workload/run.h"

/* JACCL's limits (ml-explore/mlx at 846d176, 2026-08-22). */
#define JACCL_MESH_RANKS_MAX 8U
#define JACCL_WIRES_MAX      4U

enum layout_shape {
    LAYOUT_RING,  /* lanes of a thread: 2w to the right, 2w + 1 to the left, of its wires w */
    LAYOUT_MESH,  /* lane p goes to rank p, or p + 1 from rank p on: all but oneself */
    LAYOUT_CUBE,  /* lane k goes from v to v xor 2^k, v counted from the root */
    LAYOUT_CHAIN, /* lane 0 to the rank before, lane 1 to the rank after */
};

/* One end of a queue pair that a thread owns. */
struct lane {
    uint32_t peer;      /* thread index of the other end; ID_NONE: no such lane */
    uint32_t peer_lane; /* lane of that thread */
    struct cluster_path path;
    qp_id qp; /* set by the executor */
};

struct layout {
    enum layout_shape shape;
    enum fabric_qp_kind kind;
    uint32_t ranks;
    host_id *hosts;     /* [ranks] */
    uint32_t wires;     /* cables a pair that are used */
    uint32_t threads;   /* of each rank */
    uint32_t lanes;     /* of each thread */
    struct lane *lane;  /* [ranks * threads][lanes] */
    uint32_t lane_ends; /* lanes that exist, both ends counted */
    const char *note;   /* what a reader of the result must know; NULL */
};

/*
 * Finds the cables for an item.
 *
 * Returns: true and *ret (in the arena); false with *reterr at item->pos when a cable, a rank or
 *          an operation is missing.
 */
bool layout_make(const struct run_item *item, const struct cluster *cluster, struct arena *arena,
                 struct layout *ret, struct err *reterr);

/* True when the library offers the operation. */
bool run_is_offered(enum run_library library, enum run_op op);

/* Lane of a mesh that leads from `rank` to `peer`. */
static inline uint32_t layout_mesh_lane(uint32_t rank, uint32_t peer)
{
    return peer < rank ? peer : peer - 1;
}

static inline struct lane *layout_lane(const struct layout *layout, uint32_t thread, uint32_t lane)
{
    return &layout->lane[(uint64_t)thread * layout->lanes + lane];
}

/* Number of dimensions of the cube that holds n ranks: ceil(log2(n)). */
static inline uint32_t layout_dimensions(uint32_t n)
{
    uint32_t dimensions = 0;

    while (dimensions < 31 && (UINT32_C(1) << dimensions) < n)
        dimensions++;
    return dimensions;
}

#endif
