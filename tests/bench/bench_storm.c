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
#include "tests/unit/bridge/support/net.h"

struct mesh {
    struct net net; /* its configuration only */
    struct hybrid_config config;
    simspan span;
    struct arena arena;
    struct hybrid *hybrid;
};

/* `rate` frames a second in software, or 0: hardware, and then never by the law. */
static void mesh_init(struct mesh *mesh, uint32_t nodes, uint64_t rate, simspan span)
{
    *mesh = (struct mesh){.net = net_new(nodes), .span = span};
    net_join_all(&mesh->net);
    net_limit(&mesh->net, rate);
    mesh->net.config.frame.bytes = 1500;
    mesh->config =
        (struct hybrid_config){.bridge = *net_config(&mesh->net), .frames_only = rate == 0};
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
