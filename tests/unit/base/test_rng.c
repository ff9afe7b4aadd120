/* SPDX-License-Identifier: Apache-2.0 */
#include <criterion/criterion.h>

#include "sim/base/rng.h"

#define LENGTH(array) (sizeof(array) / sizeof(array)[0])

static double distance(double a, double b)
{
    return a < b ? b - a : a - b;
}

Test(rng, follows_the_published_sequence_of_its_generator)
{
    /* xoshiro256** from the state 1, 2, 3, 4: test vector of the crate rand_xoshiro, made with the
     * authors' reference code. */
    static const uint64_t expected[] = {
        UINT64_C(11520),
        UINT64_C(0),
        UINT64_C(1509978240),
        UINT64_C(1215971899390074240),
        UINT64_C(1216172134540287360),
        UINT64_C(607988272756665600),
        UINT64_C(16172922978634559625),
        UINT64_C(8476171486693032832),
        UINT64_C(10595114339597558777),
        UINT64_C(2904607092377533576),
    };
    struct rng rng = {.state = {1, 2, 3, 4}};

    for (size_t i = 0; i < LENGTH(expected); i++)
        cr_expect_eq(rng_next(&rng), expected[i], "number %zu", i);
}

Test(rng, seeds_and_streams_give_sequences_of_their_own)
{
    static const uint64_t seeds[][2] = {{0, 0}, {0, 1}, {1, 0}, {1, 1}, {UINT64_MAX, 0}};
    uint64_t first[LENGTH(seeds)];

    for (size_t i = 0; i < LENGTH(seeds); i++) {
        struct rng rng;
        struct rng again;

        rng_init(&rng, seeds[i][0], seeds[i][1]);
        rng_init(&again, seeds[i][0], seeds[i][1]);
        first[i] = rng_next(&rng);
        cr_expect_eq(first[i], rng_next(&again));
        for (size_t k = 0; k < i; k++)
            cr_expect_neq(first[i], first[k], "rows %zu and %zu", i, k);
    }
}

/* Pearson's statistic over `bound` equally likely results of `draws` draws. */
static double chi_square(uint64_t bound, uint32_t draws)
{
    static uint32_t seen[1000];
    struct rng rng;
    double expected = (double)draws / (double)bound;
    double sum = 0;

    rng_init(&rng, 42, bound);
    for (uint64_t i = 0; i < bound; i++)
        seen[i] = 0;
    for (uint32_t i = 0; i < draws; i++) {
        uint64_t n = rng_below(&rng, bound);

        cr_assert_lt(n, bound);
        seen[n]++;
    }
    for (uint64_t i = 0; i < bound; i++)
        sum += (seen[i] - expected) * (seen[i] - expected) / expected;
    return sum;
}

Test(rng, below_is_uniform)
{
    static const struct {
        uint64_t bound;
        double limit; /* exceeded by one seed in a thousand */
    } rows[] = {{2, 10.83}, {3, 13.82}, {7, 22.46}, {10, 27.88}, {64, 103.4}, {1000, 1143}};

    for (size_t i = 0; i < LENGTH(rows); i++)
        cr_expect_lt(chi_square(rows[i].bound, 100000), rows[i].limit, "below %llu",
                     (unsigned long long)rows[i].bound);
}

Test(rng, below_has_no_bias_where_a_remainder_would_show)
{
    /* Without rejection four draws fall on every three results, and it is always the multiple of
     * three that gets two of them: half of all results instead of a third. */
    const uint64_t bound = UINT64_C(3) << 62;
    struct rng rng;
    uint32_t multiples = 0;

    rng_init(&rng, 5, 0);
    for (uint32_t i = 0; i < 90000; i++)
        multiples += rng_below(&rng, bound) % 3 == 0;
    /* A standard deviation is 141. */
    cr_expect_lt(distance(multiples, 30000), 5 * 141, "%u", multiples);
}

Test(rng, below_one_is_zero)
{
    struct rng rng;

    rng_init(&rng, 1, 1);
    for (int i = 0; i < 100; i++)
        cr_expect_eq(rng_below(&rng, 1), 0);
}

Test(rng, exponential_is_minus_the_logarithm)
{
    /* U = (bits + 1) / 2^64; the mean is 10^15 ps, so the result shows 15 digits of -ln U. */
    static const struct {
        const char *name;
        uint64_t bits;
        int64_t expected;
    } rows[] = {
        {"1", UINT64_MAX, 0},
        {"1/2", UINT64_MAX >> 1, 693147180559945},
        {"1/4", UINT64_MAX >> 2, 1386294361119891},
        {"3/4", 3 * (UINT64_C(1) << 62) - 1, 287682072451781},
        {"1/3", UINT64_MAX / 3, 1098612288668110},
        {"1/10", UINT64_MAX / 10, 2302585092994046},
        {"just below the square root of 1/2", UINT64_C(0xb504f333f9de6484) - 2, 346573590279973},
        {"just above it", UINT64_C(0xb504f333f9de6484), 346573590279973},
        {"2^-63", 1, 43668272375276554},
        {"2^-64", 0, 44361419555836500},
    };

    for (size_t i = 0; i < LENGTH(rows); i++)
        cr_expect_eq(rng_exponential_from_bits(rows[i].bits, (simspan){PS_PER_S * 1000}).ps,
                     rows[i].expected, "-ln %s", rows[i].name);
}

