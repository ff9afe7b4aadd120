/* SPDX-License-Identifier: Apache-2.0 */
#include <stdbool.h>
#include <stddef.h>

#include <glib.h>

#include "sim/base/err.h"
#include "sim/base/text.h"
#include "sim/cli/cli.h"
#include "sim/cli/file_io.h"
#include "sim/cli/log.h"
#include "sim/report/json_report.h"
#include "sim/scenario/import_mlx.h"
#include "sim/scenario/scenario.h"

static int run_import(struct cli *cli, int argc, char **argv);

const struct command command_import = {
    .name = "import",
    .operands = "--mlx FILE",
    .summary = "make a scenario of an MLX host file or device matrix",
    .details =
        "The scenario goes to stdout, or to a file with -o. A matrix that is neither a mesh\n"
        "nor a ring is refused, with the cells that say so. A host file does not say which\n"
        "Macs they are: --model does, once for all or once a rank in their order.",
    .examples = "  tbmesh export --hostfile scenarios/clusters/four-studios.yaml -o hosts.json\n"
                "  tbmesh import --mlx hosts.json --model mac-studio-m3-ultra",
    .least_operands = 0,
    .most_operands = 0,
    .run = run_import,
};

struct mlx_options {
    char *file;
    char **models;
    char *cable;
    char *macos;
};

static int deliver(struct cli *cli, const char *scenario)
{
    struct text text;

    text_init(&text, &cli->arena);
    if (cli->is_json) {
        json_print_text(&(struct report_head){.version = TBMESH_VERSION, .command = "import"},
                        "scenario", scenario, &text);
    } else {
        text_add(&text, "%s", scenario);
    }
    return cli_deliver(cli, text.bytes, text.length);
}

static int import_mlx(struct cli *cli, const struct mlx_options *options)
{
    struct import_mlx_options request = {
        .catalog = &cli->catalog,
        .models = (const char *const *)options->models,
        .model_count = options->models ? g_strv_length(options->models) : 0,
        .cable = options->cable,
        .macos = options->macos,
    };
    struct source_text text;
    struct err_list errs;
    struct err err = {0};
    const char *scenario;
    bool ok;

    if (!file_read(options->file, &cli->arena, &text, &err)) {
        cli_report_err(cli, &err);
        return EXIT_INPUT;
    }
    if (!cli_load_catalog(cli))
        return EXIT_INPUT;
    err_list_init(&errs);
    ok = import_mlx_parse(&text, &request, &cli->arena, &scenario, &errs);
    cli_report_errs(cli, &errs);
    err_list_done(&errs);
    return ok ? deliver(cli, scenario) : EXIT_INPUT;
}

static int run_import(struct cli *cli, int argc, char **argv)
{
    struct mlx_options options = {0};
    const GOptionEntry own[] = {
        {"mlx", 0, 0, G_OPTION_ARG_FILENAME, &options.file,
         "host file of mlx.launch, or device matrix of JACCL_IBV_DEVICES", "FILE"},
        {"model", 0, 0, G_OPTION_ARG_FILENAME_ARRAY, &options.models,
         "what the machines are, such as mac-studio-m3-ultra; once, or once a rank", "NAME"},
        {"cable", 0, 0, G_OPTION_ARG_FILENAME, &options.cable,
         "kind of every cable; default: tb5-1m", "NAME"},
        {"macos", 0, 0, G_OPTION_ARG_FILENAME, &options.macos, "version; default: 26.3", "VERSION"},
        {NULL, 0, 0, 0, NULL, NULL, NULL},
    };
    int exit_code;

    if (cli_parse(cli, CLI_TAKES_MODELS | CLI_TAKES_OUT_FILE, own, argc, argv, &exit_code)) {
        if (options.file) {
            exit_code = import_mlx(cli, &options);
        } else {
            log_error("import: --mlx FILE is missing");
            exit_code = EXIT_INPUT;
        }
    }
    g_free(options.file);
    g_free(options.cable);
    g_free(options.macos);
    g_strfreev(options.models);
    return exit_code;
}
