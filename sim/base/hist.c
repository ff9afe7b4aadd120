/* SPDX-License-Identifier: Apache-2.0 */
/*
 * DOC: Histogram
 *
 * Durations below 2^HIST_SUB_BITS picoseconds have a bucket each; above, every power of two is cut
 * into 2^HIST_SUB_BITS equal buckets, so a bucket's width is at most 1/64 of its lower edge.
 * A percentile reports the upper edge: a latency is never shown smaller than it was.
 *
 * Idea: Gil Tene's HdrHistogram (hdrhistogram.org).
 */
#include "sim/base/hist.h"

#include <assert.h>
#include <string.h>

#define SUB_COUNT (UINT64_C(1) << HIST_SUB_BITS)

static uint32_t bucket_of(uint64_t ps)
{
    if (ps < SUB_COUNT)
        return (uint32_t)ps;

    uint32_t shift = 63 - (uint32_t)__builtin_clzll(ps) - HIST_SUB_BITS;

    return (uint32_t)(shift * SUB_COUNT + (ps >> shift));
}

/* The largest value that falls into the bucket. */
static uint64_t upper_edge(uint32_t bucket)
{
    if (bucket < SUB_COUNT)
        return bucket;

    uint32_t shift = bucket / (uint32_t)SUB_COUNT - 1;
    uint64_t lower = (SUB_COUNT + bucket % SUB_COUNT) << shift;

    return lower + (UINT64_C(1) << shift) - 1;
}

/* Which of count sorted samples, from 1, stands for the percentile. */
static uint64_t nearest_rank(uint64_t count, uint32_t permille)
{
    u128 rank = ((u128)count * permille + 999) / 1000;

    assert(permille <= 1000);
    return rank ? (uint64_t)rank : 1;
}

void hist_init(struct hist *hist)
{
    memset(hist, 0, sizeof *hist);
}

/* Requires: value >= 0. */
void hist_add(struct hist *hist, simspan value)
{
    assert(value.ps >= 0);
    if (hist->count == 0 || value.ps < hist->min.ps)
        hist->min = value;
    if (value.ps > hist->max.ps)
        hist->max = value;
    hist->count++;
    hist->sum_ps += (uint64_t)value.ps;
    hist->buckets[bucket_of((uint64_t)value.ps)]++;
}

void hist_merge(struct hist *into, const struct hist *from)
{
    if (from->count == 0)
        return;
    if (into->count == 0 || from->min.ps < into->min.ps)
        into->min = from->min;
    if (from->max.ps > into->max.ps)
        into->max = from->max;
    into->count += from->count;
    into->sum_ps += from->sum_ps;
    for (uint32_t i = 0; i < HIST_BUCKETS; i++)
        into->buckets[i] += from->buckets[i];
}

/*
 * The value of the sample of nearest rank, permille/1000 up the sorted samples.
 *
 * Returns:  the upper edge of its bucket, so at most 1/64 too much, and within what was seen;
 *           permille 0 and 1000 give the exact least and largest; zero when empty.
 */
simspan hist_percentile(const struct hist *hist, uint32_t permille)
{
    if (hist->count == 0 || permille == 0)
        return hist->min;

    uint64_t rank = nearest_rank(hist->count, permille);
    uint64_t below = 0;

    for (uint32_t i = 0; i < HIST_BUCKETS; i++) {
        below += hist->buckets[i];
        if (below >= rank) {
            uint64_t edge = upper_edge(i);

            if (edge < (uint64_t)hist->max.ps)
                return (simspan){(int64_t)edge};
            return hist->max;
        }
    }
    return hist->max;
}

/* The exact mean, rounded to the nearest picosecond; zero when empty. */
simspan hist_mean(const struct hist *hist)
{
    if (hist->count == 0)
        return (simspan){0};
    return (simspan){(int64_t)((hist->sum_ps + hist->count / 2) / hist->count)};
}

simspan span_percentile(const simspan *sorted, uint64_t count, uint32_t permille)
{
    assert(count > 0);
    return sorted[nearest_rank(count, permille) - 1];
}
