/* SPDX-License-Identifier: Apache-2.0 */
/*
 * DOC: CSV
 *
 * RFC 4180: fields between commas, records end in LF or CRLF, a field in double quotes may hold
 * commas, line ends and doubled quotes. A byte order mark is skipped, so are empty lines. What the
 * RFC leaves open is refused: a quote inside an unquoted field, text behind a closing quote,
 * control characters, bytes that are not UTF-8. Column numbers count bytes from 1.
 */
#include "sim/scenario/csv.h"

#include <stdint.h>
#include <string.h>

#include "sim/base/utf8.h"

struct scanner {
    const struct source_text *text;
    struct arena *arena;
    struct err_list *errs;
    size_t at;
    uint32_t line;
    size_t line_start;
};

/* What ended a field. */
enum field_end {
    END_COMMA,
    END_LINE,
    END_TEXT,
    END_BAD, /* an error was reported */
};

static struct src_pos here(const struct scanner *s)
{
    return (struct src_pos){s->text->name, s->line, (uint32_t)(s->at - s->line_start + 1)};
}

static bool is_at_end(const struct scanner *s)
{
    return s->at >= s->text->length;
}

static unsigned char byte_at(const struct scanner *s, size_t at)
{
    return at < s->text->length ? (unsigned char)s->text->bytes[at] : 0;
}

/* Steps over one character of a field; false and an error when it may not stand in a text. */
static bool step(struct scanner *s)
{
    unsigned char byte = byte_at(s, s->at);
    size_t length =
        utf8_length((const unsigned char *)s->text->bytes + s->at, s->text->length - s->at);

    if ((byte < 0x20 && byte != '\t' && byte != '\n' && byte != '\r') || byte == 0x7f)
        return err_list_add(s->errs, ERR_SYNTAX, here(s), "byte 0x%02x: this is no CSV text", byte);
    if (length == 0)
        return err_list_add(s->errs, ERR_SYNTAX, here(s), "byte 0x%02x: this is no UTF-8 text",
                            byte);
    s->at += length;
    if (byte == '\n') {
        s->line++;
        s->line_start = s->at;
    }
    return true;
}

/* Steps over what separates two fields. */
static enum field_end take_separator(struct scanner *s)
{
    if (is_at_end(s))
        return END_TEXT;
    if (byte_at(s, s->at) == ',') {
        s->at++;
        return END_COMMA;
    }
    if (byte_at(s, s->at) == '\r' && byte_at(s, s->at + 1) == '\n')
        s->at++;
    if (byte_at(s, s->at) == '\n') {
        step(s);
        return END_LINE;
    }
    err_list_add(s->errs, ERR_SYNTAX, here(s),
                 "text behind a closing quote; a comma or the end of the line is accepted");
    return END_BAD;
}

static enum field_end read_quoted(struct scanner *s, struct csv_field *ret)
{
    char *copy;
    size_t length = 0;
    size_t begin = ++s->at;

    for (;;) {
        if (is_at_end(s)) {
            err_list_add(s->errs, ERR_SYNTAX, ret->pos, "a quote that nothing closes");
            return END_BAD;
        }
        if (byte_at(s, s->at) == '"') {
            if (byte_at(s, s->at + 1) != '"')
                break;
            s->at++;
        }
        if (!step(s))
            return END_BAD;
    }
    copy = arena_alloc(s->arena, s->at - begin + 1);
    for (size_t i = begin; i < s->at; i++) {
        copy[length++] = s->text->bytes[i];
        i += s->text->bytes[i] == '"';
    }
    ret->text = copy;
    s->at++;
    return take_separator(s);
}

static enum field_end read_bare(struct scanner *s, struct csv_field *ret)
{
    size_t begin = s->at;

