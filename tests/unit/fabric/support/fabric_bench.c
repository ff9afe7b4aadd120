/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/fabric/support/fabric_bench.h"

#include <stdlib.h>

#include <criterion/criterion.h>

#include "sim/base/rng.h"

static void on_completed(void *ctx, const struct fabric_completion *completion)
{
    struct bench *b = ctx;
    simtime now = engine_now(fabric_engine(b->fabric));

    cr_assert_lt(b->count, LOG_MAX);
    cr_assert(b->config.foresee ? completion->at.ps >= now.ps : completion->at.ps == now.ps);
    b->said[b->count] = now;
    b->log[b->count++] = *completion;
}

static void on_lost(void *ctx, qp_id sender, uint64_t wr_id)
{
    struct bench *b = ctx;

    (void)sender;
    b->lost[b->lost_count++ % LOST_MAX] = wr_id;
}

static void on_user(void *ctx, uint32_t kind, uint32_t arg)
{
    (void)ctx;
    (void)kind;
    (void)arg;
}

struct bench *bench_new(uint32_t hosts)
{
    struct bench *b = calloc(1, sizeof *b);

    bench_cluster_init(&b->c, hosts);
    b->log = calloc(LOG_MAX, sizeof *b->log);
    b->said = calloc(LOG_MAX, sizeof *b->said);
    b->config = (struct fabric_config){.cluster = &b->c.cluster,
                                       .params = &b->c.params,
                                       .qp_capacity = 64,
                                       .wr_capacity = 1024,
                                       .user_events = 8,
                                       .fault_capacity = 16};
    return b;
}

void bench_start(struct bench *b)
{
    b->fabric = fabric_init(aligned_alloc(64, (fabric_mem_size(&b->config) + 63) & ~(size_t)63),
                            &b->config);
}

void bench_free(struct bench *b)
{
    free(b->fabric);
    free(b->log);
    free(b->said);
    free(b);
}

static void on_flushed(void *ctx, qp_id qp, uint64_t wr_id, bool is_recv)
{
    struct bench *b = ctx;

    (void)qp;
    b->flushed[is_recv][b->flushed_count[is_recv]++ % LOST_MAX] = wr_id;
}

struct fabric_hooks bench_hooks(struct bench *b)
{
    return (struct fabric_hooks){.ctx = b,
                                 .completed = on_completed,
                                 .lost = on_lost,
                                 .flushed = on_flushed,
                                 .user_event = on_user};
}

void bench_run(struct bench *b)
{
    struct fabric_hooks hooks = bench_hooks(b);

    fabric_run_until(b->fabric, simtime_never(), &hooks, NULL);
}

struct bench_pair bench_connect_kind(struct bench *b, enum fabric_qp_kind kind, cable_id cable)
{
    struct cluster_path path = {.cables = {cable}, .hops = 1};
    const struct cluster_cable *c = &b->c.cables[cable.ix];
    struct bench_pair p = {fabric_create_qp(b->fabric, kind, c->a.host, &path),
                           fabric_create_qp(b->fabric, kind, c->b.host, &path)};

    fabric_connect_qp(b->fabric, p.a, p.b);
    return p;
}

struct bench_pair bench_connect(struct bench *b, cable_id cable)
{
    return bench_connect_kind(b, FABRIC_QP_RDMA, cable);
}

struct bench_pair bench_connect_sized(struct bench *b, enum fabric_qp_kind kind, cable_id cable,
                                      const struct fabric_qp_size *size)
{
    struct cluster_path path = {.cables = {cable}, .hops = 1};
    const struct cluster_cable *c = &b->c.cables[cable.ix];
    struct bench_pair p = {fabric_create_qp_sized(b->fabric, kind, c->a.host, &path, size),
                           fabric_create_qp_sized(b->fabric, kind, c->b.host, &path, size)};

    fabric_connect_qp(b->fabric, p.a, p.b);
    return p;
}

simtime bench_now(const struct bench *b)
{
    return engine_now(fabric_engine(b->fabric));
}

void bench_run_until(struct bench *b, int64_t ps)
{
    struct fabric_hooks hooks = bench_hooks(b);

    fabric_run_until(b->fabric, at_ps(ps), &hooks, NULL);
}

void bench_report(struct bench *b)
{
    bench_run_until(b, bench_now(b).ps);
}

