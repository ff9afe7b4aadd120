/* SPDX-License-Identifier: Apache-2.0 */
/*
 * DOC: Measurement files
 *
 * One published measurement a row. The reader types what the model needs (nodes, cables, size,
 * value with its unit) and keeps the rest as text: `hosts` and `stack` are free words of the people
 * who measured, and what they mean is decided in sim/plan/predict. A value is a number or a range
 * "52.6-63.6". A kind that nobody knows is no error: the row is reported as not expressed. A value
 * that is no number is one, whatever the kind.
 */
#include "sim/scenario/measurement.h"

#include <stdint.h>
#include <string.h>

#include "sim/base/units.h"
#include "sim/scenario/csv.h"
#include "sim/scenario/quantity.h"
#include "sim/scenario/suggest.h"

#define NODES_MAX  UINT32_C(1024)
#define CABLES_MAX UINT32_C(64)
#define SIZE_MAX_B (INT64_C(1) << 50)
#define TEXT_MAX_B ((size_t)200)
#define ROWS_MAX   ((size_t)10000)

enum column {
    COLUMN_ID,
    COLUMN_KIND,
    COLUMN_HOSTS,
    COLUMN_NODES,
    COLUMN_CABLES,
    COLUMN_STACK,
    COLUMN_SIZE,
    COLUMN_VALUE,
    COLUMN_UNIT,
    COLUMN_REQUIRED, /* the columns above must be there */
    COLUMN_NOTE = COLUMN_REQUIRED,
    COLUMN_SOURCE,
    COLUMN_DATE,
    COLUMN_COUNT,
};

static const char *const column_names[COLUMN_COUNT] = {
    "id",         "kind",  "hosts", "nodes", "cables_per_pair", "stack",
    "size_bytes", "value", "unit",  "note",  "source",          "date"};

static const char *const kind_names[] = {
#define X(id, name, why) [MEASUREMENT_##id] = (name),
    MEASUREMENT_KIND_LIST(X)
#undef X
};

struct row_reader {
    const struct csv_row *row;
    const size_t *columns; /* [COLUMN_COUNT], SIZE_MAX: not in this file */
    struct arena *arena;
    struct err_list *errs;
};

static struct csv_field field_of(const struct row_reader *reader, enum column column)
{
    size_t ix = reader->columns[column];

    if (ix == SIZE_MAX)
        return (struct csv_field){"", reader->row->pos};
    return reader->row->fields[ix];
}

static enum measurement_kind find_kind(const char *name)
{
    for (uint32_t i = 0; i < MEASUREMENT_OTHER; i++) {
        if (strcmp(kind_names[i], name) == 0)
            return (enum measurement_kind)i;
    }
    return MEASUREMENT_OTHER;
}

/* A text without control characters that fits a table; an empty one is an error if `is_needed`. */
static bool read_text(const struct row_reader *reader, enum column column, bool is_needed,
                      const char **ret)
{
    struct csv_field field = field_of(reader, column);

    *ret = field.text;
    if (is_needed && field.text[0] == '\0')
        return err_list_add(reader->errs, ERR_KEY, field.pos, "%s is empty", column_names[column]);
    if (strlen(field.text) > TEXT_MAX_B)
        return err_list_add(reader->errs, ERR_LIMIT, field.pos, "%s is longer than %zu bytes",
                            column_names[column], TEXT_MAX_B);
    return true;
}

/* A whole number from min to max; an empty field is `otherwise`. */
static bool read_count(const struct row_reader *reader, enum column column, int64_t max,
                       int64_t otherwise, int64_t *ret)
{
    struct csv_field field = field_of(reader, column);
    struct err err = {0};

    *ret = otherwise;
    if (field.text[0] == '\0')
        return true;
    if (!quantity_parse(field.text, QUANTITY_COUNT, field.pos, ret, &err))
        return err_list_take(reader->errs, &err);
    if (*ret < 1 || *ret > max)
        return err_list_add(reader->errs, ERR_RANGE, field.pos,
                            "%s is '%.40s'; accepted is 1 to %lld", column_names[column],
                            field.text, (long long)max);
    return true;
}

