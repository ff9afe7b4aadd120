/* SPDX-License-Identifier: Apache-2.0 */
/* Small clusters made by hand, with round numbers, for tests of the fabric. */
#ifndef TESTS_UNIT_FABRIC_BENCH_CLUSTER_H
#define TESTS_UNIT_FABRIC_BENCH_CLUSTER_H

#include "sim/fabric/cluster.h"
#include "sim/fabric/param.h"

#define BENCH_HOSTS_MAX  16
#define BENCH_PORTS      16
#define BENCH_CABLES_MAX 128

struct bench_cluster {
    struct cluster cluster;
    struct cluster_host hosts[BENCH_HOSTS_MAX];
    struct cluster_port ports[BENCH_HOSTS_MAX][BENCH_PORTS];
    struct cluster_cable cables[BENCH_CABLES_MAX];
    struct param_set params;
};

/* `hosts` machines without cables. Parameters: 80 Gb/s carry 80 Gb/s of payload, so a byte takes
 * 100 ps; latency 5 us; no host costs, no propagation, no jitter. */
void bench_cluster_init(struct bench_cluster *bench, uint32_t hosts);
/* One more TB5 cable between the next free ports of a and b. */
cable_id bench_cluster_add_cable(struct bench_cluster *bench, uint32_t a, uint32_t b);
void bench_cluster_make_hub(struct bench_cluster *bench, uint32_t host);

#endif
