/* SPDX-License-Identifier: Apache-2.0 */
/*
 * DOC: Model files
 *
 * The catalogue's text form: lists of chips, machines, cables, macOS profiles, names of Macs that
 * were never sold, and parameters, in any order over any number of files. Each entry names its
 * source and date; a scenario's own models need not. All files are read before the first entry, so
 * that a machine may stand before its chip.
 */
#include "sim/scenario/models.h"

#include <stdint.h>
#include <string.h>

#include "sim/base/units.h"
#include "sim/fabric/param.h"
#include "sim/scenario/params.h"
#include "sim/scenario/scenario.h"
#include "sim/scenario/schema.h"
#include "sim/scenario/suggest.h"

#define RATE_LEAST INT64_C(1000)
#define RATE_MOST  INT64_C(100000000000000)
#define PORTS_MAX  64

struct model_reader {
    struct arena *arena;
    struct catalog *into;
    struct err_list *errs;
    bool needs_source; /* false for models inside a scenario */
};

/* Where the sections of a file are. The order of the tables below. */
enum file_key {
    FILE_VERSION,
    FILE_CHIPS,
    FILE_MACHINES,
    FILE_CABLES,
    FILE_MACOS,
    FILE_UNSOLD,
    FILE_PARAMETERS,
    FILE_CHIP_RATES,
    FILE_KEY_COUNT,
};

static const struct schema_key file_keys[FILE_KEY_COUNT] = {
    [FILE_VERSION] =
        {.key = "tbmesh-models", .type = SCHEMA_COUNT, .is_required = true, .min = 1, .max = 1},
    [FILE_CHIPS] = {.key = "chips", .type = SCHEMA_LIST},
    [FILE_MACHINES] = {.key = "machines", .type = SCHEMA_LIST},
    [FILE_CABLES] = {.key = "cables", .type = SCHEMA_LIST},
    [FILE_MACOS] = {.key = "macos", .type = SCHEMA_LIST},
    [FILE_UNSOLD] = {.key = "never_sold", .type = SCHEMA_LIST},
    [FILE_PARAMETERS] = {.key = "parameters", .type = SCHEMA_LIST},
    [FILE_CHIP_RATES] = {.key = "chip_rates", .type = SCHEMA_LIST},
};

static const struct schema file_schema = {"a model file", file_keys, FILE_KEY_COUNT};

/* The same sections inside a scenario, without what a scenario says elsewhere. */
static const struct schema_key inline_keys[] = {
    {.key = "chips", .type = SCHEMA_LIST},
    {.key = "machines", .type = SCHEMA_LIST},
    {.key = "cables", .type = SCHEMA_LIST},
};

static const struct schema inline_schema = {"models", inline_keys, 3};

static const char *const confidence_names[] = {"primary", "vendor",  "secondary",
                                               "derived", "assumed", "fitted"};

/* The three keys with which every table of an entry ends, in this order. */
#define PROVENANCE_KEYS                                                           \
    {.key = "source", .type = SCHEMA_TEXT}, {.key = "date", .type = SCHEMA_TEXT}, \
    {                                                                             \
        .key = "confidence", .type = SCHEMA_CHOICE, .names = confidence_names,    \
        .name_count = sizeof confidence_names / sizeof confidence_names[0]        \
    }

static bool is_iso_date(const char *text)
{
    static const char form[] = "dddd-dd-dd";
    size_t i = 0;

    for (; form[i] != '\0'; i++) {
        if (form[i] == 'd' ? text[i] < '0' || text[i] > '9' : text[i] != form[i])
            return false;
    }
    return text[i] == '\0';
}

/* Reads source, date and confidence; `value` points at the first of the three. */
static bool read_provenance(const struct model_reader *reader, const struct schema_value *value,
                            struct provenance *ret)
{
    bool is_ok = true;

    *ret = (struct provenance){value[0].pos.file, "", "assumed"};
    for (size_t i = 0; i < 3; i++) {
        static const char *const keys[] = {"source", "date", "confidence"};

        if (reader->needs_source && !value[i].node)
            is_ok = err_list_add(reader->errs, ERR_KEY, value[i].pos, "a model needs the key '%s'",
                                 keys[i]);
    }
    if (value[0].is_set)
        ret->source = arena_copy_text(reader->arena, value[0].text, strlen(value[0].text));
    if (value[1].is_set && !is_iso_date(value[1].text))
        is_ok = err_list_add(reader->errs, ERR_RANGE, value[1].pos,
                             "date: '%.40s' is no date of the form 2026-03-19", value[1].text);
    else if (value[1].is_set)
        ret->date = arena_copy_text(reader->arena, value[1].text, strlen(value[1].text));
    if (value[2].is_set)
        ret->confidence = confidence_names[value[2].number];
    return is_ok;
}

