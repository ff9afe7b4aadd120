/* SPDX-License-Identifier: Apache-2.0 */
#include <stddef.h>

#include "sim/base/text.h"
#include "sim/cli/cli.h"
#include "sim/cli/log.h"
#include "sim/cli/measurements.h"
#include "sim/cli/progress.h"
#include "sim/cli/stop.h"
#include "sim/fabric/model.h"
#include "sim/plan/validate.h"
#include "sim/report/json_report.h"
#include "sim/report/validation.h"

static int run_validate(struct cli *cli, int argc, char **argv);

const struct command command_validate = {
    .name = "validate",
    .operands = "[FILE.csv]",
    .summary = "predict published measurements and print the errors",
    .details =
        "Without a file: the measurements that travel inside the program. A file needs the\n"
        "columns of models/measurements/fabric.csv: id, kind, hosts, nodes, cables_per_pair,\n"
        "stack, size_bytes, value, unit; note, source and date are optional. A value may be\n"
        "a range such as 52.6-63.6. What the model does not express is listed with the\n"
        "reason. docs/validation.md says how to read the table.",
    .examples = "  tbmesh validate\n"
                "  tbmesh validate models/measurements/fabric.csv --json",
    .least_operands = 0,
    .most_operands = 1,
    .run = run_validate,
};

static int run_validate(struct cli *cli, int argc, char **argv)
{
    struct validate_result result;
    struct measurements m;
    struct progress *progress;
    struct text text;
    int exit_code;

    if (!cli_parse(cli, CLI_TAKES_MODELS, NULL, argc, argv, &exit_code))
        return exit_code;
    if (!measurements_load(cli, &m))
        return EXIT_INPUT;
    progress = progress_new("comparing");

    struct validate_input input = {
        .source = m.source,
        .params = &cli->catalog.params,
        .rows = m.rows,
        .row_count = m.row_count,
        /* Other parameters were not fitted to the shipped rows. */
        .fit_rows = m.shipped,
        .fit_row_count = cli->calibration ? 0 : m.shipped_count,
        .stop = stop_watch(),
        .ctx = progress,
        .progress = progress_show,
    };

    validate_run(&input, &result);
    progress_free(progress);
    text_init(&text, &cli->arena);
    if (cli->is_json)
        validation_write_json(&(struct report_head){.version = TBMESH_VERSION,
                                                    .command = "validate",
                                                    .params = &cli->catalog.params},
                              &result, &text);
    else
        validation_write_table(&result, &text);
    exit_code = result.is_partial ? EXIT_EXPECTATION : EXIT_FINE;
    validate_done(&result);
    cli_print(text.bytes);
    if (exit_code != EXIT_FINE)
        log_error("validate: stopped before the last row");
    return exit_code;
}
