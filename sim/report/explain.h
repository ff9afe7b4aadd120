/* SPDX-License-Identifier: Apache-2.0 */
/* What a name in an output means: its equation, its inputs, and where they come from. */
#ifndef SIM_REPORT_EXPLAIN_H
#define SIM_REPORT_EXPLAIN_H

#include <stdbool.h>
#include <stddef.h>

#include "sim/base/arena.h"
#include "sim/base/text.h"
#include "sim/fabric/model.h"
#include "sim/report/json_report.h"

/* Parameters, columns of results, findings, words that label values. Names of columns are found
 * with or without their unit ("latency_median_ps", "latency.median"). Values are those of
 * `catalog->params`; the rates of chips are listed chip by chip. Both return false when nothing has
 * that name. */
bool explain_print(const char *name, const struct catalog *catalog, struct text *ret);
bool explain_print_json(const struct report_head *head, const char *name,
                        const struct catalog *catalog, struct text *ret);
/* All names by kind, for people; and for programs. */
void explain_print_list(struct text *ret);
void explain_print_list_json(const struct report_head *head, struct text *ret);
/* All names, in the arena, for "did you mean". */
const char *const *explain_names(struct arena *arena, size_t *ret_count);

#endif
