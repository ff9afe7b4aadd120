/* SPDX-License-Identifier: Apache-2.0 */
/*
 * DOC: JACCL
 *
 * The collectives of MLX's library for RDMA over Thunderbolt (ml-explore/mlx, read at 846d176 of
 * 2026-08-22), by version:
 *
 * - Buffers: classes of 4 KiB * 2^k up to 512 KiB, two of each. The class is the largest one not
 *   above the message of a wire, at least 4 KiB; every chunk is sent at full class size, also the
 *   last. Only 4 KiB before macOS 26.3 and in 2025-12. If ranks run different macOS versions, the
 *   smaller classes are assumed (in truth the receives would fail).
 * - Mesh: one shot for two ranks or up to 32 KiB: everyone sends its whole vector to everyone.
 *   Above, by version: 2025-12 one shot as well; 2026-02 and 2026-04 a ring in both directions
 *   over the mesh's queue pairs; 2026-08 reduce-scatter with per-peer shards of floor(E / n)
 *   elements, all-gather, and a one-shot all-reduce of the fewer than n elements that remain.
 *   A chunk is reduced in rank order from 2026-04 on, before as it arrives.
 * - Ring: 2 (n - 1) steps; a wire drains completely before its next step. Up to 32 KiB, or with
 *   fewer than 2 n W elements, one wire and one direction; else each chunk of ceil(E / n) elements
 *   is cut into 2 W slices, one for each wire and direction. A step sends at least one message.
 * - A barrier is an all_reduce of one byte. send/recv cuts the message over all wires.
 *
 * Ring all_gather follows the repaired code (PR 4443, 2026-09).
 */
#include <stdbool.h>
#include <stdint.h>

#include "sim/base/err.h"
#include "sim/base/ids.h"
#include "sim/fabric/cluster.h"
#include "sim/fabric/model.h"
#include "sim/fabric/param.h"
#include "sim/workload/layout.h"
#include "sim/workload/plan.h"
#include "sim/workload/run.h"

#define CLASS_MIN   UINT64_C(4096)
#define CLASS_MAX   UINT64_C(524288)
#define JACCL_DEPTH 2U

uint64_t jaccl_buffer_class(uint64_t bytes, uint64_t class_max)
{
    uint64_t size = CLASS_MIN;

    while (size < class_max && 2 * size <= bytes)
        size *= 2;
    return size;
}

bool jaccl_mesh_is_one_shot(const struct plan *plan)
{
    return plan->layout->ranks == 2 || plan->bytes <= JACCL_ONE_SHOT_MAX ||
           plan->item->jaccl == JACCL_2025_12;
}

bool jaccl_ring_is_small(const struct plan *plan)
{
    uint64_t message = plan->op == RUN_ALL_GATHER ? plan->block_bytes : plan->bytes;
    uint64_t slices = 2 * (uint64_t)plan->layout->ranks * plan->layout->wires;

    return message <= JACCL_ONE_SHOT_MAX || message / plan->element < slices;
}

static void begin(const struct plan *plan, struct phase *phase, uint64_t message)
{
    phase_begin(plan, phase);
    phase->chunk = jaccl_buffer_class(message, plan->class_max);
    phase->has_full_buffers = true;
}

static bool is_ordered(const struct plan *plan)
{
    return plan->item->jaccl >= JACCL_2026_04;
}

/* Everyone sends all of [origin, limit) to everyone and reduces what comes. */
static void mesh_one_shot(const struct plan *plan, uint64_t origin, struct phase *phase)
{
    begin(plan, phase, plan->bytes - origin);
    phase->origin = origin;
    phase_cut(phase, plan->bytes - origin, 1);
    phase->is_shared_send = true;
    phase->is_from_input = true;
    phase->is_ordered = is_ordered(plan);
    for (uint32_t lane = 0; lane + 1 < plan->layout->ranks; lane++) {
        phase_add(plan, phase, true, lane, 0);
        phase_add(plan, phase, false, lane, 0)->reduce_steps = 1;
    }
}

