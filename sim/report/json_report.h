/* SPDX-License-Identifier: Apache-2.0 */
/* What every command's JSON object has: version, scenario, seed, parameters, warnings. */
#ifndef SIM_REPORT_JSON_REPORT_H
#define SIM_REPORT_JSON_REPORT_H

#include <json-glib/json-glib.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sim/base/err.h"
#include "sim/base/text.h"
#include "sim/fabric/param.h"

/* Everything is borrowed. */
struct report_head {
    const char *version;
    const char *command;
    const char *scenario;           /* its name; NULL: the command reads none */
    const char *file;               /* NULL: as above */
    uint64_t seed;                  /* with a scenario */
    const struct param_set *params; /* NULL: the command uses none */
    const bool *had_effect;         /* [PARAM_COUNT]; NULL: none had */
    bool is_of_run;                 /* shows also the parameters of emulated calls */
    const char *const *warnings;    /* "file:line:col: message" or a sentence */
    size_t warning_count;
};

/* Opens the root object and writes the common members; the caller adds its own and closes it with
 * json_report_end. */
JsonBuilder *json_report_begin(const struct report_head *head);
/* Closes the root object, appends the text and frees the builder. */
void json_report_end(JsonBuilder *builder, struct text *ret);

void json_add_text(JsonBuilder *builder, const char *name, const char *value); /* NULL: null */
void json_add_int(JsonBuilder *builder, const char *name, int64_t value);
void json_add_bool(JsonBuilder *builder, const char *name, bool value);
void json_begin_array(JsonBuilder *builder, const char *name);
/* Thousandths as a number with at most three decimals. */
void json_add_thousandths(JsonBuilder *builder, const char *name, int64_t thousandths);
/* 16 hexadecimal digits: 64 bits do not fit into every reader's numbers. */
void json_add_hash(JsonBuilder *builder, const char *name, uint64_t value);

/* The members that say what a parameter is worth and how that is known, into the open object. */
void json_add_parameter(JsonBuilder *builder, const struct param_set *params, enum param_id id);

/* The object that stands in place of a result when there is none: `errors` with their places. */
void json_print_errors(const struct report_head *head, const struct err_list *errors,
                       struct text *ret);

/* The result of a command that makes a text: what it is, such as "matrix", and the text. */
void json_print_text(const struct report_head *head, const char *format, const char *bytes,
                     struct text *ret);
/* The result of a command that writes files: their paths. */
void json_print_files(const struct report_head *head, const char *const *paths, size_t count,
                      struct text *ret);

#endif
