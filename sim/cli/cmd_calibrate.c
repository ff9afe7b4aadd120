/* SPDX-License-Identifier: Apache-2.0 */
#include <stdbool.h>
#include <stddef.h>

#include "sim/base/text.h"
#include "sim/cli/cli.h"
#include "sim/cli/log.h"
#include "sim/cli/measurements.h"
#include "sim/cli/progress.h"
#include "sim/cli/stop.h"
#include "sim/fabric/model.h"
#include "sim/plan/calibrate.h"
#include "sim/report/json_report.h"
#include "sim/report/validation.h"

static int run_calibrate(struct cli *cli, int argc, char **argv);

const struct command command_calibrate = {
    .name = "calibrate",
    .operands = "FILE.csv",
    .summary = "fit the parameters to measurements and print the profile",
    .details =
        "Finds one set of parameters with the least sum of absolute relative errors over all\n"
        "rows that the model expresses, and prints it as a model file for --calibration. Its\n"
        "comments tell the residual of each row and what the rows do not identify. The file\n"
        "has the columns of models/measurements/fabric.csv.",
    .examples = "  tbmesh calibrate models/measurements/fabric.csv",
    .least_operands = 1,
    .most_operands = 1,
    .run = run_calibrate,
};

static int run_calibrate(struct cli *cli, int argc, char **argv)
{
    struct calibrate_result result;
    struct measurements m;
    struct progress *progress;
    struct text text;
    bool is_partial;
    int exit_code;

    if (!cli_parse(cli, CLI_TAKES_MODELS | CLI_TAKES_OUT_FILE, NULL, argc, argv, &exit_code))
        return exit_code;
    if (!measurements_load(cli, &m))
        return EXIT_INPUT;
    progress = progress_new("fitting");

    struct calibrate_input input = {
        .source = m.source,
        .params = &cli->catalog.params,
        .rows = m.rows,
        .row_count = m.row_count,
        .stop = stop_watch(),
        .ctx = progress,
        .progress = progress_show,
    };

    calibrate_run(&input, &result);
    progress_free(progress);
    text_init(&text, &cli->arena);
    if (cli->is_json)
        calibration_write_json(&(struct report_head){.version = TBMESH_VERSION,
                                                     .command = "calibrate"},
                               &result, &text);
    else
        calibration_write_yaml(&result, cli->operands[0], &text);
    is_partial = result.is_partial;
    calibrate_done(&result);
    exit_code = cli_deliver(cli, text.bytes, text.length);
    if (!is_partial || exit_code != EXIT_FINE)
        return exit_code;
    log_error("calibrate: stopped before the fit was done; the profile says PARTIAL");
    return EXIT_EXPECTATION;
}
