/* SPDX-License-Identifier: Apache-2.0 */
/* Results as tables for programs: tabs between columns, units in their names. */
#ifndef SIM_REPORT_TSV_H
#define SIM_REPORT_TSV_H

#include <json-glib/json-glib.h>

#include "sim/base/text.h"

/* Both take the root object of a result: made by json_print_sim and read back by result_read. */

/* results.tsv: one row a series and size. */
void tsv_print_results(JsonNode *root, struct text *ret);
/* links.tsv: one row a link direction and bin of time. */
void tsv_print_links(JsonNode *root, struct text *ret);

#endif
