/* SPDX-License-Identifier: Apache-2.0 */
/* Clusters of any size with as many ports as they need, and parameters without surprises. */
#ifndef TESTS_UNIT_WORKLOAD_SUPPORT_BENCH_H
#define TESTS_UNIT_WORKLOAD_SUPPORT_BENCH_H

#include <stdlib.h>
#include <string.h>

#include "sim/base/arena.h"
#include "sim/fabric/cluster.h"
#include "sim/fabric/param.h"
#include "sim/workload/run.h"

#define BENCH_PORTS  80U
#define BENCH_HOSTS  1100U
#define BENCH_CABLES 4400U
#define LINE_80G     UINT64_C(80000000000)

struct bench {
    struct arena arena;
    struct cluster cluster;
    struct param_set params;
    struct chip_model chip;
    struct machine_model mac;
    struct macos_model macos;
    struct cable_model cable;
    struct cable_model ethernet;
    host_id nodes[BENCH_HOSTS];
};

static inline void bench_set(struct bench *b, enum param_id id, int64_t value)
{
    b->params.v[id] = (struct param_value){
        .value = value, .low = value, .high = value, .is_set = true, .label = PARAM_USER};
}

/* A fabric whose times can be worked out by hand: 0.1 ns a byte, 4 us, and no CPU cost. */
static inline void bench_set_ideal(struct bench *b)
{
    for (int i = 0; i < PARAM_COUNT; i++)
        bench_set(b, (enum param_id)i, 0);
    bench_set(b, PARAM_RDMA_GOODPUT, (int64_t)LINE_80G);
    bench_set(b, PARAM_RDMA_LATENCY, 4 * PS_PER_US);
    bench_set(b, PARAM_RDMA_FRAME, 4096);
    bench_set(b, PARAM_RDMA_QUEUE_FRAMES, 1023);
    bench_set(b, PARAM_GPU_COPY, 56000000000);
    bench_set(b, PARAM_STORAGE_RATE, 40000000000);
    bench_set(b, PARAM_IP_STACK_DIRECTION, 50000000000);
    bench_set(b, PARAM_IP_STACK_PORT, 80000000000);
    bench_set(b, PARAM_IP_STACK_HOST, 160000000000);
    bench_set(b, PARAM_IP_LATENCY, 80 * PS_PER_US);
    bench_set(b, PARAM_IP_FRAME_HEADER, 12);
    bench_set(b, PARAM_IP_SEGMENT, 65536);
    bench_set(b, PARAM_IP_WINDOW, 64);
    bench_set(b, PARAM_ETHERNET_10G_GOODPUT, 9400000000);
}

/* The costs of CPUs and of chips, of the size that Macs have. */
static inline void bench_add_costs(struct bench *b)
{
    bench_set(b, PARAM_RDMA_POST_SEND, 150 * PS_PER_NS);
    bench_set(b, PARAM_RDMA_POST_RECV, 100 * PS_PER_NS);
    bench_set(b, PARAM_RDMA_POLL, 120 * PS_PER_NS);
    bench_set(b, PARAM_RDMA_CREDIT_LATENCY, 500 * PS_PER_NS);
    bench_set(b, PARAM_CABLE_PROPAGATION, 5 * PS_PER_NS);
    b->chip.thread_copy.bps = 200000000000;
    b->chip.thread_reduce.bps = 120000000000;
    b->chip.host_staging.bps = 400000000000;
    b->chip.memory_bandwidth.bps = 6400000000000;
}

