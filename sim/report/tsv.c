/* SPDX-License-Identifier: Apache-2.0 */
/*
 * DOC: Tables for programs
 *
 * Made from the JSON and from nothing else, so that the tables that `sim` writes and those that
 * `plot` feeds to gnuplot from an old result cannot differ. Percentages are divided here, since
 * figures only draw.
 */
#include "sim/report/tsv.h"

#include <stdint.h>
#include <string.h>

#include "sim/base/units.h"
#include "sim/report/human.h"

enum column_kind {
    COLUMN_TEXT,
    COLUMN_NOTE, /* a text that most rows have not: null, or missing in an old result */
    COLUMN_COUNT,
    COLUMN_BOOL,
    COLUMN_LATENCY, /* a member of latency_ps */
    COLUMN_SHARE,   /* a member of shares_ps, in percent of all */
    COLUMN_OVER,    /* how far the median lies above the bound, in percent of it */
    COLUMN_ALLOWED, /* the bus bandwidth that the bound would allow */
};

struct tsv_column {
    const char *title;
    enum column_kind kind;
    const char *member;
};

static const struct tsv_column result_columns[] = {
    {"series", COLUMN_TEXT, "series"},
    {"workload", COLUMN_TEXT, "workload"},
    {"op", COLUMN_TEXT, "op"},
    {"library", COLUMN_TEXT, "library"},
    {"dtype", COLUMN_TEXT, "dtype"},
    {"handoff", COLUMN_TEXT, "handoff"},
    {"nodes", COLUMN_COUNT, "nodes"},
    {"size_bytes", COLUMN_COUNT, "size_bytes"},
    {"samples", COLUMN_COUNT, "samples"},
    {"began_ps", COLUMN_COUNT, "began_ps"},
    {"ended_ps", COLUMN_COUNT, "ended_ps"},
    {"latency_min_ps", COLUMN_LATENCY, "min"},
    {"latency_median_ps", COLUMN_LATENCY, "median"},
    {"latency_p99_ps", COLUMN_LATENCY, "p99"},
    {"latency_mean_ps", COLUMN_LATENCY, "mean"},
    {"latency_max_ps", COLUMN_LATENCY, "max"},
    {"algbw_bps", COLUMN_COUNT, "algbw_bps"},
    {"busbw_bps", COLUMN_COUNT, "busbw_bps"},
    {"sender_rate_bps", COLUMN_COUNT, "sender_rate_bps"},
    {"bound_ps", COLUMN_COUNT, "bound_ps"},
    {"bound_busbw_bps", COLUMN_ALLOWED, NULL},
    {"over_bound_pct", COLUMN_OVER, NULL},
    {"share_wire_pct", COLUMN_SHARE, "wire"},
    {"share_copy_pct", COLUMN_SHARE, "copy"},
    {"share_reduce_pct", COLUMN_SHARE, "reduce"},
    {"share_software_pct", COLUMN_SHARE, "software"},
    {"share_credit_pct", COLUMN_SHARE, "credit"},
    {"share_handoff_pct", COLUMN_SHARE, "handoff"},
    {"limit", COLUMN_TEXT, "limit"},
    {"messages", COLUMN_COUNT, "messages"},
    {"deadlock", COLUMN_BOOL, "deadlock"},
    {"note", COLUMN_NOTE, "note"},
};

#define RESULT_COLUMNS (sizeof result_columns / sizeof result_columns[0])

/* A text may hold what separates columns and rows. */
static void print_text(const char *value, struct text *ret)
{
    for (const char *p = value; *p != '\0'; p++)
        text_add(ret, "%c", (unsigned char)*p < 0x20 ? ' ' : *p);
}

static void print_optional_text(JsonNode *node, struct text *ret)
{
    if (node && json_node_get_value_type(node) == G_TYPE_STRING)
        print_text(json_node_get_string(node), ret);
}

static void print_share(JsonObject *row, const char *name, struct text *ret)
{
    JsonObject *shares = json_object_get_object_member(row, "shares_ps");
    static const char *const names[] = {"wire", "copy", "reduce", "software", "credit", "handoff"};
    char percent[HUMAN_TEXT_MAX];
    u128 total = 0;

    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        total = total + (uint64_t)json_object_get_int_member(shares, names[i]);
    percent_text(percent, json_object_get_int_member(shares, name),
                 total > (u128)INT64_MAX ? INT64_MAX : (int64_t)total);
    text_add(ret, "%s", percent);
}

