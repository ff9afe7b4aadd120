/* SPDX-License-Identifier: Apache-2.0 */
/* The catalogue as JSON: what `tbmesh models --json` prints. */
#ifndef SIM_REPORT_JSON_MODELS_H
#define SIM_REPORT_JSON_MODELS_H

#include <stdbool.h>

#include "sim/base/text.h"
#include "sim/fabric/model.h"
#include "sim/report/json_report.h"

/*
 * Prints the members `machines`, `chips`, `cables`, `macos` and `parameter_models`; with a name,
 * each holds only what has that name.
 *
 * Returns: false, and nothing is printed, when nothing has that name.
 */
bool json_print_models(const struct report_head *head, const struct catalog *catalog,
                       const char *name, struct text *ret);

#endif
