/* SPDX-License-Identifier: Apache-2.0 */
#include "sim/report/text_check.h"

#include <stddef.h>
#include <stdint.h>

#include "sim/base/err.h"
#include "sim/plan/check.h"
#include "sim/report/json_report.h"
#include "sim/report/table.h"
#include "sim/report/text_scenario.h"
#include "sim/scenario/scenario.h"

static void print_verdict(const struct check_result *check, struct text *ret)
{
    size_t counts[3] = {0};

    for (size_t i = 0; i < check->finding_count; i++)
        counts[check->findings[i].severity]++;
    text_add(ret, "%s: ", check->is_feasible ? "feasible" : "NOT FEASIBLE");
    text_add_count(ret, counts[CHECK_ERROR], "error");
    text_add(ret, ", ");
    text_add_count(ret, counts[CHECK_WARNING], "warning");
    text_add(ret, ", ");
    text_add_count(ret, counts[CHECK_NOTE], "note");
    if (!check->is_feasible)
        text_add(ret, "; what binds is %s", check->binding);
    text_add(ret, "\n");
}

static void print_limits(const struct check_report *report, struct text *ret)
{
    const struct check_result *check = report->check;

    text_add(ret, "full mesh of these models: up to %u machines", check->max_full_mesh);
    if (check->max_full_mesh_cautious != check->max_full_mesh)
        text_add(ret, " (%u without ports that sources disagree about)",
                 check->max_full_mesh_cautious);
    text_add(ret, "; these would take ");
    text_add_count(ret, check->mesh_cables, "cable");
    text_add(ret, "\n");
}

static void print_finding(const struct check_report *report, const struct finding *finding,
                          struct text *ret)
{
    text_add(ret, "\n%s %s: %s", check_severity_text(finding->severity), finding->id,
             finding->where);
    if (finding->pos.line > 0)
        text_add(ret, " (%s:%u)", report->scenario->file, finding->pos.line);
    text_add(ret, "\n");
    table_print_wrapped(finding->why, 2, TEXT_WIDTH, ret);
    if (finding->fix && *finding->fix != '\0') {
        text_add(ret, "  fix:\n");
        /* Commands are for pasting: they keep their lines, however long. */
        table_print_wrapped(finding->fix, 4, SIZE_MAX, ret);
    }
}

void text_print_check(const struct check_report *report, struct text *ret)
{
    const struct check_result *check = report->check;

    text_print_title(report->scenario, ret);
    print_verdict(check, ret);
    print_limits(report, ret);
    for (size_t i = 0; i < report->head.warning_count; i++)
        text_add(ret, "warning: %s\n", report->head.warnings[i]);
    for (size_t i = 0; i < check->finding_count; i++)
        print_finding(report, &check->findings[i], ret);
    text_print_cabling(&report->scenario->cluster, ret);
    text_print_expectations(report->scenario, report->outcomes, ret);
}
