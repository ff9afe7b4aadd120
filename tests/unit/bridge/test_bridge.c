/* SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include <criterion/criterion.h>

#include "sim/core/engine.h"
#include "tests/unit/bridge/support/net.h"

#define SEND_PS (150 * PS_PER_NS)
#define HOP_PS  (SEND_PS + PS_PER_US)

enum graph {
    MESH4,
    MESH5,
    MESH8,
    RING3,
    RING4C,
    RING6CT,
    STAR3
};

/* RING4C: a ring of 4 and the chord 0-2. RING6CT: the irregular one. */
static struct net build_graph(enum graph graph, uint32_t queue)
{
    static const uint32_t nodes[] = {4, 5, 8, 3, 4, 8, 4};
    struct net net = net_new(nodes[graph]);

    if (graph <= MESH8)
        net_join_all(&net);
    if (graph == RING3)
        net_join_ring(&net, 3);
    if (graph == RING4C) {
        net_join_ring(&net, 4);
        net_join(&net, 0, 2);
    }
    for (uint32_t i = 1; graph == STAR3 && i < 4; i++)
        net_join(&net, 0, i);
    if (graph == RING6CT)
        net_join_irregular(&net);
    net.config.queue = queue;
    net_build(&net);
    return net;
}

/* What the bridge module of ns-3.37 counts, to the last frame: one broadcast of 1,500 bytes by node
 * 0 at time 0, BridgeNetDevice on SimpleNetDevice in point-to-point mode, DropTailQueue, 80 Gb/s,
 * 1 us; frames received, and dropped by the queues. Measured on 2026-12-03. */
