/* SPDX-License-Identifier: Apache-2.0 */
/* The result of `tbmesh sim` as people read it. */
#ifndef SIM_REPORT_TEXT_SIM_H
#define SIM_REPORT_TEXT_SIM_H

#include "sim/base/text.h"
#include "sim/report/json_sim.h"

void text_print_sim(const struct sim_report *report, struct text *ret);

#endif
