/* SPDX-License-Identifier: Apache-2.0 */
/* A table of text with aligned columns, as people read it on a terminal. */
#ifndef SIM_REPORT_TABLE_H
#define SIM_REPORT_TABLE_H

#include <stdbool.h>
#include <stddef.h>

#include "sim/base/arena.h"
#include "sim/base/text.h"

struct table_column {
    const char *title;
    const char *group; /* printed once above neighbours with the same group; NULL: none */
    bool is_left;      /* texts; numbers are aligned to the right */
};

struct table {
    struct arena *arena;                /* borrowed */
    const struct table_column *columns; /* borrowed */
    size_t column_count;
    char **cells; /* row by row */
    size_t cell_count;
    size_t capacity;
};

void table_init(struct table *table, struct arena *arena, const struct table_column *columns,
                size_t column_count);
/* The next cell, from left to right and from top to bottom. */
void table_add(struct table *table, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* Appends the table, each line indented by `indent` spaces; a row that is not full stays short. */
void table_print(const struct table *table, size_t indent, struct text *ret);

/* Columns that a UTF-8 text takes on a terminal. */
size_t table_text_width(const char *text);

/* Appends `text` in lines of at most `width` columns, each indented by `indent` spaces; line breaks
 * of the text stay. */
void table_print_wrapped(const char *text, size_t indent, size_t width, struct text *ret);

#endif
