/* SPDX-License-Identifier: Apache-2.0 */
/* The results of `tbmesh validate` and `tbmesh calibrate` as text. */
#ifndef SIM_REPORT_VALIDATION_H
#define SIM_REPORT_VALIDATION_H

#include "sim/base/text.h"
#include "sim/fabric/param.h"
#include "sim/plan/calibrate.h"
#include "sim/plan/validate.h"
#include "sim/report/json_report.h"

/* A table for people, and what the model does not express. */
void validation_write_table(const struct validate_result *result, struct text *ret);
/* One JSON object; had_effect of the head is filled in. */
void validation_write_json(const struct report_head *head, const struct validate_result *result,
                           struct text *ret);

/* A model file with the fitted values; residuals and what the rows identify as comments. */
void calibration_write_yaml(const struct calibrate_result *result, const char *file,
                            struct text *ret);
/* The parameters of the head are replaced by the fitted ones. */
void calibration_write_json(const struct report_head *head, const struct calibrate_result *result,
                            struct text *ret);

#endif
