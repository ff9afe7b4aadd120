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
    double next = 1;
    int decimals = 4;

    while (decimals > 0 && magnitude >= next) {
        decimals--;
        next *= 10;
    }
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

void field_double(JsonBuilder *builder, const char *name, double value)
{
    json_builder_set_member_name(builder, name);
    json_builder_add_double_value(builder, value);
}