/* What the unit counts, and how much one of it is; kinds without a model may have any unit. */
static enum measurement_unit find_unit(const char *unit, struct arena *arena, int64_t *ret_scale)
{
    const char *one = arena_format(arena, "1 %s", unit);
    struct src_pos nowhere = {"", 0, 0};
    struct err ignored = {0};

    if (quantity_parse(one, QUANTITY_SPAN, nowhere, ret_scale, &ignored))
        return MEASUREMENT_SPAN;
    if (quantity_parse(one, QUANTITY_RATE, nowhere, ret_scale, &ignored))
        return MEASUREMENT_RATE;
    *ret_scale = 1;
    return MEASUREMENT_NO_MODEL;
}

/* Length of the first number of "52.6-63.6"; the whole text when it is no range. */
static size_t first_length(const char *text, size_t *ret_gap)
{
    for (size_t i = 1; text[i] != '\0'; i++) {
        bool is_exponent = text[i - 1] == 'e' || text[i - 1] == 'E';

        *ret_gap = text[i] == '-' ? 1 : strncmp(text + i, "\xe2\x80\x93", 3) == 0 ? 3 : 0;
        if (*ret_gap > 0 && !is_exponent)
            return i;
    }
    *ret_gap = 0;
    return strlen(text);
}

/* Reads one number of a value in the row's unit. Plain numbers are read in thousandths. */
static bool read_number(const struct row_reader *reader, const char *number,
                        const struct measurement *m, int64_t *ret)
{
    struct src_pos pos = field_of(reader, COLUMN_VALUE).pos;
    struct err err = {0};
    const char *text = number;
    bool is_ok;

    if (m->unit == MEASUREMENT_NO_MODEL) {
        is_ok = quantity_parse_thousandths(text, pos, ret, &err);
    } else {
        text = arena_format(reader->arena, "%s %s", number, m->unit_text);
        is_ok = quantity_parse(text, m->unit == MEASUREMENT_SPAN ? QUANTITY_SPAN : QUANTITY_RATE,
                               pos, ret, &err);
    }
    if (!is_ok)
        return err_list_add(reader->errs, err.code, pos,
                            "value: '%.60s' is no number or range such as 52.6-63.6",
                            m->value_text);
    return true;
}

static bool read_value(const struct row_reader *reader, struct measurement *m)
{
    struct csv_field field = field_of(reader, COLUMN_VALUE);
    size_t gap;
    size_t length = first_length(m->value_text, &gap);
    const char *low = arena_copy_text(reader->arena, m->value_text, length);
    const char *high = gap > 0 ? m->value_text + length + gap : low;

    m->unit = find_unit(m->unit_text, reader->arena, &m->scale);
    if (m->value_text[0] == '\0' || !read_number(reader, low, m, &m->low) ||
        !read_number(reader, high, m, &m->high))
        return false;
    if (m->low > m->high)
        return err_list_add(reader->errs, ERR_RANGE, field.pos,
                            "value: the range '%.60s' ends before it begins", field.text);
    if (m->low == 0)
        return err_list_add(reader->errs, ERR_RANGE, field.pos,
                            "value is zero: an error cannot be given as a share of it");
    return true;
}

static const char *unit_advice(enum measurement_kind kind)
{
    switch (kind) {
    case MEASUREMENT_ONE_WAY_LATENCY:
    case MEASUREMENT_ROUND_TRIP:
    case MEASUREMENT_IP_ROUND_TRIP:
        return "a time: ns, us, ms or s";
    case MEASUREMENT_SEND_BANDWIDTH:
    case MEASUREMENT_IP_BANDWIDTH:
        return "a rate: Gb/s, GB/s, Mb/s or MB/s";
    case MEASUREMENT_ALL_REDUCE:
    case MEASUREMENT_ALL_GATHER:
    case MEASUREMENT_REDUCE_SCATTER:
    case MEASUREMENT_ALL_TO_ALL:
    case MEASUREMENT_BROADCAST:
        return "a time (us, ms) or a rate (GB/s, Gb/s)";
    case MEASUREMENT_BRIDGE_STORM:
    case MEASUREMENT_HPL:
    case MEASUREMENT_TOKEN_RATE:
    case MEASUREMENT_OTHER:
        break;
    }
    return NULL;
}

