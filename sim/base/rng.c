/* SPDX-License-Identifier: Apache-2.0 */
/*
 * DOC: Random numbers
 *
 * xoshiro256** (Blackman and Vigna, "Scrambled linear pseudorandom number generators", ACM TOMS
 * 47(4), 2021) with a state filled by the mixer of splitmix64 (Steele, Lea and Flood, "Fast
 * splittable pseudorandom number generators", OOPSLA 2014).
 *
 * Exponential spans are -ln(U) * mean with U = (bits + 1) / 2^64. The logarithm is taken in
 * fixed point: libm's last digit differs between machines, and results must not. With
 * U = v * 2^-k and v between sqrt(1/2) and sqrt(2),
 *
 *     -ln U = k ln 2 - ln v,   ln v = 2 artanh(y) = 2 (y + y^3/3 + y^5/5 + ...),
 *     y = (v - 1) / (v + 1),   |y| < 0.172,
 *
 * and eleven terms leave an error below 2^-57. Cost: one 128-bit division, a dozen multiplications.
 */
#include "sim/base/rng.h"

#include <assert.h>

#define GOLDEN_GAMMA UINT64_C(0x9e3779b97f4a7c15) /* 2^64 / golden ratio, odd */

#define LOG_BITS    57U                         /* 64 ln 2 takes six bits before the point */
#define LOG_2       UINT64_C(0x162e42fefa39ef3) /* ln 2 * 2^57 */
#define SERIES_BITS 60U
#define SERIES_LEN  11U
#define SQRT_2      UINT64_C(0xb504f333f9de6484) /* sqrt 2 * 2^63 */

static uint64_t mix(uint64_t n)
{
    n = (n ^ n >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    n = (n ^ n >> 27) * UINT64_C(0x94d049bb133111eb);
    return n ^ n >> 31;
}

static uint64_t rotate(uint64_t n, unsigned by)
{
    return n << by | n >> (64 - by);
}

/*
 * A stateless draw.
 *
 * Returns:  64 bits that depend on all three numbers; for one seed and stream, different indexes
 *           give different results.
 */
// NOLINTNEXTLINE(bugprone-easily-swappable-parameters): three plain words; none is a quantity
uint64_t rng_hash(uint64_t seed, uint64_t stream, uint64_t index)
{
    uint64_t n = mix(seed + GOLDEN_GAMMA);

    n = mix(n + (stream + 1) * GOLDEN_GAMMA);
    return mix(n + (index + 1) * GOLDEN_GAMMA);
}

/* Four different words, so the state is never all zero, which would be a fixed point. */
void rng_init(struct rng *rng, uint64_t seed, uint64_t stream)
{
    for (uint64_t i = 0; i < 4; i++)
        rng->state[i] = rng_hash(seed, stream, i);
}

uint64_t rng_next(struct rng *rng)
{
    uint64_t *s = rng->state;
    uint64_t result = rotate(s[1] * 5, 7) * 9;
    uint64_t shifted = s[1] << 17;

    s[2] ^= s[0];
    s[3] ^= s[1];
    s[1] ^= s[2];
    s[0] ^= s[3];
    s[2] ^= shifted;
    s[3] = rotate(s[3], 45);
    return result;
}

/*
 * Uniform in [0, bound).
 *
 * The high half of a product with 64 random bits; draws whose low half falls among the
 * 2^64 mod bound values that some results would get too often are thrown away.
 *
 * Source: Lemire, "Fast random integer generation in an interval", ACM TOMACS 29(1), 2019.
 */
uint64_t rng_below(struct rng *rng, uint64_t bound)
{
    assert(bound > 0);

    u128 product = (u128)rng_next(rng) * bound;

    if ((uint64_t)product < bound) {
        /* 2^64 mod bound: the minus wraps on purpose. */
        /* cppcheck-suppress oppositeExpression */
        uint64_t surplus = -bound % bound;

        while ((uint64_t)product < surplus)
            product = (u128)rng_next(rng) * bound;
    }
    return (uint64_t)(product >> 64);
}

/* |ln v| in LOG_BITS for v = one +- off, both in 63 bits; v + 1 is given as sum in 62 bits. */
static uint64_t log_near_one(uint64_t off, uint64_t sum)
{
    uint64_t y = (uint64_t)(((u128)off << (SERIES_BITS - 1)) / sum);
    uint64_t square = (uint64_t)((u128)y * y >> SERIES_BITS);
    uint64_t series = 0;

    for (uint64_t odd = 2 * SERIES_LEN - 1; odd > 1; odd -= 2)
        series =
            (uint64_t)((u128)(series + (UINT64_C(1) << SERIES_BITS) / odd) * square >> SERIES_BITS);
    series += UINT64_C(1) << SERIES_BITS;
    return (uint64_t)((u128)y * series >> (2 * SERIES_BITS - LOG_BITS - 1));
}

/* -ln((bits + 1) / 2^64) in LOG_BITS. */
static uint64_t minus_log(uint64_t bits)
{
    const uint64_t one = UINT64_C(1) << 63;
    uint64_t u = bits + 1;

    if (u == 0) /* bits + 1 is 2^64 and U is one */
        return 0;

    uint32_t lead = (uint32_t)__builtin_clzll(u);
    uint64_t v = u << lead;

    if (v < SQRT_2)
        return (lead + 1) * LOG_2 - log_near_one(v - one, v / 2 + one / 2);
    v /= 2;
    return lead * LOG_2 + log_near_one(one - v, v / 2 + one / 2);
}

/*
 * Exponential span made from 64 random bits.
 *
 * Returns:  -ln((bits + 1) / 2^64) * mean, rounded to the nearest picosecond; at most 44.4 means,
 *           and SIMTIME_NEVER_PS when that does not fit.
 * Requires: mean >= 0.
 */
simspan rng_exponential_from_bits(uint64_t bits, simspan mean)
{
    assert(mean.ps >= 0);

    u128 span = (u128)minus_log(bits) * (uint64_t)mean.ps;

    span = (span + (UINT64_C(1) << (LOG_BITS - 1))) >> LOG_BITS;
    if (span > (u128)SIMTIME_NEVER_PS)
        return (simspan){SIMTIME_NEVER_PS};
    return (simspan){(int64_t)span};
}

simspan rng_exponential(struct rng *rng, simspan mean)
{
    return rng_exponential_from_bits(rng_next(rng), mean);
}
