/* SPDX-License-Identifier: Apache-2.0 */
/* What check and sim have in common: expectations, warnings, the head of their JSON. */
#ifndef SIM_CLI_VERDICT_H
#define SIM_CLI_VERDICT_H

#include <stdbool.h>
#include <stddef.h>

#include "sim/cli/cli.h"
#include "sim/plan/check.h"
#include "sim/report/json_report.h"
#include "sim/scenario/scenario.h"
#include "sim/workload/run.h"

struct verdict {
    struct expect_outcome *outcomes; /* [scenario->expectation_count], in the arena of the call */
    size_t held;
    size_t failed;  /* with those that nothing in the results matches */
    size_t not_run; /* they need what was not asked for */
};

/* Runs the check on all that the scenario says. */
void verdict_check(const struct scenario *scenario, struct check_result *ret);

/* Judges every expectation; sim may be NULL. */
struct verdict verdict_judge(struct cli *cli, const struct scenario *scenario,
                             const struct sim_result *sim, const struct check_result *check);

/* True when the scenario says that it will deadlock, and it did. */
bool verdict_expects_deadlock(const struct scenario *scenario, const struct verdict *verdict);

/* The members that every object has; had_effect may be NULL. */
struct report_head verdict_head(struct cli *cli, const struct scenario *scenario,
                                const bool *had_effect);

#endif
