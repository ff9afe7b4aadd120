/* SPDX-License-Identifier: Apache-2.0 */
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include <glib.h>

#include "sim/base/arena.h"
#include "sim/base/err.h"
#include "sim/base/ids.h"
#include "sim/base/text.h"
#include "sim/cli/cli.h"
#include "sim/cli/log.h"
#include "sim/cli/verdict.h"
#include "sim/fabric/cluster.h"
#include "sim/plan/check.h"
#include "sim/report/export_dot.h"
#include "sim/report/export_mlx.h"
#include "sim/report/export_sheet.h"
#include "sim/report/json_report.h"
#include "sim/scenario/quantity.h"
#include "sim/scenario/scenario.h"

static int run_export(struct cli *cli, int argc, char **argv);

const struct command command_export = {
    .name = "export",
    .operands = "SCENARIO",
    .summary = "write the cabling as other programs read it",
    .details = "One of --hostfile, --tcp-hostfile, --matrix, --dot, --sheet says which form; the\n"
               "text goes to stdout, or to a file with -o. With --json the text is the member\n"
               "\"text\" of an object.",
    .examples = "  tbmesh export --hostfile scenarios/clusters/four-studios.yaml\n"
                "  tbmesh export --sheet scenarios/clusters/four-studios.yaml -o cabling.svg",
    .least_operands = 1,
    .most_operands = 1,
    .run = run_export,
};

struct export_options {
    gboolean hostfile;
    gboolean tcp_hostfile;
    gboolean matrix;
    gboolean dot;
    gboolean sheet;
    char *shape;
    char *wires;
    char **ips;
};

/* An address for one rank: "studio1=10.0.0.1". */
static bool take_address(const char *text, const struct cluster *cluster, const char **ips,
                         struct arena *arena)
{
    const char *equals = strchr(text, '=');
    char *name = equals ? arena_copy_text(arena, text, (size_t)(equals - text)) : NULL;
    host_id host = name ? cluster_find_host(cluster, name) : (host_id){ID_NONE};

    if (!name || !equals[1]) {
        log_error("export: --ip %s: a machine and its address are needed, such as "
                  "studio1=10.0.0.1",
                  text);
        return false;
    }
    if (host.ix == ID_NONE) {
        log_error("export: --ip %s: the scenario has no machine '%s'", text, name);
        return false;
    }
    ips[host.ix] = equals + 1;
    return true;
}

/* Every rank needs an address that the others reach; what the user did not name stands in. */
static bool put_hosts(struct cli *cli, const struct export_options *options,
                      const struct cluster *cluster, const struct check_matrix *matrix,
                      struct text *ret)
{
    const char **ips = arena_alloc_array(&cli->arena, cluster->host_count + 1, sizeof *ips);
    bool is_complete = true;

    for (char **ip = options->ips; ip && *ip; ip++)
        if (!take_address(*ip, cluster, ips, &cli->arena))
            return false;
    for (size_t i = 0; i < matrix->size; i++)
        is_complete = is_complete && ips[matrix->hosts[i].ix];
    if (!is_complete)
        log_warning("addresses of 192.0.2.0/24 stand in: give each machine's with --ip, such as "
                    "--ip %s=10.0.0.1",
                    cluster->hosts[matrix->size > 0 ? matrix->hosts[0].ix : 0].name);
    export_hosts_json(matrix, cluster, ips, ret);
    return true;
}

static bool read_request(const struct export_options *options, struct export_request *ret)
{
    int64_t wires = 0;
    struct err err = {0};

    ret->shape = EXPORT_AUTO;
    if (options->shape && strcmp(options->shape, "mesh") == 0) {
        ret->shape = EXPORT_MESH;
    } else if (options->shape && strcmp(options->shape, "ring") == 0) {
        ret->shape = EXPORT_RING;
    } else if (options->shape) {
        log_error("export: --shape is mesh or ring, found '%s'", options->shape);
        return false;
    }
    if (options->wires && (!quantity_parse(options->wires, QUANTITY_COUNT,
                                           (struct src_pos){"--wires", 0, 0}, &wires, &err) ||
                           wires < 1 || wires > 4)) {
        log_error("export: --wires is a number from 1 to 4, found '%s'", options->wires);
        return false;
    }
    ret->wires = (uint32_t)wires;
    return true;
}

