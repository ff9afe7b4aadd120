/* SPDX-License-Identifier: Apache-2.0 */
/* The result of `tbmesh check` as JSON. */
#ifndef SIM_REPORT_JSON_CHECK_H
#define SIM_REPORT_JSON_CHECK_H

#include <json-glib/json-glib.h>

#include "sim/base/text.h"
#include "sim/plan/check.h"
#include "sim/report/json_report.h"
#include "sim/scenario/scenario.h"

/* Everything is borrowed. */
struct check_report {
    struct report_head head;
    const struct scenario *scenario;
    const struct check_result *check;
    const struct expect_outcome *outcomes; /* [scenario->expectation_count] */
};

void json_print_check(const struct check_report *report, struct text *ret);

/* The member `check` of other commands' results: feasible or not, and how many findings. */
void json_add_check(JsonBuilder *builder, const struct check_result *check);

/* "error", "warning" or "note" */
const char *check_severity_text(enum check_severity severity);

#endif
