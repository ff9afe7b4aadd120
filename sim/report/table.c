/* SPDX-License-Identifier: Apache-2.0 */
/*
 * DOC: Tables of text
 *
 * A cell is as wide as its characters are on a terminal: combining marks take no column, ideographs
 * and emoji take two. Control characters would let a file's name or a scenario's name move the
 * reader's cursor, so they are replaced.
 */
#include "sim/report/table.h"

#include <assert.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#define TABLE_GAP 2U

struct code_range {
    uint32_t first, last;
};

/* Unicode 15: what takes no column of its own, and what takes two. */
static const struct code_range narrow_ranges[] = {
    {0x0300, 0x036f}, {0x1ab0, 0x1aff}, {0x1dc0, 0x1dff}, {0x200b, 0x200f},
    {0x20d0, 0x20ff}, {0xfe00, 0xfe0f}, {0xfe20, 0xfe2f},
};
static const struct code_range wide_ranges[] = {
    {0x1100, 0x115f},   {0x2e80, 0x303e},   {0x3041, 0xa4cf},   {0xac00, 0xd7a3},
    {0xf900, 0xfaff},   {0xfe30, 0xfe6f},   {0xff00, 0xff60},   {0xffe0, 0xffe6},
    {0x1f300, 0x1f64f}, {0x1f900, 0x1f9ff}, {0x20000, 0x3fffd},
};

static bool is_in(uint32_t code, const struct code_range *ranges, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (code >= ranges[i].first && code <= ranges[i].last)
            return true;
    }
    return false;
}

/* Reads one character; a byte that is no UTF-8 counts as one character. */
static const char *next_code(const char *p, uint32_t *ret)
{
    const unsigned char *b = (const unsigned char *)p;
    uint32_t more = b[0] >= 0xf0 ? 3 : b[0] >= 0xe0 ? 2 : b[0] >= 0xc0 ? 1 : 0;
    uint32_t code = more == 0 ? b[0] : b[0] & (0x3fU >> more);

    for (uint32_t i = 1; i <= more; i++) {
        if ((b[i] & 0xc0U) != 0x80) {
            *ret = b[0];
            return p + 1;
        }
        code = code << 6 | (b[i] & 0x3fU);
    }
    *ret = code;
    return p + 1 + more;
}

static size_t code_width(uint32_t code)
{
    if (is_in(code, narrow_ranges, sizeof narrow_ranges / sizeof narrow_ranges[0]))
        return 0;
    return is_in(code, wide_ranges, sizeof wide_ranges / sizeof wide_ranges[0]) ? 2 : 1;
}

size_t table_text_width(const char *text)
{
    size_t width = 0;

    while (*text != '\0') {
        uint32_t code;

        text = next_code(text, &code);
        width += code_width(code);
    }
    return width;
}

void table_init(struct table *table, struct arena *arena, const struct table_column *columns,
                size_t column_count)
{
    *table = (struct table){.arena = arena, .columns = columns, .column_count = column_count};
}

static void add_cell(struct table *table, char *cell)
{
    if (table->cell_count == table->capacity) {
        size_t capacity = table->capacity ? 2 * table->capacity : 64;
        char **cells = arena_alloc_array(table->arena, capacity, sizeof *cells);

        if (table->cell_count > 0)
            memcpy(cells, table->cells, table->cell_count * sizeof *cells);
        table->cells = cells;
        table->capacity = capacity;
    }
    table->cells[table->cell_count++] = cell;
}

void table_add(struct table *table, const char *format, ...)
{
    char *cell;
    va_list args;

    va_start(args, format);
    int length = vsnprintf(NULL, 0, format, args);
    va_end(args);

    size_t size = length > 0 ? (size_t)length + 1 : 1;

    cell = arena_alloc(table->arena, size);
    va_start(args, format);
    (void)vsnprintf(cell, size, format, args);
    va_end(args);
    for (char *p = cell; *p != '\0'; p++) {
        if ((unsigned char)*p < 0x20 || *p == 0x7f)
            *p = '?';
    }
    add_cell(table, cell);
}

static void print_spaces(struct text *ret, size_t count)
{
    text_add(ret, "%*s", (int)count, "");
}

/* Removes blanks at the end of what was printed since `from`, and ends the line. */
static void end_line(struct text *ret, size_t from)
{
    while (ret->length > from && ret->bytes[ret->length - 1] == ' ')
        ret->bytes[--ret->length] = '\0';
    text_add(ret, "\n");
}

