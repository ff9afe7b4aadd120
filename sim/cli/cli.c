/* SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE

#include "sim/cli/cli.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "sim/base/err.h"
#include "sim/base/text.h"
#include "sim/cli/command.h"
#include "sim/cli/embedded.h"
#include "sim/cli/file_io.h"
#include "sim/cli/log.h"
#include "sim/report/json_report.h"
#include "sim/scenario/quantity.h"
#include "sim/scenario/suggest.h"

#define ENTRIES_MAX 24U

/* What GOption fills and cli_parse turns into fields of struct cli. */
struct raw_options {
    gboolean wants_help;
    char *seed;
    char **operands;
};

struct entries {
    GOptionEntry list[ENTRIES_MAX];
    size_t count;
};

static void add_entry(struct entries *entries, const GOptionEntry *entry)
{
    g_assert(entries->count + 1 < ENTRIES_MAX);
    entries->list[entries->count++] = *entry;
}

static void add_shared(struct entries *entries, struct cli *cli, unsigned takes,
                       struct raw_options *raw)
{
    const struct {
        unsigned bit;
        GOptionEntry entry;
    } shared[] = {
        {CLI_TAKES_OUT_FOLDER,
         {"out", 'o', 0, G_OPTION_ARG_FILENAME, &cli->out, "write the files into this folder",
          "DIR"}},
        {CLI_TAKES_OUT_FILE,
         {"out", 'o', 0, G_OPTION_ARG_FILENAME, &cli->out, "write to this file, not to stdout",
          "FILE"}},
        {CLI_TAKES_SEED,
         {"seed", 0, 0, G_OPTION_ARG_FILENAME, &raw->seed, "random seed, instead of the scenario's",
          "N"}},
        {CLI_TAKES_PARAMETERS,
         {"set", 0, 0, G_OPTION_ARG_FILENAME_ARRAY, &cli->assignments,
          "change a parameter, such as \"rdma.goodput=70 Gb/s\"; may be repeated", "NAME=VALUE"}},
        {CLI_TAKES_MODELS,
         {"models", 0, 0, G_OPTION_ARG_FILENAME_ARRAY, &cli->models,
          "add the models of a file; may be repeated", "FILE"}},
        {CLI_TAKES_MODELS,
         {"calibration", 0, 0, G_OPTION_ARG_FILENAME, &cli->calibration,
          "parameters of this file instead of models/calibration.yaml", "FILE"}},
        {~0U, {"json", 0, 0, G_OPTION_ARG_NONE, &cli->is_json, "print one JSON object", NULL}},
        {~0U, {"help", 'h', 0, G_OPTION_ARG_NONE, &raw->wants_help, "print this text", NULL}},
        {~0U, {G_OPTION_REMAINING, 0, 0, G_OPTION_ARG_FILENAME_ARRAY, &raw->operands, NULL, NULL}},
    };

    for (size_t i = 0; i < G_N_ELEMENTS(shared); i++)
        if (shared[i].bit == ~0U || (takes & shared[i].bit))
            add_entry(entries, &shared[i].entry);
}

/* GOption's own text for an unknown option, with the nearest known one behind it. */
static void report_slip(const struct cli *cli, const struct entries *entries, const GError *error)
{
    const char *names[ENTRIES_MAX];
    const char *word = strstr(error->message, "--");
    char near[SUGGEST_TEXT_MAX] = "";
    size_t count = 0;

    for (size_t i = 0; i < entries->count; i++)
        if (entries->list[i].long_name[0])
            names[count++] = entries->list[i].long_name;
    if (g_error_matches(error, G_OPTION_ERROR, G_OPTION_ERROR_UNKNOWN_OPTION) && word) {
        char *bare = g_strndup(word + 2, strcspn(word + 2, "="));
        const char *found = suggest_name(bare, names, count);

        if (found)
            (void)snprintf(near, sizeof near, ", did you mean '--%s'?", found);
        g_free(bare);
    }
    log_error("%s: %s%s", cli->command->name, error->message, near);
    log_error("'tbmesh %s --help' shows the options", cli->command->name);
}

