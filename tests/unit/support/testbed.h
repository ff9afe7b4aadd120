/* SPDX-License-Identifier: Apache-2.0 */
/* Clusters built in a few lines, for tests that need machines and cables but no user text. */
#ifndef TESTS_UNIT_SUPPORT_TESTBED_H
#define TESTS_UNIT_SUPPORT_TESTBED_H

#include <stdlib.h>
#include <string.h>

#include "sim/base/arena.h"
#include "sim/fabric/cluster.h"

#define TESTBED_HOSTS  16U
#define TESTBED_CABLES 64U
#define GBPS(n)        ((bitrate){(uint64_t)(n)*1000000000U})
#define GIB(n)         ((bytecount){(uint64_t)(n) << 30})

struct testbed {
    struct arena arena;
    struct cluster cluster;
};

/* clang-format off */
#define TB5(n, text, name) {.number = (n), .label = (text), .ifname = (name), \
    .kind = PORT_THUNDERBOLT, .rate = {80000000000U}, .generation = 5}
#define TB5_DOUBTFUL(n, text, name) {.number = (n), .label = (text), .ifname = (name), \
    .kind = PORT_THUNDERBOLT, .rate = {80000000000U}, .generation = 5, .is_doubtful = true, \
    .doubt = "exo says no RDMA here, MLX lists the device."}
#define TB4(n, text, name) {.number = (n), .label = (text), .ifname = (name), \
    .kind = PORT_THUNDERBOLT, .rate = {40000000000U}, .generation = 4}
#define ETH10(n, name) {.number = (n), .label = "Ethernet", .ifname = (name), \
    .kind = PORT_ETHERNET, .rate = {10000000000U}}
/* clang-format on */

static const struct port_model testbed_ultra_ports[] = {
    TB5_DOUBTFUL(1, "rear 1, beside Ethernet", "en2"),
    TB5(2, "rear 2", "en3"),
    TB5(3, "rear 3", "en4"),
    TB5(4, "rear 4", "en5"),
    TB5(5, "front left", "en6"),
    TB5(6, "front right", "en7"),
    ETH10(7, "en0"),
};
static const struct port_model testbed_max_ports[] = {
    TB5_DOUBTFUL(1, "rear 1, beside Ethernet", "en2"),
    TB5(2, "rear 2", "en3"),
    TB5(3, "rear 3", "en4"),
    TB5(4, "rear 4", "en5"),
    ETH10(5, "en0"),
};
static const struct port_model testbed_mini_ports[] = {
    TB5(1, "rear left", "en2"),
    TB5(2, "rear middle", "en3"),
    TB5(3, "rear right", "en4"),
    ETH10(4, "en0"),
};
static const struct port_model testbed_tb4_ports[] = {
    TB4(1, "rear left", "en2"),
    TB4(2, "rear middle", "en3"),
    TB4(3, "rear right", "en4"),
    ETH10(4, "en0"),
};
static const struct port_model testbed_hub_ports[] = {
    TB5(1, "upstream", ""),
    TB5(2, "downstream 1", ""),
    TB5(3, "downstream 2", ""),
    TB5(4, "downstream 3", ""),
};
static const bytecount testbed_ultra_memory[] = {{96ULL << 30}, {256ULL << 30}, {512ULL << 30}};
static const bytecount testbed_max_memory[] = {{48ULL << 30}, {64ULL << 30}, {128ULL << 30}};
static const bytecount testbed_mini_memory[] = {{24ULL << 30}, {48ULL << 30}, {64ULL << 30}};
static const bytecount testbed_tb4_memory[] = {{16ULL << 30}};
static const struct chip_model testbed_chip = {.name = "a-chip"};

#define TESTBED_MAC(id, text, port_list, memory_list, capable)                          \
    {                                                                                   \
        .name = (id), .title = (text), .kind = MACHINE_MAC, .chip = &testbed_chip,      \
        .memory_options = (memory_list),                                                \
        .memory_option_count = sizeof(memory_list) / sizeof((memory_list)[0]),          \
        .ports = (port_list), .port_count = sizeof(port_list) / sizeof((port_list)[0]), \
        .is_rdma_capable = (capable),                                                   \
    }

