/* SPDX-License-Identifier: Apache-2.0 */
/*
 * DOC: Executor
 *
 * Each thread of each rank is a server with a clock of its own. It begins a phase by posting
 * receives and sends, buffer by buffer; after that it only reacts to completions, first come first
 * served. Handling one costs a poll; a received chunk is then reduced or copied, its buffer is
 * posted again, and sends that waited for it or for a free buffer are staged and posted. Whatever
 * the thread does takes its time in this order, so a post carries the thread's clock, not the
 * engine's.
 *
 * Machines with one thread handle a completion when it comes, even while the thread is still busy
 * with the one before: the clock runs ahead, and the result is that of a queue in order of arrival.
 * Where several threads share a machine that would reserve its memory bandwidth too early, so
 * completions wait in the thread's inbox and the thread wakes up by an event of its own.
 *
 * Invariants: receives are posted before the sends of the same buffer; at most `depth` messages of
 * a stream are posted and not complete; nothing is allocated while a repetition runs, except when
 * bytes are carried or an inbox grows.
 * Cost: O(streams of the phase) a completion, two steps for a ring.
 */
#include "sim/workload/exchange.h"

#include <assert.h>
#include <stddef.h>
#include <stdlib.h>

#include "sim/base/mem.h"
#include "sim/core/engine.h"
#include "sim/fabric/cluster.h"
#include "sim/fabric/model.h"
#include "sim/workload/run.h"
#include "sim/workload/verify.h"

/* Events of the exchange's own, counted from x->kind. */
enum own_event {
    OWN_WAKE,  /* worker: its clock has come, the inbox is not empty */
    OWN_RETRY, /* worker: a queue had no room for a post */
    OWN_ACK,   /* owner of a lane: a segment was acknowledged */
    OWN_COUNT
};

void exchange_connect(struct fabric *fabric, struct layout *layout,
                      enum fabric_send_completion completion)
{
    uint32_t threads = layout->ranks * layout->threads;

    for (uint32_t i = 0; i < threads; i++) {
        for (uint32_t k = 0; k < layout->lanes; k++) {
            struct lane *lane = layout_lane(layout, i, k);
            struct lane *peer;

            if (lane->peer == ID_NONE || lane->qp.ix != ID_NONE)
                continue;
            peer = layout_lane(layout, lane->peer, lane->peer_lane);
            lane->qp = fabric_create_qp(fabric, layout->kind, layout->hosts[i / layout->threads],
                                        &lane->path);
            peer->qp = fabric_create_qp(fabric, layout->kind,
                                        layout->hosts[lane->peer / layout->threads], &peer->path);
            assert(lane->qp.ix != ID_NONE && peer->qp.ix != ID_NONE);
            fabric_set_send_completion(fabric, lane->qp, completion);
            fabric_set_send_completion(fabric, peer->qp, completion);
            fabric_connect_qp(fabric, lane->qp, peer->qp);
        }
    }
}

/* Queue pairs of one layout have consecutive numbers: finds the least and names their owners. */
static void map_owners(struct exchange *x, const struct layout *layout)
{
    x->first_qp = ID_NONE;
    for (uint32_t i = 0; i < x->worker_count * layout->lanes; i++) {
        if (layout->lane[i].qp.ix < x->first_qp)
            x->first_qp = layout->lane[i].qp.ix;
    }
    x->owner_count = layout->lane_ends;
    x->owners = mem_alloc_zeroed(x->owner_count, sizeof *x->owners);
    for (uint32_t i = 0; i < x->worker_count * layout->lanes; i++) {
        uint32_t qp = layout->lane[i].qp.ix;

        if (qp != ID_NONE)
            x->owners[qp - x->first_qp] = (struct lane_owner){i / layout->lanes, i % layout->lanes};
    }
}

