/* SPDX-License-Identifier: Apache-2.0 */
/* The results of `tbmesh validate` and `tbmesh calibrate` as text. */
#ifndef SIM_REPORT_VALIDATION_H
#define SIM_REPORT_VALIDATION_H

#include "sim/base/text.h"
#include "sim/plan/calibrate.h"
#include "sim/plan/validate.h"

/* A table for people, and what the model does not express. */
void validation_write_table(const struct validate_result *result, struct text *ret);
/* One JSON object. */
void validation_write_json(const struct validate_result *result, const struct param_set *params,
                           const char *version, struct text *ret);

/* A model file with the fitted values; residuals and what the rows identify as comments. */
void calibration_write_yaml(const struct calibrate_result *result, const char *file,
                            struct text *ret);
void calibration_write_json(const struct calibrate_result *result, const char *version,
                            struct text *ret);

#endif