Test(bridge, counts_of_another_simulator)
{
    static const struct row {
        enum graph graph;
        uint32_t queue;
        int64_t until_ns;
        uint64_t frames;
        uint64_t drops;
    } rows[] = {
        {MESH4, 64, 20000, 1137, 288},
        {MESH4, 64, 100000, 7536, 6684},
        {MESH4, 64, 500000, 39537, 38688},
        {MESH4, 64, 2000000, 159537, 158688},
        {MESH4, 8, 20000, 1137, 960},
        {MESH4, 8, 100000, 7536, 7356},
        {MESH4, 8, 500000, 39537, 39360},
        {MESH4, 2, 20000, 1071, 966},
        {MESH4, 2, 100000, 7467, 7362},
        {MESH4, 2, 500000, 39471, 39366},
        {MESH4, 1, 20000, 351, 330},
        {MESH4, 1, 100000, 2007, 1986},
        {MESH4, 1, 500000, 10359, 10338},
        {MESH5, 64, 20000, 2072, 2724},
        {MESH5, 64, 100000, 12736, 24056},
        {MESH5, 64, 500000, 66072, 130724},
        {MESH5, 64, 2000000, 266072, 530724},
        {MESH5, 8, 20000, 2072, 3844},
        {MESH5, 8, 100000, 12736, 25176},
        {MESH5, 8, 500000, 66072, 131844},
        {MESH5, 2, 20000, 1924, 3672},
        {MESH5, 2, 100000, 12584, 24992},
        {MESH5, 2, 500000, 65924, 131672},
        {MESH5, 1, 20000, 608, 1180},
        {MESH5, 1, 100000, 3368, 6700},
        {MESH5, 1, 500000, 17288, 34540},
        {MESH8, 64, 20000, 6069, 26376},
        {MESH8, 64, 100000, 35973, 175896},
        {MESH8, 64, 500000, 185269, 922376},
        {MESH8, 8, 20000, 6069, 29512},
        {MESH8, 8, 100000, 35973, 179032},
        {MESH8, 8, 500000, 185269, 925512},
        {MESH8, 2, 20000, 5516, 27083},
        {MESH8, 2, 100000, 35364, 176323},
        {MESH8, 2, 500000, 184716, 923083},
        {MESH8, 1, 20000, 1715, 8470},
        {MESH8, 1, 100000, 9443, 47110},
        {MESH8, 1, 500000, 48419, 241990},
        {RING3, 64, 20000, 34, 0},
        {RING3, 64, 100000, 172, 0},
        {RING3, 64, 500000, 868, 0},
        {RING3, 64, 2000000, 3478, 0},
        {RING3, 8, 20000, 34, 0},
        {RING3, 8, 100000, 172, 0},
        {RING3, 8, 500000, 868, 0},
        {RING3, 2, 20000, 34, 0},
        {RING3, 2, 100000, 172, 0},
        {RING3, 2, 500000, 868, 0},
        {RING3, 1, 20000, 34, 0},
        {RING3, 1, 100000, 172, 0},
        {RING3, 1, 500000, 868, 0},
        {RING4C, 64, 20000, 751, 0},
        {RING4C, 64, 100000, 6086, 3183},
        {RING4C, 64, 500000, 32751, 19184},
        {RING4C, 64, 2000000, 132751, 79184},
        {RING4C, 8, 20000, 751, 320},
        {RING4C, 8, 100000, 6086, 3519},
        {RING4C, 8, 500000, 32751, 19520},
        {RING4C, 2, 20000, 668, 304},
        {RING4C, 2, 100000, 6002, 3503},
        {RING4C, 2, 500000, 32668, 19504},
        {RING4C, 1, 20000, 251, 130},
        {RING4C, 1, 100000, 1631, 958},
        {RING4C, 1, 500000, 8591, 5134},
        {RING6CT, 64, 20000, 783, 0},
        {RING6CT, 64, 100000, 9316, 3479},
        {RING6CT, 64, 500000, 51983, 22145},
        {RING6CT, 64, 2000000, 211983, 92145},
        {RING6CT, 8, 20000, 782, 136},
        {RING6CT, 8, 100000, 9315, 3870},
        {RING6CT, 8, 500000, 51982, 22536},
        {RING6CT, 2, 20000, 471, 121},
        {RING6CT, 2, 100000, 8490, 3540},
        {RING6CT, 2, 500000, 51157, 22208},
        {RING6CT, 1, 20000, 211, 76},
        {RING6CT, 1, 100000, 1315, 558},
        {RING6CT, 1, 500000, 6883, 2994},
        {STAR3, 64, 20000, 3, 0},
        {STAR3, 64, 100000, 3, 0},
        {STAR3, 64, 500000, 3, 0},
        {STAR3, 64, 2000000, 3, 0},
    };

    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        const struct row *row = &rows[i];
        struct net net = build_graph(row->graph, row->queue);
        struct net_sum sum;

        net_spark(&net);
        net_run(&net, row->until_ns * PS_PER_NS);
        sum = net_add(&net);
        cr_expect_eq(sum.frames, row->frames, "row %zu: %" PRIu64 " frames", i, sum.frames);
        cr_expect_eq(sum.drops, row->drops, "row %zu: %" PRIu64 " drops", i, sum.drops);
        net_done(&net);
    }
}

/* Generation k of a full mesh holds (N - 1)(N - 2)^k copies, a hop after the one before, as long as
 * each cable gets one. */
Test(bridge, copies_multiply_in_a_full_mesh)
{
    struct net net = net_new(6);
    uint64_t copies = 5;
    uint64_t frames = 0;

    net_join_all(&net);
    net_build(&net);
    net_spark(&net);
    for (int k = 0; k < 3; k++) {
        net_run(&net, k * HOP_PS);
        cr_expect_eq(bridge_alive(net.bridge), copies, "generation %d", k);
        cr_expect_eq(net_add(&net).frames, frames, "generation %d", k);
        frames += copies;
        copies *= 4;
    }
    cr_expect_eq(net_add(&net).drops, 0);
    net_done(&net);
}

