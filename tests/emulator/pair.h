/* SPDX-License-Identifier: Apache-2.0 */
/* Two or more ranks on one machine: rank 0 waits for what the others do later. pair_NAME FOLDER:
 * both may put files into FOLDER, which is empty at first. */
#ifndef TESTS_EMULATOR_PAIR_H
#define TESTS_EMULATOR_PAIR_H

#include <stdbool.h>
#include <string.h>

#include "tests/emulator/emu.h"

#define PAIR_SLACK (300 * US) /* from a cause to its effect on the other rank */

static inline int pair_rank(void)
{
    const char *rank = getenv("TBMESH_RANK");

    CHECK(rank);
    return (int)strtol(rank, NULL, 10);
}

static inline bool pair_is_waiter(void)
{
    return pair_rank() == 0;
}

/* Time since the run's start, the same for both ranks. */
static inline int64_t pair_now(void)
{
    return emu_now() - 1000 * S;
}

/* Goes on at this instant of the run. */
static inline void pair_sleep_until(int64_t t)
{
    struct timespec when = {.tv_sec = 1000 + t / S, .tv_nsec = t % S};

    CHECK(pair_now() < t);
    CHECK(clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &when, NULL) == 0);
}

/* What the waiter has waited for was done at `t`. */
#define CHECK_CAUSE(t)                                                              \
    do {                                                                            \
        int64_t seen_ = pair_now();                                                 \
        if (seen_ < (t) || seen_ >= (t) + PAIR_SLACK) {                             \
            fprintf(stderr, "%s:%d: %lld ns instead of %lld\n", __FILE__, __LINE__, \
                    (long long)seen_, (long long)(t));                              \
            exit(1);                                                                \
        }                                                                           \
    } while (0)

#endif
