/* SPDX-License-Identifier: Apache-2.0 */
/*
 * DOC: tbmesh sim
 *
 * Scenario in; table, JSON and TSV out. The tables for programs are made from the JSON text, as
 * `plot` makes them again later. Files first, then the table: when the disk is full, the user still
 * sees the answer and then the reason for exit code 4.
 *
 * Ctrl-C: what has been simulated is judged, printed and written like a whole result, marked as
 * partial everywhere, and the exit code is 1, since what the scenario expects was not shown to
 * hold.
 */
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include <glib.h>

#include "sim/base/arena.h"
#include "sim/base/err.h"
#include "sim/base/text.h"
#include "sim/cli/cli.h"
#include "sim/cli/doubts.h"
#include "sim/cli/file_io.h"
#include "sim/cli/log.h"
#include "sim/cli/progress.h"
#include "sim/cli/stop.h"
#include "sim/cli/verdict.h"
#include "sim/core/evq.h"
#include "sim/fabric/cluster.h"
#include "sim/plan/check.h"
#include "sim/report/json_check.h"
#include "sim/report/json_sim.h"
#include "sim/report/result_read.h"
#include "sim/report/text_sim.h"
#include "sim/report/tsv.h"
#include "sim/scenario/scenario.h"
#include "sim/workload/run.h"

/* Bins of the use of links over time: as many as a figure can show; fewer where there are many
 * links, since nobody reads a table of a million rows. */
#define USE_BINS_MAX  200U
#define USE_BINS_MIN  16U
#define USE_CELLS_MAX 32768U

static int run_sim(struct cli *cli, int argc, char **argv);

const struct command command_sim = {
    .name = "sim",
    .operands = "SCENARIO",
    .summary = "simulate a scenario: latency, bandwidth, what binds",
    .details =
        "Prints a table for each library and writes result.json, results.tsv and links.tsv to\n"
        "out/<name of the file>/ or the folder of -o. With --json the object goes to stdout and\n"
        "files are written only with -o. '-' reads the scenario from standard input.\n"
        "\n"
        "Exit code 0: fine. 1: an expectation failed, or Ctrl-C; then the result is marked\n"
        "\"partial\". 2: bad input, or a run that this cabling cannot do. 3: a deadlock that the\n"
        "scenario does not expect with 'deadlock == true'. 4: a file could not be written.",
    .examples = "  tbmesh sim scenarios/clusters/four-studios.yaml\n"
                "  tbmesh sim --set \"rdma.goodput=70 Gb/s\" scenarios/clusters/four-studios.yaml "
                "-o out/slower",
    .least_operands = 1,
    .most_operands = 1,
    .run = run_sim,
};

struct sim_call {
    struct cli *cli;
    const struct scenario *scenario;
    struct check_result check;
    struct sim_result result;
    struct verdict verdict;
    struct sim_report report;
};

static uint32_t choose_bins(const struct cluster *cluster)
{
    size_t links = 2 * cluster->cable_count;
    size_t bins = links > 0 ? USE_CELLS_MAX / links : USE_BINS_MAX;

    if (bins > USE_BINS_MAX)
        return USE_BINS_MAX;
    return bins < USE_BINS_MIN ? USE_BINS_MIN : (uint32_t)bins;
}

static bool simulate(struct sim_call *call)
{
    const struct scenario *scenario = call->scenario;
    const struct sim_input input = {
        .cluster = &scenario->cluster,
        .params = &scenario->params,
        .items = scenario->items,
        .item_count = scenario->item_count,
        .faults = scenario->faults,
        .fault_count = scenario->fault_count,
        .seed = scenario->seed,
        .has_jitter = scenario->has_jitter,
        .evq = EVQ_CALENDAR,
        .unmatched = scenario->unmatched,
        .use_bins = choose_bins(&scenario->cluster),
    };
    struct progress *progress = progress_new("simulating");
    const struct sim_watch watch = {
        .ctx = progress, .progress = progress_show, .stop = stop_watch()};
    struct err err = {0};
    bool ok;

    ok = sim_run(&input, &watch, &call->result, &err);
    progress_free(progress);
    if (ok)
        return true;
    cli_report_err(call->cli, &err);
    if (!call->check.is_feasible)
        log_error("sim: 'tbmesh check %s' says what is wrong with the cabling and how to mend it",
                  call->cli->operands[0]);
    return false;
}

/* The folder of the results: -o, or out/<name of the file without its ending>. */
static const char *out_folder(struct cli *cli)
{
    const char *path = cli->operands[0];
    char *name;
    char *dot;
    const char *folder;

    if (cli->out)
        return cli->out;
    name = strcmp(path, "-") == 0 ? g_strdup("standard-input") : g_path_get_basename(path);
    dot = strrchr(name, '.');
    if (dot && dot != name)
        *dot = '\0';
    folder = arena_format(&cli->arena, "out/%s", name);
    g_free(name);
    return folder;
}

