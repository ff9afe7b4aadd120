/* SPDX-License-Identifier: Apache-2.0 */
#include "sim/report/json_report.h"

#include <stdio.h>

#include "sim/fabric/param.h"
#include "sim/report/json_text.h"

void json_add_text(JsonBuilder *builder, const char *name, const char *value)
{
    json_builder_set_member_name(builder, name);
    if (value)
        json_builder_add_string_value(builder, value);
    else
        json_builder_add_null_value(builder);
}

void json_add_int(JsonBuilder *builder, const char *name, int64_t value)
{
    json_builder_set_member_name(builder, name);
    json_builder_add_int_value(builder, value);
}

void json_add_bool(JsonBuilder *builder, const char *name, bool value)
{
    json_builder_set_member_name(builder, name);
    json_builder_add_boolean_value(builder, value);
}

void json_begin_array(JsonBuilder *builder, const char *name)
{
    json_builder_set_member_name(builder, name);
    json_builder_begin_array(builder);
}

void json_add_thousandths(JsonBuilder *builder, const char *name, int64_t thousandths)
{
    json_builder_set_member_name(builder, name);
    json_builder_add_double_value(builder, (double)thousandths / 1000.0);
}

void json_add_hash(JsonBuilder *builder, const char *name, uint64_t value)
{
    char digits[24];

    (void)snprintf(digits, sizeof digits, "%016llx", (unsigned long long)value);
    json_add_text(builder, name, digits);
}

void json_add_parameter(JsonBuilder *builder, const struct param_set *params, enum param_id id)
{
    const struct param_value *value = &params->v[id];

    json_add_text(builder, "name", param_name(id));
    json_add_int(builder, "value", value->value);
    json_add_text(builder, "unit", param_unit_text(param_unit_of(id)));
    json_add_int(builder, "low", value->low);
    json_add_int(builder, "high", value->high);
    json_add_text(builder, "label", param_label_text(value->label));
    json_add_text(builder, "source", value->source ? value->source : "");
    json_add_text(builder, "date", value->date ? value->date : "");
}

static void add_parameter(JsonBuilder *builder, const struct report_head *head, enum param_id id)
{
    json_builder_begin_object(builder);
    json_add_parameter(builder, head->params, id);
    json_add_bool(builder, "had_effect", head->had_effect && head->had_effect[id]);
    json_builder_end_object(builder);
}

JsonBuilder *json_report_begin(const struct report_head *head)
{
    JsonBuilder *builder = json_builder_new_immutable();

    json_builder_begin_object(builder);
    json_add_text(builder, "tbmesh", head->version);
    json_add_text(builder, "command", head->command);
    json_add_text(builder, "scenario", head->scenario);
    json_add_text(builder, "file", head->file);
    if (head->scenario)
        json_add_int(builder, "seed", (int64_t)head->seed);
    else
        json_add_text(builder, "seed", NULL);
    json_begin_array(builder, "parameters");
    for (uint32_t i = 0; head->params && i < PARAM_COUNT; i++)
        if (head->is_of_run || !param_is_of_run((enum param_id)i))
            add_parameter(builder, head, (enum param_id)i);
    json_builder_end_array(builder);
    json_begin_array(builder, "warnings");
    for (size_t i = 0; i < head->warning_count; i++)
        json_builder_add_string_value(builder, head->warnings[i]);
    json_builder_end_array(builder);
    return builder;
}

void json_report_end(JsonBuilder *builder, struct text *ret)
{
    JsonNode *root;

    json_builder_end_object(builder);
    root = json_builder_get_root(builder);
    json_text_print(root, ret);
    json_node_unref(root);
    g_object_unref(builder);
}

void json_print_errors(const struct report_head *head, const struct err_list *errors,
                       struct text *ret)
{
    JsonBuilder *builder = json_report_begin(head);

    json_begin_array(builder, "errors");
    for (size_t i = 0; i < errors->count; i++) {
        const struct err *err = &errors->items[i];

        json_builder_begin_object(builder);
        json_add_text(builder, "file", err->pos.file);
        json_add_int(builder, "line", err->pos.line);
        json_add_int(builder, "col", err->pos.col);
        json_add_text(builder, "message", err->text);
        json_builder_end_object(builder);
    }
    json_builder_end_array(builder);
    json_add_int(builder, "errors_left_out", (int64_t)errors->dropped);
    json_report_end(builder, ret);
}

void json_print_text(const struct report_head *head, const char *format, const char *bytes,
                     struct text *ret)
{
    JsonBuilder *builder = json_report_begin(head);

    json_add_text(builder, "format", format);
    json_add_text(builder, "text", bytes);
    json_report_end(builder, ret);
}

void json_print_files(const struct report_head *head, const char *const *paths, size_t count,
                      struct text *ret)
{
    JsonBuilder *builder = json_report_begin(head);

    json_begin_array(builder, "files");
    for (size_t i = 0; i < count; i++)
        json_builder_add_string_value(builder, paths[i]);
    json_builder_end_array(builder);
    json_report_end(builder, ret);
}