static const char *keep_text(const struct model_reader *reader, const struct schema_value *value)
{
    return value->is_set ? arena_copy_text(reader->arena, value->text, strlen(value->text)) : NULL;
}

/* False and an error when the name is in use. */
static bool check_new(const struct model_reader *reader, const struct schema_value *name,
                      bool is_known)
{
    if (!is_known)
        return true;
    return err_list_add(reader->errs, ERR_CONFLICT, name->pos,
                        "'%.60s' is defined already; a name stands for one thing", name->text);
}

enum chip_key {
    CHIP_NAME,
    CHIP_THREAD_COPY,
    CHIP_THREAD_REDUCE,
    CHIP_HOST_STAGING,
    CHIP_MEMORY_BANDWIDTH,
    CHIP_SOURCE,
    CHIP_KEY_COUNT = CHIP_SOURCE + 3,
};

#define RATE_KEY(name)                                                              \
    {                                                                               \
        .key = (name), .type = SCHEMA_RATE, .is_required = true, .min = RATE_LEAST, \
        .max = RATE_MOST                                                            \
    }

static const struct schema_key chip_keys[CHIP_KEY_COUNT] = {
    {.key = "name", .type = SCHEMA_NAME, .is_required = true},
    RATE_KEY("thread_copy"),
    RATE_KEY("thread_reduce"),
    RATE_KEY("host_staging"),
    RATE_KEY("memory_bandwidth"),
    PROVENANCE_KEYS,
};

static const struct schema chip_schema = {"a chip", chip_keys, CHIP_KEY_COUNT};

static void read_chip(struct model_reader *reader, const struct yaml_value *node)
{
    struct schema_value v[CHIP_KEY_COUNT];
    bool is_ok = schema_read(&chip_schema, node, v, reader->errs);
    struct chip_model chip = {
        .name = keep_text(reader, &v[CHIP_NAME]),
        .thread_copy = {(uint64_t)v[CHIP_THREAD_COPY].number},
        .thread_reduce = {(uint64_t)v[CHIP_THREAD_REDUCE].number},
        .host_staging = {(uint64_t)v[CHIP_HOST_STAGING].number},
        .memory_bandwidth = {(uint64_t)v[CHIP_MEMORY_BANDWIDTH].number},
    };

    if (node->kind != YAML_MAP)
        return;
    is_ok &= read_provenance(reader, &v[CHIP_SOURCE], &chip.provenance);
    if (is_ok && check_new(reader, &v[CHIP_NAME], catalog_find_chip(reader->into, chip.name)))
        reader->into->chips[reader->into->chip_count++] = chip;
}

enum port_key {
    PORT_KEY_NUMBER,
    PORT_KEY_LABEL,
    PORT_KEY_IFNAME,
    PORT_KEY_KIND,
    PORT_KEY_RATE,
    PORT_KEY_GENERATION,
    PORT_KEY_DOUBT,
    PORT_KEY_COUNT,
};

static const char *const port_kind_names[] = {"thunderbolt", "ethernet"};

static const struct schema_key port_keys[PORT_KEY_COUNT] = {
    [PORT_KEY_NUMBER] =
        {.key = "number", .type = SCHEMA_COUNT, .is_required = true, .min = 1, .max = PORTS_MAX},
    [PORT_KEY_LABEL] = {.key = "label", .type = SCHEMA_TEXT},
    [PORT_KEY_IFNAME] = {.key = "ifname", .type = SCHEMA_NAME, .is_required = true},
    [PORT_KEY_KIND] = {.key = "kind",
                       .type = SCHEMA_CHOICE,
                       .is_required = true,
                       .names = port_kind_names,
                       .name_count = 2},
    [PORT_KEY_RATE] = RATE_KEY("rate"),
    [PORT_KEY_GENERATION] = {.key = "generation", .type = SCHEMA_COUNT, .min = 1, .max = 9},
    [PORT_KEY_DOUBT] = {.key = "doubt", .type = SCHEMA_TEXT},
};

static const struct schema port_schema = {"a port", port_keys, PORT_KEY_COUNT};

/* Thunderbolt needs a generation, Ethernet has none. */
static bool check_generation(const struct schema_value *kind, const struct schema_value *generation,
                             struct err_list *errs)
{
    if (kind->is_set && kind->number == PORT_THUNDERBOLT && !generation->node)
        return err_list_add(errs, ERR_KEY, generation->pos,
                            "thunderbolt needs the key 'generation', such as 5");
    if (kind->is_set && kind->number == PORT_ETHERNET && generation->node)
        return err_list_add(errs, ERR_CONFLICT, generation->pos,
                            "ethernet has no Thunderbolt generation; leave the key out");
    return true;
}

