/* SPDX-License-Identifier: Apache-2.0 */
/* The result of `tbmesh check` as people read it. */
#ifndef SIM_REPORT_TEXT_CHECK_H
#define SIM_REPORT_TEXT_CHECK_H

#include "sim/base/text.h"
#include "sim/report/json_check.h"

void text_print_check(const struct check_report *report, struct text *ret);

#endif
