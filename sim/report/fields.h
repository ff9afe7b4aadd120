/* SPDX-License-Identifier: Apache-2.0 */
/* Small pieces of tables and of JSON that several reports share. */
#ifndef SIM_REPORT_FIELDS_H
#define SIM_REPORT_FIELDS_H

#include <json-glib/json-glib.h>
#include <stdbool.h>
#include <stdint.h>

#include "sim/base/arena.h"
#include "sim/base/text.h"
#include "sim/fabric/param.h"

#define FIELD_MAX 48

/* value / scale, for printing only. */
double field_in_unit(int64_t value, int64_t scale);
/* value / scale with about four significant digits, never in exponential form. */
void field_number(char ret[FIELD_MAX], int64_t value, int64_t scale);
/* "1.4 %" of 14,000 millionths. */
const char *field_percent(struct arena *arena, int64_t ppm);
/* The same with its sign; "0 %" for zero, "0.0 %" for what rounds to it. */
const char *field_percent_signed(struct arena *arena, int64_t ppm);

/* A member of the object that is being built. */
void field_double(JsonBuilder *builder, const char *name, double value);

#endif
