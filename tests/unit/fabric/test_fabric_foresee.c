/* SPDX-License-Identifier: Apache-2.0 */
/* Foresight reports the same completions earlier: with 100 ps a byte, L is 5 us. */
#include <stdlib.h>
#include <string.h>

#include <criterion/criterion.h>

#include "sim/fabric/fabric.h"
#include "tests/unit/fabric/support/fabric_bench.h"

static struct bench *foreseeing_bench(uint32_t hosts)
{
    struct bench *b = bench_new(hosts);

    b->config.foresee = true;
    return b;
}

static void post_both(struct bench *b, struct bench_pair p, uint64_t wr_id, uint64_t bytes)
{
    simtime now = bench_now(b);

    cr_assert_eq(fabric_post_recv(b->fabric, p.b, now, wr_id, (bytecount){bytes}), FABRIC_POSTED);
    cr_assert_eq(fabric_post_send(b->fabric, p.a, now, wr_id, (bytecount){bytes}), FABRIC_POSTED);
}

/* When the k-th completion of that side was reported. */
static simtime said(const struct bench *b, qp_id qp, bool is_recv, size_t k)
{
    for (size_t i = 0; i < b->count; i++) {
        if (b->log[i].qp.ix == qp.ix && b->log[i].is_recv == is_recv && k-- == 0)
            return b->said[i];
    }
    cr_assert_fail("no such completion");
    return simtime_never();
}

Test(fabric_foresee, changes_when_completions_are_reported_and_nothing_else)
{
    uint64_t early = 0;

    for (uint64_t seed = 0; seed < 1000; seed++) {
        struct bench *with = bench_random_run(seed, EVQ_CALENDAR, false, true);
        struct bench *without = bench_random_run(seed, EVQ_CALENDAR, false, false);

        cr_assert_eq(engine_digest(fabric_engine(with->fabric)),
                     engine_digest(fabric_engine(without->fabric)), "seed %lu",
                     (unsigned long)seed);
        cr_assert_eq(with->count, without->count, "seed %lu", (unsigned long)seed);
        cr_assert_eq(with->lost_count, without->lost_count);
        for (size_t i = 0; i < with->count; i++)
            early += with->said[i].ps < with->log[i].at.ps;
        qsort(with->log, with->count, sizeof *with->log, bench_by_queue_pair);
        qsort(without->log, without->count, sizeof *without->log, bench_by_queue_pair);
        for (size_t i = 0; i < with->count; i++)
            cr_assert(bench_same_completion(&with->log[i], &without->log[i]), "seed %lu, row %zu",
                      (unsigned long)seed, i);
        bench_free(with);
        bench_free(without);
    }
    cr_assert_gt(early, 10000);
}

Test(fabric_foresee, a_queue_pair_alone_on_its_link_promises_both_ends_at_the_start)
{
    static const uint64_t sizes[] = {0, 1, 4096, 65536, 524289, 4190208};

    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        struct bench *b = foreseeing_bench(2);
        cable_id cable = bench_cluster_add_cable(&b->c, 0, 1);
        int64_t wire = (int64_t)sizes[i] * 100;

        bench_start(b);
        struct bench_pair p = bench_connect(b, cable);
        cr_assert(fabric_qp_foresees(b->fabric, p.a));
        post_both(b, p, 7, sizes[i]);
        bench_report(b);
        cr_assert_eq(bench_nth(b, p.a, false, 0).at.ps, wire, "size %zu", sizes[i]);
        cr_assert_eq(bench_nth(b, p.b, true, 0).at.ps, wire + LATENCY_PS, "size %zu", sizes[i]);
        cr_assert_eq(bench_nth(b, p.b, true, 0).peer_wr_id, 7);
        bench_run(b);
        cr_assert_eq(b->count, 2, "nothing is reported twice");
        cr_assert_eq(fabric_qp_counters(b->fabric, p.b).recvs, 1);
        bench_free(b);
    }
}

