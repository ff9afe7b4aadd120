/* SPDX-License-Identifier: Apache-2.0 */
#include "verbs-shim/conductor/json_run.h"

#include <json-glib/json-glib.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "sim/base/arena.h"
#include "sim/base/text.h"
#include "sim/base/units.h"
#include "sim/fabric/cluster.h"
#include "sim/fabric/fabric.h"
#include "sim/fabric/param.h"
#include "sim/fabric/quirk.h"
#include "sim/report/json_check.h"
#include "sim/report/json_report.h"
#include "sim/report/json_scenario.h"
#include "sim/scenario/quirk.h"
#include "sim/scenario/scenario.h"
#include "verbs-shim/conductor/conductor.h"
#include "verbs-shim/proto/proto.h"

static const char *const charge_names[] = {
#define X(id, name) name,
    PROTO_CHARGE_LIST(X)
#undef X
};

static const char *const wait_names[] = {
#define X(id, name) name,
    PROTO_WAIT_LIST(X)
#undef X
};

const char *run_verdict_text(enum run_verdict verdict)
{
    static const char *const names[] = {[RUN_OK] = "ok",
                                        [RUN_FAILED] = "failed",
                                        [RUN_DEADLOCK] = "deadlock",
                                        [RUN_LINK_LOST] = "link-lost",
                                        [RUN_FINDING] = "finding",
                                        [RUN_CRASHED] = "crashed"};

    return names[verdict];
}

static void begin_object(JsonBuilder *builder, const char *name)
{
    json_builder_set_member_name(builder, name);
    json_builder_begin_object(builder);
}

static void add_numbers(JsonBuilder *builder, const char *name, const uint64_t *values,
                        size_t count)
{
    json_begin_array(builder, name);
    for (size_t i = 0; i < count; i++)
        json_builder_add_int_value(builder, (gint64)values[i]);
    json_builder_end_array(builder);
}

static void add_end(JsonBuilder *builder, const struct run_rank *rank)
{
    json_builder_set_member_name(builder, "exit");
    if (rank->is_signal)
        json_builder_add_null_value(builder);
    else
        json_builder_add_int_value(builder, rank->exit);
    json_add_int(builder, "signal", rank->is_signal ? rank->exit : 0);
    json_add_bool(builder, "stopped", rank->is_stopped);
    json_add_bool(builder, "opened_device", rank->opened_device);
    json_add_int(builder, "ended_ps", rank->ended.ps);
}

/* Nothing here depends on how the ranks were scheduled: folded polls are polls. */
static void add_time(JsonBuilder *builder, const struct run_rank *rank, simspan poll_empty)
{
    const struct proto_stats *stats = &rank->stats;
    uint64_t empty = stats->calls[PROTO_CHARGE_POLL_EMPTY] + stats->folded;

    begin_object(builder, "calls");
    for (size_t i = 0; i < PROTO_CHARGE_COUNT; i++)
        json_add_int(builder, charge_names[i],
                     (int64_t)(i == PROTO_CHARGE_POLL_EMPTY ? empty : stats->calls[i]));
    json_builder_end_object(builder);
    begin_object(builder, "waited_ps");
    for (size_t i = 0; i < PROTO_WAIT_COUNT; i++)
        json_add_int(builder, wait_names[i],
                     i == PROTO_WAIT_COMPLETION ? run_waited_for_completions(stats, poll_empty)
                                                : stats->waited[i]);
    json_builder_end_object(builder);
    json_add_int(builder, "computed_ps", stats->computed);
}

static void add_rates(JsonBuilder *builder, const struct run_rank *rank)
{
    json_begin_array(builder, "send_rates");
    for (uint32_t i = 0; i < rank->rate_count; i++) {
        const struct run_rate *rate = &rank->rates[i];

        json_builder_begin_object(builder);
        json_add_text(builder, "device", rate->device);
        json_add_int(builder, "messages", rate->messages);
        json_add_int(builder, "seen_bps", (int64_t)rate->seen.bps);
        json_add_int(builder, "delivered_bps", (int64_t)rate->delivered.bps);
        json_add_int(builder, "line_bps", (int64_t)rate->line.bps);
        json_add_bool(builder, "above_line", rate->seen.bps > rate->line.bps);
        json_builder_end_object(builder);
    }
    json_builder_end_array(builder);
}

