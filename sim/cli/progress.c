/* SPDX-License-Identifier: Apache-2.0 */
/*
 * DOC: Progress
 *
 * One repetition can take longer than the whole of another run, so the line is not drawn by the
 * simulation but by a thread of its own: it sleeps, and shows the last numbers that the simulation
 * left. It exists only on a terminal, and touches nothing but these two numbers and stderr.
 */
#define _GNU_SOURCE

#include "sim/cli/progress.h"

#include <inttypes.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <unistd.h>

#include <glib.h>

#define SECOND_US ((int64_t)1000 * 1000)
#define REDRAW_US ((int64_t)200 * 1000)

struct progress {
    const char *what; /* borrowed */
    int64_t started_us;
    _Atomic uint64_t done;
    _Atomic uint64_t total;
    GMutex lock;
    GCond ended;     /* with the lock: is_ended has changed */
    bool is_ended;   /* under the lock */
    GThread *thread; /* owned */
};

static void draw(const struct progress *progress)
{
    uint64_t done = atomic_load(&progress->done);
    uint64_t total = atomic_load(&progress->total);

    (void)fprintf(stderr, "\r%s: %" PRIu64 " %% after %" PRId64 " s\033[K", progress->what,
                  total > 0 ? 100 * done / total : 0,
                  (g_get_monotonic_time() - progress->started_us) / SECOND_US);
    (void)fflush(stderr);
}

static gpointer draw_until_ended(gpointer data)
{
    struct progress *progress = data;
    int64_t next_us = progress->started_us + SECOND_US;
    bool is_drawn = false;

    g_mutex_lock(&progress->lock);
    while (!progress->is_ended) {
        if (g_cond_wait_until(&progress->ended, &progress->lock, next_us))
            continue;
        draw(progress);
        is_drawn = true;
        next_us += REDRAW_US;
    }
    g_mutex_unlock(&progress->lock);
    if (is_drawn) {
        (void)fputs("\r\033[K", stderr);
        (void)fflush(stderr);
    }
    return NULL;
}

struct progress *progress_new(const char *what)
{
    struct progress *progress;

    if (isatty(STDERR_FILENO) != 1)
        return NULL;
    progress = g_new0(struct progress, 1);
    progress->what = what;
    progress->started_us = g_get_monotonic_time();
    g_mutex_init(&progress->lock);
    g_cond_init(&progress->ended);
    progress->thread = g_thread_new("progress", draw_until_ended, progress);
    return progress;
}

void progress_show(void *ctx, uint64_t done, uint64_t total)
{
    struct progress *progress = ctx;

    if (!progress)
        return;
    atomic_store(&progress->done, done);
    atomic_store(&progress->total, total);
}

void progress_free(struct progress *progress)
{
    if (!progress)
        return;
    g_mutex_lock(&progress->lock);
    progress->is_ended = true;
    g_cond_signal(&progress->ended);
    g_mutex_unlock(&progress->lock);
    (void)g_thread_join(progress->thread);
    g_cond_clear(&progress->ended);
    g_mutex_clear(&progress->lock);
    g_free(progress);
}
