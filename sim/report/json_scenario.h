/* SPDX-License-Identifier: Apache-2.0 */
/* Parts of a scenario that several results show. */
#ifndef SIM_REPORT_JSON_SCENARIO_H
#define SIM_REPORT_JSON_SCENARIO_H

#include <json-glib/json-glib.h>

#include "sim/base/arena.h"
#include "sim/fabric/cluster.h"
#include "sim/scenario/expect.h"
#include "sim/scenario/scenario.h"

/* "studio1:1": an end as scenarios write it. */
const char *json_end_name(const struct cluster *cluster, struct cluster_end end,
                          struct arena *arena);
/* The member `cabling`: each cable with its ends, kind and rates. */
void json_add_cabling(JsonBuilder *builder, const struct cluster *cluster, struct arena *arena);
/* The member `expectations`: each with its verdict. */
void json_add_expectations(JsonBuilder *builder, const struct scenario *scenario,
                           const struct expect_outcome *outcomes);
/* "holds", "fails", "no-subject", "not-run" */
const char *expect_verdict_text(enum expect_verdict verdict);

#endif