/* Reads port number `index` + 1 of a machine whose earlier ports are in `ports`. */
static bool read_port(const struct model_reader *reader, const struct yaml_value *node,
                      struct port_model *ports, size_t index)
{
    struct schema_value v[PORT_KEY_COUNT];

    if (!schema_read(&port_schema, node, v, reader->errs) ||
        !check_generation(&v[PORT_KEY_KIND], &v[PORT_KEY_GENERATION], reader->errs))
        return false;
    if (v[PORT_KEY_NUMBER].number != (int64_t)index + 1)
        return err_list_add(reader->errs, ERR_RANGE, v[PORT_KEY_NUMBER].pos,
                            "this is port %zu of the machine: ports stand in order, from 1",
                            index + 1);
    for (size_t i = 0; i < index; i++) {
        if (ports[i].ifname && strcmp(ports[i].ifname, v[PORT_KEY_IFNAME].text) == 0)
            return err_list_add(reader->errs, ERR_CONFLICT, v[PORT_KEY_IFNAME].pos,
                                "ifname '%.60s' is port %zu already", ports[i].ifname, i + 1);
    }
    ports[index] = (struct port_model){
        .number = (uint32_t)index + 1,
        .label = v[PORT_KEY_LABEL].is_set ? keep_text(reader, &v[PORT_KEY_LABEL]) : "",
        .ifname = keep_text(reader, &v[PORT_KEY_IFNAME]),
        .kind = (enum port_kind)v[PORT_KEY_KIND].number,
        .rate = {(uint64_t)v[PORT_KEY_RATE].number},
        .generation = (uint32_t)v[PORT_KEY_GENERATION].number,
        .is_doubtful = v[PORT_KEY_DOUBT].is_set,
        .doubt = keep_text(reader, &v[PORT_KEY_DOUBT]),
    };
    return true;
}

enum machine_key {
    MACHINE_KEY_NAME,
    MACHINE_KEY_TITLE,
    MACHINE_KEY_KIND,
    MACHINE_KEY_CHIP,
    MACHINE_KEY_GPU,
    MACHINE_KEY_MEMORY,
    MACHINE_KEY_RDMA,
    MACHINE_KEY_PORTS,
    MACHINE_KEY_SOURCE,
    MACHINE_KEY_COUNT = MACHINE_KEY_SOURCE + 3,
};

static const char *const machine_kind_names[] = {"mac", "hub", "switch", "other"};

static const struct schema_key machine_keys[MACHINE_KEY_COUNT] = {
    {.key = "name", .type = SCHEMA_NAME, .is_required = true},
    {.key = "title", .type = SCHEMA_TEXT},
    {.key = "kind",
     .type = SCHEMA_CHOICE,
     .is_required = true,
     .names = machine_kind_names,
     .name_count = 4},
    {.key = "chip", .type = SCHEMA_NAME},
    {.key = "gpu", .type = SCHEMA_LIST},
    {.key = "memory", .type = SCHEMA_LIST},
    {.key = "rdma", .type = SCHEMA_BOOL, .is_required = true},
    {.key = "ports", .type = SCHEMA_LIST, .is_required = true},
    PROVENANCE_KEYS,
};

static const struct schema machine_schema = {"a machine", machine_keys, MACHINE_KEY_COUNT};

static bool read_ports(const struct model_reader *reader, const struct schema_value *value,
                       struct machine_model *machine)
{
    bool is_ok = true;

    if (!value->is_set)
        return false;
    if (value->node->count == 0 || value->node->count > PORTS_MAX)
        return err_list_add(reader->errs, ERR_RANGE, value->pos,
                            "a machine has 1 to %d ports, not %zu", PORTS_MAX, value->node->count);

    struct port_model *ports =
        arena_alloc_array(reader->arena, value->node->count, sizeof(struct port_model));

    for (size_t i = 0; i < value->node->count; i++)
        is_ok &= read_port(reader, value->node->items[i], ports, i);
    machine->ports = ports;
    machine->port_count = value->node->count;
    return is_ok;
}

static bool read_variants(const struct model_reader *reader, const struct schema_value *value,
                          struct machine_model *machine)
{
    static const struct schema_key key = {.key = "gpu", .type = SCHEMA_NAME};
    bool is_ok = true;

    if (!value->is_set || value->node->count == 0)
        return !value->node;

    const char **names = arena_alloc_array(reader->arena, value->node->count, sizeof(const char *));

    for (size_t i = 0; i < value->node->count; i++) {
        struct schema_value item;

        is_ok &= schema_read_value(&key, value->node->items[i], &item, reader->errs);
        names[i] = keep_text(reader, &item);
    }
    machine->variants = names;
    machine->variant_count = value->node->count;
    return is_ok;
}

