/* SPDX-License-Identifier: Apache-2.0 */
#include "sim/cli/verdict.h"

#include <string.h>

#include "sim/base/arena.h"
#include "sim/base/err.h"
#include "sim/scenario/expect.h"

void verdict_check(const struct scenario *scenario, struct check_result *ret)
{
    const struct check_input input = {
        .cluster = &scenario->cluster,
        .goals = scenario->goals,
        .goal_count = scenario->goal_count,
        .matrix = scenario->matrix.size > 0 ? &scenario->matrix : NULL,
        .items = scenario->items,
        .item_count = scenario->item_count,
    };

    check_cluster(&input, ret);
}

struct verdict verdict_judge(struct cli *cli, const struct scenario *scenario,
                             const struct sim_result *sim, const struct check_result *check)
{
    size_t count = scenario->expectation_count;
    struct verdict ret = {
        .outcomes = arena_alloc_array(&cli->arena, count + 1, sizeof *ret.outcomes),
    };

    for (size_t i = 0; i < count; i++) {
        ret.outcomes[i] = expect_evaluate(&scenario->expectations[i], sim, check);
        switch (ret.outcomes[i].verdict) {
        case EXPECT_HOLDS:
            ret.held++;
            break;
        case EXPECT_FAILS:
        case EXPECT_NO_SUBJECT:
            ret.failed++;
            break;
        case EXPECT_NOT_RUN:
            ret.not_run++;
            break;
        }
    }
    return ret;
}

bool verdict_expects_deadlock(const struct scenario *scenario, const struct verdict *verdict)
{
    for (size_t i = 0; i < scenario->expectation_count; i++) {
        const struct expectation *e = &scenario->expectations[i];
        bool wants_it = (e->op == EXPECT_EQ && e->value != 0) || (e->op == EXPECT_NE && !e->value);

        if (strcmp(e->subject, "deadlock") == 0 && wants_it &&
            verdict->outcomes[i].verdict == EXPECT_HOLDS)
            return true;
    }
    return false;
}

static const char *warning_text(struct arena *arena, const struct err *warning)
{
    if (!warning->pos.file || warning->pos.line == 0)
        return arena_format(arena, "%s", warning->text);
    return arena_format(arena, "%s:%u:%u: %s", warning->pos.file, warning->pos.line,
                        warning->pos.col, warning->text);
}

struct report_head verdict_head(struct cli *cli, const struct scenario *scenario,
                                const bool *had_effect)
{
    const struct err_list *warnings = &scenario->warnings;
    const char **texts = arena_alloc_array(&cli->arena, warnings->count + 1, sizeof *texts);

    for (size_t i = 0; i < warnings->count; i++)
        texts[i] = warning_text(&cli->arena, &warnings->items[i]);
    return (struct report_head){
        .version = TBMESH_VERSION,
        .command = cli->command->name,
        .scenario = scenario->name,
        .file = scenario->file,
        .seed = scenario->seed,
        .params = &scenario->params,
        .had_effect = had_effect,
        .warnings = texts,
        .warning_count = warnings->count,
    };
}