/* Returns an exit_code. */
static int write_files(struct sim_call *call, const char *folder, const struct text *json)
{
    struct file_set *set = file_set_new(folder);
    struct text results;
    struct text links;
    struct err err = {0};
    JsonNode *root = NULL;
    char *error = NULL;
    bool ok;

    text_init(&results, &call->cli->arena);
    text_init(&links, &call->cli->arena);
    ok = result_read("result.json", json->bytes, json->length, &root, &err);
    if (ok) {
        tsv_print_results(root, &results);
        tsv_print_links(root, &links);
        json_node_unref(root);
        file_set_add(set, "result.json", json->bytes, json->length);
        file_set_add(set, "results.tsv", results.bytes, results.length);
        file_set_add(set, "links.tsv", links.bytes, links.length);
        ok = file_set_write(set, &error);
        if (!ok)
            log_error("sim: %s", error);
    } else {
        log_err(&err);
    }
    g_free(error);
    file_set_free(set);
    return ok ? EXIT_FINE : EXIT_OURS;
}

/* Every exit code but 0 has its line on stderr. */
static int judge(const struct sim_call *call)
{
    const struct verdict *verdict = &call->verdict;
    int exit_code = EXIT_FINE;

    if (call->result.is_partial) {
        log_error("sim: interrupted; the result is partial");
        exit_code = EXIT_EXPECTATION;
    }
    if (call->result.is_wrong) {
        log_error("sim: a collective left a wrong result");
        exit_code = EXIT_EXPECTATION;
    }
    if (verdict->failed > 0) {
        log_error("sim: %zu of %zu expectations failed", verdict->failed,
                  call->scenario->expectation_count);
        exit_code = EXIT_EXPECTATION;
    }
    if (call->result.is_deadlock && !verdict_expects_deadlock(call->scenario, verdict)) {
        log_error("sim: deadlock");
        exit_code = EXIT_DEADLOCK;
    }
    return exit_code;
}

/* "check: 4 warnings: port-beside-ethernet (4)". The findings themselves are long, and another
 * command prints them. */
static void add_findings(const struct sim_call *call, struct text *ret)
{
    const struct check_result *check = &call->check;
    size_t i = 0;

    text_add(ret, "\ncheck: %s", check->is_feasible ? "feasible" : "NOT FEASIBLE");
    while (i < check->finding_count) {
        const struct finding *finding = &check->findings[i];
        size_t first = i;

        while (i < check->finding_count && strcmp(check->findings[i].id, finding->id) == 0 &&
               check->findings[i].severity == finding->severity)
            i++;
        text_add(ret, "%s %s %s", first == 0 ? ";" : ",", check_severity_text(finding->severity),
                 finding->id);
        if (i - first > 1)
            text_add(ret, " (%zu)", i - first);
    }
    if (check->finding_count > 0)
        text_add(ret, "; explained by: tbmesh check %s", call->cli->operands[0]);
    text_add(ret, "\n");
}

static int deliver(struct sim_call *call)
{
    struct cli *cli = call->cli;
    const char *folder = out_folder(cli);
    bool writes_files = !cli->is_json || cli->out;
    struct text json;
    struct text text;
    int exit_code = EXIT_FINE;
    int verdict;

    text_init(&json, &cli->arena);
    json_print_sim(&call->report, &json);
    if (writes_files)
        exit_code = write_files(call, folder, &json);
    if (cli->is_json) {
        cli_print(json.bytes);
    } else {
        text_init(&text, &cli->arena);
        text_print_sim(&call->report, &text);
        add_findings(call, &text);
        if (exit_code == EXIT_FINE)
            text_add(&text,
                     "\nwrote %s/result.json, results.tsv and links.tsv; figures: tbmesh "
                     "plot %s\n",
                     folder, folder);
        cli_print(text.bytes);
    }
    verdict = judge(call);
    return exit_code == EXIT_FINE ? verdict : exit_code;
}

static int simulate_and_deliver(struct sim_call *call)
{
    int exit_code;

    if (!simulate(call))
        return EXIT_INPUT;
    call->verdict = verdict_judge(call->cli, call->scenario, &call->result, &call->check);
    call->report = (struct sim_report){
        .head = verdict_head(call->cli, call->scenario, call->result.had_effect),
        .scenario = call->scenario,
        .result = &call->result,
        .check = &call->check,
        .outcomes = call->verdict.outcomes,
    };
    doubts_add(call->cli, call->scenario, &call->check, &call->result, &call->report.head);
    exit_code = deliver(call);
    sim_result_done(&call->result);
    return exit_code;
}

static int sim_scenario(struct cli *cli, const struct scenario *scenario)
{
    struct sim_call call = {.cli = cli, .scenario = scenario};
    int exit_code;

    if (scenario->item_count == 0) {
        log_error("sim: %s has nothing to run; 'tbmesh check' looks at its cabling",
                  scenario->file);
        return EXIT_INPUT;
    }
    verdict_check(scenario, &call.check);
    exit_code = simulate_and_deliver(&call);
    check_result_done(&call.check);
    return exit_code;
}

static int run_sim(struct cli *cli, int argc, char **argv)
{
    struct scenario scenario;
    int exit_code;

    if (!cli_parse(cli,
                   CLI_TAKES_OUT_FOLDER | CLI_TAKES_SEED | CLI_TAKES_PARAMETERS | CLI_TAKES_MODELS,
                   NULL, argc, argv, &exit_code))
        return exit_code;
    if (!cli_load_scenario(cli, cli->operands[0], &scenario))
        return EXIT_INPUT;
    exit_code = sim_scenario(cli, &scenario);
    scenario_done(&scenario);
    return exit_code;
}
