/* SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE

#include "sim/cli/progress.h"

#include <inttypes.h>
#include <stdio.h>
#include <unistd.h>

#include <glib.h>

#define QUIET_US  ((int64_t)1000 * 1000) /* a second */
#define REDRAW_US ((int64_t)100 * 1000)

void progress_init(struct progress *progress, const char *what)
{
    *progress = (struct progress){.what = what,
                                  .started_us = g_get_monotonic_time(),
                                  .is_terminal = isatty(STDERR_FILENO) == 1};
}

void progress_show(void *ctx, uint64_t done, uint64_t total)
{
    struct progress *progress = ctx;
    int64_t now;

    if (!progress->is_terminal)
        return;
    now = g_get_monotonic_time();
    if (now - progress->started_us < QUIET_US || now - progress->shown_us < REDRAW_US)
        return;
    progress->shown_us = now;
    (void)fprintf(stderr, "\r%s: %" PRIu64 " %% after %" PRId64 " s\033[K", progress->what,
                  total > 0 ? 100 * done / total : 0, (now - progress->started_us) / QUIET_US);
    (void)fflush(stderr);
}

void progress_done(struct progress *progress)
{
    if (progress->shown_us == 0)
        return;
    (void)fputs("\r\033[K", stderr);
    (void)fflush(stderr);
}
