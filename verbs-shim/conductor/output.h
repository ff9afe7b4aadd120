/* SPDX-License-Identifier: Apache-2.0 */
/* What the ranks print: line by line, each with its rank's name, or into files. */
#ifndef VERBS_SHIM_CONDUCTOR_OUTPUT_H
#define VERBS_SHIM_CONDUCTOR_OUTPUT_H

#include <stdbool.h>
#include <stddef.h>

#include "sim/base/err.h"

#define OUTPUT_LINE_MAX 8192U

/* One stream of one rank. */
struct output {
    int read_fd;        /* ours; -1: a file, or closed */
    int write_fd;       /* the program's; closed by output_started */
    int target;         /* where lines go; -1: nowhere */
    int stop_fd;        /* borrowed; once it is readable nobody waits for a target that is full */
    int error;          /* errno of a target that takes nothing any more */
    const char *prefix; /* borrowed */
    char line[OUTPUT_LINE_MAX];
    size_t length;
};

/* Lines go to `target` with "[prefix] " in front. */
bool output_open_pipe(struct output *ret, const char *prefix, int target, struct err *reterr);
/* Everything goes into a new file. */
bool output_open_file(struct output *ret, const char *path, struct err *reterr);
/* The program has its end now. */
void output_started(struct output *output);
/* Passes on what has come; the descriptor was said to be readable. */
void output_read(struct output *output);
/* Passes on what is there without waiting, with what is left of a line, and closes. */
void output_close(struct output *output);

#endif
