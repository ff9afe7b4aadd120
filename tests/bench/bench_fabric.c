/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The fabric without a library on top: queue pairs, credits, frames and links of a ring all-reduce.
 *
 * Every rank sends its part in chunks; each chunk that arrives is sent on, and a receive is posted
 * again, until a rank has sent 2 (N - 1) parts. In a torus each row and each column is such a ring,
 * in both directions, so that all links of all machines are busy.
 */
#include <stdlib.h>

#include "sim/fabric/fabric.h"
#include "tests/bench/bench.h"
#include "tests/bench/grid.h"

#define CHUNK_BYTES 16384U

struct rings {
    struct grid grid;
    struct fabric_config config;
    void *mem; /* owned */
    size_t mem_size;
    struct fabric *fabric;
    uint32_t sides;  /* 2: a ring; 4: a torus */
    bool is_two_way; /* else only to the right */
    uint32_t part_chunks;
    uint32_t chunks; /* that each rank sends, in each direction */
    /* by queue pair, which is host * sides + side */
    uint32_t *sent;
    uint32_t *received;
    uint64_t frames; /* of the last run */
    uint64_t allocations;
};

static uint32_t qp_at(const struct rings *rings, uint32_t host, enum grid_side side)
{
    return host * rings->sides + (uint32_t)side;
}

static bool is_sending(const struct rings *rings, enum grid_side side)
{
    return rings->is_two_way || side == GRID_RIGHT;
}

static void require(bool holds)
{
    if (!holds)
        abort();
}

static void post_send(struct rings *rings, uint32_t qp)
{
    if (rings->sent[qp] == rings->chunks)
        return;
    rings->sent[qp]++;
    require(fabric_post_send(rings->fabric, (qp_id){qp}, (simtime){0}, qp,
                             (bytecount){CHUNK_BYTES}) == FABRIC_POSTED);
}

static void post_recv(struct rings *rings, uint32_t qp)
{
    require(fabric_post_recv(rings->fabric, (qp_id){qp}, (simtime){0}, qp,
                             (bytecount){CHUNK_BYTES}) == FABRIC_POSTED);
}

/* What comes in at one side goes out at the other. */
static void completed(void *ctx, const struct fabric_completion *completion)
{
    struct rings *rings = ctx;
    uint32_t qp = completion->qp.ix;

    if (!completion->is_recv)
        return;
    rings->received[qp]++;
    post_recv(rings, qp);
    post_send(rings, qp ^ 1U);
}

static void rings_init(struct rings *rings)
{
    uint32_t hosts = (uint32_t)rings->grid.cluster.host_count;

    rings->config = (struct fabric_config){
        .cluster = &rings->grid.cluster,
        .params = &rings->grid.params,
        .evq = EVQ_CALENDAR,
        .qp_capacity = hosts * rings->sides,
        .wr_capacity = rings->part_chunks,
    };
    rings->mem_size = fabric_mem_size(&rings->config);
    rings->mem = bench_alloc(rings->mem_size);
    rings->sent = bench_alloc(rings->config.qp_capacity * sizeof *rings->sent);
    rings->received = bench_alloc(rings->config.qp_capacity * sizeof *rings->received);
}

static void rings_done(struct rings *rings)
{
    grid_done(&rings->grid);
    free(rings->mem);
    free(rings->sent);
    free(rings->received);
}

static void connect_all(struct rings *rings)
{
    const struct grid *grid = &rings->grid;
    uint32_t hosts = (uint32_t)grid->cluster.host_count;

    for (uint32_t h = 0; h < hosts; h++) {
        for (uint32_t side = 0; side < rings->sides; side++) {
            struct cluster_path path = {.cables = {grid_cable(grid, h, (enum grid_side)side)},
                                        .hops = 1};
            qp_id qp = fabric_create_qp(rings->fabric, FABRIC_QP_RDMA, (host_id){h}, &path);

            require(qp.ix == qp_at(rings, h, (enum grid_side)side));
        }
    }
    for (uint32_t h = 0; h < hosts; h++) {
        for (uint32_t s = 0; s < rings->sides; s += 2) {
            enum grid_side side = (enum grid_side)s;
            uint32_t peer = grid_neighbour(grid, h, side);

            fabric_connect_qp(rings->fabric, (qp_id){qp_at(rings, h, side)},
                              (qp_id){qp_at(rings, peer, grid_opposite(side))});
        }
    }
}

