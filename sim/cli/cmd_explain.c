/* SPDX-License-Identifier: Apache-2.0 */
#include <stdbool.h>
#include <stddef.h>

#include "sim/base/text.h"
#include "sim/cli/cli.h"
#include "sim/cli/log.h"
#include "sim/report/explain.h"
#include "sim/report/json_report.h"
#include "sim/scenario/suggest.h"

static int run_explain(struct cli *cli, int argc, char **argv);

const struct command command_explain = {
    .name = "explain",
    .operands = "[NAME]",
    .summary = "say what a number means: equation, inputs, sources",
    .details =
        "NAME is a parameter, a column of a result, a finding of 'check' or a word such as\n"
        "'fitted'. Without a name: all names. Values are those of the built-in calibration,\n"
        "or of --calibration.",
    .examples = "  tbmesh explain rdma.goodput\n"
                "  tbmesh explain busbw_bps",
    .least_operands = 0,
    .most_operands = 1,
    .run = run_explain,
};

static int refuse(struct cli *cli, const char *name)
{
    char near[SUGGEST_TEXT_MAX];
    size_t count;
    const char *const *names = explain_names(&cli->arena, &count);

    suggest_text(near, name, names, count);
    log_error("explain: no number is called '%s'%s", name, near);
    log_error("'tbmesh explain' lists the names, 'tbmesh models' has Macs and cables");
    return EXIT_INPUT;
}

static bool explain(struct cli *cli, const char *name, struct text *ret)
{
    const struct report_head head = {.version = TBMESH_VERSION, .command = cli->command->name};

    if (name && cli->is_json)
        return explain_print_json(&head, name, &cli->catalog, ret);
    if (name)
        return explain_print(name, &cli->catalog, ret);
    if (cli->is_json)
        explain_print_list_json(&head, ret);
    else
        explain_print_list(ret);
    return true;
}

static int run_explain(struct cli *cli, int argc, char **argv)
{
    const char *name;
    struct text text;
    int exit_code;

    if (!cli_parse(cli, CLI_TAKES_MODELS, NULL, argc, argv, &exit_code))
        return exit_code;
    if (!cli_load_catalog(cli))
        return EXIT_INPUT;
    name = cli->operand_count == 1 ? cli->operands[0] : NULL;
    text_init(&text, &cli->arena);
    if (!explain(cli, name, &text))
        return refuse(cli, name);
    cli_print(text.bytes);
    return EXIT_FINE;
}
