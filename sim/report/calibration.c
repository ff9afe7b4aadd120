/* SPDX-License-Identifier: Apache-2.0 */
#include <json-glib/json-glib.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "sim/base/arena.h"
#include "sim/base/text.h"
#include "sim/fabric/param.h"
#include "sim/plan/calibrate.h"
#include "sim/plan/measurement.h"
#include "sim/report/fields.h"
#include "sim/report/json_report.h"
#include "sim/report/validation.h"
#include "sim/scenario/quantity.h"

/* A text in YAML's double quotes. */
static void write_quoted(struct text *ret, const char *text)
{
    text_add(ret, "\"");
    for (; *text != '\0'; text++)
        text_add(ret, "%s%c", *text == '"' || *text == '\\' ? "\\" : "", *text);
    text_add(ret, "\"");
}

static void write_quantity(struct text *ret, const char *key, enum param_unit unit, int64_t value)
{
    char quantity[QUANTITY_TEXT_MAX];

    quantity_format(quantity, quantity_kind_of_param(unit), value);
    text_add(ret, "%s: %s", key, quantity);
}

static void write_param(struct text *ret, const struct param_set *params, enum param_id id)
{
    const struct param_value *v = &params->v[id];
    enum param_unit unit = param_unit_of(id);

    text_add(ret, "  - {name: %s, ", param_name(id));
    write_quantity(ret, "value", unit, v->value);
    text_add(ret, ", ");
    write_quantity(ret, "low", unit, v->low);
    text_add(ret, ", ");
    write_quantity(ret, "high", unit, v->high);
    text_add(ret, ", label: %s,\n     source: ", param_label_text(v->label));
    write_quoted(ret, v->source);
    text_add(ret, ", date: %s}\n", v->date);
}

static bool is_fitted_chip(const struct calibrate_variable *variable)
{
    return variable->param_count == 0 && variable->status != CALIBRATE_NOT_IDENTIFIED;
}

static void write_chip_rates(const struct calibrate_result *result, struct text *ret)
{
    bool has_head = false;

    for (size_t i = 0; i < result->variable_count; i++) {
        const struct calibrate_variable *v = &result->variables[i];

        if (!is_fitted_chip(v))
            continue;
        if (!has_head)
            text_add(ret, "\nchip_rates:\n");
        has_head = true;
        text_add(ret, "  - {chip: %s, ", v->chip);
        write_quantity(ret, chip_rate_name(v->rate), PARAM_UNIT_RATE, v->value);
        text_add(ret, ",\n     source: ");
        write_quoted(ret, arena_format(ret->arena, "fit to %s (%s)", v->rows, v->sources));
        text_add(ret, "}\n");
    }
}

static void write_variables(const struct calibrate_result *result, struct text *ret)
{
    struct text kept;

    text_init(&kept, ret->arena);
    text_add(ret, "#\n# What the rows say about each number that was searched for:\n");
    for (size_t i = 0; i < result->variable_count; i++) {
        const struct calibrate_variable *v = &result->variables[i];
        const char *name = calibrate_variable_name(v, ret->arena);
        char value[QUANTITY_TEXT_MAX];

        if (v->status == CALIBRATE_NOT_IDENTIFIED) {
            text_add_item(&kept, "\n#     ", name);
            continue;
        }
        quantity_format(value, quantity_kind_of_param(v->unit), v->value);
        text_add(ret, "#   %s = %s: %s by %s\n", name, value, calibrate_status_text(v->status),
                 v->rows);
    }
    if (kept.length > 0)
        text_add(ret, "#   not identified by these rows, kept as they were:\n#     %s\n",
                 kept.bytes);
}

static void write_residuals(const struct calibrate_result *result, struct text *ret)
{
    text_add(ret, "#\n# Residuals, before and after; sum of absolute errors %s, then %s:\n",
             field_percent(ret->arena, result->sum_before_ppm),
             field_percent(ret->arena, result->sum_after_ppm));
    for (size_t i = 0; i < result->residual_count; i++) {
        const struct calibrate_residual *r = &result->residuals[i];
        char predicted[FIELD_MAX];

        field_number(predicted, r->predicted, r->row->scale);
        text_add(ret, "#   %-14s %9s %9s   predicted %s, measured %s %s\n", r->row->id,
                 field_percent_signed(ret->arena, r->before_ppm),
                 field_percent_signed(ret->arena, r->after_ppm), predicted, r->row->value_text,
                 r->row->unit_text);
    }
    for (size_t i = 0; i < result->skip_count; i++)
        text_add(ret, "#   %-14s not part of the fit: %s\n", result->skipped[i].row->id,
                 result->skipped[i].reason);
}

