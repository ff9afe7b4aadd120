/* SPDX-License-Identifier: Apache-2.0 */
/*
 * DOC: tbmesh run
 *
 * Everything before `--` is ours, everything behind it is the ranks': one command for all, or
 * several with a lone `::` between them.
 */
#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <unistd.h>

#include <glib.h>

#include "sim/base/err.h"
#include "sim/base/text.h"
#include "sim/base/units.h"
#include "sim/cli/cli.h"
#include "sim/cli/log.h"
#include "sim/cli/verdict.h"
#include "sim/fabric/quirk.h"
#include "sim/plan/check.h"
#include "sim/report/json_report.h"
#include "sim/scenario/quantity.h"
#include "sim/scenario/quirk.h"
#include "sim/scenario/scenario.h"
#include "verbs-shim/conductor/conductor.h"
#include "verbs-shim/conductor/json_run.h"
#include "verbs-shim/conductor/text_run.h"
#include "verbs-shim/proto/proto.h"

static int run_run(struct cli *cli, int argc, char **argv);

const struct command command_run = {
    .name = "run",
    .operands = "SCENARIO -- COMMAND ARGUMENTS",
    .summary = "run real RDMA programs on the scenario's Macs, in virtual time",
    .details =
        "Starts the command once for each Mac. Each process finds its own Mac's Thunderbolt RDMA\n"
        "devices, moves real bytes over the simulated cables, and reads a clock that shows what\n"
        "they would take. In the command and its arguments {rank}, {ranks}, {host}, {peerK} (host\n"
        "name of rank K) and {ipK} (its address) are replaced. Several commands with '::' between\n"
        "them go to ranks 0, 1 and so on; the last one to all that are left. Lines that programs\n"
        "print carry the name of their Mac. mpirun and mpiexec are started once; their ranks are\n"
        "the Macs'.\n"
        "\n"
        "Exit code 0: all programs ended well. 1: one failed, or crashed. 2: bad input. 3: a\n"
        "deadlock, or a cable that was cut. 4: the run could not be set up.\n"
        "\n"
        "Quirks, where reports of Macs contradict each other:\n"
#define X(id, name, value, places, what, source) "  " name value "\n      " what "\n"
    QUIRK_LIST(X)
#undef X
        ,
    .examples = "  tbmesh run scenarios/clusters/four-studios.yaml -- ibv_devices\n"
                "  tbmesh run --ranks 2 scenarios/clusters/four-studios.yaml -- ibv_devinfo",
    .least_operands = 1,
    .most_operands = 1,
    .run = run_run,
};

/* Is there a command on both sides of each "::"? */
static bool check_commands(char **argv)
{
    bool is_empty = true;

    for (char **word = argv;; word++) {
        bool is_end = *word == NULL;

        if (!is_end && strcmp(*word, "::") != 0) {
            is_empty = false;
            continue;
        }
        if (is_empty) {
            log_error("run: '::' stands between two commands, and one is missing: "
                      "-- SERVER :: CLIENT {ip0}");
            return false;
        }
        if (is_end)
            return true;
        is_empty = true;
    }
}

/* Commands of the ranks, cut out of argv. */
static char ***split_commands(char **argv, size_t *ret_count)
{
    GPtrArray *ranks_argv = g_ptr_array_new();
    char **start = argv;

    for (char **word = argv;; word++) {
        bool is_end = *word == NULL;

        if (!is_end && strcmp(*word, "::") != 0)
            continue;
        *word = NULL;
        g_ptr_array_add(ranks_argv, start);
        start = word + 1;
        if (is_end)
            break;
    }
    *ret_count = ranks_argv->len;
    return (char ***)g_ptr_array_free(ranks_argv, FALSE);
}

static int exit_of(const struct run_outcome *outcome)
{
    switch (outcome->verdict) {
    case RUN_OK:
        return EXIT_FINE;
    case RUN_DEADLOCK:
    case RUN_LINK_LOST:
    case RUN_FINDING:
        return EXIT_DEADLOCK;
    case RUN_FAILED:
    case RUN_CRASHED:
        break;
    }
    return EXIT_EXPECTATION;
}

