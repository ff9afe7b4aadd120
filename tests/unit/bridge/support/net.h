/* SPDX-License-Identifier: Apache-2.0 */
/* Small graphs of bridges for the tests of sim/bridge. */
#ifndef TESTS_UNIT_BRIDGE_SUPPORT_NET_H
#define TESTS_UNIT_BRIDGE_SUPPORT_NET_H

#include <stddef.h>
#include <stdint.h>

#include "sim/bridge/bridge.h"
#include "sim/bridge/law.h"

#define NET_NODES_MAX  16U
#define NET_CABLES_MAX 120U

struct net {
    struct bridge_config config;
    struct bridge_node_config nodes[NET_NODES_MAX];
    struct bridge_cable_config cables[NET_CABLES_MAX];
    struct bridge *bridge; /* after net_build; freed by net_done */
    size_t mem_size;
};

/* Bridges without a limit of their own, 1,500 byte frames, 80 Gb/s (150 ns a frame), 1 us, queues
 * of 64. Edges are pairs of nodes. */
struct net net_new(uint32_t nodes);
void net_join(struct net *net, uint32_t a, uint32_t b);
void net_join_all(struct net *net);
/* The first so many nodes in a circle. */
void net_join_ring(struct net *net, uint32_t nodes);
/* Of 8 nodes: a ring of 6, the chord 0-3 and the tail 5-6-7. */
void net_join_irregular(struct net *net);
/* Every machine takes in so many frames a second. */
void net_limit(struct net *net, uint64_t rate);
/* The configuration of this very net: it points to its nodes and cables. */
const struct bridge_config *net_config(struct net *net);
void net_build(struct net *net);
void net_done(struct net *net);
/* Node 0 sends one frame for everybody. */
void net_spark(struct net *net);
void net_run(struct net *net, int64_t until_ps);

/* Over all links, and over all machines. */
struct net_sum {
    uint64_t frames, drops, taken, backlog_drops;
};
struct net_sum net_add(const struct net *net);

/* The law for the same graph; freed by net_law_done. */
struct law net_law(const struct net *net);
void net_law_done(struct law *law);

#endif
