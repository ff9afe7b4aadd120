/* SPDX-License-Identifier: Apache-2.0 */
/* Queue pairs that come and go, need no receive, or stay on their host. */
#include <stdlib.h>
#include <string.h>

#include <criterion/criterion.h>

#include "sim/base/rng.h"
#include "sim/fabric/fabric.h"
#include "tests/unit/fabric/support/fabric_bench.h"

static const struct fabric_qp_size small = {.send_wrs = 4, .recv_wrs = 4};
static const struct cluster_path here = {.hops = 0};

static struct bench *pool_bench(uint32_t hosts, uint32_t entries, bool foresee)
{
    struct bench *b = bench_new(hosts);

    b->config.wr_capacity = 1;
    b->config.ring_entries = entries;
    b->config.foresee = foresee;
    return b;
}

static void post_recv(struct bench *b, qp_id qp, uint64_t wr_id, uint64_t bytes)
{
    cr_assert_eq(fabric_post_recv(b->fabric, qp, bench_now(b), wr_id, (bytecount){bytes}),
                 FABRIC_POSTED);
}

static void post_send(struct bench *b, qp_id qp, uint64_t wr_id, uint64_t bytes)
{
    cr_assert_eq(fabric_post_send(b->fabric, qp, bench_now(b), wr_id, (bytecount){bytes}),
                 FABRIC_POSTED);
}

static void flush(struct bench *b, qp_id qp)
{
    struct fabric_hooks hooks = bench_hooks(b);

    fabric_flush_qp(b->fabric, qp, &hooks);
}

Test(fabric_life, rings_grow_until_the_pool_is_used_up_and_are_used_again)
{
    struct bench *b = pool_bench(2, 64, false);
    cable_id cable = bench_cluster_add_cable(&b->c, 0, 1);

    bench_start(b);
    struct bench_pair p = bench_connect_sized(b, FABRIC_QP_RDMA, cable, &small);
    uint64_t sends = 0, recvs = 0;

    /* Rings of 4, 8, 16 and 32 places, of which those before the last are free again. */
    while (fabric_post_send(b->fabric, p.a, at_ps(0), sends, (bytecount){100}) == FABRIC_POSTED)
        sends++;
    while (fabric_post_recv(b->fabric, p.b, at_ps(0), recvs, (bytecount){100}) == FABRIC_POSTED)
        recvs++;
    cr_assert_eq(sends, 32, "4 + 4 + 8 + 16 + 32 are all of 64");
    cr_assert_eq(recvs, 32);
    bench_run(b);
    for (uint64_t i = 0; i < 32; i++) {
        cr_assert_eq(bench_nth(b, p.b, true, i).wr_id, i);
        cr_assert_eq(bench_nth(b, p.b, true, i).peer_wr_id, i);
    }
    cr_assert(fabric_release_qp(b->fabric, p.a));
    cr_assert(fabric_release_qp(b->fabric, p.b));
    for (int round = 0; round < 100; round++) {
        p = bench_connect_sized(b, FABRIC_QP_RDMA, cable,
                                &(struct fabric_qp_size){.send_wrs = 16, .recv_wrs = 9});
        cr_assert_lt(p.a.ix, 2);
        cr_assert_lt(p.b.ix, 2);
        cr_assert(fabric_release_qp(b->fabric, p.b));
        cr_assert(fabric_release_qp(b->fabric, p.a));
    }
    bench_free(b);
}

Test(fabric_life, a_larger_ring_is_halved_when_no_other_is_left)
{
    struct bench *b = pool_bench(2, 32, false);
    cable_id cable = bench_cluster_add_cable(&b->c, 0, 1);
    struct cluster_path path = {.cables = {cable}, .hops = 1};
    struct fabric_qp_size whole = {.send_wrs = 32, .recv_wrs = 32};

    bench_start(b);
    qp_id large = fabric_create_qp_sized(b->fabric, FABRIC_QP_RDMA, (host_id){0}, &path, &whole);

    cr_assert_neq(large.ix, ID_NONE);
    cr_assert_eq(fabric_create_qp_sized(b->fabric, FABRIC_QP_RDMA, (host_id){0}, &path, &small).ix,
                 ID_NONE);
    cr_assert(fabric_release_qp(b->fabric, large));
    for (int i = 0; i < 8; i++)
        cr_assert_neq(
            fabric_create_qp_sized(b->fabric, FABRIC_QP_RDMA, (host_id){0}, &path, &small).ix,
            ID_NONE, "%d", i);
    cr_assert_eq(fabric_create_qp_sized(b->fabric, FABRIC_QP_RDMA, (host_id){0}, &path, &small).ix,
                 ID_NONE);
    bench_free(b);
}