static const struct machine_model testbed_models[] = {
    TESTBED_MAC("mac-studio-m3-ultra", "Mac Studio (M3 Ultra)", testbed_ultra_ports,
                testbed_ultra_memory, true),
    TESTBED_MAC("mac-studio-m4-max", "Mac Studio (M4 Max)", testbed_max_ports, testbed_max_memory,
                true),
    TESTBED_MAC("mac-mini-m4-pro", "Mac mini (M4 Pro)", testbed_mini_ports, testbed_mini_memory,
                true),
    TESTBED_MAC("mac-mini-m4", "Mac mini (M4)", testbed_tb4_ports, testbed_tb4_memory, false),
    {.name = "tb5-hub",
     .title = "Thunderbolt 5 hub",
     .kind = MACHINE_HUB,
     .ports = testbed_hub_ports,
     .port_count = 4},
};
#define TESTBED_MODELS (sizeof testbed_models / sizeof testbed_models[0])

static const struct macos_model testbed_macos[] = {
    {.version = "15.0", .bridge_default = true, .qp_limit = 10, .mr_limit = 100},
    {.version = "26.2", .has_rdma = true, .bridge_default = true, .qp_limit = 10, .mr_limit = 100},
    {.version = "26.3",
     .has_rdma = true,
     .has_large_buffers = true,
     .bridge_default = true,
     .qp_limit = 10,
     .mr_limit = 100},
};

#define TESTBED_MACOS (sizeof testbed_macos / sizeof testbed_macos[0])

static const struct cable_model testbed_tb5_cable = {.name = "tb5-1m",
                                                     .kind = PORT_THUNDERBOLT,
                                                     .generation = 5,
                                                     .rate_forward = {80000000000U},
                                                     .rate_reverse = {80000000000U},
                                                     .length_mm = 1000};
static const struct cable_model testbed_tb4_cable = {.name = "tb4-1m",
                                                     .kind = PORT_THUNDERBOLT,
                                                     .generation = 4,
                                                     .rate_forward = {40000000000U},
                                                     .rate_reverse = {40000000000U},
                                                     .length_mm = 1000};

static inline void testbed_init(struct testbed *bed)
{
    memset(bed, 0, sizeof *bed);
    arena_init(&bed->arena);
    bed->cluster.hosts = arena_alloc_array(&bed->arena, TESTBED_HOSTS, sizeof *bed->cluster.hosts);
    bed->cluster.cables =
        arena_alloc_array(&bed->arena, TESTBED_CABLES, sizeof *bed->cluster.cables);
}

static inline void testbed_done(struct testbed *bed)
{
    arena_done(&bed->arena);
}

static inline const struct machine_model *testbed_model(const char *name)
{
    for (size_t i = 0; i < TESTBED_MODELS; i++) {
        if (strcmp(testbed_models[i].name, name) == 0)
            return &testbed_models[i];
    }
    abort();
}

/* A host that is set up as the documentation asks: RDMA on, no bridge, an address a port. */
static inline struct cluster_host *testbed_add_model(struct testbed *bed, const char *name,
                                                     const struct machine_model *model)
{
    if (bed->cluster.host_count == TESTBED_HOSTS)
        abort();

    struct cluster_host *host = &bed->cluster.hosts[bed->cluster.host_count++];
    bool has_macos = model->kind == MACHINE_MAC;

    host->name = arena_copy_text(&bed->arena, name, strlen(name));
    host->model = model;
    host->macos = has_macos ? "26.3" : "";
    host->macos_profile = has_macos ? &testbed_macos[2] : NULL;
    host->is_rdma_enabled = has_macos && model->is_rdma_capable;
    host->port_count = model->port_count;
    host->ports = arena_alloc_array(&bed->arena, model->port_count, sizeof *host->ports);
    for (size_t i = 0; i < model->port_count; i++)
        host->ports[i] = (struct cluster_port){.model = &model->ports[i], .cable = {ID_NONE}};
    return host;
}

