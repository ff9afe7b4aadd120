/* SPDX-License-Identifier: Apache-2.0 */
#include "sim/report/text_sim.h"

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "sim/base/units.h"
#include "sim/fabric/param.h"
#include "sim/report/human.h"
#include "sim/report/json_report.h"
#include "sim/report/series.h"
#include "sim/report/table.h"
#include "sim/report/text_scenario.h"
#include "sim/scenario/scenario.h"
#include "sim/workload/run.h"

#define LATENCY   "latency"
#define BANDWIDTH "bandwidth"
#define BOUND     "lower bound"
#define SHARES    "share of the median, %"

static const struct table_column sim_columns[] = {
    {"size", NULL, false},      {"min", LATENCY, false},    {"median", LATENCY, false},
    {"p99", LATENCY, false},    {"alg", BANDWIDTH, false},  {"bus", BANDWIDTH, false},
    {"at least", BOUND, false}, {"over, %", BOUND, false},  {"wire", SHARES, false},
    {"copy", SHARES, false},    {"reduce", SHARES, false},  {"soft", SHARES, false},
    {"credit", SHARES, false},  {"handoff", SHARES, false}, {"limit", NULL, true},
};

static void add_span(struct table *table, simspan span)
{
    char cell[HUMAN_TEXT_MAX];

    human_span(cell, span);
    table_add(table, "%s", cell);
}

static void add_rate(struct table *table, bitrate rate)
{
    char cell[HUMAN_TEXT_MAX];

    human_byte_rate(cell, rate);
    table_add(table, "%s", cell);
}

static void add_percent(struct table *table, int64_t part, int64_t whole)
{
    char cell[HUMAN_TEXT_MAX];

    human_percent(cell, part, whole);
    table_add(table, "%s", cell);
}

static void add_shares(struct table *table, const struct run_shares *s)
{
    int64_t all =
        s->wire.ps + s->copy.ps + s->reduce.ps + s->software.ps + s->credit.ps + s->handoff.ps;

    add_percent(table, s->wire.ps, all);
    add_percent(table, s->copy.ps, all);
    add_percent(table, s->reduce.ps, all);
    add_percent(table, s->software.ps, all);
    add_percent(table, s->credit.ps, all);
    add_percent(table, s->handoff.ps, all);
}

/* A row without a finished repetition has a size and the reason, and no figure. */
static void add_unfinished(struct table *table, const struct run_result *row)
{
    for (size_t i = 2; i < table->column_count; i++)
        table_add(table, "-");
    table_add(table, "%s", row->is_deadlock ? "deadlock" : "not finished");
}

static void add_row(struct table *table, const struct run_result *row)
{
    char size[HUMAN_TEXT_MAX];

    human_size(size, row->size);
    table_add(table, "%s", size);
    if (row->samples == 0) {
        add_unfinished(table, row);
        return;
    }
    add_span(table, row->latency_min);
    add_span(table, row->latency_median);
    add_span(table, row->latency_p99);
    add_rate(table, row->algbw);
    add_rate(table, row->busbw);
    add_span(table, row->bound);
    add_percent(table, row->latency_median.ps - row->bound.ps, row->bound.ps);
    add_shares(table, &row->shares);
    table_add(table, "%s%s", row->limit ? row->limit : "", row->is_wrong ? ", WRONG RESULT" : "");
}

static bool is_jaccl(const struct run_item *item)
{
    return item->library == LIBRARY_JACCL_MESH || item->library == LIBRARY_JACCL_RING;
}

/* The series' name is shown where it says more than the library's: figures and tables have it. */
static void print_heading(const struct run_item *item, const char *name, struct text *ret)
{
    text_add(ret, "\n%s, %s", run_op_name(item->op), run_library_name(item->library));
    if (is_jaccl(item))
        text_add(ret, " as of %s", jaccl_version_name(item->jaccl));
    text_add(ret, ", %s, %zu nodes, ", dtype_name(item->dtype), item->node_count);
    text_add_count(ret, item->repeat, "repetition");
    if (item->handoff != HANDOFF_NONE)
        text_add(ret, ", handoff %s", handoff_name(item->handoff));
    if (strcmp(name, run_library_name(item->library)) != 0)
        text_add(ret, "; series %s", name);
    text_add(ret, "\n");
}

static void print_note(const struct run_result *row, struct text *ret)
{
    char size[HUMAN_TEXT_MAX];

    human_size(size, row->size);
    text_add(ret, "  at %s: %s\n", size, row->note);
}