/* Two copies circulate for ever in a ring, one each way, and nothing is dropped. */
Test(bridge, a_ring_neither_multiplies_nor_loses)
{
    for (uint32_t nodes = 3; nodes <= 7; nodes++) {
        struct net net = net_new(nodes);

        net_join_ring(&net, nodes);
        net_build(&net);
        net_spark(&net);
        net_run(&net, 10 * PS_PER_MS);
        cr_expect_eq(net_add(&net).frames, 2 * (10 * PS_PER_MS / HOP_PS), "%" PRIu32, nodes);
        cr_expect_eq(net_add(&net).drops, 0);
        cr_expect_eq(bridge_alive(net.bridge), 2);
        net_done(&net);
    }
}

Test(bridge, a_tree_carries_each_broadcast_once_over_each_cable)
{
    struct net net = net_new(6);

    for (uint32_t i = 1; i < 6; i++)
        net_join(&net, i, (i - 1) / 2);
    net_build(&net);
    for (int i = 0; i < 10; i++)
        net_spark(&net);
    net_run(&net, PS_PER_MS);
    cr_expect_eq(net_add(&net).frames, 10 * 5);
    cr_expect_eq(bridge_alive(net.bridge), 0, "nothing is left");
    net_done(&net);
}

/* One frame on the wire and ten that wait; the rest is dropped. */
Test(bridge, a_queue_holds_what_it_says)
{
    struct net net = net_new(2);

    net_join(&net, 0, 1);
    net.config.queue = 10;
    net_build(&net);
    for (int i = 0; i < 25; i++)
        net_spark(&net);
    cr_expect_eq(bridge_link(net.bridge, 0)->drops, 14);
    net_run(&net, SEND_PS + 1); /* one is out, so one has room */
    net_spark(&net);
    net_spark(&net);
    cr_expect_eq(bridge_link(net.bridge, 0)->drops, 15);
    net_run(&net, 12 * SEND_PS + PS_PER_US - 1);
    cr_expect_eq(bridge_link(net.bridge, 0)->frames, 11);
    net_run(&net, 12 * SEND_PS + PS_PER_US);
    cr_expect_eq(bridge_link(net.bridge, 0)->frames, 12, "last bit out, and the latency");
    net_done(&net);
}

Test(bridge, calendar_and_heap_agree_to_the_event)
{
    for (uint64_t limit = 0; limit <= 1000000; limit += 500000) {
        uint64_t digest[2];

        for (int kind = 0; kind < 2; kind++) {
            struct net net = net_new(5);

            net_join_all(&net);
            net_limit(&net, limit);
            net.config.seed = 7;
            net.config.evq = kind ? EVQ_HEAP : EVQ_CALENDAR;
            net_build(&net);
            net_spark(&net);
            net_run(&net, PS_PER_MS);
            digest[kind] = engine_digest(bridge_engine(net.bridge));
            net_done(&net);
        }
        cr_expect_eq(digest[0], digest[1], "limit %" PRIu64, limit);
    }
}

/* A copy of the memory goes on as the original does. */
Test(bridge, a_copy_of_the_memory_is_a_snapshot)
{
    struct net net = net_new(4);
    struct net copy;

    net_join_all(&net);
    net_limit(&net, 800000);
    net_build(&net);
    net_spark(&net);
    net_run(&net, PS_PER_MS);
    copy = net;
    copy.bridge = aligned_alloc(64, net.mem_size);
    cr_assert(copy.bridge);
    memcpy(copy.bridge, net.bridge, net.mem_size);
    net_run(&net, 3 * PS_PER_MS);
    net_run(&copy, 3 * PS_PER_MS);
    cr_expect_eq(engine_digest(bridge_engine(net.bridge)),
                 engine_digest(bridge_engine(copy.bridge)));
    net_done(&net);
    net_done(&copy);
}

struct ears {
    uint32_t heard[NET_NODES_MAX];
};

static void hear(void *ctx, uint32_t node, const struct bridge_frame *frame)
{
    struct ears *ears = ctx;

    (void)frame;
    ears->heard[node]++;
}