static void init_worker(struct worker *w, const struct layout *layout, uint32_t stream_max)
{
    w->phase.streams = mem_alloc_zeroed(stream_max, sizeof *w->phase.streams);
    w->flows = mem_alloc_zeroed(stream_max, sizeof *w->flows);
    w->lane_flow = mem_alloc_zeroed(2 * (size_t)layout->lanes, sizeof *w->lane_flow);
    w->early = mem_alloc_zeroed(layout->lanes, sizeof *w->early);
    w->in_flight = mem_alloc_zeroed(layout->lanes, sizeof *w->in_flight);
    w->inbox_capacity = 64;
    w->inbox = mem_alloc_zeroed(w->inbox_capacity, sizeof *w->inbox);
}

uint32_t exchange_event_max(const struct layout *layout, uint32_t depth_max)
{
    uint32_t acks = layout->kind == FABRIC_QP_IP ? layout->lane_ends * depth_max : 0;

    return 2 * layout->ranks * layout->threads + acks;
}

static void init_ranks(struct exchange *x, const struct layout *layout)
{
    x->ranks = mem_alloc_zeroed(layout->ranks, sizeof *x->ranks);
    for (uint32_t i = 0; i < layout->ranks; i++) {
        const struct chip_model *chip = x->cluster->hosts[layout->hosts[i].ix].model->chip;

        x->ranks[i].host = layout->hosts[i];
        if (chip) {
            x->ranks[i].copy = chip->thread_copy;
            x->ranks[i].reduce = chip->thread_reduce;
        }
    }
}

void exchange_init(struct exchange *x, struct fabric *fabric, const struct exchange_config *config)
{
    const struct layout *layout = config->layout;
    const struct param_set *params = config->params;

    *x = (struct exchange){.fabric = fabric, .cluster = config->cluster, .params = params};
    x->is_eager = layout->threads == 1 && !config->has_inboxes;
    x->is_ip = layout->kind == FABRIC_QP_IP;
    x->kind = FABRIC_KIND_USER + config->item * OWN_COUNT;
    x->worker_count = layout->ranks * layout->threads;
    x->workers = mem_alloc_zeroed(x->worker_count, sizeof *x->workers);
    init_ranks(x, layout);
    for (uint32_t i = 0; i < x->worker_count; i++) {
        x->workers[i].rank = i / layout->threads;
        x->workers[i].thread = i % layout->threads;
        init_worker(&x->workers[i], layout, config->stream_max);
    }
    map_owners(x, layout);
    if (x->is_ip) {
        x->ack = param_span(params, PARAM_IP_LATENCY);
    } else {
        x->post_send = param_span(params, PARAM_RDMA_POST_SEND);
        x->post_recv = param_span(params, PARAM_RDMA_POST_RECV);
        x->poll = param_span(params, PARAM_RDMA_POLL);
    }
}

void exchange_done(struct exchange *x)
{
    for (uint32_t i = 0; i < x->worker_count; i++) {
        free(x->workers[i].phase.streams);
        free(x->workers[i].flows);
        free(x->workers[i].lane_flow);
        free(x->workers[i].early);
        free(x->workers[i].in_flight);
        free(x->workers[i].inbox);
    }
    free(x->workers);
    free(x->ranks);
    free(x->owners);
    *x = (struct exchange){0};
}

static void spend(struct worker *w, enum spent what, simspan span)
{
    w->free_at = simtime_add(w->free_at, span);
    w->spent[what] = simspan_add(w->spent[what], span);
}

/* Work on memory: what the thread can do alone, unless others need the memory too. */
static void work(struct exchange *x, struct worker *w, enum spent what, uint64_t bytes,
                 bitrate rate)
{
    simtime end;

    if (rate.bps == 0 || bytes == 0)
        return;
    end = fabric_host_work(x->fabric, x->ranks[w->rank].host, w->free_at, (bytecount){bytes}, rate);
    spend(w, what, simtime_since(end, w->free_at));
}

static void begin_step(struct cursor *c, const struct phase *phase, const struct stream *s)
{
    uint64_t offset;

    c->k = 0;
    c->left = phase_slice(phase, s, c->block, &offset);
}

static inline uint64_t message_bytes(const struct cursor *c, const struct phase *phase)
{
    return c->left < phase->chunk ? c->left : phase->chunk;
}

