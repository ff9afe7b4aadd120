/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>

#include <criterion/criterion.h>

#include "sim/workload/exchange.h"
#include "tests/unit/workload/support/bench.h"

/* One plan on a fabric of its own. */
struct rig {
    struct layout layout;
    struct plan plan;
    struct exchange x;
    struct fabric *fabric;
    void *mem;
};

static void rig_init(struct rig *rig, struct bench *b, const struct run_item *item)
{
    struct fabric_config config = {.cluster = &b->cluster, .params = &b->params};
    struct exchange_config setup = {.cluster = &b->cluster, .params = &b->params};
    struct err err = {0};

    memset(rig, 0, sizeof *rig);
    cr_assert(layout_make(item, &b->cluster, &b->arena, &rig->layout, &err), "%s", err.text);
    cr_assert(plan_make(item, item->sizes[0], &rig->layout, &b->cluster, &b->params, &rig->plan,
                        &err),
              "%s", err.text);
    config.qp_capacity = rig->layout.lane_ends;
    config.wr_capacity = rig->plan.depth_max;
    config.user_events = exchange_event_max(&rig->layout, rig->plan.depth_max);
    rig->mem = aligned_alloc(64, (fabric_mem_size(&config) + 63) / 64 * 64);
    rig->fabric = fabric_init(rig->mem, &config);
    exchange_connect(rig->fabric, &rig->layout, FABRIC_SEND_WHEN_SENT);
    setup.layout = &rig->layout;
    setup.stream_max = rig->plan.stream_max;
    exchange_init(&rig->x, rig->fabric, &setup);
}

static void rig_run(struct rig *rig)
{
    struct fabric_hooks hooks = {
        .ctx = &rig->x, .completed = exchange_completed, .user_event = exchange_user_event};

    exchange_start(&rig->x, &rig->plan, engine_now(fabric_engine(rig->fabric)));
    fabric_run_until(rig->fabric, simtime_never(), &hooks, &rig->x.is_stopped);
    cr_assert(rig->x.is_finished);
}

static void rig_done(struct rig *rig)
{
    exchange_done(&rig->x);
    free(rig->mem);
}

/*
 * The messages that the unmodified JACCL (ml-explore/mlx at 846d176, 2026-08-22) was counted to
 * send on each directed queue pair for one float32 all_sum.
 */
struct cell {
    uint64_t count;
    uint64_t kib;
};

struct column {
    const char *name;
    enum run_library library;
    uint32_t n, wires;
    bool has_large;
    struct cell cells[6];
};

/* clang-format off */
static const uint64_t table_sizes[] = {4, 32768, 65536, 262144, 1 << 20, 16 << 20};
static const struct column table[] = {
    {"mesh n=2", LIBRARY_JACCL_MESH, 2, 1, true,
     {{1, 4}, {1, 32}, {1, 64}, {1, 256}, {2, 512}, {32, 512}}},
    {"mesh n=4", LIBRARY_JACCL_MESH, 4, 1, true,
     {{1, 4}, {1, 32}, {2, 16}, {2, 64}, {2, 256}, {16, 512}}},
    {"mesh n=2 on macOS 26.2", LIBRARY_JACCL_MESH, 2, 1, false,
     {{1, 4}, {8, 4}, {16, 4}, {64, 4}, {256, 4}, {4096, 4}}},
    {"ring n=4 W=1", LIBRARY_JACCL_RING, 4, 1, true,
     {{6, 4}, {6, 8}, {6, 8}, {6, 32}, {6, 128}, {24, 512}}},
    {"ring n=4 W=2", LIBRARY_JACCL_RING, 4, 2, true,
     {{6, 4}, {6, 8}, {6, 4}, {6, 16}, {6, 64}, {12, 512}}},
    {"ring n=2 W=3", LIBRARY_JACCL_RING, 2, 3, true,
     {{2, 4}, {2, 16}, {4, 4}, {4, 16}, {4, 64}, {6, 512}}},
};
/* clang-format on */

