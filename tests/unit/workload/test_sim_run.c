/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>

#include <criterion/criterion.h>

#include "sim/workload/closed.h"
#include "sim/workload/layout.h"
#include "sim/workload/run.h"
#include "tests/unit/workload/support/bench.h"

/* Runs items on a bench and expects that they can run. */
static struct sim_result run_with(struct bench *b, const struct run_item *items, size_t count,
                                  struct sim_input input)
{
    struct sim_result result;
    struct err err = {0};

    input.cluster = &b->cluster;
    input.params = &b->params;
    input.items = items;
    input.item_count = count;
    cr_assert(sim_run(&input, NULL, &result, &err), "%s", err.text);
    return result;
}

static struct sim_result run(struct bench *b, const struct run_item *item)
{
    return run_with(b, item, 1, (struct sim_input){.seed = 1});
}

static void expect_close(int64_t got, int64_t expected, const char *name)
{
    int64_t off = got > expected ? got - expected : expected - got;

    cr_expect(off <= expected / 1000, "%s: %ld ps, expected %ld", name, (long)got, (long)expected);
}

Test(sim_run, one_message_takes_what_the_closed_form_says)
{
    for (uint64_t size = 1; size <= UINT64_C(1) << 30; size *= 4) {
        struct bench b;
        struct run_item item;
        struct sim_result result;
        struct closed_params p = {.latency = {4 * PS_PER_US}, .rate = {LINE_80G}};
        char name[40];

        bench_init(&b, 2);
        bench_mesh(&b);
        /* One message: a queue that holds all its frames. */
        bench_set(&b, PARAM_RDMA_QUEUE_FRAMES, size <= 4095 * 4096 ? 4095 : 1023);
        item = bench_item(&b, RUN_SEND_RECV, LIBRARY_VERBS, size);
        item.chunk.bytes = size <= 4095 * 4096 ? size : 0;
        result = run(&b, &item);
        snprintf(name, sizeof name, "%lu B", (unsigned long)size);
        expect_close(result.rows[0].latency_median.ps, closed_message(&p, item.sizes[0]).ps, name);
        sim_result_done(&result);
        bench_done(&b);
    }
}

Test(sim_run, rings_and_meshes_take_what_the_closed_forms_say)
{
    for (uint32_t n = 2; n <= 16; n++) {
        struct bench b;
        struct run_item item;
        struct sim_result result;
        bytecount size = {UINT64_C(61440) * n * (n - 1)};
        struct closed_params p = {.latency = {4 * PS_PER_US}, .rate = {LINE_80G}, .nodes = n};
        char name[40];

        bench_init(&b, n);
        bench_mesh(&b);
        item = bench_item(&b, RUN_ALL_REDUCE, LIBRARY_RING, size.bytes);
        result = run(&b, &item);
        snprintf(name, sizeof name, "ring of %u", n);
        expect_close(result.rows[0].latency_median.ps, closed_ring_all_reduce(&p, size).ps, name);
        sim_result_done(&result);
        item = bench_item(&b, RUN_ALL_REDUCE, LIBRARY_MESH, size.bytes);
        result = run(&b, &item);
        snprintf(name, sizeof name, "two shots of %u", n);
        expect_close(result.rows[0].latency_median.ps, closed_mesh_two_shot(&p, size).ps, name);
        sim_result_done(&result);
        item = bench_item(&b, RUN_ALL_GATHER, LIBRARY_MESH, 1 << 20);
        result = run(&b, &item);
        snprintf(name, sizeof name, "one shot of %u", n);
        expect_close(result.rows[0].latency_median.ps, closed_mesh_one_shot(&p, item.sizes[0]).ps,
                     name);
        sim_result_done(&result);
        bench_done(&b);
    }
}

Test(sim_run, a_window_of_chunks_takes_what_the_closed_form_says)
{
    static const uint32_t depths[] = {1, 2, 3, 4, 5, 8};

    for (size_t i = 0; i < sizeof depths / sizeof *depths; i++) {
        struct bench b;
        struct run_item item;
        struct sim_result result;
        struct closed_params p = {.latency = {4 * PS_PER_US}, .rate = {LINE_80G}};
        simspan round_trip = {4 * PS_PER_US + 1 * PS_PER_US};
        char name[40];

        bench_init(&b, 2);
        bench_mesh(&b);
        bench_set(&b, PARAM_RDMA_CREDIT_LATENCY, 1 * PS_PER_US);
        item = bench_item(&b, RUN_SEND_RECV, LIBRARY_VERBS, 4 << 20);
        item.chunk.bytes = 16384;
        item.depth = depths[i];
        result = run(&b, &item);
        snprintf(name, sizeof name, "depth %u", depths[i]);
        /* The first receive is posted when the clock starts, so its credit is on the way too. */
        expect_close(result.rows[0].latency_median.ps,
                     closed_chunked(&p, item.sizes[0], item.chunk, depths[i], round_trip).ps +
                         PS_PER_US,
                     name);
        sim_result_done(&result);
        bench_done(&b);
    }
}