static void add_rank(JsonBuilder *builder, const struct run_rank *rank, size_t rank_count,
                     simspan poll_empty)
{
    json_builder_begin_object(builder);
    json_add_int(builder, "rank", rank->rank);
    json_add_text(builder, "host", rank->host);
    json_begin_array(builder, "argv");
    for (char **word = rank->argv; *word; word++)
        json_builder_add_string_value(builder, *word);
    json_builder_end_array(builder);
    add_end(builder, rank);
    add_time(builder, rank, poll_empty);
    add_numbers(builder, "bytes", rank->bytes_to, rank_count);
    add_numbers(builder, "messages", rank->messages_to, rank_count);
    json_add_int(builder, "held_sends", (int64_t)rank->held_sends);
    json_add_int(builder, "held_ps", rank->held.ps);
    add_rates(builder, rank);
    json_builder_end_object(builder);
}

/* A name each; a value, where there is one, behind "=". */
static void add_quirks(JsonBuilder *builder, const struct quirks *quirks)
{
    json_begin_array(builder, "quirks");
    for (int i = 0; i < QUIRK_COUNT; i++) {
        char text[128];

        if (!quirk_is_on(quirks, (enum quirk)i))
            continue;
        (void)snprintf(text, sizeof text, "%s%s%s", quirk_name((enum quirk)i),
                       quirks->values[i] ? "=" : "", quirks->values[i] ? quirks->values[i] : "");
        json_builder_add_string_value(builder, text);
    }
    json_builder_end_array(builder);
}

static void add_clock(JsonBuilder *builder, const struct conductor_options *options)
{
    begin_object(builder, "clock");
    json_add_text(builder, "driver",
                  options->driver == CONDUCTOR_CONDUCTOR ? "conductor" : "inline");
    json_add_text(builder, "turns", options->is_parallel ? "parallel" : "strict");
    json_add_int(builder, "fold_after", options->fold_after);
    json_add_int(builder, "lease_cap_ps", options->lease_cap.ps);
    json_builder_end_object(builder);
}

/* How the programs were run, and what that leaves out. */
static const char *profile_name(const struct conductor_options *options)
{
    if (options->profile == PROTO_APPLE)
        return "apple";
    return options->has_lids ? "infiniband" : "verbs";
}

static void add_terms(JsonBuilder *builder, const struct run_report *report)
{
    const struct conductor_options *options = &report->outcome->options;
    const struct param_set *params = report->head.params;
    char compute[64] = "not charged";

    if (options->compute == CONDUCTOR_COMPUTE_FIXED)
        (void)snprintf(compute, sizeof compute, "%lld ps a call",
                       (long long)options->compute_fixed.ps);
    else if (options->compute == CONDUCTOR_COMPUTE_MEASURED)
        (void)snprintf(compute, sizeof compute, "measured here, times %u.%03u",
                       options->compute_permille / 1000, options->compute_permille % 1000);
    json_add_text(builder, "profile", profile_name(options));
    json_add_text(builder, "variant", options->variant == PROTO_OBSERVED ? "observed" : "technote");
    add_quirks(builder, &options->quirks);
    add_clock(builder, options);
    json_add_text(builder, "client_compute", compute);
    json_add_int(builder, "credit_latency_ps", param_span(params, PARAM_RDMA_CREDIT_LATENCY).ps);
    json_add_bool(builder, "reproducible", report->outcome->is_reproducible);
}