static bool read_memory(const struct model_reader *reader, const struct schema_value *value,
                        struct machine_model *machine)
{
    static const struct schema_key key = {
        .key = "memory", .type = SCHEMA_SIZE, .min = 1 << 20, .max = INT64_C(1) << 50};
    bool is_ok = true;

    if (!value->is_set || value->node->count == 0)
        return !value->node;

    bytecount *options = arena_alloc_array(reader->arena, value->node->count, sizeof(bytecount));

    for (size_t i = 0; i < value->node->count; i++) {
        struct schema_value item;

        is_ok &= schema_read_value(&key, value->node->items[i], &item, reader->errs);
        options[i].bytes = (uint64_t)item.number;
    }
    machine->memory_options = options;
    machine->memory_option_count = value->node->count;
    return is_ok;
}

/* The chip of a computer; hubs and switches have none. */
static bool read_machine_chip(const struct model_reader *reader, const struct schema_value *kind,
                              const struct schema_value *chip, struct machine_model *machine)
{
    bool needs_chip = machine->kind == MACHINE_MAC || machine->kind == MACHINE_OTHER;

    if (!kind->is_set)
        return false;
    if (!chip->node)
        return !needs_chip ||
               err_list_add(reader->errs, ERR_KEY, chip->pos, "a %s needs the key 'chip'",
                            machine_kind_names[machine->kind]);
    if (!chip->is_set)
        return false;
    if (!needs_chip)
        return err_list_add(reader->errs, ERR_CONFLICT, chip->pos, "a %s has no chip",
                            machine_kind_names[machine->kind]);
    machine->chip = catalog_find_chip(reader->into, chip->text);
    if (machine->chip)
        return true;

    size_t count = reader->into->chip_count;
    const char **names = arena_alloc_array(reader->arena, count, sizeof(const char *));
    char suggestion[SUGGEST_TEXT_MAX];

    for (size_t i = 0; i < count; i++)
        names[i] = reader->into->chips[i].name;
    suggest_text(suggestion, chip->text, names, count);
    return err_list_add(reader->errs, ERR_REFERENCE, chip->pos, "unknown chip '%.60s'%s",
                        chip->text, suggestion);
}

static void read_machine(struct model_reader *reader, const struct yaml_value *node)
{
    struct schema_value v[MACHINE_KEY_COUNT];
    bool is_ok = schema_read(&machine_schema, node, v, reader->errs);
    struct machine_model machine = {
        .name = keep_text(reader, &v[MACHINE_KEY_NAME]),
        .title = keep_text(reader, &v[MACHINE_KEY_TITLE]),
        .kind = (enum machine_kind)v[MACHINE_KEY_KIND].number,
        .is_rdma_capable = v[MACHINE_KEY_RDMA].number != 0,
    };

    if (node->kind != YAML_MAP)
        return;
    if (!machine.title)
        machine.title = machine.name;
    is_ok &= read_machine_chip(reader, &v[MACHINE_KEY_KIND], &v[MACHINE_KEY_CHIP], &machine);
    is_ok &= read_variants(reader, &v[MACHINE_KEY_GPU], &machine);
    is_ok &= read_memory(reader, &v[MACHINE_KEY_MEMORY], &machine);
    is_ok &= read_ports(reader, &v[MACHINE_KEY_PORTS], &machine);
    is_ok &= read_provenance(reader, &v[MACHINE_KEY_SOURCE], &machine.provenance);
    if (is_ok &&
        check_new(reader, &v[MACHINE_KEY_NAME], catalog_find_machine(reader->into, machine.name)))
        reader->into->machines[reader->into->machine_count++] = machine;
}

enum cable_key {
    CABLE_KEY_NAME,
    CABLE_KEY_KIND,
    CABLE_KEY_GENERATION,
    CABLE_KEY_RATE,
    CABLE_KEY_REVERSE,
    CABLE_KEY_LENGTH,
    CABLE_KEY_SOURCE,
    CABLE_KEY_COUNT = CABLE_KEY_SOURCE + 3,
};

static const struct schema_key cable_keys[CABLE_KEY_COUNT] = {
    {.key = "name", .type = SCHEMA_NAME, .is_required = true},
    {.key = "kind",
     .type = SCHEMA_CHOICE,
     .is_required = true,
     .names = port_kind_names,
     .name_count = 2},
    {.key = "generation", .type = SCHEMA_COUNT, .min = 1, .max = 9},
    RATE_KEY("rate"),
    {.key = "reverse", .type = SCHEMA_RATE, .min = RATE_LEAST, .max = RATE_MOST},
    {.key = "length", .type = SCHEMA_LENGTH, .is_required = true, .min = 1, .max = 10000000},
    PROVENANCE_KEYS,
};