/* A fresh fabric with the first part of every rank posted. */
static void prepare(void *ctx)
{
    struct rings *rings = ctx;
    uint32_t qps = rings->config.qp_capacity;

    rings->fabric = fabric_init(rings->mem, &rings->config);
    connect_all(rings);
    for (uint32_t qp = 0; qp < qps; qp++) {
        rings->sent[qp] = rings->received[qp] = 0;
        for (uint32_t i = 0; i < rings->part_chunks; i++)
            post_recv(rings, qp);
    }
    for (uint32_t qp = 0; qp < qps; qp++) {
        if (!is_sending(rings, (enum grid_side)(qp % rings->sides))) {
            rings->sent[qp] = rings->chunks; /* nothing goes back */
            continue;
        }
        for (uint32_t i = 0; i < rings->part_chunks; i++)
            post_send(rings, qp);
    }
}

/* Runs to the end; the units are frames over links. */
static uint64_t run_rings(void *ctx)
{
    struct rings *rings = ctx;
    struct fabric_hooks hooks = {.ctx = rings, .completed = completed};
    uint64_t before = bench_allocation_count();

    (void)fabric_run_until(rings->fabric, simtime_never(), &hooks, NULL);
    rings->allocations = bench_allocation_count() - before;
    rings->frames = 0;
    for (uint32_t i = 0; i < fabric_link_count(rings->fabric); i++)
        rings->frames += fabric_link_counters(rings->fabric, (link_id){i}).frames;
    for (uint32_t qp = 0; qp < rings->config.qp_capacity; qp++) {
        bool is_target = is_sending(rings, grid_opposite((enum grid_side)(qp % rings->sides)));

        require(rings->received[qp] == (is_target ? rings->chunks : 0));
    }
    return rings->frames;
}

static void add_rows(struct bench *bench, struct rings *rings, const char *name)
{
    rings_init(rings);

    double ns = bench_median_ns(bench, prepare, run_rings, rings);
    double frame_bytes = (double)rings->grid.params.v[PARAM_RDMA_FRAME].value;
    double events =
        (double)engine_event_count(fabric_engine(rings->fabric)) / (double)rings->frames;

    bench_add(bench, "ns/frame-hop", ns, BENCH_EMPTY_LOOP, "%s", name);
    bench_add(bench, "ns/chunk-hop", ns * CHUNK_BYTES / frame_bytes, BENCH_EMPTY_LOOP, "%s/chunks",
              name);
    bench_add(bench, "GB/s", frame_bytes / ns, BENCH_MEMCPY_LARGE, "%s/payload", name);
    bench_add(bench, "events/frame", events, NULL, "%s/events", name);
    bench_add(bench, "frames", (double)rings->frames, NULL, "%s/frames", name);
    bench_add(bench, "calls/frame", (double)rings->allocations / (double)rings->frames, NULL,
              "%s/allocations", name);
    rings_done(rings);
}

void bench_fabric(struct bench *bench)
{
    /* 64 MiB on 64 ranks: a part is 1 MiB, or 64 chunks, and a rank sends 2 * 63 parts. */
    struct rings ring = {.sides = 2, .part_chunks = 64};
    struct rings torus = {.sides = GRID_SIDES, .part_chunks = 8, .is_two_way = true};
    uint32_t ranks = bench->is_quick ? 4 : 64;
    uint32_t rows = bench->is_quick ? 4 : 32;

    grid_init(&ring.grid, 1, ranks);
    ring.chunks = 2 * (ranks - 1) * ring.part_chunks;
    add_rows(bench, &ring, "fabric/ring-64");

    grid_init(&torus.grid, rows, rows);
    torus.chunks = 2 * (rows - 1) * torus.part_chunks;
    add_rows(bench, &torus, "fabric/torus-1024");
}
