/* SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE

#include "sim/cli/stop.h"

#include <signal.h>
#include <stddef.h>

/* A handler has no argument to carry it in. Not volatile, since the simulator takes a plain
 * pointer; it reads through that pointer once a burst of events, across calls that the compiler
 * cannot see through, so a change is seen. */
static bool is_stopped;

static void ask_to_stop(int number)
{
    (void)number;
    is_stopped = true;
}

/* A signal that whoever started us wants ignored, as nohup does, stays ignored. */
static void watch(int number)
{
    struct sigaction action = {.sa_handler = ask_to_stop};
    struct sigaction before;

    action.sa_flags = SA_RESTART | (int)SA_RESETHAND;
    (void)sigemptyset(&action.sa_mask);
    if (sigaction(number, NULL, &before) == 0 && before.sa_handler != SIG_IGN)
        (void)sigaction(number, &action, NULL);
}

const bool *stop_watch(void)
{
    watch(SIGINT);
    watch(SIGTERM);
    watch(SIGHUP);
    return &is_stopped;
}