/* Does the unit suit the kind? */
static bool check_unit(const struct row_reader *reader, const struct measurement *m)
{
    const char *advice = unit_advice(m->kind);
    bool is_time = advice && strncmp(advice, "a time:", 7) == 0;
    bool is_rate = advice && strncmp(advice, "a rate:", 7) == 0;

    if (!advice || (m->unit != MEASUREMENT_NO_MODEL && !(is_time && m->unit == MEASUREMENT_RATE) &&
                    !(is_rate && m->unit == MEASUREMENT_SPAN)))
        return true;
    return err_list_add(reader->errs, ERR_UNIT, field_of(reader, COLUMN_UNIT).pos,
                        "unit: '%.40s' does not suit %s; accepted is %s", m->unit_text,
                        m->kind_text, advice);
}

static bool read_row(const struct row_reader *reader, struct measurement *m)
{
    int64_t nodes;
    int64_t cables;
    int64_t size;
    bool is_ok = read_text(reader, COLUMN_ID, true, &m->id);

    m->pos = reader->row->pos;
    is_ok &= read_text(reader, COLUMN_KIND, true, &m->kind_text);
    m->kind = find_kind(m->kind_text);
    is_ok &= read_text(reader, COLUMN_HOSTS, true, &m->hosts);
    is_ok &= read_count(reader, COLUMN_NODES, NODES_MAX, 2, &nodes);
    is_ok &= read_count(reader, COLUMN_CABLES, CABLES_MAX, 0, &cables);
    is_ok &= read_text(reader, COLUMN_STACK, false, &m->stack);
    is_ok &= read_count(reader, COLUMN_SIZE, SIZE_MAX_B, 0, &size);
    is_ok &= read_text(reader, COLUMN_UNIT, true, &m->unit_text);
    is_ok &= read_text(reader, COLUMN_NOTE, false, &m->note);
    is_ok &= read_text(reader, COLUMN_SOURCE, false, &m->source);
    is_ok &= read_text(reader, COLUMN_DATE, false, &m->date);
    is_ok &= read_text(reader, COLUMN_VALUE, true, &m->value_text) && read_value(reader, m);
    m->nodes = (uint32_t)nodes;
    m->cables_per_pair = (uint32_t)cables;
    m->has_size = size > 0;
    m->size.bytes = (uint64_t)size;
    return is_ok && check_unit(reader, m);
}

/* Two rows of one name could not be told apart in a report. */
static bool check_ids(const struct measurement *rows, size_t count, struct err_list *errs)
{
    bool is_ok = true;

    for (size_t i = 0; i < count; i++) {
        for (size_t k = 0; k < i; k++) {
            if (strcmp(rows[i].id, rows[k].id) == 0)
                is_ok = err_list_add(errs, ERR_CONFLICT, rows[i].pos,
                                     "id '%.60s' stands in line %u already", rows[i].id,
                                     rows[k].pos.line);
        }
    }
    return is_ok;
}

/* Finds the columns; one error names all that are missing. */
static bool find_columns(const struct csv_table *table, struct arena *arena, size_t *ret,
                         struct err_list *errs)
{
    const char **names = arena_alloc_array(arena, table->column_count, sizeof *names);
    bool is_ok = true;

