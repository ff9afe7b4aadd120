/* SPDX-License-Identifier: Apache-2.0 */
#include "sim/report/explain.h"

#include <json-glib/json-glib.h>
#include <stdint.h>
#include <string.h>

#include "sim/base/units.h"
#include "sim/fabric/param.h"
#include "sim/report/explain_table.h"
#include "sim/report/human.h"
#include "sim/report/table.h"

#define EXPLAIN_WIDTH 96U
#define COLUMN_MAX    64U

/* Endings of columns that only say the unit. */
static const char *const unit_endings[] = {"_ps", "_bps", "_pct", "_bytes", "_text"};

static bool has_ending(const char *name, size_t length, const char *ending)
{
    size_t n = strlen(ending);

    return length > n && strncmp(name + length - n, ending, n) == 0;
}

/* "share_wire_pct" and "shares.wire" are "wire"; "latency.median" is "latency_median". */
static bool is_column(const char *name, const char *entry)
{
    char plain[COLUMN_MAX];
    size_t length = strlen(name);
    const char *start = name;

    if (length >= sizeof plain)
        return false;
    for (size_t i = 0; i < sizeof unit_endings / sizeof unit_endings[0]; i++) {
        if (has_ending(name, length, unit_endings[i])) {
            length -= strlen(unit_endings[i]);
            break;
        }
    }
    if (strncmp(name, "share", 5) == 0 && strcspn(name, "_.") < length)
        start += strcspn(name, "_.") + 1;
    length -= (size_t)(start - name);
    memcpy(plain, start, length);
    plain[length] = '\0';
    for (char *p = plain; *p != '\0'; p++) {
        if (*p == '.')
            *p = '_';
    }
    return strcmp(plain, entry) == 0;
}

static const struct explain_entry *find_entry(const char *name)
{
    for (const struct explain_entry *e = explain_table; e->name; e++) {
        if (strcmp(e->name, name) == 0)
            return e;
    }
    for (const struct explain_entry *e = explain_table; e->name; e++) {
        if (e->kind != EXPLAIN_PARAMETER && e->kind != EXPLAIN_FINDING && is_column(name, e->name))
            return e;
    }
    return NULL;
}

static const char *what_of(const struct explain_entry *entry)
{
    return entry->what ? entry->what : param_what(param_find(entry->name));
}

static void add_param(struct table *table, const struct param_set *params, enum param_id id)
{
    const struct param_value *v = &params->v[id];
    enum param_unit unit = param_unit_of(id);
    char value[HUMAN_TEXT_MAX];
    char low[HUMAN_TEXT_MAX];
    char high[HUMAN_TEXT_MAX];

    human_param(value, unit, v->value);
    human_param(low, unit, v->low);
    human_param(high, unit, v->high);
    table_add(table, "%s", param_name(id));
    table_add(table, "%s", value);
    table_add(table, "%s", low);
    table_add(table, "%s", high);
    table_add(table, "%s", param_label_text(v->label));
    table_add(table, "%s", v->date ? v->date : "");
}

/* The parameters of an entry: itself first, then its inputs; returns how many. */
static size_t list_params(const struct explain_entry *entry,
                          enum param_id ret[EXPLAIN_INPUTS_MAX + 1])
{
    size_t count = 0;

    if (entry->kind == EXPLAIN_PARAMETER)
        ret[count++] = param_find(entry->name);
    for (size_t i = 0; i < EXPLAIN_INPUTS_MAX && entry->inputs[i]; i++)
        ret[count++] = param_find(entry->inputs[i]);
    return count;
}

static void print_params(const struct explain_entry *entry, const struct param_set *params,
                         struct text *ret)
{
    static const struct table_column columns[] = {
        {"parameter", NULL, true}, {"value", NULL, false},   {"low", NULL, false},
        {"high", NULL, false},     {"known as", NULL, true}, {"as of", NULL, true},
    };
    enum param_id ids[EXPLAIN_INPUTS_MAX + 1];
    size_t count = list_params(entry, ids);
    struct table table;

    if (count == 0)
        return;
    table_init(&table, ret->arena, columns, sizeof columns / sizeof columns[0]);
    for (size_t i = 0; i < count; i++)
        add_param(&table, params, ids[i]);
    text_add(ret, "\n");
    table_print(&table, 2, ret);
    text_add(ret, "\nsources\n");
    for (size_t i = 0; i < count; i++) {
        const char *source = params->v[ids[i]].source;

        text_add(ret, "  %s\n", param_name(ids[i]));
        table_print_wrapped(source ? source : "", 4, EXPLAIN_WIDTH, ret);
    }
}

static bitrate chip_rate(const struct chip_model *chip, const char *name)
{
    if (strcmp(name, "thread_copy") == 0)
        return chip->thread_copy;
    if (strcmp(name, "thread_reduce") == 0)
        return chip->thread_reduce;
    if (strcmp(name, "host_staging") == 0)
        return chip->host_staging;
    return chip->memory_bandwidth;
}

