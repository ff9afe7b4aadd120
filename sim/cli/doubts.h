/* SPDX-License-Identifier: Apache-2.0 */
/* What a reader of a simulation's result must know and no figure shows. */
#ifndef SIM_CLI_DOUBTS_H
#define SIM_CLI_DOUBTS_H

#include "sim/cli/cli.h"
#include "sim/plan/check.h"
#include "sim/report/json_report.h"
#include "sim/scenario/scenario.h"
#include "sim/workload/run.h"

/* Adds warnings to the head's, in the arena of the call. */
void doubts_add(struct cli *cli, const struct scenario *scenario, const struct check_result *check,
                const struct sim_result *result, struct report_head *head);

#endif
