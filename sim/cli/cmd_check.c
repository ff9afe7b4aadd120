/* SPDX-License-Identifier: Apache-2.0 */
#include <stddef.h>

#include "sim/base/text.h"
#include "sim/cli/cli.h"
#include "sim/cli/log.h"
#include "sim/cli/verdict.h"
#include "sim/plan/check.h"
#include "sim/report/json_check.h"
#include "sim/report/text_check.h"
#include "sim/scenario/scenario.h"

static int run_check(struct cli *cli, int argc, char **argv);

const struct command command_check = {
    .name = "check",
    .operands = "SCENARIO",
    .summary = "say what is wrong with a cabling, and how to mend it",
    .details = "Runs nothing. Each finding has a name, a place, a reason and a fix with the exact\n"
               "commands. '-' reads the scenario from standard input.\n"
               "\n"
               "Exit code 0: feasible. 1: a finding is an error, or an expectation fails. A\n"
               "scenario that expects its errors, with lines such as 'check.findings has\n"
               "port-count' under 'expect:', gives 0 when all of these hold.",
    .examples = "  tbmesh check scenarios/clusters/four-studios.yaml\n"
                "  tbmesh check --json scenarios/clusters/four-studios.yaml",
    .least_operands = 1,
    .most_operands = 1,
    .run = run_check,
};

/* Expectations about a simulation are not judged here, so only those about the check count. */
static int judge(const struct check_result *check, const struct verdict *verdict)
{
    if (verdict->failed > 0) {
        log_error("check: %zu of %zu expectations failed", verdict->failed,
                  verdict->failed + verdict->held);
        return EXIT_EXPECTATION;
    }
    if (check->is_feasible || verdict->held > 0)
        return EXIT_FINE;
    log_error("check: not feasible%s%s", check->binding[0] ? ", bound by " : "", check->binding);
    return EXIT_EXPECTATION;
}

static int check_scenario(struct cli *cli, const struct scenario *scenario)
{
    struct check_result check;
    struct verdict verdict;
    struct check_report report;
    struct text text;
    int exit_code;

    verdict_check(scenario, &check);
    verdict = verdict_judge(cli, scenario, NULL, &check);
    report = (struct check_report){.head = verdict_head(cli, scenario, NULL),
                                   .scenario = scenario,
                                   .check = &check,
                                   .outcomes = verdict.outcomes};
    text_init(&text, &cli->arena);
    if (cli->is_json)
        json_print_check(&report, &text);
    else
        text_print_check(&report, &text);
    cli_print(text.bytes);
    exit_code = judge(&check, &verdict);
    check_result_done(&check);
    return exit_code;
}

static int run_check(struct cli *cli, int argc, char **argv)
{
    struct scenario scenario;
    int exit_code;

    if (!cli_parse(cli, CLI_TAKES_MODELS, NULL, argc, argv, &exit_code))
        return exit_code;
    if (!cli_load_scenario(cli, cli->operands[0], &scenario))
        return EXIT_INPUT;
    exit_code = check_scenario(cli, &scenario);
    scenario_done(&scenario);
    return exit_code;
}