static const struct schema cable_schema = {"a cable", cable_keys, CABLE_KEY_COUNT};

static void read_cable(struct model_reader *reader, const struct yaml_value *node)
{
    struct schema_value v[CABLE_KEY_COUNT];
    bool is_ok = schema_read(&cable_schema, node, v, reader->errs);
    const struct schema_value *reverse =
        v[CABLE_KEY_REVERSE].is_set ? &v[CABLE_KEY_REVERSE] : &v[CABLE_KEY_RATE];
    struct cable_model cable = {
        .name = keep_text(reader, &v[CABLE_KEY_NAME]),
        .kind = (enum port_kind)v[CABLE_KEY_KIND].number,
        .generation = (uint32_t)v[CABLE_KEY_GENERATION].number,
        .rate_forward = {(uint64_t)v[CABLE_KEY_RATE].number},
        .rate_reverse = {(uint64_t)reverse->number},
        .length_mm = (uint32_t)v[CABLE_KEY_LENGTH].number,
    };

    if (node->kind != YAML_MAP)
        return;
    is_ok &= check_generation(&v[CABLE_KEY_KIND], &v[CABLE_KEY_GENERATION], reader->errs);
    is_ok &= read_provenance(reader, &v[CABLE_KEY_SOURCE], &cable.provenance);
    if (is_ok &&
        check_new(reader, &v[CABLE_KEY_NAME], catalog_find_cable(reader->into, cable.name)))
        reader->into->cables[reader->into->cable_count++] = cable;
}

enum macos_key {
    MACOS_VERSION,
    MACOS_RDMA,
    MACOS_LARGE_BUFFERS,
    MACOS_BRIDGE_DEFAULT,
    MACOS_QP_LIMIT,
    MACOS_MR_LIMIT,
    MACOS_QP_SHOWN,
    MACOS_CQ_SHOWN,
    MACOS_PD_SHOWN,
    MACOS_WR_LIMIT,
    MACOS_CQE_LIMIT,
    MACOS_PAGE,
    MACOS_SOURCE,
    MACOS_KEY_COUNT = MACOS_SOURCE + 3,
};

static const struct schema_key macos_keys[MACOS_KEY_COUNT] = {
    {.key = "version", .type = SCHEMA_TEXT, .is_required = true},
    {.key = "rdma", .type = SCHEMA_BOOL, .is_required = true},
    {.key = "large_buffers", .type = SCHEMA_BOOL, .is_required = true},
    {.key = "bridge_default", .type = SCHEMA_BOOL, .is_required = true},
    {.key = "qp_limit", .type = SCHEMA_COUNT, .is_required = true, .min = 0, .max = 65536},
    {.key = "mr_limit", .type = SCHEMA_COUNT, .is_required = true, .min = 0, .max = 1000000},
    {.key = "qp_shown", .type = SCHEMA_COUNT, .max = 65536},
    {.key = "cq_shown", .type = SCHEMA_COUNT, .max = 65536},
    {.key = "pd_shown", .type = SCHEMA_COUNT, .max = 65536},
    {.key = "wr_limit", .type = SCHEMA_COUNT, .max = 65536},
    {.key = "cqe_limit", .type = SCHEMA_COUNT, .max = 65536},
    {.key = "page", .type = SCHEMA_SIZE, .max = INT64_C(1) << 30},
    PROVENANCE_KEYS,
};

static const struct schema macos_schema = {"a macOS profile", macos_keys, MACOS_KEY_COUNT};

