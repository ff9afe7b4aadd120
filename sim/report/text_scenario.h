/* SPDX-License-Identifier: Apache-2.0 */
/* Parts of a scenario and of its verdicts as people read them. */
#ifndef SIM_REPORT_TEXT_SCENARIO_H
#define SIM_REPORT_TEXT_SCENARIO_H

#include <stddef.h>

#include "sim/base/text.h"
#include "sim/fabric/cluster.h"
#include "sim/scenario/expect.h"
#include "sim/scenario/scenario.h"

/* Lines are not longer than this where it can be helped. */
#define TEXT_WIDTH 100U

/* "four Mac Studios, full mesh: 4 machines, 6 cables, seed 1" */
void text_print_title(const struct scenario *scenario, struct text *ret);
/* A table of the cables and their ports. */
void text_print_cabling(const struct cluster *cluster, struct text *ret);
/* Each expectation with its verdict; nothing when there is none or all were not run. */
void text_print_expectations(const struct scenario *scenario, const struct expect_outcome *outcomes,
                             struct text *ret);
/* "1 cable", "2 cables" */
void text_add_count(struct text *ret, size_t count, const char *noun);

#endif