static void check_cell(struct rig *rig, const struct column *column, uint64_t size,
                       const struct cell *cell)
{
    bool is_one_way = column->library == LIBRARY_JACCL_RING && size <= 32768;

    for (uint32_t i = 0; i < rig->x.worker_count * rig->layout.lanes; i++) {
        struct fabric_qp_counters c = fabric_qp_counters(rig->fabric, rig->layout.lane[i].qp);
        /* One way: only the lane to the right of wire 0 sends. */
        bool is_used = !is_one_way || i % (rig->layout.lanes * rig->layout.threads) == 0;

        cr_expect_eq(c.sends, is_used ? cell->count : 0, "%s, %lu B, queue pair %u: %lu messages",
                     column->name, (unsigned long)size, i, (unsigned long)c.sends);
        cr_expect_eq(c.send_bytes, is_used ? cell->count * cell->kib * 1024 : 0,
                     "%s, %lu B, queue pair %u: %lu bytes", column->name, (unsigned long)size, i,
                     (unsigned long)c.send_bytes);
    }
}

Test(exchange, queue_pairs_carry_what_jaccl_was_counted_to_send)
{
    for (size_t c = 0; c < sizeof table / sizeof *table; c++) {
        struct bench b;

        bench_init(&b, table[c].n);
        bench_add_costs(&b);
        b.macos.has_large_buffers = table[c].has_large;
        if (table[c].library == LIBRARY_JACCL_MESH)
            bench_mesh(&b);
        else
            bench_ring(&b, table[c].wires);
        for (int i = 0; i < 6; i++) {
            struct run_item item = bench_item(&b, RUN_ALL_REDUCE, table[c].library, table_sizes[i]);
            struct rig rig;

            rig_init(&rig, &b, &item);
            rig_run(&rig);
            check_cell(&rig, &table[c], table_sizes[i], &table[c].cells[i]);
            rig_done(&rig);
        }
        bench_done(&b);
    }
}

/* A thread's clock: what it did and what it waited for is all there is. */
Test(exchange, a_thread_is_never_busy_longer_than_the_run)
{
    struct bench b;
    struct run_item item;
    struct rig rig;

    bench_init(&b, 4);
    bench_add_costs(&b);
    bench_ring(&b, 2);
    item = bench_item(&b, RUN_ALL_REDUCE, LIBRARY_JACCL_RING, 4 << 20);
    rig_init(&rig, &b, &item);
    rig_run(&rig);
    cr_expect_eq(rig.x.worker_count, 8, "a thread a wire");
    for (uint32_t i = 0; i < rig.x.worker_count; i++) {
        const struct worker *w = &rig.x.workers[i];
        int64_t busy = 0;

        for (int s = 0; s < SPENT_COUNT; s++)
            busy += w->spent[s].ps;
        cr_expect_leq(busy, simtime_since(w->free_at, rig.x.start).ps);
        cr_expect_gt(w->spent[SPENT_COPY].ps, 0);
        cr_expect_gt(w->spent[SPENT_REDUCE].ps, 0);
    }
    rig_done(&rig);
    bench_done(&b);
}

Test(exchange, before_2026_08_one_thread_serves_all_wires)
{
    struct bench b;
    struct run_item item;
    struct rig rig;

    bench_init(&b, 4);
    bench_add_costs(&b);
    bench_ring(&b, 2);
    item = bench_item(&b, RUN_ALL_REDUCE, LIBRARY_JACCL_RING, 4 << 20);
    item.jaccl = JACCL_2026_04;
    rig_init(&rig, &b, &item);
    rig_run(&rig);
    cr_expect_eq(rig.x.worker_count, 4);
    /* Both wires carry the same although one thread fills them. */
    for (uint32_t i = 0; i < 4 * rig.layout.lanes; i++)
        cr_expect_eq(fabric_qp_counters(rig.fabric, rig.layout.lane[i].qp).sends, 6);
    rig_done(&rig);
    bench_done(&b);
}
