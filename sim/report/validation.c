/* SPDX-License-Identifier: Apache-2.0 */
#include "sim/report/validation.h"

#include <json-glib/json-glib.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "sim/base/arena.h"
#include "sim/fabric/param.h"
#include "sim/plan/measurement.h"
#include "sim/report/fields.h"

#define COLUMNS 6

static const char *const heads[COLUMNS] = {"row",        "measured", "predicted",
                                           "low - high", "error",    "label"};

struct table_line {
    const char *cells[COLUMNS];
};

static struct table_line make_line(const struct validate_row *row, struct arena *arena)
{
    const struct measurement *m = row->row;
    char predicted[FIELD_MAX];
    char low[FIELD_MAX];
    char high[FIELD_MAX];

    field_number(predicted, row->predicted, m->scale);
    field_number(low, row->low, m->scale);
    field_number(high, row->high, m->scale);
    return (struct table_line){{
        m->id,
        arena_format(arena, "%s %s", m->value_text, m->unit_text),
        arena_format(arena, "%s %s", predicted, m->unit_text),
        arena_format(arena, "%s - %s", low, high),
        field_percent_signed(arena, row->error_ppm),
        validate_label_text(row->label),
    }};
}

/* Number of characters, not bytes, of a UTF-8 text. */
static int text_width(const char *text)
{
    int width = 0;

    for (; *text != '\0'; text++)
        width += ((unsigned char)*text & 0xc0) != 0x80;
    return width;
}

static void write_line(const struct table_line *line, const int *widths, struct text *ret)
{
    text_add(ret, "%s%*s", line->cells[0], widths[0] - text_width(line->cells[0]), "");
    for (int i = 1; i < COLUMNS - 1; i++)
        text_add(ret, "  %*s%s", widths[i] - text_width(line->cells[i]), "", line->cells[i]);
    text_add(ret, "  %s\n", line->cells[COLUMNS - 1]);
}

static void write_rows(const struct validate_result *result, struct arena *arena, struct text *ret)
{
    struct table_line *lines = arena_alloc_array(arena, result->row_count + 1, sizeof *lines);
    int widths[COLUMNS] = {0};

    memcpy(lines[0].cells, heads, sizeof heads);
    for (size_t i = 0; i < result->row_count; i++)
        lines[i + 1] = make_line(&result->rows[i], arena);
    for (size_t i = 0; i <= result->row_count; i++) {
        for (int k = 0; k < COLUMNS; k++) {
            int width = text_width(lines[i].cells[k]);

            widths[k] = width > widths[k] ? width : widths[k];
        }
    }
    for (size_t i = 0; i <= result->row_count; i++)
        write_line(&lines[i], widths, ret);
}

static size_t count_label(const struct validate_result *result, enum validate_label label)
{
    size_t count = 0;

    for (size_t i = 0; i < result->row_count; i++)
        count += result->rows[i].label == label;
    return count;
}

static const char *impossible_text(const struct validate_row *row, struct arena *arena)
{
    const struct measurement *m = row->row;
    char limit[FIELD_MAX];

    field_number(limit, row->limit, m->scale);
    return arena_format(arena,
                        "physically impossible: %s %s is %s the %s %s that the bare line "
                        "rate of these cables allows",
                        m->value_text, m->unit_text,
                        m->unit == MEASUREMENT_RATE ? "above" : "below", limit, m->unit_text);
}

static void write_summary(const struct validate_result *result, struct arena *arena,
                          struct text *ret)
{
    size_t fitted = count_label(result, VALIDATE_FITTED);

    if (result->scored > 0)
        text_add(ret, "\nabsolute error of %zu rows: median %s, p90 %s, worst %s\n", result->scored,
                 field_percent(arena, result->median_ppm), field_percent(arena, result->p90_ppm),
                 field_percent(arena, result->worst_ppm));
    text_add(ret, "coverage: %zu of %zu rows (%s)\n", result->row_count,
             result->row_count + result->gap_count, field_percent(arena, result->coverage_ppm));
    if (fitted > 0)
        text_add(ret,
                 "the parameters were fitted to %zu of these rows (label fitted): their errors "
                 "are residuals, not forecasts\n",
                 fitted);
}