Test(fabric_foresee, messages_in_line_are_promised_one_after_the_other)
{
    struct bench *b = foreseeing_bench(2);
    cable_id cable = bench_cluster_add_cable(&b->c, 0, 1);

    bench_start(b);
    struct bench_pair p = bench_connect(b, cable);
    for (uint64_t i = 0; i < 5; i++)
        post_both(b, p, i, 200 * 4096);
    bench_run(b);
    for (int i = 0; i < 5; i++) {
        cr_assert_eq(said(b, p.b, true, (size_t)i).ps, i * 200 * FRAME_PS);
        cr_assert_eq(bench_nth(b, p.b, true, (size_t)i).at.ps,
                     (i + 1) * 200 * FRAME_PS + LATENCY_PS);
        cr_assert_eq(bench_nth(b, p.b, true, (size_t)i).peer_wr_id, (uint64_t)i);
    }
    bench_free(b);
}

Test(fabric_foresee, a_newcomer_waits_for_the_promised_message)
{
    for (int single = 0; single < 2; single++) {
        struct bench *b = foreseeing_bench(2);
        cable_id cable = bench_cluster_add_cable(&b->c, 0, 1);

        b->config.single_frames = single;
        bench_start(b);
        struct bench_pair p = bench_connect(b, cable);
        post_both(b, p, 0, 400 * 4096);
        post_both(b, p, 1, 10 * 4096);
        bench_run_until(b, FRAME_PS * 5 / 2);

        struct bench_pair q = bench_connect(b, cable);

        cr_assert_not(fabric_qp_foresees(b->fabric, p.a));
        post_both(b, q, 0, 10 * 4096);
        bench_run(b);
        cr_assert_eq(bench_nth(b, p.a, false, 0).at.ps, 400 * FRAME_PS);
        /* From there on they take turns, the newcomer first. */
        cr_assert_eq(bench_nth(b, q.a, false, 0).at.ps, 419 * FRAME_PS);
        cr_assert_eq(bench_nth(b, p.a, false, 1).at.ps, 420 * FRAME_PS);
        cr_assert_eq(b->count, 6);
        bench_free(b);
    }
}

Test(fabric_foresee, a_surprising_change_comes_after_the_promised_message)
{
    struct bench *b = foreseeing_bench(2);
    cable_id cable = bench_cluster_add_cable(&b->c, 0, 1);
    bitrate up = {UINT64_C(80000000000)}, cut = {0};

    bench_start(b);
    struct bench_pair p = bench_connect(b, cable);
    post_both(b, p, 0, 100 * 4096);
    post_both(b, p, 1, 4096);
    bench_run_until(b, FRAME_PS);
    fabric_set_frame_faults(b->fabric, cable, 1000000000, 0);
    fabric_schedule_rate(b->fabric, at_ps(50 * FRAME_PS), cable, cut, cut);
    cr_assert_not(fabric_qp_foresees(b->fabric, p.a));
    bench_run(b);
    cr_assert_eq(bench_nth(b, p.b, true, 0).at.ps, 100 * FRAME_PS + LATENCY_PS);
    cr_assert_eq(bench_nth(b, p.b, true, 0).status, FABRIC_OK);
    cr_assert_eq(fabric_qp_counters(b->fabric, p.b).recvs, 1);
    /* The frame behind it was on the wire when the cable was cut. */
    fabric_set_frame_faults(b->fabric, cable, 0, 0);
    fabric_schedule_rate(b->fabric, at_ps(PS_PER_MS), cable, up, up);
    post_both(b, p, 2, 4096);
    bench_run(b);
    cr_assert_eq(b->lost_count, 1);
    cr_assert_eq(bench_nth(b, p.b, true, 1).peer_wr_id, 2);
    cr_assert_eq(bench_nth(b, p.b, true, 1).wr_id, 1, "the receive stayed posted");
    bench_free(b);
}

Test(fabric_foresee, a_shared_link_promises_no_more_than_what_has_left_and_the_last_frame)
{
    struct bench *b = foreseeing_bench(2);
    cable_id cable = bench_cluster_add_cable(&b->c, 0, 1);

    bench_start(b);
    struct bench_pair p = bench_connect(b, cable), q = bench_connect(b, cable);

    cr_assert_not(fabric_qp_foresees(b->fabric, p.a));
    post_both(b, p, 0, 2 * 4096);
    post_both(b, q, 0, 2 * 4096);
    bench_run(b);
    /* p q p q */
    cr_assert_eq(said(b, p.a, false, 0).ps, 2 * FRAME_PS);
    cr_assert_eq(bench_nth(b, p.a, false, 0).at.ps, 3 * FRAME_PS);
    cr_assert_eq(said(b, p.b, true, 0).ps, 3 * FRAME_PS);
    cr_assert_eq(bench_nth(b, p.b, true, 0).at.ps, 3 * FRAME_PS + LATENCY_PS);
    cr_assert_eq(said(b, q.a, false, 0).ps, 3 * FRAME_PS);
    bench_free(b);
}