static void print_cell(struct text *ret, const char *cell, size_t width, bool is_left)
{
    size_t used = table_text_width(cell);
    size_t fill = width > used ? width - used : 0;

    if (!is_left)
        print_spaces(ret, fill);
    text_add(ret, "%s", cell);
    if (is_left)
        print_spaces(ret, fill);
}

static size_t *find_widths(const struct table *table)
{
    size_t *widths = arena_alloc_array(table->arena, table->column_count, sizeof *widths);

    assert(table->column_count > 0);
    for (size_t i = 0; i < table->column_count; i++)
        widths[i] = table_text_width(table->columns[i].title);
    for (size_t i = 0; i < table->cell_count; i++) {
        size_t width = table_text_width(table->cells[i]);
        size_t column = i % table->column_count;

        if (width > widths[column])
            widths[column] = width;
    }
    return widths;
}

/* Columns from `first` on that share its group, and their width together. */
static size_t group_span(const struct table *table, const size_t *widths, size_t first,
                         size_t *ret_width)
{
    const char *group = table->columns[first].group;
    size_t last = first;

    *ret_width = widths[first];
    while (group && last + 1 < table->column_count && table->columns[last + 1].group &&
           strcmp(table->columns[last + 1].group, group) == 0)
        *ret_width += TABLE_GAP + widths[++last];
    return last - first + 1;
}

static void print_dashes(struct text *ret, size_t count)
{
    for (size_t i = 0; i < count; i++)
        text_add(ret, "-");
}

/* A group's name between dashes; without them where there is no room. */
static void print_group(struct text *ret, const char *group, size_t width)
{
    size_t used = table_text_width(group);
    size_t dashes = *group != '\0' && width >= used + 4 ? width - used - 2 : 0;

    if (dashes == 0) {
        print_cell(ret, group, width, true);
        return;
    }
    print_dashes(ret, dashes / 2);
    text_add(ret, " %s ", group);
    print_dashes(ret, dashes - dashes / 2);
}

static void print_groups(const struct table *table, const size_t *widths, size_t indent,
                         struct text *ret)
{
    size_t from = ret->length;

    print_spaces(ret, indent);
    for (size_t i = 0; i < table->column_count;) {
        size_t width;
        size_t span = group_span(table, widths, i, &width);

        print_group(ret, table->columns[i].group ? table->columns[i].group : "", width);
        i += span;
        if (i < table->column_count)
            print_spaces(ret, TABLE_GAP);
    }
    end_line(ret, from);
}

static bool has_groups(const struct table *table)
{
    for (size_t i = 0; i < table->column_count; i++) {
        if (table->columns[i].group)
            return true;
    }
    return false;
}

void table_print(const struct table *table, size_t indent, struct text *ret)
{
    size_t *widths = find_widths(table);
    size_t rows = (table->cell_count + table->column_count - 1) / table->column_count;

    if (has_groups(table))
        print_groups(table, widths, indent, ret);
    for (size_t row = 0; row <= rows; row++) {
        size_t from = ret->length;

        print_spaces(ret, indent);
        for (size_t i = 0; i < table->column_count; i++) {
            size_t at = (row - 1) * table->column_count + i;
            const char *cell = table->columns[i].title;

            if (row > 0)
                cell = at < table->cell_count ? table->cells[at] : "";
            print_cell(ret, cell, widths[i], table->columns[i].is_left);
            if (i + 1 < table->column_count)
                print_spaces(ret, TABLE_GAP);
        }
        end_line(ret, from);
    }
}

/* Length in bytes of the next line of at most `width` columns; at least one word. */
static size_t fit_line(const char *text, size_t width)
{
    size_t columns = 0;
    size_t last_blank = 0;

    for (const char *p = text; *p != '\0' && *p != '\n';) {
        uint32_t code;
        const char *next = next_code(p, &code);

        if (*p == ' ')
            last_blank = (size_t)(p - text);
        columns += code_width(code);
        if (columns > width && last_blank > 0)
            return last_blank;
        p = next;
    }
    return strcspn(text, "\n");
}

void table_print_wrapped(const char *text, size_t indent, size_t width, struct text *ret)
{
    while (*text != '\0') {
        size_t length = fit_line(text, width > indent ? width - indent : 1);

        print_spaces(ret, indent);
        text_add(ret, "%.*s\n", (int)length, text);
        text += length;
        text += *text == '\n' || *text == ' ';
    }
}