/* Every library, operation, version and number of machines on real costs with real bytes: the
 * result is right, nothing is faster than the bound, and the shares add up. */
static uint32_t check_item(struct bench *b, struct run_item *item)
{
    struct sim_input input = {
        .cluster = &b->cluster, .params = &b->params, .items = item, .item_count = 1, .seed = 3};
    struct sim_result result;
    struct err err = {0};
    char name[160];

    item->is_verified = true;
    snprintf(name, sizeof name, "%s %s %s %s, n = %zu, %lu B, jaccl %s",
             run_library_name(item->library), run_op_name(item->op), dtype_name(item->dtype),
             reduction_name(item->reduction), item->node_count, (unsigned long)item->sizes[0].bytes,
             jaccl_version_name(item->jaccl));
    if (!sim_run(&input, NULL, &result, &err))
        return 0;
    for (size_t i = 0; i < result.row_count; i++) {
        const struct run_result *row = &result.rows[i];
        const struct run_shares *s = &row->shares;

        cr_assert_not(row->is_deadlock, "%s: %s", name, row->deadlock_text);
        cr_expect_not(row->is_wrong, "%s: wrong bytes", name);
        cr_expect_eq(row->samples, item->repeat, "%s", name);
        cr_expect_geq(row->latency_min.ps, row->bound.ps, "%s: %ld below the bound %ld", name,
                      (long)row->latency_min.ps, (long)row->bound.ps);
        cr_expect_eq(s->wire.ps + s->copy.ps + s->reduce.ps + s->software.ps + s->credit.ps +
                         s->handoff.ps,
                     row->latency_median.ps, "%s: shares", name);
        cr_expect(s->wire.ps >= 0 && s->credit.ps >= 0, "%s: shares", name);
        cr_expect(row->limit && *row->limit, "%s: limit", name);
    }
    sim_result_done(&result);
    return 1;
}

Test(sim_run, every_collective_gives_the_right_result_and_is_not_too_fast)
{
    static const uint64_t elements[] = {1, 7, 8193, 40001};
    uint32_t count = 0;

    for (uint32_t n = 2; n <= 8; n++) {
        for (uint32_t i = 0; i < RUN_OP_COUNT * LIBRARY_COUNT * JACCL_VERSION_COUNT; i++) {
            struct bench b;
            struct run_item item;
            enum run_library library = (enum run_library)(i / RUN_OP_COUNT % LIBRARY_COUNT);
            enum jaccl_version version = (enum jaccl_version)(i / RUN_OP_COUNT / LIBRARY_COUNT);
            bool is_jaccl = library == LIBRARY_JACCL_MESH || library == LIBRARY_JACCL_RING;

            if (!is_jaccl && version != JACCL_LATEST)
                continue;
            bench_init(&b, n);
            bench_add_costs(&b);
            bench_mesh(&b);
            bench_ring(&b, 1);
            b.macos.has_large_buffers = i % 3 > 0;
            for (size_t e = 0; e < sizeof elements / sizeof *elements; e++) {
                item = bench_item(&b, (enum run_op)(i % RUN_OP_COUNT), library, 4 * elements[e]);
                item.jaccl = version;
                item.root = n - 1;
                item.count = 5;
                item.repeat = 2;
                count += check_item(&b, &item);
            }
            bench_done(&b);
        }
    }
    cr_expect_gt(count, 1000, "%u", count);
}

