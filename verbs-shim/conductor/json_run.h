/* SPDX-License-Identifier: Apache-2.0 */
/* The result of `tbmesh run` as JSON. */
#ifndef VERBS_SHIM_CONDUCTOR_JSON_RUN_H
#define VERBS_SHIM_CONDUCTOR_JSON_RUN_H

#include <stdbool.h>

#include "sim/base/text.h"
#include "sim/plan/check.h"
#include "sim/report/json_report.h"
#include "sim/scenario/expect.h"
#include "sim/scenario/scenario.h"
#include "verbs-shim/conductor/conductor.h"

/* Everything is borrowed. */
struct run_report {
    struct report_head head;
    const struct scenario *scenario;
    const struct run_outcome *outcome;
    const struct check_result *check;
    const struct expect_outcome *outcomes; /* [scenario->expectation_count] */
};

void json_print_run(const struct run_report *report, struct text *ret);
/* "ok", "failed", "deadlock", "finding", "crashed" */
const char *run_verdict_text(enum run_verdict verdict);
/* Did everybody wait for ever, because of a cut cable or not? */
bool run_is_deadlock(const struct run_outcome *outcome);

#endif
