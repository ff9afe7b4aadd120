/* SPDX-License-Identifier: Apache-2.0 */
/*
 * DOC: Closed forms
 *
 * LogGP with a latency and a credit window (docs/model.md, "Closed forms" and "Bounds"). With
 * l = o_s + L + o_r, G = 1/rate:
 *
 *   one message            l + m G
 *   chunks, w outstanding  chunk i starts when the link and a buffer are free; see closed_chunked
 *   pipelined ring         2 (n-1)/n S G + l
 *   one-shot mesh          l + S G
 *   two-shot mesh          2 (S/n) G + 2 l
 *
 * closed_bound adds them up along the phases of one rank of the plan that the engine runs. A phase
 * that drains costs at least l and its bytes on the busiest lane. A pipelined ring costs at least
 * what its link carries, and at least the way of the first chunk through all steps. A chain or a
 * tree costs the way of the first chunk over its depth, then the rest. Host copies, receives and
 * credits are left out, so that nothing on these cables can be faster. Where cables differ, ring
 * and mesh count the slowest one, which all their steps use, and everything else the fastest.
 */
#include "sim/workload/closed.h"

#include <stdbool.h>
#include <stddef.h>

#include "sim/base/arena.h"
#include "sim/base/err.h"
#include "sim/base/ids.h"
#include "sim/fabric/fabric.h"
#include "sim/fabric/model.h"
#include "sim/workload/layout.h"
#include "sim/workload/plan.h"

#define GOODPUT_LINE_BPS  UINT64_C(80000000000)
#define ETHERNET_LINE_BPS UINT64_C(10000000000)

simspan closed_message(const struct closed_params *p, bytecount m)
{
    return simspan_add(p->latency, bitrate_send_span(p->rate, m));
}

/*
 * Chunk i starts at max(start(i-1) + c G, start(i-w) + c G + round_trip). If w chunks fill the
 * round trip the link never idles; else they leave in volleys of w.
 */
simspan closed_chunked(const struct closed_params *p, bytecount m, bytecount c, uint32_t w,
                       simspan round_trip)
{
    uint64_t chunks = m.bytes ? u64_div_ceil(m.bytes, c.bytes) : 1;
    simspan wire = bitrate_send_span(p->rate, c);
    simspan volley = simspan_add(wire, round_trip);
    bytecount last = {m.bytes - (chunks - 1) * c.bytes};
    simspan start = simspan_mul(wire, chunks - 1);

    if (simspan_mul(wire, w).ps < volley.ps)
        start =
            simspan_add(simspan_mul(volley, (chunks - 1) / w), simspan_mul(wire, (chunks - 1) % w));
    return simspan_add(start, closed_message(p, last));
}

simspan closed_ring_all_reduce(const struct closed_params *p, bytecount s)
{
    bytecount sent = {2 * (uint64_t)(p->nodes - 1) * u64_div_ceil(s.bytes, p->nodes)};

    return closed_message(p, sent);
}

simspan closed_mesh_one_shot(const struct closed_params *p, bytecount s)
{
    return closed_message(p, s);
}

simspan closed_mesh_two_shot(const struct closed_params *p, bytecount s)
{
    bytecount shard = {u64_div_ceil(s.bytes, p->nodes)};

    return simspan_mul(closed_message(p, shard), 2);
}

/* What the bound of one item needs. */
struct bound {
    const struct plan *plan;
    const struct cluster *cluster;
    const struct param_set *params;
    simspan latency; /* least of all lanes */
    bitrate slowest;
    bitrate fastest;
};

static bitrate scale_rate(bitrate goodput, bitrate line, uint64_t line_of_goodput)
{
    return (bitrate){(uint64_t)((u128)goodput.bps * line.bps / line_of_goodput)};
}

