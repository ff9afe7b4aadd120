/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/scenario/support/rows.h"

#include <string.h>

#include <criterion/criterion.h>

#include "sim/scenario/measurement.h"
#include "tests/unit/scenario/support/files.h"

static const struct measurement *parse(struct rows *rows, const struct source_text *text,
                                       size_t *ret_count)
{
    const struct measurement *found = NULL;
    struct err_list errs;
    char errors[2048];
    bool is_ok;

    err_list_init(&errs);
    is_ok = measurement_parse(text, &rows->arena, &found, ret_count, &errs);
    files_join_errors(&errs, errors, sizeof errors);
    cr_assert(is_ok, "%s", errors);
    err_list_done(&errs);
    return found;
}

void rows_init(struct rows *rows)
{
    struct source_text text = files_read(SOURCE_ROOT "/models/aliases.csv");
    struct err_list errs;

    memset(rows, 0, sizeof *rows);
    arena_init(&rows->arena);
    err_list_init(&errs);
    files_read_catalog(&rows->catalog);
    rows->source.catalog = &rows->catalog;
    cr_assert(aliases_parse(&text, &rows->arena, &rows->source.aliases, &rows->source.alias_count,
                            &errs));
    files_free(&text);
    text = files_read(SOURCE_ROOT "/models/measurements/fabric.csv");
    rows->fabric = parse(rows, &text, &rows->fabric_count);
    files_free(&text);
    err_list_done(&errs);
}

void rows_done(struct rows *rows)
{
    catalog_done(&rows->catalog);
    arena_done(&rows->arena);
}

const struct measurement *rows_read(struct rows *rows, const char *text, size_t *ret_count)
{
    struct source_text source = files_text("test.csv", text);

    return parse(rows, &source, ret_count);
}

const struct measurement *rows_find(const struct rows *rows, const char *id)
{
    for (size_t i = 0; i < rows->fabric_count; i++) {
        if (strcmp(rows->fabric[i].id, id) == 0)
            return &rows->fabric[i];
    }
    cr_assert_fail("no row %s", id);
    return NULL;
}