    for (size_t i = 0; i < table->column_count; i++)
        names[i] = table->header[i].text;
    for (uint32_t i = 0; i < COLUMN_COUNT; i++) {
        char suggestion[SUGGEST_TEXT_MAX];

        ret[i] = csv_find_column(table, column_names[i]);
        if (ret[i] != SIZE_MAX || i >= COLUMN_REQUIRED)
            continue;
        suggest_text(suggestion, column_names[i], names, table->column_count);
        is_ok = err_list_add(errs, ERR_KEY, table->header[0].pos, "no column '%s'%s",
                             column_names[i], suggestion);
    }
    return is_ok;
}

/* A table of token rates of language models: kept so that it can be reported. */
static bool is_token_table(const struct csv_table *table)
{
    return csv_find_column(table, "tok_per_s") != SIZE_MAX &&
           csv_find_column(table, "model") != SIZE_MAX;
}

static void read_token_rows(const struct csv_table *table, struct arena *arena,
                            struct measurement *rows)
{
    size_t model = csv_find_column(table, "model");
    size_t value = csv_find_column(table, "tok_per_s");

    for (size_t i = 0; i < table->row_count; i++) {
        const struct csv_row *row = &table->rows[i];

        rows[i] = (struct measurement){
            .id = arena_format(arena, "line %u", row->pos.line),
            .kind = MEASUREMENT_TOKEN_RATE,
            .kind_text = kind_names[MEASUREMENT_TOKEN_RATE],
            .hosts = "",
            .stack = row->fields[model].text,
            .value_text = row->fields[value].text,
            .unit_text = "tok/s",
            .unit = MEASUREMENT_NO_MODEL,
            .scale = 1,
            .note = "",
            .source = "",
            .date = "",
            .pos = row->pos,
        };
    }
}

bool measurement_parse(const struct source_text *text, struct arena *arena,
                       const struct measurement **ret, size_t *ret_count, struct err_list *reterrs)
{
    struct csv_table table;
    struct measurement *rows;
    size_t columns[COLUMN_COUNT] = {0};
    struct row_reader reader = {NULL, columns, arena, reterrs};
    bool is_ok;

    if (!csv_read(text, arena, &table, reterrs))
        return false;
    if (table.row_count > ROWS_MAX)
        return err_list_add(reterrs, ERR_LIMIT, table.rows[ROWS_MAX].pos, "more than %zu rows",
                            ROWS_MAX);
    rows = arena_alloc_array(arena, table.row_count, sizeof *rows);
    is_ok = is_token_table(&table) || find_columns(&table, arena, columns, reterrs);
    if (is_token_table(&table)) {
        read_token_rows(&table, arena, rows);
    } else if (is_ok) {
        for (size_t i = 0; i < table.row_count; i++) {
            reader.row = &table.rows[i];
            is_ok &= read_row(&reader, &rows[i]);
        }
        is_ok = is_ok && check_ids(rows, table.row_count, reterrs);
    }
    err_list_sort(reterrs);
    if (!is_ok)
        return false;
    *ret = rows;
    *ret_count = table.row_count;
    return true;
}

bool aliases_parse(const struct source_text *text, struct arena *arena,
                   const struct host_alias **ret, size_t *ret_count, struct err_list *reterrs)
{
    struct csv_table table;
    struct host_alias *aliases;
    size_t name;
    size_t model;

    if (!csv_read(text, arena, &table, reterrs))
        return false;
    name = csv_find_column(&table, "name");
    model = csv_find_column(&table, "model");
    if (name == SIZE_MAX || model == SIZE_MAX)
        return err_list_add(reterrs, ERR_KEY, table.header[0].pos, "no column '%s'",
                            name == SIZE_MAX ? "name" : "model");
    aliases = arena_alloc_array(arena, table.row_count, sizeof *aliases);
    for (size_t i = 0; i < table.row_count; i++) {
        const struct csv_row *row = &table.rows[i];

        aliases[i] = (struct host_alias){row->fields[name].text, row->fields[model].text,
                                         row->fields[name].pos};
    }
    *ret = aliases;
    *ret_count = table.row_count;
    return true;
}
