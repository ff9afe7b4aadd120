/* SPDX-License-Identifier: Apache-2.0 */
/* One call of one command: its options, its catalogue, its output. */
#ifndef SIM_CLI_CLI_H
#define SIM_CLI_CLI_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <glib.h>

#include "sim/base/arena.h"
#include "sim/base/err.h"
#include "sim/cli/command.h" // IWYU pragma: export
#include "sim/fabric/model.h"
#include "sim/scenario/scenario.h"

/* Options that several commands share; a command says which of them it takes. --json and --help
 * come with every command. */
enum cli_takes {
    CLI_TAKES_MODELS = 1U << 0,     /* --models, --calibration */
    CLI_TAKES_PARAMETERS = 1U << 1, /* --set */
    CLI_TAKES_SEED = 1U << 2,       /* --seed */
    CLI_TAKES_OUT_FOLDER = 1U << 3, /* -o, --out DIR */
    CLI_TAKES_OUT_FILE = 1U << 4,   /* -o, --out FILE */
};

struct cli {
    const struct command *command;
    struct arena arena; /* freed when the command has returned */
    gboolean is_json;
    char **models;      /* NULL-terminated, or NULL */
    char *calibration;  /* NULL: the built-in one */
    char **assignments; /* NULL-terminated, or NULL */
    bool has_seed;
    uint64_t seed;
    char *out;       /* NULL: not given */
    char **operands; /* NULL-terminated */
    int operand_count;
    struct catalog catalog; /* after cli_load_catalog */
    bool has_catalog;
};

/*
 * Reads the command line of a command: its own options and the shared ones that it takes.
 *
 * Returns:  true when the command is to go on; false when it has to return *ret_exit at once, as
 *           after --help or a slip.
 * Shape:    own[], ending with an entry whose long_name is NULL; NULL for none.
 */
bool cli_parse(struct cli *cli, unsigned takes, const GOptionEntry *own, int argc, char **argv,
               int *ret_exit);

/* The built-in catalogue with --models and --calibration. Reports its errors itself. */
bool cli_load_catalog(struct cli *cli);

/* Reads and parses a scenario and applies --seed and --set. Reports its errors itself. */
bool cli_load_scenario(struct cli *cli, const char *path, struct scenario *ret);

/* Errors of a user's text: lines on stderr, and with --json the one object on stdout, in place of
 * the result that there will not be. Does nothing without errors. */
void cli_report_errs(struct cli *cli, const struct err_list *errs);
void cli_report_err(struct cli *cli, const struct err *err);

/* A file that travels inside the program, such as "models/aliases.csv"; false when there is none.
 */
bool cli_find_embedded(const char *name, struct source_text *ret);

/* Text for stdout; what went wrong is reported by cli_finish. */
void cli_print(const char *text);

/* Writes to the path of --out, or to stdout without one or with "-". Returns an exit_code. */
int cli_deliver(const struct cli *cli, const char *text, size_t length);

/* Flushes stdout. Returns exit_code, or EXIT_OURS when the reader did not get all of it; a reader
 * that went away of its own will is no error. */
int cli_finish(int exit_code);

void cli_done(struct cli *cli);

#endif
