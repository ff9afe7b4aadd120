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
 * U = v * 2^-k, v between 1 and 2, and c the middle of the 32nd of that range in which v lies,
 *
 *     -ln U = k ln 2 - ln c - ln (v / c),   ln (v / c) = 2 artanh(y) = 2 (y + y^3/3 + y^5/5 + ...),
 *     y = (v - c) / (v + c),   |y| <= 2^-7,
 *
 * and four terms leave an error below 2^-64; what remains is the rounding of the constants to
 * 2^-57. Cost: one 128-bit division, half a dozen multiplications.
 */
#include "sim/base/rng.h"

#include <assert.h>

#define GOLDEN_GAMMA UINT64_C(0x9e3779b97f4a7c15) /* 2^64 / golden ratio, odd */

#define LOG_BITS    57U                         /* 64 ln 2 takes six bits before the point */
#define LOG_2       UINT64_C(0x162e42fefa39ef3) /* ln 2 * 2^57 */
#define SERIES_BITS 60U
#define SERIES_LEN  4U
#define PARTS_BITS  5U

/* ln (1 + (2 i + 1) / 64) * 2^57, rounded. */
static const uint64_t log_of_part[1U << PARTS_BITS] = {
    UINT64_C(0x007f02a2c3f00f9), UINT64_C(0x0177458f632dcfc), UINT64_C(0x02683af2c37a3a1),
    UINT64_C(0x03524da7495aac7), UINT64_C(0x0435df9f3423966), UINT64_C(0x05134adb32df47a),
    UINT64_C(0x05eae2408436424), UINT64_C(0x06bcf253a02ffcb), UINT64_C(0x0789c1db8abcb98),
    UINT64_C(0x0851927139c871b), UINT64_C(0x0914a0fde7bcb2d), UINT64_C(0x09d3262ab4a2f4e),
    UINT64_C(0x0a8d56c396fc168), UINT64_C(0x0b43640f4d8a576), UINT64_C(0x0bf57c1dc157e1b),
    UINT64_C(0x0ca3ca0e108b7d6), UINT64_C(0x0d4e764d4d0424c), UINT64_C(0x0df5a6ced38dbe0),
    UINT64_C(0x0e997f3f0075eab), UINT64_C(0x0f3a2130eb43c3f), UINT64_C(0x0fd7ac47bc798f7),
    UINT64_C(0x10723e5c1cdf405), UINT64_C(0x1109f39e2d4c970), UINT64_C(0x119ee6b467c96ed),
    UINT64_C(0x123130d7bebf428), UINT64_C(0x12c0e9ed448e8bc), UINT64_C(0x134e289d9ce1d31),
    UINT64_C(0x13d9026a7156faa), UINT64_C(0x14618bc21c5ec28), UINT64_C(0x14e7d811b75bb0a),
    UINT64_C(0x156bf9d5b3f3994), UINT64_C(0x15ee02a92416757),
};

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
    return rng_hash_at(rng_hash_key(seed, stream), index);
}

uint64_t rng_hash_key(uint64_t seed, uint64_t stream)
{
    return mix(mix(seed + GOLDEN_GAMMA) + (stream + 1) * GOLDEN_GAMMA);
}

uint64_t rng_hash_at(uint64_t key, uint64_t index)
{
    return mix(key + (index + 1) * GOLDEN_GAMMA);
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

/* |ln (v / c)| in LOG_BITS for v = c +- off, both in 63 bits; v + c is given as sum in 62 bits. */
static uint64_t log_of_ratio(uint64_t off, uint64_t sum)
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
    uint64_t part = (v - one) >> (63 - PARTS_BITS);
    uint64_t c = one + ((2 * part + 1) << (62 - PARTS_BITS));
    uint64_t log = log_of_part[part];

    if (v >= c)
        log += log_of_ratio(v - c, v / 2 + c / 2);
    else
        log -= log_of_ratio(c - v, v / 2 + c / 2);

    uint64_t whole = (lead + 1) * LOG_2;

    /* Next to U = 1 the roundings are larger than the result. */
    return whole > log ? whole - log : 0;
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
