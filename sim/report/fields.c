/* SPDX-License-Identifier: Apache-2.0 */
#include "sim/report/fields.h"

#include <stdio.h>

double field_in_unit(int64_t value, int64_t scale)
{
    return (double)value / (double)scale;
}

void field_number(char ret[FIELD_MAX], int64_t value, int64_t scale)
{
    double number = field_in_unit(value, scale);
    double magnitude = number < 0 ? -number : number;
    int decimals = 4;

    for (double next = 1; decimals > 0 && magnitude >= next; next *= 10)
        decimals--;
    (void)snprintf(ret, FIELD_MAX, "%.*f", decimals, number);
}

const char *field_percent(struct arena *arena, int64_t ppm)
{
    return arena_format(arena, "%.1f %%", field_in_unit(ppm, 10000));
}

const char *field_percent_signed(struct arena *arena, int64_t ppm)
{
    if (ppm == 0)
        return "0 %";
    if (ppm > -500 && ppm < 500)
        return "0.0 %";
    return arena_format(arena, "%+.1f %%", field_in_unit(ppm, 10000));
}

void field_text(JsonBuilder *builder, const char *name, const char *value)
{
    json_builder_set_member_name(builder, name);
    json_builder_add_string_value(builder, value);
}

void field_double(JsonBuilder *builder, const char *name, double value)
{
    json_builder_set_member_name(builder, name);
    json_builder_add_double_value(builder, value);
}

void field_int(JsonBuilder *builder, const char *name, int64_t value)
{
    json_builder_set_member_name(builder, name);
    json_builder_add_int_value(builder, value);
}

void field_bool(JsonBuilder *builder, const char *name, bool value)
{
    json_builder_set_member_name(builder, name);
    json_builder_add_boolean_value(builder, value);
}

void fields_params(JsonBuilder *builder, const struct param_set *params)
{
    json_builder_set_member_name(builder, "parameters");
    json_builder_begin_array(builder);
    for (uint32_t i = 0; i < PARAM_COUNT; i++) {
        const struct param_value *v = &params->v[i];

        json_builder_begin_object(builder);
        field_text(builder, "name", param_name((enum param_id)i));
        field_int(builder, "value", v->value);
        field_text(builder, "unit", param_unit_text(param_unit_of((enum param_id)i)));
        field_int(builder, "low", v->low);
        field_int(builder, "high", v->high);
        field_text(builder, "label", param_label_text(v->label));
        field_text(builder, "source", v->source);
        json_builder_end_object(builder);
    }
    json_builder_end_array(builder);
}

void fields_finish(JsonBuilder *builder, struct text *ret)
{
    JsonNode *root = json_builder_get_root(builder);
    JsonGenerator *generator = json_generator_new();
    gchar *bytes;

    json_generator_set_root(generator, root);
    json_generator_set_pretty(generator, TRUE);
    bytes = json_generator_to_data(generator, NULL);
    text_add(ret, "%s\n", bytes);
    g_free(bytes);
    g_object_unref(generator);
    json_node_unref(root);
    g_object_unref(builder);
}
