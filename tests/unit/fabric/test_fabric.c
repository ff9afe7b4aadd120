/* SPDX-License-Identifier: Apache-2.0 */
/* The fabric against closed forms: with 100 ps a byte, a frame takes 409.6 ns and L is 5 us. */
#include <stdlib.h>
#include <string.h>

#include <criterion/criterion.h>

#include "sim/fabric/fabric.h"
#include "tests/unit/fabric/support/fabric_bench.h"

Test(fabric, one_message_takes_latency_plus_size_over_rate)
{
    static const uint64_t sizes[] = {1, 64, 4095, 4096, 4097, 65536, 524288, 4190208};

    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        struct bench *b = bench_new(2);
        cable_id cable = bench_cluster_add_cable(&b->c, 0, 1);

        bench_start(b);
        struct bench_pair p = bench_connect(b, cable);
        fabric_post_recv(b->fabric, p.b, at_ps(0), 7, (bytecount){sizes[i]});
        fabric_post_send(b->fabric, p.a, at_ps(0), 9, (bytecount){sizes[i]});
        bench_run(b);
        cr_assert_eq(bench_nth(b, p.a, false, 0).at.ps, (int64_t)sizes[i] * 100, "size %zu",
                     sizes[i]);
        cr_assert_eq(bench_nth(b, p.b, true, 0).at.ps, (int64_t)sizes[i] * 100 + LATENCY_PS,
                     "size %zu", sizes[i]);
        cr_assert_eq(bench_nth(b, p.b, true, 0).wr_id, 7);
        cr_assert_eq(bench_nth(b, p.b, true, 0).peer_wr_id, 9);
        cr_assert_eq(bench_nth(b, p.a, false, 0).wr_id, 9);
        bench_free(b);
    }
}

Test(fabric, a_send_waits_for_the_receive_and_counts_the_wait)
{
    struct bench *b = bench_new(2);
    cable_id cable = bench_cluster_add_cable(&b->c, 0, 1);

    b->c.params.v[PARAM_RDMA_CREDIT_LATENCY].value = PS_PER_US;
    bench_start(b);
    struct bench_pair p = bench_connect(b, cable);
    fabric_post_send(b->fabric, p.a, at_ps(2 * PS_PER_US), 1, (bytecount){4096});
    bench_run(b);
    cr_assert_eq(b->count, 0);
    cr_assert_eq(fabric_qp_wait(b->fabric, p.a), FABRIC_WAIT_RECV);
    fabric_post_recv(b->fabric, p.b, at_ps(10 * PS_PER_US), 1, (bytecount){4096});
    bench_run(b);
    cr_assert_eq(bench_nth(b, p.a, false, 0).at.ps, 11 * PS_PER_US + FRAME_PS);
    cr_assert_eq(bench_nth(b, p.b, true, 0).at.ps, 11 * PS_PER_US + FRAME_PS + LATENCY_PS);
    cr_assert_eq(fabric_qp_counters(b->fabric, p.a).credit_wait.ps, 9 * PS_PER_US);
    cr_assert_eq(fabric_qp_counters(b->fabric, p.a).held, 1);
    cr_assert_eq(fabric_qp_wait(b->fabric, p.a), FABRIC_WAIT_NOTHING);
    bench_free(b);
}

Test(fabric, unequal_frame_counts_fail_the_receive)
{
    struct bench *b = bench_new(2);
    cable_id cable = bench_cluster_add_cable(&b->c, 0, 1);

    bench_start(b);
    struct bench_pair p = bench_connect(b, cable);
    fabric_post_recv(b->fabric, p.b, at_ps(0), 1, (bytecount){4096});
    fabric_post_recv(b->fabric, p.b, at_ps(0), 2, (bytecount){16384});
    fabric_post_send(b->fabric, p.a, at_ps(0), 1, (bytecount){16384});
    fabric_post_send(b->fabric, p.a, at_ps(0), 2, (bytecount){12289});
    bench_run(b);
    cr_assert_eq(bench_nth(b, p.b, true, 0).status, FABRIC_LENGTH_ERROR);
    cr_assert_eq(bench_nth(b, p.b, true, 1).status, FABRIC_OK, "4 frames meet 4 frames");
    bench_free(b);
}

