/* SPDX-License-Identifier: Apache-2.0 */
/*
 * DOC: Textbook algorithms
 *
 * The references that people compare with (Thakur, Rabenseifner, Gropp, "Optimization of
 * Collective Communication Operations in MPICH", 2005), over staged RDMA messages of `chunk` bytes
 * with `depth` outstanding. Messages have their own length; an empty share is an empty message.
 *
 * - ring: reduce-scatter then all-gather in 2 (n - 1) steps, pipelined: chunk k of a step leaves as
 *   soon as chunk k of the step before is reduced. With W wires each takes a slice of every block.
 *   Broadcast is a pipelined chain from the root to its left neighbour.
 * - mesh: two shots, each to all peers at once: shards of S/n are scattered and reduced, then
 *   gathered. all_to_all sends every block at once.
 * - recursive-doubling: partner r xor 2^i exchanges whole vectors; all_to_all is the pairwise
 *   exchange, with r xor i when n is a power of two and with r + i and r - i otherwise.
 * - halving-doubling: reduce-scatter by halving, all-gather by doubling.
 * - Both, for n that is not a power of two: ranks above it add their vector to the partner below
 *   and get the result from it at the end. all_gather and reduce_scatter then are refused.
 * - binomial-tree: reduce to rank 0 and broadcast, chunk by chunk.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sim/base/err.h"
#include "sim/base/units.h"
#include "sim/fabric/param.h"
#include "sim/workload/layout.h"
#include "sim/workload/plan.h"
#include "sim/workload/run.h"

#define TEXTBOOK_CHUNK UINT64_C(16384)
#define TEXTBOOK_DEPTH 8U

/* Largest power of two not above n. */
static uint32_t power_below(uint32_t n)
{
    uint32_t dimensions = layout_dimensions(n + 1);

    return dimensions ? UINT32_C(1) << (dimensions - 1) : 0;
}

/* The way of a broadcast around the ring, beginning at the root. */
static void ring_broadcast(const struct plan *plan, uint32_t rank, uint32_t thread,
                           struct phase *phase)
{
    uint32_t n = plan->layout->ranks;
    uint32_t place = (rank + n - plan->item->root) % n;
    uint64_t slice = plan_share(plan, plan->bytes, plan->layout->wires);

    phase_begin(plan, phase);
    phase->is_gated = true;
    if (place > 0)
        stream_cut(phase, phase_add(plan, phase, false, 1, 0), thread * slice, slice);
    if (place + 1 < n)
        stream_cut(phase, phase_add(plan, phase, true, 0, 0), thread * slice, slice);
}

static bool ring_phase(const struct plan *plan, uint32_t rank, uint32_t thread, uint32_t index,
                       struct phase *phase)
{
    uint32_t n = plan->layout->ranks;
    uint32_t first = plan->op == RUN_REDUCE_SCATTER ? rank + n - 1 : rank;
    uint64_t slice = plan_share(plan, plan->block_bytes, plan->layout->wires);
    struct stream *out;
    struct stream *in;

    if (plan->op == RUN_SEND_RECV)
        return phase_forward(plan, rank, index, phase);
    if (plan->op == RUN_BROADCAST) {
        ring_broadcast(plan, rank, thread, phase);
        return index == 0;
    }
    phase_begin(plan, phase);
    phase_cut(phase, plan->block_bytes, n);
    phase->is_gated = true;
    phase->gate_back = 1;
    out = phase_add(plan, phase, true, 0, first % n);
    in = phase_add(plan, phase, false, 1, (first + n - 1) % n);
    out->stride = in->stride = n - 1;
    out->steps = in->steps = plan->op == RUN_ALL_REDUCE ? 2 * (n - 1) : n - 1;
    in->reduce_steps = plan->op == RUN_ALL_GATHER ? 0 : n - 1;
    stream_cut(phase, out, thread * slice, slice);
    stream_cut(phase, in, thread * slice, slice);
    return index == 0;
}

static void mesh_broadcast(const struct plan *plan, uint32_t rank, struct phase *phase)
{
    uint32_t root = plan->item->root;

    phase_begin(plan, phase);
    phase->is_shared_send = true;
    if (rank != root)
        phase_add(plan, phase, false, layout_mesh_lane(rank, root), 0);
    for (uint32_t lane = 0; rank == root && lane + 1 < plan->layout->ranks; lane++)
        phase_add(plan, phase, true, lane, 0);
}

/* What a rank sends to and receives from every peer at once. */
static void mesh_exchange(const struct plan *plan, uint32_t rank, bool is_scatter,
                          struct phase *phase)
{
    bool is_all_to_all = plan->op == RUN_ALL_TO_ALL;

