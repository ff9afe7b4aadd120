/* SPDX-License-Identifier: Apache-2.0 */
#include "sim/report/json_check.h"

#include <json-glib/json-glib.h>
#include <stddef.h>
#include <stdint.h>

#include "sim/base/arena.h"
#include "sim/base/err.h"
#include "sim/fabric/cluster.h"
#include "sim/report/json_scenario.h"
#include "sim/scenario/scenario.h"

const char *check_severity_text(enum check_severity severity)
{
    switch (severity) {
    case CHECK_ERROR:
        return "error";
    case CHECK_WARNING:
        return "warning";
    case CHECK_NOTE:
        return "note";
    }
    return "";
}

static void add_finding(JsonBuilder *builder, const struct finding *finding)
{
    json_builder_begin_object(builder);
    json_add_text(builder, "id", finding->id);
    json_add_text(builder, "severity", check_severity_text(finding->severity));
    json_add_text(builder, "where", finding->where);
    json_add_text(builder, "why", finding->why);
    json_add_text(builder, "fix", finding->fix);
    json_add_int(builder, "line", finding->pos.line);
    json_add_int(builder, "col", finding->pos.col);
    json_builder_end_object(builder);
}

void json_print_check(const struct check_report *report, struct text *ret)
{
    const struct check_result *check = report->check;
    JsonBuilder *builder = json_report_begin(&report->head);
    struct arena arena;

    arena_init(&arena);
    json_add_bool(builder, "feasible", check->is_feasible);
    json_add_text(builder, "binding", check->binding);
    json_begin_array(builder, "findings");
    for (size_t i = 0; i < check->finding_count; i++)
        add_finding(builder, &check->findings[i]);
    json_builder_end_array(builder);
    json_add_int(builder, "machines", (int64_t)report->scenario->cluster.host_count);
    json_add_int(builder, "cables", check->cables);
    json_add_int(builder, "mesh_cables", check->mesh_cables);
    json_add_int(builder, "max_full_mesh", check->max_full_mesh);
    json_add_int(builder, "max_full_mesh_cautious", check->max_full_mesh_cautious);
    json_add_cabling(builder, &report->scenario->cluster, &arena);
    json_add_expectations(builder, report->scenario, report->outcomes);
    json_report_end(builder, ret);
    arena_done(&arena);
}

void json_add_check(JsonBuilder *builder, const struct check_result *check)
{
    static const char *const severities[] = {"errors", "warnings", "notes"};
    size_t counts[3] = {0};

    for (size_t i = 0; i < check->finding_count; i++)
        counts[check->findings[i].severity]++;
    json_builder_set_member_name(builder, "check");
    json_builder_begin_object(builder);
    json_add_bool(builder, "feasible", check->is_feasible);
    json_add_text(builder, "binding", check->binding);
    for (size_t i = 0; i < 3; i++)
        json_add_int(builder, severities[i], (int64_t)counts[i]);
    json_builder_end_object(builder);
}
