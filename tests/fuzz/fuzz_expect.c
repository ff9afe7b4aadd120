/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Any text as an expectation. It is read or an error is named inside it; what is read names a field
 * that exists, fits its operator, and reads the same a second time; and it can be judged.
 */
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "sim/plan/check.h"
#include "sim/scenario/expect.h"
#include "sim/workload/run.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const struct src_pos here = {"fuzz", 3, 7};

static void require(bool holds)
{
    if (!holds)
        abort();
}

/* Results for both kinds of verdict, with a row that did not finish. */
static void judge(const struct expectation *e)
{
    static const struct run_item items[] = {
        {.op = RUN_ALL_REDUCE, .library = LIBRARY_JACCL_MESH, .dtype = DTYPE_F32},
        {.op = RUN_BARRIER, .library = LIBRARY_JACCL_RING}};
    struct run_result rows[] = {{.item = &items[0], .size = {4096}, .nodes = 4, .samples = 3},
                                {.item = &items[1], .is_deadlock = true}};
    struct sim_result sim = {.rows = rows, .row_count = 2};
    struct finding finding = {.id = "port-count"};
    struct check_result check = {.findings = &finding, .finding_count = 1, .binding = ""};
    struct expect_outcome outcome = expect_evaluate(e, &sim, &check);

    require(memchr(outcome.seen, '\0', sizeof outcome.seen) != NULL && outcome.seen[0] != '\0');
    require(outcome.verdict != EXPECT_NOT_RUN);
    require(expect_evaluate(e, NULL, NULL).verdict != EXPECT_HOLDS);
}

static void check_read(const struct expectation *e)
{
    enum expect_type type;
    bool is_number = e->type != EXPECT_TYPE_BOOL && e->type != EXPECT_TYPE_NAME;

    require(expect_find_field(e->subject, e->field, &type));
    require(e->ratio_to ? e->type == EXPECT_TYPE_NUMBER : e->type == type);
    require(is_number || e->op == EXPECT_EQ || e->op == EXPECT_NE || e->op == EXPECT_HAS ||
            e->op == EXPECT_HAS_NOT);
    require(e->value >= 0 && e->filter_count <= EXPECT_FILTERS_MAX);
    require((e->type == EXPECT_TYPE_NAME) == (e->name != NULL));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct expectation first = {.value = -1};
    struct expectation second = {.value = -1};
    struct err err = {0};
    struct err again = {0};
    struct arena arena;

    arena_init(&arena);

    const char *text = arena_copy_text(&arena, (const char *)data, size);
    bool is_read = expect_parse(text, here, &arena, &first, &err);

    require(is_read == (err.code == ERR_NONE));
    require(is_read == expect_parse(text, here, &arena, &second, &again));
    require(strcmp(err.text, again.text) == 0);
    if (is_read) {
        require(first.value == second.value && first.op == second.op && first.type == second.type);
        check_read(&first);
        judge(&first);
    } else {
        require(err.pos.line == here.line && err.pos.col >= here.col &&
                err.pos.col <= here.col + strlen(text));
        require(first.value == -1);
    }
    arena_done(&arena);
    return 0;
}
