/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The event loop alone. The hold model pops one event and pushes one, so the number of pending
 * events stays. Times ahead are either random, which puts every event into another place of memory,
 * or one and the same, as the frames of a busy cable are.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "sim/base/rng.h"
#include "sim/core/engine.h"
#include "tests/bench/bench.h"

#define AHEAD_COUNT 65536U   /* drawn before, since a draw takes as long as an event */
#define AHEAD_PS    1638400U /* 16 KiB at 80 Gb/s */

struct hold {
    struct engine *engine;
    uint32_t *ahead; /* [AHEAD_COUNT] */
    uint32_t drawn;
    uint32_t events;
    uint32_t pending;
};

static uint64_t run_hold(void *ctx)
{
    struct hold *hold = ctx;
    struct engine *engine = hold->engine;
    uint32_t drawn = hold->drawn;
    struct evq_event event;

    for (uint32_t i = 0; i < hold->events; i++) {
        if (!engine_pop_until(engine, simtime_never(), &event))
            abort();
        event.at.ps += hold->ahead[drawn++ % AHEAD_COUNT];
        engine_push(engine, event.at, event.kind, event.arg);
    }
    hold->drawn = drawn;
    return hold->events;
}

static void hold_init(struct hold *hold, enum evq_kind kind, bool is_random)
{
    size_t size = engine_mem_size(kind, hold->pending);
    struct rng rng;

    rng_init(&rng, hold->pending, is_random);
    hold->ahead = bench_alloc(AHEAD_COUNT * sizeof *hold->ahead);
    for (uint32_t i = 0; i < AHEAD_COUNT; i++)
        hold->ahead[i] = is_random ? (uint32_t)rng_below(&rng, 2 * AHEAD_PS) : AHEAD_PS;
    hold->drawn = 0;
    hold->engine = engine_init(bench_alloc(size), kind, hold->pending);
    for (uint32_t i = 0; i < hold->pending; i++)
        engine_push(hold->engine, (simtime){(int64_t)rng_below(&rng, 2 * AHEAD_PS)}, 1, i);
}

static double measure_hold(struct bench *bench, enum evq_kind kind, uint32_t pending,
                           bool is_random)
{
    struct hold hold = {.pending = pending};

    /* At least twice around, so that every event was pushed by the loop. */
    hold.events = bench->is_quick ? 2 * pending : 1000000 + 2 * pending;
    hold_init(&hold, kind, is_random);

    double ns = bench_median_ns(bench, NULL, run_hold, &hold);

    free(hold.engine);
    free(hold.ahead);
    return ns;
}

static const struct {
    const char *name;
    enum evq_kind kind;
    bool is_random;
} holds[] = {
    {"hold/calendar/steady", EVQ_CALENDAR, false},
    {"hold/calendar/random", EVQ_CALENDAR, true},
    {"hold/heap/random", EVQ_HEAP, true},
};

static const uint32_t pending_counts[] = {16, 256, 1000, 4096, 65536, 1000000};

static void add_flatness(struct bench *bench, const char *hold)
{
    char small[BENCH_NAME_MAX];
    char large[BENCH_NAME_MAX];

    (void)snprintf(small, sizeof small, "%s/1000", hold);
    (void)snprintf(large, sizeof large, "%s/1000000", hold);
    bench_add(bench, "x", bench_value(bench, large) / bench_value(bench, small), NULL,
              "%s/flatness", hold);
    bench_add(bench, "ns", bench_value(bench, large), BENCH_LOAD, "%s/1000000-to-load", hold);
}

void bench_engine(struct bench *bench)
{
    bench_add(bench, "ns/event", measure_hold(bench, EVQ_CALENDAR, 1, false), NULL,
              BENCH_EMPTY_LOOP);
}

void bench_hold(struct bench *bench)
{
    size_t counts = sizeof pending_counts / sizeof pending_counts[0] - (bench->is_quick ? 2 : 0);

    for (size_t h = 0; h < sizeof holds / sizeof holds[0]; h++) {
        for (size_t i = 0; i < counts; i++) {
            double ns = measure_hold(bench, holds[h].kind, pending_counts[i], holds[h].is_random);

            bench_add(bench, "ns/event", ns, BENCH_EMPTY_LOOP, "%s/%" PRIu32, holds[h].name,
                      pending_counts[i]);
        }
        if (!bench->is_quick)
            add_flatness(bench, holds[h].name);
    }
}