/* Payload rate of a cable in the direction away from `from`. */
static bitrate cable_rate(const struct bound *b, cable_id id, host_id from)
{
    const struct cluster_cable *cable = &b->cluster->cables[id.ix];
    bitrate line = cable->a.host.ix == from.ix ? cable->rate_ab : cable->rate_ba;
    uint64_t frame = param_size(b->params, PARAM_RDMA_FRAME).bytes;
    bitrate rate;

    if (cable->model->kind == PORT_ETHERNET)
        return scale_rate(param_rate(b->params, PARAM_ETHERNET_10G_GOODPUT), line,
                          ETHERNET_LINE_BPS);
    rate = scale_rate(param_rate(b->params, PARAM_RDMA_GOODPUT), line, GOODPUT_LINE_BPS);
    if (b->plan->layout->kind == FABRIC_QP_IP) {
        uint64_t payload = frame - param_size(b->params, PARAM_IP_FRAME_HEADER).bytes;

        rate = scale_rate(rate, (bitrate){payload}, frame);
    }
    return rate;
}

static bitrate least_rate(bitrate a, bitrate b)
{
    return a.bps < b.bps ? a : b;
}

static bitrate path_rate(const struct bound *b, const struct cluster_path *path, host_id from)
{
    bitrate rate = cable_rate(b, path->cables[0], from);

    if (path->hops == 2) {
        const struct cluster_cable *first = &b->cluster->cables[path->cables[0].ix];

        rate = least_rate(rate, cable_rate(b, path->cables[1], cluster_peer(first, from).host));
    }
    if (b->plan->layout->kind == FABRIC_QP_IP)
        rate = least_rate(rate, param_rate(b->params, PARAM_IP_STACK_DIRECTION));
    return rate;
}

static simspan path_latency(const struct bound *b, const struct cluster_path *path)
{
    simspan metre = param_span(b->params, PARAM_CABLE_PROPAGATION);
    simspan sum = {0};

    for (uint32_t hop = 0; hop < path->hops; hop++) {
        uint32_t mm = b->cluster->cables[path->cables[hop].ix].model->length_mm;

        sum.ps += metre.ps * mm / 1000;
    }
    if (path->hops == 2)
        sum = simspan_add(sum, param_span(b->params, PARAM_HUB_LATENCY));
    if (b->plan->layout->kind == FABRIC_QP_IP) {
        sum = simspan_add(sum, param_span(b->params, PARAM_IP_LATENCY));
        if (b->plan->item->is_cold)
            sum = simspan_add(sum, param_span(b->params, PARAM_IP_IDLE_WAKEUP));
        return sum;
    }
    sum = simspan_add(sum, param_span(b->params, PARAM_RDMA_POST_SEND));
    sum = simspan_add(sum, param_span(b->params, PARAM_RDMA_LATENCY));
    return simspan_add(sum, param_span(b->params, PARAM_RDMA_POLL));
}

/* Looks at every lane for the extremes. */
static void measure_lanes(struct bound *b)
{
    const struct layout *l = b->plan->layout;
    uint64_t count = (uint64_t)l->ranks * l->threads * l->lanes;

    b->latency.ps = SIMTIME_NEVER_PS;
    b->slowest.bps = UINT64_MAX;
    for (uint64_t i = 0; i < count; i++) {
        const struct lane *lane = &l->lane[i];
        bitrate rate;
        simspan latency;

        if (lane->peer == ID_NONE)
            continue;
        rate = path_rate(b, &lane->path, l->hosts[i / l->lanes / l->threads]);
        latency = path_latency(b, &lane->path);
        b->slowest = least_rate(b->slowest, rate);
        if (rate.bps > b->fastest.bps)
            b->fastest = rate;
        if (latency.ps < b->latency.ps)
            b->latency = latency;
    }
}

static simspan span_max(simspan a, simspan b)
{
    return a.ps > b.ps ? a : b;
}

/* Bytes that a stream puts on the wire. */
static uint64_t stream_wire_bytes(const struct phase *phase, const struct stream *stream)
{
    uint64_t sum = 0;
    uint32_t block = stream->block;

    if (phase->has_full_buffers)
        return stream->steps * stream->per_step * phase->chunk;
    for (uint32_t step = 0; step < stream->steps; step++) {
        uint64_t offset;
        uint64_t last = phase_message(phase, stream, block, stream->per_step - 1, &offset);

        sum += (stream->per_step - 1) * phase->chunk + last;
        block = (block + stream->stride) % phase->blocks;
    }
    return sum;
}