static inline void advance(struct cursor *c, const struct phase *phase, const struct stream *s)
{
    c->index++;
    c->left -= message_bytes(c, phase);
    if (++c->k < s->per_step)
        return;
    c->step++;
    c->block += s->stride;
    if (c->block >= phase->blocks)
        c->block -= phase->blocks;
    begin_step(c, phase, s);
}

/* The message at a cursor as the verifier wants it. */
static struct verify_part part_at(const struct worker *w, const struct flow *flow,
                                  const struct cursor *c)
{
    struct verify_part part = {.rank = w->rank};

    part.bytes = phase_message(&w->phase, flow->stream, c->block, c->k, &part.offset);
    return part;
}

static inline bytecount wire_length(const struct phase *phase, uint64_t bytes)
{
    return (bytecount){phase->has_full_buffers ? phase->chunk : bytes};
}

static inline void post_recv(struct exchange *x, struct worker *w, struct flow *flow, simtime when)
{
    uint64_t bytes = message_bytes(&flow->post, &w->phase);
    enum fabric_post result =
        fabric_post_recv(x->fabric, flow->qp, when, 0, wire_length(&w->phase, bytes));

    assert(result == FABRIC_POSTED);
    (void)result;
    advance(&flow->post, &w->phase, flow->stream);
}

/* The machine that reads the file has the next bytes no earlier than its disk. */
static void wait_for_file(struct exchange *x, struct worker *w, uint64_t bytes)
{
    struct rank_state *rank = &x->ranks[w->rank];
    simtime ready;

    rank->file_bytes += bytes;
    ready = simtime_add(x->start, bitrate_send_span(param_rate(x->params, PARAM_STORAGE_RATE),
                                                    (bytecount){rank->file_bytes}));
    if (ready.ps > w->free_at.ps)
        spend(w, SPENT_OUTER, simtime_since(ready, w->free_at));
}

/* Copies the next chunk of a stream into its buffer. */
static inline void stage(struct exchange *x, struct worker *w, const struct flow *flow)
{
    uint64_t bytes = message_bytes(&flow->post, &w->phase);

    if (x->has_file && w->rank == 0)
        wait_for_file(x, w, bytes);
    if (x->is_staged)
        work(x, w, SPENT_COPY, bytes, x->ranks[w->rank].copy);
}

/* Tries again when a message of this length may have left. */
static void retry_later(struct exchange *x, struct worker *w, bytecount length)
{
    simspan wire =
        bitrate_send_span(param_rate(x->params, PARAM_RDMA_GOODPUT), (bytecount){length.bytes + 1});

    if (w->is_retrying)
        return;
    w->is_retrying = true;
    engine_push(fabric_engine(x->fabric), simtime_add(w->free_at, wire), x->kind + OWN_RETRY,
                (uint32_t)(w - x->workers));
}

static void verify_post(struct exchange *x, const struct worker *w, const struct flow *flow)
{
    struct verify_part part = part_at(w, flow, &flow->post);
    const struct lane *lane =
        layout_lane(x->plan->layout, (uint32_t)(w - x->workers), flow->stream->lane);

    verify_send(x->verify, &part, w->phase.is_from_input, lane->peer, lane->peer_lane);
}

/* Posts a staged message; false when the queue has no room for it now. */
static inline bool post_send(struct exchange *x, struct worker *w, struct flow *flow)
{
    bytecount length = wire_length(&w->phase, message_bytes(&flow->post, &w->phase));

    spend(w, SPENT_SOFTWARE, x->post_send);
    if (fabric_post_send(x->fabric, flow->qp, w->free_at, 0, length) != FABRIC_POSTED) {
        retry_later(x, w, length);
        return false;
    }
    if (x->verify)
        verify_post(x, w, flow);
    if (x->is_ip)
        w->in_flight[flow->stream->lane]++;
    x->messages++;
    advance(&flow->post, &w->phase, flow->stream);
    return true;
}

/* Messages that every receive of the phase must have brought before the next of a gated stream. */
static inline uint64_t gate_of(const struct phase *phase, const struct stream *s,
                               const struct cursor *c)
{
    uint64_t unit = phase->gate_unit;
    uint64_t end = c->k + 1;

    if (c->step < phase->gate_back)
        return 0;
    if (unit != 1) {
        end = (c->k / unit + 1) * unit;
        end = end < s->per_step ? end : s->per_step;
    }
    return c->index - c->k - phase->gate_back * s->per_step + end;
}

