/* SPDX-License-Identifier: Apache-2.0 */
/* Log-scaled histogram of durations: counts, percentiles, merge; constant size, no allocation. */
#ifndef SIM_BASE_HIST_H
#define SIM_BASE_HIST_H

#include <stdint.h>

#include "sim/base/units.h"

/* 64 powers of two, each cut into 2^HIST_SUB_BITS equal parts: relative error below 1/64. */
#define HIST_SUB_BITS 6
#define HIST_BUCKETS  (64U << HIST_SUB_BITS)

struct hist {
    uint64_t count;
    simspan min;
    simspan max;
    u128 sum_ps;
    uint64_t buckets[HIST_BUCKETS];
};

void hist_init(struct hist *hist);
void hist_add(struct hist *hist, simspan value);
void hist_merge(struct hist *into, const struct hist *from);
/* Value below which permille/1000 of the samples lie (nearest rank, upper edge of its bucket,
 * never above the maximum seen); zero when empty. permille in 0..1000. */
simspan hist_percentile(const struct hist *hist, uint32_t permille);
simspan hist_mean(const struct hist *hist);

/* Exact nearest-rank percentile of a sorted array; count > 0. */
simspan span_percentile(const simspan *sorted, uint64_t count, uint32_t permille);

#endif
