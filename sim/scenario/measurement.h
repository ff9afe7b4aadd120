/* SPDX-License-Identifier: Apache-2.0 */
/* Readers of measurement files and of the names that people give to machines. */
#ifndef SIM_SCENARIO_MEASUREMENT_H
#define SIM_SCENARIO_MEASUREMENT_H

#include <stdbool.h>
#include <stddef.h>

#include "sim/base/arena.h"
#include "sim/base/err.h"
#include "sim/plan/measurement.h"
#include "sim/scenario/scenario.h"

/*
 * Reads a file with the columns of models/measurements/fabric.csv (`note`, `source` and `date` may
 * be missing, other columns are ignored), or with those of a table of token rates, whose rows come
 * out as MEASUREMENT_TOKEN_RATE.
 *
 * Returns:  true and the rows in the arena, in the order of the file; false with every error of the
 *           file in *reterrs, sorted by place.
 */
bool measurement_parse(const struct source_text *text, struct arena *arena,
                       const struct measurement **ret, size_t *ret_count, struct err_list *reterrs);

/* Reads a table of names: columns `name` and `model`, others are ignored. */
bool aliases_parse(const struct source_text *text, struct arena *arena,
                   const struct host_alias **ret, size_t *ret_count, struct err_list *reterrs);

#endif