/* What one cable carries away from rank 0 in a phase. */
struct load {
    uint32_t cable;
    uint64_t bytes;
};

static void add_load(struct load *loads, uint32_t *count, uint32_t cable, uint64_t bytes)
{
    uint32_t i = 0;

    while (i < *count && loads[i].cable != cable)
        i++;
    if (i == *count)
        loads[(*count)++] = (struct load){cable, 0};
    loads[i].bytes += bytes;
}

/*
 * Bytes on the busiest cable of rank 0 in its phases of that index, all its threads together: a
 * ring of two ranks sends both ways over one cable, and so does one whose machines hang on a
 * switch. Returns: false when there is no such phase. Leaves the first thread's phase in *phase.
 */
static bool busiest_load(const struct bound *b, uint32_t index, struct phase *phase,
                         struct load *loads, uint64_t *ret)
{
    const struct plan *plan = b->plan;
    uint32_t count = 0;
    bool is_any = false;

    *ret = 0;
    for (uint32_t thread = plan->layout->threads; thread-- > 0;) {
        bool is_there = plan->phase(plan, 0, thread, index, phase);

        for (uint32_t i = 0; is_there && i < phase->stream_count; i++) {
            const struct stream *s = &phase->streams[i];
            uint64_t bytes = stream_wire_bytes(phase, s);

            if (s->is_send)
                add_load(loads, &count,
                         layout_lane(plan->layout, thread, s->lane)->path.cables[0].ix, bytes);
            else if (bytes > *ret)
                *ret = bytes;
        }
        is_any = is_there;
    }
    for (uint32_t i = 0; i < count; i++)
        *ret = loads[i].bytes > *ret ? loads[i].bytes : *ret;
    return is_any;
}

/* Longest way through a binomial tree of n ranks: the most bits set in a number below n. */
static uint32_t tree_depth(uint32_t n)
{
    uint32_t most = 0;

    for (uint32_t v = 0; v < n; v++) {
        uint32_t bits = 0;

        for (uint32_t rest = v; rest; rest &= rest - 1)
            bits++;
        most = bits > most ? bits : most;
    }
    return most;
}

/* A pipelined phase: the first chunk over `hops` hops, then the rest of `last` bytes. */
static simspan pipeline_span(const struct bound *b, uint64_t hops, uint64_t chunk, uint64_t last)
{
    bytecount first = {chunk < last ? chunk : last};
    simspan hop = simspan_add(b->latency, bitrate_send_span(b->fastest, first));
    bytecount rest = {last - first.bytes};

    return simspan_add(simspan_mul(hop, hops), bitrate_send_span(b->fastest, rest));
}

static simspan gated_span(const struct bound *b, const struct phase *phase, uint64_t wire)
{
    const struct layout *l = b->plan->layout;
    simspan link = simspan_add(b->latency, bitrate_send_span(b->slowest, (bytecount){wire}));
    uint64_t hops = l->ranks - 1;
    uint64_t smallest = phase->limit - phase->origin;

    if (phase->gate_back == 1) {
        uint64_t others = (uint64_t)(phase->blocks - 1) * phase->block_bytes;

        smallest = smallest > others ? smallest - others : 0;
        smallest =
            smallest > phase->streams[0].slice_begin ? smallest - phase->streams[0].slice_begin : 0;
        if (smallest > phase->streams[0].slice_bytes)
            smallest = phase->streams[0].slice_bytes;
        hops = phase->streams[0].steps;
    } else {
        smallest = phase->streams[0].slice_bytes;
        if (l->shape == LAYOUT_CUBE)
            hops = tree_depth(l->ranks);
    }
    return span_max(link, pipeline_span(b, hops, phase->chunk * phase->gate_unit, smallest));
}

/* Sum over the phases of rank 0, which takes part in every one of them. */
static simspan phases_span(const struct bound *b, struct phase *phase, struct load *loads)
{
    const struct plan *plan = b->plan;
    bool is_all = plan->layout->shape == LAYOUT_RING || plan->layout->shape == LAYOUT_MESH;
    bitrate rate = is_all ? b->slowest : b->fastest;
    simspan sum = {0};
    uint64_t wire = 0;

    for (uint32_t index = 0; busiest_load(b, index, phase, loads, &wire); index++) {
        if (phase->stream_count == 0)
            continue;
        if (phase->is_gated)
            sum = simspan_add(sum, gated_span(b, phase, wire));
        else
            sum = simspan_add(sum,
                              simspan_add(b->latency, bitrate_send_span(rate, (bytecount){wire})));
    }
    return sum;
}