/* Shard p goes to rank p; our own comes from everyone and is reduced. */
static void mesh_scatter(const struct plan *plan, uint32_t rank, uint64_t shard,
                         struct phase *phase)
{
    begin(plan, phase, shard);
    phase_cut(phase, shard, plan->layout->ranks);
    phase->is_from_input = true;
    phase->is_ordered = is_ordered(plan);
    for (uint32_t lane = 0; lane + 1 < plan->layout->ranks; lane++) {
        phase_add(plan, phase, true, lane, lane < rank ? lane : lane + 1);
        phase_add(plan, phase, false, lane, rank)->reduce_steps = 1;
    }
}

/* Our own shard goes to everyone; shard p comes from rank p. */
static void mesh_gather(const struct plan *plan, uint32_t rank, uint64_t shard, struct phase *phase)
{
    begin(plan, phase, shard);
    phase_cut(phase, shard, plan->layout->ranks);
    phase->is_shared_send = true;
    for (uint32_t lane = 0; lane + 1 < plan->layout->ranks; lane++) {
        phase_add(plan, phase, true, lane, rank);
        phase_add(plan, phase, false, lane, lane < rank ? lane : lane + 1);
    }
}

/* One step of a ring, both directions, over given lanes. `first` is the block that the way to the
 * right sends in step 0, counted from the own rank. */
struct ring_step {
    uint32_t rank;
    uint32_t step;
    bool is_reduced;
    uint32_t shift; /* 0, or 1 so that the ring ends at the own block */
    uint64_t slice;
};

static void ring_way(const struct plan *plan, const struct ring_step *at, bool is_right,
                     const uint32_t lanes[2], uint64_t slice_begin, struct phase *phase)
{
    uint32_t n = plan->layout->ranks;
    uint32_t back = (at->step + at->shift) % n;
    uint32_t sent = is_right ? (at->rank + n - back) % n : (at->rank + back) % n;
    uint32_t received = is_right ? (sent + n - 1) % n : (sent + 1) % n;
    struct stream *out = phase_add(plan, phase, true, lanes[is_right ? 0 : 1], sent);
    struct stream *in = phase_add(plan, phase, false, lanes[is_right ? 1 : 0], received);

    stream_cut(phase, out, slice_begin, at->slice);
    stream_cut(phase, in, slice_begin, at->slice);
    in->reduce_steps = at->is_reduced;
}

/* Number of steps of a ring operation, and of these that reduce. */
static uint32_t ring_steps(const struct plan *plan, uint32_t *ret_reduced)
{
    uint32_t n = plan->layout->ranks;

    *ret_reduced = plan->op == RUN_ALL_GATHER ? 0 : n - 1;
    return plan->op == RUN_ALL_REDUCE ? 2 * (n - 1) : n - 1;
}

static bool mesh_ring(const struct plan *plan, uint32_t rank, uint32_t index, struct phase *phase)
{
    uint32_t n = plan->layout->ranks;
    uint32_t reduced;
    uint32_t lanes[2] = {layout_mesh_lane(rank, (rank + 1) % n),
                         layout_mesh_lane(rank, (rank + n - 1) % n)};
    struct ring_step at = {.rank = rank, .step = index};

    if (index >= ring_steps(plan, &reduced))
        return false;
    at.is_reduced = index < reduced;
    at.slice = plan_share(plan, plan->block_bytes, 2);
    begin(plan, phase, at.slice);
    phase_cut(phase, plan->block_bytes, n);
    ring_way(plan, &at, true, lanes, 0, phase);
    ring_way(plan, &at, false, lanes, at.slice, phase);
    return true;
}

static bool mesh_all_reduce(const struct plan *plan, uint32_t rank, uint32_t index,
                            struct phase *phase)
{
    uint64_t shard = plan->bytes / plan->element / plan->layout->ranks * plan->element;

    if (jaccl_mesh_is_one_shot(plan)) {
        mesh_one_shot(plan, 0, phase);
        return index == 0;
    }
    if (plan->item->jaccl < JACCL_2026_08)
        return mesh_ring(plan, rank, index, phase);
    if (index == 0)
        mesh_scatter(plan, rank, shard, phase);
    else if (index == 1)
        mesh_gather(plan, rank, shard, phase);
    else
        mesh_one_shot(plan, shard * plan->layout->ranks, phase);
    return index < 2 || (index == 2 && shard * plan->layout->ranks < plan->bytes);
}