static bool put_matrix(struct cli *cli, const struct export_options *options,
                       const struct cluster *cluster, struct text *ret)
{
    struct export_request request;
    struct check_matrix matrix;
    struct err err = {0};

    if (!read_request(options, &request))
        return false;
    if (!export_matrix(cluster, &request, &cli->arena, &matrix, &err)) {
        cli_report_err(cli, &err);
        return false;
    }
    if (options->hostfile)
        return put_hosts(cli, options, cluster, &matrix, ret);
    export_matrix_json(&matrix, ret);
    return true;
}

static bool put_form(struct cli *cli, const struct export_options *options,
                     const struct scenario *scenario, struct text *ret)
{
    struct err err = {0};

    if (options->dot)
        export_dot(&scenario->cluster, scenario->name, ret);
    else if (options->sheet)
        export_sheet(&scenario->cluster, scenario->name, ret);
    else if (!options->tcp_hostfile)
        return put_matrix(cli, options, &scenario->cluster, ret);
    else if (!export_tcp_ring_json(&scenario->cluster, &cli->arena, ret, &err))
        cli_report_err(cli, &err);
    return err.code == ERR_NONE;
}

static const char *format_name(const struct export_options *options)
{
    if (options->dot)
        return "dot";
    if (options->sheet)
        return "sheet";
    if (options->tcp_hostfile)
        return "tcp-hostfile";
    return options->hostfile ? "hostfile" : "matrix";
}

static int deliver(struct cli *cli, const struct export_options *options,
                   const struct scenario *scenario, const struct text *text)
{
    struct report_head head = verdict_head(cli, scenario, NULL);
    struct text object;

    if (!cli->is_json)
        return cli_deliver(cli, text->bytes, text->length);
    text_init(&object, &cli->arena);
    json_print_text(&head, format_name(options), text->bytes, &object);
    return cli_deliver(cli, object.bytes, object.length);
}

static int export_scenario(struct cli *cli, const struct export_options *options)
{
    struct scenario scenario;
    struct text text;
    int exit_code = EXIT_INPUT;

    if (!cli_load_scenario(cli, cli->operands[0], &scenario))
        return EXIT_INPUT;
    text_init(&text, &cli->arena);
    if (put_form(cli, options, &scenario, &text))
        exit_code = deliver(cli, options, &scenario, &text);
    scenario_done(&scenario);
    return exit_code;
}

static int run_export(struct cli *cli, int argc, char **argv)
{
    struct export_options options = {0};
    const GOptionEntry own[] = {
        {"hostfile", 0, 0, G_OPTION_ARG_NONE, &options.hostfile,
         "host file for mlx.launch --backend jaccl or jaccl-ring", NULL},
        {"tcp-hostfile", 0, 0, G_OPTION_ARG_NONE, &options.tcp_hostfile,
         "host file for mlx.launch --backend ring", NULL},
        {"matrix", 0, 0, G_OPTION_ARG_NONE, &options.matrix, "device matrix for JACCL_IBV_DEVICES",
         NULL},
        {"dot", 0, 0, G_OPTION_ARG_NONE, &options.dot, "graph for Graphviz", NULL},
        {"sheet", 0, 0, G_OPTION_ARG_NONE, &options.sheet, "cabling sheet to print, as SVG", NULL},
        {"shape", 0, 0, G_OPTION_ARG_FILENAME, &options.shape,
         "of --hostfile and --matrix; default: mesh if every pair is cabled", "mesh|ring"},
        {"wires", 0, 0, G_OPTION_ARG_FILENAME, &options.wires,
         "cables a pair of a ring; default: as many as all neighbours have", "N"},
        {"ip", 0, 0, G_OPTION_ARG_FILENAME_ARRAY, &options.ips,
         "address of a machine in the host file; may be repeated", "NAME=ADDRESS"},
        {NULL, 0, 0, 0, NULL, NULL, NULL},
    };
    int exit_code;

    if (cli_parse(cli, CLI_TAKES_MODELS | CLI_TAKES_OUT_FILE, own, argc, argv, &exit_code)) {
        if (options.hostfile + options.tcp_hostfile + options.matrix + options.dot +
                options.sheet ==
            1) {
            exit_code = export_scenario(cli, &options);
        } else {
            log_error("export: one of --hostfile, --tcp-hostfile, --matrix, --dot, --sheet is "
                      "needed");
            exit_code = EXIT_INPUT;
        }
    }
    g_free(options.shape);
    g_free(options.wires);
    g_strfreev(options.ips);
    return exit_code;
}
