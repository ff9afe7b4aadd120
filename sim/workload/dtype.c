/* SPDX-License-Identifier: Apache-2.0 */
/*
 * DOC: Reductions
 *
 * What a rank does to a received buffer, so that a simulated collective can carry real bytes.
 *
 * - Integers wrap, as two's complement hardware does. bool: sum and max are "or", min is "and".
 * - float16 and bfloat16 are widened to float, added, and rounded to nearest even. One rounding to
 *   float before the one to the narrow type changes nothing, because float has at least 2p + 2
 *   digits (p = 11 and 8).
 * - max and min are IEEE 754-2019 maximum and minimum: a NaN operand gives that NaN, made quiet,
 *   the left one first; -0 is below +0. They compare integers made from the bits, so they do not
 *   depend on how a compiler treats NaN.
 * - complex64: sum by parts; max and min order by real part, then by imaginary part; a NaN part
 *   makes the whole element win.
 */
#include "sim/workload/dtype.h"

#include <stdbool.h>
#include <string.h>

/* Layout of a floating type inside an unsigned integer. */
struct float_layout {
    uint64_t sign;     /* the sign bit */
    uint64_t exponent; /* all exponent bits */
    uint64_t quiet;    /* the bit that makes a NaN quiet */
};

static const struct float_layout layout_f16 = {0x8000, 0x7c00, 0x0200};
static const struct float_layout layout_bf16 = {0x8000, 0x7f80, 0x0040};
static const struct float_layout layout_f32 = {0x80000000, 0x7f800000, 0x00400000};
static const struct float_layout layout_f64 = {UINT64_C(1) << 63, UINT64_C(0x7ff) << 52,
                                               UINT64_C(1) << 51};

static bool is_nan(const struct float_layout *layout, uint64_t bits)
{
    return (bits & ~layout->sign) > layout->exponent;
}

/* Numbers in order give keys in order; -0 comes right before +0. */
static int64_t order_key(const struct float_layout *layout, uint64_t bits)
{
    int64_t magnitude = (int64_t)(bits & ~layout->sign);

    return (bits & layout->sign) ? -magnitude - 1 : magnitude;
}

/* True when the right operand replaces the left one. */
static bool is_right_chosen(const struct float_layout *layout, enum reduction reduction, uint64_t a,
                            uint64_t b)
{
    if (is_nan(layout, a))
        return false;
    if (is_nan(layout, b))
        return true;
    if (reduction == REDUCTION_MAX)
        return order_key(layout, b) > order_key(layout, a);
    return order_key(layout, b) < order_key(layout, a);
}

static uint64_t choose(const struct float_layout *layout, enum reduction reduction, uint64_t a,
                       uint64_t b)
{
    uint64_t chosen = is_right_chosen(layout, reduction, a, b) ? b : a;

    return is_nan(layout, chosen) ? chosen | layout->quiet : chosen;
}

static uint32_t float_bits(float value)
{
    uint32_t bits;

    memcpy(&bits, &value, sizeof bits);
    return bits;
}

static float float_of_bits(uint32_t bits)
{
    float value;

    memcpy(&value, &bits, sizeof value);
    return value;
}

/* value / 2^shift, rounded to nearest even; shift in 1..31. */
static uint32_t shift_to_even(uint32_t value, uint32_t shift)
{
    uint32_t kept = value >> shift;
    uint32_t rest = value & ((UINT32_C(1) << shift) - 1);
    uint32_t half = UINT32_C(1) << (shift - 1);

    return kept + (rest > half || (rest == half && (kept & 1)));
}

uint16_t float16_from_float(float value)
{
    uint32_t bits = float_bits(value);
    uint16_t sign = (uint16_t)(bits >> 16 & 0x8000);
    uint32_t magnitude = bits & 0x7fffffff;
    int32_t exponent = (int32_t)(magnitude >> 23) - 127 + 15;

    if (magnitude > 0x7f800000)
        return (uint16_t)(sign | 0x7e00 | (magnitude >> 13 & 0x1ff));
    if (exponent >= 31)
        return (uint16_t)(sign | 0x7c00);
    if (exponent <= 0) {
        /* Subnormal: 2^-24 is the unit in the last place. Below half of it, all is lost. */
        uint32_t shift = (uint32_t)(14 - exponent);

        if (shift > 25)
            return sign;
        return (uint16_t)(sign | shift_to_even((magnitude & 0x7fffff) | 0x800000, shift));
    }
    /* A carry out of the fraction moves into the exponent, up to infinity: as it should. */
    return (uint16_t)(sign |
                      (((uint32_t)exponent << 10) + shift_to_even(magnitude & 0x7fffff, 13)));
}

