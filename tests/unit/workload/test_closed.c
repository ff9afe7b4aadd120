/* SPDX-License-Identifier: Apache-2.0 */
#include <criterion/criterion.h>

#include "sim/workload/closed.h"
#include "tests/unit/workload/support/bench.h"

#define KIB(n) ((bytecount){(uint64_t)(n)*1024})
#define MIB(n) ((bytecount){(uint64_t)(n) << 20})

static const struct closed_params four = {
    .latency = {5 * PS_PER_US}, .rate = {LINE_80G}, .frame = {4096}, .nodes = 4, .wires = 1};

Test(closed, one_message_takes_latency_and_wire_time)
{
    cr_expect_eq(closed_message(&four, KIB(16)).ps, 6638400, "5 us + 1.6384 us");
    cr_expect_eq(closed_message(&four, KIB(0)).ps, 5000000);
}

Test(closed, a_window_that_fills_the_round_trip_hides_it)
{
    simspan rtt = {5 * PS_PER_US};
    int64_t wire = 1638400;

    /* 5 us of credit return and 16 KiB need five outstanding. */
    cr_expect_eq(closed_chunked(&four, MIB(1), KIB(16), 5, rtt).ps, 5000000 + 64 * wire);
    cr_expect_eq(closed_chunked(&four, MIB(1), KIB(16), 1, rtt).ps,
                 5000000 + 63 * (wire + 5000000) + wire);
    cr_expect_eq(closed_chunked(&four, MIB(1), KIB(16), 2, rtt).ps,
                 5000000 + 31 * (wire + 5000000) + 2 * wire);
    cr_expect_eq(closed_chunked(&four, KIB(17), KIB(16), 8, rtt).ps, 5000000 + wire + 102400,
                 "the last chunk is short");
}

/* 64 MiB over four ranks at 10 GB/s: 10.066 ms and a latency. */
Test(closed, collectives_of_four_ranks)
{
    cr_expect_eq(closed_ring_all_reduce(&four, MIB(64)).ps, INT64_C(10066329600) + 5000000);
    cr_expect_eq(closed_mesh_one_shot(&four, MIB(64)).ps, INT64_C(6710886400) + 5000000);
    cr_expect_eq(closed_mesh_two_shot(&four, MIB(64)).ps, 2 * (INT64_C(1677721600) + 5000000));
}

Test(closed, bounds_follow_the_pattern_of_the_library)
{
    struct row {
        const char *name;
        enum run_op op;
        enum run_library library;
        uint32_t n;
        uint64_t size;
        int64_t expected_ps;
    };
    /* 4 us and 0.1 ns a byte; 4 KiB take 0.4096 us. */
    static const struct row rows[] = {
        {"one frame to everyone", RUN_ALL_REDUCE, LIBRARY_JACCL_MESH, 4, 4, 4409600},
        {"scatter and gather", RUN_ALL_REDUCE, LIBRARY_JACCL_MESH, 4, 1 << 20,
         2 * (4000000 + 26214400)},
        {"six steps", RUN_ALL_REDUCE, LIBRARY_JACCL_RING, 4, 4, 6 * 4409600},
        {"both ways at once", RUN_ALL_REDUCE, LIBRARY_JACCL_RING, 4, 1 << 20,
         6 * (4000000 + 13107200)},
        {"two ranks share the cable", RUN_ALL_REDUCE, LIBRARY_JACCL_RING, 2, 1 << 20,
         2 * (4000000 + 52428800)},
        {"pipelined", RUN_ALL_REDUCE, LIBRARY_RING, 4, 64 << 20, 4000000 + INT64_C(10066329600)},
        {"pipelined, but short", RUN_ALL_REDUCE, LIBRARY_RING, 4, 64 << 10,
         6 * (4000000 + 1638400)},
        {"whole vectors, twice", RUN_ALL_REDUCE, LIBRARY_RECURSIVE_DOUBLING, 4, 1 << 20,
         2 * (4000000 + 104857600)},
        {"half and half again", RUN_ALL_REDUCE, LIBRARY_HALVING_DOUBLING, 4, 1 << 20,
         4 * 4000000 + 2 * (52428800 + 26214400)},
        {"two levels, then the rest", RUN_BROADCAST, LIBRARY_BINOMIAL_TREE, 4, 1 << 20,
         2 * (4000000 + 1638400) + 104857600 - 1638400},
        {"a barrier is one frame", RUN_BARRIER, LIBRARY_JACCL_MESH, 4, 1, 4409600},
        {"half a round trip", RUN_PING_PONG, LIBRARY_VERBS, 2, 4096, 4409600},
    };

    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct bench b;
        struct run_item item;
        bytecount size = {rows[i].size};
        simspan got;

        bench_init(&b, rows[i].n);
        bench_mesh(&b);
        item = bench_item(&b, rows[i].op, rows[i].library, rows[i].size);
        got = closed_bound(&item, size, &b.cluster, &b.params);
        cr_expect_eq(got.ps, rows[i].expected_ps, "%s: %ld", rows[i].name, (long)got.ps);
        bench_done(&b);
    }
}

Test(closed, the_slowest_cable_of_a_ring_decides)
{
    struct bench b;
    struct run_item item;
    int64_t even, uneven;

    bench_init(&b, 4);
    bench_ring(&b, 1);
    item = bench_item(&b, RUN_ALL_REDUCE, LIBRARY_RING, 64 << 20);
    even = closed_bound(&item, item.sizes[0], &b.cluster, &b.params).ps;
    b.cluster.cables[2].rate_ab.bps = LINE_80G / 2;
    uneven = closed_bound(&item, item.sizes[0], &b.cluster, &b.params).ps;
    cr_expect_eq(uneven - 4000000, 2 * (even - 4000000));
    bench_done(&b);
}

Test(closed, what_lies_around_a_collective_is_in_the_bound)
{
    struct bench b;
    struct run_item item;
    int64_t bare, full;

    bench_init(&b, 2);
    bench_mesh(&b);
    bench_set(&b, PARAM_GPU_HANDOFF_FAST, 17 * PS_PER_US);
    item = bench_item(&b, RUN_ALL_REDUCE, LIBRARY_JACCL_MESH, 7000);
    bare = closed_bound(&item, item.sizes[0], &b.cluster, &b.params).ps;
    item.handoff = HANDOFF_FAST;
    item.has_gpu_copy = true;
    full = closed_bound(&item, item.sizes[0], &b.cluster, &b.params).ps;
    cr_expect_eq(full - bare, 17 * PS_PER_US + 2 * PS_PER_US * 1, "7,000 B at 7 GB/s, each way");
    bench_done(&b);
}

Test(closed, an_item_that_cannot_run_has_no_bound)
{
    struct bench b;
    struct run_item item;

    bench_init(&b, 4);
    item = bench_item(&b, RUN_ALL_REDUCE, LIBRARY_JACCL_MESH, 4);
    cr_expect_eq(closed_bound(&item, item.sizes[0], &b.cluster, &b.params).ps, 0);
    bench_done(&b);
}
