/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sim_run as the command line uses it: the textbook ring all-reduce with its host work, on a ring
 * of 64 machines and on 1,024 machines in a torus, visited row by row, every second one backwards.
 *
 * Set-up is part of a run, so time and allocations of a frame are differences between runs of few
 * and of many repetitions.
 */
#include <stdlib.h>

#include "sim/workload/run.h"
#include "tests/bench/bench.h"
#include "tests/bench/grid.h"

#define REPEATS_MORE 3U

struct run {
    struct grid grid;
    host_id *nodes; /* owned, in ring order */
    bytecount size;
    struct run_item item;
    struct sim_input input;
};

/* What one call of sim_run took. */
struct cost {
    uint64_t ns;
    uint64_t frames;
    uint64_t allocations;
    uint64_t events;
};

/* Row by row, every second one backwards; with an even number of rows the last cable leads up the
 * first column. */
static void order_nodes(struct run *run)
{
    const struct grid *grid = &run->grid;
    size_t count = grid->cluster.host_count;

    run->nodes = bench_alloc(count * sizeof *run->nodes);
    for (uint32_t i = 0; i < count; i++) {
        uint32_t row = i / grid->columns;
        uint32_t column = i % grid->columns;

        if (row % 2)
            column = grid->columns - 1 - column;
        run->nodes[i] = (host_id){row * grid->columns + column};
    }
}

static void run_init(struct run *run, uint32_t rows, uint32_t columns, uint64_t bytes)
{
    grid_init(&run->grid, rows, columns);
    order_nodes(run);
    run->size = (bytecount){bytes};
    run->item = (struct run_item){
        .op = RUN_ALL_REDUCE,
        .library = LIBRARY_RING,
        .sizes = &run->size,
        .size_count = 1,
        .dtype = DTYPE_F32,
        .reduction = REDUCTION_SUM,
        .jaccl = JACCL_LATEST,
        .nodes = run->nodes,
        .node_count = run->grid.cluster.host_count,
        .chunk = {16384},
    };
    run->input = (struct sim_input){
        .cluster = &run->grid.cluster,
        .params = &run->grid.params,
        .items = &run->item,
        .item_count = 1,
        .evq = EVQ_CALENDAR,
    };
}

static void run_done(struct run *run)
{
    grid_done(&run->grid);
    free(run->nodes);
}

static struct cost run_once(struct run *run, uint32_t repeat)
{
    struct sim_result result;
    struct err err = {0};
    struct cost cost = {.allocations = bench_allocation_count(), .ns = bench_now_ns()};

    run->item.repeat = repeat;
    if (!sim_run(&run->input, NULL, &result, &err) || result.is_deadlock)
        bench_fail(err.text[0] ? err.text : "the run hangs");
    cost.ns = bench_now_ns() - cost.ns;
    cost.allocations = bench_allocation_count() - cost.allocations;
    cost.frames = result.frames;
    cost.events = result.events;
    sim_result_done(&result);
    return cost;
}

struct difference {
    struct run *run;
    struct cost few, many;
};

/* Frames of the repetitions that only the longer run has. */
static double frame_ns(void *ctx)
{
    struct difference *d = ctx;

    d->few = run_once(d->run, 1);
    d->many = run_once(d->run, 1 + REPEATS_MORE);
    return ((double)d->many.ns - (double)d->few.ns) / (double)(d->many.frames - d->few.frames);
}

static void add_rows(struct bench *bench, struct run *run, const char *name)
{
    struct difference d = {.run = run};
    double ns = bench_median(bench, frame_ns, &d);
    double frames = (double)(d.many.frames - d.few.frames);
    double allocations = (double)d.many.allocations - (double)d.few.allocations;

    bench_add(bench, "ns/frame-hop", ns, BENCH_EMPTY_LOOP, "%s", name);
    bench_add(bench, "ns/chunk-hop", ns * 4, BENCH_EMPTY_LOOP, "%s/chunks", name);
    bench_add(bench, "GB/s", 4096 / ns, BENCH_MEMCPY_LARGE, "%s/payload", name);
    bench_add(bench, "events/frame", (double)(d.many.events - d.few.events) / frames, NULL,
              "%s/events", name);
    bench_add(bench, "frames", frames / REPEATS_MORE, NULL, "%s/frames", name);
    bench_add(bench, "calls/frame", allocations / frames, NULL, "%s/allocations", name);
    bench_add(bench, "ms", (double)d.few.ns / 1e6, NULL, "%s/first-run", name);
}

void bench_run(struct bench *bench)
{
    uint32_t rows = bench->is_quick ? 4 : 32;
    struct run run;

    run_init(&run, 1, bench->is_quick ? 4 : 64, (uint64_t)(bench->is_quick ? 1 : 64) << 20);
    add_rows(bench, &run, "run/ring-64");
    run_done(&run);

    run_init(&run, rows, rows, (uint64_t)(bench->is_quick ? 1 : 16) << 20);
    add_rows(bench, &run, "run/torus-1024");
    run_done(&run);
}
