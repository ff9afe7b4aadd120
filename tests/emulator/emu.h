/* SPDX-License-Identifier: Apache-2.0 */
/* Programs that check the world they run in: exit 0, or 1 and what was wrong. */
#ifndef TESTS_EMULATOR_EMU_H
#define TESTS_EMULATOR_EMU_H

#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#define CHECK(condition)                                                              \
    do {                                                                              \
        if (!(condition)) {                                                           \
            fprintf(stderr, "%s:%d: not true: %s\n", __FILE__, __LINE__, #condition); \
            exit(1);                                                                  \
        }                                                                             \
    } while (0)

#define US INT64_C(1000)
#define MS INT64_C(1000000)
#define S  INT64_C(1000000000)

/* In a run the program becomes a rank before it begins. */
__attribute__((constructor)) static inline void emu_join(void)
{
    if (getenv("TBMESH_SOCKET"))
        CHECK(dlopen("librdma.dylib", RTLD_NOW));
}

/* Nanoseconds of a clock. */
static inline int64_t emu_read(clockid_t clock)
{
    struct timespec ts;

    CHECK(clock_gettime(clock, &ts) == 0);
    return ts.tv_sec * S + ts.tv_nsec;
}

static inline int64_t emu_now(void)
{
    return emu_read(CLOCK_MONOTONIC);
}

/* A span in virtual time is what was asked for plus what the calls around it cost. */
#define CHECK_SPAN(span, wanted)                                    \
    do {                                                            \
        int64_t measured_ = (span);                                 \
        CHECK(measured_ >= (wanted));                               \
        CHECK(measured_ < (wanted) + 20 * US + (wanted) / 1000000); \
    } while (0)

#endif
