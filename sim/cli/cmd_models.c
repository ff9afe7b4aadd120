/* SPDX-License-Identifier: Apache-2.0 */
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include <glib.h>

#include "sim/base/arena.h"
#include "sim/base/text.h"
#include "sim/base/units.h"
#include "sim/cli/cli.h"
#include "sim/cli/log.h"
#include "sim/fabric/cluster.h"
#include "sim/fabric/model.h"
#include "sim/fabric/param.h"
#include "sim/report/json_models.h"
#include "sim/report/json_report.h"
#include "sim/scenario/quantity.h"
#include "sim/scenario/suggest.h"

static int run_models(struct cli *cli, int argc, char **argv);

const struct command command_models = {
    .name = "models",
    .operands = "[NAME]",
    .summary = "list Macs, cables, macOS profiles and parameters, with their sources",
    .details = "Without a name: one line for each. With the name of a machine, a chip, a cable, a\n"
               "macOS version or a parameter: all that is known about it, who says so, and when.",
    .examples = "  tbmesh models\n"
                "  tbmesh models mac-studio-m3-ultra",
    .least_operands = 0,
    .most_operands = 1,
    .run = run_models,
};

static const char *rate_text(struct arena *arena, bitrate rate)
{
    char text[QUANTITY_TEXT_MAX];

    quantity_format(text, QUANTITY_RATE, (int64_t)rate.bps);
    return arena_format(arena, "%s", text);
}

static const char *size_text(struct arena *arena, bytecount size)
{
    char text[QUANTITY_TEXT_MAX];

    quantity_format(text, QUANTITY_SIZE, (int64_t)size.bytes);
    return arena_format(arena, "%s", text);
}

static const char *param_text(struct arena *arena, enum param_id id, int64_t value)
{
    char text[QUANTITY_TEXT_MAX];

    quantity_format(text, quantity_kind_of_param(param_unit_of(id)), value);
    return arena_format(arena, "%s", text);
}

static size_t thunderbolt_ports(const struct machine_model *machine)
{
    size_t count = 0;

    for (size_t i = 0; i < machine->port_count; i++)
        count += machine->ports[i].kind == PORT_THUNDERBOLT;
    return count;
}

static const char *rdma_text(struct arena *arena, const struct machine_model *machine)
{
    size_t all = machine_count_rdma_ports(machine, false);
    size_t sure = machine_count_rdma_ports(machine, true);

    if (machine_forwards(machine))
        return "-";
    if (!machine->is_rdma_capable)
        return "no";
    return sure == all ? arena_format(arena, "%zu", all)
                       : arena_format(arena, "%zu-%zu", sure, all);
}

static const char *memory_text(struct arena *arena, const struct machine_model *machine)
{
    struct text text;

    if (machine->memory_option_count == 0)
        return "-";
    text_init(&text, arena);
    for (size_t i = 0; i < machine->memory_option_count; i++)
        text_add_item(&text, ", ", size_text(arena, machine->memory_options[i]));
    return text.bytes;
}

static void list_machines(struct arena *arena, const struct catalog *catalog, struct text *ret)
{
    text_add(ret, "%-24s %5s %5s  %s\n", "machine", "ports", "RDMA", "memory");
    for (size_t i = 0; i < catalog->machine_count; i++) {
        const struct machine_model *machine = &catalog->machines[i];

        text_add(ret, "%-24s %5zu %5s  %s\n", machine->name, thunderbolt_ports(machine),
                 rdma_text(arena, machine), memory_text(arena, machine));
    }
}

static void list_cables(struct arena *arena, const struct catalog *catalog, struct text *ret)
{
    text_add(ret, "\n%-24s %10s %10s %7s\n", "cable", "forward", "reverse", "length");
    for (size_t i = 0; i < catalog->cable_count; i++) {
        const struct cable_model *cable = &catalog->cables[i];

        text_add(ret, "%-24s %10s %10s %4u.%u m\n", cable->name,
                 rate_text(arena, cable->rate_forward), rate_text(arena, cable->rate_reverse),
                 cable->length_mm / 1000, cable->length_mm % 1000 / 100);
    }
}

