/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/fabric/support/bench_cluster.h"

#include <string.h>

static const struct chip_model chip = {.name = "test"};
static const struct machine_model mac = {
    .name = "test-mac", .kind = MACHINE_MAC, .chip = &chip, .is_rdma_capable = true};
static const struct machine_model hub = {.name = "test-hub", .kind = MACHINE_HUB};
static const struct macos_model macos = {
    .version = "26.3", .has_rdma = true, .has_large_buffers = true};
static const struct cable_model tb5 = {.name = "tb5", .generation = 5};
static const struct port_model port = {
    .number = 1, .label = "1", .ifname = "en1", .kind = PORT_THUNDERBOLT, .generation = 5};

void bench_cluster_init(struct bench_cluster *bench, uint32_t hosts)
{
    memset(bench, 0, sizeof *bench);
    for (uint32_t h = 0; h < hosts; h++) {
        bench->hosts[h] = (struct cluster_host){.name = "host",
                                                .model = &mac,
                                                .macos = "26.3",
                                                .macos_profile = &macos,
                                                .is_rdma_enabled = true,
                                                .ports = bench->ports[h],
                                                .port_count = BENCH_PORTS};
        for (uint32_t p = 0; p < BENCH_PORTS; p++)
            bench->ports[h][p] = (struct cluster_port){.model = &port, .cable = {ID_NONE}};
    }
    bench->cluster = (struct cluster){
        .hosts = bench->hosts, .host_count = hosts, .cables = bench->cables, .cable_count = 0};
    bench->params.v[PARAM_RDMA_GOODPUT].value = INT64_C(80000000000);
    bench->params.v[PARAM_ETHERNET_10G_GOODPUT].value = INT64_C(10000000000);
    bench->params.v[PARAM_RDMA_LATENCY].value = 5 * PS_PER_US;
    bench->params.v[PARAM_RDMA_FRAME].value = 4096;
    bench->params.v[PARAM_RDMA_QUEUE_FRAMES].value = 1023;
    bench->params.v[PARAM_IP_FRAME_HEADER].value = 12;
    bench->params.v[PARAM_IP_STACK_DIRECTION].value = INT64_C(56000000000);
    bench->params.v[PARAM_IP_STACK_PORT].value = INT64_C(80000000000);
    bench->params.v[PARAM_IP_STACK_HOST].value = INT64_C(120000000000);
    bench->params.v[PARAM_IP_LATENCY].value = 80 * PS_PER_US;
    bench->params.v[PARAM_HUB_LATENCY].value = PS_PER_US / 2;
}

static uint32_t free_port(const struct bench_cluster *bench, uint32_t host)
{
    uint32_t p = 0;

    while (bench->ports[host][p].cable.ix != ID_NONE)
        p++;
    return p;
}

cable_id bench_cluster_add_cable(struct bench_cluster *bench, uint32_t a, uint32_t b)
{
    cable_id id = {(uint32_t)bench->cluster.cable_count++};
    uint32_t port_a = free_port(bench, a);

    bench->ports[a][port_a].cable = id;

    uint32_t port_b = free_port(bench, b);

    bench->ports[b][port_b].cable = id;
    bench->cables[id.ix] = (struct cluster_cable){.a = {{a}, port_a},
                                                  .b = {{b}, port_b},
                                                  .model = &tb5,
                                                  .rate_ab = {UINT64_C(80000000000)},
                                                  .rate_ba = {UINT64_C(80000000000)}};
    return id;
}

void bench_cluster_make_hub(struct bench_cluster *bench, uint32_t host)
{
    bench->hosts[host].model = &hub;
}