Test(fabric, the_frame_budget_counts_frames_not_requests)
{
    struct bench *b = bench_new(2);
    cable_id cable = bench_cluster_add_cable(&b->c, 0, 1);

    bench_start(b);
    struct bench_pair p = bench_connect(b, cable);
    for (int i = 0; i < 63; i++)
        cr_assert_eq(fabric_post_recv(b->fabric, p.b, at_ps(0), 0, (bytecount){65536}), 0);
    cr_assert_eq(fabric_post_recv(b->fabric, p.b, at_ps(0), 0, (bytecount){65536}),
                 FABRIC_POST_NO_FRAMES, "63 x 16 = 1008 of 1023 frames, so the 64th is refused");
    cr_assert_eq(fabric_post_send(b->fabric, p.a, at_ps(0), 0, (bytecount){4095 * 4096 + 1}),
                 FABRIC_POST_TOO_LONG);
    cr_assert_eq(fabric_post_send(b->fabric, p.a, at_ps(0), 0, (bytecount){1024 * 4096}),
                 FABRIC_POST_NO_FRAMES);
    bench_free(b);
}

Test(fabric, two_queue_pairs_on_a_cable_take_turns_by_frames)
{
    struct bench *b = bench_new(2);
    cable_id cable = bench_cluster_add_cable(&b->c, 0, 1);

    bench_start(b);
    struct bench_pair p = bench_connect(b, cable), q = bench_connect(b, cable);
    /* Ten frames begin alone; at 2.5 frames a message of three joins. Frames: 3 of p, then
     * q p q p q, then the rest of p. */
    fabric_post_recv(b->fabric, p.b, at_ps(0), 0, (bytecount){40960});
    fabric_post_recv(b->fabric, q.b, at_ps(0), 0, (bytecount){12288});
    fabric_post_send(b->fabric, p.a, at_ps(0), 0, (bytecount){40960});
    fabric_post_send(b->fabric, q.a, at_ps(FRAME_PS * 5 / 2), 0, (bytecount){12288});
    bench_run(b);
    cr_assert_eq(bench_nth(b, q.a, false, 0).at.ps, 8 * FRAME_PS);
    cr_assert_eq(bench_nth(b, p.a, false, 0).at.ps, 13 * FRAME_PS, "work is conserved");
    bench_free(b);
}

Test(fabric, credits_and_a_window_give_the_chunked_closed_form)
{
    /* W chunks outstanding; a slot is free again when its receive completed and the credit came
     * back at once: W c per (L + c G), or the wire when that is slower. */
    static const struct {
        uint32_t window;
        uint64_t chunk;
    } rows[] = {{1, 4096}, {2, 4096}, {2, 16384}, {4, 16384}, {8, 16384}, {16, 4096}};
    enum {
        CHUNKS = 64
    };

    for (size_t r = 0; r < sizeof rows / sizeof *rows; r++) {
        struct bench *b = bench_new(2);
        cable_id cable = bench_cluster_add_cable(&b->c, 0, 1);
        struct fabric_hooks hooks = bench_hooks(b);
        uint32_t posted = 0;

        bench_start(b);
        struct bench_pair p = bench_connect(b, cable);
        for (int i = 0; i < CHUNKS; i++)
            fabric_post_send(b->fabric, p.a, at_ps(0), 0, (bytecount){rows[r].chunk});
        for (; posted < rows[r].window; posted++)
            fabric_post_recv(b->fabric, p.b, at_ps(0), 0, (bytecount){rows[r].chunk});
        while (engine_next_time(fabric_engine(b->fabric)).ps != SIMTIME_NEVER_PS) {
            size_t before = bench_count(b, p.b, true);

            fabric_run_until(b->fabric, engine_next_time(fabric_engine(b->fabric)), &hooks, NULL);
            for (size_t k = before; k < bench_count(b, p.b, true) && posted < CHUNKS; k++, posted++)
                fabric_post_recv(b->fabric, p.b, engine_now(fabric_engine(b->fabric)), 0,
                                 (bytecount){rows[r].chunk});
        }
        int64_t wire = (int64_t)rows[r].chunk * 100;
        int64_t round = LATENCY_PS + wire;
        int64_t expected;

        if ((int64_t)rows[r].window * wire >= round) /* the wire never rests */
            expected = CHUNKS * wire + LATENCY_PS;
        else /* rounds of W chunks; the last round ends with its last chunk */
            expected = (CHUNKS / rows[r].window - 1) * round + rows[r].window * wire + LATENCY_PS;
        cr_assert_eq(bench_nth(b, p.b, true, CHUNKS - 1).at.ps, expected,
                     "W %u, chunk %zu: %ld for %ld", rows[r].window, rows[r].chunk,
                     (long)bench_nth(b, p.b, true, CHUNKS - 1).at.ps, (long)expected);
        bench_free(b);
    }
}