static void tell(struct net *net, uint32_t from, uint32_t to, struct ears *ears)
{
    const struct bridge_hooks hooks = {.ctx = ears, .heard = hear};
    const struct bridge_frame frame = {.from = from, .to = to, .size = {100}};
    int64_t now_ps = engine_now(bridge_engine(net->bridge)).ps;

    cr_assert(bridge_send(net->bridge, from, &frame));
    bridge_run(net->bridge, (simtime){now_ps + PS_PER_MS}, &hooks);
}

Test(bridge, an_address_that_was_seen_is_sent_one_way_until_it_is_old)
{
    struct net net = net_new(4);
    struct ears ears = {{0}};

    for (uint32_t i = 1; i < 4; i++)
        net_join(&net, 0, i);
    net_build(&net);
    tell(&net, 1, 2, &ears);
    cr_expect_eq(net_add(&net).frames, 3, "unknown: to the middle and on to both others");
    tell(&net, 2, 1, &ears);
    cr_expect_eq(net_add(&net).frames, 5, "known");
    cr_expect_eq(ears.heard[1] + ears.heard[2], 2);
    cr_expect_eq(ears.heard[0] + ears.heard[3], 0, "not meant");
    bridge_skip(net.bridge, (simspan){301 * PS_PER_S});
    tell(&net, 2, 1, &ears);
    cr_expect_eq(net_add(&net).frames, 8, "forgotten");
    net_done(&net);
}

/* Three bridges in a ring, a millisecond after a broadcast. */
static struct net storm_in_a_ring(void)
{
    struct net net = build_graph(RING3, 64);

    net_spark(&net);
    net_run(&net, PS_PER_MS);
    return net;
}

Test(bridge, pulling_one_cable_ends_a_ring)
{
    for (uint32_t cable = 0; cable < 3; cable++) {
        struct net net = storm_in_a_ring();

        bridge_set_cable(net.bridge, cable, false);
        net_run(&net, PS_PER_MS + 3 * HOP_PS);
        cr_expect_eq(bridge_alive(net.bridge), 0, "cable %" PRIu32, cable);
        bridge_set_cable(net.bridge, cable, true);
        net_spark(&net);
        net_run(&net, 2 * PS_PER_MS);
        cr_expect_eq(bridge_alive(net.bridge), 2, "and again when it is back");
        net_done(&net);
    }
}

Test(bridge, a_port_that_does_not_forward_ends_a_ring)
{
    struct net net = storm_in_a_ring();

    cr_expect(bridge_is_forwarding(net.bridge, 3));
    bridge_set_forwarding(net.bridge, 3, false);
    cr_expect_not(bridge_is_forwarding(net.bridge, 3));
    net_run(&net, PS_PER_MS + 4 * HOP_PS);
    cr_expect_eq(bridge_alive(net.bridge), 0);
    net_done(&net);
}

Test(bridge, no_more_different_frames_than_there_is_room_for)
{
    struct net net = net_new(2);
    const struct bridge_frame frame = {.from = 0, .to = BRIDGE_TO_ALL, .size = {100}};

    net_join(&net, 0, 1);
    net.config.frame_ids = 3;
    net_build(&net);
    for (int i = 0; i < 3; i++)
        cr_expect(bridge_send(net.bridge, 0, &frame));
    cr_expect_not(bridge_send(net.bridge, 0, &frame));
    net_run(&net, PS_PER_MS);
    cr_expect(bridge_send(net.bridge, 0, &frame), "the others have arrived");
    net_done(&net);
}

/* Software that has its fill handles what it can, and is never idle. */
Test(bridge, software_takes_what_it_can)
{
    struct net net = net_new(4);
    uint64_t taken;

    net_join_all(&net);
    net_limit(&net, 1000000);
    net_build(&net);
    net_spark(&net);
    net_run(&net, 100 * PS_PER_MS);
    for (uint32_t i = 0; i < 4; i++) {
        taken = bridge_node(net.bridge, i)->frames;
        cr_expect(taken > 99800 && taken < 100200, "node %" PRIu32 ": %" PRIu64, i, taken);
        cr_expect_lt(bridge_node(net.bridge, i)->idle_ps, PS_PER_MS / 20, "only at the beginning");
    }
    net_done(&net);
}