/* Has everything come that the next message of a gated stream is made of? */
static inline bool is_gate_open(const struct worker *w, const struct flow *flow)
{
    uint64_t needed = gate_of(&w->phase, flow->stream, &flow->post);
    const struct flow *end = w->flows + w->phase.stream_count;

    for (const struct flow *in = w->flows; in < end; in++) {
        if (in->take.index < needed && !in->stream->is_send)
            return false;
    }
    return true;
}

/* May the next message be staged? It needs a buffer, and what it is made of. A socket's buffers are
 * taken until the other side acknowledges. */
static inline bool can_stage(const struct exchange *x, const struct worker *w,
                             const struct flow *flow, uint64_t limit)
{
    const struct stream *s = flow->stream;
    uint64_t taken = x->is_ip ? w->in_flight[s->lane] : flow->staged - flow->arrived;

    if (flow->staged >= flow->count || flow->staged >= limit || taken >= s->depth)
        return false;
    return !w->phase.is_gated || is_gate_open(w, flow);
}

/* Posts what is staged and not yet posted on any lane; false when a queue was full. */
static bool post_staged(struct exchange *x, struct worker *w)
{
    struct flow *end = w->flows + w->phase.stream_count;

    for (struct flow *flow = w->flows; flow < end; flow++) {
        if (flow->stream->is_send && flow->post.index < flow->staged && !post_send(x, w, flow))
            return false;
    }
    return true;
}

/* All sends of the phase go in step: a buffer is filled once and again when all have left. */
static void pump_shared(struct exchange *x, struct worker *w, uint64_t limit)
{
    struct flow *end = w->flows + w->phase.stream_count;

    while (post_staged(x, w)) {
        struct flow *first = NULL;

        for (struct flow *flow = w->flows; flow < end; flow++) {
            if (!flow->stream->is_send)
                continue;
            if (!can_stage(x, w, flow, limit))
                return;
            if (!first)
                first = flow;
        }
        if (!first)
            return;
        stage(x, w, first);
        for (struct flow *flow = first; flow < end; flow++)
            flow->staged += flow->stream->is_send;
    }
}

static void pump_one(struct exchange *x, struct worker *w, struct flow *flow, uint64_t limit)
{
    while (flow->post.index < flow->staged || can_stage(x, w, flow, limit)) {
        if (flow->post.index == flow->staged) {
            stage(x, w, flow);
            flow->staged++;
        }
        if (!post_send(x, w, flow))
            return;
    }
}

/* Stages and posts what may be sent, at most up to message `limit` of each stream. */
static void pump(struct exchange *x, struct worker *w, uint64_t limit)
{
    struct flow *end = w->flows + w->phase.stream_count;

    if (w->phase.is_shared_send) {
        pump_shared(x, w, limit);
        return;
    }
    for (struct flow *flow = w->flows; flow < end; flow++) {
        if (flow->stream->is_send)
            pump_one(x, w, flow, limit);
    }
}

static void write_file(struct exchange *x, const struct worker *w, uint64_t bytes)
{
    struct rank_state *rank = &x->ranks[w->rank];

    rank->file_free = simtime_add(simtime_max(rank->file_free, w->free_at),
                                  bitrate_send_span(param_rate(x->params, PARAM_STORAGE_RATE),
                                                    (bytecount){bytes}));
}

/* What the application does with a received chunk. */
static inline void use_chunk(struct exchange *x, struct worker *w, const struct flow *flow,
                             uint64_t bytes)
{
    const struct rank_state *rank = &x->ranks[w->rank];

    if (flow->take.step < flow->stream->reduce_steps)
        work(x, w, SPENT_REDUCE, bytes, rank->reduce);
    else if (x->is_staged)
        work(x, w, SPENT_COPY, bytes, rank->copy);
    if (x->receiver_check.bps)
        work(x, w, SPENT_CHECK, bytes, x->receiver_check);
    if (x->has_file && w->rank + 1 == x->plan->layout->ranks)
        write_file(x, w, bytes);
}

