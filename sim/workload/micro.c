/* SPDX-License-Identifier: Apache-2.0 */
/*
 * DOC: Point-to-point benchmarks
 *
 * What perftest, ibv_uc_pingpong, ping and iperf measure, over raw verbs or over TCP:
 *
 * - ping_pong: `from` sends, `to` answers; latency is half of the round trip unless the whole is
 *   asked for. Receives were posted before the clock started, as these tools do.
 * - stream: `count` messages with `depth` outstanding, in one direction or both. The receiver keeps
 *   as many receives posted as its queue holds, up to RX_DEPTH.
 * - send_recv: one transfer cut into chunks; machines in between forward chunk by chunk, each at
 *   the cost of a poll, a post of a receive and a post of a send.
 *
 * The buffers are the application's own: nothing is copied.
 */
#include <stdbool.h>
#include <stdint.h>

#include "sim/base/err.h"
#include "sim/base/units.h"
#include "sim/fabric/fabric.h"
#include "sim/fabric/param.h"
#include "sim/workload/layout.h"
#include "sim/workload/plan.h"
#include "sim/workload/run.h"

#define STREAM_DEPTH   16U  /* perftest's customary small depth */
#define RX_DEPTH       512U /* perftest's receive queue */
#define TRANSFER_CHUNK UINT64_C(65536)
#define TRANSFER_DEPTH 8U

static uint32_t receive_depth(const struct plan *plan)
{
    return plan->layout->kind == FABRIC_QP_IP ? plan->depth
                                              : plan_fit_depth(plan, plan->chunk, RX_DEPTH);
}

static bool ping_pong_phase(const struct plan *plan, uint32_t rank, uint32_t thread, uint32_t index,
                            struct phase *phase)
{
    uint32_t lane = rank == 0;

    (void)thread;
    phase_begin(plan, phase);
    phase->is_gated = rank == 1;
    phase_add(plan, phase, false, lane, 0)->depth = receive_depth(plan);
    /* The answer waits for the whole message, whatever pieces it came in. */
    phase->gate_unit = phase_add(plan, phase, true, lane, 0)->per_step;
    return index == 0;
}

static bool stream_phase(const struct plan *plan, uint32_t rank, uint32_t thread, uint32_t index,
                         struct phase *phase)
{
    uint32_t lane = rank == 0;

    (void)thread;
    phase_begin(plan, phase);
    if (rank == 1 || plan->item->is_duplex)
        phase_add(plan, phase, false, lane, 0)->depth = receive_depth(plan);
    if (rank == 0 || plan->item->is_duplex)
        phase_add(plan, phase, true, lane, 0);
    for (uint32_t i = 0; i < phase->stream_count; i++)
        phase->streams[i].steps = (uint32_t)plan->item->count;
    return index == 0;
}

static bool transfer_phase(const struct plan *plan, uint32_t rank, uint32_t thread, uint32_t index,
                           struct phase *phase)
{
    (void)thread;
    return phase_forward(plan, rank, index, phase);
}

static void set_phase(struct plan *plan)
{
    plan->phase = transfer_phase;
    if (plan->op == RUN_PING_PONG)
        plan->phase = ping_pong_phase;
    if (plan->op == RUN_STREAM)
        plan->phase = stream_phase;
}

static void make_tcp(struct plan *plan)
{
    plan->chunk = param_size(plan->params, PARAM_IP_SEGMENT).bytes;
    plan->depth = (uint32_t)plan->params->v[PARAM_IP_WINDOW].value;
    if (plan->op == RUN_STREAM && plan->item->depth) {
        uint64_t messages = plan->item->depth * u64_div_ceil(plan->bytes, plan->chunk);

        plan->depth = messages < plan->depth ? (uint32_t)messages : plan->depth;
    }
}

/* Largest message of a benchmark: as given, unless a queue cannot hold it. */
static uint64_t message_bytes(const struct plan *plan)
{
    uint64_t frame = param_size(plan->params, PARAM_RDMA_FRAME).bytes;
    uint64_t most = (uint64_t)plan->params->v[PARAM_RDMA_QUEUE_FRAMES].value * frame;

    if (plan->op == RUN_SEND_RECV)
        return plan->item->chunk.bytes ? plan->item->chunk.bytes : TRANSFER_CHUNK;
    return plan->bytes < most ? plan->bytes : most;
}

static bool make_verbs(struct plan *plan, struct err *reterr)
{
    const struct run_item *item = plan->item;
    uint32_t depth = item->op == RUN_SEND_RECV ? TRANSFER_DEPTH : STREAM_DEPTH;

    if (item->depth)
        depth = item->depth;
    plan->chunk = message_bytes(plan);
    plan->depth = plan_fit_depth(plan, plan->chunk, depth);
    plan->is_queue_bound =
        plan->depth < depth || (item->op != RUN_SEND_RECV && plan->chunk < plan->bytes);
    plan->has_posted_ahead = item->op != RUN_SEND_RECV;
    if (plan->depth == 0)
        return err_set(reterr, ERR_RANGE, item->pos,
                       "a message of %llu B has more frames than a queue holds (%lld)",
                       (unsigned long long)plan->chunk,
                       (long long)plan->params->v[PARAM_RDMA_QUEUE_FRAMES].value);
    if (plan->depth < depth && item->depth)
        plan->note = "the depth is limited by the frames that a queue holds";
    return true;
}

bool plan_make_micro(struct plan *plan, struct err *reterr)
{
    const struct run_item *item = plan->item;

    set_phase(plan);
    plan->staging = PLAN_ZERO_COPY;
    plan->stream_max = 2;
    if (item->op == RUN_STREAM && (item->count == 0 || item->count > UINT32_MAX))
        return err_set(reterr, ERR_RANGE, item->pos, "a stream has 1 to %u messages, not %llu",
                       UINT32_MAX, (unsigned long long)item->count);
    if (plan->layout->kind == FABRIC_QP_IP)
        make_tcp(plan);
    else if (!make_verbs(plan, reterr))
        return false;
    plan->depth_max = receive_depth(plan);
    if (plan->depth > plan->depth_max)
        plan->depth_max = plan->depth;
    return true;
}