/* The block of one entry of `run:`; nothing when it has no row, as after Ctrl-C. */
static void print_item(const struct sim_report *report, const struct run_item *item,
                       const char *name, struct text *ret)
{
    const struct sim_result *result = report->result;
    struct table table;

    table_init(&table, ret->arena, sim_columns, sizeof sim_columns / sizeof sim_columns[0]);
    for (size_t i = 0; i < result->row_count; i++) {
        if (result->rows[i].item == item)
            add_row(&table, &result->rows[i]);
    }
    if (table.cell_count == 0)
        return;
    print_heading(item, name, ret);
    table_print(&table, 2, ret);
    for (size_t i = 0; i < result->row_count; i++) {
        const struct run_result *row = &result->rows[i];

        if (row->item == item && row->note)
            print_note(row, ret);
        if (row->item == item && row->deadlock_text) {
            text_add(ret, "  deadlock at %llu B:\n", (unsigned long long)row->size.bytes);
            table_print_wrapped(row->deadlock_text, 4, TEXT_WIDTH, ret);
        }
    }
}

/* Names the parameters that could be any value without changing this result. */
static void print_idle_parameters(const struct sim_report *report, struct text *ret)
{
    struct text names;
    size_t count = 0;
    int all = 0;

    text_init(&names, ret->arena);
    for (uint32_t i = 0; i < PARAM_COUNT; i++) {
        all += !param_is_of_run((enum param_id)i);
        if (report->result->had_effect[i] || param_is_of_run((enum param_id)i))
            continue;
        text_add_item(&names, ", ", param_name((enum param_id)i));
        count++;
    }
    if (count == 0)
        return;
    text_add(ret, "\n");
    text_add_count(ret, count, "parameter");
    text_add(ret, " of %d took no part in this result:\n", all);
    table_print_wrapped(names.bytes, 2, TEXT_WIDTH, ret);
}

/* What the result rests on and nobody has measured. */
static void print_assumed_parameters(const struct sim_report *report, struct text *ret)
{
    const struct param_set *params = &report->scenario->params;
    struct text lines;

    text_init(&lines, ret->arena);
    for (uint32_t i = 0; i < PARAM_COUNT; i++) {
        const struct param_value *v = &params->v[i];
        enum param_unit unit = param_unit_of((enum param_id)i);
        char value[HUMAN_TEXT_MAX];
        char low[HUMAN_TEXT_MAX];
        char high[HUMAN_TEXT_MAX];

        if (!report->result->had_effect[i] || v->label != PARAM_ASSUMED)
            continue;
        human_param(value, unit, v->value);
        human_param(low, unit, v->low);
        human_param(high, unit, v->high);
        text_add(&lines, "  %s = %s, anything from %s to %s\n", param_name((enum param_id)i), value,
                 low, high);
    }
    if (lines.length > 0)
        text_add(ret, "\nassumed, since nobody has published a measurement:\n%s", lines.bytes);
}

static void print_warnings(const struct sim_report *report, struct text *ret)
{
    if (report->head.warning_count == 0)
        return;
    text_add(ret, "\nwarnings\n");
    for (size_t i = 0; i < report->head.warning_count; i++) {
        text_add(ret, "  - ");
        table_print_wrapped(report->head.warnings[i], 0, SIZE_MAX, ret);
    }
}

static void print_totals(const struct sim_result *result, struct text *ret)
{
    char end[HUMAN_TEXT_MAX];

    human_span(end, (simspan){result->end.ps});
    text_add(ret, "\n%llu events, %llu frames", (unsigned long long)result->events,
             (unsigned long long)result->frames);
    if (result->frames_lost > 0 || result->frames_corrupted > 0)
        text_add(ret, " (%llu lost, %llu damaged)", (unsigned long long)result->frames_lost,
                 (unsigned long long)result->frames_corrupted);
    text_add(ret, ", %s of simulated time, digest %016llx\n", end,
             (unsigned long long)result->digest);
}

void text_print_sim(const struct sim_report *report, struct text *ret)
{
    const struct scenario *scenario = report->scenario;
    const struct sim_result *result = report->result;
    const char **names = series_names(scenario->items, scenario->item_count, ret->arena);

    text_print_title(scenario, ret);
    for (size_t i = 0; i < scenario->item_count; i++)
        print_item(report, &scenario->items[i], names[i], ret);
    if (result->is_partial)
        text_add(ret, "\nPARTIAL: interrupted; repetitions and sizes are missing.\n");
    print_warnings(report, ret);
    text_print_expectations(scenario, report->outcomes, ret);
    print_assumed_parameters(report, ret);
    print_idle_parameters(report, ret);
    print_totals(result, ret);
}
