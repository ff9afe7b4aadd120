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

/* A random scenario, always the same for the same seed. */
static uint64_t draw(uint64_t *state, uint64_t bound)
{
    *state = *state * 6364136223846793005U + 1442695040888963407U;
    return (*state >> 33) % bound;
}

struct random_case {
    struct bench b;
    struct run_item items[2];
    struct fault fault;
    struct sim_input input;
};

static void random_item(struct random_case *c, struct run_item *item, uint64_t *state)
{
    do {
        *item = bench_item(&c->b, (enum run_op)draw(state, RUN_OP_COUNT),
                           (enum run_library)draw(state, LIBRARY_COUNT),
                           4 * (1 + draw(state, 1 << draw(state, 18))));
    } while (!run_is_offered(item->library, item->op));
    item->jaccl = item->library == LIBRARY_JACCL_RING
                      ? (enum jaccl_version)(1 + draw(state, 3))
                      : (enum jaccl_version)draw(state, JACCL_VERSION_COUNT);
    item->repeat = 1 + (uint32_t)draw(state, 3);
    item->count = 1 + draw(state, 50);
    item->depth = (uint32_t)draw(state, 12);
    item->is_duplex = draw(state, 2);
}

static void random_init(struct random_case *c, uint64_t seed)
{
    uint64_t state = seed * 2654435761U + 1;
    uint32_t n = 2 << draw(&state, 3);

    bench_init(&c->b, n);
    bench_add_costs(&c->b);
    bench_mesh(&c->b);
    for (uint64_t extra = draw(&state, 2); extra > 0; extra--)
        bench_ring(&c->b, 1);
    bench_set(&c->b, PARAM_RDMA_JITTER, (int64_t)draw(&state, 1000) * PS_PER_NS);
    c->b.macos.has_large_buffers = draw(&state, 2);
    random_item(c, &c->items[0], &state);
    random_item(c, &c->items[1], &state);
    c->fault = (struct fault){.kind = FAULT_RATE,
                              .at = {(int64_t)draw(&state, 300) * PS_PER_US},
                              .cable = {(uint32_t)draw(&state, c->b.cluster.cable_count)},
                              .rate_forward = {draw(&state, 3) * LINE_80G / 4},
                              .rate_reverse = {LINE_80G / 2}};
    if (draw(&state, 4) == 0)
        c->fault = (struct fault){
            .kind = FAULT_FRAMES, .cable = {ID_NONE}, .loss_ppb = (uint32_t)draw(&state, 1000000)};
    c->input = (struct sim_input){.cluster = &c->b.cluster,
                                  .params = &c->b.params,
                                  .items = c->items,
                                  .item_count = 2,
                                  .faults = &c->fault,
                                  .fault_count = draw(&state, 2),
                                  .seed = seed,
                                  .has_jitter = draw(&state, 2)};
}

static void expect_same(const struct sim_result *a, const struct sim_result *b, uint64_t seed,
                        const char *what)
{
    cr_assert_eq(a->row_count, b->row_count, "%s, seed %lu", what, (unsigned long)seed);
    cr_assert_eq(a->is_deadlock, b->is_deadlock, "%s, seed %lu", what, (unsigned long)seed);
    for (size_t i = 0; i < a->row_count; i++) {
        cr_assert_eq(a->rows[i].latency_min.ps, b->rows[i].latency_min.ps, "%s, seed %lu", what,
                     (unsigned long)seed);
        cr_assert_eq(a->rows[i].latency_max.ps, b->rows[i].latency_max.ps, "%s, seed %lu", what,
                     (unsigned long)seed);
        cr_assert_eq(a->rows[i].shares.credit.ps, b->rows[i].shares.credit.ps, "%s, seed %lu", what,
                     (unsigned long)seed);
    }
}

Test(sim_run, calendar_and_heap_give_one_digest_on_1000_random_scenarios)
{
    uint32_t finished = 0, deadlocks = 0;

    for (uint64_t seed = 0; seed < 1000; seed++) {
        struct random_case c;
        struct sim_result calendar, heap;
        struct err err = {0};

        random_init(&c, seed);
        c.input.evq = EVQ_CALENDAR;
        cr_assert(sim_run(&c.input, NULL, &calendar, &err), "seed %lu: %s", (unsigned long)seed,
                  err.text);
        c.input.evq = EVQ_HEAP;
        cr_assert(sim_run(&c.input, NULL, &heap, &err));
        cr_assert_eq(calendar.digest, heap.digest, "seed %lu", (unsigned long)seed);
        cr_assert_eq(calendar.events, heap.events, "seed %lu", (unsigned long)seed);
        expect_same(&calendar, &heap, seed, "calendar against heap");
        finished += !calendar.is_deadlock;
        deadlocks += calendar.is_deadlock;
        sim_result_done(&calendar);
        sim_result_done(&heap);
        bench_done(&c.b);
    }
    cr_expect_gt(finished, 500, "%u", finished);
    cr_expect_gt(deadlocks, 10, "%u", deadlocks);
}

