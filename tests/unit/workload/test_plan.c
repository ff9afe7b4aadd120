/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>

#include <criterion/criterion.h>

#include "sim/workload/plan.h"
#include "tests/unit/workload/support/bench.h"

struct made {
    struct layout layout;
    struct plan plan;
    struct err err;
    bool is_ok;
};

static struct made make(struct bench *b, const struct run_item *item)
{
    struct made m = {0};

    m.is_ok = layout_make(item, &b->cluster, &b->arena, &m.layout, &m.err);
    return m;
}

static bool finish(struct bench *b, struct made *m, const struct run_item *item, uint64_t size)
{
    m->is_ok = m->is_ok && plan_make(item, (bytecount){size}, &m->layout, &b->cluster, &b->params,
                                     &m->plan, &m->err);
    return m->is_ok;
}

/* Messages and bytes on the wire of each direction of one lane, over all phases of its thread. */
struct tally {
    uint64_t messages;
    uint64_t bytes;
    uint64_t hash; /* over the length of each message, in order */
};

static void tally_stream(const struct phase *phase, const struct stream *s, struct tally *t)
{
    uint32_t block = s->block;

    for (uint32_t step = 0; step < s->steps; step++) {
        for (uint64_t k = 0; k < s->per_step; k++) {
            uint64_t offset;
            uint64_t length = phase_message(phase, s, block, k, &offset);

            cr_assert(length == 0 || offset + length <= phase->limit);
            if (phase->has_full_buffers)
                length = phase->chunk;
            t->messages++;
            t->bytes += length;
            t->hash = t->hash * 1099511628211U + length + 1;
        }
        block = (block + s->stride) % phase->blocks;
    }
}

static void tally_thread(const struct plan *plan, uint32_t thread, struct tally *sent,
                         struct tally *received)
{
    struct stream streams[256];
    struct phase phase = {.streams = streams};
    uint32_t threads = plan->layout->threads;

    cr_assert_leq(plan->stream_max, 256);
    for (uint32_t i = 0; plan->phase(plan, thread / threads, thread % threads, i, &phase); i++) {
        cr_assert_leq(phase.stream_count, plan->stream_max);
        for (uint32_t s = 0; s < phase.stream_count; s++) {
            const struct stream *stream = &phase.streams[s];

            cr_assert_leq(stream->depth, plan->depth_max);
            tally_stream(&phase, stream, &(stream->is_send ? sent : received)[stream->lane]);
        }
    }
}

/* Both ends of every lane must speak of the same messages. */
static void check_sides(const struct plan *plan, const char *name)
{
    const struct layout *l = plan->layout;
    uint32_t threads = l->ranks * l->threads;
    struct tally *sent = calloc((size_t)threads * l->lanes, sizeof *sent);
    struct tally *received = calloc((size_t)threads * l->lanes, sizeof *received);

    for (uint32_t t = 0; t < threads; t++)
        tally_thread(plan, t, sent + t * l->lanes, received + t * l->lanes);
    for (uint32_t i = 0; i < threads * l->lanes; i++) {
        const struct lane *lane = &l->lane[i];
        const struct tally *theirs;

        if (lane->peer == ID_NONE) {
            cr_assert_eq(sent[i].messages + received[i].messages, 0, "%s: no such lane", name);
            continue;
        }
        theirs = &received[lane->peer * l->lanes + lane->peer_lane];
        cr_assert_eq(sent[i].messages, theirs->messages, "%s: thread %u lane %u", name,
                     i / l->lanes, i % l->lanes);
        cr_assert_eq(sent[i].hash, theirs->hash, "%s: lengths of thread %u lane %u", name,
                     i / l->lanes, i % l->lanes);
    }
    free(sent);
    free(received);
}