static bool check_operands(struct cli *cli)
{
    const struct command *command = cli->command;

    if (cli->operand_count < command->least_operands)
        log_error("%s: %.*s is missing: tbmesh %s %s", command->name,
                  (int)strcspn(command->most_operands > 1 ? "a file" : command->operands,
                               command->most_operands > 1 ? "" : " "),
                  command->most_operands > 1 ? "a file" : command->operands, command->name,
                  command->operands);
    else if (command->most_operands == 0 && cli->operand_count > 0)
        log_error("%s: takes no operand, found '%s'", command->name, cli->operands[0]);
    else if (cli->operand_count > command->most_operands)
        log_error("%s: one operand too many: '%s'; it is tbmesh %s %s", command->name,
                  cli->operands[command->most_operands], command->name, command->operands);
    else
        return true;
    return false;
}

static bool take_raw(struct cli *cli, const struct raw_options *raw)
{
    struct src_pos pos = {"--seed", 0, 0};
    struct err err = {0};
    int64_t seed;

    cli->operands = raw->operands ? raw->operands : g_new0(char *, 1);
    cli->operand_count = (int)g_strv_length(cli->operands);
    if (raw->seed) {
        if (!quantity_parse(raw->seed, QUANTITY_COUNT, pos, &seed, &err)) {
            log_err(&err);
            return false;
        }
        cli->has_seed = true;
        cli->seed = (uint64_t)seed;
    }
    return check_operands(cli);
}

static GOptionContext *new_context(const struct cli *cli, const struct entries *entries)
{
    const struct command *command = cli->command;
    GOptionContext *context = g_option_context_new(command->operands);
    char *summary = g_strdup_printf("%s\n\n%s", command->summary, command->details);
    char *description = g_strdup_printf("Examples:\n%s\n", command->examples);
    char *program = g_strdup_printf("tbmesh %s", command->name);

    g_set_prgname(program);
    g_option_context_set_summary(context, summary);
    g_option_context_set_description(context, description);
    g_option_context_set_help_enabled(context, FALSE);
    g_option_context_add_main_entries(context, entries->list, NULL);
    g_free(program);
    g_free(description);
    g_free(summary);
    return context;
}

static void print_help(GOptionContext *context)
{
    char *help = g_option_context_get_help(context, TRUE, NULL);

    cli_print(help);
    g_free(help);
}

bool cli_parse(struct cli *cli, unsigned takes, const GOptionEntry *own, int argc, char **argv,
               int *ret_exit)
{
    struct raw_options raw = {0};
    struct entries entries = {0};
    GOptionContext *context;
    GError *error = NULL;
    bool goes_on = false;

    for (; own && own->long_name; own++)
        add_entry(&entries, own);
    add_shared(&entries, cli, takes, &raw);
    context = new_context(cli, &entries);
    *ret_exit = EXIT_INPUT;
    if (!g_option_context_parse(context, &argc, &argv, &error)) {
        report_slip(cli, &entries, error);
        g_error_free(error);
        g_strfreev(raw.operands);
    } else if (raw.wants_help) {
        print_help(context);
        g_strfreev(raw.operands);
        *ret_exit = EXIT_FINE;
    } else {
        goes_on = take_raw(cli, &raw);
    }
    g_free(raw.seed);
    g_option_context_free(context);
    return goes_on;
}

void cli_report_errs(struct cli *cli, const struct err_list *errs)
{
    const struct report_head head = {.version = TBMESH_VERSION, .command = cli->command->name};
    struct text text;

    if (errs->count == 0)
        return;
    log_err_list(errs);
    if (!cli->is_json)
        return;
    text_init(&text, &cli->arena);
    json_print_errors(&head, errs, &text);
    cli_print(text.bytes);
}

void cli_report_err(struct cli *cli, const struct err *err)
{
    struct err_list errs;

    err_list_init(&errs);
    err_list_take(&errs, err);
    cli_report_errs(cli, &errs);
    err_list_done(&errs);
}

bool cli_find_embedded(const char *name, struct source_text *ret)
{
    for (const struct embedded_file *file = embedded_files; file->name; file++) {
        if (strcmp(file->name, name) == 0) {
            *ret = (struct source_text){file->name, (const char *)file->bytes, file->length};
            return true;
        }
    }
    return false;
}

static bool is_model_file(const char *name)
{
    return g_str_has_prefix(name, "models/") && g_str_has_suffix(name, ".yaml");
}

/* Adds a file that the user named to the texts of the catalogue. */
static void add_text(struct cli *cli, GArray *texts, const char *path, struct err_list *reterrs)
{
    struct source_text text;
    struct err err = {0};

    if (file_read(path, &cli->arena, &text, &err))
        g_array_append_val(texts, text);
    else
        err_list_take(reterrs, &err);
}