Test(sim_run, bursts_and_inboxes_change_nothing)
{
    for (uint64_t seed = 0; seed < 150; seed++) {
        struct random_case c;
        struct sim_result bursts, frames, again;
        struct err err = {0};

        random_init(&c, seed);
        cr_assert(sim_run(&c.input, NULL, &bursts, &err), "%s", err.text);
        cr_assert(sim_run(&c.input, NULL, &again, &err));
        cr_assert_eq(bursts.digest, again.digest, "seed %lu", (unsigned long)seed);
        c.input.single_frames = true;
        cr_assert(sim_run(&c.input, NULL, &frames, &err));
        expect_same(&bursts, &frames, seed, "bursts against frames");
        sim_result_done(&bursts);
        sim_result_done(&frames);
        sim_result_done(&again);
        bench_done(&c.b);
    }
}

/* Where one thread owns a machine, handling completions at once is the same as an inbox. */
Test(sim_run, a_thread_alone_needs_no_inbox)
{
    static const enum run_library libraries[] = {LIBRARY_JACCL_MESH, LIBRARY_RING, LIBRARY_MESH,
                                                 LIBRARY_RECURSIVE_DOUBLING, LIBRARY_BINOMIAL_TREE};

    for (uint32_t i = 0; i < 5 * 5; i++) {
        struct bench b;
        struct run_item item;
        struct sim_result eager, waking;
        uint64_t size = UINT64_C(4) << (4 * (i / 5));

        bench_init(&b, 6);
        bench_add_costs(&b);
        bench_mesh(&b);
        item = bench_item(&b, RUN_ALL_REDUCE, libraries[i % 5], size);
        eager = run(&b, &item);
        waking = run_with(&b, &item, 1, (struct sim_input){.seed = 1, .has_inboxes = true});
        expect_same(&eager, &waking, i, run_library_name(item.library));
        cr_expect(waking.events >= eager.events);
        sim_result_done(&eager);
        sim_result_done(&waking);
        bench_done(&b);
    }
}

/* Two 4 KiB buffers a round trip: what JACCL does on macOS 26.2. */
Test(sim_run, small_buffers_are_bound_by_the_round_trip)
{
    struct bench b;
    struct run_item item;
    struct sim_result result;
    struct closed_params p = {.latency = {4 * PS_PER_US}, .rate = {LINE_80G}};
    simspan round_trip = {4 * PS_PER_US};

    bench_init(&b, 2);
    bench_mesh(&b);
    b.macos.has_large_buffers = false;
    item = bench_item(&b, RUN_ALL_REDUCE, LIBRARY_JACCL_MESH, 16 << 20);
    result = run(&b, &item);
    expect_close(result.rows[0].latency_median.ps,
                 closed_chunked(&p, item.sizes[0], (bytecount){4096}, 2, round_trip).ps, "26.2");
    cr_expect_eq(result.rows[0].messages, 2 * 4096);
    sim_result_done(&result);
    b.macos.has_large_buffers = true;
    result = run(&b, &item);
    expect_close(result.rows[0].latency_median.ps, closed_message(&p, item.sizes[0]).ps, "26.3");
    sim_result_done(&result);
    bench_done(&b);
}

Test(sim_run, a_socket_is_bound_by_its_window)
{
    static const uint32_t windows[] = {2, 8, 200};

    for (int i = 0; i < 3; i++) {
        struct bench b;
        struct run_item item;
        struct sim_result result;
        /* The stack is the slowest server: 50 Gb/s, 80 us each way; it hands over whole segments
         * on both sides, so the wire and the other stack add to the latency. */
        simspan stack = {10485760};
        simspan wire = {6572968};
        struct closed_params p = {.latency = {80 * PS_PER_US + stack.ps + wire.ps},
                                  .rate = {50000000000}};
        simspan round_trip = {2 * 80 * PS_PER_US + stack.ps + wire.ps};

        bench_init(&b, 2);
        bench_mesh(&b);
        bench_set(&b, PARAM_IP_WINDOW, windows[i]);
        item = bench_item(&b, RUN_SEND_RECV, LIBRARY_TCP, 64 << 20);
        result = run(&b, &item);
        expect_close(
            result.rows[0].latency_median.ps,
            closed_chunked(&p, item.sizes[0], (bytecount){65536}, windows[i], round_trip).ps,
            "window");
        sim_result_done(&result);
        bench_done(&b);
    }
}