static void verify_take(struct exchange *x, const struct worker *w, const struct flow *flow)
{
    struct verify_part part = part_at(w, flow, &flow->take);
    bool is_reduced = flow->take.step < flow->stream->reduce_steps;

    verify_receive(x->verify, &part, (uint32_t)(w - x->workers), flow->stream->lane, is_reduced,
                   flow->damaged != 0);
}

/* Handles the oldest arrived chunk of a stream and posts its buffer again. */
static void take_one(struct exchange *x, struct worker *w, struct flow *flow)
{
    use_chunk(x, w, flow, message_bytes(&flow->take, &w->phase));
    if (x->verify)
        verify_take(x, w, flow);
    flow->damaged -= flow->damaged > 0;
    advance(&flow->take, &w->phase, flow->stream);
    if (!x->is_ip && flow->post.index < flow->count) {
        spend(w, SPENT_SOFTWARE, x->post_recv);
        post_recv(x, w, flow, w->free_at);
    }
    if (flow->take.index == flow->count)
        w->open--;
}

/* The phase's first send flow: the guard of its receives. */
static const struct flow *first_send(const struct worker *w)
{
    const struct flow *flow = w->flows;

    while (!flow->stream->is_send)
        flow++;
    return flow;
}

static void take_guarded(struct exchange *x, struct worker *w, struct flow *flow)
{
    const struct flow *guard = first_send(w);

    while (flow->take.index < flow->arrived && guard->staged > flow->take.index)
        take_one(x, w, flow);
}

/* Reduces chunk by chunk, each when it is here from everyone, in the order of the lanes. */
static void take_in_order(struct exchange *x, struct worker *w)
{
    struct flow *end = w->flows + w->phase.stream_count;

    for (;;) {
        for (const struct flow *flow = w->flows; flow < end; flow++) {
            if (!flow->stream->is_send && flow->take.index == flow->arrived)
                return;
        }
        for (struct flow *flow = w->flows; flow < end; flow++) {
            if (!flow->stream->is_send)
                take_one(x, w, flow);
        }
    }
}

static inline void take(struct exchange *x, struct worker *w, struct flow *flow)
{
    if (w->phase.is_ordered) {
        take_in_order(x, w);
    } else if (w->phase.is_guarded) {
        take_guarded(x, w, flow);
    } else {
        while (flow->take.index < flow->arrived)
            take_one(x, w, flow);
    }
}

static void finish(struct exchange *x, struct worker *w)
{
    struct rank_state *rank = &x->ranks[w->rank];

    if (rank->file_free.ps > w->free_at.ps)
        spend(w, SPENT_OUTER, simtime_since(rank->file_free, w->free_at));
    spend(w, SPENT_OUTER, x->after);
    w->is_done = true;
    if (--x->running == 0) {
        x->is_finished = true;
        x->is_stopped = true;
    }
}

/* Posts the first receives and sends, buffer by buffer. */
static void fill_buffers(struct exchange *x, struct worker *w)
{
    bool is_ahead = x->plan->has_posted_ahead && w->index == 1;
    uint32_t depth = 1;
    simtime ahead = {x->start.ps - param_span(x->params, PARAM_RDMA_CREDIT_LATENCY).ps};

    for (uint32_t i = 0; i < depth; i++) {
        for (uint32_t f = 0; f < w->phase.stream_count; f++) {
            const struct stream *s = &w->phase.streams[f];

            depth = s->depth > depth ? s->depth : depth;
            if (s->is_send || x->is_ip || i >= s->depth || i >= w->flows[f].count)
                continue;
            if (!is_ahead)
                spend(w, SPENT_SOFTWARE, x->post_recv);
            post_recv(x, w, &w->flows[f], is_ahead ? ahead : w->free_at);
        }
        pump(x, w, i + 1);
    }
}