void calibration_write_yaml(const struct calibrate_result *result, const char *file,
                            struct text *ret)
{
    text_add(ret,
             "# SPDX-License-" /* not the line of this file */
             "Identifier: Apache-2.0\n"
             "# Every parameter of the model: a value, the range in which it is believed to lie, "
             "how it is known, and\n"
             "# from whom. measured: somebody measured this very quantity; derived: arithmetic "
             "from measurements or\n"
             "# a specification; fitted: by `tbmesh calibrate`; assumed: nobody knows, the range "
             "says how far off.\n"
             "#\n# Written by `tbmesh calibrate %s`.\n",
             file);
    if (result->is_partial)
        text_add(ret, "# PARTIAL: the search was stopped before its end.\n");
    write_variables(result, ret);
    write_residuals(result, ret);
    text_add(ret, "tbmesh-models: 1\n\nparameters:\n");
    for (uint32_t i = 0; i < PARAM_COUNT; i++)
        write_param(ret, &result->params, (enum param_id)i);
    write_chip_rates(result, ret);
}

static void add_variable(JsonBuilder *builder, const struct calibrate_variable *v,
                         struct arena *arena)
{
    json_builder_begin_object(builder);
    json_add_text(builder, "name", calibrate_variable_name(v, arena));
    json_add_int(builder, "start", v->start);
    json_add_int(builder, "value", v->value);
    json_add_text(builder, "unit", param_unit_text(v->unit));
    json_add_text(builder, "status", calibrate_status_text(v->status));
    json_add_text(builder, "rows", v->rows);
    json_builder_end_object(builder);
}

static void add_residual(JsonBuilder *builder, const struct calibrate_residual *r)
{
    json_builder_begin_object(builder);
    json_add_text(builder, "id", r->row->id);
    field_double(builder, "predicted", field_in_unit(r->predicted, r->row->scale));
    json_add_text(builder, "unit", r->row->unit_text);
    field_double(builder, "error_before_pct", field_in_unit(r->before_ppm, 10000));
    field_double(builder, "error_pct", field_in_unit(r->after_ppm, 10000));
    json_builder_end_object(builder);
}

/* The rows tell something about the parameter. */
static void find_effects(const struct calibrate_result *result, bool ret[PARAM_COUNT])
{
    for (size_t i = 0; i < result->variable_count; i++) {
        const struct calibrate_variable *v = &result->variables[i];

        for (size_t p = 0; p < v->param_count; p++)
            ret[v->params[p]] = v->status != CALIBRATE_NOT_IDENTIFIED;
    }
}

void calibration_write_json(const struct report_head *head, const struct calibrate_result *result,
                            struct text *ret)
{
    bool had_effect[PARAM_COUNT] = {false};
    struct report_head full = *head;
    JsonBuilder *builder;

    find_effects(result, had_effect);
    full.params = &result->params;
    full.had_effect = had_effect;
    builder = json_report_begin(&full);
    json_begin_array(builder, "fitted");
    for (size_t i = 0; i < result->variable_count; i++)
        add_variable(builder, &result->variables[i], ret->arena);
    json_builder_end_array(builder);
    json_begin_array(builder, "residuals");
    for (size_t i = 0; i < result->residual_count; i++)
        add_residual(builder, &result->residuals[i]);
    json_builder_end_array(builder);
    json_begin_array(builder, "not_expressed");
    for (size_t i = 0; i < result->skip_count; i++) {
        json_builder_begin_object(builder);
        json_add_text(builder, "id", result->skipped[i].row->id);
        json_add_text(builder, "reason", result->skipped[i].reason);
        json_builder_end_object(builder);
    }
    json_builder_end_array(builder);
    json_add_int(builder, "simulations", (int64_t)result->simulations);
    json_add_bool(builder, "partial", result->is_partial);
    json_report_end(builder, ret);
}