static void print_findings(const struct run_outcome *outcome)
{
    for (size_t i = 0; i < outcome->finding_count; i++) {
        const struct run_finding *finding = &outcome->findings[i];

        if (finding->is_warning)
            log_warning("%s: %s", finding->where, finding->text);
        else
            log_error("%s: %s: %s", run_verdict_text(outcome->verdict), finding->where,
                      finding->text);
    }
}

static void print_report(struct cli *cli, const struct run_report *report, bool has_table)
{
    struct text text;

    text_init(&text, &cli->arena);
    if (cli->is_json) {
        json_print_run(report, &text);
    } else {
        if (has_table)
            text_print_ranks(report->outcome, &cli->arena, &text);
        text_print_verdict(report->outcome, &text);
    }
    cli_print(text.bytes);
}

static int deliver(struct cli *cli, const struct scenario *scenario,
                   const struct run_outcome *outcome, bool has_table)
{
    struct run_report report = {.scenario = scenario, .outcome = outcome};
    struct check_result check;

    verdict_check(scenario, &check);
    report.head = verdict_head(cli, scenario, outcome->had_effect);
    report.head.is_of_run = true;
    report.check = &check;
    /* What the scenario expects of its own `run:` says nothing of these programs: not judged. */
    report.outcomes = verdict_judge(cli, scenario, NULL, &check).outcomes;
    print_findings(outcome);
    print_report(cli, &report, has_table);
    check_result_done(&check);
    return exit_of(outcome);
}

/* Numbers that nobody gave. */
#define DEFAULT   INT_MIN
#define RANKS_ALL DEFAULT

struct run_flags {
    char *profile;
    char *variant;
    char **quirks;
    char *driver;
    char *lease_cap;
    char *log_dir;
    char *compute;
    int ranks;
    int fold;
    int spin;
    int patience;
    gboolean is_launcher;
    gboolean is_parallel;
    gboolean keeps_aslr;
    gboolean has_table;
};

static bool take_factor(const char *text, uint32_t *ret)
{
    char *end;
    double factor = g_ascii_strtod(text, &end);

    if (end == text || *end != '\0' ||
        !(factor >= 0.001 && factor <= CONDUCTOR_PERMILLE_MAX / 1000.0))
        return false;
    *ret = (uint32_t)(factor * 1000 + 0.5);
    return true;
}

static bool take_compute(const char *text, struct conductor_options *options)
{
    const struct src_pos pos = {"--compute", 0, 0};
    struct err err = {0};

    if (!text || strcmp(text, "zero") == 0)
        return true;
    if (g_str_has_prefix(text, "fixed=")) {
        options->compute = CONDUCTOR_COMPUTE_FIXED;
        if (quantity_parse(text + strlen("fixed="), QUANTITY_SPAN, pos, &options->compute_fixed.ps,
                           &err))
            return true;
        log_err(&err);
        return false;
    }
    if (g_str_has_prefix(text, "measured=")) {
        options->compute = CONDUCTOR_COMPUTE_MEASURED;
        if (take_factor(text + strlen("measured="), &options->compute_permille))
            return true;
    }
    log_error("run: --compute is 'zero', 'fixed=SPAN' such as fixed=200ns, or 'measured=FACTOR' "
              "from 0.001 to 1000, not '%s'",
              text);
    return false;
}

