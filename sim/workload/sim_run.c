/* SPDX-License-Identifier: Apache-2.0 */
/*
 * DOC: Running a scenario
 *
 * All items share one fabric and one time line. A repetition starts when every thread of the one
 * before is idle; its latency is the finish of the last thread minus the common start, so it does
 * not depend on a barrier's own cost. Percentiles are exact: all latencies are kept and sorted.
 *
 * Shares describe the thread that finished last in the median repetition. What it spent on copies,
 * reductions, software and the GPU is counted as it happens; credit is the longest time that one of
 * its queue pairs stood still for want of a receive, at most the thread's idle time; the wire is
 * the rest. So the shares add up to the latency exactly.
 */
#include <assert.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include "sim/base/arena.h"
#include "sim/base/err.h"
#include "sim/base/hist.h"
#include "sim/base/ids.h"
#include "sim/base/mem.h"
#include "sim/base/units.h"
#include "sim/core/engine.h"
#include "sim/core/trace.h"
#include "sim/fabric/cluster.h"
#include "sim/fabric/fabric.h"
#include "sim/fabric/param.h"
#include "sim/workload/closed.h"
#include "sim/workload/exchange.h"
#include "sim/workload/layout.h"
#include "sim/workload/plan.h"
#include "sim/workload/run.h"
#include "sim/workload/verify.h"

#define FABRIC_ALIGN 64U

/* One repetition that finished. */
struct sample {
    simspan latency;
    uint32_t number;
    struct run_shares shares;
    simspan check;   /* part of shares.software */
    simspan sending; /* until the sender's last completion */
};

struct runner {
    const struct sim_input *input;
    const struct sim_watch *watch; /* may be NULL */
    struct sim_result *result;
    struct err *reterr;
    struct arena scratch;
    struct layout *layouts; /* [item_count], in scratch */
    uint32_t *stream_max;   /* [item_count], in scratch */
    void *mem;              /* owned: the fabric's block */
    struct fabric *fabric;
    struct exchange x;
    struct plan plan;
    struct trace trace;
    uint64_t *use; /* [links][bins], in the result's arena */
    simspan bin_width;
    simspan *credit_before; /* owned; by owner, at the start of the repetition */
    simtime next_start;
    uint64_t done, total; /* repetitions */
};

/* Checks all items and finds what the fabric has to hold. */
static bool prepare_item(struct runner *r, size_t ix, struct fabric_config *config)
{
    const struct sim_input *input = r->input;
    const struct run_item *item = &input->items[ix];
    struct layout *layout = &r->layouts[ix];
    uint32_t depth_max = 0;

    if (!layout_make(item, input->cluster, &r->scratch, layout, r->reterr))
        return false;
    config->qp_capacity += layout->lane_ends;
    for (size_t s = 0; s < item->size_count; s++) {
        struct plan plan;

        if (!plan_make(item, item->sizes[s], layout, input->cluster, input->params, &plan,
                       r->reterr))
            return false;
        if (item->is_verified && !verify_fits(&plan))
            return err_set(r->reterr, ERR_LIMIT, item->pos,
                           "%llu B on each of %u ranks are too many to carry real bytes",
                           (unsigned long long)plan.bytes, layout->ranks);
        if (plan.depth_max > config->wr_capacity)
            config->wr_capacity = plan.depth_max;
        if (plan.depth_max > depth_max)
            depth_max = plan.depth_max;
        if (plan.stream_max > r->stream_max[ix])
            r->stream_max[ix] = plan.stream_max;
    }
    config->user_events += exchange_event_max(layout, depth_max);
    r->total += (uint64_t)item->repeat * item->size_count;
    return true;
}

static void schedule_faults(struct runner *r)
{
    for (size_t i = 0; i < r->input->fault_count; i++) {
        const struct fault *fault = &r->input->faults[i];

        if (fault->kind == FAULT_RATE) {
            fabric_schedule_rate(r->fabric, fault->at, fault->cable, fault->rate_forward,
                                 fault->rate_reverse);
            continue;
        }
        for (uint32_t c = 0; c < r->input->cluster->cable_count; c++) {
            if (fault->cable.ix == ID_NONE || fault->cable.ix == c)
                fabric_set_frame_faults(r->fabric, (cable_id){c}, fault->loss_ppb,
                                        fault->corrupt_ppb);
        }
    }
}