Test(fabric, early_completion_comes_with_the_post_and_changes_no_arrival)
{
    struct bench *b = bench_new(2);
    cable_id cable = bench_cluster_add_cable(&b->c, 0, 1);

    b->config.early_qps = 1;
    bench_start(b);
    struct bench_pair p = bench_connect(b, cable), q = bench_connect(b, cable);

    fabric_set_send_completion(b->fabric, p.a, FABRIC_SEND_WHEN_QUEUED);
    for (int i = 0; i < 8; i++) {
        fabric_post_recv(b->fabric, p.b, at_ps(0), 0, (bytecount){65536});
        fabric_post_send(b->fabric, p.a, at_ps(i), 0, (bytecount){65536});
    }
    bench_run(b);
    cr_assert_eq(bench_count(b, p.a, false), 8);
    for (int i = 0; i < 8; i++)
        cr_assert_eq(bench_nth(b, p.a, false, i).at.ps, i);
    cr_assert_eq(bench_nth(b, p.b, true, 7).at.ps, 8 * 16 * FRAME_PS + LATENCY_PS);
    cr_assert_eq(bench_count(b, q.a, false), 0);
    bench_free(b);
}

Test(fabric, a_crossed_rail_waits_for_ever)
{
    struct bench *b = bench_new(2);
    cable_id one = bench_cluster_add_cable(&b->c, 0, 1);
    cable_id two = bench_cluster_add_cable(&b->c, 0, 1);

    bench_start(b);
    struct cluster_path first = {.cables = {one}, .hops = 1}, second = {.cables = {two}, .hops = 1};
    qp_id a = fabric_create_qp(b->fabric, FABRIC_QP_RDMA, (host_id){0}, &first);
    qp_id c = fabric_create_qp(b->fabric, FABRIC_QP_RDMA, (host_id){1}, &second);

    fabric_connect_qp(b->fabric, a, c);
    fabric_post_recv(b->fabric, c, at_ps(0), 0, (bytecount){4096});
    fabric_post_send(b->fabric, a, at_ps(0), 0, (bytecount){4096});
    bench_run(b);
    cr_assert_eq(b->count, 0);
    cr_assert_eq(fabric_qp_wait(b->fabric, a), FABRIC_WAIT_RECV);
    bench_free(b);
}

Test(fabric, a_cut_loses_the_frame_on_the_wire_and_a_flap_lets_the_rest_go)
{
    struct bench *b = bench_new(2);
    cable_id cable = bench_cluster_add_cable(&b->c, 0, 1);
    bitrate up = {UINT64_C(80000000000)}, cut = {0};

    bench_start(b);
    struct bench_pair p = bench_connect(b, cable);
    for (int i = 0; i < 2; i++) {
        fabric_post_recv(b->fabric, p.b, at_ps(0), 0, (bytecount){40960});
        fabric_post_send(b->fabric, p.a, at_ps(0), 0, (bytecount){40960});
    }
    fabric_schedule_rate(b->fabric, at_ps(FRAME_PS * 7 / 2), cable, cut, cut);
    bench_run(b);
    cr_assert_eq(b->count, 0, "cut: nothing completes");
    cr_assert_eq(fabric_qp_wait(b->fabric, p.a), FABRIC_WAIT_CABLE);
    fabric_schedule_rate(b->fabric, at_ps(PS_PER_MS), cable, up, up);
    bench_run(b);
    /* Frames 1-3 left, frame 4 is lost, 5-10 leave after the flap: the message fails. */
    cr_assert_eq(bench_nth(b, p.a, false, 0).at.ps, PS_PER_MS + 6 * FRAME_PS);
    cr_assert_eq(bench_nth(b, p.b, true, 0).status, FABRIC_LENGTH_ERROR);
    cr_assert_eq(bench_nth(b, p.b, true, 1).status, FABRIC_OK);
    cr_assert_eq(bench_nth(b, p.b, true, 1).at.ps, PS_PER_MS + 16 * FRAME_PS + LATENCY_PS);
    cr_assert_eq(fabric_link_counters(b->fabric, fabric_link_of_cable(cable, false)).lost, 1);
    bench_free(b);
}