static void print_over(JsonObject *row, struct text *ret)
{
    JsonObject *latency = json_object_get_object_member(row, "latency_ps");
    int64_t median = json_object_get_int_member(latency, "median");
    int64_t bound = json_object_get_int_member(row, "bound_ps");
    char percent[HUMAN_TEXT_MAX];

    percent_text(percent, median - bound, bound);
    text_add(ret, "%s", percent);
}

static void print_allowed(JsonObject *row, struct text *ret)
{
    JsonObject *latency = json_object_get_object_member(row, "latency_ps");
    uint64_t median = (uint64_t)json_object_get_int_member(latency, "median");
    uint64_t busbw = (uint64_t)json_object_get_int_member(row, "busbw_bps");
    uint64_t bound = (uint64_t)json_object_get_int_member(row, "bound_ps");
    u128 allowed = bound > 0 ? (u128)busbw * median / bound : 0;

    text_add(ret, "%llu", (unsigned long long)(allowed > UINT64_MAX ? UINT64_MAX : allowed));
}

static void print_column(JsonObject *row, const struct tsv_column *column, struct text *ret)
{
    switch (column->kind) {
    case COLUMN_TEXT:
        print_text(json_object_get_string_member(row, column->member), ret);
        break;
    case COLUMN_NOTE:
        print_optional_text(json_object_get_member(row, column->member), ret);
        break;
    case COLUMN_COUNT:
        text_add(ret, "%lld", (long long)json_object_get_int_member(row, column->member));
        break;
    case COLUMN_BOOL:
        text_add(ret, "%s", json_object_get_boolean_member(row, column->member) ? "true" : "false");
        break;
    case COLUMN_LATENCY:
        text_add(ret, "%lld",
                 (long long)json_object_get_int_member(
                     json_object_get_object_member(row, "latency_ps"), column->member));
        break;
    case COLUMN_SHARE:
        print_share(row, column->member, ret);
        break;
    case COLUMN_OVER:
        print_over(row, ret);
        break;
    case COLUMN_ALLOWED:
        print_allowed(row, ret);
        break;
    }
}

void tsv_print_results(JsonNode *root, struct text *ret)
{
    JsonObject *object = json_node_get_object(root);
    JsonArray *rows = json_object_get_array_member(object, "results");
    const char *partial = json_object_get_boolean_member(object, "partial") ? "true" : "false";

    for (size_t i = 0; i < RESULT_COLUMNS; i++)
        text_add(ret, "%s\t", result_columns[i].title);
    text_add(ret, "partial\n");
    for (guint r = 0; r < json_array_get_length(rows); r++) {
        JsonObject *row = json_array_get_object_element(rows, r);

        for (size_t i = 0; i < RESULT_COLUMNS; i++) {
            print_column(row, &result_columns[i], ret);
            text_add(ret, "\t");
        }
        text_add(ret, "%s\n", partial);
    }
}

void tsv_print_links(JsonNode *root, struct text *ret)
{
    JsonObject *object = json_node_get_object(root);
    JsonArray *links = json_object_get_array_member(object, "link_use");
    int64_t width = json_object_get_int_member(object, "link_bin_ps");

    text_add(ret, "link\tlink_number\tfrom_ps\tto_ps\tbusy_ps\tbusy_pct\n");
    for (guint l = 0; l < json_array_get_length(links); l++) {
        JsonObject *link = json_array_get_object_element(links, l);
        JsonArray *busy = json_object_get_array_member(link, "busy_ps");

        for (guint b = 0; b < json_array_get_length(busy); b++) {
            int64_t busy_ps = json_array_get_int_element(busy, b);
            char percent[HUMAN_TEXT_MAX];

            percent_text(percent, busy_ps, width);
            print_text(json_object_get_string_member(link, "link"), ret);
            text_add(ret, "\t%u\t%lld\t%lld\t%lld\t%s\n", l, (long long)b * width,
                     ((long long)b + 1) * width, (long long)busy_ps, percent);
        }
    }
}