/* How the clock is driven: no choice here changes a result. */
static bool take_clock_flags(const struct run_flags *flags, struct conductor_options *options)
{
    struct err err = {0};

    if (flags->driver && strcmp(flags->driver, "inline") != 0 &&
        strcmp(flags->driver, "conductor") != 0) {
        log_error("run: --driver is 'inline' or 'conductor', not '%s'", flags->driver);
        return false;
    }
    if (flags->lease_cap &&
        !quantity_parse_span(flags->lease_cap, (struct src_pos){0}, &options->lease_cap, &err)) {
        log_error("run: --lease-cap: %s", err.text);
        return false;
    }
    if ((flags->fold < 0 && flags->fold != DEFAULT) ||
        (flags->spin < 0 && flags->spin != DEFAULT)) {
        log_error("run: --fold and --spin take counts, from 0 on");
        return false;
    }
    options->driver = flags->driver && strcmp(flags->driver, "conductor") == 0 ? CONDUCTOR_CONDUCTOR
                                                                               : CONDUCTOR_INLINE;
    options->fold_after = flags->fold == DEFAULT ? -1 : flags->fold;
    options->spin = flags->spin == DEFAULT ? -1 : flags->spin;
    options->is_parallel = flags->is_parallel;
    return true;
}

static bool take_profile(const char *name, struct conductor_options *options)
{
    options->has_lids = name && strcmp(name, "infiniband") == 0;
    options->profile = PROTO_APPLE;
    if (options->has_lids || (name && strcmp(name, "verbs") == 0))
        options->profile = PROTO_VERBS;
    else if (name && strcmp(name, "apple") != 0) {
        log_error("run: --profile is 'apple', 'verbs' or 'infiniband', not '%s'", name);
        return false;
    }
    return true;
}

static bool take_flags(const struct run_flags *flags, struct conductor_options *options)
{
    if (flags->variant && strcmp(flags->variant, "observed") != 0 &&
        strcmp(flags->variant, "technote") != 0) {
        log_error("run: --variant is 'observed' or 'technote', not '%s'", flags->variant);
        return false;
    }
    if (!take_profile(flags->profile, options))
        return false;
    if (flags->ranks != RANKS_ALL &&
        (flags->ranks < 1 || (uint32_t)flags->ranks > PROTO_RANKS_MAX)) {
        log_error("run: --ranks takes 1 to %u", PROTO_RANKS_MAX);
        return false;
    }
    for (char **quirk = flags->quirks; quirk && *quirk; quirk++) {
        struct err err = {0};

        if (!quirk_take(*quirk, &options->quirks, &err)) {
            log_error("run: --quirk: %s", err.text);
            return false;
        }
    }
    if (!take_compute(flags->compute, options))
        return false;
    options->variant =
        flags->variant && strcmp(flags->variant, "observed") == 0 ? PROTO_OBSERVED : PROTO_TECHNOTE;
    options->ranks = flags->ranks == RANKS_ALL ? 0 : (uint32_t)flags->ranks;
    options->log_dir = flags->log_dir;
    if (flags->patience != DEFAULT && flags->patience < 1) {
        log_error("run: --patience takes seconds, from 1 on, not %d", flags->patience);
        return false;
    }
    options->patience_s = flags->patience == DEFAULT ? 0 : (uint32_t)flags->patience;
    options->is_launcher = flags->is_launcher;
    options->keeps_aslr = flags->keeps_aslr;
    return true;
}

static int run_scenario(struct cli *cli, struct conductor_options *options, char **ranks_argv,
                        bool has_table)
{
    struct scenario scenario;
    struct run_outcome outcome;
    struct quirks asked = options->quirks;
    struct err err = {0};
    char ***split;
    int exit_code;

    if (!cli_load_scenario(cli, cli->operands[0], &scenario))
        return EXIT_INPUT;
    options->quirks = scenario.quirks;
    quirks_add(&options->quirks, &asked);
    split = split_commands(ranks_argv, &options->argv_count);
    options->argv = (char *const *const *)split;
    options->program_name = "tbmesh";
    options->prints_to_stderr = cli->is_json;
    if (conductor_run(&scenario, options, &outcome, &err)) {
        exit_code = deliver(cli, &scenario, &outcome, has_table);
        run_outcome_done(&outcome);
    } else {
        cli_report_err(cli, &err);
        exit_code = err.code == ERR_MEMORY ? EXIT_OURS : EXIT_INPUT;
    }
    g_free(split);
    scenario_done(&scenario);
    return exit_code;
}

