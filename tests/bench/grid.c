/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/bench/grid.h"

#include <stdlib.h>
#include <string.h>

#define LINE_80G UINT64_C(80000000000)

/* clang-format off */
#define TB5(n, text, name) {.number = (n), .label = (text), .ifname = (name), \
    .kind = PORT_THUNDERBOLT, .rate = {LINE_80G}, .generation = 5}
/* clang-format on */

static const struct port_model ports[GRID_SIDES] = {
    TB5(1, "right", "en1"),
    TB5(2, "left", "en2"),
    TB5(3, "down", "en3"),
    TB5(4, "up", "en4"),
};
/* Faster than the cable, so that the wire stays the limit while host work is simulated. */
static const struct chip_model chip = {
    .name = "bench",
    .thread_copy = {UINT64_C(400000000000)},
    .thread_reduce = {UINT64_C(400000000000)},
    .host_staging = {UINT64_C(1600000000000)},
};
static const struct machine_model machine = {
    .name = "bench",
    .title = "bench",
    .kind = MACHINE_MAC,
    .chip = &chip,
    .ports = ports,
    .port_count = GRID_SIDES,
    .is_rdma_capable = true,
};
static const struct macos_model macos = {
    .version = "26.3", .has_rdma = true, .has_large_buffers = true, .qp_limit = 64};
static const struct cable_model tb5 = {.name = "bench",
                                       .kind = PORT_THUNDERBOLT,
                                       .generation = 5,
                                       .rate_forward = {LINE_80G},
                                       .rate_reverse = {LINE_80G},
                                       .length_mm = 1000};

static void set_params(struct param_set *params)
{
    static const struct {
        enum param_id id;
        int64_t value;
    } values[] = {
        {PARAM_RDMA_GOODPUT, INT64_C(80000000000)},
        {PARAM_RDMA_LATENCY, 5 * PS_PER_US},
        {PARAM_RDMA_FRAME, 4096},
        {PARAM_RDMA_QUEUE_FRAMES, 4095},
        {PARAM_ETHERNET_10G_GOODPUT, INT64_C(10000000000)},
        {PARAM_IP_STACK_DIRECTION, INT64_C(56000000000)},
        {PARAM_IP_STACK_PORT, INT64_C(80000000000)},
        {PARAM_IP_STACK_HOST, INT64_C(120000000000)},
        {PARAM_IP_SEGMENT, 65536},
        {PARAM_IP_WINDOW, 16},
        {PARAM_IP_FRAME_HEADER, 12},
        {PARAM_GPU_COPY, INT64_C(800000000000)},
        {PARAM_STORAGE_RATE, INT64_C(80000000000)},
    };

    memset(params, 0, sizeof *params);
    for (size_t i = 0; i < sizeof values / sizeof values[0]; i++)
        params->v[values[i].id].value = values[i].value;
    for (size_t i = 0; i < PARAM_COUNT; i++)
        params->v[i].is_set = true;
}

static void *alloc_zeroed(size_t count, size_t size)
{
    void *mem = calloc(count, size);

    if (!mem)
        abort();
    return mem;
}

uint32_t grid_neighbour(const struct grid *grid, uint32_t host, enum grid_side side)
{
    uint32_t row = host / grid->columns;
    uint32_t column = host % grid->columns;

    switch (side) {
    case GRID_RIGHT:
        column = (column + 1) % grid->columns;
        break;
    case GRID_LEFT:
        column = (column + grid->columns - 1) % grid->columns;
        break;
    case GRID_DOWN:
        row = (row + 1) % grid->rows;
        break;
    case GRID_UP:
        row = (row + grid->rows - 1) % grid->rows;
        break;
    case GRID_SIDES:
        abort();
    }
    return row * grid->columns + column;
}

enum grid_side grid_opposite(enum grid_side side)
{
    return (enum grid_side)((unsigned)side ^ 1U);
}

cable_id grid_cable(const struct grid *grid, uint32_t host, enum grid_side side)
{
    return grid->cluster.hosts[host].ports[side].cable;
}

static void add_cable(struct grid *grid, uint32_t host, enum grid_side side)
{
    struct cluster *cluster = &grid->cluster;
    cable_id id = {(uint32_t)cluster->cable_count++};
    uint32_t peer = grid_neighbour(grid, host, side);
    enum grid_side there = grid_opposite(side);

    cluster->hosts[host].ports[side].cable = id;
    cluster->hosts[peer].ports[there].cable = id;
    cluster->cables[id.ix] = (struct cluster_cable){
        .a = {{host}, (uint32_t)side},
        .b = {{peer}, (uint32_t)there},
        .model = &tb5,
        .rate_ab = {LINE_80G},
        .rate_ba = {LINE_80G},
    };
}

void grid_init(struct grid *grid, uint32_t rows, uint32_t columns)
{
    uint32_t hosts = rows * columns;

    memset(grid, 0, sizeof *grid);
    grid->rows = rows;
    grid->columns = columns;
    grid->cluster.host_count = hosts;
    grid->cluster.hosts = alloc_zeroed(hosts, sizeof *grid->cluster.hosts);
    grid->cluster.cables = alloc_zeroed((size_t)hosts * 2, sizeof *grid->cluster.cables);
    set_params(&grid->params);
    for (uint32_t h = 0; h < hosts; h++) {
        struct cluster_host *host = &grid->cluster.hosts[h];

        *host = (struct cluster_host){
            .name = "bench",
            .model = &machine,
            .macos = macos.version,
            .macos_profile = &macos,
            .is_rdma_enabled = true,
            .ports = alloc_zeroed(GRID_SIDES, sizeof *host->ports),
            .port_count = GRID_SIDES,
        };
        for (uint32_t p = 0; p < GRID_SIDES; p++)
            host->ports[p] = (struct cluster_port){.model = &ports[p], .cable = {ID_NONE}};
    }
    for (uint32_t h = 0; h < hosts; h++) {
        add_cable(grid, h, GRID_RIGHT);
        if (rows > 1)
            add_cable(grid, h, GRID_DOWN);
    }
}

void grid_done(struct grid *grid)
{
    for (size_t h = 0; h < grid->cluster.host_count; h++)
        free(grid->cluster.hosts[h].ports);
    free(grid->cluster.hosts);
    free(grid->cluster.cables);
}
