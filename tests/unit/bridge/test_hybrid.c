/* SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>
#include <stdlib.h>

#include <criterion/criterion.h>

#include "sim/bridge/hybrid.h"
#include "tests/unit/bridge/support/net.h"

struct bench {
    struct net net; /* its configuration only */
    struct arena arena;
    struct hybrid *h;
};

static const struct bridge_frame spark = {.from = 0, .to = BRIDGE_TO_ALL, .size = {1500}};

static void bench_build(struct bench *bench, bool frames_only)
{
    struct hybrid_config config = {.frames_only = frames_only};

    config.bridge = *net_config(&bench->net);
    arena_init(&bench->arena);
    bench->h = hybrid_new(&bench->arena, &config);
    cr_assert(hybrid_send(bench->h, 0, &spark));
}

static void bench_done(struct bench *bench)
{
    arena_done(&bench->arena);
}

static struct hybrid_count add_links(const struct bench *bench)
{
    struct hybrid_count sum = {0};

    for (uint32_t i = 0; i < 2 * bench->net.config.cable_count; i++) {
        sum.frames += hybrid_link(bench->h, i).frames;
        sum.drops += hybrid_link(bench->h, i).drops;
    }
    return sum;
}

static struct hybrid_count add_nodes(const struct bench *bench)
{
    struct hybrid_count sum = {0};

    for (uint32_t i = 0; i < bench->net.config.node_count; i++) {
        sum.frames += hybrid_node(bench->h, i).frames;
        sum.drops += hybrid_node(bench->h, i).drops;
    }
    return sum;
}

static uint64_t apart(uint64_t a, uint64_t b)
{
    return a > b ? a - b : b - a;
}

/* What came through, or was dropped, both ways. */
struct pair {
    struct hybrid_count mixed, plain;
    uint64_t ppm; /* they are apart by at most so many millionths */
    const char *name, *passed, *dropped;
};

static void expect_near(const struct pair *pair)
{
    const struct hybrid_count *a = &pair->mixed;
    const struct hybrid_count *b = &pair->plain;

    cr_expect_leq(apart(a->frames, b->frames) * 1000000, b->frames * pair->ppm,
                  "%s: %" PRIu64 " %s against %" PRIu64, pair->name, a->frames, pair->passed,
                  b->frames);
    cr_expect_leq(apart(a->drops, b->drops) * 1000000, b->drops * pair->ppm,
                  "%s: %" PRIu64 " %s against %" PRIu64, pair->name, a->drops, pair->dropped,
                  b->drops);
}

/* The same storm both ways; apart by at most `ppm` millionths. */
static void compare(struct bench *mixed, int64_t until_ps, uint64_t ppm, const char *name)
{
    struct bench plain = {.net = mixed->net};

    bench_build(mixed, false);
    bench_build(&plain, true);
    hybrid_run(mixed->h, (simtime){until_ps}, NULL);
    hybrid_run(plain.h, (simtime){until_ps}, NULL);
    cr_expect(hybrid_is_fluid(mixed->h), "%s: saturated", name);
    cr_expect_not(hybrid_is_fluid(plain.h));
    expect_near(&(struct pair){add_links(mixed), add_links(&plain), ppm, name, "frames", "drops"});
    expect_near(&(struct pair){add_nodes(mixed), add_nodes(&plain), ppm, name, "taken", "refused"});
    bench_done(mixed);
    bench_done(&plain);
}

Test(hybrid, full_meshes_count_as_frames_do)
{
    for (uint32_t nodes = 4; nodes <= 8; nodes++) {
        struct bench bench = {.net = net_new(nodes)};

        net_join_all(&bench.net);
        compare(&bench, 2 * PS_PER_MS, 100, "mesh");
    }
}

Test(hybrid, slow_software_counts_as_frames_do)
{
    for (uint32_t nodes = 4; nodes <= 8; nodes++) {
        struct bench bench = {.net = net_new(nodes)};

        net_join_all(&bench.net);
        net_limit(&bench.net, 1000000);
        bench.net.config.seed = nodes;
        compare(&bench, 40 * PS_PER_MS, 2000, "slow mesh");
    }
}

Test(hybrid, an_irregular_graph_counts_as_frames_do)
{
    struct bench bench = {.net = net_new(8)};

    net_join_irregular(&bench.net);
    compare(&bench, 10 * PS_PER_MS, 1000, "irregular");
}