/* The built-in files, and what the user adds to them. */
static GArray *collect_texts(struct cli *cli, struct err_list *reterrs)
{
    GArray *texts = g_array_new(FALSE, FALSE, sizeof(struct source_text));

    for (const struct embedded_file *file = embedded_files; file->name; file++) {
        struct source_text text = {file->name, (const char *)file->bytes, file->length};
        bool is_replaced = cli->calibration && strcmp(file->name, "models/calibration.yaml") == 0;

        if (is_model_file(file->name) && !is_replaced)
            g_array_append_val(texts, text);
    }
    if (cli->calibration)
        add_text(cli, texts, cli->calibration, reterrs);
    for (char **path = cli->models; path && *path; path++)
        add_text(cli, texts, *path, reterrs);
    return texts;
}

bool cli_load_catalog(struct cli *cli)
{
    struct err_list errs;
    GArray *texts;

    err_list_init(&errs);
    texts = collect_texts(cli, &errs);
    cli->has_catalog =
        errs.count == 0 && catalog_parse((const struct source_text *)(const void *)texts->data,
                                         texts->len, &cli->catalog, &errs);
    cli_report_errs(cli, &errs);
    err_list_done(&errs);
    g_array_unref(texts);
    return cli->has_catalog;
}

static bool apply_assignments(struct cli *cli, struct scenario *scenario, struct err_list *reterrs)
{
    for (char **assignment = cli->assignments; assignment && *assignment; assignment++) {
        struct err err = {0};

        if (params_override(&scenario->params, *assignment, &scenario->arena, &scenario->warnings,
                            &err))
            continue;
        err.pos = (struct src_pos){"--set", 0, 0};
        err_list_take(reterrs, &err);
    }
    return reterrs->count == 0;
}

static bool parse_scenario(struct cli *cli, const struct source_text *text, struct scenario *ret)
{
    struct err_list errs;
    bool ok;

    err_list_init(&errs);
    ok = scenario_parse(text, &cli->catalog, ret, &errs);
    if (ok && !apply_assignments(cli, ret, &errs)) {
        scenario_done(ret);
        ok = false;
    }
    cli_report_errs(cli, &errs);
    err_list_done(&errs);
    return ok;
}

bool cli_load_scenario(struct cli *cli, const char *path, struct scenario *ret)
{
    struct source_text text;
    struct err err = {0};

    if (!file_read(path, &cli->arena, &text, &err)) {
        cli_report_err(cli, &err);
        return false;
    }
    if (!cli->has_catalog && !cli_load_catalog(cli))
        return false;
    if (!parse_scenario(cli, &text, ret))
        return false;
    if (cli->has_seed)
        ret->seed = cli->seed;
    return true;
}

void cli_print(const char *text)
{
    (void)fwrite(text, 1, strlen(text), stdout);
}

int cli_deliver(const struct cli *cli, const char *text, size_t length)
{
    char *error = NULL;

    if (!cli->out || strcmp(cli->out, "-") == 0) {
        (void)fwrite(text, 1, length, stdout);
        return EXIT_FINE;
    }
    if (file_write(cli->out, text, length, &error))
        return EXIT_FINE;
    log_error("%s", error);
    g_free(error);
    return EXIT_OURS;
}

/* The errno of an earlier write is gone by the time that anybody asks. */
static bool has_reader_left(void)
{
    struct pollfd out = {.fd = STDOUT_FILENO, .events = POLLOUT};

    return poll(&out, 1, 0) == 1 && (out.revents & POLLERR);
}

int cli_finish(int exit_code)
{
    bool was_bad = ferror(stdout) != 0;

    errno = 0;
    if (fflush(stdout) == 0 && !was_bad)
        return exit_code;
    if (errno == EPIPE || has_reader_left())
        return exit_code;
    log_error("cannot write all of standard output%s%s", errno ? ": " : "",
              errno ? g_strerror(errno) : "");
    return EXIT_OURS;
}

void cli_done(struct cli *cli)
{
    if (cli->has_catalog)
        catalog_done(&cli->catalog);
    g_strfreev(cli->models);
    g_strfreev(cli->assignments);
    g_strfreev(cli->operands);
    g_free(cli->calibration);
    g_free(cli->out);
    arena_done(&cli->arena);
}