/* One bin, as long as the run. */
static void add_link_use(JsonBuilder *builder, const struct run_report *report, struct arena *arena)
{
    const struct run_outcome *outcome = report->outcome;
    const struct cluster *cluster = &report->scenario->cluster;

    json_add_int(builder, "link_bin_ps", outcome->virtual_end.ps);
    json_begin_array(builder, "link_use");
    for (size_t i = 0; i < outcome->link_count; i++) {
        const struct fabric_link_counters *link = &outcome->links[i];
        const struct cluster_cable *cable = &cluster->cables[i / 2];
        bool is_reverse = i % 2 != 0;

        json_builder_begin_object(builder);
        json_add_text(
            builder, "link",
            arena_format(arena, "%s > %s",
                         json_end_name(cluster, is_reverse ? cable->b : cable->a, arena),
                         json_end_name(cluster, is_reverse ? cable->a : cable->b, arena)));
        add_numbers(builder, "busy_ps", &(uint64_t){(uint64_t)link->busy.ps}, 1);
        json_add_int(builder, "frames", (int64_t)link->frames);
        json_add_int(builder, "bytes", (int64_t)link->payload_bytes);
        json_builder_end_object(builder);
    }
    json_builder_end_array(builder);
}

/* What a result of `tbmesh sim` has as well. There are no rows: programs time themselves. */
static void add_simulation(JsonBuilder *builder, const struct run_report *report,
                           struct arena *arena)
{
    const struct run_outcome *outcome = report->outcome;
    struct fabric_link_counters sum = {0};

    for (size_t i = 0; i < outcome->link_count; i++) {
        sum.frames += outcome->links[i].frames;
        sum.lost += outcome->links[i].lost;
        sum.corrupted += outcome->links[i].corrupted;
    }
    json_begin_array(builder, "results");
    json_builder_end_array(builder);
    json_add_int(builder, "events", (int64_t)outcome->events);
    json_add_hash(builder, "digest", outcome->digest);
    json_add_int(builder, "simulated_ps", outcome->virtual_end.ps);
    json_add_int(builder, "frames", (int64_t)sum.frames);
    json_add_int(builder, "frames_lost", (int64_t)sum.lost);
    json_add_int(builder, "frames_corrupted", (int64_t)sum.corrupted);
    json_add_bool(builder, "partial", outcome->is_partial);
    json_add_bool(builder, "deadlock", run_is_deadlock(outcome));
    json_add_expectations(builder, report->scenario, report->outcomes);
    json_add_check(builder, report->check);
    json_add_cabling(builder, &report->scenario->cluster, arena);
    add_link_use(builder, report, arena);
}

bool run_is_deadlock(const struct run_outcome *outcome)
{
    return outcome->verdict == RUN_DEADLOCK || outcome->verdict == RUN_LINK_LOST;
}

static void add_findings(JsonBuilder *builder, const struct run_outcome *outcome)
{
    json_begin_array(builder, "findings");
    for (size_t i = 0; i < outcome->finding_count; i++) {
        json_builder_begin_object(builder);
        json_add_text(builder, "id", outcome->findings[i].id);
        json_add_text(builder, "severity", outcome->findings[i].is_warning ? "warning" : "error");
        json_add_text(builder, "where", outcome->findings[i].where);
        json_add_text(builder, "why", outcome->findings[i].text);
        json_builder_end_object(builder);
    }
    json_builder_end_array(builder);
}

void json_print_run(const struct run_report *report, struct text *ret)
{
    const struct run_outcome *outcome = report->outcome;
    JsonBuilder *builder = json_report_begin(&report->head);
    struct arena arena;

    arena_init(&arena);
    json_add_text(builder, "verdict", run_verdict_text(outcome->verdict));
    json_add_int(builder, "virtual_ps", outcome->virtual_end.ps);
    json_add_hash(builder, "trace_hash", outcome->trace_hash);
    add_terms(builder, report);
    json_begin_array(builder, "ranks");
    for (size_t i = 0; i < outcome->rank_count; i++)
        add_rank(builder, &outcome->ranks[i], outcome->rank_count, outcome->poll_empty);
    json_builder_end_array(builder);
    add_findings(builder, outcome);
    add_simulation(builder, report, &arena);
    json_report_end(builder, ret);
    arena_done(&arena);
}
