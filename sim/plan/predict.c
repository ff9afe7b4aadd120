/* SPDX-License-Identifier: Apache-2.0 */
/*
 * DOC: Measurements as simulations
 *
 * A row of a measurement file says in words who measured what: "M4 Pro mini - M5 Max MBP", "raw
 * verbs both ways depth 60". This module decides what the words mean, by a few rules that hold for
 * all rows; there is no rule for a row. predict_hosts.c reads the hosts.
 *
 * stack: the library (`jaccl` with `ring` or without, `tcp`, or a library's own name), `fast-synch
 *        on` or `off`, `both ways`, `depth N`, a date of JACCL, `ping` (a sleeping receiver).
 *        MLX without a word about fast synchronisation means off, MLX's default; no MLX means that
 *        no GPU takes part.
 * sizes: a stream without a size sends 64 KiB messages, a round trip without one 64 bytes.
 *
 * What is compared: of messages up to 64 KiB the mean of REPEATS_SMALL repetitions with jitter, as
 * the published means are; of larger ones one repetition. Streams count at the receiver.
 *
 * The limit of a row is arithmetic on line rates alone: a message needs size / rate; in a
 * collective some machine must send (n-1)/n (all_reduce: twice) of the vector over its own cables.
 */
#include "sim/plan/predict.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "sim/base/ids.h"
#include "sim/base/units.h"
#include "sim/core/evq.h"
#include "sim/fabric/fabric.h"
#include "sim/plan/predict_parts.h"
#include "sim/plan/words.h"

#define REPEATS_SMALL UINT32_C(200)
#define SMALL_BYTES   UINT64_C(65536)
/* One message, or all of a stream; beyond this a row takes minutes. */
#define SIZE_LIMIT    (UINT64_C(16) * 1000 * 1000 * 1000)
#define STREAM_BYTES  (UINT64_C(64) << 20)
#define TCP_BYTES     (UINT64_C(256) << 20) /* longer, since a socket takes longer to fill */
#define STREAM_SIZE   UINT64_C(65536)
#define TCP_MESSAGE   (UINT64_C(1) << 20)
#define SMALL_MESSAGE UINT64_C(64)
/* perftest's depth in the published rows (hellas-ai/thunderbolt-ibverbs#27: "depth at most 32"). */
#define PERFTEST_DEPTH 32U
#define SEED           UINT64_C(1)

static bool is_over_ip(const struct measurement *row)
{
    static const char *const words[] = {"tcp", "ip", "iperf", "iperf3", "ping", NULL};

    return row->kind == MEASUREMENT_IP_BANDWIDTH || row->kind == MEASUREMENT_IP_ROUND_TRIP ||
           words_have_any(row->stack, words);
}

/* The library of a collective. Its own name wins over the words of a sentence. */
static bool find_library(const struct predict_maker *p, struct run_item *item)
{
    const char *stack = p->row->stack;
    size_t best = 0;

    for (uint32_t i = 0; i < LIBRARY_COUNT; i++) {
        const char *name = run_library_name((enum run_library)i);

        if (strchr(name, '-') && words_have(stack, name) && strlen(name) > best) {
            item->library = (enum run_library)i;
            best = strlen(name);
        }
    }
    if (best > 0)
        return true;
    if (words_have(stack, "jaccl"))
        item->library = words_have(stack, "ring") ? LIBRARY_JACCL_RING : LIBRARY_JACCL_MESH;
    else if (is_over_ip(p->row) && words_have(stack, "ring"))
        item->library = LIBRARY_TCP_RING;
    else
        return predict_refuse(
            p,
            "stack '%s' names no library; known are jaccl, jaccl-ring, tcp ring and "
            "the names under `library` in docs/scenario-format.md",
            p->row->stack);
    return true;
}

/* GPU hand-off: MLX's collectives run on the CPU for a GPU stream; its fast fences are off unless
 * somebody switched them on. */
static enum handoff find_handoff(const char *stack)
{
    const char *at = words_find(stack, "fast-synch");

    if (!at && !words_have(stack, "MLX"))
        return HANDOFF_NONE;
    return at && words_have(at, "on") ? HANDOFF_FAST : HANDOFF_SLOW;
}

static bool make_collective(const struct predict_maker *p, struct run_item *item, enum run_op op)
{
    if (!p->row->has_size)
        return predict_refuse(p, "%s without a size", p->row->kind_text);
    if (!find_library(p, item))
        return false;
    item->op = op;
    item->handoff = find_handoff(p->row->stack);
    item->jaccl = JACCL_LATEST;
    for (uint32_t i = 0; i < JACCL_VERSION_COUNT; i++) {
        if (words_have(p->row->stack, jaccl_version_name((enum jaccl_version)i)))
            item->jaccl = (enum jaccl_version)i;
    }
    return true;
}