static void list_macos(const struct catalog *catalog, struct text *ret)
{
    text_add(ret, "\n%-24s %5s  %s\n", "macOS, from version", "RDMA", "JACCL's buffers");
    for (size_t i = 0; i < catalog->macos_count; i++) {
        const struct macos_model *macos = &catalog->macos[i];

        text_add(ret, "%-24s %5s  %s\n", macos->version, macos->has_rdma ? "yes" : "no",
                 macos->has_large_buffers ? "up to 512 KiB" : "4 KiB");
    }
}

static void list_params(struct arena *arena, const struct catalog *catalog, struct text *ret)
{
    text_add(ret, "\n%-24s %14s  %-29s %s\n", "parameter", "value", "believed range", "label");
    for (enum param_id id = 0; id < PARAM_COUNT; id++) {
        const struct param_value *value = &catalog->params.v[id];

        text_add(ret, "%-24s %14s  %-29s %s\n", param_name(id), param_text(arena, id, value->value),
                 arena_format(arena, "%s to %s", param_text(arena, id, value->low),
                              param_text(arena, id, value->high)),
                 param_label_text(value->label));
    }
}

static void put_provenance(const struct provenance *from, struct text *ret)
{
    text_add(ret, "source: %s\ndate: %s\n", from->source ? from->source : "not stated",
             from->date ? from->date : "not stated");
    if (from->confidence)
        text_add(ret, "confidence: %s\n", from->confidence);
}

static void show_machine(struct arena *arena, const struct machine_model *machine, struct text *ret)
{
    text_add(ret, "%s: %s\n", machine->name, machine->title);
    if (machine->chip)
        text_add(ret, "chip: %s\n", machine->chip->name);
    text_add(ret, "memory: %s\n", memory_text(arena, machine));
    text_add(ret, "ports that can carry RDMA: %s\n", rdma_text(arena, machine));
    for (size_t i = 0; i < machine->port_count; i++) {
        const struct port_model *port = &machine->ports[i];

        text_add(ret, "  port %u: %s, %s, %s%s%s\n", port->number, port->label, port->ifname,
                 rate_text(arena, port->rate), port->is_doubtful ? "; doubtful: " : "",
                 port->is_doubtful && port->doubt ? port->doubt : "");
    }
    put_provenance(&machine->provenance, ret);
}

static void show_chip(struct arena *arena, const struct chip_model *chip, struct text *ret)
{
    text_add(ret, "%s\ncopy by one thread: %s\nreduction by one thread: %s\n", chip->name,
             rate_text(arena, chip->thread_copy), rate_text(arena, chip->thread_reduce));
    text_add(ret, "all threads together: %s\nmemory bandwidth: %s\n",
             rate_text(arena, chip->host_staging), rate_text(arena, chip->memory_bandwidth));
    put_provenance(&chip->provenance, ret);
}

static void show_cable(struct arena *arena, const struct cable_model *cable, struct text *ret)
{
    text_add(ret, "%s\nforward: %s\nreverse: %s\nlength: %u mm\n", cable->name,
             rate_text(arena, cable->rate_forward), rate_text(arena, cable->rate_reverse),
             cable->length_mm);
    put_provenance(&cable->provenance, ret);
}

static void show_macos(const struct macos_model *macos, struct text *ret)
{
    text_add(ret, "macOS from %s on\nRDMA over Thunderbolt: %s\nJACCL buffers above 4 KiB: %s\n",
             macos->version, macos->has_rdma ? "yes" : "no",
             macos->has_large_buffers ? "yes" : "no");
    text_add(ret, "bridge0 holds all Thunderbolt ports: %s\nqueue pairs a device: %u\n",
             macos->bridge_default ? "yes" : "no", macos->qp_limit);
    text_add(ret, "memory regions a device: %u\n", macos->mr_limit);
    put_provenance(&macos->provenance, ret);
}

static void show_param(struct arena *arena, const struct catalog *catalog, enum param_id id,
                       struct text *ret)
{
    const struct param_value *value = &catalog->params.v[id];

