/* SPDX-License-Identifier: Apache-2.0 */
/* A fabric over a hand-made cluster, with a log of what it reports; and random traffic. */
#ifndef TESTS_UNIT_FABRIC_FABRIC_BENCH_H
#define TESTS_UNIT_FABRIC_FABRIC_BENCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sim/base/ids.h"
#include "sim/base/units.h"
#include "sim/core/evq.h"
#include "sim/fabric/fabric.h"
#include "tests/unit/fabric/support/bench_cluster.h"

#define FRAME_PS   INT64_C(409600)
#define LATENCY_PS (5 * PS_PER_US)
#define LOG_MAX    100000
#define LOST_MAX   64

/* A fabric and a log of its completions. */
struct bench {
    struct bench_cluster c;
    struct fabric_config config;
    struct fabric *fabric;         /* owned */
    struct fabric_completion *log; /* owned */
    simtime *said;                 /* owned; engine time of each report */
    size_t count;
    uint64_t lost[LOST_MAX]; /* wr_id of sends that reached nobody */
    size_t lost_count;
    uint64_t flushed[2][LOST_MAX]; /* wr_id of flushed sends, receives */
    size_t flushed_count[2];
};

/* A queue pair and its peer. */
struct bench_pair {
    qp_id a, b;
};

struct bench *bench_new(uint32_t hosts);
/* Builds the fabric; config and cluster are as they shall be. */
void bench_start(struct bench *b);
void bench_free(struct bench *b);
struct fabric_hooks bench_hooks(struct bench *b);
/* Until nothing is left. */
void bench_run(struct bench *b);
struct bench_pair bench_connect_kind(struct bench *b, enum fabric_qp_kind kind, cable_id cable);
struct bench_pair bench_connect(struct bench *b, cable_id cable);
/* Both ends of a cable, with rings from the pool. */
struct bench_pair bench_connect_sized(struct bench *b, enum fabric_qp_kind kind, cable_id cable,
                                      const struct fabric_qp_size *size);
/* Runs what is due now, and moves no time. */
void bench_report(struct bench *b);
/* Runs until then. */
void bench_run_until(struct bench *b, int64_t ps);
simtime bench_now(const struct bench *b);

static inline simtime at_ps(int64_t ps)
{
    return (simtime){ps};
}

/* The k-th completion of that queue pair and side; fails the test when there is none. */
struct fabric_completion bench_nth(const struct bench *b, qp_id qp, bool is_recv, size_t k);
size_t bench_count(const struct bench *b, qp_id qp, bool is_recv);

/* Runs a random scenario: hosts, cables, queue pairs of two kinds, sizes, times, faults. */
struct bench *bench_random_run(uint64_t seed, enum evq_kind evq, bool single_frames, bool foresee);
bool bench_same_completion(const struct fabric_completion *x, const struct fabric_completion *y);
/* For qsort of a log: by queue pair, side, time, wr_id. */
int bench_by_queue_pair(const void *a, const void *b);

#endif
