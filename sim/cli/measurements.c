/* SPDX-License-Identifier: Apache-2.0 */
#include "sim/cli/measurements.h"

#include <string.h>

#include <glib.h>

#include "sim/base/arena.h"
#include "sim/base/err.h"
#include "sim/cli/embedded.h"
#include "sim/cli/file_io.h"
#include "sim/plan/measurement.h"
#include "sim/scenario/measurement.h"
#include "sim/scenario/scenario.h"

/* Rows of several files, one after another. */
struct row_list {
    struct measurement *rows;
    size_t count;
};

static void append(struct cli *cli, struct row_list *list, const struct measurement *rows,
                   size_t count)
{
    struct measurement *joined =
        arena_alloc_array(&cli->arena, list->count + count, sizeof *joined);

    if (list->count > 0)
        memcpy(joined, list->rows, list->count * sizeof *joined);
    if (count > 0)
        memcpy(joined + list->count, rows, count * sizeof *joined);
    *list = (struct row_list){joined, list->count + count};
}

static bool read_text(struct cli *cli, const struct source_text *text, struct row_list *list)
{
    const struct measurement *rows;
    struct err_list errs;
    size_t count;
    bool ok;

    err_list_init(&errs);
    ok = measurement_parse(text, &cli->arena, &rows, &count, &errs);
    cli_report_errs(cli, &errs);
    err_list_done(&errs);
    if (ok)
        append(cli, list, rows, count);
    return ok;
}

static bool read_shipped(struct cli *cli, struct row_list *list)
{
    for (const struct embedded_file *file = embedded_files; file->name; file++) {
        struct source_text text = {file->name, (const char *)file->bytes, file->length};

        if (g_str_has_prefix(file->name, "models/measurements/") &&
            g_str_has_suffix(file->name, ".csv") && !read_text(cli, &text, list))
            return false;
    }
    return true;
}

static bool read_operands(struct cli *cli, struct row_list *list)
{
    for (int i = 0; i < cli->operand_count; i++) {
        struct source_text text;
        struct err err = {0};

        if (!file_read(cli->operands[i], &cli->arena, &text, &err)) {
            cli_report_err(cli, &err);
            return false;
        }
        if (!read_text(cli, &text, list))
            return false;
    }
    return true;
}

static bool read_aliases(struct cli *cli, struct predict_source *ret)
{
    struct source_text text;
    struct err_list errs;
    bool ok;

    if (!cli_find_embedded("models/aliases.csv", &text))
        return true;
    err_list_init(&errs);
    ok = aliases_parse(&text, &cli->arena, &ret->aliases, &ret->alias_count, &errs);
    cli_report_errs(cli, &errs);
    err_list_done(&errs);
    return ok;
}

bool measurements_load(struct cli *cli, struct measurements *ret)
{
    struct row_list shipped = {NULL, 0};
    struct row_list rows = {NULL, 0};

    *ret = (struct measurements){.source = {.catalog = &cli->catalog}};
    if (!cli_load_catalog(cli) || !read_aliases(cli, &ret->source) ||
        !read_shipped(cli, &shipped) || !read_operands(cli, &rows))
        return false;
    ret->shipped = shipped.rows;
    ret->shipped_count = shipped.count;
    ret->rows = cli->operand_count > 0 ? rows.rows : shipped.rows;
    ret->row_count = cli->operand_count > 0 ? rows.count : shipped.count;
    return true;
}
