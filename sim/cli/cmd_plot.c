/* SPDX-License-Identifier: Apache-2.0 */
/*
 * DOC: Figures
 *
 * A figure is plots/NAME.gp, embedded in the program. gnuplot runs in a private temporary folder
 * that holds results.tsv, links.tsv (made from the JSON, as `sim` makes them) and all of plots/
 * under their plain names, and leaves NAME.svg and NAME.png there; so no path of the user is ever
 * part of a gnuplot command. What loads common.gp is a figure; other scripts are parts of figures.
 * The pictures are then written to their place as every set of files is: all or none.
 *
 * A figure that has nothing to draw, such as the use of links when no link was used, may leave no
 * file behind; then it is skipped, and the list of written files says what there is.
 */
#define _GNU_SOURCE

#include <stdbool.h>
#include <string.h>

#include <glib.h>
#include <glib/gstdio.h>

#include "sim/base/arena.h"
#include "sim/base/err.h"
#include "sim/base/text.h"
#include "sim/cli/cli.h"
#include "sim/cli/embedded.h"
#include "sim/cli/file_io.h"
#include "sim/cli/log.h"
#include "sim/cli/stop.h"
#include "sim/report/json_report.h"
#include "sim/report/result_read.h"
#include "sim/report/tsv.h"
#include "sim/scenario/scenario.h"

static int run_plot(struct cli *cli, int argc, char **argv);

const struct command command_plot = {
    .name = "plot",
    .operands = "DIR|RESULT.json",
    .summary = "draw a result as SVG and PNG",
    .details =
        "Takes the folder that 'tbmesh sim' wrote, or the result.json in it, and draws with\n"
        "gnuplot (Debian package gnuplot-nox) latency and bandwidth over size and the use\n"
        "of the links over time. The figures go beside the result, or into -o DIR.",
    .examples = "  tbmesh sim scenarios/clusters/four-studios.yaml -o out/four-studios\n"
                "  tbmesh plot out/four-studios",
    .least_operands = 1,
    .most_operands = 1,
    .run = run_plot,
};

/* What gnuplot may leave behind for plots/latency.gp. */
static const char *const forms[] = {".svg", ".png"};

struct plot {
    struct cli *cli;
    char *result;  /* owned: path of the JSON */
    char *folder;  /* owned: where the figures go */
    char *work;    /* owned: the temporary folder */
    char *gnuplot; /* owned: its path */
    struct file_set *figures;
    struct text written; /* names, one a line */
    size_t count;
};

static bool is_figure(const struct embedded_file *file)
{
    static const char mark[] = "load 'common.gp'";

    return g_str_has_prefix(file->name, "plots/") && g_str_has_suffix(file->name, ".gp") &&
           memmem(file->bytes, file->length, mark, strlen(mark));
}

/* Returns an exit_code. */
static int put_work_file(const struct plot *plot, const char *name, const char *bytes,
                         size_t length)
{
    char *path = g_build_filename(plot->work, name, NULL);
    char *error = NULL;
    bool ok = file_write(path, bytes, length, &error);

    if (!ok)
        log_error("plot: %s", error);
    g_free(error);
    g_free(path);
    return ok ? EXIT_FINE : EXIT_OURS;
}

static int put_tables(const struct plot *plot, JsonNode *root)
{
    struct text results;
    struct text links;
    int exit_code;

    text_init(&results, &plot->cli->arena);
    text_init(&links, &plot->cli->arena);
    tsv_print_results(root, &results);
    tsv_print_links(root, &links);
    exit_code = put_work_file(plot, "results.tsv", results.bytes, results.length);
    return exit_code == EXIT_FINE ? put_work_file(plot, "links.tsv", links.bytes, links.length)
                                  : exit_code;
}

/* The tables are made from the JSON again, so that it alone is enough. */
static int make_tables(const struct plot *plot)
{
    struct source_text text;
    struct err err = {0};
    JsonNode *root;
    int exit_code;

    if (!file_read(plot->result, &plot->cli->arena, &text, &err) ||
        !result_read(text.name, text.bytes, text.length, &root, &err)) {
        cli_report_err(plot->cli, &err);
        log_error("plot: 'tbmesh sim' writes such a result");
        return EXIT_INPUT;
    }
    exit_code = put_tables(plot, root);
    json_node_unref(root);
    return exit_code;
}

static int copy_scripts(const struct plot *plot)
{
    int exit_code = EXIT_FINE;

    for (const struct embedded_file *file = embedded_files; file->name; file++)
        if (exit_code == EXIT_FINE && g_str_has_prefix(file->name, "plots/"))
            exit_code = put_work_file(plot, file->name + strlen("plots/"),
                                      (const char *)file->bytes, file->length);
    return exit_code;
}

/* The child's gnuplot settings must not change a figure: ~/.gnuplot is not read with -d. */
static int run_gnuplot(const struct plot *plot, const char *script)
{
    char *argv[] = {g_strdup(plot->gnuplot), g_strdup("-d"), g_strdup(script), NULL};
    char **environment = g_environ_setenv(g_get_environ(), "LC_ALL", "C.UTF-8", TRUE);
    char *said = NULL;
    GError *error = NULL;
    int status = 0;
    bool ok;

    environment = g_environ_setenv(environment, "TZ", "UTC", TRUE);
    ok = g_spawn_sync(plot->work, argv, environment, G_SPAWN_STDOUT_TO_DEV_NULL, NULL, NULL, NULL,
                      &said, &status, &error) &&
         g_spawn_check_wait_status(status, &error);
    if (!ok) {
        log_error("plot: gnuplot %s: %s", script, error->message);
        for (char *line = said ? strtok(said, "\n") : NULL; line; line = strtok(NULL, "\n"))
            log_error("plot: gnuplot: %s", line);
        g_error_free(error);
    }
    g_free(said);
    g_strfreev(environment);
    for (size_t i = 0; argv[i]; i++)
        g_free(argv[i]);
    return ok ? EXIT_FINE : EXIT_OURS;
}