Test(sim_run, early_completions_show_a_rate_that_the_cable_cannot_carry)
{
    struct bench b;
    struct run_item items[2];
    struct sim_result result;

    bench_init(&b, 2);
    bench_mesh(&b);
    items[0] = bench_item(&b, RUN_STREAM, LIBRARY_VERBS, 4096);
    items[0].depth = 128;
    items[0].count = 1500;
    items[1] = items[0];
    items[1].send_completion = FABRIC_SEND_WHEN_QUEUED;
    result = run_with(&b, items, 2, (struct sim_input){0});
    cr_expect_leq(result.rows[0].sender_rate.bps, LINE_80G * 101 / 100);
    cr_expect_gt(result.rows[1].sender_rate.bps, LINE_80G * 3 / 2, "%lu",
                 (unsigned long)result.rows[1].sender_rate.bps);
    cr_expect_leq(result.rows[1].algbw.bps, LINE_80G, "arrivals tell the truth");
    sim_result_done(&result);
    bench_done(&b);
}

Test(sim_run, a_checking_receiver_sets_the_rate)
{
    struct bench b;
    struct run_item item;
    struct sim_result result;

    bench_init(&b, 2);
    bench_mesh(&b);
    item = bench_item(&b, RUN_STREAM, LIBRARY_VERBS, 65536);
    item.receiver_check.bps = 15000000000;
    result = run(&b, &item);
    cr_expect(result.rows[0].algbw.bps > 14800000000 && result.rows[0].algbw.bps <= 15000000000,
              "%lu", (unsigned long)result.rows[0].algbw.bps);
    cr_expect_str_eq(result.rows[0].limit, "receiver's check");
    sim_result_done(&result);
    bench_done(&b);
}

Test(sim_run, gpu_and_files_lie_around_a_collective)
{
    struct bench b;
    struct run_item item;
    struct sim_result result;
    int64_t bare;

    bench_init(&b, 2);
    bench_mesh(&b);
    bench_set(&b, PARAM_GPU_HANDOFF_SLOW, 270 * PS_PER_US);
    item = bench_item(&b, RUN_ALL_REDUCE, LIBRARY_JACCL_MESH, 8192);
    result = run(&b, &item);
    bare = result.rows[0].latency_median.ps;
    cr_expect_not(result.had_effect[PARAM_GPU_HANDOFF_SLOW]);
    sim_result_done(&result);
    item.handoff = HANDOFF_SLOW;
    result = run(&b, &item);
    cr_expect_eq(result.rows[0].latency_median.ps - bare, 270 * PS_PER_US);
    cr_expect_eq(result.rows[0].shares.handoff.ps, 270 * PS_PER_US);
    cr_expect_str_eq(result.rows[0].limit, "GPU hand-off");
    cr_expect(result.had_effect[PARAM_GPU_HANDOFF_SLOW]);
    sim_result_done(&result);

    item = bench_item(&b, RUN_SEND_RECV, LIBRARY_JACCL_MESH, UINT64_C(5000000) * 512);
    item.has_storage = true;
    result = run(&b, &item);
    expect_close(result.rows[0].latency_median.ps, 512 * PS_PER_MS, "5 GB/s from the disk");
    cr_expect_str_eq(result.rows[0].limit, "storage");
    sim_result_done(&result);
    bench_done(&b);
}

Test(sim_run, lost_or_damaged_frames_are_noticed_by_the_bytes)
{
    struct bench b;
    struct run_item item;
    struct fault fault = {.kind = FAULT_FRAMES, .cable = {ID_NONE}, .corrupt_ppb = 2000000};
    struct sim_result result;

    bench_init(&b, 3);
    bench_mesh(&b);
    item = bench_item(&b, RUN_ALL_REDUCE, LIBRARY_JACCL_MESH, 4 << 20);
    item.is_verified = true;
    result = run_with(&b, &item, 1, (struct sim_input){.faults = &fault, .fault_count = 1});
    cr_expect(result.is_wrong && result.frames_corrupted > 0);
    cr_expect_not(result.is_deadlock);
    sim_result_done(&result);
    fault.corrupt_ppb = 0;
    result = run_with(&b, &item, 1, (struct sim_input){.faults = &fault, .fault_count = 1});
    cr_expect_not(result.is_wrong);
    sim_result_done(&result);
    fault.loss_ppb = 2000000;
    result = run_with(&b, &item, 1, (struct sim_input){.faults = &fault, .fault_count = 1});
    cr_expect((result.is_wrong || result.is_deadlock) && result.frames_lost > 0);
    sim_result_done(&result);
    bench_done(&b);
}

struct watcher {
    uint64_t calls, last, total, stop_after;
    bool stop;
};

static void watch_progress(void *ctx, uint64_t done, uint64_t total)
{
    struct watcher *w = ctx;

    cr_expect_eq(done, ++w->calls);
    w->total = total;
    w->stop = w->stop_after && done == w->stop_after;
}

