/* SPDX-License-Identifier: Apache-2.0 */
/* A line on the terminal for work that takes longer than a second; nothing anywhere else. */
#ifndef SIM_CLI_PROGRESS_H
#define SIM_CLI_PROGRESS_H

#include <stdint.h>

struct progress;

/* `what` is borrowed: "simulating". NULL when stderr is no terminal; all calls accept it. */
struct progress *progress_new(const char *what);
/* Fits struct sim_watch; ctx is a struct progress. */
void progress_show(void *ctx, uint64_t done, uint64_t total);
/* Takes the line away. */
void progress_free(struct progress *progress);

#endif
