/* SPDX-License-Identifier: Apache-2.0 */
#include <stdbool.h>
#include <stddef.h>
#include <string.h>

#include "sim/cli/command.h"

/* clang-format off */
const struct command *const commands[] = {
    &command_check,
    &command_sim,
    &command_run,
    &command_plot,
    &command_validate,
    &command_calibrate,
    &command_export,
    &command_import,
    &command_models,
    &command_explain,
    NULL,
};
/* clang-format on */

/* Named in the language; a version that lacks one says so instead of guessing at a misspelling. */
static const char *const missing[] = {
    "storm", "plan", "mpi", "sweep", "merge", "report", "lesson",
};

const struct command *command_find(const char *name)
{
    for (size_t i = 0; commands[i]; i++)
        if (strcmp(commands[i]->name, name) == 0)
            return commands[i];
    return NULL;
}

bool command_is_missing(const char *name)
{
    for (size_t i = 0; i < sizeof missing / sizeof missing[0]; i++)
        if (strcmp(missing[i], name) == 0)
            return true;
    return false;
}