Test(plan, both_ends_of_every_lane_agree_on_the_messages)
{
    static const uint64_t elements[] = {1, 2, 3, 7, 64, 1000, 8191, 8192, 8193, 65537, 300001};
    uint32_t checked = 0;

    for (uint32_t n = 2; n <= 9; n++) {
        for (uint32_t op = 0; op < RUN_OP_COUNT; op++) {
            for (uint32_t library = 0; library < LIBRARY_COUNT * JACCL_VERSION_COUNT; library++) {
                struct bench b;
                struct run_item item;

                bench_init(&b, n);
                bench_mesh(&b);
                bench_ring(&b, 1);
                item =
                    bench_item(&b, (enum run_op)op, (enum run_library)(library % LIBRARY_COUNT), 4);
                item.jaccl = (enum jaccl_version)(library / LIBRARY_COUNT);
                item.root = n - 1;
                item.count = 5;
                for (size_t e = 0; e < sizeof elements / sizeof *elements; e++) {
                    struct made m = make(&b, &item);
                    char name[120];

                    if (!finish(&b, &m, &item, 4 * elements[e]))
                        break;
                    snprintf(name, sizeof name, "%s %s, n = %u, %lu elements",
                             run_library_name(item.library), run_op_name(item.op), n,
                             (unsigned long)elements[e]);
                    check_sides(&m.plan, name);
                    checked++;
                }
                bench_done(&b);
            }
        }
    }
    cr_expect_gt(checked, 5000, "%u", checked);
}

/* The table of messages per directed queue pair that the unmodified JACCL was seen to send. */
Test(plan, jaccl_sends_the_messages_that_were_counted)
{
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
    static const uint64_t sizes[] = {4, 32768, 65536, 262144, 1 << 20, 16 << 20};
    static const struct column columns[] = {
        {"mesh n=2",
         LIBRARY_JACCL_MESH,
         2,
         1,
         true,
         {{1, 4}, {1, 32}, {1, 64}, {1, 256}, {2, 512}, {32, 512}}},
        {"mesh n=4",
         LIBRARY_JACCL_MESH,
         4,
         1,
         true,
         {{1, 4}, {1, 32}, {2, 16}, {2, 64}, {2, 256}, {16, 512}}},
        {"mesh n=2 on 26.2",
         LIBRARY_JACCL_MESH,
         2,
         1,
         false,
         {{1, 4}, {8, 4}, {16, 4}, {64, 4}, {256, 4}, {4096, 4}}},
        {"ring n=4 W=1",
         LIBRARY_JACCL_RING,
         4,
         1,
         true,
         {{6, 4}, {6, 8}, {6, 8}, {6, 32}, {6, 128}, {24, 512}}},
        {"ring n=4 W=2",
         LIBRARY_JACCL_RING,
         4,
         2,
         true,
         {{6, 4}, {6, 8}, {6, 4}, {6, 16}, {6, 64}, {12, 512}}},
        {"ring n=2 W=3",
         LIBRARY_JACCL_RING,
         2,
         3,
         true,
         {{2, 4}, {2, 16}, {4, 4}, {4, 16}, {4, 64}, {6, 512}}},
    };

    for (size_t c = 0; c < sizeof columns / sizeof *columns; c++) {
        const struct column *column = &columns[c];
        struct bench b;

        bench_init(&b, column->n);
        b.macos.has_large_buffers = column->has_large;
        if (column->library == LIBRARY_JACCL_MESH)
            bench_mesh(&b);
        else
            bench_ring(&b, column->wires);
        for (int i = 0; i < 6; i++) {
            struct run_item item = bench_item(&b, RUN_ALL_REDUCE, column->library, sizes[i]);
            struct made m = make(&b, &item);
            struct tally sent[16] = {0}, received[16] = {0};
            bool is_small = column->library == LIBRARY_JACCL_RING && sizes[i] <= 32768;

            cr_assert(finish(&b, &m, &item, sizes[i]), "%s", m.err.text);
            for (uint32_t t = 0; t < m.layout.threads; t++)
                tally_thread(&m.plan, t, sent + t * m.layout.lanes, received + t * m.layout.lanes);
            for (uint32_t q = 0; q < m.layout.threads * m.layout.lanes; q++) {
                bool is_used = !is_small || q == 0;

                cr_expect_eq(sent[q].messages, is_used ? column->cells[i].count : 0,
                             "%s, %lu B, queue pair %u: %lu messages", column->name,
                             (unsigned long)sizes[i], q, (unsigned long)sent[q].messages);
                cr_expect_eq(sent[q].bytes,
                             is_used ? column->cells[i].count * column->cells[i].kib * 1024 : 0,
                             "%s, %lu B, queue pair %u: %lu bytes", column->name,
                             (unsigned long)sizes[i], q, (unsigned long)sent[q].bytes);
            }
        }
        bench_done(&b);
    }
}