static bool prepare(struct runner *r)
{
    const struct sim_input *input = r->input;
    struct fabric_config config = {
        .cluster = input->cluster,
        .params = input->params,
        .evq = input->evq,
        .seed = input->seed,
        .has_jitter = input->has_jitter,
        .unmatched = input->unmatched,
        .single_frames = input->single_frames,
        .user_events = 1,
        .wr_capacity = 1,
        .fault_capacity = (uint32_t)input->fault_count + 1,
    };
    uintptr_t at;

    r->layouts = arena_alloc_array(&r->scratch, input->item_count, sizeof *r->layouts);
    r->stream_max = arena_alloc_array(&r->scratch, input->item_count, sizeof *r->stream_max);
    for (size_t i = 0; i < input->item_count; i++) {
        if (!prepare_item(r, i, &config))
            return false;
        if (input->items[i].send_completion == FABRIC_SEND_WHEN_QUEUED)
            config.early_qps += r->layouts[i].lane_ends;
    }
    r->mem = mem_alloc_zeroed(fabric_mem_size(&config) + FABRIC_ALIGN, 1);
    at = ((uintptr_t)r->mem + FABRIC_ALIGN - 1) / FABRIC_ALIGN * FABRIC_ALIGN;
    // NOLINTNEXTLINE(performance-no-int-to-ptr): the block has to begin at a multiple of 64
    r->fabric = fabric_init((void *)at, &config);
    for (size_t i = 0; i < input->item_count; i++)
        exchange_connect(r->fabric, &r->layouts[i], input->items[i].send_completion);
    schedule_faults(r);
    return true;
}

/* Adds neighbouring bins of one link. */
static void halve_bins(uint64_t *use, size_t bins)
{
    for (size_t i = 0; i < bins; i++) {
        uint64_t low = 2 * i < bins ? use[2 * i] : 0;
        uint64_t high = 2 * i + 1 < bins ? use[2 * i + 1] : 0;

        use[i] = low + high;
    }
}

/* Doubles the width of the bins until `to` lies inside them. */
static void widen_bins(struct runner *r, simtime to)
{
    uint32_t bins = r->input->use_bins;
    uint32_t links = fabric_link_count(r->fabric);

    while (to.ps > r->bin_width.ps * (int64_t)bins) {
        for (uint32_t link = 0; link < links; link++)
            halve_bins(r->use + (uint64_t)link * bins, bins);
        r->bin_width.ps *= 2;
    }
}

// NOLINTNEXTLINE(readability-function-size): the shape of a trace callback
static void record_use(void *ctx, link_id link, qp_id qp, simtime from, simtime to, uint64_t frames,
                       bytecount payload)
{
    struct runner *r = ctx;
    uint64_t *use = r->use + (uint64_t)link.ix * r->input->use_bins;

    (void)qp;
    (void)frames;
    (void)payload;
    widen_bins(r, to);
    while (from.ps < to.ps) {
        int64_t bin = from.ps / r->bin_width.ps;
        simtime end = simtime_min(to, (simtime){(bin + 1) * r->bin_width.ps});

        use[bin] += (uint64_t)(end.ps - from.ps);
        from = end;
    }
}

static void prepare_use(struct runner *r)
{
    uint32_t links = fabric_link_count(r->fabric);

    if (r->input->use_bins == 0)
        return;
    r->bin_width.ps = PS_PER_NS;
    r->use =
        arena_alloc_array(&r->result->arena, (size_t)links * r->input->use_bins, sizeof *r->use);
    r->trace = (struct trace){.ctx = r, .link_busy = record_use};
    r->result->use =
        (struct link_use){.bin_count = r->input->use_bins, .link_count = links, .busy_ps = r->use};
}

static bool is_stop_wanted(const struct runner *r)
{
    return r->watch && r->watch->stop && *r->watch->stop;
}

static void remember_credits(struct runner *r)
{
    for (uint32_t i = 0; i < r->x.owner_count; i++)
        r->credit_before[i] = fabric_qp_counters(r->fabric, (qp_id){r->x.first_qp + i}).credit_wait;
}

/* The longest wait for credits among the queue pairs of a worker, in this repetition. */
static simspan longest_credit(const struct runner *r, const struct worker *w)
{
    simspan longest = {0};

    for (uint32_t k = 0; k < r->plan.layout->lanes; k++) {
        qp_id qp = layout_lane(r->plan.layout, (uint32_t)(w - r->x.workers), k)->qp;
        int64_t wait;

        if (qp.ix == ID_NONE)
            continue;
        wait = fabric_qp_counters(r->fabric, qp).credit_wait.ps -
               r->credit_before[qp.ix - r->x.first_qp].ps;
        if (wait > longest.ps)
            longest.ps = wait;
    }
    return longest;
}