Test(rng, exponential_falls_as_its_bits_rise)
{
    simspan last = {SIMTIME_NEVER_PS};

    for (uint64_t i = 0; i < 65536; i++) {
        simspan span = rng_exponential_from_bits(i << 48 | i, (simspan){PS_PER_S});

        cr_assert_lt(span.ps, last.ps, "step %llu", (unsigned long long)i);
        last = span;
    }
}

Test(rng, exponential_stays_in_range_for_every_mean)
{
    cr_expect_eq(rng_exponential_from_bits(0, (simspan){0}).ps, 0);
    cr_expect_eq(rng_exponential_from_bits(0, (simspan){1}).ps, 44);
    cr_expect_eq(rng_exponential_from_bits(UINT64_MAX, (simspan){SIMTIME_NEVER_PS}).ps, 0);
    cr_expect_eq(rng_exponential_from_bits(0, (simspan){SIMTIME_NEVER_PS}).ps, SIMTIME_NEVER_PS);
}

Test(rng, exponential_has_the_moments_and_the_tail_of_theory)
{
    enum {
        DRAWS = 1000000,
        TAILS = 12
    };
    static const double exp_minus[TAILS] = {
        1,           0.367879441, 0.135335283, 0.049787068, 0.018315639,  0.006737947,
        0.002478752, 0.000911882, 0.000335463, 0.000123410, 0.0000453999, 0.0000167017,
    };
    const simspan mean = {1000000};
    uint32_t longer[TAILS] = {0};
    double sum = 0;
    double squares = 0;
    struct rng rng;

    rng_init(&rng, 2026, 0);
    for (uint32_t i = 0; i < DRAWS; i++) {
        int64_t ps = rng_exponential(&rng, mean).ps;
        double means = (double)ps / (double)mean.ps;

        sum += means;
        squares += means * means;
        for (int64_t k = 0; k < TAILS && ps >= k * mean.ps; k++)
            longer[k]++;
    }

    double average = sum / DRAWS;
    double variance = squares / DRAWS - average * average;

    /* Standard deviations: 1/sqrt(n) of the mean, sqrt(8/n) of the variance. */
    cr_expect_lt(distance(average, 1), 4 * 0.001, "mean %f", average);
    cr_expect_lt(distance(variance, 1), 4 * 0.00283, "variance %f", variance);
    for (size_t k = 0; k < TAILS; k++) {
        double expected = DRAWS * exp_minus[k];
        double off = longer[k] - expected;

        cr_expect_leq(off * off, 16 * expected, "%u draws past %zu means, expected %.0f", longer[k],
                      k, expected);
    }
}

/* Mean number of result bits that change when bit `flipped` of one argument does. */
static double avalanche(unsigned argument, unsigned flipped)
{
    uint32_t changed = 0;

    for (uint64_t i = 0; i < 500; i++) {
        uint64_t n[3] = {i, i * 3, i * 7};
        uint64_t before = rng_hash(n[0], n[1], n[2]);

        n[argument] ^= UINT64_C(1) << flipped;
        changed += (uint32_t)__builtin_popcountll(before ^ rng_hash(n[0], n[1], n[2]));
    }
    return changed / 500.0;
}

Test(rng, hash_changes_half_its_bits_with_any_bit_of_its_arguments)
{
    for (unsigned argument = 0; argument < 3; argument++) {
        for (unsigned bit = 0; bit < 64; bit++) {
            /* A standard deviation is 4/sqrt(500), and 192 cases are looked at. */
            cr_expect_lt(distance(avalanche(argument, bit), 32), 5 * 0.179, "argument %u, bit %u",
                         argument, bit);
        }
    }
}

Test(rng, hash_tells_its_arguments_apart)
{
    cr_expect_neq(rng_hash(1, 2, 3), rng_hash(2, 1, 3));
    cr_expect_neq(rng_hash(1, 2, 3), rng_hash(1, 3, 2));
    cr_expect_neq(rng_hash(0, 0, 1), rng_hash(0, 1, 0));
    cr_expect_neq(rng_hash(0, 1, 0), rng_hash(1, 0, 0));
    cr_expect_neq(rng_hash(0, 0, 0), 0);
}