Test(plan, buffer_class_is_the_largest_not_above_the_message)
{
    cr_expect_eq(jaccl_buffer_class(1, 524288), 4096);
    cr_expect_eq(jaccl_buffer_class(8191, 524288), 4096);
    cr_expect_eq(jaccl_buffer_class(20480, 524288), 16384, "20 KiB become 2 x 16 KiB");
    cr_expect_eq(jaccl_buffer_class(1 << 30, 524288), 524288);
    cr_expect_eq(jaccl_buffer_class(1 << 30, 4096), 4096);
}

/* What cannot run is refused with the reason, at the place of the item. */
Test(plan, what_cannot_run_is_refused_by_name)
{
    struct row {
        const char *name;
        enum run_op op;
        enum run_library library;
        uint32_t n;
        bool is_mesh, has_rdma;
        uint32_t wires, to;
        uint64_t size;
        const char *expected;
    };
    static const struct row rows[] = {
        {"no cable", RUN_ALL_REDUCE, LIBRARY_JACCL_MESH, 4, false, true, 0, 1, 4,
         "jaccl-mesh needs a cable between mac1 and mac3"},
        {"no RDMA", RUN_ALL_REDUCE, LIBRARY_JACCL_MESH, 4, true, false, 0, 1, 4,
         "needs RDMA between mac1 and mac2"},
        {"nine ranks", RUN_ALL_REDUCE, LIBRARY_JACCL_MESH, 9, true, true, 0, 1, 4,
         "supports up to 8 ranks, this run has 9"},
        {"too few wires", RUN_ALL_REDUCE, LIBRARY_JACCL_RING, 4, false, true, 2, 1, 4,
         "mac1 and mac2 share 1"},
        {"no such operation", RUN_BROADCAST, LIBRARY_JACCL_RING, 4, false, true, 0, 1, 4,
         "jaccl-ring has no broadcast; it has all_reduce, all_gather"},
        {"not a neighbour", RUN_SEND_RECV, LIBRARY_JACCL_RING, 5, false, true, 0, 2, 4,
         "only to direct neighbours"},
        {"no whole element", RUN_ALL_REDUCE, LIBRARY_RING, 4, false, true, 0, 1, 6,
         "6 B is not a whole number of float32 elements"},
        {"no power of two", RUN_ALL_GATHER, LIBRARY_RECURSIVE_DOUBLING, 6, true, true, 0, 1, 4,
         "needs a power of two of machines, not 6"},
        {"nobody to talk to", RUN_BARRIER, LIBRARY_RING, 1, false, true, 0, 1, 4,
         "needs at least 2 machines"},
    };

    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const struct row *row = &rows[i];
        struct bench b;
        struct run_item item;
        struct made m;

        bench_init(&b, row->n);
        b.macos.has_rdma = row->has_rdma;
        if (row->is_mesh)
            bench_mesh(&b);
        else if (row->n > 1)
            bench_ring(&b, 1);
        item = bench_item(&b, row->op, row->library, row->size);
        item.wires = row->wires;
        item.to = row->to;
        m = make(&b, &item);
        cr_expect_not(finish(&b, &m, &item, row->size), "%s", row->name);
        cr_expect(strstr(m.err.text, row->expected), "%s: %s", row->name, m.err.text);
        cr_expect_eq(m.err.pos.line, 7, "%s", row->name);
        bench_done(&b);
    }
}

Test(plan, a_message_goes_through_machines_in_between_when_no_cable_is_shared)
{
    struct bench b;
    struct run_item item;
    struct made m;

    bench_init(&b, 6);
    bench_ring(&b, 1);
    item = bench_item(&b, RUN_SEND_RECV, LIBRARY_VERBS, 4096);
    item.to = 4;
    m = make(&b, &item);
    cr_assert(finish(&b, &m, &item, 4096), "%s", m.err.text);
    cr_expect_eq(m.layout.ranks, 3, "the short way around");
    cr_expect_eq(m.layout.hosts[1].ix, 5);
    cr_expect(m.plan.note && strstr(m.plan.note, "mac1 and mac5 share no cable"), "%s",
              m.plan.note);
    bench_done(&b);
}
