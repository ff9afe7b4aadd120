/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
#include <string.h>

#include <criterion/criterion.h>

#include "sim/base/hist.h"
#include "sim/base/rng.h"

enum {
    SAMPLES = 5000
};

enum shape {
    SHAPE_SMALL,
    SHAPE_NARROW,
    SHAPE_EXPONENTIAL,
    SHAPE_WIDE,
    SHAPE_COUNT
};

static const char *const shape_names[SHAPE_COUNT] = {"below 64 ps", "narrow", "exponential",
                                                     "all powers of two"};

static simspan draw_span(struct rng *rng, enum shape shape)
{
    switch (shape) {
    case SHAPE_SMALL:
        return (simspan){(int64_t)rng_below(rng, 64)};
    case SHAPE_NARROW:
        return (simspan){6638000 + (int64_t)rng_below(rng, 50000)};
    case SHAPE_EXPONENTIAL:
        return rng_exponential(rng, (simspan){17 * PS_PER_US});
    case SHAPE_WIDE:
        return (simspan){(int64_t)(rng_next(rng) >> (1 + rng_below(rng, 63)))};
    case SHAPE_COUNT:
        break;
    }
    abort();
}

static int compare_spans(const void *a, const void *b)
{
    const simspan *x = a;
    const simspan *y = b;

    return (x->ps > y->ps) - (x->ps < y->ps);
}

static void draw_samples(simspan *samples, enum shape shape)
{
    struct rng rng;

    rng_init(&rng, 3, (uint64_t)shape);
    for (size_t i = 0; i < SAMPLES; i++)
        samples[i] = draw_span(&rng, shape);
}

Test(hist, percentiles_are_within_a_64th_above_a_sort)
{
    static simspan samples[SAMPLES];
    static struct hist hist;

    for (int shape = 0; shape < SHAPE_COUNT; shape++) {
        draw_samples(samples, (enum shape)shape);
        hist_init(&hist);
        for (size_t i = 0; i < SAMPLES; i++)
            hist_add(&hist, samples[i]);
        qsort(samples, SAMPLES, sizeof samples[0], compare_spans);
        for (uint32_t permille = 0; permille <= 1000; permille++) {
            int64_t exact = span_percentile(samples, SAMPLES, permille).ps;
            int64_t found = hist_percentile(&hist, permille).ps;

            cr_assert(found >= exact && found - exact <= exact / 64, "%s, %u permille: %lld, %lld",
                      shape_names[shape], permille, (long long)found, (long long)exact);
        }
        cr_expect_eq(hist_percentile(&hist, 0).ps, samples[0].ps, "%s", shape_names[shape]);
        cr_expect_eq(hist_percentile(&hist, 1000).ps, samples[SAMPLES - 1].ps, "%s",
                     shape_names[shape]);
    }
}

Test(hist, mean_least_and_largest_are_exact)
{
    static const int64_t values[] = {6638000, 1, 6638001, 999999999999};
    static struct hist hist;

    hist_init(&hist);
    for (size_t i = 0; i < 4; i++)
        hist_add(&hist, (simspan){values[i]});
    cr_expect_eq(hist.count, 4);
    cr_expect_eq(hist.min.ps, 1);
    cr_expect_eq(hist.max.ps, 999999999999);
    /* The sum is 1000013276001, and a quarter of it 250003319000.25. */
    cr_expect_eq(hist_mean(&hist).ps, 250003319000);
}

Test(hist, the_sum_does_not_wrap)
{
    static struct hist hist;

    hist_init(&hist);
    for (int i = 0; i < 5; i++)
        hist_add(&hist, (simspan){INT64_MAX});
    cr_expect_eq(hist_mean(&hist).ps, INT64_MAX);
    cr_expect_eq(hist_percentile(&hist, 500).ps, INT64_MAX);
}

Test(hist, an_empty_one_reports_zero)
{
    static struct hist hist;

    hist_init(&hist);
    cr_expect_eq(hist_percentile(&hist, 500).ps, 0);
    cr_expect_eq(hist_mean(&hist).ps, 0);
}

Test(hist, a_merge_equals_adding_everything_to_one)
{
    static simspan samples[SAMPLES];
    static struct hist whole;
    static struct hist parts[3];

    hist_init(&whole);
    for (size_t i = 0; i < 3; i++)
        hist_init(&parts[i]);
    draw_samples(samples, SHAPE_WIDE);
    for (size_t i = 0; i < SAMPLES; i++) {
        hist_add(&whole, samples[i]);
        hist_add(&parts[i % 2], samples[i]);
    }
    /* The third stays empty: merging it from either side changes nothing. */
    hist_merge(&parts[0], &parts[2]);
    hist_merge(&parts[0], &parts[1]);
    hist_merge(&parts[2], &parts[0]);
    cr_expect_eq(parts[2].count, SAMPLES);
    cr_expect_eq(parts[2].min.ps, whole.min.ps);
    cr_expect_eq(parts[2].max.ps, whole.max.ps);
    cr_expect_eq(hist_mean(&parts[2]).ps, hist_mean(&whole).ps);
    cr_expect_eq(memcmp(parts[2].buckets, whole.buckets, sizeof whole.buckets), 0);
}

Test(hist, the_exact_percentile_takes_the_nearest_rank)
{
    static const simspan sorted[] = {{10}, {20}, {30}, {40}};
    static const struct {
        uint32_t permille;
        int64_t expected;
    } rows[] = {{0, 10},   {1, 10},   {250, 10}, {251, 20},
                {500, 20}, {750, 30}, {990, 40}, {1000, 40}};

    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        cr_expect_eq(span_percentile(sorted, 4, rows[i].permille).ps, rows[i].expected,
                     "%u permille", rows[i].permille);
    cr_expect_eq(span_percentile(sorted, 1, 500).ps, 10);
}
