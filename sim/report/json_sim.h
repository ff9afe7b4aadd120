/* SPDX-License-Identifier: Apache-2.0 */
/* The result of `tbmesh sim` as JSON. */
#ifndef SIM_REPORT_JSON_SIM_H
#define SIM_REPORT_JSON_SIM_H

#include "sim/base/text.h"
#include "sim/plan/check.h"
#include "sim/report/json_report.h"
#include "sim/scenario/scenario.h"
#include "sim/workload/run.h"

/* Everything is borrowed. */
struct sim_report {
    struct report_head head;
    const struct scenario *scenario;
    const struct sim_result *result;
    const struct check_result *check;
    const struct expect_outcome *outcomes; /* [scenario->expectation_count] */
};

void json_print_sim(const struct sim_report *report, struct text *ret);

#endif