Test(sim_run, every_type_and_reduction_arrives)
{
    static const enum run_library libraries[] = {LIBRARY_JACCL_MESH, LIBRARY_JACCL_RING,
                                                 LIBRARY_TCP_RING, LIBRARY_RING,
                                                 LIBRARY_HALVING_DOUBLING};

    for (uint32_t i = 0; i < DTYPE_COUNT * REDUCTION_COUNT * 5; i++) {
        struct bench b;
        struct run_item item;
        uint32_t n = 2 + i % 7;

        bench_init(&b, n);
        bench_add_costs(&b);
        bench_mesh(&b);
        item = bench_item(&b, RUN_ALL_REDUCE, libraries[i / DTYPE_COUNT / REDUCTION_COUNT],
                          (UINT64_C(20011) + i) * dtype_size((enum dtype)(i % DTYPE_COUNT)));
        item.dtype = (enum dtype)(i % DTYPE_COUNT);
        item.reduction = (enum reduction)(i / DTYPE_COUNT % REDUCTION_COUNT);
        cr_expect_eq(check_item(&b, &item), 1);
        bench_done(&b);
    }
}

Test(sim_run, a_cut_cable_is_a_deadlock_that_says_who_waits)
{
    struct bench b;
    struct run_item items[2];
    struct fault cut = {.kind = FAULT_RATE, .at = {100 * PS_PER_US}, .cable = {0}};
    struct sim_result result;

    bench_init(&b, 3);
    bench_mesh(&b);
    items[0] = bench_item(&b, RUN_ALL_REDUCE, LIBRARY_JACCL_MESH, 64 << 20);
    items[1] = bench_item(&b, RUN_BARRIER, LIBRARY_JACCL_MESH, 1);
    result = run_with(&b, items, 2, (struct sim_input){.faults = &cut, .fault_count = 1});
    cr_expect(result.is_deadlock);
    cr_assert_eq(result.row_count, 1, "what comes after cannot run");
    cr_expect(result.rows[0].is_deadlock);
    cr_expect_eq(result.rows[0].samples, 0);
    cr_expect(strstr(result.rows[0].deadlock_text, "mac1 waits to send message"), "%s",
              result.rows[0].deadlock_text);
    cr_expect(strstr(result.rows[0].deadlock_text, "to mac2, and the cable is cut"), "%s",
              result.rows[0].deadlock_text);
    cr_expect(strstr(result.rows[0].deadlock_text, "mac3") == NULL ||
                  strstr(result.rows[0].deadlock_text, "mac3 waits"),
              "%s", result.rows[0].deadlock_text);
    sim_result_done(&result);
    bench_done(&b);
}

Test(sim_run, the_length_of_a_queue_has_an_effect_when_it_limits_the_depth)
{
    static const struct {
        const char *name;
        enum run_op op;
        enum run_library library;
        uint64_t size;
        uint32_t depth;
        int64_t frames;
        bool has_effect;
    } rows[] = {
        {"a stream that fits", RUN_STREAM, LIBRARY_VERBS, 65536, 63, 1023, false},
        {"a stream too deep", RUN_STREAM, LIBRARY_VERBS, 65536, 64, 1023, true},
        {"messages too long", RUN_STREAM, LIBRARY_VERBS, 65536, 1, 15, true},
        {"a ring that fits", RUN_ALL_REDUCE, LIBRARY_RING, 1 << 20, 0, 1023, false},
        {"a ring's own depth", RUN_ALL_REDUCE, LIBRARY_RING, 1 << 20, 0, 4, true},
    };

    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct bench b;
        struct run_item item;
        struct sim_result result;

        bench_init(&b, 2);
        bench_mesh(&b);
        bench_set(&b, PARAM_RDMA_QUEUE_FRAMES, rows[i].frames);
        item = bench_item(&b, rows[i].op, rows[i].library, rows[i].size);
        item.depth = rows[i].depth;
        item.count = 100;
        result = run(&b, &item);
        cr_expect_eq(result.had_effect[PARAM_RDMA_QUEUE_FRAMES], rows[i].has_effect, "%s",
                     rows[i].name);
        sim_result_done(&result);
        bench_done(&b);
    }
}

Test(sim_run, a_segment_shorter_than_an_element_carries_one_element)
{
    struct sim_result result[2];

    for (size_t i = 0; i < 2; i++) {
        struct bench b;
        struct run_item item;

        bench_init(&b, 3);
        bench_mesh(&b);
        bench_set(&b, PARAM_IP_SEGMENT, i == 0 ? 1 : 4);
        item = bench_item(&b, RUN_ALL_REDUCE, LIBRARY_TCP_RING, 4096);
        result[i] = run(&b, &item);
        bench_done(&b);
    }
    cr_expect_eq(result[0].digest, result[1].digest);
    sim_result_done(&result[0]);
    sim_result_done(&result[1]);
}