/* Looks for the next phase that has streams; false when there is none. */
static bool load_phase(struct exchange *x, struct worker *w)
{
    do {
        if (!x->plan->phase(x->plan, w->rank, w->thread, w->index++, &w->phase))
            return false;
    } while (w->phase.stream_count == 0);
    for (uint32_t i = 0; i < 2 * x->plan->layout->lanes; i++)
        w->lane_flow[i] = -1;
    w->open = w->phase.stream_count;
    for (uint32_t f = 0; f < w->phase.stream_count; f++) {
        const struct stream *s = &w->phase.streams[f];

        w->lane_flow[2 * s->lane + s->is_send] = (int32_t)f;
        w->flows[f] = (struct flow){.stream = s, .count = s->steps * s->per_step};
        w->flows[f].qp = layout_lane(x->plan->layout, (uint32_t)(w - x->workers), s->lane)->qp;
        w->flows[f].post.block = s->block;
        begin_step(&w->flows[f].post, &w->phase, s);
        w->flows[f].take = w->flows[f].post;
    }
    return true;
}

/* What came before its phase (IP needs no posted receive). */
static void take_early(struct exchange *x, struct worker *w)
{
    for (uint32_t f = 0; f < w->phase.stream_count; f++) {
        const struct stream *s = &w->phase.streams[f];
        struct flow *flow = &w->flows[f];

        if (s->is_send || w->early[s->lane] == 0)
            continue;
        flow->arrived = w->early[s->lane] < flow->count ? w->early[s->lane] : flow->count;
        w->early[s->lane] -= flow->arrived;
        take(x, w, flow);
        pump(x, w, UINT64_MAX);
    }
}

/* Moves a worker on until it has something to wait for, or is done. */
static void run_phases(struct exchange *x, struct worker *w)
{
    while (w->open == 0 && !w->is_done) {
        if (!load_phase(x, w)) {
            finish(x, w);
            return;
        }
        fill_buffers(x, w);
        take_early(x, w);
    }
}

static inline void on_arrival(struct exchange *x, struct worker *w, struct flow *flow,
                              bool is_damaged)
{
    flow->arrived++;
    flow->damaged += is_damaged;
    x->damaged += is_damaged;
    take(x, w, flow);
    if (w->phase.is_gated)
        pump(x, w, UINT64_MAX);
}

/* What waited for our own chunk to be staged. */
static void take_all_guarded(struct exchange *x, struct worker *w)
{
    for (uint32_t i = 0; i < w->phase.stream_count; i++) {
        if (!w->flows[i].stream->is_send)
            take_guarded(x, w, &w->flows[i]);
    }
}

static inline void on_sent(struct exchange *x, struct worker *w, struct flow *flow)
{
    w->sent_at = w->free_at;
    if (++flow->arrived == flow->count)
        w->open--;
    if (w->phase.is_shared_send)
        pump_shared(x, w, UINT64_MAX);
    else
        pump_one(x, w, flow, UINT64_MAX);
    if (w->phase.is_guarded)
        take_all_guarded(x, w);
}

static void handle(struct exchange *x, struct worker *w, const struct inbox_entry *e)
{
    int32_t f = w->lane_flow[2 * e->lane + !e->is_recv];
    struct flow *flow = &w->flows[f < 0 ? 0 : f];

    w->free_at = simtime_max(e->at, w->free_at);
    spend(w, SPENT_SOFTWARE, x->poll);
    if (e->is_recv)
        spend(w, SPENT_SOFTWARE, x->wake);
    if (f < 0 || (e->is_recv && flow->arrived == flow->count)) {
        w->early[e->lane] += e->is_recv;
        return;
    }
    if (e->is_recv)
        on_arrival(x, w, flow, e->is_damaged);
    else
        on_sent(x, w, flow);
    if (w->open == 0)
        run_phases(x, w);
}

static void put_in_inbox(struct worker *w, const struct inbox_entry *e)
{
    if (w->inbox_tail - w->inbox_head == w->inbox_capacity) {
        struct inbox_entry *bigger =
            mem_alloc_zeroed(2 * (size_t)w->inbox_capacity, sizeof *bigger);

        for (uint32_t i = 0; i < w->inbox_capacity; i++)
            bigger[i] = w->inbox[(w->inbox_head + i) % w->inbox_capacity];
        free(w->inbox);
        w->inbox = bigger;
        w->inbox_head = 0;
        w->inbox_tail = w->inbox_capacity;
        w->inbox_capacity *= 2;
    }
    w->inbox[w->inbox_tail++ % w->inbox_capacity] = *e;
}

