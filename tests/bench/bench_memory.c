/* SPDX-License-Identifier: Apache-2.0 */
/* Yardsticks of the machine: how fast it copies and how long one dependent load takes. */
#include <stdlib.h>
#include <string.h>

#include "sim/base/rng.h"
#include "tests/bench/bench.h"

#define LINE_BYTES ((size_t)64)

struct copy {
    unsigned char *to;
    const unsigned char *from;
    size_t size;
    uint32_t times;
};

/* The compiler must not see that the copies are not read. */
static void *(*volatile copy_bytes)(void *to, const void *from, size_t size) = memcpy;

static uint64_t run_copy(void *ctx)
{
    const struct copy *copy = ctx;

    for (uint32_t i = 0; i < copy->times; i++)
        copy_bytes(copy->to, copy->from, copy->size);
    return (uint64_t)copy->size * copy->times;
}

static void add_memcpy(struct bench *bench, const char *name, size_t size, uint32_t times)
{
    unsigned char *from = bench_alloc(size);
    unsigned char *to = bench_alloc(size);
    struct copy copy = {to, from, size, bench->is_quick ? 1 : times};
    double ns_a_byte = bench_median_ns(bench, NULL, run_copy, &copy);

    bench_add(bench, "GB/s", 1 / ns_a_byte, NULL, "%s", name);
    free(from);
    free(to);
}

struct chase {
    const uint32_t *next; /* a line apart; one cycle through all lines */
    uint32_t at;
    uint32_t loads;
};

static uint64_t run_chase(void *ctx)
{
    struct chase *chase = ctx;
    uint32_t at = chase->at;

    for (uint32_t i = 0; i < chase->loads; i++)
        at = chase->next[at];
    chase->at = at;
    return chase->loads;
}

/* Sattolo's shuffle: one cycle, so that no load is met twice before all were. */
static void link_lines(uint32_t *lines, uint32_t count)
{
    uint32_t stride = (uint32_t)(LINE_BYTES / sizeof *lines);
    struct rng rng;

    rng_init(&rng, 1, 0);
    for (uint32_t i = 0; i < count; i++)
        lines[(size_t)i * stride] = i * stride;
    for (uint32_t i = count - 1; i > 0; i--) {
        size_t a = (size_t)i * stride;
        size_t b = (size_t)rng_below(&rng, i) * stride;
        uint32_t swapped = lines[a];

        lines[a] = lines[b];
        lines[b] = swapped;
    }
}

static void add_load(struct bench *bench)
{
    size_t size = (size_t)64 << 20;
    uint32_t *lines = bench_alloc(size);
    struct chase chase = {lines, 0, bench->is_quick ? 1000 : 1000000};

    link_lines(lines, (uint32_t)(size / LINE_BYTES));
    bench_add(bench, "ns", bench_median_ns(bench, NULL, run_chase, &chase), NULL, BENCH_LOAD);
    free(lines);
}

void bench_memory(struct bench *bench)
{
    add_memcpy(bench, BENCH_MEMCPY_LARGE, (size_t)64 << 20, 4);
    add_memcpy(bench, BENCH_MEMCPY_SMALL, (size_t)16 << 10, 20000);
    add_load(bench);
}
