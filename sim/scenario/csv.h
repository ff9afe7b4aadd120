/* SPDX-License-Identifier: Apache-2.0 */
/* A CSV file (RFC 4180) as a table of text, each field with its place. */
#ifndef SIM_SCENARIO_CSV_H
#define SIM_SCENARIO_CSV_H

#include <stdbool.h>
#include <stddef.h>

#include "sim/base/arena.h"
#include "sim/base/err.h"
#include "sim/scenario/scenario.h"

#define CSV_BYTES_MAX  ((size_t)4 * 1024 * 1024)
#define CSV_FIELDS_MAX ((size_t)64)

struct csv_field {
    const char *text; /* quotes removed, spaces kept */
    struct src_pos pos;
};

struct csv_row {
    const struct csv_field *fields; /* table.column_count of them */
    struct src_pos pos;
};

struct csv_table {
    const struct csv_field *header;
    size_t column_count;
    const struct csv_row *rows; /* without the header */
    size_t row_count;
};

/*
 * Reads a table whose first line names the columns.
 *
 * Returns:  true and *ret, in the arena; false with every row that has another number of fields
 *           than the header, or with the first place where the text is no CSV at all.
 */
bool csv_read(const struct source_text *text, struct arena *arena, struct csv_table *ret,
              struct err_list *reterrs);

/* The column of that name, SIZE_MAX when there is none. */
size_t csv_find_column(const struct csv_table *table, const char *name);

#endif
