/* SPDX-License-Identifier: Apache-2.0 */
/* Short names of the entries of `run:`, for headings, legends and the column `series`. */
#ifndef SIM_REPORT_SERIES_H
#define SIM_REPORT_SERIES_H

#include <stddef.h>

#include "sim/base/arena.h"
#include "sim/workload/run.h"

/*
 * One name an item, all different: "jaccl-mesh"; with the operation where there are several,
 * "all_gather jaccl-ring"; with what else tells two items apart, "jaccl-mesh, handoff fast".
 * Shape: ret[count], in the arena.
 */
const char **series_names(const struct run_item *items, size_t count, struct arena *arena);

#endif