    while (!is_at_end(s) && byte_at(s, s->at) != ',' && byte_at(s, s->at) != '\n') {
        if (byte_at(s, s->at) == '\r' && byte_at(s, s->at + 1) == '\n')
            break;
        if (byte_at(s, s->at) == '"') {
            err_list_add(s->errs, ERR_SYNTAX, here(s),
                         "a quote inside a field; put the whole field in quotes and double it");
            return END_BAD;
        }
        if (byte_at(s, s->at) == '\r') {
            err_list_add(s->errs, ERR_SYNTAX, here(s), "a carriage return without a line feed");
            return END_BAD;
        }
        if (!step(s))
            return END_BAD;
    }
    ret->text = arena_copy_text(s->arena, s->text->bytes + begin, s->at - begin);
    return take_separator(s);
}

/* Reads one record into fields[CSV_FIELDS_MAX]; *ret_count tells how many there were. */
static enum field_end read_record(struct scanner *s, struct csv_field *fields, size_t *ret_count)
{
    enum field_end end;
    size_t count = 0;

    do {
        struct csv_field field = {.pos = here(s)};

        if (count == CSV_FIELDS_MAX) {
            err_list_add(s->errs, ERR_LIMIT, field.pos, "more than %zu fields in one line",
                         CSV_FIELDS_MAX);
            return END_BAD;
        }
        end = byte_at(s, s->at) == '"' ? read_quoted(s, &field) : read_bare(s, &field);
        fields[count++] = field;
    } while (end == END_COMMA);
    *ret_count = count;
    return end;
}

static bool is_empty_record(const struct csv_field *fields, size_t count)
{
    return count == 1 && fields[0].text[0] == '\0';
}

static const struct csv_field *keep_fields(struct scanner *s, const struct csv_field *fields,
                                           size_t count)
{
    struct csv_field *copy = arena_alloc_array(s->arena, count, sizeof *copy);

    memcpy(copy, fields, count * sizeof *copy);
    return copy;
}

/* Takes one record into the table; false when it does not fit the header. */
static bool take_record(struct scanner *s, const struct csv_field *fields, size_t count,
                        struct csv_table *table, struct csv_row *rows)
{
    if (!table->header) {
        table->header = keep_fields(s, fields, count);
        table->column_count = count;
        return true;
    }
    if (count != table->column_count)
        return err_list_add(s->errs, ERR_SYNTAX, fields[0].pos,
                            "%zu fields where the header names %zu columns", count,
                            table->column_count);
    rows[table->row_count++] = (struct csv_row){keep_fields(s, fields, count), fields[0].pos};
    return true;
}

/* Upper bound of the records in a text. */
static size_t count_lines(const struct source_text *text)
{
    size_t lines = 1;

    for (size_t i = 0; i < text->length; i++)
        lines += text->bytes[i] == '\n';
    return lines;
}

bool csv_read(const struct source_text *text, struct arena *arena, struct csv_table *ret,
              struct err_list *reterrs)
{
    struct scanner s = {.text = text, .arena = arena, .errs = reterrs, .line = 1};
    struct csv_field fields[CSV_FIELDS_MAX];
    struct csv_table table = {0};
    struct csv_row *rows;
    enum field_end end = END_LINE;
    bool is_ok = true;

    if (text->length > CSV_BYTES_MAX)
        return err_list_add(reterrs, ERR_LIMIT, here(&s), "%zu bytes; a CSV file has at most %zu",
                            text->length, CSV_BYTES_MAX);
    if (text->length >= 3 && memcmp(text->bytes, "\xef\xbb\xbf", 3) == 0)
        s.at = s.line_start = 3;
    rows = arena_alloc_array(arena, count_lines(text), sizeof *rows);
    while (end == END_LINE && !is_at_end(&s)) {
        size_t count = 0;

        end = read_record(&s, fields, &count);
        if (end == END_BAD)
            return false;
        if (!is_empty_record(fields, count))
            is_ok &= take_record(&s, fields, count, &table, rows);
    }
    if (!table.header)
        return err_list_add(reterrs, ERR_SYNTAX, here(&s),
                            "an empty file; the first line names the columns");
    table.rows = rows;
    if (is_ok)
        *ret = table;
    return is_ok;
}

size_t csv_find_column(const struct csv_table *table, const char *name)
{
    for (size_t i = 0; i < table->column_count; i++) {
        if (strcmp(table->header[i].text, name) == 0)
            return i;
    }
    return SIZE_MAX;
}