static void print_chips(const struct explain_entry *entry, const struct catalog *catalog,
                        struct text *ret)
{
    static const struct table_column columns[] = {
        {"chip", NULL, true},
        {"rate", NULL, false},
        {"known as", NULL, true},
        {"as of", NULL, true},
    };
    struct table table;

    table_init(&table, ret->arena, columns, sizeof columns / sizeof columns[0]);
    for (size_t i = 0; i < catalog->chip_count; i++) {
        const struct chip_model *chip = &catalog->chips[i];
        char rate[HUMAN_TEXT_MAX];

        human_byte_rate(rate, chip_rate(chip, entry->name));
        table_add(&table, "%s", chip->name);
        table_add(&table, "%s", rate);
        table_add(&table, "%s", chip->provenance.confidence);
        table_add(&table, "%s", chip->provenance.date);
    }
    text_add(ret, "\n");
    table_print(&table, 2, ret);
    text_add(ret, "\nsources: tbmesh models CHIP\n");
}

bool explain_print(const char *name, const struct catalog *catalog, struct text *ret)
{
    const struct explain_entry *entry = find_entry(name);

    if (!entry)
        return false;
    text_add(ret, "%s: %s\n", entry->name, explain_kind_text(entry->kind));
    table_print_wrapped(what_of(entry), 2, EXPLAIN_WIDTH, ret);
    if (*entry->equation != '\0') {
        text_add(ret, "\nequation\n");
        table_print_wrapped(entry->equation, 2, EXPLAIN_WIDTH, ret);
    }
    print_params(entry, &catalog->params, ret);
    if (entry->kind == EXPLAIN_CHIP)
        print_chips(entry, catalog, ret);
    text_add(ret, "\nmore: %s\n", entry->page);
    return true;
}

static void add_json_param(JsonBuilder *builder, const struct param_set *params, enum param_id id)
{
    json_builder_begin_object(builder);
    json_add_parameter(builder, params, id);
    json_builder_end_object(builder);
}

static void add_json_chip(JsonBuilder *builder, const struct chip_model *chip, const char *name)
{
    json_builder_begin_object(builder);
    json_add_text(builder, "name", chip->name);
    json_add_int(builder, "value", (int64_t)chip_rate(chip, name).bps);
    json_add_text(builder, "unit", param_unit_text(PARAM_UNIT_RATE));
    json_add_text(builder, "label", chip->provenance.confidence);
    json_add_text(builder, "source", chip->provenance.source);
    json_add_text(builder, "date", chip->provenance.date);
    json_builder_end_object(builder);
}

bool explain_print_json(const struct report_head *head, const char *name,
                        const struct catalog *catalog, struct text *ret)
{
    const struct explain_entry *entry = find_entry(name);
    enum param_id ids[EXPLAIN_INPUTS_MAX + 1];
    size_t count = entry ? list_params(entry, ids) : 0;
    JsonBuilder *builder;

    if (!entry)
        return false;
    builder = json_report_begin(head);
    json_add_text(builder, "name", entry->name);
    json_add_text(builder, "kind", explain_kind_text(entry->kind));
    json_add_text(builder, "what", what_of(entry));
    json_add_text(builder, "equation", entry->equation);
    json_add_text(builder, "page", entry->page);
    json_begin_array(builder, "inputs");
    for (size_t i = 0; i < count; i++)
        add_json_param(builder, &catalog->params, ids[i]);
    for (size_t i = 0; entry->kind == EXPLAIN_CHIP && i < catalog->chip_count; i++)
        add_json_chip(builder, &catalog->chips[i], entry->name);
    json_builder_end_array(builder);
    json_report_end(builder, ret);
    return true;
}

void explain_print_list(struct text *ret)
{
    for (uint32_t kind = 0; kind < EXPLAIN_KIND_COUNT; kind++) {
        struct text names;

        text_init(&names, ret->arena);
        for (const struct explain_entry *e = explain_table; e->name; e++) {
            if (e->kind == (enum explain_kind)kind)
                text_add_item(&names, ", ", e->name);
        }
        text_add(ret, "%s\n", explain_kind_title((enum explain_kind)kind));
        table_print_wrapped(names.bytes, 2, EXPLAIN_WIDTH, ret);
    }
}

void explain_print_list_json(const struct report_head *head, struct text *ret)
{
    JsonBuilder *builder = json_report_begin(head);

    json_begin_array(builder, "names");
    for (const struct explain_entry *e = explain_table; e->name; e++) {
        json_builder_begin_object(builder);
        json_add_text(builder, "name", e->name);
        json_add_text(builder, "kind", explain_kind_text(e->kind));
        json_add_text(builder, "what", what_of(e));
        json_builder_end_object(builder);
    }
    json_builder_end_array(builder);
    json_report_end(builder, ret);
}

const char *const *explain_names(struct arena *arena, size_t *ret_count)
{
    size_t count = 0;
    const char **names;

    while (explain_table[count].name)
        count++;
    names = arena_alloc_array(arena, count, sizeof *names);
    for (size_t i = 0; i < count; i++)
        names[i] = explain_table[i].name;
    *ret_count = count;
    return names;
}