    phase_begin(plan, phase);
    phase_cut(phase, plan->block_bytes, plan->layout->ranks);
    phase->is_from_input = is_scatter || is_all_to_all;
    phase->is_shared_send = !is_scatter && !is_all_to_all;
    for (uint32_t lane = 0; lane + 1 < plan->layout->ranks; lane++) {
        uint32_t peer = lane < rank ? lane : lane + 1;

        phase_add(plan, phase, true, lane, is_scatter || is_all_to_all ? peer : rank);
        phase_add(plan, phase, false, lane, is_scatter ? rank : peer)->reduce_steps = is_scatter;
    }
}

static bool mesh_phase(const struct plan *plan, uint32_t rank, uint32_t thread, uint32_t index,
                       struct phase *phase)
{
    bool has_scatter = plan->op == RUN_ALL_REDUCE || plan->op == RUN_REDUCE_SCATTER;

    (void)thread;
    if (plan->op == RUN_SEND_RECV)
        return phase_forward(plan, rank, index, phase);
    if (plan->op == RUN_BROADCAST) {
        mesh_broadcast(plan, rank, phase);
        return index == 0;
    }
    mesh_exchange(plan, rank, has_scatter && index == 0, phase);
    return index == 0 || (index == 1 && plan->op == RUN_ALL_REDUCE);
}

/* Round i of the pairwise exchange: one peer to send to, one to receive from. */
static bool pairwise_phase(const struct plan *plan, uint32_t rank, uint32_t index,
                           struct phase *phase)
{
    uint32_t n = plan->layout->ranks;
    bool is_power = power_below(n) == n;
    uint32_t round = index + 1;
    uint32_t to = is_power ? rank ^ round : (rank + round) % n;
    uint32_t from = is_power ? rank ^ round : (rank + n - round) % n;

    if (round >= n)
        return false;
    phase_begin(plan, phase);
    phase_cut(phase, plan->block_bytes, n);
    phase->is_from_input = true;
    phase_add(plan, phase, true, layout_mesh_lane(rank, to), to);
    phase_add(plan, phase, false, layout_mesh_lane(rank, from), from);
    return true;
}

/* Ranks above the power of two: to the partner before the main part, and back after it. */
static void fold_phase(const struct plan *plan, uint32_t rank, bool is_before, struct phase *phase)
{
    uint32_t power = power_below(plan->layout->ranks);
    uint32_t lane = layout_dimensions(power);
    bool is_high = rank >= power;

    phase_begin(plan, phase);
    if (!is_high && rank + power >= plan->layout->ranks)
        return;
    if (is_high == is_before)
        phase_add(plan, phase, true, lane, 0);
    else
        phase_add(plan, phase, false, lane, 0)->reduce_steps = is_before;
}

/* `count` of `of` equal ranges of blocks, beginning at range `first`. */
static void add_range(const struct plan *plan, struct phase *phase, struct stream *stream,
                      uint32_t first, uint32_t count)
{
    uint64_t block = plan_share(plan, plan->bytes, power_below(plan->layout->ranks));

    stream_cut(phase, stream, first * block, count * block);
}

static void halving_step(const struct plan *plan, uint32_t rank, uint32_t bit, struct phase *phase)
{
    uint32_t half = UINT32_C(1) << bit;
    uint32_t base = rank & ~(2 * half - 1);
    uint32_t keep = rank & half;

    phase_begin(plan, phase);
    add_range(plan, phase, phase_add(plan, phase, true, bit, 0), base + (keep ^ half), half);
    add_range(plan, phase, phase_add(plan, phase, false, bit, 0), base + keep, half);
    phase->streams[1].reduce_steps = 1;
}

static void doubling_step(const struct plan *plan, uint32_t rank, uint32_t bit, struct phase *phase)
{
    uint32_t count = UINT32_C(1) << bit;

    phase_begin(plan, phase);
    add_range(plan, phase, phase_add(plan, phase, true, bit, 0), rank & ~(count - 1), count);
    add_range(plan, phase, phase_add(plan, phase, false, bit, 0), (rank ^ count) & ~(count - 1),
              count);
}

static void whole_exchange(const struct plan *plan, uint32_t bit, struct phase *phase)
{
    phase_begin(plan, phase);
    phase->is_guarded = true;
    phase_add(plan, phase, true, bit, 0);
    phase_add(plan, phase, false, bit, 0)->reduce_steps = 1;
}

/* The part of halving-doubling and recursive doubling between the folds. */
static void cube_step(const struct plan *plan, uint32_t rank, uint32_t index, struct phase *phase)
{
    uint32_t bits = layout_dimensions(power_below(plan->layout->ranks));

    if (plan->op == RUN_ALL_GATHER)
        doubling_step(plan, rank, index, phase);
    else if (plan->item->library == LIBRARY_RECURSIVE_DOUBLING)
        whole_exchange(plan, index, phase);
    else if (index < bits)
        halving_step(plan, rank, bits - 1 - index, phase);
    else
        doubling_step(plan, rank, index - bits, phase);
}