void validation_write_table(const struct validate_result *result, struct text *ret)
{
    struct arena arena;

    arena_init(&arena);
    if (result->row_count > 0)
        write_rows(result, &arena, ret);
    write_summary(result, &arena, ret);
    for (size_t i = 0; i < result->row_count; i++) {
        if (result->rows[i].label == VALIDATE_IMPOSSIBLE)
            text_add(ret, "\n%s: %s\n", result->rows[i].row->id,
                     impossible_text(&result->rows[i], &arena));
    }
    if (result->gap_count > 0)
        text_add(ret, "\nnot expressed:\n");
    for (size_t i = 0; i < result->gap_count; i++)
        text_add(ret, "  %s: %s\n", result->gaps[i].row->id, result->gaps[i].reason);
    if (result->is_partial)
        text_add(ret, "\npartial: stopped before the last row\n");
    arena_done(&arena);
}

static void add_row(JsonBuilder *builder, const struct validate_row *row, struct arena *arena)
{
    const struct measurement *m = row->row;

    json_builder_begin_object(builder);
    json_add_text(builder, "id", m->id);
    field_double(builder, "predicted", field_in_unit(row->predicted, m->scale));
    field_double(builder, "low", field_in_unit(row->low, m->scale));
    field_double(builder, "high", field_in_unit(row->high, m->scale));
    field_double(builder, "measured", field_in_unit(m->low + (m->high - m->low) / 2, m->scale));
    field_double(builder, "measured_low", field_in_unit(m->low, m->scale));
    field_double(builder, "measured_high", field_in_unit(m->high, m->scale));
    json_add_text(builder, "unit", m->unit_text);
    field_double(builder, "error_pct", field_in_unit(row->error_ppm, 10000));
    json_add_text(builder, "label", validate_label_text(row->label));
    field_double(builder, "line_rate_limit", field_in_unit(row->limit, m->scale));
    json_add_text(builder, "source", m->source);
    if (row->label == VALIDATE_IMPOSSIBLE)
        json_add_text(builder, "why", impossible_text(row, arena));
    json_builder_end_object(builder);
}

void validation_write_json(const struct report_head *head, const struct validate_result *result,
                           struct text *ret)
{
    bool had_effect[PARAM_COUNT] = {false};
    struct report_head full = *head;
    JsonBuilder *builder;

    for (size_t i = 0; i < result->row_count; i++) {
        for (uint32_t p = 0; p < PARAM_COUNT; p++)
            had_effect[p] |= result->rows[i].had_effect[p];
    }
    full.had_effect = had_effect;
    builder = json_report_begin(&full);
    json_begin_array(builder, "rows");
    for (size_t i = 0; i < result->row_count; i++)
        add_row(builder, &result->rows[i], ret->arena);
    json_builder_end_array(builder);
    field_double(builder, "median_error_pct", field_in_unit(result->median_ppm, 10000));
    field_double(builder, "p90_error_pct", field_in_unit(result->p90_ppm, 10000));
    field_double(builder, "worst_error_pct", field_in_unit(result->worst_ppm, 10000));
    field_double(builder, "coverage_pct", field_in_unit(result->coverage_ppm, 10000));
    json_begin_array(builder, "not_expressed");
    for (size_t i = 0; i < result->gap_count; i++) {
        json_builder_begin_object(builder);
        json_add_text(builder, "id", result->gaps[i].row->id);
        json_add_text(builder, "reason", result->gaps[i].reason);
        json_builder_end_object(builder);
    }
    json_builder_end_array(builder);
    json_add_bool(builder, "partial", result->is_partial);
    json_report_end(builder, ret);
}
