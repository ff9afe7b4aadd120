/* SPDX-License-Identifier: Apache-2.0 */
/*
 * DOC: MLX's TCP ring
 *
 * The ring back end over sockets (ml-explore/mlx, mlx/distributed/ring/ring.cpp, read at 02fb1ba,
 * 2026): the vector is cut into at most 2 W pieces, one for each wire and direction, fewer when a
 * piece would be below n * 256 KiB; every piece runs its own ring of 2 (n - 1) steps in a thread.
 * The cut is even over all wires, whatever they carry, so the slowest cable decides. A segment of
 * a piece travels in packets of half a segment, between 32,768 elements and 8 MiB; a packet is
 * summed when it is here, while the next one is under way. all_gather waits after every step.
 *
 * On the wire a packet is cut into segments of `ip.segment` bytes; the socket keeps `ip.window` of
 * them in flight. Socket copies are part of the IP stack; only the sums cost CPU time of their own.
 */
#include <stdbool.h>
#include <stdint.h>

#include "sim/base/units.h"
#include "sim/fabric/param.h"
#include "sim/workload/layout.h"
#include "sim/workload/plan.h"
#include "sim/workload/run.h"

#define PIECE_BYTES_MIN     UINT64_C(262144)
#define PACKET_ELEMENTS_MIN UINT64_C(32768)
#define PACKET_BYTES_MAX    (UINT64_C(8) << 20)

/* Bytes of a piece: of the vector, or of every rank's block. */
static uint64_t piece_share(const struct plan *plan)
{
    uint64_t whole = plan->op == RUN_ALL_GATHER ? plan->block_bytes : plan->bytes;

    return plan_share(plan, whole, plan->pieces);
}

static uint64_t packet_messages(const struct plan *plan, uint64_t block)
{
    uint64_t bytes = block / 2 < PACKET_BYTES_MAX ? block / 2 : PACKET_BYTES_MAX;

    if (bytes < PACKET_ELEMENTS_MIN * plan->element)
        bytes = PACKET_ELEMENTS_MIN * plan->element;
    return u64_div_ceil(bytes, plan->chunk);
}

/* Lanes and blocks of one way around the ring, from step `step` on. */
static void add_way(const struct plan *plan, uint32_t rank, bool is_right, uint32_t step,
                    struct phase *phase)
{
    uint32_t n = plan->layout->ranks;
    uint32_t sent = is_right ? (rank + n - step % n) % n : (rank + step) % n;
    uint32_t received = is_right ? (sent + n - 1) % n : (sent + 1) % n;

    phase_add(plan, phase, true, is_right ? 0 : 1, sent)->stride = is_right ? n - 1 : 1;
    phase_add(plan, phase, false, is_right ? 1 : 0, received)->stride = is_right ? n - 1 : 1;
}

static void all_reduce_phase(const struct plan *plan, uint32_t rank, uint32_t thread,
                             struct phase *phase)
{
    uint32_t n = plan->layout->ranks;
    uint64_t piece = piece_share(plan);
    uint64_t end = (thread + 1) * piece;
    uint64_t packet;

    phase->origin = thread * piece;
    phase->limit = end < plan->bytes ? end : plan->bytes;
    phase_cut(phase, plan_share(plan, piece, n), n);
    packet = packet_messages(plan, phase->block_bytes);
    phase->is_gated = true;
    phase->gate_back = 1;
    phase->gate_unit = packet;
    add_way(plan, rank, thread % 2 == 0, 0, phase);
    for (uint32_t i = 0; i < 2; i++) {
        phase->streams[i].steps = 2 * (n - 1);
        phase->streams[i].reduce_steps = n - 1;
        if (2 * packet < phase->streams[i].depth)
            phase->streams[i].depth = (uint32_t)(2 * packet);
    }
}

static bool chain_phase(const struct plan *plan, uint32_t rank, uint32_t thread, uint32_t index,
                        struct phase *phase)
{
    uint64_t slice = plan_share(plan, plan->bytes, plan->layout->wires);

    phase_begin(plan, phase);
    stream_cut(phase, phase_add(plan, phase, rank == 0, rank == 0, 0), thread * slice, slice);
    return index == 0;
}

static bool ring_phase(const struct plan *plan, uint32_t rank, uint32_t thread, uint32_t index,
                       struct phase *phase)
{
    uint64_t piece;

    if (plan->op == RUN_SEND_RECV)
        return chain_phase(plan, rank, thread, index, phase);
    if (thread >= plan->pieces)
        return false;
    phase_begin(plan, phase);
    if (plan->op == RUN_ALL_REDUCE) {
        all_reduce_phase(plan, rank, thread, phase);
        return index == 0;
    }
    piece = piece_share(plan);
    phase_cut(phase, plan->block_bytes, plan->layout->ranks);
    add_way(plan, rank, thread % 2 == 0, index, phase);
    stream_cut(phase, &phase->streams[0], thread * piece, piece);
    stream_cut(phase, &phase->streams[1], thread * piece, piece);
    return index + 1 < plan->layout->ranks;
}

void plan_make_tcp_ring(struct plan *plan)
{
    uint64_t whole = plan->op == RUN_ALL_GATHER ? plan->block_bytes : plan->bytes;
    uint64_t ranks = plan->op == RUN_ALL_REDUCE ? plan->layout->ranks : 1;
    uint64_t pieces = whole / (ranks * PIECE_BYTES_MIN);

    plan->phase = ring_phase;
    plan->staging = PLAN_REDUCE_ONLY;
    plan->chunk = param_size(plan->params, PARAM_IP_SEGMENT).bytes;
    /* A segment is at least one element, however short the user made it. */
    if (plan->chunk < plan->element)
        plan->chunk = plan->element;
    plan->chunk -= plan->chunk % plan->element;
    plan->depth = (uint32_t)plan->params->v[PARAM_IP_WINDOW].value;
    plan->depth_max = plan->depth;
    plan->stream_max = 2;
    plan->pieces = plan->layout->threads;
    if (pieces < plan->pieces)
        plan->pieces = pieces ? (uint32_t)pieces : 1;
}