static void read_macos(struct model_reader *reader, const struct yaml_value *node)
{
    struct schema_value v[MACOS_KEY_COUNT];
    bool is_ok = schema_read(&macos_schema, node, v, reader->errs);
    struct catalog *into = reader->into;
    struct macos_model macos = {
        .version = keep_text(reader, &v[MACOS_VERSION]),
        .has_rdma = v[MACOS_RDMA].number != 0,
        .has_large_buffers = v[MACOS_LARGE_BUFFERS].number != 0,
        .bridge_default = v[MACOS_BRIDGE_DEFAULT].number != 0,
        .qp_limit = (uint32_t)v[MACOS_QP_LIMIT].number,
        .mr_limit = (uint32_t)v[MACOS_MR_LIMIT].number,
        .qp_shown = (uint32_t)v[MACOS_QP_SHOWN].number,
        .cq_shown = (uint32_t)v[MACOS_CQ_SHOWN].number,
        .pd_shown = (uint32_t)v[MACOS_PD_SHOWN].number,
        .wr_limit = (uint32_t)v[MACOS_WR_LIMIT].number,
        .cqe_limit = (uint32_t)v[MACOS_CQE_LIMIT].number,
        .page = {(uint64_t)v[MACOS_PAGE].number},
    };

    if (node->kind != YAML_MAP)
        return;
    is_ok &= read_provenance(reader, &v[MACOS_SOURCE], &macos.provenance);
    if (!is_ok)
        return;
    if (!macos_version_is_valid(macos.version)) {
        err_list_add(reader->errs, ERR_RANGE, v[MACOS_VERSION].pos,
                     "version: '%.40s' is no dotted number such as 26.3", macos.version);
        return;
    }

    /* Ascending order is part of the catalogue's contract; files may be in any order. */
    size_t at = into->macos_count;

    while (at > 0 && macos_version_compare(into->macos[at - 1].version, macos.version) >= 0)
        at--;
    if (at < into->macos_count &&
        !check_new(reader, &v[MACOS_VERSION],
                   macos_version_compare(into->macos[at].version, macos.version) == 0))
        return;
    memmove(into->macos + at + 1, into->macos + at,
            (into->macos_count - at) * sizeof(struct macos_model));
    into->macos[at] = macos;
    into->macos_count++;
}

static void read_unsold(struct model_reader *reader, const struct yaml_value *node)
{
    static const struct schema_key keys[] = {
        {.key = "name", .type = SCHEMA_NAME, .is_required = true},
        {.key = "why", .type = SCHEMA_TEXT, .is_required = true},
    };
    static const struct schema schema = {"a Mac that was never sold", keys, 2};
    struct schema_value v[2];
    struct catalog *into = reader->into;

    if (!schema_read(&schema, node, v, reader->errs))
        return;
    if (check_new(reader, &v[0],
                  catalog_find_unsold(into, v[0].text) || catalog_find_machine(into, v[0].text)))
        into->unsold[into->unsold_count++] =
            (struct unsold_model){keep_text(reader, &v[0]), keep_text(reader, &v[1])};
}

enum parameter_key {
    PARAMETER_NAME,
    PARAMETER_VALUE,
    PARAMETER_LOW,
    PARAMETER_HIGH,
    PARAMETER_LABEL,
    PARAMETER_SOURCE,
    PARAMETER_DATE,
    PARAMETER_KEY_COUNT,
};

static const char *const label_names[] = {"measured", "fitted", "derived", "assumed"};

static const struct schema_key parameter_keys[PARAMETER_KEY_COUNT] = {
    {.key = "name", .type = SCHEMA_NAME, .is_required = true},
    {.key = "value", .type = SCHEMA_TEXT, .is_required = true},
    {.key = "low", .type = SCHEMA_TEXT, .is_required = true},
    {.key = "high", .type = SCHEMA_TEXT, .is_required = true},
    {.key = "label",
     .type = SCHEMA_CHOICE,
     .is_required = true,
     .names = label_names,
     .name_count = 4},
    {.key = "source", .type = SCHEMA_TEXT, .is_required = true},
    {.key = "date", .type = SCHEMA_TEXT, .is_required = true},
};

static const struct schema parameter_schema = {"a parameter", parameter_keys, PARAMETER_KEY_COUNT};

/* Reads value, low and high and checks their order. */
static bool read_parameter_values(const struct model_reader *reader, enum param_id id,
                                  const struct schema_value *v, struct param_value *ret)
{
    struct err err = {0};

    if (!params_parse_value(id, v[PARAMETER_VALUE].text, v[PARAMETER_VALUE].pos, &ret->value,
                            &err) ||
        !params_parse_value(id, v[PARAMETER_LOW].text, v[PARAMETER_LOW].pos, &ret->low, &err) ||
        !params_parse_value(id, v[PARAMETER_HIGH].text, v[PARAMETER_HIGH].pos, &ret->high, &err))
        return err_list_take(reader->errs, &err);
    if (ret->low > ret->value || ret->value > ret->high)
        return err_list_add(reader->errs, ERR_RANGE, v[PARAMETER_VALUE].pos,
                            "%s: the value does not lie in its own range low to high",
                            param_name(id));
    return true;
}