static bool cube_phase(const struct plan *plan, uint32_t rank, uint32_t thread, uint32_t index,
                       struct phase *phase)
{
    uint32_t power = power_below(plan->layout->ranks);
    bool is_both = plan->op == RUN_ALL_REDUCE && plan->item->library == LIBRARY_HALVING_DOUBLING;
    uint32_t steps = layout_dimensions(power) * (is_both ? 2 : 1);

    (void)thread;
    if (plan->op == RUN_ALL_TO_ALL)
        return pairwise_phase(plan, rank, index, phase);
    if (index == 0 || index == steps + 1)
        fold_phase(plan, rank, index == 0, phase);
    else if (rank < power)
        cube_step(plan, rank, index - 1, phase);
    else
        phase_begin(plan, phase);
    return index <= steps + 1;
}

static bool tree_phase(const struct plan *plan, uint32_t rank, uint32_t thread, uint32_t index,
                       struct phase *phase)
{
    uint32_t n = plan->layout->ranks;
    uint32_t root = plan->op == RUN_BROADCAST ? plan->item->root : 0;
    uint32_t place = (rank + n - root) % n;
    bool is_up = plan->op == RUN_ALL_REDUCE && index == 0;
    uint32_t lane = 0;

    (void)thread;
    phase_begin(plan, phase);
    phase->is_gated = true;
    phase->is_shared_send = !is_up;
    /* Children hang on the bits below the lowest one of the own place, the parent on that one. */
    for (; (place >> lane & 1) == 0 && lane < plan->layout->lanes; lane++) {
        if ((place | UINT32_C(1) << lane) < n)
            phase_add(plan, phase, !is_up, lane, 0)->reduce_steps = is_up;
    }
    if (place > 0)
        phase_add(plan, phase, is_up, lane, 0);
    return index == 0 || (index == 1 && plan->op == RUN_ALL_REDUCE);
}

static plan_phase_fn *phase_of(enum run_library library)
{
    switch (library) {
    case LIBRARY_RING:
        return ring_phase;
    case LIBRARY_MESH:
        return mesh_phase;
    case LIBRARY_RECURSIVE_DOUBLING:
    case LIBRARY_HALVING_DOUBLING:
        return cube_phase;
    case LIBRARY_BINOMIAL_TREE:
        return tree_phase;
    case LIBRARY_JACCL_MESH:
    case LIBRARY_JACCL_RING:
    case LIBRARY_TCP_RING:
    case LIBRARY_VERBS:
    case LIBRARY_TCP:
    case LIBRARY_COUNT:
        break;
    }
    return NULL;
}

static bool check_power(const struct plan *plan, struct err *reterr)
{
    uint32_t n = plan->layout->ranks;
    bool needs_power = plan->layout->shape == LAYOUT_CUBE &&
                       (plan->op == RUN_ALL_GATHER || plan->op == RUN_REDUCE_SCATTER);

    if (!needs_power || power_below(n) == n)
        return true;
    return err_set(reterr, ERR_CONFLICT, plan->item->pos,
                   "%s of %s needs a power of two of machines, not %u", run_op_name(plan->item->op),
                   run_library_name(plan->item->library), n);
}

bool plan_make_textbook(struct plan *plan, struct err *reterr)
{
    const struct run_item *item = plan->item;
    uint32_t depth = item->depth ? item->depth : TEXTBOOK_DEPTH;

    plan->phase = phase_of(item->library);
    plan->staging = PLAN_STAGED;
    plan->chunk = item->chunk.bytes ? item->chunk.bytes : TEXTBOOK_CHUNK;
    plan->depth = plan_fit_depth(plan, plan->chunk, depth);
    plan->depth_max = plan->depth;
    plan->is_queue_bound = plan->depth < depth;
    plan->stream_max = 2 * plan->layout->lanes;
    if (plan->chunk % plan->element != 0)
        return err_set(reterr, ERR_RANGE, item->pos,
                       "a chunk of %llu B is not a whole number of %s elements",
                       (unsigned long long)plan->chunk, dtype_name(plan->dtype));
    if (plan->depth == 0)
        return err_set(reterr, ERR_RANGE, item->pos,
                       "a chunk of %llu B has more frames than a queue holds (%lld)",
                       (unsigned long long)plan->chunk,
                       (long long)plan->params->v[PARAM_RDMA_QUEUE_FRAMES].value);
    if (plan->depth < depth && item->depth)
        plan->note = "the depth is limited by the frames that a queue holds";
    return check_power(plan, reterr);
}
