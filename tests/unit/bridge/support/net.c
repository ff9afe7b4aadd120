/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/bridge/support/net.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

struct net net_new(uint32_t nodes)
{
    struct net net = {
        .config =
            {
                .node_count = nodes,
                .queue = 64,
                .age = {300 * PS_PER_S},
                .frame = {64},
                .largest = {1500},
                .frame_ids = 4096,
                .evq = EVQ_CALENDAR,
            },
    };

    assert(nodes <= NET_NODES_MAX);
    for (uint32_t i = 0; i < nodes; i++)
        net.nodes[i] = (struct bridge_node_config){.is_bridge = true, .backlog = 64};
    return net;
}

void net_join(struct net *net, uint32_t a, uint32_t b)
{
    assert(net->config.cable_count < NET_CABLES_MAX);
    net->cables[net->config.cable_count++] = (struct bridge_cable_config){
        .a = a,
        .b = b,
        .a_is_member = true,
        .b_is_member = true,
        .rate_ab = {UINT64_C(80000000000)},
        .rate_ba = {UINT64_C(80000000000)},
        .latency = {PS_PER_US},
    };
}

void net_join_all(struct net *net)
{
    for (uint32_t a = 0; a < net->config.node_count; a++) {
        for (uint32_t b = a + 1; b < net->config.node_count; b++)
            net_join(net, a, b);
    }
}

void net_join_ring(struct net *net, uint32_t nodes)
{
    for (uint32_t i = 0; i < nodes; i++)
        net_join(net, i, (i + 1) % nodes);
}

void net_join_irregular(struct net *net)
{
    net_join_ring(net, 6);
    net_join(net, 0, 3);
    net_join(net, 5, 6);
    net_join(net, 6, 7);
}

void net_limit(struct net *net, uint64_t rate)
{
    for (uint32_t i = 0; i < net->config.node_count; i++)
        net->nodes[i].forward_rate = rate;
}

const struct bridge_config *net_config(struct net *net)
{
    net->config.nodes = net->nodes;
    net->config.cables = net->cables;
    return &net->config;
}

void net_build(struct net *net)
{
    void *mem;

    (void)net_config(net);
    net->mem_size = (bridge_mem_size(&net->config) + 63) / 64 * 64;
    mem = aligned_alloc(64, net->mem_size);
    if (!mem)
        abort();
    memset(mem, 0, net->mem_size);
    net->bridge = bridge_init(mem, &net->config);
}

void net_done(struct net *net)
{
    free(net->bridge);
    net->bridge = NULL;
}

void net_spark(struct net *net)
{
    const struct bridge_frame frame = {.from = 0, .to = BRIDGE_TO_ALL, .size = {1500}};

    if (!bridge_send(net->bridge, 0, &frame))
        abort();
}

void net_run(struct net *net, int64_t until_ps)
{
    bridge_run(net->bridge, (simtime){until_ps}, NULL);
}

struct net_sum net_add(const struct net *net)
{
    struct net_sum sum = {0};

    for (uint32_t i = 0; i < bridge_link_count_of(net->bridge); i++) {
        sum.frames += bridge_link(net->bridge, i)->frames;
        sum.drops += bridge_link(net->bridge, i)->drops;
    }
    for (uint32_t i = 0; i < net->config.node_count; i++) {
        sum.taken += bridge_node(net->bridge, i)->frames;
        sum.backlog_drops += bridge_node(net->bridge, i)->drops;
    }
    return sum;
}

struct law net_law(const struct net *net)
{
    struct law law = {
        .links = calloc(2 * net->config.cable_count, sizeof *law.links),
        .link_count = 2 * net->config.cable_count,
        .nodes = calloc(net->config.node_count, sizeof *law.nodes),
        .node_count = net->config.node_count,
    };

    if (!law.links || !law.nodes)
        abort();
    for (uint32_t i = 0; i < law.link_count; i++) {
        struct bridge_link_ends ends = bridge_link_ends(net->bridge, i);

        law.links[i].from = ends.from;
        law.links[i].to = ends.to;
        law.links[i].most = LAW_SECONDS * (uint64_t)PS_PER_S / (150 * (uint64_t)PS_PER_NS);
    }
    for (uint32_t i = 0; i < law.node_count; i++) {
        law.nodes[i].forwards = net->nodes[i].is_bridge;
        law.nodes[i].most = LAW_SECONDS * net->nodes[i].forward_rate;
    }
    return law;
}

void net_law_done(struct law *law)
{
    free(law->links);
    free(law->nodes);
}
