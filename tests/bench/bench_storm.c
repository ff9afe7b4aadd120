/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Storms in full meshes of bridges: what one frame over one cable costs, drops included, frame by
 * frame; and what a minute costs when the law takes over.
 */
#include <stdlib.h>

#include "sim/base/arena.h"
#include "sim/bridge/bridge.h"
#include "sim/bridge/hybrid.h"
#include "tests/bench/bench.h"

#define NODES_MAX  16U
#define CABLES_MAX (NODES_MAX * (NODES_MAX - 1) / 2)

struct mesh {
    struct bridge_node_config nodes[NODES_MAX];
    struct bridge_cable_config cables[CABLES_MAX];
    struct hybrid_config config;
    simspan span;
    struct arena arena;
    struct hybrid *hybrid;
};

/* 80 Gb/s, 1 us, frames of 1,500 bytes, queues of 64; `rate` frames a second in software, or 0. */
static void mesh_init(struct mesh *mesh, uint32_t nodes, uint64_t rate, simspan span)
{
    uint32_t cables = 0;

    *mesh = (struct mesh){.span = span};
    for (uint32_t a = 0; a < nodes; a++) {
        mesh->nodes[a] =
            (struct bridge_node_config){.is_bridge = true, .forward_rate = rate, .backlog = 64};
        for (uint32_t b = a + 1; b < nodes; b++)
            mesh->cables[cables++] = (struct bridge_cable_config){
                .a = a,
                .b = b,
                .a_is_member = true,
                .b_is_member = true,
                .rate_ab = {UINT64_C(80000000000)},
                .rate_ba = {UINT64_C(80000000000)},
                .latency = {PS_PER_US},
            };
    }
    mesh->config = (struct hybrid_config){
        .bridge =
            {
                .nodes = mesh->nodes,
                .node_count = nodes,
                .cables = mesh->cables,
                .cable_count = cables,
                .queue = 64,
                .age = {300 * PS_PER_S},
                .frame = {1500},
                .largest = {1500},
                .frame_ids = 16,
                .evq = EVQ_CALENDAR,
            },
        .frames_only = rate == 0,
    };
}

static void prepare(void *ctx)
{
    struct mesh *mesh = ctx;
    const struct bridge_frame frame = {.to = BRIDGE_TO_ALL, .size = {1500}};

    if (mesh->hybrid)
        arena_done(&mesh->arena);
    arena_init(&mesh->arena);
    mesh->hybrid = hybrid_new(&mesh->arena, &mesh->config);
    if (!hybrid_send(mesh->hybrid, 0, &frame))
        abort();
}

static uint64_t storm(void *ctx)
{
    struct mesh *mesh = ctx;
    uint64_t frames = 0;

    hybrid_run(mesh->hybrid, (simtime){mesh->span.ps}, NULL);
    for (uint32_t i = 0; i < 2 * mesh->config.bridge.cable_count; i++)
        frames += hybrid_link(mesh->hybrid, i).frames;
    return frames;
}

static uint64_t storm_once(void *ctx)
{
    return storm(ctx) > 0;
}

void bench_storm(struct bench *bench)
{
    static const uint32_t sizes[] = {4, 8, 16};
    struct mesh mesh;
    simspan span = {bench->is_quick ? PS_PER_US * 100 : PS_PER_MS * 20};

    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        mesh_init(&mesh, sizes[i], 0, span);
        bench_add(bench, "ns/hop", bench_median_ns(bench, prepare, storm, &mesh), BENCH_EMPTY_LOOP,
                  "storm/mesh/%u", sizes[i]);
        arena_done(&mesh.arena);
    }
    mesh_init(&mesh, 7, 300000, (simspan){60 * PS_PER_S});
    bench_add(bench, "ms", bench_median_ns(bench, prepare, storm_once, &mesh) * 1e-6, NULL,
              "storm/7-macs/60s");
    arena_done(&mesh.arena);
}