Test(fabric_foresee, a_receive_is_certain_when_the_message_leaves_the_hub)
{
    struct bench *b = foreseeing_bench(3);

    bench_cluster_make_hub(&b->c, 1);
    cable_id near = bench_cluster_add_cable(&b->c, 0, 1);
    cable_id far = bench_cluster_add_cable(&b->c, 2, 1);

    bench_start(b);
    struct cluster_path there = {.cables = {near, far}, .hops = 2};
    struct cluster_path back = {.cables = {far, near}, .hops = 2};
    struct bench_pair p = {fabric_create_qp(b->fabric, FABRIC_QP_RDMA, (host_id){0}, &there),
                           fabric_create_qp(b->fabric, FABRIC_QP_RDMA, (host_id){2}, &back)};

    fabric_connect_qp(b->fabric, p.a, p.b);
    cr_assert_not(fabric_qp_foresees(b->fabric, p.a));
    post_both(b, p, 0, 10 * 4096);
    bench_run(b);
    cr_assert_eq(said(b, p.a, false, 0).ps, 9 * FRAME_PS);
    cr_assert_eq(bench_nth(b, p.a, false, 0).at.ps, 10 * FRAME_PS);
    cr_assert_eq(said(b, p.b, true, 0).ps, 11 * FRAME_PS + PS_PER_US / 2);
    cr_assert_eq(bench_nth(b, p.b, true, 0).at.ps, 11 * FRAME_PS + PS_PER_US / 2 + LATENCY_PS);
    bench_free(b);
}

Test(fabric_foresee, dropped_messages_are_not_foreseen)
{
    struct bench *b = foreseeing_bench(2);
    cable_id cable = bench_cluster_add_cable(&b->c, 0, 1);

    b->config.unmatched = FABRIC_DROP;
    bench_start(b);
    struct bench_pair p = bench_connect(b, cable);
    cr_assert_not(fabric_qp_foresees(b->fabric, p.a));
    fabric_post_send(b->fabric, p.a, at_ps(0), 1, (bytecount){4096});
    bench_report(b);
    cr_assert_eq(bench_nth(b, p.a, false, 0).at.ps, FRAME_PS);
    cr_assert_eq(b->count, 1);
    fabric_post_recv(b->fabric, p.b, at_ps(FRAME_PS), 10, (bytecount){4096});
    bench_run(b);
    cr_assert_eq(said(b, p.b, true, 0).ps, FRAME_PS + LATENCY_PS);
    bench_free(b);
}

Test(fabric_foresee, an_early_completion_comes_with_the_post)
{
    struct bench *b = foreseeing_bench(2);
    cable_id cable = bench_cluster_add_cable(&b->c, 0, 1);

    b->config.early_qps = 1;
    bench_start(b);
    struct bench_pair p = bench_connect(b, cable);
    fabric_set_send_completion(b->fabric, p.a, FABRIC_SEND_WHEN_QUEUED);
    post_both(b, p, 3, 65536);
    bench_report(b);
    cr_assert_eq(b->count, 2);
    cr_assert_eq(bench_nth(b, p.a, false, 0).at.ps, 0);
    cr_assert_eq(bench_nth(b, p.b, true, 0).at.ps, 16 * FRAME_PS + LATENCY_PS);
    bench_run(b);
    cr_assert_eq(b->count, 2);
    bench_free(b);
}

Test(fabric_foresee, memory_that_is_zero_need_not_be_cleared)
{
    struct bench *b = foreseeing_bench(2);
    cable_id cable = bench_cluster_add_cable(&b->c, 0, 1);
    size_t size;
    void *mem;

    b->config.mem_is_zero = true;
    size = (fabric_mem_size(&b->config) + 63) & ~(size_t)63;
    mem = aligned_alloc(64, size);
    memset(mem, 0, size);
    b->fabric = fabric_init(mem, &b->config);
    struct bench_pair p = bench_connect(b, cable);
    for (uint64_t i = 0; i < 50; i++)
        post_both(b, p, i, 20000);
    bench_run(b);
    cr_assert_eq(bench_count(b, p.b, true), 50);
    bench_free(b);
}