static inline struct cluster_host *testbed_add(struct testbed *bed, const char *name,
                                               const char *model)
{
    return testbed_add_model(bed, name, testbed_model(model));
}

/* Hosts prefix1 .. prefixN. */
static inline void testbed_add_many(struct testbed *bed, const char *prefix,
                                    const struct machine_model *model, uint32_t count)
{
    for (uint32_t i = 1; i <= count; i++)
        testbed_add_model(bed, arena_format(&bed->arena, "%s%u", prefix, i), model);
}

static inline bitrate testbed_least(bitrate a, bitrate b, bitrate c)
{
    bitrate ab = a.bps < b.bps ? a : b;

    return ab.bps < c.bps ? ab : c;
}

/* Plugs a cable into two ports, numbered from 1. */
static inline struct cluster_cable *testbed_cable_of(struct testbed *bed,
                                                     const struct cable_model *model, uint32_t a,
                                                     uint32_t port_a, uint32_t b, uint32_t port_b)
{
    if (bed->cluster.cable_count == TESTBED_CABLES)
        abort();

    uint32_t ix = (uint32_t)bed->cluster.cable_count++;
    struct cluster_cable *cable = &bed->cluster.cables[ix];
    struct cluster_port *at_a = &bed->cluster.hosts[a].ports[port_a - 1];
    struct cluster_port *at_b = &bed->cluster.hosts[b].ports[port_b - 1];

    if (at_a->cable.ix != ID_NONE || at_b->cable.ix != ID_NONE)
        abort();
    at_a->cable = at_b->cable = (cable_id){ix};
    cable->a = (struct cluster_end){{a}, port_a - 1};
    cable->b = (struct cluster_end){{b}, port_b - 1};
    cable->model = model;
    cable->rate_ab = testbed_least(at_a->model->rate, at_b->model->rate, model->rate_forward);
    cable->rate_ba = testbed_least(at_a->model->rate, at_b->model->rate, model->rate_reverse);
    return cable;
}

static inline struct cluster_cable *testbed_cable(struct testbed *bed, uint32_t a, uint32_t port_a,
                                                  uint32_t b, uint32_t port_b)
{
    return testbed_cable_of(bed, &testbed_tb5_cable, a, port_a, b, port_b);
}

/* The lowest free Thunderbolt port, numbered from 1; 0 when all are in use. */
static inline uint32_t testbed_free_port(const struct testbed *bed, uint32_t host)
{
    const struct cluster_host *h = &bed->cluster.hosts[host];

    for (uint32_t i = 0; i < h->port_count; i++) {
        if (h->ports[i].cable.ix == ID_NONE && h->ports[i].model->kind == PORT_THUNDERBOLT)
            return i + 1;
    }
    return 0;
}

/* Cables every pair of hosts on the lowest free ports; false when a port was missing. */
static inline bool testbed_mesh(struct testbed *bed)
{
    for (uint32_t a = 0; a < bed->cluster.host_count; a++) {
        for (uint32_t b = a + 1; b < bed->cluster.host_count; b++) {
            uint32_t port_a = testbed_free_port(bed, a);
            uint32_t port_b = testbed_free_port(bed, b);

            if (!port_a || !port_b)
                return false;
            testbed_cable(bed, a, port_a, b, port_b);
        }
    }
    return true;
}

static inline void testbed_bridge_all(struct testbed *bed)
{
    for (size_t h = 0; h < bed->cluster.host_count; h++) {
        struct cluster_host *host = &bed->cluster.hosts[h];

        for (size_t i = 0; i < host->port_count; i++) {
            bool joins =
                host->model->kind == MACHINE_MAC && host->ports[i].model->kind == PORT_THUNDERBOLT;

            host->ports[i].is_bridge_member = joins;
            if (joins)
                host->ports[i].ip = PORT_IP_BRIDGE;
        }
    }
}

#endif
