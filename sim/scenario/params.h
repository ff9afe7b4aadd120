/* SPDX-License-Identifier: Apache-2.0 */
/* Values of the model's parameters as users write them. */
#ifndef SIM_SCENARIO_PARAMS_H
#define SIM_SCENARIO_PARAMS_H

#include <stdbool.h>
#include <stdint.h>

#include "sim/base/err.h"
#include "sim/fabric/param.h"
#include "sim/scenario/yaml.h"

/* The parameter of that name; PARAM_COUNT and an error with a suggestion when there is none. */
enum param_id params_find(const char *name, struct src_pos pos, struct err *reterr);

/* Reads a value with its unit and holds it against what the engine can work with. */
bool params_parse_value(enum param_id id, const char *text, struct src_pos pos, int64_t *ret,
                        struct err *reterr);

/* Adds a warning about a value outside the range that sources give; it is accepted all the same. */
void params_warn_unlikely(const struct param_set *params, enum param_id id, int64_t value,
                          struct src_pos pos, struct err_list *warnings);

/* A value set by the user: exact, and labelled so. `source` is borrowed. */
void params_set_user(struct param_set *params, enum param_id id, int64_t value, const char *source);

/* What several parameters need of one another. */
bool params_check(const struct param_set *params, struct src_pos pos, struct err *reterr);

#endif
