/* SPDX-License-Identifier: Apache-2.0 */
/*
 * DOC: The command line
 *
 * main() prepares the process, finds the command and ends with the state of stdout: a table that a
 * full disk cut off must not look like a success. Everything else is a command's own file.
 */
#define _GNU_SOURCE

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "sim/base/arena.h"
#include "sim/cli/cli.h"
#include "sim/cli/log.h"
#include "sim/scenario/suggest.h"

#define NAMES_MAX 32U

static const char usage_head[] = "Usage:\n"
                                 "  tbmesh COMMAND [OPTION...] [FILE...]\n"
                                 "\n"
                                 "Simulates Macs that are cabled together with Thunderbolt 5 and "
                                 "talk RDMA.\n"
                                 "\n"
                                 "Commands:\n";

static const char usage_tail[] =
    "\n"
    "  tbmesh help COMMAND     the options of a command, with examples\n"
    "  tbmesh --version        the version\n"
    "\n"
    "Exit codes: 0 fine; 1 an expectation failed; 2 bad input; 3 a deadlock; 4 a file could not be\n"
    "written or a program is missing.\n"
    "\n"
    "Examples:\n"
    "  tbmesh models mac-studio-m3-ultra\n";

static void print_usage(FILE *stream)
{
    (void)fputs(usage_head, stream);
    for (size_t i = 0; commands[i]; i++)
        (void)fprintf(stream, "  %-12s %s\n", commands[i]->name, commands[i]->summary);
    (void)fputs(usage_tail, stream);
}

static int run_command(const struct command *command, int argc, char **argv)
{
    struct cli cli = {.command = command};
    int exit_code;

    arena_init(&cli.arena);
    exit_code = command->run(&cli, argc, argv);
    cli_done(&cli);
    return exit_code;
}

static int refuse_command(const char *name)
{
    const char *names[NAMES_MAX];
    char near[SUGGEST_TEXT_MAX];
    size_t count = 0;

    if (command_is_missing(name)) {
        log_error("'%s' is not in this version (%s)", name, TBMESH_VERSION);
        return EXIT_INPUT;
    }
    while (count < NAMES_MAX && commands[count]) {
        names[count] = commands[count]->name;
        count++;
    }
    suggest_text(near, name, names, count);
    log_error("unknown %s '%s'%s", name[0] == '-' ? "option" : "command", name, near);
    log_error("'tbmesh --help' lists the commands");
    return EXIT_INPUT;
}

static int help(const char *name)
{
    const struct command *command = name ? command_find(name) : NULL;
    char own_name[] = "tbmesh";
    char option[] = "--help";
    char *argv[] = {own_name, option, NULL};

    if (!name) {
        print_usage(stdout);
        return EXIT_FINE;
    }
    return command ? run_command(command, 2, argv) : refuse_command(name);
}

static int dispatch(int argc, char **argv)
{
    const char *word = argc > 1 ? argv[1] : NULL;
    const struct command *command;

    if (!word) {
        print_usage(stderr);
        return EXIT_INPUT;
    }
    if (strcmp(word, "--help") == 0 || strcmp(word, "-h") == 0)
        return help(NULL);
    if (strcmp(word, "help") == 0)
        return help(argc > 2 ? argv[2] : NULL);
    if (strcmp(word, "--version") == 0) {
        puts("tbmesh " TBMESH_VERSION);
        return EXIT_FINE;
    }
    command = command_find(word);
    return command ? run_command(command, argc - 1, argv + 1) : refuse_command(word);
}

/* With 0, 1 or 2 closed, the next file opened would get that number, and a message or a table would
 * be written into it. */
static void hold_standard_files(void)
{
    for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++)
        if (fcntl(fd, F_GETFD) < 0)
            (void)open("/dev/null", O_RDONLY);
}

int main(int argc, char **argv)
{
    hold_standard_files();
    /* So that a reader who left and a limit on file sizes are errors of write(). */
    (void)signal(SIGPIPE, SIG_IGN);
    (void)signal(SIGXFSZ, SIG_IGN);
    return cli_finish(dispatch(argc, argv));
}