float float16_to_float(uint16_t bits)
{
    uint32_t sign = (uint32_t)(bits & 0x8000) << 16;
    uint32_t exponent = bits >> 10 & 0x1f;
    uint32_t fraction = bits & 0x3ff;

    if (exponent == 31)
        return float_of_bits(sign | 0x7f800000 | fraction << 13);
    if (exponent == 0) {
        float magnitude = (float)fraction * 0x1p-24F;

        return sign ? -magnitude : magnitude;
    }
    return float_of_bits(sign | (exponent + 127 - 15) << 23 | fraction << 13);
}

uint16_t bfloat16_from_float(float value)
{
    uint32_t bits = float_bits(value);

    if ((bits & 0x7fffffff) > 0x7f800000)
        return (uint16_t)(bits >> 16 | 0x40);
    return (uint16_t)shift_to_even(bits, 16);
}

float bfloat16_to_float(uint16_t bits)
{
    return float_of_bits((uint32_t)bits << 16);
}

/* Wrapping sum, and comparison in the type itself. */
#define INTEGER_REDUCE(name, type, unsigned_type)                            \
    static void reduce_##name(enum reduction reduction, unsigned char *into, \
                              const unsigned char *from, uint64_t count)     \
    {                                                                        \
        for (uint64_t i = 0; i < count; i++) {                               \
            type a;                                                          \
            type b;                                                          \
            type r = 0;                                                      \
                                                                             \
            memcpy(&a, into + i * sizeof a, sizeof a);                       \
            memcpy(&b, from + i * sizeof b, sizeof b);                       \
            switch (reduction) {                                             \
            case REDUCTION_SUM:                                              \
                r = (type)((unsigned_type)a + (unsigned_type)b);             \
                break;                                                       \
            case REDUCTION_MAX:                                              \
                r = a > b ? a : b;                                           \
                break;                                                       \
            case REDUCTION_MIN:                                              \
                r = a < b ? a : b;                                           \
                break;                                                       \
            case REDUCTION_COUNT:                                            \
                break;                                                       \
            }                                                                \
            memcpy(into + i * sizeof r, &r, sizeof r);                       \
        }                                                                    \
    }

INTEGER_REDUCE(u8, uint8_t, uint32_t)
INTEGER_REDUCE(u16, uint16_t, uint32_t)
INTEGER_REDUCE(u32, uint32_t, uint32_t)
INTEGER_REDUCE(u64, uint64_t, uint64_t)
INTEGER_REDUCE(i8, int8_t, uint32_t)
INTEGER_REDUCE(i16, int16_t, uint32_t)
INTEGER_REDUCE(i32, int32_t, uint32_t)
INTEGER_REDUCE(i64, int64_t, uint64_t)

static void reduce_bool(enum reduction reduction, unsigned char *into, const unsigned char *from,
                        uint64_t count)
{
    for (uint64_t i = 0; i < count; i++) {
        bool a = into[i] != 0;
        bool b = from[i] != 0;

        into[i] = reduction == REDUCTION_MIN ? a && b : a || b;
    }
}

static uint16_t add_f16(uint16_t a, uint16_t b)
{
    return float16_from_float(float16_to_float(a) + float16_to_float(b));
}

static uint16_t add_bf16(uint16_t a, uint16_t b)
{
    return bfloat16_from_float(bfloat16_to_float(a) + bfloat16_to_float(b));
}

static uint32_t add_f32(uint32_t a, uint32_t b)
{
    return float_bits(float_of_bits(a) + float_of_bits(b));
}

static uint64_t add_f64(uint64_t a, uint64_t b)
{
    double x;
    double y;

    memcpy(&x, &a, sizeof x);
    memcpy(&y, &b, sizeof y);
    x += y;
    memcpy(&a, &x, sizeof a);
    return a;
}