Test(fabric_life, a_budget_of_frames_is_that_of_the_queue_pair)
{
    struct bench *b = pool_bench(2, 1 << 14, false);
    cable_id cable = bench_cluster_add_cable(&b->c, 0, 1);

    bench_start(b);
    struct bench_pair none = bench_connect_sized(b, FABRIC_QP_RDMA, cable, &small);
    struct bench_pair ten =
        bench_connect_sized(b, FABRIC_QP_RDMA, cable,
                            &(struct fabric_qp_size){.send_wrs = 4, .recv_wrs = 4, .frames = 10});

    for (uint64_t i = 0; i < 1000; i++)
        post_recv(b, none.b, i, 4095 * 4096);
    post_recv(b, ten.b, 0, 10 * 4096);
    cr_assert_eq(fabric_post_recv(b->fabric, ten.b, at_ps(0), 1, (bytecount){1}),
                 FABRIC_POST_NO_FRAMES);
    cr_assert_eq(fabric_post_send(b->fabric, ten.a, at_ps(0), 1, (bytecount){10 * 4096 + 1}),
                 FABRIC_POST_NO_FRAMES);
    bench_free(b);
}

Test(fabric_life, posts_before_the_connection_are_kept_and_held)
{
    static const enum fabric_unmatched rules[] = {FABRIC_HOLD, FABRIC_DROP};

    for (int i = 0; i < 2; i++) {
        struct bench *b = pool_bench(2, 64, true);
        cable_id cable = bench_cluster_add_cable(&b->c, 0, 1);
        struct cluster_path path = {.cables = {cable}, .hops = 1};

        b->config.unmatched = rules[i];
        bench_start(b);
        qp_id x = fabric_create_qp_sized(b->fabric, FABRIC_QP_RDMA, (host_id){0}, &path, &small);
        qp_id y = fabric_create_qp_sized(b->fabric, FABRIC_QP_RDMA, (host_id){1}, &path, &small);

        post_send(b, x, 5, 4096);
        post_recv(b, y, 6, 4096);
        bench_run(b);
        cr_assert_eq(b->count, 0);
        cr_assert_eq(fabric_qp_wait(b->fabric, x), FABRIC_WAIT_RECV);
        engine_advance(fabric_engine(b->fabric), at_ps(PS_PER_US));
        fabric_connect_qp(b->fabric, x, y);
        bench_run(b);
        cr_assert_eq(bench_nth(b, x, false, 0).at.ps, PS_PER_US + FRAME_PS);
        cr_assert_eq(bench_nth(b, y, true, 0).at.ps, PS_PER_US + FRAME_PS + LATENCY_PS);
        cr_assert_eq(bench_nth(b, y, true, 0).wr_id, 6);
        cr_assert_eq(fabric_qp_counters(b->fabric, x).credit_wait.ps, PS_PER_US);
        bench_free(b);
    }
}

Test(fabric_life, a_flush_drops_what_waits_and_lets_what_has_begun_arrive)
{
    for (int foresee = 0; foresee < 2; foresee++) {
        struct bench *b = pool_bench(2, 64, foresee);
        cable_id cable = bench_cluster_add_cable(&b->c, 0, 1);

        bench_start(b);
        struct bench_pair p = bench_connect_sized(b, FABRIC_QP_RDMA, cable, &small);
        for (uint64_t i = 0; i < 4; i++) {
            post_recv(b, p.b, 10 + i, 10 * 4096);
            post_send(b, p.a, i, 10 * 4096);
        }
        post_recv(b, p.a, 7, 4096);
        /* In flight, on the wire, waiting, waiting. */
        bench_run_until(b, FRAME_PS * 25 / 2);
        flush(b, p.a);
        cr_assert_eq(b->flushed_count[0], 2);
        cr_assert_eq(b->flushed[0][0], 2);
        cr_assert_eq(b->flushed[0][1], 3);
        cr_assert_eq(b->flushed_count[1], 1);
        cr_assert_eq(b->flushed[1][0], 7);
        cr_assert_not(fabric_release_qp(b->fabric, p.a), "its data are under way");
        bench_run(b);
        cr_assert_eq(bench_count(b, p.b, true), 2);
        cr_assert_eq(bench_nth(b, p.b, true, 1).peer_wr_id, 1);
        cr_assert_eq(bench_nth(b, p.b, true, 1).at.ps, 20 * FRAME_PS + LATENCY_PS);
        cr_assert_eq(b->lost_count, 0);
        cr_assert(fabric_release_qp(b->fabric, p.a));
        cr_assert_not(fabric_release_qp(b->fabric, p.b), "receives are posted");
        post_send(b, p.b, 1, 4096);
        bench_run(b);
        cr_assert_eq(bench_count(b, p.b, false), 0, "nobody is there any more");
        flush(b, p.b);
        cr_assert(fabric_release_qp(b->fabric, p.b));
        bench_free(b);
    }
}

