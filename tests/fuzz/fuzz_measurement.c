/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The reader of measurement files: whatever the bytes, it either gives rows whose numbers hold what
 * the header promises, or errors with a place inside the text. A table that was read can be written
 * down again, all fields in quotes, and reads the same.
 */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "sim/base/text.h"
#include "sim/scenario/csv.h"
#include "sim/scenario/measurement.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(int is_true)
{
    if (!is_true)
        abort();
}

static void check_errors(const struct err_list *errs, const struct source_text *text)
{
    uint32_t lines = 1;

    for (size_t i = 0; i < text->length; i++)
        lines += text->bytes[i] == '\n';
    for (size_t i = 0; i < errs->count; i++) {
        require(errs->items[i].pos.file == text->name);
        require(errs->items[i].pos.line >= 1 && errs->items[i].pos.line <= lines);
        require(errs->items[i].pos.col >= 1);
        require(errs->items[i].text[0] != '\0');
    }
}

static void write_row(struct text *into, const struct csv_field *fields, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        text_add(into, "%s\"", i ? "," : "");
        for (const char *c = fields[i].text; *c != '\0'; c++)
            text_add(into, "%s%c", *c == '"' ? "\"" : "", *c);
        text_add(into, "\"");
    }
    text_add(into, "\r\n");
}

static void check_same(const struct csv_field *a, const struct csv_field *b, size_t count)
{
    for (size_t i = 0; i < count; i++)
        require(strcmp(a[i].text, b[i].text) == 0);
}

static void check_rewritten(const struct csv_table *table, struct arena *arena)
{
    struct csv_table again;
    struct err_list errs;
    struct text text;

    err_list_init(&errs);
    text_init(&text, arena);
    write_row(&text, table->header, table->column_count);
    for (size_t i = 0; i < table->row_count; i++)
        write_row(&text, table->rows[i].fields, table->column_count);
    if (text.length <= CSV_BYTES_MAX) {
        struct source_text source = {"again", text.bytes, text.length};

        require(csv_read(&source, arena, &again, &errs));
        require(errs.count == 0);
        require(again.column_count == table->column_count && again.row_count == table->row_count);
        check_same(again.header, table->header, table->column_count);
        for (size_t i = 0; i < table->row_count; i++)
            check_same(again.rows[i].fields, table->rows[i].fields, table->column_count);
    }
    err_list_done(&errs);
}

static void check_rows(const struct measurement *rows, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        const struct measurement *m = &rows[i];

        require(m->id && m->id[0] != '\0' && m->hosts && m->stack && m->note && m->source);
        require(m->kind == MEASUREMENT_TOKEN_RATE || (m->low > 0 && m->low <= m->high));
        require(m->scale > 0);
        require(m->kind == MEASUREMENT_TOKEN_RATE || m->nodes >= 1);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct source_text text = {"fuzz.csv", (const char *)data, size};
    struct arena arena;
    struct err_list errs;
    struct err_list ignored;
    struct csv_table table;
    const struct measurement *rows;
    size_t count;

    arena_init(&arena);
    err_list_init(&errs);
    err_list_init(&ignored);
    if (measurement_parse(&text, &arena, &rows, &count, &errs)) {
        require(errs.count == 0);
        check_rows(rows, count);
    } else {
        require(errs.count > 0);
        check_errors(&errs, &text);
    }
    if (csv_read(&text, &arena, &table, &ignored))
        check_rewritten(&table, &arena);
    err_list_done(&ignored);
    err_list_done(&errs);
    arena_done(&arena);
    return 0;
}
