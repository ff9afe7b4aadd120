/* SPDX-License-Identifier: Apache-2.0 */
/* Chips, machines and cables that a scenario adds to the catalogue for itself. */
#ifndef SIM_SCENARIO_MODELS_H
#define SIM_SCENARIO_MODELS_H

#include <stdbool.h>

#include "sim/base/arena.h"
#include "sim/base/err.h"
#include "sim/fabric/model.h"
#include "sim/scenario/yaml.h"

/*
 * The catalogue `base` and what the map `models` adds to it; tables are in the arena, and *ret
 * borrows what `base` owns. `models` may be NULL. On an error *ret holds what could be read.
 */
bool models_extend(const struct catalog *base, const struct yaml_value *models, struct arena *arena,
                   struct catalog *ret, struct err_list *reterrs);

#endif