struct fabric_completion bench_nth(const struct bench *b, qp_id qp, bool is_recv, size_t k)
{
    for (size_t i = 0; i < b->count; i++) {
        if (b->log[i].qp.ix == qp.ix && b->log[i].is_recv == is_recv && k-- == 0)
            return b->log[i];
    }
    cr_assert_fail("no such completion");
    return (struct fabric_completion){0};
}

size_t bench_count(const struct bench *b, qp_id qp, bool is_recv)
{
    size_t n = 0;

    for (size_t i = 0; i < b->count; i++)
        n += b->log[i].qp.ix == qp.ix && b->log[i].is_recv == is_recv;
    return n;
}

static void random_traffic(struct bench *b, uint64_t seed)
{
    struct rng rng;

    rng_init(&rng, seed, 0);
    b->config.seed = seed;
    b->config.has_jitter = rng_below(&rng, 2) != 0;
    b->c.params.v[PARAM_RDMA_JITTER].value = 366000;
    b->c.params.v[PARAM_RDMA_CREDIT_LATENCY].value = (int64_t)rng_below(&rng, 3) * PS_PER_US / 2;
    uint32_t hosts = (uint32_t)b->c.cluster.host_count;
    uint32_t cables = 1 + (uint32_t)rng_below(&rng, 6);

    for (uint32_t i = 0; i < cables; i++) {
        uint32_t a = (uint32_t)rng_below(&rng, hosts);

        bench_cluster_add_cable(&b->c, a, (a + 1 + (uint32_t)rng_below(&rng, hosts - 1)) % hosts);
    }
    bench_start(b);
    for (uint32_t i = 0; i < 2 * cables; i++) {
        cable_id cable = {(uint32_t)rng_below(&rng, cables)};
        enum fabric_qp_kind kind = rng_below(&rng, 4) ? FABRIC_QP_RDMA : FABRIC_QP_IP;
        struct bench_pair p = bench_connect_kind(b, kind, cable);
        int messages = 1 + (int)rng_below(&rng, 20);

        for (int m = 0; m < messages; m++) {
            bytecount size = {1 + rng_below(&rng, rng_below(&rng, 2) ? 200000 : 5000)};
            simtime when = {(int64_t)rng_below(&rng, 100 * (uint64_t)PS_PER_US)};

            if (kind == FABRIC_QP_RDMA)
                fabric_post_recv(b->fabric, p.b, when, (uint64_t)m, size);
            fabric_post_send(b->fabric, p.a, at_ps((int64_t)rng_below(&rng, 1000) * 1000000),
                             (uint64_t)m, size);
        }
        if (rng_below(&rng, 5) == 0)
            fabric_schedule_rate(b->fabric, at_ps((int64_t)rng_below(&rng, 300) * 1000000), cable,
                                 (bitrate){rng_below(&rng, 3) * 40000000000U},
                                 (bitrate){rng_below(&rng, 3) * 40000000000U});
        if (rng_below(&rng, 5) == 0)
            fabric_set_frame_faults(b->fabric, cable, 10000000, 10000000);
    }
    bench_run(b);
}

struct bench *bench_random_run(uint64_t seed, enum evq_kind evq, bool single_frames, bool foresee)
{
    struct bench *b = bench_new(2 + (uint32_t)(seed % 5));

    b->config.evq = evq;
    b->config.single_frames = single_frames;
    b->config.foresee = foresee;
    random_traffic(b, seed);
    return b;
}

bool bench_same_completion(const struct fabric_completion *x, const struct fabric_completion *y)
{
    return x->qp.ix == y->qp.ix && x->is_recv == y->is_recv && x->status == y->status &&
           x->is_corrupt == y->is_corrupt && x->wr_id == y->wr_id &&
           x->length.bytes == y->length.bytes && x->at.ps == y->at.ps;
}

int bench_by_queue_pair(const void *a, const void *b)
{
    const struct fabric_completion *x = a, *y = b;

    if (x->qp.ix != y->qp.ix)
        return x->qp.ix < y->qp.ix ? -1 : 1;
    if (x->is_recv != y->is_recv)
        return x->is_recv ? 1 : -1;
    if (x->at.ps != y->at.ps)
        return x->at.ps < y->at.ps ? -1 : 1;
    return (x->wr_id > y->wr_id) - (x->wr_id < y->wr_id);
}