/* What the IP stacks must handle: bytes each way, on each port and in all. */
static simspan stack_span(const struct bound *b)
{
    const struct plan *plan = b->plan;
    uint64_t n = plan->layout->ranks;
    uint64_t sent = plan->bytes;
    uint64_t both = 1;
    simspan port;
    simspan host;

    if (plan->item->library == LIBRARY_TCP_RING && plan->op != RUN_SEND_RECV) {
        uint64_t steps = plan->op == RUN_ALL_REDUCE ? 2 * (n - 1) : n - 1;

        sent = plan->bytes / n * steps;
        both = 2;
    } else if (plan->op == RUN_STREAM) {
        sent = plan->bytes * plan->item->count;
        both = plan->item->is_duplex ? 2 : 1;
    }
    host = bitrate_send_span(param_rate(b->params, PARAM_IP_STACK_HOST), (bytecount){both * sent});
    /* A ring uses as many ports on each side; with two ranks the sides are one. */
    if (plan->item->library == LIBRARY_TCP_RING && n > 2)
        sent = sent / 2;
    port = bitrate_send_span(param_rate(b->params, PARAM_IP_STACK_PORT),
                             (bytecount){both * sent / plan->layout->wires});
    return span_max(port, host);
}

/* GPU and file work that no schedule can avoid. */
static simspan outer_span(const struct plan *plan, const struct param_set *params, bytecount size)
{
    simspan sum = {0};

    if (plan->item->handoff == HANDOFF_FAST)
        sum = param_span(params, PARAM_GPU_HANDOFF_FAST);
    if (plan->item->handoff == HANDOFF_SLOW)
        sum = param_span(params, PARAM_GPU_HANDOFF_SLOW);
    if (plan->item->has_gpu_copy)
        sum = simspan_add(
            sum, simspan_mul(bitrate_send_span(param_rate(params, PARAM_GPU_COPY), size), 2));
    return sum;
}

static simspan plan_bound(struct bound *b, bytecount size, struct arena *arena)
{
    struct phase phase = {.streams =
                              arena_alloc_array(arena, b->plan->stream_max, sizeof *phase.streams)};
    const struct layout *l = b->plan->layout;
    struct load *loads =
        arena_alloc_array(arena, (size_t)l->threads * b->plan->stream_max, sizeof *loads);
    simspan span;

    measure_lanes(b);
    if (b->plan->op == RUN_PING_PONG) {
        span = simspan_add(b->latency, bitrate_send_span(b->slowest, size));
        if (b->plan->item->is_round_trip)
            span = simspan_mul(span, 2);
        return span;
    }
    span = phases_span(b, &phase, loads);
    if (b->plan->layout->kind == FABRIC_QP_IP)
        span = span_max(span, stack_span(b));
    if (b->plan->item->has_storage)
        span = span_max(span, bitrate_send_span(param_rate(b->params, PARAM_STORAGE_RATE), size));
    return simspan_add(span, outer_span(b->plan, b->params, size));
}

/*
 * Returns: the bound; zero when the item cannot run on this cluster at all (sim_run says why).
 * Cost:    the phases of one rank and one look at every lane.
 */
simspan closed_bound(const struct run_item *item, bytecount size, const struct cluster *cluster,
                     const struct param_set *params)
{
    struct err err = {0};
    struct arena arena;
    struct layout layout;
    struct plan plan;
    simspan span = {0};

    arena_init(&arena);
    if (layout_make(item, cluster, &arena, &layout, &err) &&
        plan_make(item, size, &layout, cluster, params, &plan, &err)) {
        struct bound b = {.plan = &plan, .cluster = cluster, .params = params};

        span = plan_bound(&b, size, &arena);
    }
    arena_done(&arena);
    return span;
}
