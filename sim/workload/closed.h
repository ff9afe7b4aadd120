/* SPDX-License-Identifier: Apache-2.0 */
/* Closed forms: what a run must take at least, and what it takes exactly where that is known. */
#ifndef SIM_WORKLOAD_CLOSED_H
#define SIM_WORKLOAD_CLOSED_H

#include <stdint.h>

#include "sim/base/units.h"
#include "sim/fabric/cluster.h"
#include "sim/fabric/param.h"
#include "sim/workload/run.h"

/* The path parameters of the formulas, taken from a cluster and its parameters. */
struct closed_params {
    simspan latency; /* o_s + L + o_r for an empty message, mean jitter left out */
    bitrate rate;    /* slowest direction that the operation needs */
    bytecount frame;
    uint32_t nodes;
    uint32_t wires;
};

/* One message of m bytes over one cable: latency + m / rate. */
simspan closed_message(const struct closed_params *p, bytecount m);
/* m bytes in chunks of c with w outstanding and a full round trip before a slot is free again. */
simspan closed_chunked(const struct closed_params *p, bytecount m, bytecount c, uint32_t w,
                       simspan round_trip);
/* Ring all-reduce, pipelined: 2 (n-1)/n S / rate + latency. */
simspan closed_ring_all_reduce(const struct closed_params *p, bytecount s);
/* One-shot mesh: latency + S / rate. Two-shot: 2 (S/n) / rate + 2 latency. */
simspan closed_mesh_one_shot(const struct closed_params *p, bytecount s);
simspan closed_mesh_two_shot(const struct closed_params *p, bytecount s);

/*
 * Lower bound of an item at one size: no schedule of this operation on these cables with this
 * library's pattern of messages can be faster. See docs/model.md, "Bounds".
 */
simspan closed_bound(const struct run_item *item, bytecount size, const struct cluster *cluster,
                     const struct param_set *params);

#endif