Test(fabric_life, a_message_whose_receive_was_flushed_arrives_to_nothing)
{
    struct bench *b = pool_bench(2, 64, false);
    cable_id cable = bench_cluster_add_cable(&b->c, 0, 1);

    bench_start(b);
    struct bench_pair p = bench_connect_sized(b, FABRIC_QP_RDMA, cable, &small);
    for (uint64_t i = 0; i < 3; i++) {
        post_recv(b, p.b, 10 + i, 10 * 4096);
        post_send(b, p.a, i, 10 * 4096);
    }
    bench_run_until(b, FRAME_PS * 25 / 2);
    flush(b, p.b);
    cr_assert_eq(b->flushed_count[1], 3);
    /* New receives are for later messages. */
    post_recv(b, p.b, 20, 10 * 4096);
    bench_run(b);
    cr_assert_eq(b->lost_count, 2);
    cr_assert_eq(b->lost[0], 0);
    cr_assert_eq(b->lost[1], 1);
    cr_assert_eq(bench_count(b, p.b, true), 1);
    cr_assert_eq(bench_nth(b, p.b, true, 0).wr_id, 20);
    cr_assert_eq(bench_nth(b, p.b, true, 0).peer_wr_id, 2);
    bench_free(b);
}

Test(fabric_life, a_promised_receive_is_not_flushed)
{
    struct bench *b = pool_bench(2, 64, true);
    cable_id cable = bench_cluster_add_cable(&b->c, 0, 1);

    bench_start(b);
    struct bench_pair p = bench_connect_sized(b, FABRIC_QP_RDMA, cable, &small);
    post_recv(b, p.b, 10, 4096);
    post_recv(b, p.b, 11, 4096);
    post_send(b, p.a, 1, 4096);
    bench_report(b);
    cr_assert_eq(b->count, 2);
    flush(b, p.b);
    cr_assert_eq(b->flushed_count[1], 1);
    cr_assert_eq(b->flushed[1][0], 11);
    cr_assert(fabric_release_qp(b->fabric, p.b), "what is promised has been said");
    bench_run(b);
    cr_assert_eq(b->count, 2);
    cr_assert_eq(b->lost_count, 0);
    bench_free(b);
}

Test(fabric_life, a_message_in_line_is_taken_back_with_its_claim)
{
    struct bench *b = pool_bench(2, 128, true);
    cable_id cable = bench_cluster_add_cable(&b->c, 0, 1);

    bench_start(b);
    struct bench_pair p = bench_connect_sized(b, FABRIC_QP_RDMA, cable, &small);
    struct bench_pair q = bench_connect_sized(b, FABRIC_QP_RDMA, cable, &small);
    struct bench_pair r = bench_connect_sized(b, FABRIC_QP_RDMA, cable, &small);
    struct bench_pair all[] = {p, q, r};

    for (int i = 0; i < 3; i++) {
        post_recv(b, all[i].b, (uint64_t)i, 4 * 4096);
        post_send(b, all[i].a, (uint64_t)i, 4 * 4096);
    }
    bench_run_until(b, FRAME_PS / 2);
    flush(b, q.a);
    flush(b, r.a);
    cr_assert_eq(b->flushed_count[0], 2);
    post_send(b, q.a, 9, 4 * 4096);
    bench_run(b);
    cr_assert_eq(bench_nth(b, q.b, true, 0).peer_wr_id, 9);
    cr_assert_eq(bench_nth(b, q.a, false, 0).at.ps, 8 * FRAME_PS);
    cr_assert_eq(bench_nth(b, p.a, false, 0).at.ps, 7 * FRAME_PS);
    cr_assert_eq(bench_count(b, r.b, true), 0);
    bench_free(b);
}