/* Reads the command line up to "--". False: *ret_exit is the exit code. */
static bool read_flags(struct cli *cli, struct run_flags *flags, int argc, char **argv,
                       int *ret_exit)
{
    const GOptionEntry own[] = {
        {"ranks", 'n', 0, G_OPTION_ARG_INT, &flags->ranks, "how many Macs take part; all", "N"},
        {"profile", 0, 0, G_OPTION_ARG_STRING, &flags->profile,
         "what devices are: apple (default), verbs (RoCE adapters) or infiniband", "NAME"},
        {"variant", 0, 0, G_OPTION_ARG_STRING, &flags->variant,
         "where Apple's text and reports differ: technote (default) or observed", "NAME"},
        {"quirk", 0, 0, G_OPTION_ARG_STRING_ARRAY, &flags->quirks,
         "one of those above, also without the scenario's `quirks`; may be repeated",
         "NAME[=VALUE]"},
        {"log-dir", 0, 0, G_OPTION_ARG_FILENAME, &flags->log_dir,
         "what the ranks print goes into files in DIR", "DIR"},
        {"stats", 0, 0, G_OPTION_ARG_NONE, &flags->has_table,
         "a table of the ranks at the end, as on a terminal", NULL},
        {"compute", 0, 0, G_OPTION_ARG_STRING, &flags->compute,
         "a program's own work: zero (default), fixed=SPAN a call, measured=FACTOR", "MODE"},
        {"driver", 0, 0, G_OPTION_ARG_STRING, &flags->driver,
         "who moves the clock: inline (default) or conductor, which shields ranks", "NAME"},
        {"lease-cap", 0, 0, G_OPTION_ARG_STRING, &flags->lease_cap,
         "how far a rank runs ahead of the others at most, as 500ns; no limit", "SPAN"},
        {"fold", 0, 0, G_OPTION_ARG_INT, &flags->fold,
         "empty polls in a row before they are folded; 0: never", "K"},
        {"spin", 0, 0, G_OPTION_ARG_INT, &flags->spin,
         "rounds that a waiting thread stays awake; by default where cores allow", "N"},
        {"patience", 0, 0, G_OPTION_ARG_INT, &flags->patience,
         "seconds of real time for what does not move", "S"},
        {"launcher", 0, 0, G_OPTION_ARG_NONE, &flags->is_launcher,
         "the command starts the ranks, as mpirun does, which needs no such word", NULL},
        {"parallel", 0, 0, G_OPTION_ARG_NONE, &flags->is_parallel,
         "ranks run at once where that cannot change the result", NULL},
        {"keep-aslr", 0, 0, G_OPTION_ARG_NONE, &flags->keeps_aslr,
         "leave address space randomisation on", NULL},
        {0},
    };

    return cli_parse(cli, CLI_TAKES_MODELS | CLI_TAKES_PARAMETERS | CLI_TAKES_SEED, own, argc, argv,
                     ret_exit);
}

static int run_run(struct cli *cli, int argc, char **argv)
{
    struct run_flags flags = {
        .ranks = RANKS_ALL, .fold = DEFAULT, .spin = DEFAULT, .patience = DEFAULT};
    struct conductor_options options = {.profile = PROTO_APPLE};
    char **ranks_argv = NULL;
    int exit_code;

    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "--") != 0)
            continue;
        ranks_argv = &argv[i + 1];
        argv[i] = NULL;
        argc = i;
        break;
    }
    if (!read_flags(cli, &flags, argc, argv, &exit_code))
        return exit_code;
    if (!ranks_argv || !ranks_argv[0]) {
        log_error("run: no command; it comes after '--': tbmesh run %s -- ibv_devices",
                  cli->operands[0]);
        return EXIT_INPUT;
    }
    exit_code = EXIT_INPUT;
    if (check_commands(ranks_argv) && take_flags(&flags, &options) &&
        take_clock_flags(&flags, &options))
        exit_code =
            run_scenario(cli, &options, ranks_argv, flags.has_table || isatty(STDOUT_FILENO) != 0);
    g_strfreev(flags.quirks);
    return exit_code;
}