static void wake_later(struct exchange *x, struct worker *w)
{
    if (w->is_waking)
        return;
    w->is_waking = true;
    engine_push(fabric_engine(x->fabric), w->free_at, x->kind + OWN_WAKE,
                (uint32_t)(w - x->workers));
}

/* The receiver's stack tells the sender's, whatever the receiver's thread is doing. */
static void acknowledge(struct exchange *x, const struct lane_owner *receiver)
{
    const struct lane *lane = layout_lane(x->plan->layout, receiver->worker, receiver->lane);
    const struct lane *sender = layout_lane(x->plan->layout, lane->peer, lane->peer_lane);
    struct engine *engine = fabric_engine(x->fabric);

    engine_push(engine, simtime_add(engine_now(engine), x->ack), x->kind + OWN_ACK,
                sender->qp.ix - x->first_qp);
}

void exchange_completed(void *ctx, const struct fabric_completion *completion)
{
    struct exchange *x = ctx;
    uint32_t ix = completion->qp.ix - x->first_qp;
    struct inbox_entry e = {.at = completion->at,
                            .is_recv = completion->is_recv,
                            .is_damaged =
                                completion->is_corrupt || completion->status != FABRIC_OK};
    struct worker *w;

    if (completion->qp.ix < x->first_qp || ix >= x->owner_count)
        return;
    w = &x->workers[x->owners[ix].worker];
    e.lane = x->owners[ix].lane;
    if (x->is_ip && e.is_recv)
        acknowledge(x, &x->owners[ix]);
    if (x->outside && *x->outside)
        x->is_stopped = true;
    if (x->is_eager || (w->inbox_head == w->inbox_tail && w->free_at.ps <= e.at.ps)) {
        handle(x, w, &e);
        return;
    }
    put_in_inbox(w, &e);
    wake_later(x, w);
}

static void on_wake(struct exchange *x, struct worker *w, simtime now)
{
    w->is_waking = false;
    while (w->inbox_head != w->inbox_tail && w->free_at.ps <= now.ps) {
        struct inbox_entry e = w->inbox[w->inbox_head++ % w->inbox_capacity];

        handle(x, w, &e);
    }
    if (w->inbox_head != w->inbox_tail)
        wake_later(x, w);
}

static void on_retry(struct exchange *x, struct worker *w, simtime now)
{
    w->is_retrying = false;
    if (w->is_done)
        return;
    w->free_at = simtime_max(w->free_at, now);
    pump(x, w, UINT64_MAX);
}

static void on_ack(struct exchange *x, const struct lane_owner *owner, simtime now)
{
    struct worker *w = &x->workers[owner->worker];
    int32_t f = w->lane_flow[2 * owner->lane + 1];

    w->in_flight[owner->lane]--;
    if (w->is_done || f < 0 || w->flows[f].staged == w->flows[f].count)
        return;
    w->free_at = simtime_max(w->free_at, now);
    pump(x, w, UINT64_MAX);
}

void exchange_user_event(void *ctx, uint32_t kind, uint32_t arg)
{
    struct exchange *x = ctx;
    simtime now = engine_now(fabric_engine(x->fabric));

    /* Acknowledgements and retries of an item that is over mean nothing any more. */
    if (kind < x->kind || kind >= x->kind + OWN_COUNT)
        return;
    switch ((enum own_event)(kind - x->kind)) {
    case OWN_WAKE:
        on_wake(x, &x->workers[arg], now);
        break;
    case OWN_RETRY:
        on_retry(x, &x->workers[arg], now);
        break;
    case OWN_ACK:
        on_ack(x, &x->owners[arg], now);
        break;
    case OWN_COUNT:
        break;
    }
}