Test(fabric_life, a_successor_hears_nothing_of_what_was_before)
{
    for (int foresee = 0; foresee < 2; foresee++) {
        struct bench *b = pool_bench(2, 64, foresee);
        cable_id cable = bench_cluster_add_cable(&b->c, 0, 1);
        struct cluster_path path = {.cables = {cable}, .hops = 1};

        bench_start(b);
        struct bench_pair p = bench_connect_sized(b, FABRIC_QP_RDMA, cable, &small);
        post_recv(b, p.b, 1, 4096);
        post_send(b, p.a, 1, 4096);
        bench_run_until(b, 2 * FRAME_PS); /* in flight */
        flush(b, p.b);
        cr_assert(fabric_release_qp(b->fabric, p.b));
        qp_id next = fabric_create_qp_sized(b->fabric, FABRIC_QP_RDMA, (host_id){1}, &path, &small);

        cr_assert_eq(next.ix, p.b.ix);
        fabric_connect_qp(b->fabric, p.a, next);
        post_recv(b, next, 2, 4096);
        post_recv(b, next, 3, 4096);
        post_send(b, p.a, 2, 4096);
        bench_run(b);
        cr_assert_eq(b->lost_count, foresee ? 0 : 1);
        cr_assert_eq(bench_count(b, next, true), foresee ? 2 : 1);
        cr_assert_eq(bench_nth(b, next, true, (size_t)foresee).wr_id, 2);
        cr_assert_eq(bench_nth(b, next, true, (size_t)foresee).peer_wr_id, 2);
        cr_assert_eq(fabric_qp_counters(b->fabric, next).recvs, 1);
        bench_free(b);
    }
}

Test(fabric_life, an_early_completion_comes_before_the_flush_and_once)
{
    struct bench *b = pool_bench(2, 64, true);
    cable_id cable = bench_cluster_add_cable(&b->c, 0, 1);

    b->config.early_qps = 2;
    bench_start(b);
    struct bench_pair p = bench_connect_sized(b, FABRIC_QP_RDMA, cable, &small);
    fabric_set_send_completion(b->fabric, p.a, FABRIC_SEND_WHEN_QUEUED);
    post_send(b, p.a, 1, 4096);
    post_send(b, p.a, 2, 4096);
    flush(b, p.a);
    cr_assert_eq(b->flushed_count[0], 2);
    cr_assert_eq(bench_count(b, p.a, false), 2);
    cr_assert_not(fabric_release_qp(b->fabric, p.a));
    post_send(b, p.a, 3, 4096);
    post_recv(b, p.b, 3, 4096);
    bench_run(b);
    cr_assert_eq(bench_count(b, p.a, false), 3);
    cr_assert_eq(bench_nth(b, p.b, true, 0).peer_wr_id, 3);
    cr_assert(fabric_release_qp(b->fabric, p.a));
    bench_free(b);
}

Test(fabric_life, a_direct_message_needs_no_receive)
{
    for (int foresee = 0; foresee < 2; foresee++) {
        struct bench *b = pool_bench(2, 64, foresee);
        cable_id cable = bench_cluster_add_cable(&b->c, 0, 1);
        struct cluster_path path = {.cables = {cable}, .hops = 1};

        b->config.unmatched = foresee ? FABRIC_DROP : FABRIC_HOLD;
        bench_start(b);
        qp_id from =
            fabric_create_qp_sized(b->fabric, FABRIC_QP_DIRECT, (host_id){0}, &path, &small);
        qp_id to = fabric_create_qp_sized(b->fabric, FABRIC_QP_DIRECT, (host_id){1}, &path, &small);

        post_send(b, from, 8, 8192);
        bench_run(b);
        cr_assert_eq(b->count, 0, "nowhere to go yet");
        fabric_set_peer(b->fabric, from, to);
        cr_assert_eq(fabric_qp_foresees(b->fabric, from), foresee != 0);
        bench_report(b);
        cr_assert_eq(b->count, foresee ? 2 : 0);
        bench_run(b);
        cr_assert_eq(bench_nth(b, from, false, 0).at.ps, 2 * FRAME_PS);
        cr_assert_eq(bench_nth(b, to, true, 0).at.ps, 2 * FRAME_PS + LATENCY_PS);
        cr_assert_eq(bench_nth(b, to, true, 0).wr_id, 8);
        cr_assert_eq(bench_nth(b, to, true, 0).peer_wr_id, 8);
        cr_assert_eq(fabric_qp_counters(b->fabric, to).recvs, 1);
        /* The target did not know of the sender, and may go. */
        post_send(b, from, 9, 4096);
        bench_run_until(b, bench_now(b).ps + FRAME_PS);
        cr_assert(fabric_release_qp(b->fabric, to));
        post_send(b, from, 10, 4096);
        bench_run(b);
        cr_assert_eq(b->lost_count, foresee ? 0 : 1);
        cr_assert_eq(bench_count(b, from, false), 2, "the last one waits for ever");
        bench_free(b);
    }
}

