/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <stdbool.h>
#include <string.h>

#include <criterion/criterion.h>

#include "sim/workload/dtype.h"

/* Equality without the compiler's advice; false for NaN. */
static bool is_same(double a, double b)
{
    return a <= b && a >= b;
}

/* Two to a whole power, without a mathematics library. */
static double scaled(double value, int power)
{
    for (; power > 0; power--)
        value *= 2;
    for (; power < 0; power++)
        value /= 2;
    return value;
}

/* Reference: the nearest half by trying all 65,536, ties to the even one. */
static uint16_t nearest_half(double value)
{
    uint16_t best = 0;
    double distance = INFINITY;

    for (uint32_t bits = 0; bits < 0x7c00; bits++) {
        double candidate = (double)float16_to_float((uint16_t)bits);
        double d = fabs(candidate - fabs(value));

        if (d < distance || (is_same(d, distance) && bits % 2 == 0)) {
            best = (uint16_t)bits;
            distance = d;
        }
    }
    /* Half a unit beyond the largest number is infinity. */
    if (fabs(value) >= 65520.0)
        best = 0x7c00;
    return (uint16_t)(best | (signbit(value) ? 0x8000 : 0));
}

Test(dtype, float16_widens_to_the_value_that_its_bits_mean)
{
    for (uint32_t bits = 0; bits < 0x10000; bits++) {
        uint32_t exponent = bits >> 10 & 0x1f;
        double fraction = bits & 0x3ff;
        double magnitude =
            exponent == 0 ? scaled(fraction, -24) : scaled(1024 + fraction, (int)exponent - 25);
        float got = float16_to_float((uint16_t)bits);

        if (exponent == 31) {
            cr_assert(fraction < 1 ? isinf(got) : isnan(got), "%04x", bits);
            continue;
        }
        cr_assert(is_same((double)got, bits & 0x8000 ? -magnitude : magnitude), "%04x", bits);
        cr_assert(!!signbit(got) == !!(bits & 0x8000), "sign of %04x", bits);
    }
}

Test(dtype, float16_survives_the_way_through_float)
{
    for (uint32_t bits = 0; bits < 0x10000; bits++) {
        if ((bits & 0x7fff) > 0x7c00)
            continue;
        cr_assert_eq(float16_from_float(float16_to_float((uint16_t)bits)), bits, "%04x", bits);
    }
}

Test(dtype, float16_rounds_to_the_nearest_and_ties_to_even)
{
    static const double values[] = {0.0,     -0.0,      1.0,     1.0 + 0x1p-11, 1.0 + 3 * 0x1p-11,
                                    65504.0, 65519.99,  65520.0, -70000.0,      0x1p-24,
                                    0x1p-25, 0x1.8p-25, 0x1p-26, 0x1.fffp-15,   0x1p-14,
                                    1e-30,   3.14159,   -2049.0, 2051.0,        0x1.ffdp-15};
    uint64_t state = 1;

    for (size_t i = 0; i < sizeof values / sizeof *values; i++)
        cr_expect_eq(float16_from_float((float)values[i]), nearest_half((double)(float)values[i]),
                     "%g", values[i]);
    for (int i = 0; i < 200; i++) {
        float value;

        state = state * 6364136223846793005U + 1442695040888963407U;
        value = (float)scaled((double)(state >> 40), (int)(state >> 20 & 63) - 60);

        cr_expect_eq(float16_from_float(value), nearest_half((double)value), "%a", (double)value);
    }
}

Test(dtype, bfloat16_is_the_upper_half_of_a_float_rounded_to_even)
{
    struct row {
        uint32_t bits;
        uint16_t expected;
    };
    static const struct row rows[] = {
        {0x3f800000, 0x3f80}, {0x3f808000, 0x3f80}, {0x3f818000, 0x3f82}, {0x3f808001, 0x3f81},
        {0x7f7fffff, 0x7f80}, {0xff800000, 0xff80}, {0x7f800001, 0x7fc0}, {0x00008000, 0x0000},
        {0x00018000, 0x0002}, {0x80000000, 0x8000},
    };

    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        float value;

        memcpy(&value, &rows[i].bits, sizeof value);
        cr_expect_eq(bfloat16_from_float(value), rows[i].expected, "%08x", rows[i].bits);
    }
}

Test(dtype, integers_wrap_and_compare_by_their_sign)
{
    int8_t a = 127, b = 1;
    uint8_t c = 200, d = 100;
    int64_t e = INT64_MAX, f = 1;
    uint64_t g = UINT64_MAX, h = 2;
    int8_t minus = -1;

    dtype_reduce(DTYPE_I8, REDUCTION_SUM, &a, &b, 1);
    cr_expect_eq(a, -128);
    dtype_reduce(DTYPE_U8, REDUCTION_SUM, &c, &d, 1);
    cr_expect_eq(c, 44);
    dtype_reduce(DTYPE_I64, REDUCTION_SUM, &e, &f, 1);
    cr_expect_eq(e, INT64_MIN);
    dtype_reduce(DTYPE_U64, REDUCTION_SUM, &g, &h, 1);
    cr_expect_eq(g, 1);
    a = 5;
    dtype_reduce(DTYPE_I8, REDUCTION_MAX, &a, &minus, 1);
    cr_expect_eq(a, 5, "signed");
    a = 5;
    dtype_reduce(DTYPE_U8, REDUCTION_MAX, &a, &minus, 1);
    cr_expect_eq(a, -1, "the same bits are 255 when unsigned");
}