/* Takes NAME.svg and NAME.png into the set of figures, if they exist. */
static int collect(struct plot *plot, const char *script)
{
    for (size_t i = 0; i < G_N_ELEMENTS(forms); i++) {
        char *stem = g_strndup(script, strlen(script) - strlen(".gp"));
        const char *name = arena_format(&plot->cli->arena, "%s%s", stem, forms[i]);
        char *path = g_build_filename(plot->work, name, NULL);
        struct source_text text;
        struct err err = {0};
        bool exists = g_file_test(path, G_FILE_TEST_EXISTS);
        bool ok = !exists || file_read(path, &plot->cli->arena, &text, &err);

        if (!ok)
            log_err(&err);
        else if (exists && text.length > 0) {
            file_set_add(plot->figures, name, text.bytes, text.length);
            text_add_item(&plot->written, "\n", name);
            plot->count++;
        }
        g_free(path);
        g_free(stem);
        if (!ok)
            return EXIT_OURS;
    }
    return EXIT_FINE;
}

static int draw_all(struct plot *plot)
{
    int exit_code = make_tables(plot);

    if (exit_code == EXIT_FINE)
        exit_code = copy_scripts(plot);
    for (const struct embedded_file *file = embedded_files; file->name; file++) {
        const char *script = file->name + strlen("plots/");

        if (exit_code != EXIT_FINE || !is_figure(file))
            continue;
        exit_code = run_gnuplot(plot, script);
        if (exit_code == EXIT_FINE)
            exit_code = collect(plot, script);
    }
    return exit_code;
}

static void print_written(const struct plot *plot)
{
    struct text out;
    char **names = g_strsplit(plot->written.bytes, "\n", 0);
    const char **paths = arena_alloc_array(&plot->cli->arena, plot->count, sizeof *paths);

    text_init(&out, &plot->cli->arena);
    for (size_t i = 0; i < plot->count; i++) {
        char *path = g_build_filename(plot->folder, names[i], NULL);

        paths[i] = arena_copy_text(&plot->cli->arena, path, strlen(path));
        if (!plot->cli->is_json)
            text_add(&out, "wrote %s\n", path);
        g_free(path);
    }
    if (plot->cli->is_json)
        json_print_files(&(struct report_head){.version = TBMESH_VERSION, .command = "plot"}, paths,
                         plot->count, &out);
    cli_print(out.bytes);
    g_strfreev(names);
}

static void remove_work(const struct plot *plot)
{
    GDir *dir = g_dir_open(plot->work, 0, NULL);
    const char *name;

    while (dir && (name = g_dir_read_name(dir))) {
        char *path = g_build_filename(plot->work, name, NULL);

        (void)g_unlink(path);
        g_free(path);
    }
    if (dir)
        g_dir_close(dir);
    (void)g_rmdir(plot->work);
}

static int plot_in_work_folder(struct plot *plot)
{
    char *error = NULL;
    int exit_code;

    plot->figures = file_set_new(plot->folder);
    text_init(&plot->written, &plot->cli->arena);
    exit_code = draw_all(plot);
    if (exit_code == EXIT_FINE && plot->count == 0) {
        log_error("plot: there is nothing to draw in %s", plot->result);
        exit_code = EXIT_INPUT;
    }
    if (exit_code == EXIT_FINE && !file_set_write(plot->figures, &error)) {
        log_error("plot: %s", error);
        exit_code = EXIT_OURS;
    }
    if (exit_code == EXIT_FINE)
        print_written(plot);
    g_free(error);
    file_set_free(plot->figures);
    return exit_code;
}

static int run_plot(struct cli *cli, int argc, char **argv)
{
    struct plot plot = {.cli = cli};
    GError *error = NULL;
    int exit_code;

    if (!cli_parse(cli, CLI_TAKES_OUT_FOLDER, NULL, argc, argv, &exit_code))
        return exit_code;
    plot.gnuplot = g_find_program_in_path("gnuplot");
    if (!plot.gnuplot) {
        log_error("plot: gnuplot is not installed or not on PATH; on Debian: apt-get install "
                  "gnuplot-nox");
        return EXIT_OURS;
    }
    if (g_file_test(cli->operands[0], G_FILE_TEST_IS_DIR))
        plot.result = g_build_filename(cli->operands[0], "result.json", NULL);
    else
        plot.result = g_strdup(cli->operands[0]);
    plot.folder = cli->out ? g_strdup(cli->out) : g_path_get_dirname(plot.result);
    /* Ctrl-C ends gnuplot, and its failure ends this command the usual way: tidied up. */
    (void)stop_watch();
    plot.work = g_dir_make_tmp("tbmesh-XXXXXX", &error);
    if (plot.work) {
        exit_code = plot_in_work_folder(&plot);
        remove_work(&plot);
    } else {
        log_error("plot: %s", error->message);
        g_error_free(error);
        exit_code = EXIT_OURS;
    }
    g_free(plot.work);
    g_free(plot.folder);
    g_free(plot.result);
    g_free(plot.gnuplot);
    return exit_code;
}