Test(fabric_life, many_may_send_to_one)
{
    struct bench *b = pool_bench(4, 64, true);
    struct cluster_path path = {.hops = 1};
    qp_id from[3];

    for (uint32_t i = 0; i < 3; i++)
        bench_cluster_add_cable(&b->c, 3, i);
    bench_start(b);
    qp_id to = fabric_create_qp_sized(b->fabric, FABRIC_QP_DIRECT, (host_id){3}, &path, &small);

    for (uint32_t i = 0; i < 3; i++) {
        path.cables[0] = (cable_id){i};
        from[i] = fabric_create_qp_sized(b->fabric, FABRIC_QP_DIRECT, (host_id){i}, &path, &small);
        fabric_set_peer(b->fabric, from[i], to);
        post_send(b, from[i], 100 + i, 4096);
    }
    bench_run(b);
    cr_assert_eq(bench_count(b, to, true), 3);
    for (uint32_t i = 0; i < 3; i++)
        cr_assert_eq(bench_nth(b, to, true, i).at.ps, FRAME_PS + LATENCY_PS);
    bench_free(b);
}

Test(fabric_life, a_message_to_the_same_host_takes_the_latency_alone)
{
    for (int foresee = 0; foresee < 2; foresee++) {
        struct bench *b = pool_bench(1, 64, foresee);

        b->config.has_jitter = true;
        b->c.params.v[PARAM_RDMA_JITTER].value = 366000;
        bench_start(b);
        qp_id x = fabric_create_qp_sized(b->fabric, FABRIC_QP_DIRECT, (host_id){0}, &here, &small);
        qp_id y = fabric_create_qp_sized(b->fabric, FABRIC_QP_RDMA, (host_id){0}, &here, &small);
        qp_id z = fabric_create_qp_sized(b->fabric, FABRIC_QP_RDMA, (host_id){0}, &here, &small);

        fabric_set_peer(b->fabric, x, x); /* to itself */
        fabric_connect_qp(b->fabric, y, z);
        cr_assert_eq(fabric_qp_foresees(b->fabric, x), foresee != 0);
        post_send(b, x, 1, 1 << 20);
        post_send(b, x, 2, 1);
        post_send(b, y, 3, 4096);
        post_recv(b, z, 4, 4096);
        bench_run(b);
        cr_assert_eq(bench_nth(b, x, false, 0).at.ps, 0);
        cr_assert_eq(bench_nth(b, x, false, 1).at.ps, 0);
        cr_assert_eq(bench_nth(b, x, true, 0).at.ps, LATENCY_PS);
        cr_assert_eq(bench_nth(b, x, true, 1).wr_id, 2);
        cr_assert_eq(bench_nth(b, y, false, 0).at.ps, 0);
        cr_assert_eq(bench_nth(b, z, true, 0).at.ps, LATENCY_PS);
        cr_assert_eq(bench_nth(b, z, true, 0).wr_id, 4);
        if (foresee)
            cr_assert_eq(b->said[b->count - 1].ps, 0);
        cr_assert(fabric_param_had_effect(b->fabric, PARAM_RDMA_LATENCY));
        cr_assert(fabric_release_qp(b->fabric, x));
        cr_assert(fabric_release_qp(b->fabric, y));
        cr_assert(fabric_param_had_effect(b->fabric, PARAM_RDMA_LATENCY), "what was stays");
        bench_free(b);
    }
}