/* Every pair of small numbers through every type and reduction against plain arithmetic. */
Test(dtype, small_numbers_reduce_alike_in_every_type)
{
    for (int dtype = 0; dtype < DTYPE_COUNT; dtype++) {
        for (int reduction = 0; reduction < REDUCTION_COUNT; reduction++) {
            for (int pair = 0; pair < 100; pair++) {
                int a = pair / 10, b = pair % 10;
                int expected = reduction == REDUCTION_SUM   ? a + b
                               : reduction == REDUCTION_MAX ? (a > b ? a : b)
                                                            : (a < b ? a : b);
                unsigned char into[17] = {0}, from[17] = {0}, want[17] = {0};

                if (dtype == DTYPE_BOOL)
                    expected = reduction == REDUCTION_MIN ? (a & b & 1) : ((a | b) & 1);
                /* Odd addresses: packed elements need no alignment. */
                dtype_put_number((enum dtype)dtype, into + 1, a);
                dtype_put_number((enum dtype)dtype, from + 1, b);
                dtype_put_number((enum dtype)dtype, want + 1, expected);
                dtype_reduce((enum dtype)dtype, (enum reduction)reduction, into + 1, from + 1, 1);
                if (dtype == DTYPE_C64 && a == 0 && b == 0)
                    continue; /* the imaginary part may be -0 or +0 */
                cr_assert_arr_eq(into, want, sizeof want, "%s %s of %d and %d",
                                 dtype_name((enum dtype)dtype),
                                 reduction_name((enum reduction)reduction), a, b);
            }
        }
    }
}

Test(dtype, narrow_floats_add_with_one_rounding)
{
    uint16_t big = float16_from_float(2048), one = float16_from_float(1);
    uint16_t three = float16_from_float(3), sum;

    sum = big;
    dtype_reduce(DTYPE_F16, REDUCTION_SUM, &sum, &one, 1);
    cr_expect_eq(float16_to_float(sum), 2048, "2049 is a tie and goes to even");
    sum = big;
    dtype_reduce(DTYPE_F16, REDUCTION_SUM, &sum, &three, 1);
    cr_expect_eq(float16_to_float(sum), 2052, "2051 is a tie and goes to even");
    big = bfloat16_from_float(256);
    one = bfloat16_from_float(1);
    dtype_reduce(DTYPE_BF16, REDUCTION_SUM, &big, &one, 1);
    cr_expect_eq(bfloat16_to_float(big), 256);
}

Test(dtype, a_nan_wins_and_becomes_quiet)
{
    for (int reduction = REDUCTION_SUM; reduction < REDUCTION_COUNT; reduction++) {
        float nan = NAN, one = 1.0F, into;
        double wide_nan = NAN, wide = 1.0;
        uint16_t signalling = 0x7d00, half = 0x3c00;

        into = one;
        dtype_reduce(DTYPE_F32, (enum reduction)reduction, &into, &nan, 1);
        cr_expect(isnan(into), "right, %d", reduction);
        into = nan;
        dtype_reduce(DTYPE_F32, (enum reduction)reduction, &into, &one, 1);
        cr_expect(isnan(into), "left, %d", reduction);
        dtype_reduce(DTYPE_F64, (enum reduction)reduction, &wide, &wide_nan, 1);
        cr_expect(isnan(wide));
        dtype_reduce(DTYPE_F16, (enum reduction)reduction, &half, &signalling, 1);
        cr_expect_eq(half, 0x7f00, "quiet and otherwise the same, %d: %04x", reduction, half);
    }
}

Test(dtype, minus_zero_is_below_plus_zero)
{
    float into = -0.0F, plus = 0.0F;

    dtype_reduce(DTYPE_F32, REDUCTION_MAX, &into, &plus, 1);
    cr_expect_not(signbit(into));
    into = -0.0F;
    dtype_reduce(DTYPE_F32, REDUCTION_MIN, &into, &plus, 1);
    cr_expect(signbit(into));
}

Test(dtype, complex_numbers_add_by_parts_and_order_by_the_real_part_first)
{
    float into[2] = {1, 5}, from[2] = {2, -7};

    dtype_reduce(DTYPE_C64, REDUCTION_SUM, into, from, 1);
    cr_expect(is_same(into[0], 3) && is_same(into[1], -2));
    dtype_reduce(DTYPE_C64, REDUCTION_MAX, into, from, 1);
    cr_expect(is_same(into[0], 3) && is_same(into[1], -2), "3 > 2");
    from[0] = 3;
    from[1] = -1;
    dtype_reduce(DTYPE_C64, REDUCTION_MAX, into, from, 1);
    cr_expect(is_same(into[1], -1), "equal real parts: the imaginary one decides");
    dtype_reduce(DTYPE_C64, REDUCTION_MIN, into, from, 1);
    cr_expect(is_same(into[1], -1));
}