#define FLOAT_REDUCE(name, type)                                                            \
    static void reduce_##name(enum reduction reduction, unsigned char *into,                \
                              const unsigned char *from, uint64_t count)                    \
    {                                                                                       \
        for (uint64_t i = 0; i < count; i++) {                                              \
            type a;                                                                         \
            type b;                                                                         \
                                                                                            \
            memcpy(&a, into + i * sizeof a, sizeof a);                                      \
            memcpy(&b, from + i * sizeof b, sizeof b);                                      \
            a = reduction == REDUCTION_SUM ? add_##name(a, b)                               \
                                           : (type)choose(&layout_##name, reduction, a, b); \
            memcpy(into + i * sizeof a, &a, sizeof a);                                      \
        }                                                                                   \
    }

FLOAT_REDUCE(f16, uint16_t)
FLOAT_REDUCE(bf16, uint16_t)
FLOAT_REDUCE(f32, uint32_t)
FLOAT_REDUCE(f64, uint64_t)

static bool is_complex_nan(const uint32_t part[2])
{
    return is_nan(&layout_f32, part[0]) || is_nan(&layout_f32, part[1]);
}

static bool is_right_complex_chosen(enum reduction reduction, const uint32_t a[2],
                                    const uint32_t b[2])
{
    int ix;

    if (is_complex_nan(a))
        return false;
    if (is_complex_nan(b))
        return true;
    ix = order_key(&layout_f32, a[0]) == order_key(&layout_f32, b[0]);
    return is_right_chosen(&layout_f32, reduction, a[ix], b[ix]);
}

static void reduce_c64(enum reduction reduction, unsigned char *into, const unsigned char *from,
                       uint64_t count)
{
    if (reduction == REDUCTION_SUM) {
        reduce_f32(reduction, into, from, 2 * count);
        return;
    }
    for (uint64_t i = 0; i < count; i++) {
        uint32_t a[2];
        uint32_t b[2];

        memcpy(a, into + i * sizeof a, sizeof a);
        memcpy(b, from + i * sizeof b, sizeof b);
        if (is_right_complex_chosen(reduction, a, b))
            memcpy(into + i * sizeof b, b, sizeof b);
    }
}

void dtype_reduce(enum dtype dtype, enum reduction reduction, void *into, const void *from,
                  uint64_t count)
{
    typedef void reduce_fn(enum reduction, unsigned char *, const unsigned char *, uint64_t);
    static reduce_fn *const table[] = {
        [DTYPE_BOOL] = reduce_bool, [DTYPE_U8] = reduce_u8,     [DTYPE_U16] = reduce_u16,
        [DTYPE_U32] = reduce_u32,   [DTYPE_U64] = reduce_u64,   [DTYPE_I8] = reduce_i8,
        [DTYPE_I16] = reduce_i16,   [DTYPE_I32] = reduce_i32,   [DTYPE_I64] = reduce_i64,
        [DTYPE_F16] = reduce_f16,   [DTYPE_BF16] = reduce_bf16, [DTYPE_F32] = reduce_f32,
        [DTYPE_F64] = reduce_f64,   [DTYPE_C64] = reduce_c64,
    };

    table[dtype](reduction, into, from, count);
}

/* The floating types, each from a number that all of them hold exactly. */
static void put_float(enum dtype dtype, void *element, float number)
{
    uint16_t half;
    double wide = (double)number;
    float parts[2] = {number, -number};

    if (dtype == DTYPE_F16 || dtype == DTYPE_BF16) {
        half = dtype == DTYPE_F16 ? float16_from_float(number) : bfloat16_from_float(number);
        memcpy(element, &half, sizeof half);
    } else if (dtype == DTYPE_F64) {
        memcpy(element, &wide, sizeof wide);
    } else {
        memcpy(element, parts, dtype_size(dtype));
    }
}

void dtype_put_number(enum dtype dtype, void *element, int64_t number)
{
    uint64_t bits = (uint64_t)number;
    unsigned char *bytes = element;

    if (dtype == DTYPE_BOOL) {
        bytes[0] = bits & 1;
    } else if (dtype >= DTYPE_F16) {
        put_float(dtype, element, (float)number);
    } else {
        /* Least byte first, as on every machine this runs on and simulates. */
        for (uint32_t i = 0; i < dtype_size(dtype); i++)
            bytes[i] = (unsigned char)(bits >> (8 * i));
    }
}