static inline void bench_init(struct bench *b, uint32_t hosts)
{
    struct port_model *ports;

    memset(b, 0, sizeof *b);
    arena_init(&b->arena);
    bench_set_ideal(b);
    ports = arena_alloc_array(&b->arena, BENCH_PORTS, sizeof *ports);
    for (uint32_t i = 0; i < BENCH_PORTS; i++)
        ports[i] =
            (struct port_model){.number = i + 1,
                                .label = "a port",
                                .ifname = "en2",
                                .kind = i + 1 < BENCH_PORTS ? PORT_THUNDERBOLT : PORT_ETHERNET,
                                .rate = {i + 1 < BENCH_PORTS ? LINE_80G : LINE_80G / 8},
                                .generation = i + 1 < BENCH_PORTS ? 5 : 0};
    b->chip.name = "a-chip";
    b->mac = (struct machine_model){.name = "a-mac",
                                    .title = "A Mac",
                                    .kind = MACHINE_MAC,
                                    .chip = &b->chip,
                                    .ports = ports,
                                    .port_count = BENCH_PORTS,
                                    .is_rdma_capable = true};
    b->macos = (struct macos_model){
        .version = "26.3", .has_rdma = true, .has_large_buffers = true, .qp_limit = 10};
    b->cable = (struct cable_model){.name = "tb5-1m",
                                    .kind = PORT_THUNDERBOLT,
                                    .generation = 5,
                                    .rate_forward = {LINE_80G},
                                    .rate_reverse = {LINE_80G},
                                    .length_mm = 1000};
    b->ethernet = (struct cable_model){.name = "cat6",
                                       .kind = PORT_ETHERNET,
                                       .rate_forward = {LINE_80G / 8},
                                       .rate_reverse = {LINE_80G / 8},
                                       .length_mm = 1000};
    b->cluster.hosts = arena_alloc_array(&b->arena, hosts, sizeof *b->cluster.hosts);
    b->cluster.cables = arena_alloc_array(&b->arena, BENCH_CABLES, sizeof *b->cluster.cables);
    b->cluster.host_count = hosts;
    for (uint32_t h = 0; h < hosts; h++) {
        struct cluster_host *host = &b->cluster.hosts[h];

        b->nodes[h].ix = h;
        *host = (struct cluster_host){.name = arena_format(&b->arena, "mac%u", h + 1),
                                      .model = &b->mac,
                                      .macos = "26.3",
                                      .macos_profile = &b->macos,
                                      .is_rdma_enabled = true,
                                      .port_count = BENCH_PORTS};
        host->ports = arena_alloc_array(&b->arena, BENCH_PORTS, sizeof *host->ports);
        for (uint32_t i = 0; i < BENCH_PORTS; i++)
            host->ports[i] = (struct cluster_port){.model = &ports[i], .cable = {ID_NONE}};
    }
}

static inline void bench_done(struct bench *b)
{
    arena_done(&b->arena);
}

static inline uint32_t bench_free_port(const struct bench *b, uint32_t host, enum port_kind kind)
{
    for (uint32_t i = 0; i < BENCH_PORTS; i++) {
        const struct cluster_port *port = &b->cluster.hosts[host].ports[i];

        if (port->model->kind == kind && port->cable.ix == ID_NONE)
            return i;
    }
    abort();
}

static inline struct cluster_cable *bench_cable_of(struct bench *b, const struct cable_model *model,
                                                   uint32_t x, uint32_t y)
{
    uint32_t ix = (uint32_t)b->cluster.cable_count++;
    struct cluster_cable *cable = &b->cluster.cables[ix];
    uint32_t port_x = bench_free_port(b, x, model->kind);

    if (ix >= BENCH_CABLES)
        abort();
    b->cluster.hosts[x].ports[port_x].cable.ix = ix;
    uint32_t port_y = bench_free_port(b, y, model->kind);

    b->cluster.hosts[y].ports[port_y].cable.ix = ix;
    *cable = (struct cluster_cable){.a = {{x}, port_x},
                                    .b = {{y}, port_y},
                                    .model = model,
                                    .rate_ab = model->rate_forward,
                                    .rate_ba = model->rate_reverse};
    return cable;
}

static inline struct cluster_cable *bench_cable(struct bench *b, uint32_t x, uint32_t y)
{
    return bench_cable_of(b, &b->cable, x, y);
}

static inline void bench_mesh(struct bench *b)
{
    for (uint32_t x = 0; x < b->cluster.host_count; x++) {
        for (uint32_t y = x + 1; y < b->cluster.host_count; y++)
            bench_cable(b, x, y);
    }
}

/* A ring with `wires` cables between neighbours; two machines get them once. */
static inline void bench_ring(struct bench *b, uint32_t wires)
{
    uint32_t n = (uint32_t)b->cluster.host_count;

    for (uint32_t x = 0; x < (n == 2 ? 1 : n); x++) {
        for (uint32_t w = 0; w < wires; w++)
            bench_cable(b, x, (x + 1) % n);
    }
}

/* An item with all defaults of the scenario language, on all machines. */
static inline struct run_item bench_item(struct bench *b, enum run_op op, enum run_library library,
                                         uint64_t size)
{
    bytecount *sizes = arena_alloc_array(&b->arena, 1, sizeof *sizes);

    sizes[0].bytes = size;
    return (struct run_item){.op = op,
                             .library = library,
                             .sizes = sizes,
                             .size_count = 1,
                             .dtype = DTYPE_F32,
                             .repeat = 1,
                             .jaccl = JACCL_LATEST,
                             .nodes = b->nodes,
                             .node_count = b->cluster.host_count,
                             .to = 1,
                             .count = 1000,
                             .pos = {"test.yaml", 7, 5}};
}

#endif