/* What has become of each request. Index: wr_id, which is unique here. */
struct fate {
    uint32_t send_done, delivered, lost, send_flushed, recv_done, recv_flushed;
};

#define REQUESTS_MAX 4096
#define PAIRS        6

/* Pairs that come, talk, are flushed and go, at random. */
struct churn {
    struct bench *b;
    struct rng rng;
    struct bench_pair pairs[PAIRS];
    bool lives[PAIRS][2];
    uint64_t requests;
    uint64_t hash;
    struct fate fate[REQUESTS_MAX];
    bool is_send[REQUESTS_MAX];
};

static void mix(struct churn *c, uint64_t word)
{
    c->hash = (c->hash ^ word) * UINT64_C(0x100000001b3);
}

static void churn_completed(void *ctx, const struct fabric_completion *completion)
{
    struct churn *c = ctx;

    mix(c, completion->wr_id);
    mix(c, (uint64_t)completion->at.ps);
    if (completion->is_recv) {
        c->fate[completion->peer_wr_id].delivered++;
        if (completion->wr_id != completion->peer_wr_id) /* not direct */
            c->fate[completion->wr_id].recv_done++;
    } else {
        c->fate[completion->wr_id].send_done++;
    }
}

static void churn_lost(void *ctx, qp_id sender, uint64_t wr_id)
{
    struct churn *c = ctx;

    (void)sender;
    mix(c, wr_id);
    c->fate[wr_id].lost++;
}

static void churn_flushed(void *ctx, qp_id qp, uint64_t wr_id, bool is_recv)
{
    struct churn *c = ctx;

    (void)qp;
    mix(c, wr_id);
    if (is_recv)
        c->fate[wr_id].recv_flushed++;
    else
        c->fate[wr_id].send_flushed++;
}

static struct fabric_hooks churn_hooks(struct churn *c)
{
    return (struct fabric_hooks){
        .ctx = c, .completed = churn_completed, .lost = churn_lost, .flushed = churn_flushed};
}

static qp_id end_of(const struct churn *c, uint32_t pair, uint32_t side)
{
    return side ? c->pairs[pair].b : c->pairs[pair].a;
}

static void churn_create(struct churn *c, uint32_t pair)
{
    struct bench *b = c->b;
    cable_id cable = {(uint32_t)rng_below(&c->rng, 3)};

    /* The hub's path leads over the cables 3 and 4. */
    if (rng_below(&c->rng, 4) == 0) {
        struct cluster_path there = {.cables = {{3}, {4}}, .hops = 2};
        struct cluster_path back = {.cables = {{4}, {3}}, .hops = 2};

        c->pairs[pair] = (struct bench_pair){
            fabric_create_qp_sized(b->fabric, FABRIC_QP_RDMA, (host_id){0}, &there, &small),
            fabric_create_qp_sized(b->fabric, FABRIC_QP_RDMA, (host_id){1}, &back, &small)};
        fabric_connect_qp(b->fabric, c->pairs[pair].a, c->pairs[pair].b);
    } else {
        enum fabric_qp_kind kind = rng_below(&c->rng, 3) ? FABRIC_QP_RDMA : FABRIC_QP_DIRECT;

        c->pairs[pair] = bench_connect_sized(b, kind, cable, &small);
    }
    cr_assert_neq(c->pairs[pair].a.ix, ID_NONE);
    cr_assert_neq(c->pairs[pair].b.ix, ID_NONE);
    c->lives[pair][0] = c->lives[pair][1] = true;
}

static void churn_post(struct churn *c, uint32_t pair, uint32_t side)
{
    bytecount size = {1 + rng_below(&c->rng, rng_below(&c->rng, 2) ? 500000 : 5000)};
    bool is_send = rng_below(&c->rng, 2) != 0;
    uint64_t wr_id = c->requests++;
    simtime now = bench_now(c->b);

    c->is_send[wr_id] = is_send;
    if (is_send)
        fabric_post_send(c->b->fabric, end_of(c, pair, side), now, wr_id, size);
    else
        fabric_post_recv(c->b->fabric, end_of(c, pair, side), now, wr_id, size);
}