Test(fabric, a_frame_that_a_cut_has_lost_is_not_lost_again)
{
    struct bench *b = bench_new(2);
    cable_id cable = bench_cluster_add_cable(&b->c, 0, 1);
    bitrate cut = {0};

    bench_start(b);
    struct bench_pair p = bench_connect(b, cable);
    fabric_set_frame_faults(b->fabric, cable, 1000000000, 0);
    fabric_post_recv(b->fabric, p.b, at_ps(0), 0, (bytecount){4096});
    fabric_post_send(b->fabric, p.a, at_ps(0), 5, (bytecount){4096});
    fabric_schedule_rate(b->fabric, at_ps(FRAME_PS / 2), cable, cut, cut);
    bench_run(b);
    cr_assert_eq(fabric_link_counters(b->fabric, fabric_link_of_cable(cable, false)).lost, 1);
    cr_assert_eq(b->lost_count, 1);
    bench_free(b);
}

Test(fabric, a_degraded_cable_slows_the_frames_after_the_one_on_the_wire)
{
    struct bench *b = bench_new(2);
    cable_id cable = bench_cluster_add_cable(&b->c, 0, 1);
    bitrate half = {UINT64_C(40000000000)};

    bench_start(b);
    struct bench_pair p = bench_connect(b, cable);
    fabric_post_recv(b->fabric, p.b, at_ps(0), 0, (bytecount){40960});
    fabric_post_send(b->fabric, p.a, at_ps(0), 0, (bytecount){40960});
    fabric_schedule_rate(b->fabric, at_ps(FRAME_PS * 7 / 2), cable, half, half);
    bench_run(b);
    cr_assert_eq(bench_nth(b, p.a, false, 0).at.ps, 4 * FRAME_PS + 6 * 2 * FRAME_PS);
    bench_free(b);
}

Test(fabric, a_hub_stores_and_forwards_each_frame)
{
    struct bench *b = bench_new(3);

    bench_cluster_make_hub(&b->c, 1);
    cable_id near = bench_cluster_add_cable(&b->c, 0, 1);
    cable_id far = bench_cluster_add_cable(&b->c, 2, 1);

    bench_start(b);
    struct cluster_path there = {.cables = {near, far}, .hops = 2};
    struct cluster_path back = {.cables = {far, near}, .hops = 2};
    qp_id a = fabric_create_qp(b->fabric, FABRIC_QP_RDMA, (host_id){0}, &there);
    qp_id c = fabric_create_qp(b->fabric, FABRIC_QP_RDMA, (host_id){2}, &back);

    fabric_connect_qp(b->fabric, a, c);
    fabric_post_recv(b->fabric, c, at_ps(0), 0, (bytecount){1000 * 4096});
    fabric_post_send(b->fabric, a, at_ps(0), 0, (bytecount){1000 * 4096});
    bench_run(b);
    cr_assert_eq(bench_nth(b, a, false, 0).at.ps, 1000 * FRAME_PS);
    cr_assert_eq(bench_nth(b, c, true, 0).at.ps, 1001 * FRAME_PS + PS_PER_US / 2 + LATENCY_PS);
    bench_free(b);
}

Test(fabric, a_full_hub_holds_the_sender_back)
{
    struct bench *b = bench_new(3);

    bench_cluster_make_hub(&b->c, 1);
    cable_id near = bench_cluster_add_cable(&b->c, 0, 1);
    cable_id far = bench_cluster_add_cable(&b->c, 2, 1);

    b->c.cables[far.ix].rate_ba = (bitrate){UINT64_C(20000000000)};
    bench_start(b);
    struct cluster_path there = {.cables = {near, far}, .hops = 2};
    struct cluster_path back = {.cables = {far, near}, .hops = 2};
    qp_id a = fabric_create_qp(b->fabric, FABRIC_QP_RDMA, (host_id){0}, &there);
    qp_id c = fabric_create_qp(b->fabric, FABRIC_QP_RDMA, (host_id){2}, &back);

    fabric_connect_qp(b->fabric, a, c);
    fabric_post_recv(b->fabric, c, at_ps(0), 0, (bytecount){1000 * 4096});
    fabric_post_send(b->fabric, a, at_ps(0), 0, (bytecount){1000 * 4096});
    bench_run(b);
    cr_assert_eq(bench_nth(b, c, true, 0).at.ps,
                 FRAME_PS + PS_PER_US / 2 + 1000 * 4 * FRAME_PS + LATENCY_PS);
    /* The sender is done 64 buffered frames before the far end, not 750 frames before. */
    cr_assert_gt(bench_nth(b, a, false, 0).at.ps, (1000 - 66) * 4 * FRAME_PS);
    bench_free(b);
}

