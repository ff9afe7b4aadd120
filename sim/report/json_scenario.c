/* SPDX-License-Identifier: Apache-2.0 */
#include "sim/report/json_scenario.h"

#include <stddef.h>
#include <stdint.h>

#include "sim/base/err.h"
#include "sim/base/ids.h"
#include "sim/base/units.h"
#include "sim/fabric/model.h"
#include "sim/report/json_report.h"

const char *json_end_name(const struct cluster *cluster, struct cluster_end end,
                          struct arena *arena)
{
    return arena_format(arena, "%s:%u", cluster->hosts[end.host.ix].name, end.port + 1);
}

void json_add_cabling(JsonBuilder *builder, const struct cluster *cluster, struct arena *arena)
{
    json_begin_array(builder, "cabling");
    for (uint32_t i = 0; i < cluster->cable_count; i++) {
        const struct cluster_cable *cable = &cluster->cables[i];

        json_builder_begin_object(builder);
        json_add_text(builder, "a", json_end_name(cluster, cable->a, arena));
        json_add_text(builder, "b", json_end_name(cluster, cable->b, arena));
        json_add_text(builder, "kind", cable->model->name);
        json_add_int(builder, "rate_ab_bps", (int64_t)cable->rate_ab.bps);
        json_add_int(builder, "rate_ba_bps", (int64_t)cable->rate_ba.bps);
        json_add_bool(builder, "rdma", cluster_cable_has_rdma(cluster, (cable_id){i}));
        json_builder_end_object(builder);
    }
    json_builder_end_array(builder);
}

const char *expect_verdict_text(enum expect_verdict verdict)
{
    switch (verdict) {
    case EXPECT_HOLDS:
        return "holds";
    case EXPECT_FAILS:
        return "fails";
    case EXPECT_NO_SUBJECT:
        return "no-subject";
    case EXPECT_NOT_RUN:
        return "not-run";
    }
    return "";
}

void json_add_expectations(JsonBuilder *builder, const struct scenario *scenario,
                           const struct expect_outcome *outcomes)
{
    json_begin_array(builder, "expectations");
    for (size_t i = 0; i < scenario->expectation_count; i++) {
        const struct expectation *e = &scenario->expectations[i];

        json_builder_begin_object(builder);
        json_add_text(builder, "text", e->text);
        json_add_text(builder, "verdict", expect_verdict_text(outcomes[i].verdict));
        json_add_text(builder, "seen", outcomes[i].seen);
        json_add_int(builder, "line", e->pos.line);
        json_builder_end_object(builder);
    }
    json_builder_end_array(builder);
}
