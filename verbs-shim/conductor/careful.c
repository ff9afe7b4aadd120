/* SPDX-License-Identifier: Apache-2.0 */
/*
 * DOC: Careful calls
 *
 * With the inline driver the scheduler's state lies in memory that every rank can write. A rank
 * that writes over it makes our own next step follow an index to nowhere. That shall end the run
 * with a verdict and not the conductor, so signals that come of it lead back here. The state is not
 * used any more afterwards.
 */
#define _GNU_SOURCE
#include "verbs-shim/conductor/careful.h"

#include <setjmp.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/time.h>

#define LIMIT_S 2 /* no step of the scheduler takes that long */

static const int numbers[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT, SIGALRM};
#define COUNT (sizeof numbers / sizeof numbers[0])

/* A signal handler gets no context of ours. */
static sigjmp_buf back;

static void give_up(int number)
{
    (void)number;
    siglongjmp(back, 1);
}

static void set_alarm(int seconds)
{
    const struct itimerval limit = {.it_value = {.tv_sec = seconds}};

    (void)setitimer(ITIMER_REAL, &limit, NULL);
}

bool careful_call(void (*work)(void *ctx), void *ctx)
{
    struct sigaction action = {.sa_handler = give_up};
    struct sigaction before[COUNT];
    volatile bool is_whole = false;

    (void)sigemptyset(&action.sa_mask);
    for (size_t i = 0; i < COUNT; i++)
        (void)sigaction(numbers[i], &action, &before[i]);
    if (sigsetjmp(back, 1) == 0) {
        set_alarm(LIMIT_S);
        work(ctx);
        is_whole = true;
    }
    set_alarm(0);
    for (size_t i = 0; i < COUNT; i++)
        (void)sigaction(numbers[i], &before[i], NULL);
    return is_whole;
}