static void churn_step(struct churn *c)
{
    struct fabric_hooks hooks = churn_hooks(c);
    uint32_t pair = (uint32_t)rng_below(&c->rng, PAIRS);
    uint32_t side = (uint32_t)rng_below(&c->rng, 2);
    int64_t step = (int64_t)rng_below(&c->rng, 8 * (uint64_t)PS_PER_US);

    if (!c->lives[pair][0] && !c->lives[pair][1])
        churn_create(c, pair);
    else if (c->lives[pair][side] && rng_below(&c->rng, 12) == 0)
        fabric_flush_qp(c->b->fabric, end_of(c, pair, side), &hooks);
    else if (c->lives[pair][side] && rng_below(&c->rng, 6) == 0)
        c->lives[pair][side] = !fabric_release_qp(c->b->fabric, end_of(c, pair, side));
    else if (c->lives[pair][side] && c->requests < REQUESTS_MAX)
        churn_post(c, pair, side);
    if (rng_below(&c->rng, 3) == 0)
        fabric_run_until(c->b->fabric, at_ps(bench_now(c->b).ps + step), &hooks, NULL);
}

static struct churn *churn_run(uint64_t seed, bool foresee)
{
    struct churn *c = calloc(1, sizeof *c);
    struct bench *b = pool_bench(3, 4096, foresee);
    struct fabric_hooks hooks = churn_hooks(c);

    c->b = b;
    rng_init(&c->rng, seed, 0);
    b->config.has_jitter = true;
    b->config.seed = seed;
    b->config.unmatched = seed % 4 ? FABRIC_HOLD : FABRIC_DROP;
    b->config.qp_capacity = 2 * PAIRS;
    b->c.params.v[PARAM_RDMA_JITTER].value = 366000;
    bench_cluster_make_hub(&b->c, 2);
    for (int i = 0; i < 3; i++)
        bench_cluster_add_cable(&b->c, 0, 1);
    bench_cluster_add_cable(&b->c, 0, 2);
    bench_cluster_add_cable(&b->c, 1, 2);
    bench_start(b);
    if (seed % 3 == 0)
        fabric_set_frame_faults(b->fabric, (cable_id){0}, 50000000, 50000000);
    for (int i = 0; i < 1500; i++)
        churn_step(c);
    fabric_run_until(b->fabric, simtime_never(), &hooks, NULL);
    for (uint32_t pair = 0; pair < PAIRS; pair++) {
        for (uint32_t side = 0; side < 2; side++) {
            if (c->lives[pair][side])
                fabric_flush_qp(b->fabric, end_of(c, pair, side), &hooks);
        }
    }
    fabric_run_until(b->fabric, simtime_never(), &hooks, NULL);
    for (uint32_t pair = 0; pair < PAIRS; pair++) {
        for (uint32_t side = 0; side < 2; side++)
            cr_assert(!c->lives[pair][side] || fabric_release_qp(b->fabric, end_of(c, pair, side)),
                      "seed %lu: everything is over", (unsigned long)seed);
    }
    return c;
}

static void churn_free(struct churn *c)
{
    bench_free(c->b);
    free(c);
}

Test(fabric_life, every_request_meets_exactly_one_fate_whatever_comes_and_goes)
{
    uint64_t fates[4] = {0};

    for (uint64_t seed = 0; seed < 200; seed++) {
        struct churn *c = churn_run(seed, seed % 2 != 0);
        struct churn *again = churn_run(seed, seed % 2 != 0);

        cr_assert_eq(c->hash, again->hash, "seed %lu", (unsigned long)seed);
        for (uint64_t i = 0; i < c->requests; i++) {
            const struct fate *fate = &c->fate[i];

            if (c->is_send[i]) {
                cr_assert_eq(fate->delivered + fate->lost + fate->send_flushed, 1,
                             "seed %lu, send %lu: %u %u %u", (unsigned long)seed, (unsigned long)i,
                             fate->delivered, fate->lost, fate->send_flushed);
                cr_assert_eq(fate->send_done + fate->send_flushed, 1);
            } else {
                cr_assert_eq(fate->recv_done + fate->recv_flushed, 1, "seed %lu, receive %lu",
                             (unsigned long)seed, (unsigned long)i);
            }
            fates[0] += fate->delivered;
            fates[1] += fate->lost;
            fates[2] += fate->send_flushed;
            fates[3] += fate->recv_flushed;
        }
        churn_free(c);
        churn_free(again);
    }
    for (int i = 0; i < 4; i++)
        cr_assert_gt(fates[i], 500, "%d: %lu", i, (unsigned long)fates[i]);
}