/* Halves a ping-pong's round trip; the wire takes what integers lose. */
static void halve(struct sample *s)
{
    struct run_shares *p = &s->shares;

    s->latency.ps /= 2;
    p->copy.ps /= 2;
    p->reduce.ps /= 2;
    p->software.ps /= 2;
    p->credit.ps /= 2;
    p->handoff.ps /= 2;
    s->check.ps /= 2;
}

static struct sample measure(const struct runner *r, uint32_t number)
{
    bool is_ping = r->plan.op == RUN_PING_PONG;
    const struct worker *w = is_ping ? &r->x.workers[0] : exchange_slowest(&r->x);
    struct sample s = {.number = number, .latency = simtime_since(w->free_at, r->x.start)};
    struct run_shares *p = &s.shares;
    int64_t idle;

    p->copy = w->spent[SPENT_COPY];
    p->reduce = w->spent[SPENT_REDUCE];
    s.check = w->spent[SPENT_CHECK];
    p->software = simspan_add(w->spent[SPENT_SOFTWARE], s.check);
    p->handoff = w->spent[SPENT_OUTER];
    idle = s.latency.ps - p->copy.ps - p->reduce.ps - p->software.ps - p->handoff.ps;
    p->credit = longest_credit(r, w);
    if (p->credit.ps > idle)
        p->credit.ps = idle;
    s.sending = simtime_since(r->x.workers[0].sent_at, r->x.start);
    if (is_ping && !r->plan.item->is_round_trip)
        halve(&s);
    p->wire.ps =
        s.latency.ps - p->copy.ps - p->reduce.ps - p->software.ps - p->credit.ps - p->handoff.ps;
    return s;
}

enum outcome {
    OUTCOME_FINISHED,
    OUTCOME_STOPPED,
    OUTCOME_DEADLOCK
};

static enum outcome run_once(struct runner *r)
{
    const struct fabric_hooks hooks = {.ctx = &r->x,
                                       .completed = exchange_completed,
                                       .user_event = exchange_user_event,
                                       .trace = r->use ? &r->trace : NULL};

    if (r->x.verify)
        verify_reset(r->x.verify);
    remember_credits(r);
    exchange_start(&r->x, &r->plan, r->next_start);
    if (!r->x.is_finished)
        fabric_run_until(r->fabric, simtime_never(), &hooks, &r->x.is_stopped);
    if (r->x.is_finished)
        return OUTCOME_FINISHED;
    return is_stop_wanted(r) ? OUTCOME_STOPPED : OUTCOME_DEADLOCK;
}

static int compare_samples(const void *a, const void *b)
{
    const struct sample *x = a;
    const struct sample *y = b;

    if (x->latency.ps != y->latency.ps)
        return x->latency.ps < y->latency.ps ? -1 : 1;
    return x->number < y->number ? -1 : x->number > y->number;
}

/* Numerator and denominator of the customary bus factor: bytes that cross a rank's links for each
 * byte of the size. */
static bitrate bus_rate(const struct run_item *item, bitrate rate, uint32_t n)
{
    uint64_t over = 1;
    uint64_t under = 1;

    if (item->op == RUN_ALL_REDUCE || item->op == RUN_BARRIER) {
        over = 2 * (uint64_t)(n - 1);
        under = n;
    } else if (item->op == RUN_REDUCE_SCATTER || item->op == RUN_ALL_TO_ALL) {
        over = n - 1;
        under = n;
    } else if (item->op == RUN_ALL_GATHER) {
        over = n - 1;
    }
    return (bitrate){(uint64_t)((u128)rate.bps * over / under)};
}

/* The bound if some rates had no limit: what everything else costs. */
static simspan bound_without(const struct runner *r, const struct run_result *row,
                             const enum param_id *rates, size_t count)
{
    struct param_set fast = *r->input->params;

    for (size_t i = 0; i < count; i++)
        fast.v[rates[i]].value = INT64_C(1000000000000000000);
    return closed_bound(row->item, row->size, r->input->cluster, &fast);
}