Test(sim_run, a_run_that_is_stopped_keeps_what_it_has)
{
    struct bench b;
    struct run_item item;
    struct sim_result result;
    struct watcher watcher = {.stop_after = 7};
    struct sim_watch watch = {&watcher, watch_progress, &watcher.stop};
    struct sim_input input = {0};
    struct err err = {0};
    static const bytecount sizes[] = {{4}, {4096}};

    bench_init(&b, 3);
    bench_mesh(&b);
    item = bench_item(&b, RUN_ALL_REDUCE, LIBRARY_JACCL_MESH, 4);
    item.sizes = sizes;
    item.size_count = 2;
    item.repeat = 5;
    input.cluster = &b.cluster;
    input.params = &b.params;
    input.items = &item;
    input.item_count = 1;
    cr_assert(sim_run(&input, &watch, &result, &err));
    cr_expect(result.is_partial);
    cr_expect_eq(watcher.total, 10);
    cr_assert_eq(result.row_count, 2);
    cr_expect_eq(result.rows[0].samples, 5);
    cr_expect_eq(result.rows[1].samples, 2);
    cr_expect_gt(result.rows[1].latency_median.ps, 0);
    sim_result_done(&result);
    watcher = (struct watcher){0};
    cr_assert(sim_run(&input, &watch, &result, &err));
    cr_expect_not(result.is_partial);
    cr_expect_eq(watcher.calls, 10);
    sim_result_done(&result);
    bench_done(&b);
}

Test(sim_run, link_use_adds_up_to_what_was_sent)
{
    struct bench b;
    struct run_item item;
    struct sim_result result;
    uint64_t sum = 0;

    bench_init(&b, 2);
    bench_mesh(&b);
    item = bench_item(&b, RUN_SEND_RECV, LIBRARY_VERBS, 10000000);
    result = run_with(&b, &item, 1, (struct sim_input){.use_bins = 50});
    cr_assert_eq(result.use.bin_count, 50);
    cr_assert_eq(result.use.link_count, 2);
    cr_expect_geq(result.use.bin_width.ps * 50, result.end.ps - 4 * PS_PER_US - 1,
                  "the bins reach the last frame");
    for (uint32_t i = 0; i < 50; i++) {
        sum += result.use.busy_ps[i];
        cr_expect_leq(result.use.busy_ps[i], (uint64_t)result.use.bin_width.ps);
        cr_expect_eq(result.use.busy_ps[50 + i], 0, "nothing comes back");
    }
    cr_expect_eq(sum, 10000000 * UINT64_C(100), "0.1 ns a byte: %lu", (unsigned long)sum);
    sim_result_done(&result);
    bench_done(&b);
}

Test(sim_run, what_cannot_run_says_why_and_where)
{
    struct bench b;
    struct run_item item;
    struct sim_input input = {.item_count = 1};
    struct sim_result result;
    struct err err = {0};

    bench_init(&b, 3);
    bench_ring(&b, 1);
    b.cluster.cable_count--;
    b.cluster.hosts[2].ports[1].cable.ix = b.cluster.hosts[0].ports[1].cable.ix = ID_NONE;
    item = bench_item(&b, RUN_ALL_REDUCE, LIBRARY_JACCL_MESH, 4);
    input.cluster = &b.cluster;
    input.params = &b.params;
    input.items = &item;
    cr_expect_not(sim_run(&input, NULL, &result, &err));
    cr_expect(strstr(err.text, "jaccl-mesh needs a cable between mac1 and mac3"), "%s", err.text);
    cr_expect_eq(err.pos.line, 7);
    bench_done(&b);
}

Test(sim_run, messages_that_arrive_damaged_are_in_the_row)
{
    static const struct {
        const char *name;
        enum run_library library;
        uint32_t corrupt_ppb;
        bool is_damaged;
    } rows[] = {
        {"clean", LIBRARY_JACCL_MESH, 0, false},
        {"all frames changed", LIBRARY_JACCL_MESH, 1000000000, true},
        {"TCP repeats them", LIBRARY_TCP_RING, 1000000000, false},
    };

    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct fault fault = {.kind = FAULT_FRAMES, .cable = {ID_NONE}};
        struct bench b;
        struct run_item item;
        struct sim_result result;

        bench_init(&b, 3);
        bench_mesh(&b);
        fault.corrupt_ppb = rows[i].corrupt_ppb;
        item = bench_item(&b, RUN_ALL_REDUCE, rows[i].library, 4096);
        item.repeat = 2;
        result = run_with(&b, &item, 1, (struct sim_input){.faults = &fault, .fault_count = 1});
        /* Two messages to each of three, twice. */
        cr_expect_eq(result.rows[0].damaged, rows[i].is_damaged ? 12 : 0, "%s", rows[i].name);
        cr_expect_eq(result.rows[0].note != NULL, rows[i].is_damaged, "%s", rows[i].name);
        sim_result_done(&result);
        bench_done(&b);
    }
}