static bool make_message(const struct predict_maker *p, struct run_item *item, bytecount *size)
{
    item->op = RUN_PING_PONG;
    item->is_round_trip = p->row->kind != MEASUREMENT_ONE_WAY_LATENCY;
    item->is_cold = words_have(p->row->stack, "ping");
    if (!p->row->has_size)
        size->bytes = SMALL_MESSAGE;
    return true;
}

static bool make_stream(const struct predict_maker *p, struct run_item *item, bytecount *size)
{
    static const char *const both[] = {"both ways", "both directions", "duplex", "bidirectional",
                                       "bidir",     "full-duplex",     NULL};
    uint64_t total;

    item->op = RUN_STREAM;
    item->is_duplex = words_have_any(p->row->stack, both);
    item->depth = words_number_after(p->row->stack, "depth");
    if (!item->depth && item->library == LIBRARY_VERBS)
        item->depth = PERFTEST_DEPTH;
    if (!p->row->has_size)
        size->bytes = item->library == LIBRARY_TCP ? TCP_MESSAGE : STREAM_SIZE;
    total = item->library == LIBRARY_TCP ? TCP_BYTES : STREAM_BYTES;
    item->count = size->bytes < total / 4 ? total / size->bytes : 4;
    return true;
}

static bool make_op(const struct predict_maker *p, struct run_item *item, bytecount *size)
{
    item->library = is_over_ip(p->row) ? LIBRARY_TCP : LIBRARY_VERBS;
    switch (p->row->kind) {
    case MEASUREMENT_ONE_WAY_LATENCY:
    case MEASUREMENT_ROUND_TRIP:
    case MEASUREMENT_IP_ROUND_TRIP:
        return make_message(p, item, size);
    case MEASUREMENT_SEND_BANDWIDTH:
    case MEASUREMENT_IP_BANDWIDTH:
        return make_stream(p, item, size);
    case MEASUREMENT_ALL_REDUCE:
        return make_collective(p, item, RUN_ALL_REDUCE);
    case MEASUREMENT_ALL_GATHER:
        return make_collective(p, item, RUN_ALL_GATHER);
    case MEASUREMENT_REDUCE_SCATTER:
        return make_collective(p, item, RUN_REDUCE_SCATTER);
    case MEASUREMENT_ALL_TO_ALL:
        return make_collective(p, item, RUN_ALL_TO_ALL);
    case MEASUREMENT_BROADCAST:
        return make_collective(p, item, RUN_BROADCAST);
    case MEASUREMENT_BRIDGE_STORM:
    case MEASUREMENT_HPL:
    case MEASUREMENT_TOKEN_RATE:
    case MEASUREMENT_OTHER:
        break;
    }
    return predict_refuse(p, "nothing in the model is a '%s'", p->row->kind_text);
}

static bool make_item(const struct predict_maker *p, struct predict_case *c)
{
    static const char *const ethernet[] = {"ethernet", "10GbE", "wi-fi", NULL};
    bytecount *size = arena_alloc(p->arena, sizeof *size);
    struct run_item *item = &c->item;

    if (words_have_any(p->row->stack, ethernet))
        return predict_refuse(p, "only rows over Thunderbolt are compared; '%s' is not",
                              p->row->stack);
    *size = p->row->size;
    *item = (struct run_item){.sizes = size,
                              .size_count = 1,
                              .dtype = DTYPE_F32,
                              .repeat = 1,
                              .to = 1,
                              .jaccl = JACCL_LATEST,
                              .pos = p->row->pos};
    if (!make_op(p, item, size))
        return false;
    if (size->bytes > SIZE_LIMIT)
        return predict_refuse(p, "a vector of more than 16 GB is not simulated here");
    if (item->op != RUN_STREAM && size->bytes % dtype_size(item->dtype) != 0)
        item->dtype = DTYPE_U8;
    c->takes_mean = item->op != RUN_STREAM && size->bytes <= SMALL_BYTES;
    if (c->takes_mean)
        item->repeat = REPEATS_SMALL;
    return true;
}