/* Names what the bound would be lower without; the wire's own latency when nothing else is. */
static const char *wire_limit(const struct runner *r, const struct run_result *row)
{
    static const enum param_id rates[] = {PARAM_STORAGE_RATE,  PARAM_IP_STACK_DIRECTION,
                                          PARAM_IP_STACK_PORT, PARAM_IP_STACK_HOST,
                                          PARAM_RDMA_GOODPUT,  PARAM_ETHERNET_10G_GOODPUT};
    int64_t latency = bound_without(r, row, rates, 6).ps;

    if (row->bound.ps - latency < latency)
        return "latency";
    if (bound_without(r, row, rates, 1).ps < row->bound.ps)
        return "storage";
    if (bound_without(r, row, rates + 1, 3).ps < row->bound.ps)
        return "IP stack";
    return "wire";
}

/* The largest share, in words. */
static const char *name_limit(const struct runner *r, const struct run_result *row,
                              const struct sample *s)
{
    const struct run_shares *p = &s->shares;
    const struct run_item *item = row->item;
    const char *outer = item->has_storage    ? "storage"
                        : item->has_gpu_copy ? "GPU copy"
                                             : "GPU hand-off";
    const struct {
        simspan span;
        const char *name;
    } parts[] = {
        {p->wire, NULL},
        {p->copy, r->plan.layout->threads > 1 ? "host staging" : "staging copies"},
        {p->reduce, r->plan.layout->threads > 1 ? "host staging" : "reduction"},
        {p->credit, "credits"},
        {{p->software.ps - s->check.ps}, "posts and polls"},
        {s->check, "receiver's check"},
        {p->handoff, outer},
    };
    size_t largest = 0;

    for (size_t i = 1; i < sizeof parts / sizeof *parts; i++) {
        if (parts[i].span.ps > parts[largest].span.ps)
            largest = i;
    }
    return largest == 0 ? wire_limit(r, row) : parts[largest].name;
}

static simspan mean_of(const struct sample *samples, uint32_t count)
{
    u128 sum = 0;

    for (uint32_t i = 0; i < count; i++)
        sum += (uint64_t)samples[i].latency.ps;
    return (simspan){(int64_t)(sum / count)};
}

/* Fills a row from its samples, which it sorts. */
static void summarize(struct runner *r, struct run_result *row, struct sample *samples)
{
    const struct run_item *item = row->item;
    uint32_t count = row->samples;
    uint64_t bytes = row->size.bytes * (item->op == RUN_STREAM ? item->count : 1);
    simspan *sorted;
    const struct sample *median;

    if (count == 0)
        return;
    qsort(samples, count, sizeof *samples, compare_samples);
    sorted = arena_alloc_array(&r->scratch, count, sizeof *sorted);
    for (uint32_t i = 0; i < count; i++)
        sorted[i] = samples[i].latency;
    median = &samples[(count - 1) / 2];
    row->latency_min = sorted[0];
    row->latency_median = median->latency;
    row->latency_p99 = span_percentile(sorted, count, 990);
    row->latency_max = sorted[count - 1];
    row->latency_mean = mean_of(samples, count);
    row->shares = median->shares;
    row->algbw = bitrate_from_transfer((bytecount){bytes}, row->latency_median);
    row->busbw = bus_rate(item, row->algbw, row->nodes);
    if (item->op == RUN_STREAM)
        row->sender_rate = bitrate_from_transfer((bytecount){bytes}, median->sending);
    row->limit = name_limit(r, row, median);
}

static void report_progress(struct runner *r)
{
    r->done++;
    if (r->watch && r->watch->progress)
        r->watch->progress(r->watch->ctx, r->done, r->total);
}

/* Runs the repetitions of one row; false when nothing more may run. */
static bool run_samples(struct runner *r, struct run_result *row, struct sample *samples)
{
    for (uint32_t i = 0; i < row->item->repeat; i++) {
        enum outcome outcome = is_stop_wanted(r) ? OUTCOME_STOPPED : run_once(r);

        if (outcome == OUTCOME_STOPPED) {
            r->result->is_partial = true;
            return false;
        }
        row->messages = r->x.messages;
        row->damaged += r->x.damaged;
        if (outcome == OUTCOME_DEADLOCK) {
            row->is_deadlock = r->result->is_deadlock = true;
            row->deadlock_text = exchange_explain(&r->x, &r->result->arena);
            row->limit = "deadlock";
            return false;
        }
        samples[row->samples++] = measure(r, i);
        r->next_start = exchange_slowest(&r->x)->free_at;
        if (r->x.verify && !verify_is_right(r->x.verify))
            row->is_wrong = r->result->is_wrong = true;
        report_progress(r);
    }
    return true;
}

