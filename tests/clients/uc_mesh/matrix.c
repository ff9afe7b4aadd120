/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/clients/uc_mesh/matrix.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

struct reader {
    const char *text;
    size_t length;
    size_t at;
    struct fault *fault;
};

static bool complain(const struct reader *reader, const char *wanted)
{
    size_t line = 1;

    for (size_t i = 0; i < reader->at && i < reader->length; i++)
        line += reader->text[i] == '\n';
    return fault_set(reader->fault, "device matrix, line %zu, byte %zu: expected %s", line,
                     reader->at + 1, wanted);
}

static void skip_space(struct reader *reader)
{
    while (reader->at < reader->length && reader->text[reader->at] &&
           strchr(" \t\r\n", reader->text[reader->at]))
        reader->at++;
}

/* Takes `c` if it is next. */
static bool take(struct reader *reader, char c)
{
    skip_space(reader);
    if (reader->at == reader->length || reader->text[reader->at] != c)
        return false;
    reader->at++;
    return true;
}

static bool read_name(struct reader *reader, char ret[MATRIX_NAME_MAX])
{
    size_t n = 0;

    if (!take(reader, '"'))
        return complain(reader, "a device name in quotes");
    while (reader->at < reader->length && reader->text[reader->at] != '"') {
        char c = reader->text[reader->at];

        if ((unsigned char)c < 0x21 || c == '\\' || n + 1 == MATRIX_NAME_MAX)
            return complain(reader, "a device name of up to 31 plain characters");
        ret[n++] = c;
        reader->at++;
    }
    if (!take(reader, '"') || n == 0)
        return complain(reader, "a device name in quotes");
    ret[n] = '\0';
    return true;
}

static bool read_cell(struct reader *reader, struct matrix_cell *ret)
{
    *ret = (struct matrix_cell){0};
    skip_space(reader);
    if (reader->length - reader->at >= 4 && !memcmp(reader->text + reader->at, "null", 4)) {
        reader->at += 4;
        return true;
    }
    if (!take(reader, '[')) {
        ret->count = 1;
        return read_name(reader, ret->names[0]);
    }
    if (take(reader, ']'))
        return true;
    do {
        if (ret->count == MATRIX_WIRE_MAX)
            return complain(reader, "at most 4 names in a cell");
        if (!read_name(reader, ret->names[ret->count++]))
            return false;
    } while (take(reader, ','));
    return take(reader, ']') || complain(reader, "',' or ']' in a cell");
}

static bool read_row(struct reader *reader, struct matrix_cell row[MATRIX_RANK_MAX],
                     unsigned *ret_count)
{
    *ret_count = 0;
    if (!take(reader, '['))
        return complain(reader, "'[' of a row");
    do {
        if (*ret_count == MATRIX_RANK_MAX)
            return complain(reader, "at most 8 cells in a row");
        if (!read_cell(reader, &row[(*ret_count)++]))
            return false;
    } while (take(reader, ','));
    return take(reader, ']') || complain(reader, "',' or ']' in a row");
}

bool matrix_parse(const char *text, size_t length, struct matrix *ret, struct fault *fault)
{
    struct reader reader = {.text = text, .length = length, .fault = fault};
    unsigned columns = 0;

    *ret = (struct matrix){0};
    if (!take(&reader, '['))
        return complain(&reader, "'[' of the matrix");
    do {
        unsigned count;

        if (ret->ranks == MATRIX_RANK_MAX)
            return complain(&reader, "at most 8 rows");
        if (!read_row(&reader, ret->cells[ret->ranks], &count))
            return false;
        if (ret->ranks > 0 && count != columns)
            return complain(&reader, "rows of one length");
        columns = count;
        ret->ranks++;
    } while (take(&reader, ','));
    if (!take(&reader, ']'))
        return complain(&reader, "',' or ']' of the matrix");
    skip_space(&reader);
    if (reader.at != length)
        return complain(&reader, "nothing behind the matrix");
    if (columns != ret->ranks || ret->ranks < 2)
        return fault_set(fault, "device matrix: %u rows of %u cells; it must be square, 2 to 8",
                         ret->ranks, columns);
    return true;
}

bool matrix_load(const char *path, struct matrix *ret, struct fault *fault)
{
    static char text[65536];
    FILE *file = fopen(path, "rb");
    size_t length;
    bool is_bad;

    if (!file)
        return fault_errno(fault, errno, "cannot open the device matrix %s", path);
    length = fread(text, 1, sizeof text, file);
    is_bad = ferror(file) != 0;
    (void)fclose(file);
    if (is_bad)
        return fault_set(fault, "cannot read the device matrix %s", path);
    if (length == sizeof text)
        return fault_set(fault, "the device matrix %s is longer than 64 KiB", path);
    return matrix_parse(text, length, ret, fault);
}

bool matrix_is_mesh(const struct matrix *matrix, struct fault *fault)
{
    for (unsigned from = 0; from < matrix->ranks; from++) {
        for (unsigned to = 0; to < matrix->ranks; to++) {
            bool has_device = matrix->cells[from][to].count > 0;

            if (has_device == (from == to))
                return fault_set(fault, "no mesh: the device matrix has %s device at [%u][%u]",
                                 has_device ? "a" : "no", from, to);
        }
    }
    return true;
}

bool matrix_is_ring(const struct matrix *matrix, unsigned wires, unsigned *ret_wires,
                    struct fault *fault)
{
    unsigned n = matrix->ranks;
    unsigned count = wires ? wires : matrix->cells[0][1].count;

    for (unsigned from = 0; from < n; from++) {
        for (unsigned side = 0; side < 2; side++) {
            unsigned to = (from + (side ? 1 : n - 1)) % n;
            unsigned found = matrix->cells[from][to].count;

            if (found < count || found == 0)
                return fault_set(fault, "no ring of %u wires: the device matrix has %u at [%u][%u]",
                                 count, found, from, to);
        }
    }
    *ret_wires = count;
    return true;
}
