/* SPDX-License-Identifier: Apache-2.0 */
#include <stddef.h>

#include "sim/base/arena.h"
#include "sim/base/err.h"
#include "sim/scenario/build.h"
#include "sim/scenario/expect.h"
#include "sim/scenario/scenario.h"
#include "sim/scenario/schema.h"
#include "sim/scenario/yaml.h"

/* Each entry of `expect:` is one assertion as text; expect.c has its grammar. */
void build_expectations(struct build *build, const struct schema_value *expect)
{
    struct scenario *scenario = build->scenario;

    if (!expect->is_set)
        return;
    scenario->expectations =
        arena_alloc_array(build->arena, expect->node->count, sizeof(struct expectation));
    for (size_t i = 0; i < expect->node->count; i++) {
        const struct yaml_value *entry = expect->node->items[i];
        struct src_pos pos = entry->pos;
        struct err err = {0};

        if (!schema_want_kind(entry, YAML_TEXT, "an expectation", build->errs))
            continue;
        pos.col += entry->is_quoted; /* the text begins after the quote */
        if (expect_parse(entry->text, pos, build->arena,
                         &scenario->expectations[scenario->expectation_count], &err))
            scenario->expectation_count++;
        err_list_take(build->errs, &err);
    }
}