/* Without real bytes nobody would see that what arrived is wrong. */
static const char *make_note(struct runner *r, const struct run_result *row)
{
    const char *first = r->plan.note ? r->plan.note : "";
    const char *separator = r->plan.note ? "; " : "";

    if (row->damaged > 0)
        return arena_format(&r->result->arena,
                            "%s%s%llu message%s arrived with frames lost or changed: the data is "
                            "wrong, and a real program may have stopped there",
                            first, separator, (unsigned long long)row->damaged,
                            row->damaged == 1 ? "" : "s");
    return r->plan.note ? arena_format(&r->result->arena, "%s", first) : NULL;
}

static bool run_row(struct runner *r, const struct run_item *item, const struct layout *layout,
                    bytecount size)
{
    struct run_result *row = &r->result->rows[r->result->row_count++];
    struct sample *samples = mem_alloc_zeroed(item->repeat, sizeof *samples);
    bool is_ready =
        plan_make(item, size, layout, r->input->cluster, r->input->params, &r->plan, r->reterr);
    bool is_going;

    assert(is_ready);
    (void)is_ready;
    *row =
        (struct run_result){.item = item,
                            .size = size,
                            .nodes = (uint32_t)item->node_count,
                            .began = r->next_start,
                            .limit = "",
                            .bound = closed_bound(item, size, r->input->cluster, r->input->params)};
    r->result->had_effect[PARAM_RDMA_QUEUE_FRAMES] |= r->plan.is_queue_bound;
    r->x.verify = item->is_verified ? verify_new(&r->plan) : NULL;
    is_going = run_samples(r, row, samples);
    row->ended = r->next_start;
    row->note = make_note(r, row);
    verify_free(r->x.verify);
    summarize(r, row, samples);
    free(samples);
    return is_going;
}

static bool run_item(struct runner *r, size_t ix)
{
    const struct run_item *item = &r->input->items[ix];
    bool is_going = true;

    struct exchange_config config = {.cluster = r->input->cluster,
                                     .params = r->input->params,
                                     .layout = &r->layouts[ix],
                                     .stream_max = r->stream_max[ix],
                                     .item = (uint32_t)ix,
                                     .has_inboxes = r->input->has_inboxes};

    exchange_init(&r->x, r->fabric, &config);
    r->x.outside = r->watch ? r->watch->stop : NULL;
    r->credit_before = mem_alloc_zeroed(r->x.owner_count, sizeof *r->credit_before);
    for (size_t s = 0; s < item->size_count && is_going; s++)
        is_going = run_row(r, item, &r->layouts[ix], item->sizes[s]);
    for (int p = 0; p < PARAM_COUNT; p++)
        r->result->had_effect[p] |= r->x.has_used[p];
    free(r->credit_before);
    exchange_done(&r->x);
    return is_going;
}

static void collect(struct runner *r)
{
    struct sim_result *result = r->result;
    struct engine *engine = fabric_engine(r->fabric);

    result->events = engine_event_count(engine);
    result->digest = engine_digest(engine);
    result->end = simtime_max(r->next_start, engine_now(engine));
    result->use.bin_width = r->bin_width;
    for (int p = 0; p < PARAM_COUNT; p++)
        result->had_effect[p] |= fabric_param_had_effect(r->fabric, (enum param_id)p);
    for (uint32_t link = 0; link < fabric_link_count(r->fabric); link++) {
        struct fabric_link_counters counters = fabric_link_counters(r->fabric, (link_id){link});

        result->frames += counters.frames;
        result->frames_lost += counters.lost;
        result->frames_corrupted += counters.corrupted;
    }
}

bool sim_run(const struct sim_input *input, const struct sim_watch *watch, struct sim_result *ret,
             struct err *reterr)
{
    struct runner r = {.input = input, .watch = watch, .result = ret, .reterr = reterr};
    size_t rows = 0;
    bool is_ready;

    *ret = (struct sim_result){0};
    arena_init(&ret->arena);
    arena_init(&r.scratch);
    for (size_t i = 0; i < input->item_count; i++)
        rows += input->items[i].size_count;
    ret->rows = arena_alloc_array(&ret->arena, rows, sizeof *ret->rows);
    is_ready = prepare(&r);
    if (is_ready) {
        prepare_use(&r);
        for (size_t i = 0; i < input->item_count; i++) {
            if (!run_item(&r, i))
                break;
        }
        collect(&r);
    }
    free(r.mem);
    arena_done(&r.scratch);
    if (!is_ready)
        sim_result_done(ret);
    return is_ready;
}

void sim_result_done(struct sim_result *result)
{
    arena_done(&result->arena);
    *result = (struct sim_result){0};
}