/* Bytes that some machine must send, times n: 2 (n-1) S for an all-reduce. */
static u128 least_bytes_times_n(const struct run_item *item, uint64_t size)
{
    uint64_t n = item->node_count;

    switch (item->op) {
    case RUN_ALL_REDUCE:
        return (u128)2 * (n - 1) * size;
    case RUN_ALL_GATHER:
        return (u128)n * (n - 1) * size;
    case RUN_REDUCE_SCATTER:
    case RUN_ALL_TO_ALL:
        return (u128)(n - 1) * size;
    case RUN_BROADCAST:
    case RUN_SEND_RECV:
    case RUN_PING_PONG:
    case RUN_STREAM:
    case RUN_BARRIER:
    case RUN_OP_COUNT:
        break;
    }
    return (u128)n * size;
}

/* Line rate of all cables of the first machine, one direction. */
static uint64_t line_rate(const struct cluster *cluster)
{
    uint64_t sum = 0;

    for (size_t i = 0; i < cluster->cable_count; i++) {
        const struct cluster_cable *cable = &cluster->cables[i];

        if (cable->a.host.ix == 0 || cable->b.host.ix == 0)
            sum +=
                cable->rate_ab.bps > cable->rate_ba.bps ? cable->rate_ab.bps : cable->rate_ba.bps;
    }
    return sum;
}

static int64_t find_limit(const struct predict_case *c)
{
    uint64_t size = c->item.sizes[0].bytes;
    uint64_t rate = line_rate(&c->cluster);
    u128 bytes = least_bytes_times_n(&c->item, size);

    assert(rate > 0 && c->item.node_count > 0);

    u128 span = bytes * 8 * (uint64_t)PS_PER_S / rate / c->item.node_count;

    if (c->item.op == RUN_STREAM)
        return (int64_t)rate;
    if (c->item.op == RUN_PING_PONG && c->item.is_round_trip)
        span *= 2;
    if (!c->is_rate)
        return span < INT64_MAX ? (int64_t)span : INT64_MAX;
    return (int64_t)bitrate_from_transfer(c->item.sizes[0], (simspan){(int64_t)(span ? span : 1)})
        .bps;
}

// NOLINTBEGIN(bugprone-macro-parentheses): a string that stands alone needs none
static const char *const no_model[] = {
#define X(id, name, why) [MEASUREMENT_##id] = why,
    MEASUREMENT_KIND_LIST(X)
#undef X
};
// NOLINTEND(bugprone-macro-parentheses)

// NOLINTBEGIN(readability-non-const-parameter): predict_refuse writes the reason via the maker
bool predict_prepare(const struct predict_source *source, const struct measurement *row,
                     struct arena *arena, struct predict_case *ret, char reason[PREDICT_REASON_MAX])
// NOLINTEND(readability-non-const-parameter)
{
    struct predict_maker p = {source, row, arena, reason};
    struct predict_case c = {.row = row, .is_rate = row->unit == MEASUREMENT_RATE};

    if (row->kind < MEASUREMENT_OTHER && no_model[row->kind])
        return predict_refuse(&p, "%s", no_model[row->kind]);
    if (!make_item(&p, &c) || !predict_make_cluster(&p, &c))
        return false;
    c.limit = find_limit(&c);
    *ret = c;
    return true;
}

bool predict_run(const struct predict_case *c, const struct param_set *params,
                 struct prediction *ret, char reason[PREDICT_REASON_MAX])
{
    struct sim_input input = {
        .cluster = &c->cluster,
        .params = params,
        .items = &c->item,
        .item_count = 1,
        .seed = SEED,
        .has_jitter = c->takes_mean,
        .evq = EVQ_CALENDAR,
        .unmatched = FABRIC_HOLD,
    };
    struct sim_result result;
    struct err err = {0};
    const struct run_result *row;
    simspan latency;

    if (!sim_run(&input, NULL, &result, &err)) {
        (void)snprintf(reason, PREDICT_REASON_MAX, "%s", err.text);
        return false;
    }
    row = &result.rows[0];
    latency = c->takes_mean ? row->latency_mean : row->latency_median;
    if (c->item.op == RUN_STREAM)
        ret->value = (int64_t)row->algbw.bps;
    else if (c->is_rate)
        ret->value = (int64_t)bitrate_from_transfer(c->item.sizes[0], latency).bps;
    else
        ret->value = latency.ps;
    memcpy(ret->had_effect, result.had_effect, sizeof ret->had_effect);
    if (result.is_deadlock)
        (void)snprintf(reason, PREDICT_REASON_MAX, "the simulation ends in a deadlock");
    sim_result_done(&result);
    return !result.is_deadlock;
}

bool predict_is_impossible(const struct predict_case *c)
{
    return c->is_rate ? c->row->low > c->limit : c->row->high < c->limit;
}
