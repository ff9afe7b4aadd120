/* SPDX-License-Identifier: Apache-2.0 */
#include "sim/report/json_sim.h"

#include <json-glib/json-glib.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sim/base/arena.h"
#include "sim/base/units.h"
#include "sim/fabric/cluster.h"
#include "sim/report/json_check.h"
#include "sim/report/json_scenario.h"
#include "sim/report/series.h"
#include "sim/scenario/scenario.h"
#include "sim/workload/run.h"

static void add_latency(JsonBuilder *builder, const struct run_result *row)
{
    json_builder_set_member_name(builder, "latency_ps");
    json_builder_begin_object(builder);
    json_add_int(builder, "min", row->latency_min.ps);
    json_add_int(builder, "median", row->latency_median.ps);
    json_add_int(builder, "p99", row->latency_p99.ps);
    json_add_int(builder, "mean", row->latency_mean.ps);
    json_add_int(builder, "max", row->latency_max.ps);
    json_builder_end_object(builder);
}

static void add_shares(JsonBuilder *builder, const struct run_shares *shares)
{
    json_builder_set_member_name(builder, "shares_ps");
    json_builder_begin_object(builder);
    json_add_int(builder, "wire", shares->wire.ps);
    json_add_int(builder, "copy", shares->copy.ps);
    json_add_int(builder, "reduce", shares->reduce.ps);
    json_add_int(builder, "software", shares->software.ps);
    json_add_int(builder, "credit", shares->credit.ps);
    json_add_int(builder, "handoff", shares->handoff.ps);
    json_builder_end_object(builder);
}

static bool is_jaccl(const struct run_item *item)
{
    return item->library == LIBRARY_JACCL_MESH || item->library == LIBRARY_JACCL_RING;
}

static void add_row(JsonBuilder *builder, const struct run_result *row, const char *series)
{
    const struct run_item *item = row->item;

    json_builder_begin_object(builder);
    json_add_text(builder, "series", series);
    json_add_text(builder, "workload", run_op_name(item->op));
    json_add_text(builder, "op", run_op_name(item->op));
    json_add_text(builder, "library", run_library_name(item->library));
    json_add_text(builder, "jaccl", is_jaccl(item) ? jaccl_version_name(item->jaccl) : NULL);
    json_add_text(builder, "dtype", dtype_name(item->dtype));
    json_add_text(builder, "handoff", handoff_name(item->handoff));
    json_add_int(builder, "nodes", row->nodes);
    json_add_int(builder, "size_bytes", (int64_t)row->size.bytes);
    json_add_int(builder, "samples", row->samples);
    json_add_int(builder, "began_ps", row->began.ps);
    json_add_int(builder, "ended_ps", row->ended.ps);
    add_latency(builder, row);
    json_add_int(builder, "algbw_bps", (int64_t)row->algbw.bps);
    json_add_int(builder, "busbw_bps", (int64_t)row->busbw.bps);
    json_add_int(builder, "sender_rate_bps", (int64_t)row->sender_rate.bps);
    json_add_int(builder, "bound_ps", row->bound.ps);
    add_shares(builder, &row->shares);
    json_add_text(builder, "limit", row->limit ? row->limit : "");
    json_add_text(builder, "note", row->note);
    json_add_int(builder, "messages", (int64_t)row->messages);
    json_add_bool(builder, "deadlock", row->is_deadlock);
    json_add_text(builder, "deadlock_text", row->deadlock_text);
    json_add_bool(builder, "wrong", row->is_wrong);
    json_builder_end_object(builder);
}

static void add_rows(JsonBuilder *builder, const struct sim_report *report, struct arena *arena)
{
    const struct scenario *scenario = report->scenario;
    const struct sim_result *result = report->result;
    const char **names = series_names(scenario->items, scenario->item_count, arena);

    json_begin_array(builder, "results");
    for (size_t i = 0; i < result->row_count; i++) {
        const struct run_result *row = &result->rows[i];

        add_row(builder, row, names[row->item - scenario->items]);
    }
    json_builder_end_array(builder);
}

/* Links as "studio1:1 > studio2:1", in the order of link_id. */
static void add_link_use(JsonBuilder *builder, const struct sim_report *report, struct arena *arena)
{
    const struct cluster *cluster = &report->scenario->cluster;
    const struct link_use *use = &report->result->use;

    json_add_int(builder, "link_bin_ps", use->bin_width.ps);
    json_begin_array(builder, "link_use");
    for (uint32_t link = 0; use->bin_count > 0 && link < use->link_count; link++) {
        const struct cluster_cable *cable = &cluster->cables[link / 2];
        const char *a = json_end_name(cluster, cable->a, arena);
        const char *b = json_end_name(cluster, cable->b, arena);
        bool is_reverse = link % 2 != 0;

        json_builder_begin_object(builder);
        json_add_text(builder, "link",
                      arena_format(arena, "%s > %s", is_reverse ? b : a, is_reverse ? a : b));
        json_begin_array(builder, "busy_ps");
        for (uint32_t bin = 0; bin < use->bin_count; bin++)
            json_builder_add_int_value(builder, (int64_t)use->busy_ps[link * use->bin_count + bin]);
        json_builder_end_array(builder);
        json_builder_end_object(builder);
    }
    json_builder_end_array(builder);
}

void json_print_sim(const struct sim_report *report, struct text *ret)
{
    const struct sim_result *result = report->result;
    JsonBuilder *builder = json_report_begin(&report->head);
    struct arena arena;

    arena_init(&arena);
    add_rows(builder, report, &arena);
    json_add_int(builder, "events", (int64_t)result->events);
    json_add_hash(builder, "digest", result->digest);
    json_add_int(builder, "simulated_ps", result->end.ps);
    json_add_int(builder, "frames", (int64_t)result->frames);
    json_add_int(builder, "frames_lost", (int64_t)result->frames_lost);
    json_add_int(builder, "frames_corrupted", (int64_t)result->frames_corrupted);
    json_add_bool(builder, "partial", result->is_partial);
    json_add_bool(builder, "deadlock", result->is_deadlock);
    json_add_bool(builder, "wrong", result->is_wrong);
    json_add_expectations(builder, report->scenario, report->outcomes);
    json_add_check(builder, report->check);
    json_add_cabling(builder, &report->scenario->cluster, &arena);
    add_link_use(builder, report, &arena);
    json_report_end(builder, ret);
    arena_done(&arena);
}