static bool chain_phase(const struct plan *plan, uint32_t rank, uint32_t thread, uint32_t index,
                        struct phase *phase)
{
    uint64_t slice = plan_share(plan, plan->bytes, plan->layout->wires);
    struct stream *stream;

    begin(plan, phase, slice);
    stream = phase_add(plan, phase, rank == 0, rank == 0, 0);
    stream_cut(phase, stream, thread * slice, slice);
    return index == 0;
}

static bool mesh_phase(const struct plan *plan, uint32_t rank, uint32_t thread, uint32_t index,
                       struct phase *phase)
{
    if (plan->op == RUN_SEND_RECV)
        return chain_phase(plan, rank, thread, index, phase);
    if (plan->op == RUN_ALL_REDUCE)
        return mesh_all_reduce(plan, rank, index, phase);
    if (plan->op == RUN_ALL_GATHER)
        mesh_gather(plan, rank, plan->block_bytes, phase);
    else
        mesh_scatter(plan, rank, plan->block_bytes, phase);
    return index == 0;
}

static bool ring_phase(const struct plan *plan, uint32_t rank, uint32_t thread, uint32_t index,
                       struct phase *phase)
{
    const struct layout *l = plan->layout;
    bool is_small = jaccl_ring_is_small(plan);
    uint32_t first = l->threads == 1 ? 0 : thread;
    uint32_t last = l->threads == 1 && !is_small ? l->wires : first + 1;
    struct ring_step at = {.rank = rank, .step = index};
    uint32_t reduced;

    if (plan->op == RUN_SEND_RECV)
        return chain_phase(plan, rank, thread, index, phase);
    if (index >= ring_steps(plan, &reduced) || (is_small && thread > 0))
        return false;
    at.is_reduced = index < reduced;
    at.shift = plan->op == RUN_REDUCE_SCATTER;
    at.slice = is_small ? plan->block_bytes : plan_share(plan, plan->block_bytes, 2 * l->wires);
    begin(plan, phase, at.slice);
    phase_cut(phase, plan->block_bytes, l->ranks);
    for (uint32_t w = first; w < last; w++) {
        uint32_t pair = l->threads == 1 ? 2 * w : 0;
        uint32_t lanes[2] = {pair, pair + 1};

        ring_way(plan, &at, true, lanes, UINT64_C(2) * w * at.slice, phase);
        if (!is_small)
            ring_way(plan, &at, false, lanes, (UINT64_C(2) * w + 1) * at.slice, phase);
    }
    return true;
}

/* The classes that all ranks can use. */
static uint64_t find_class_max(const struct plan *plan, const struct cluster *cluster)
{
    if (plan->item->jaccl == JACCL_2025_12)
        return CLASS_MIN;
    for (uint32_t i = 0; i < plan->layout->ranks; i++) {
        const struct cluster_host *host = &cluster->hosts[plan->layout->hosts[i].ix];

        if (!host->macos_profile || !host->macos_profile->has_large_buffers)
            return CLASS_MIN;
    }
    return CLASS_MAX;
}

bool plan_make_jaccl(struct plan *plan, const struct cluster *cluster, struct err *reterr)
{
    bool is_mesh = plan->item->library == LIBRARY_JACCL_MESH;

    plan->phase = is_mesh ? mesh_phase : ring_phase;
    plan->staging = PLAN_STAGED;
    plan->class_max = find_class_max(plan, cluster);
    plan->chunk = plan->class_max;
    plan->depth = JACCL_DEPTH;
    plan->depth_max = JACCL_DEPTH;
    plan->stream_max = 4 * plan->layout->wires;
    if (is_mesh && 2 * (plan->layout->ranks - 1) > plan->stream_max)
        plan->stream_max = 2 * (plan->layout->ranks - 1);
    if (plan_fit_depth(plan, jaccl_buffer_class(plan->bytes, plan->class_max), JACCL_DEPTH) <
        JACCL_DEPTH)
        return err_set(reterr, ERR_CONFLICT, plan->item->pos,
                       "JACCL posts two buffers of up to %llu B, more frames than a queue holds "
                       "(%lld): its post fails with error 12",
                       (unsigned long long)jaccl_buffer_class(plan->bytes, plan->class_max),
                       (long long)plan->params->v[PARAM_RDMA_QUEUE_FRAMES].value);
    return true;
}