static void read_parameter(struct model_reader *reader, const struct yaml_value *node)
{
    struct schema_value v[PARAMETER_KEY_COUNT];
    struct param_value value = {.is_set = true};
    struct err err = {0};
    enum param_id id;

    if (!schema_read(&parameter_schema, node, v, reader->errs))
        return;
    id = params_find(v[PARAMETER_NAME].text, v[PARAMETER_NAME].pos, &err);
    err_list_take(reader->errs, &err);
    if (id == PARAM_COUNT || !read_parameter_values(reader, id, v, &value))
        return;
    if (!is_iso_date(v[PARAMETER_DATE].text)) {
        err_list_add(reader->errs, ERR_RANGE, v[PARAMETER_DATE].pos,
                     "date: '%.40s' is no date of the form 2026-03-19", v[PARAMETER_DATE].text);
        return;
    }
    if (!check_new(reader, &v[PARAMETER_NAME], reader->into->params.v[id].is_set))
        return;
    value.label = (enum param_label)v[PARAMETER_LABEL].number;
    value.source = keep_text(reader, &v[PARAMETER_SOURCE]);
    value.date = keep_text(reader, &v[PARAMETER_DATE]);
    reader->into->params.v[id] = value;
}

enum chip_rates_key {
    CHIP_RATES_CHIP,
    CHIP_RATES_THREAD_COPY,
    CHIP_RATES_THREAD_REDUCE,
    CHIP_RATES_HOST_STAGING,
    CHIP_RATES_SOURCE,
    CHIP_RATES_KEY_COUNT,
};

#define OPTIONAL_RATE_KEY(name)                                                 \
    {                                                                           \
        .key = (name), .type = SCHEMA_RATE, .min = RATE_LEAST, .max = RATE_MOST \
    }

static const struct schema_key chip_rates_keys[CHIP_RATES_KEY_COUNT] = {
    [CHIP_RATES_CHIP] = {.key = "chip", .type = SCHEMA_NAME, .is_required = true},
    [CHIP_RATES_THREAD_COPY] = OPTIONAL_RATE_KEY("thread_copy"),
    [CHIP_RATES_THREAD_REDUCE] = OPTIONAL_RATE_KEY("thread_reduce"),
    [CHIP_RATES_HOST_STAGING] = OPTIONAL_RATE_KEY("host_staging"),
    [CHIP_RATES_SOURCE] = {.key = "source", .type = SCHEMA_TEXT, .is_required = true},
};

static const struct schema chip_rates_schema = {"fitted rates of a chip", chip_rates_keys,
                                                CHIP_RATES_KEY_COUNT};

/* Rates that `tbmesh calibrate` fitted replace those of the chip's own entry. */
static void read_chip_rates(struct model_reader *reader, const struct yaml_value *node)
{
    struct schema_value v[CHIP_RATES_KEY_COUNT];
    struct chip_model *chip = NULL;

    if (!schema_read(&chip_rates_schema, node, v, reader->errs))
        return;
    for (size_t i = 0; i < reader->into->chip_count; i++) {
        if (strcmp(reader->into->chips[i].name, v[CHIP_RATES_CHIP].text) == 0)
            chip = &reader->into->chips[i];
    }
    if (!chip) {
        err_list_add(reader->errs, ERR_REFERENCE, v[CHIP_RATES_CHIP].pos, "unknown chip '%.60s'",
                     v[CHIP_RATES_CHIP].text);
        return;
    }
    if (v[CHIP_RATES_THREAD_COPY].is_set)
        chip->thread_copy.bps = (uint64_t)v[CHIP_RATES_THREAD_COPY].number;
    if (v[CHIP_RATES_THREAD_REDUCE].is_set)
        chip->thread_reduce.bps = (uint64_t)v[CHIP_RATES_THREAD_REDUCE].number;
    if (v[CHIP_RATES_HOST_STAGING].is_set)
        chip->host_staging.bps = (uint64_t)v[CHIP_RATES_HOST_STAGING].number;
}

/* Errors so far, with those that the list could not hold. */
static size_t err_total(const struct err_list *errs)
{
    return errs->count + errs->dropped;
}

/* Calls `read` for each entry of the section in each file. */
static void read_section(struct model_reader *reader, const struct schema_value *sections,
                         size_t file_count, enum file_key key,
                         void (*read)(struct model_reader *, const struct yaml_value *))
{
    for (size_t f = 0; f < file_count; f++) {
        const struct schema_value *section = &sections[f * FILE_KEY_COUNT + key];

        for (size_t i = 0; section->is_set && i < section->node->count; i++)
            read(reader, section->node->items[i]);
    }
}

/* Entries of one section in all files together. */
static size_t count_section(const struct schema_value *sections, size_t file_count,
                            enum file_key key)
{
    size_t count = 0;

    for (size_t f = 0; f < file_count; f++) {
        if (sections[f * FILE_KEY_COUNT + key].is_set)
            count += sections[f * FILE_KEY_COUNT + key].node->count;
    }
    return count;
}

/* A copy of a table with room for `more` entries. */
static void *grow_table(struct arena *arena, const void *old, size_t count, size_t more,
                        size_t size)
{
    void *table = arena_alloc_array(arena, count + more, size);

    if (count > 0)
        memcpy(table, old, count * size);
    return table;
}

