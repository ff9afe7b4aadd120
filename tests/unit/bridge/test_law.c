/* SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>
#include <stdlib.h>

#include <criterion/criterion.h>

#include "tests/unit/bridge/support/net.h"

/* Frames in 150 ns each. */
#define MU (LAW_SECONDS * (uint64_t)PS_PER_S / (150 * (uint64_t)PS_PER_NS))

struct rates {
    uint64_t carried, dropped, taken, refused; /* frames a second, over all */
};

static struct rates add_rates(const struct law *law)
{
    struct rates sum = {0};

    for (uint32_t i = 0; i < law->link_count; i++) {
        sum.carried += law->links[i].carried;
        sum.dropped += law->links[i].dropped;
    }
    for (uint32_t i = 0; i < law->node_count; i++) {
        if (law->nodes[i].most) {
            sum.taken += law->nodes[i].taken;
            sum.refused += law->nodes[i].arriving - law->nodes[i].taken;
        }
    }
    sum.carried /= LAW_SECONDS;
    sum.dropped /= LAW_SECONDS;
    sum.taken /= LAW_SECONDS;
    sum.refused /= LAW_SECONDS;
    return sum;
}

/* Are they apart by at most so many ten thousandths of b? */
static bool is_near(uint64_t a, uint64_t b, uint64_t parts)
{
    uint64_t apart = a > b ? a - b : b - a;

    return apart * 10000 <= b * parts;
}

/* Each cable is full, and N - 3 frames are dropped for each that passes. */
Test(law, full_meshes)
{
    for (uint32_t nodes = 4; nodes <= 16; nodes++) {
        struct net net = net_new(nodes);
        struct law law;

        net_join_all(&net);
        net_build(&net);
        law = net_law(&net);
        cr_assert(law_solve(&law));
        for (uint32_t i = 0; i < law.link_count; i++) {
            cr_expect_eq(law.links[i].carried, MU, "%" PRIu32, nodes);
            cr_expect_eq(law.links[i].dropped, (nodes - 3) * MU, "%" PRIu32, nodes);
        }
        net_law_done(&law);
        net_done(&net);
    }
}

/* With software of R frames a second a cable carries R(N - 2)/(N - 1), if that is less. */
Test(law, full_meshes_of_slow_software)
{
    for (uint32_t nodes = 4; nodes <= 8; nodes++) {
        uint64_t rate = LAW_SECONDS * 1000000;
        struct net net = net_new(nodes);
        struct law law;

        net_join_all(&net);
        net_limit(&net, 1000000);
        net_build(&net);
        law = net_law(&net);
        cr_assert(law_solve(&law), "%" PRIu32, nodes);
        for (uint32_t i = 0; i < law.link_count; i++) {
            cr_expect(is_near(law.links[i].carried, rate * (nodes - 2) / (nodes - 1), 1));
            cr_expect_eq(law.links[i].dropped, 0);
        }
        for (uint32_t i = 0; i < nodes; i++)
            cr_expect_eq(law.nodes[i].taken, rate);
        net_law_done(&law);
        net_done(&net);
    }
}

/* A leaf sends nothing back; the rest of a ring with a chord is full. */
Test(law, ring_with_chord_and_tail)
{
    struct net net = net_new(8);
    struct law law;

    net_join_irregular(&net);
    net_build(&net);
    law = net_law(&net);
    cr_assert(law_solve(&law));
    for (uint32_t i = 0; i < law.link_count; i++) {
        bool is_back = law.links[i].from >= 6 && law.links[i].to < law.links[i].from;

        cr_expect_eq(law.links[i].carried, is_back ? 0 : MU, "link %" PRIu32, i);
    }
    net_law_done(&law);
    net_done(&net);
}

/* Frames and law over the span between two instants, within 0.2 % of what passes. */
static void compare(struct net *net, int64_t from_ps, int64_t until_ps, const char *name)
{
    uint64_t us = (uint64_t)((until_ps - from_ps) / PS_PER_US);
    struct law law = net_law(net);
    struct net_sum before;
    struct net_sum after;
    struct rates rates;

    cr_assert(law_solve(&law), "%s", name);
    rates = add_rates(&law);
    net_spark(net);
    net_run(net, from_ps);
    before = net_add(net);
    net_run(net, until_ps);
    after = net_add(net);
    cr_expect(is_near(after.frames - before.frames, rates.carried * us / 1000000, 20),
              "%s: %" PRIu64 " frames passed, law %" PRIu64, name, after.frames - before.frames,
              rates.carried * us / 1000000);
    cr_expect(is_near(after.drops - before.drops, rates.dropped * us / 1000000, 20),
              "%s: %" PRIu64 " frames dropped, law %" PRIu64, name, after.drops - before.drops,
              rates.dropped * us / 1000000);
    cr_expect(is_near(after.taken - before.taken, rates.taken * us / 1000000, 20),
              "%s: %" PRIu64 " frames taken, law %" PRIu64, name, after.taken - before.taken,
              rates.taken * us / 1000000);
    cr_expect(is_near(after.backlog_drops - before.backlog_drops, rates.refused * us / 1000000, 20),
              "%s: %" PRIu64 " frames refused, law %" PRIu64, name,
              after.backlog_drops - before.backlog_drops, rates.refused * us / 1000000);
    net_law_done(&law);
    net_done(net);
}

Test(law, is_what_frames_do_in_full_meshes)
{
    for (uint32_t nodes = 4; nodes <= 8; nodes++) {
        struct net net = net_new(nodes);

        net_join_all(&net);
        net_build(&net);
        compare(&net, 100 * PS_PER_US, 1100 * PS_PER_US, "fast");
    }
}

Test(law, is_what_frames_do_where_software_is_slow)
{
    struct row {
        uint64_t rate;
        int64_t span_ps;
    } rows[] = {{1000000, 30 * PS_PER_MS}, {15000000, 3 * PS_PER_MS}};

    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        for (uint32_t nodes = 4; nodes <= 8; nodes++) {
            struct net net = net_new(nodes);

            net_join_all(&net);
            net_limit(&net, rows[i].rate);
            net.config.seed = nodes;
            net_build(&net);
            compare(&net, PS_PER_MS, PS_PER_MS + rows[i].span_ps, "slow");
        }
    }
}

Test(law, is_what_frames_do_in_an_irregular_graph)
{
    struct net net = net_new(8);

    net_join_irregular(&net);
    net_build(&net);
    compare(&net, PS_PER_MS, 21 * PS_PER_MS, "irregular");
}

/* Where nothing multiplies the law says full, and frames say two copies: it must not be used. */
Test(law, is_wrong_for_one_ring_that_did_not_saturate)
{
    struct net net = net_new(6);
    struct law law;
    uint64_t frames;

    net_join_ring(&net, 6);
    net_build(&net);
    law = net_law(&net);
    cr_assert(law_solve(&law));
    net_spark(&net);
    net_run(&net, 10 * PS_PER_MS);
    frames = net_add(&net).frames;
    cr_expect_gt(add_rates(&law).carried / 100, 40 * frames);
    net_law_done(&law);
    net_done(&net);
}