    text_add(ret, "%s: %s\nvalue: %s\nrange: %s to %s\nlabel: %s\nsource: %s\ndate: %s\n",
             param_name(id), param_what(id), param_text(arena, id, value->value),
             param_text(arena, id, value->low), param_text(arena, id, value->high),
             param_label_text(value->label), value->source ? value->source : "not stated",
             value->date ? value->date : "not stated");
}

static void add_name(GArray *names, const char *name)
{
    g_array_append_val(names, name);
}

static void report_unknown(const struct catalog *catalog, const char *name)
{
    const struct unsold_model *unsold = catalog_find_unsold(catalog, name);
    GArray *names = g_array_new(FALSE, FALSE, sizeof(const char *));
    char near[SUGGEST_TEXT_MAX];

    for (size_t i = 0; i < catalog->machine_count; i++)
        add_name(names, catalog->machines[i].name);
    for (size_t i = 0; i < catalog->chip_count; i++)
        add_name(names, catalog->chips[i].name);
    for (size_t i = 0; i < catalog->cable_count; i++)
        add_name(names, catalog->cables[i].name);
    for (enum param_id id = 0; id < PARAM_COUNT; id++)
        add_name(names, param_name(id));
    suggest_text(near, name, &g_array_index(names, const char *, 0), names->len);
    if (unsold)
        log_error("models: %s: %s", unsold->name, unsold->why);
    else
        log_error("models: nothing is called '%s'%s", name, near);
    g_array_unref(names);
}

static bool show(struct arena *arena, const struct catalog *catalog, const char *name,
                 struct text *ret)
{
    const struct machine_model *machine = catalog_find_machine(catalog, name);
    const struct chip_model *chip = catalog_find_chip(catalog, name);
    const struct cable_model *cable = catalog_find_cable(catalog, name);
    const struct macos_model *macos = catalog_find_macos(catalog, name);
    enum param_id param = param_find(name);

    if (machine)
        show_machine(arena, machine, ret);
    else if (chip)
        show_chip(arena, chip, ret);
    else if (cable)
        show_cable(arena, cable, ret);
    else if (param != PARAM_COUNT)
        show_param(arena, catalog, param, ret);
    else if (macos)
        show_macos(macos, ret);
    else
        report_unknown(catalog, name);
    return ret->length > 0;
}

/* A version between two profiles is described by the older one, so the JSON has that one's name. */
static const char *catalog_name(const struct catalog *catalog, const char *name)
{
    const struct macos_model *macos = name ? catalog_find_macos(catalog, name) : NULL;

    return macos ? macos->version : name;
}

/* Returns an exit_code. */
static int print_json(struct cli *cli, const char *name)
{
    const struct report_head head = {.version = TBMESH_VERSION, .command = cli->command->name};
    struct text json;

    text_init(&json, &cli->arena);
    if (!json_print_models(&head, &cli->catalog, catalog_name(&cli->catalog, name), &json)) {
        report_unknown(&cli->catalog, name);
        return EXIT_INPUT;
    }
    cli_print(json.bytes);
    return EXIT_FINE;
}

static int run_models(struct cli *cli, int argc, char **argv)
{
    const char *name;
    struct text text;
    int exit_code;

    if (!cli_parse(cli, CLI_TAKES_MODELS, NULL, argc, argv, &exit_code))
        return exit_code;
    if (!cli_load_catalog(cli))
        return EXIT_INPUT;
    name = cli->operand_count == 1 ? cli->operands[0] : NULL;
    if (cli->is_json)
        return print_json(cli, name);
    text_init(&text, &cli->arena);
    if (name) {
        if (!show(&cli->arena, &cli->catalog, name, &text))
            return EXIT_INPUT;
    } else {
        list_machines(&cli->arena, &cli->catalog, &text);
        list_cables(&cli->arena, &cli->catalog, &text);
        list_macos(&cli->catalog, &text);
        list_params(&cli->arena, &cli->catalog, &text);
    }
    cli_print(text.bytes);
    return EXIT_FINE;
}