/* Reads all sections but parameters into reader->into, whose tables are replaced by longer ones. */
static void read_tables(struct model_reader *reader, const struct schema_value *sections,
                        size_t file_count)
{
    struct catalog *into = reader->into;
    size_t chips = count_section(sections, file_count, FILE_CHIPS);
    size_t machines = count_section(sections, file_count, FILE_MACHINES);
    size_t cables = count_section(sections, file_count, FILE_CABLES);
    size_t macos = count_section(sections, file_count, FILE_MACOS);
    size_t unsold = count_section(sections, file_count, FILE_UNSOLD);

    into->chips =
        grow_table(reader->arena, into->chips, into->chip_count, chips, sizeof(struct chip_model));
    into->machines = grow_table(reader->arena, into->machines, into->machine_count, machines,
                                sizeof(struct machine_model));
    into->cables = grow_table(reader->arena, into->cables, into->cable_count, cables,
                              sizeof(struct cable_model));
    into->macos = grow_table(reader->arena, into->macos, into->macos_count, macos,
                             sizeof(struct macos_model));
    into->unsold = grow_table(reader->arena, into->unsold, into->unsold_count, unsold,
                              sizeof(struct unsold_model));
    read_section(reader, sections, file_count, FILE_CHIPS, read_chip);
    read_section(reader, sections, file_count, FILE_MACHINES, read_machine);
    read_section(reader, sections, file_count, FILE_CABLES, read_cable);
    read_section(reader, sections, file_count, FILE_MACOS, read_macos);
    read_section(reader, sections, file_count, FILE_UNSOLD, read_unsold);
}

/* A catalogue without a macOS profile or with a parameter missing cannot serve a scenario. */
static void check_complete(const struct catalog *catalog, struct src_pos pos,
                           struct err_list *reterrs)
{
    for (uint32_t i = 0; i < PARAM_COUNT; i++) {
        if (!catalog->params.v[i].is_set)
            err_list_add(reterrs, ERR_KEY, pos, "no model file gives the parameter '%s'",
                         param_name((enum param_id)i));
    }
    if (catalog->macos_count == 0)
        err_list_add(reterrs, ERR_KEY, pos, "no model file gives a macOS profile");
}

bool catalog_parse(const struct source_text *texts, size_t text_count, struct catalog *ret,
                   struct err_list *reterrs)
{
    size_t errors_before = err_total(reterrs);
    struct arena trees;
    struct catalog catalog = {0};
    struct model_reader reader = {&catalog.arena, &catalog, reterrs, true};
    struct err err = {0};
    struct schema_value *sections;
    struct src_pos pos = {text_count > 0 ? texts[0].name : "models", 1, 1};

    arena_init(&trees);
    arena_init(&catalog.arena);
    sections = arena_alloc_array(&trees, text_count * FILE_KEY_COUNT, sizeof *sections);
    for (size_t i = 0; i < text_count; i++) {
        const struct yaml_value *root = yaml_read(&texts[i], &trees, reterrs);

        if (root)
            schema_read(&file_schema, root, sections + i * FILE_KEY_COUNT, reterrs);
    }
    read_tables(&reader, sections, text_count);
    read_section(&reader, sections, text_count, FILE_PARAMETERS, read_parameter);
    read_section(&reader, sections, text_count, FILE_CHIP_RATES, read_chip_rates);
    if (err_total(reterrs) == errors_before)
        check_complete(&catalog, pos, reterrs);
    if (err_total(reterrs) == errors_before)
        (void)(params_check(&catalog.params, pos, &err) || err_list_take(reterrs, &err));
    arena_done(&trees);
    if (err_total(reterrs) != errors_before) {
        arena_done(&catalog.arena);
        err_list_sort(reterrs);
        return false;
    }
    *ret = catalog;
    return true;
}

void catalog_done(struct catalog *catalog)
{
    arena_done(&catalog->arena);
    *catalog = (struct catalog){0};
}

bool models_extend(const struct catalog *base, const struct yaml_value *models, struct arena *arena,
                   struct catalog *ret, struct err_list *reterrs)
{
    size_t errors_before = err_total(reterrs);
    struct schema_value sections[FILE_KEY_COUNT] = {0};
    struct schema_value v[3];
    struct model_reader reader = {arena, ret, reterrs, false};

    *ret = *base;
    if (!models)
        return true;
    schema_read(&inline_schema, models, v, reterrs);
    sections[FILE_CHIPS] = v[0];
    sections[FILE_MACHINES] = v[1];
    sections[FILE_CABLES] = v[2];
    read_tables(&reader, sections, 1);
    return err_total(reterrs) == errors_before;
}