/* GPU and file work before and after, which every worker waits for. */
static void set_outer(struct exchange *x)
{
    const struct run_item *item = x->plan->item;
    bytecount size = {x->plan->op == RUN_ALL_GATHER ? x->plan->block_bytes : x->plan->bytes};
    simspan handoff = {0};

    x->before = x->after = (simspan){0};
    if (item->handoff == HANDOFF_FAST)
        handoff = param_span(x->params, PARAM_GPU_HANDOFF_FAST);
    if (item->handoff == HANDOFF_SLOW)
        handoff = param_span(x->params, PARAM_GPU_HANDOFF_SLOW);
    x->before.ps = handoff.ps / 2;
    x->after.ps = handoff.ps - x->before.ps;
    if (item->has_gpu_copy) {
        simspan copy = bitrate_send_span(param_rate(x->params, PARAM_GPU_COPY), size);

        x->before = simspan_add(x->before, copy);
        x->after = simspan_add(x->after, copy);
    }
    if (item->has_storage && x->plan->op != RUN_SEND_RECV) {
        simspan file = bitrate_send_span(param_rate(x->params, PARAM_STORAGE_RATE), size);

        x->before = simspan_add(x->before, file);
        x->after = simspan_add(x->after, file);
    }
}

/* What completions ask of the plan. */
static void remember_plan(struct exchange *x)
{
    const struct run_item *item = x->plan->item;

    x->is_staged = x->plan->staging == PLAN_STAGED;
    x->has_file = item->has_storage && x->plan->op == RUN_SEND_RECV;
    x->receiver_check = item->receiver_check;
    x->wake = (simspan){0};
    if (item->is_cold && x->is_ip)
        x->wake = param_span(x->params, PARAM_IP_IDLE_WAKEUP);
}

static void note_use(struct exchange *x)
{
    const struct run_item *item = x->plan->item;

    x->has_used[PARAM_RDMA_POST_SEND] |= x->post_send.ps > 0;
    x->has_used[PARAM_RDMA_POST_RECV] |= x->post_recv.ps > 0;
    x->has_used[PARAM_RDMA_POLL] |= x->poll.ps > 0;
    x->has_used[PARAM_GPU_HANDOFF_FAST] |= item->handoff == HANDOFF_FAST;
    x->has_used[PARAM_GPU_HANDOFF_SLOW] |= item->handoff == HANDOFF_SLOW;
    x->has_used[PARAM_GPU_COPY] |= item->has_gpu_copy;
    x->has_used[PARAM_STORAGE_RATE] |= item->has_storage;
    x->has_used[PARAM_IP_SEGMENT] |= x->is_ip && x->plan->bytes > x->plan->chunk;
    x->has_used[PARAM_IP_WINDOW] |= x->is_ip && x->plan->bytes > x->plan->chunk;
    x->has_used[PARAM_IP_IDLE_WAKEUP] |= x->is_ip && item->is_cold;
}

void exchange_start(struct exchange *x, const struct plan *plan, simtime when)
{
    assert(x->running == 0);
    x->plan = plan;
    x->is_finished = x->is_stopped = false;
    x->messages = x->damaged = 0;
    x->start = when;
    /* Receives that were posted ahead are known to the other side when the clock starts. */
    if (plan->has_posted_ahead)
        x->start = simtime_add(when, param_span(x->params, PARAM_RDMA_CREDIT_LATENCY));
    set_outer(x);
    remember_plan(x);
    note_use(x);
    x->running = x->worker_count;
    for (uint32_t i = 0; i < plan->layout->ranks; i++) {
        x->ranks[i].file_bytes = 0;
        x->ranks[i].file_free = (simtime){0};
    }
    for (uint32_t i = 0; i < x->worker_count; i++) {
        struct worker *w = &x->workers[i];

        w->free_at = x->start;
        w->index = w->open = 0;
        w->is_done = false;
        w->sent_at = x->start;
        for (uint32_t s = 0; s < SPENT_COUNT; s++)
            w->spent[s] = (simspan){0};
        spend(w, SPENT_OUTER, x->before);
        run_phases(x, w);
    }
}

const struct worker *exchange_slowest(const struct exchange *x)
{
    const struct worker *slowest = &x->workers[0];

    for (uint32_t i = 1; i < x->worker_count; i++) {
        if (x->workers[i].free_at.ps > slowest->free_at.ps)
            slowest = &x->workers[i];
    }
    return slowest;
}
