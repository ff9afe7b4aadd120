/* SPDX-License-Identifier: Apache-2.0 */
/* A line on the terminal for work that takes longer than a second; nothing anywhere else. */
#ifndef SIM_CLI_PROGRESS_H
#define SIM_CLI_PROGRESS_H

#include <stdbool.h>
#include <stdint.h>

struct progress {
    const char *what; /* borrowed: "simulating" */
    int64_t started_us;
    int64_t shown_us; /* when the line was drawn last; 0: never */
    bool is_terminal;
};

void progress_init(struct progress *progress, const char *what);
/* Fits struct sim_watch; ctx is a struct progress. */
void progress_show(void *ctx, uint64_t done, uint64_t total);
/* Takes the line away. */
void progress_done(struct progress *progress);

#endif
