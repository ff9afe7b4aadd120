/* SPDX-License-Identifier: Apache-2.0 */
/* The result of `tbmesh run` as JSON. */
#ifndef VERBS_SHIM_CONDUCTOR_JSON_RUN_H
#define VERBS_SHIM_CONDUCTOR_JSON_RUN_H

#include "sim/base/text.h"
#include "sim/report/json_report.h"
#include "verbs-shim/conductor/conductor.h"

void json_print_run(const struct report_head *head, const struct run_outcome *outcome,
                    struct text *ret);
/* "ok", "failed", "deadlock", "finding", "crashed" */
const char *run_verdict_text(enum run_verdict verdict);

#endif