/* Nothing multiplies in a ring, so nothing saturates. */
Test(hybrid, one_ring_stays_with_frames)
{
    struct bench bench = {.net = net_new(6)};
    size_t spans;

    net_join_ring(&bench.net, 6);
    bench_build(&bench, false);
    hybrid_run(bench.h, (simtime){50 * PS_PER_MS}, NULL);
    cr_expect_not(hybrid_is_fluid(bench.h));
    (void)hybrid_spans(bench.h, &spans);
    cr_expect_eq(spans, 0);
    cr_expect_eq(add_links(&bench).frames, 2 * (50 * PS_PER_MS / (1150 * PS_PER_NS)));
    bench_done(&bench);
}

/* Filled from outside until frames are dropped, a ring is full: then the law holds. */
Test(hybrid, a_ring_that_was_filled_is_full)
{
    struct bench bench = {.net = net_new(3)};

    net_join_ring(&bench.net, 3);
    net_limit(&bench.net, 200000);
    bench_build(&bench, false);
    for (int64_t ms = 1; ms < 2000; ms++) {
        cr_assert(hybrid_send(bench.h, 0, &spark));
        hybrid_run(bench.h, (simtime){ms * PS_PER_MS}, NULL);
    }
    cr_expect(hybrid_is_fluid(bench.h));
    bench_done(&bench);
}

/* A minute takes no longer than the first milliseconds: R a second is what each machine takes. */
Test(hybrid, a_minute_of_seven_macs)
{
    struct bench bench = {.net = net_new(7)};
    const struct hybrid_span *spans;
    size_t count;

    net_join_all(&bench.net);
    net_limit(&bench.net, 300000);
    bench_build(&bench, false);
    hybrid_run(bench.h, (simtime){60 * PS_PER_S}, NULL);
    spans = hybrid_spans(bench.h, &count);
    cr_assert_eq(count, 1);
    cr_expect_lt(spans[0].from.ps, 10 * PS_PER_MS);
    cr_expect_eq(spans[0].to.ps, 60 * PS_PER_S);
    cr_expect_leq(apart(add_nodes(&bench).frames, 7 * 60 * UINT64_C(300000)), 2000);
    bench_done(&bench);
}

/* Cables out one by one until only a tree is left: the storm goes on, then it is over. */
Test(hybrid, ends_when_the_last_loop_is_cut)
{
    struct bench bench = {.net = net_new(4)};
    /* 0-1 0-2 0-3 stay: cables 3, 4 and 5 join 1-2, 1-3 and 2-3. */
    int64_t ms = 10;
    size_t count;

    net_join_all(&bench.net);
    net_limit(&bench.net, 500000);
    bench_build(&bench, false);
    hybrid_run(bench.h, (simtime){ms * PS_PER_MS}, NULL);
    cr_expect(hybrid_is_fluid(bench.h));
    for (uint32_t cable = 3; cable < 6; cable++) {
        hybrid_set_cable(bench.h, cable, false);
        cr_expect_not(hybrid_is_fluid(bench.h));
        ms += 10;
        hybrid_run(bench.h, (simtime){ms * PS_PER_MS}, NULL);
        cr_expect_eq(hybrid_alive(bench.h) == 0, cable == 5, "cable %" PRIu32, cable);
    }
    (void)hybrid_spans(bench.h, &count);
    cr_expect_geq(count, 2, "saturated again after the first cut");
    cr_expect_not(hybrid_is_fluid(bench.h));
    bench_done(&bench);
}

/* Blocked ports, as by spanning tree: the same. */
Test(hybrid, ends_when_ports_are_blocked)
{
    struct bench bench = {.net = net_new(4)};

    net_join_all(&bench.net);
    bench_build(&bench, false);
    hybrid_run(bench.h, (simtime){PS_PER_MS}, NULL);
    cr_expect(hybrid_is_fluid(bench.h));
    for (uint32_t link = 6; link < 12; link += 2)
        hybrid_set_forwarding(bench.h, link, false);
    hybrid_run(bench.h, (simtime){2 * PS_PER_MS}, NULL);
    cr_expect_eq(hybrid_alive(bench.h), 0);
    cr_expect_eq(hybrid_now(bench.h).ps, 2 * PS_PER_MS);
    bench_done(&bench);
}