Test(fabric, ip_passes_both_stacks_and_shares_the_link_with_rdma)
{
    struct bench *b = bench_new(2);
    cable_id cable = bench_cluster_add_cable(&b->c, 0, 1);

    bench_start(b);
    struct bench_pair p = bench_connect_kind(b, FABRIC_QP_IP, cable);
    fabric_post_send(b->fabric, p.a, at_ps(0), 0, (bytecount){40840}); /* ten frames of 4,084 */
    bench_run(b);
    int64_t stack = INT64_C(40840) * 8 * 1000 / 56 + 1; /* ps at 56 Gb/s, rounded up */

    cr_assert_eq(bench_nth(b, p.b, true, 0).at.ps, stack + 10 * FRAME_PS + stack + 80 * PS_PER_US);
    bench_free(b);
}

Test(fabric, segments_that_wait_for_their_own_interface_leave_the_host_to_another)
{
    const bytecount segment = {65536};
    struct bench *b = bench_new(3);
    cable_id first = bench_cluster_add_cable(&b->c, 0, 1);
    cable_id second = bench_cluster_add_cable(&b->c, 0, 2);

    bench_start(b);
    struct bench_pair queued = bench_connect_kind(b, FABRIC_QP_IP, first);
    struct bench_pair other = bench_connect_kind(b, FABRIC_QP_IP, second);

    for (int k = 0; k < 10; k++)
        fabric_post_send(b->fabric, queued.a, at_ps(0), 0, segment);
    fabric_post_send(b->fabric, other.a, at_ps(0), 0, segment);
    bench_run(b);

    /* ps at 56 Gb/s of a direction and 120 Gb/s of the host, each rounded up. */
    int64_t direction = INT64_C(65536) * 8 * 1000 / 56 + 1;
    int64_t host = INT64_C(65536) * 8 * 1000 / 120 + 1;
    int64_t wire =
        bench_nth(b, other.b, true, 0).at.ps - 10 * host - 2 * direction - 80 * PS_PER_US;

    cr_expect(wire > 16 * FRAME_PS && wire < 18 * FRAME_PS, "%lld", (long long)wire);
    bench_free(b);
}

Test(fabric, loss_and_corruption_follow_their_probability)
{
    struct bench *b = bench_new(2);
    cable_id cable = bench_cluster_add_cable(&b->c, 0, 1);

    bench_start(b);
    struct bench_pair p = bench_connect(b, cable);
    fabric_set_frame_faults(b->fabric, cable, 100000000, 200000000); /* 10 % and 20 % */
    for (int round = 0; round < 20; round++) {
        for (int i = 0; i < 100; i++) {
            fabric_post_recv(b->fabric, p.b, at_ps(0), 0, (bytecount){8192});
            fabric_post_send(b->fabric, p.a, at_ps(0), 0, (bytecount){8192});
        }
        bench_run(b);
    }
    struct fabric_link_counters n =
        fabric_link_counters(b->fabric, fabric_link_of_cable(cable, false));

    cr_assert_eq(n.frames, 4000);
    cr_assert(n.lost > 330 && n.lost < 470, "%lu of 4000 lost", (unsigned long)n.lost);
    cr_assert(n.corrupted > 640 && n.corrupted < 800, "%lu damaged", (unsigned long)n.corrupted);
    size_t failed = 0;

    for (size_t i = 0; i < b->count; i++)
        failed += b->log[i].status == FABRIC_LENGTH_ERROR;
    cr_assert_gt(failed, 200, "a message of two frames fails when one is lost");
    bench_free(b);
}

Test(fabric, a_send_whose_every_frame_is_lost_is_named_lost)
{
    struct bench *b = bench_new(2);
    cable_id cable = bench_cluster_add_cable(&b->c, 0, 1);

    bench_start(b);
    struct bench_pair p = bench_connect(b, cable);
    fabric_set_frame_faults(b->fabric, cable, 500000000, 0);
    for (uint64_t i = 0; i < 40; i++) {
        fabric_post_recv(b->fabric, p.b, at_ps(0), i, (bytecount){4096});
        fabric_post_send(b->fabric, p.a, at_ps(0), i, (bytecount){4096});
    }
    bench_run(b);
    cr_assert_gt(b->lost_count, 0);
    cr_assert_eq(b->lost_count + bench_count(b, p.b, true), 40);
    for (size_t i = 0; i < b->lost_count; i++) {
        for (size_t k = 0; k < bench_count(b, p.b, true); k++)
            cr_assert_neq(bench_nth(b, p.b, true, k).peer_wr_id, b->lost[i]);
    }
    bench_free(b);
}

