/* SPDX-License-Identifier: Apache-2.0 */
/* A subcommand of tbmesh, and the list of them. */
#ifndef SIM_CLI_COMMAND_H
#define SIM_CLI_COMMAND_H

#include <stdbool.h>

struct cli;

/* What a program that starts tbmesh can rely on; docs/cli.md, "Exit codes". */
enum exit_code {
    EXIT_FINE = 0,
    EXIT_EXPECTATION =
        1,          /* an expectation failed, a check found an error, or the run was stopped */
    EXIT_INPUT = 2, /* what the user wrote, on the command line or in a file */
    EXIT_DEADLOCK = 3,
    EXIT_OURS = 4, /* a full disk, an unwritable folder, a missing program */
};

struct command {
    const char *name;
    const char *operands; /* "SCENARIO", for the usage line */
    const char *summary;  /* one line, for the list of commands */
    const char *details;  /* sentences for the command's own help; lines of at most 80 columns */
    const char *examples; /* one command a line, two spaces before each; every one of them runs */
    int least_operands;
    int most_operands;
    int (*run)(struct cli *cli, int argc, char **argv); /* returns an exit_code */
};

extern const struct command command_calibrate;
extern const struct command command_check;
extern const struct command command_explain;
extern const struct command command_export;
extern const struct command command_import;
extern const struct command command_models;
extern const struct command command_plot;
extern const struct command command_sim;
extern const struct command command_run;
extern const struct command command_validate;

/* All commands in the order of the help; ends with NULL. */
extern const struct command *const commands[];

/* The command of that name; NULL when there is none. */
const struct command *command_find(const char *name);
/* True for a command of the language that this version does not have. */
bool command_is_missing(const char *name);

#endif