Test(fabric, a_dropped_send_is_named_lost_and_leaves_later_receives_alone)
{
    struct bench *b = bench_new(2);
    cable_id cable = bench_cluster_add_cable(&b->c, 0, 1);

    b->config.unmatched = FABRIC_DROP;
    bench_start(b);
    struct bench_pair p = bench_connect(b, cable);
    fabric_post_send(b->fabric, p.a, at_ps(0), 1, (bytecount){4096});
    bench_run(b);
    fabric_post_recv(b->fabric, p.b, at_ps(0), 10, (bytecount){4096});
    fabric_post_send(b->fabric, p.a, at_ps(0), 2, (bytecount){4096});
    bench_run(b);
    cr_assert_eq(b->lost_count, 1);
    cr_assert_eq(b->lost[0], 1);
    cr_assert_eq(bench_count(b, p.b, true), 1);
    cr_assert_eq(bench_nth(b, p.b, true, 0).peer_wr_id, 2);
    bench_free(b);
}

Test(fabric, calendar_and_heap_give_one_digest_on_1000_random_scenarios)
{
    uint64_t events = 0;

    for (uint64_t seed = 0; seed < 1000; seed++) {
        struct bench *c = bench_random_run(seed, EVQ_CALENDAR, false, false);
        struct bench *h = bench_random_run(seed, EVQ_HEAP, false, false);

        cr_assert_eq(engine_digest(fabric_engine(c->fabric)),
                     engine_digest(fabric_engine(h->fabric)), "seed %lu", (unsigned long)seed);
        cr_assert_eq(c->count, h->count);
        for (size_t i = 0; i < c->count; i++)
            cr_assert(bench_same_completion(&c->log[i], &h->log[i]), "seed %lu, row %zu",
                      (unsigned long)seed, i);
        events += engine_event_count(fabric_engine(c->fabric));
        bench_free(c);
        bench_free(h);
    }
    cr_assert_gt(events, 100000);
}

Test(fabric, bursts_change_no_completion)
{
    for (uint64_t seed = 0; seed < 100; seed++) {
        struct bench *burst = bench_random_run(seed, EVQ_CALENDAR, false, false);
        struct bench *single = bench_random_run(seed, EVQ_CALENDAR, true, false);

        cr_assert_eq(burst->count, single->count, "seed %lu", (unsigned long)seed);
        qsort(burst->log, burst->count, sizeof *burst->log, bench_by_queue_pair);
        qsort(single->log, single->count, sizeof *single->log, bench_by_queue_pair);
        for (size_t i = 0; i < burst->count; i++) {
            cr_assert_eq(burst->log[i].qp.ix, single->log[i].qp.ix);
            cr_assert_eq(burst->log[i].at.ps, single->log[i].at.ps, "seed %lu, row %zu",
                         (unsigned long)seed, i);
            cr_assert_eq(burst->log[i].status, single->log[i].status);
        }
        bench_free(burst);
        bench_free(single);
    }
}

Test(fabric, the_block_may_move_to_another_address_between_events)
{
    struct bench *move = bench_new(2);
    struct fabric_hooks hooks = bench_hooks(move);
    cable_id cable = bench_cluster_add_cable(&move->c, 0, 1);

    bench_start(move);
    struct bench_pair p = bench_connect(move, cable);
    for (int i = 0; i < 50; i++) {
        fabric_post_recv(move->fabric, p.b, at_ps(i * 1000000), 0, (bytecount){20000});
        fabric_post_send(move->fabric, p.a, at_ps(0), 0, (bytecount){20000});
    }
    size_t size = (fabric_mem_size(&move->config) + 63) & ~(size_t)63;

    for (int64_t t = 0; engine_next_time(fabric_engine(move->fabric)).ps != SIMTIME_NEVER_PS;
         t += 3 * PS_PER_US) {
        void *copy = aligned_alloc(64, size);

        memcpy(copy, move->fabric, size);
        memset(move->fabric, 0xa5, size);
        free(move->fabric);
        move->fabric = copy;
        fabric_run_until(move->fabric, at_ps(t), &hooks, NULL);
    }
    cr_assert_eq(bench_count(move, p.b, true), 50);
    cr_assert_eq(bench_nth(move, p.b, true, 49).at.ps,
                 simtime_max(at_ps(50 * 2000000), at_ps(49 * 1000000 + 2000000)).ps + LATENCY_PS);
    bench_free(move);
}
