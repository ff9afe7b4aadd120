/* SPDX-License-Identifier: Apache-2.0 */
/*
 * DOC: Quantities
 *
 * A quantity is a decimal number and a unit, "12.5 us" or "1e3 ns". The number is kept as digits
 * and a power of ten, the unit as an integer factor, so that the product is exact: what has no
 * whole number of picoseconds, bytes or bits is refused, never rounded. KB, MB and GB are decimal,
 * KiB, MiB and GiB binary; b is a bit and B a byte.
 */
#include "sim/scenario/quantity.h"

#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

/* No number that fits 63 bits needs a larger power of ten; 18 decimals reach from s to ps. */
#define EXPONENT_MAX 40

struct unit {
    const char *name;
    enum quantity_kind kind;
    uint64_t factor;
};

#define KIBI UINT64_C(1024)

static const struct unit units[] = {
    {"ps", QUANTITY_SPAN, 1},
    {"ns", QUANTITY_SPAN, 1000},
    {"us", QUANTITY_SPAN, 1000000},
    {"ms", QUANTITY_SPAN, 1000000000},
    {"s", QUANTITY_SPAN, UINT64_C(1000000000000)},
    {"min", QUANTITY_SPAN, UINT64_C(60000000000000)},
    {"b/s", QUANTITY_RATE, 1},
    {"kb/s", QUANTITY_RATE, 1000},
    {"Mb/s", QUANTITY_RATE, 1000000},
    {"Gb/s", QUANTITY_RATE, 1000000000},
    {"Tb/s", QUANTITY_RATE, UINT64_C(1000000000000)},
    {"B/s", QUANTITY_RATE, 8},
    {"KB/s", QUANTITY_RATE, 8000},
    {"MB/s", QUANTITY_RATE, 8000000},
    {"GB/s", QUANTITY_RATE, UINT64_C(8000000000)},
    {"TB/s", QUANTITY_RATE, UINT64_C(8000000000000)},
    {"KiB/s", QUANTITY_RATE, 8 * KIBI},
    {"MiB/s", QUANTITY_RATE, 8 * KIBI *KIBI},
    {"GiB/s", QUANTITY_RATE, 8 * KIBI *KIBI *KIBI},
    {"B", QUANTITY_SIZE, 1},
    {"KB", QUANTITY_SIZE, 1000},
    {"MB", QUANTITY_SIZE, 1000000},
    {"GB", QUANTITY_SIZE, 1000000000},
    {"TB", QUANTITY_SIZE, UINT64_C(1000000000000)},
    {"KiB", QUANTITY_SIZE, KIBI},
    {"MiB", QUANTITY_SIZE, KIBI *KIBI},
    {"GiB", QUANTITY_SIZE, KIBI *KIBI *KIBI},
    {"TiB", QUANTITY_SIZE, KIBI *KIBI *KIBI *KIBI},
    {"mm", QUANTITY_LENGTH, 1},
    {"cm", QUANTITY_LENGTH, 10},
    {"m", QUANTITY_LENGTH, 1000},
};

/* What a kind is called, which units it accepts, and its least step. */
struct kind_text {
    const char *what;
    const char *accepted;
    const char *step;
};

static const struct kind_text kinds[] = {
    [QUANTITY_SPAN] = {"a duration", "ps, ns, us, ms, s or min", "picosecond"},
    [QUANTITY_RATE] = {"a rate", "Gb/s, Mb/s, kb/s, GB/s, MB/s, GiB/s or MiB/s", "bit a second"},
    [QUANTITY_SIZE] = {"a size", "B, KB, MB, GB, TB, KiB, MiB, GiB or TiB", "byte"},
    [QUANTITY_LENGTH] = {"a length", "mm, cm or m", "millimetre"},
    [QUANTITY_COUNT] = {"a number", "no unit", "unit"},
    [QUANTITY_CHANCE] = {"a probability", "a number from 0 to 1", "part per billion"},
};

struct decimal {
    uint64_t digits;
    int exponent; /* value = digits * 10^exponent */
};

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

/* Adds one digit; false when the number has more digits than 64 bits hold. */
static bool push_digit(struct decimal *decimal, char c)
{
    return !__builtin_mul_overflow(decimal->digits, UINT64_C(10), &decimal->digits) &&
           !__builtin_add_overflow(decimal->digits, (uint64_t)(c - '0'), &decimal->digits);
}

/* Reads an exponent such as "e-6" if one stands at *text; false when it is out of bounds. */
static bool scan_exponent(const char **text, struct decimal *decimal)
{
    const char *p = *text;
    bool is_negative;
    int exponent = 0;

    if (*p != 'e' && *p != 'E')
        return true;
    p++;
    is_negative = *p == '-';
    if (*p == '-' || *p == '+')
        p++;
    if (!is_digit(*p))
        return true; /* not an exponent: a unit that does not exist, said by the caller */
    for (; is_digit(*p); p++) {
        exponent = exponent * 10 + (*p - '0');
        if (exponent > EXPONENT_MAX)
            return false;
    }
    decimal->exponent += is_negative ? -exponent : exponent;
    *text = p;
    return true;
}

enum scan_result {
    SCAN_OK,
    SCAN_NO_NUMBER,
    SCAN_TOO_LONG,
};

/* Reads digits, at most one point, and an exponent; moves *text past them. */
static enum scan_result scan_decimal(const char **text, struct decimal *ret)
{
    struct decimal decimal = {0};
    const char *p = *text;
    bool has_digit = false;

    for (; is_digit(*p); p++) {
        has_digit = true;
        if (!push_digit(&decimal, *p))
            return SCAN_TOO_LONG;
    }
    if (*p == '.' && (has_digit || is_digit(p[1]))) {
        for (p++; is_digit(*p); p++) {
            has_digit = true;
            if (--decimal.exponent < -EXPONENT_MAX || !push_digit(&decimal, *p))
                return SCAN_TOO_LONG;
        }
    }
    if (!has_digit)
        return SCAN_NO_NUMBER;
    if (!scan_exponent(&p, &decimal))
        return SCAN_TOO_LONG;
    *text = p;
    *ret = decimal;
    return SCAN_OK;
}

enum scale_result {
    SCALE_OK,
    SCALE_TOO_LARGE,
    SCALE_TOO_FINE,
};

/* decimal * factor as an exact integer. */
static enum scale_result scale_decimal(struct decimal decimal, uint64_t factor, int64_t *ret)
{
    u128 value = (u128)decimal.digits * factor; /* below 2^64 * 2^46 */

    for (; decimal.exponent < 0; decimal.exponent++) {
        if (value % 10 != 0)
            return SCALE_TOO_FINE;
        value /= 10;
    }
    for (; decimal.exponent > 0 && value != 0; decimal.exponent--) {
        if (value > (u128)INT64_MAX)
            return SCALE_TOO_LARGE;
        value *= 10;
    }
    if (value > (u128)INT64_MAX)
        return SCALE_TOO_LARGE;
    *ret = (int64_t)value;
    return SCALE_OK;
}

/* The unit of that spelling, NULL when there is none. */
static const struct unit *find_unit(const char *name)
{
    for (size_t i = 0; i < sizeof units / sizeof units[0]; i++) {
        if (strcmp(units[i].name, name) == 0)
            return &units[i];
    }
    return NULL;
}

/* The factor of the unit text after the number; zero and an error when it does not fit the kind. */
static uint64_t unit_factor(const char *text, const char *suffix, enum quantity_kind kind,
                            struct src_pos pos, struct err *reterr)
{
    const struct kind_text *wanted = &kinds[kind];
    const struct unit *unit = find_unit(suffix);

    if (kind == QUANTITY_COUNT || kind == QUANTITY_CHANCE) {
        if (*suffix == '\0')
            return kind == QUANTITY_COUNT ? 1 : UINT64_C(1000000000);
        err_set(reterr, ERR_UNIT, pos, "'%.60s' has a unit; %s is wanted here, with no unit", text,
                wanted->what);
        return 0;
    }
    if (*suffix == '\0')
        err_set(reterr, ERR_UNIT, pos, "'%.60s' needs a unit: %s", text, wanted->accepted);
    else if (!unit)
        err_set(reterr, ERR_UNIT, pos, "'%.60s' has an unknown unit '%.20s'; accepted: %s", text,
                suffix, wanted->accepted);
    else if (unit->kind != kind)
        err_set(reterr, ERR_UNIT, pos, "'%.60s' is %s; %s is wanted here: %s", text,
                kinds[unit->kind].what, wanted->what, wanted->accepted);
    else
        return unit->factor;
    return 0;
}

bool quantity_parse(const char *text, enum quantity_kind kind, struct src_pos pos, int64_t *ret,
                    struct err *reterr)
{
    const struct kind_text *wanted = &kinds[kind];
    struct decimal decimal;
    const char *p = text;
    int64_t value;

    if (*p == '-')
        return err_set(reterr, ERR_RANGE, pos, "'%.60s' is negative; %s is 0 or more", text,
                       wanted->what);
    switch (scan_decimal(&p, &decimal)) {
    case SCAN_NO_NUMBER:
        return err_set(reterr, ERR_UNIT, pos, "'%.60s' is not %s: a number is wanted, with %s",
                       text, wanted->what, wanted->accepted);
    case SCAN_TOO_LONG:
        return err_set(reterr, ERR_RANGE, pos,
                       "'%.60s' has too many digits or too large an exponent", text);
    case SCAN_OK:
        break;
    }
    while (*p == ' ')
        p++;

    uint64_t factor = unit_factor(text, p, kind, pos, reterr);

    if (factor == 0)
        return false;
    switch (scale_decimal(decimal, factor, &value)) {
    case SCALE_TOO_FINE:
        return err_set(reterr, ERR_RANGE, pos, "'%.60s' is finer than one %s", text, wanted->step);
    case SCALE_TOO_LARGE:
        return err_set(reterr, ERR_LIMIT, pos, "'%.60s' is too large: at most 2^63 - 1 %ss", text,
                       wanted->step);
    case SCALE_OK:
        break;
    }
    if (kind == QUANTITY_CHANCE && value > 1000000000)
        return err_set(reterr, ERR_RANGE, pos, "'%.60s' is not a probability: 0 to 1 is", text);
    *ret = value;
    return true;
}

bool quantity_parse_span(const char *text, struct src_pos pos, simspan *ret, struct err *reterr)
{
    return quantity_parse(text, QUANTITY_SPAN, pos, &ret->ps, reterr);
}

bool quantity_parse_rate(const char *text, struct src_pos pos, bitrate *ret, struct err *reterr)
{
    int64_t value;

    if (!quantity_parse(text, QUANTITY_RATE, pos, &value, reterr))
        return false;
    ret->bps = (uint64_t)value;
    return true;
}

bool quantity_parse_size(const char *text, struct src_pos pos, bytecount *ret, struct err *reterr)
{
    int64_t value = 0;

    if (!quantity_parse(text, QUANTITY_SIZE, pos, &value, reterr))
        return false;
    ret->bytes = (uint64_t)value;
    return true;
}

bool quantity_parse_thousandths(const char *text, struct src_pos pos, int64_t *ret,
                                struct err *reterr)
{
    struct decimal decimal;
    const char *p = text;

    if (scan_decimal(&p, &decimal) != SCAN_OK)
        return err_set(reterr, ERR_RANGE, pos, "'%.60s' is not a number of 0 or more", text);
    while (*p == ' ')
        p++;
    if (*p == '%')
        p++;
    if (*p != '\0')
        return err_set(reterr, ERR_UNIT, pos, "'%.60s' has a unit; a plain number or %% is wanted",
                       text);
    switch (scale_decimal(decimal, 1000, ret)) {
    case SCALE_TOO_FINE:
        return err_set(reterr, ERR_RANGE, pos, "'%.60s' has more than three decimals", text);
    case SCALE_TOO_LARGE:
        return err_set(reterr, ERR_LIMIT, pos, "'%.60s' is too large", text);
    case SCALE_OK:
        break;
    }
    return true;
}

/* The largest unit to print a value in. Sizes are printed in binary units where those are whole. */
static const struct unit *printed_unit(enum quantity_kind kind, int64_t value)
{
    const struct unit *best = NULL;

    for (size_t i = 0; i < sizeof units / sizeof units[0]; i++) {
        const struct unit *unit = &units[i];
        bool is_plain = kind == QUANTITY_RATE ? unit->factor % 8 != 0 || strchr(unit->name, 'b')
                                              : strcmp(unit->name, "min") != 0;
        bool is_whole = kind != QUANTITY_SIZE || unit->factor == 1 ||
                        (unit->factor % KIBI == 0 && (uint64_t)value % unit->factor == 0);

        if (unit->kind != kind || !is_plain || !is_whole || unit->factor > (uint64_t)value)
            continue;
        if (!best || unit->factor > best->factor)
            best = unit;
    }
    return best;
}

void quantity_format(char ret[QUANTITY_TEXT_MAX], enum quantity_kind kind, int64_t value)
{
    static const char *const least[] = {
        [QUANTITY_SPAN] = " ps",   [QUANTITY_RATE] = " b/s", [QUANTITY_SIZE] = " B",
        [QUANTITY_LENGTH] = " mm", [QUANTITY_COUNT] = "",    [QUANTITY_CHANCE] = " ppb",
    };
    const struct unit *unit = printed_unit(kind, value);

    if (!unit) {
        (void)snprintf(ret, QUANTITY_TEXT_MAX, "%" PRId64 "%s", value, least[kind]);
        return;
    }

    u128 thousandths = ((u128)value * 1000 + unit->factor / 2) / unit->factor;
    uint64_t whole = (uint64_t)(thousandths / 1000);
    uint32_t rest = (uint32_t)(thousandths % 1000);

    if (rest == 0)
        (void)snprintf(ret, QUANTITY_TEXT_MAX, "%" PRIu64 " %s", whole, unit->name);
    else if (rest % 100 == 0)
        (void)snprintf(ret, QUANTITY_TEXT_MAX, "%" PRIu64 ".%u %s", whole, rest / 100, unit->name);
    else if (rest % 10 == 0)
        (void)snprintf(ret, QUANTITY_TEXT_MAX, "%" PRIu64 ".%02u %s", whole, rest / 10, unit->name);
    else
        (void)snprintf(ret, QUANTITY_TEXT_MAX, "%" PRIu64 ".%03u %s", whole, rest, unit->name);
}

enum quantity_kind quantity_kind_of_param(enum param_unit unit)
{
    switch (unit) {
    case PARAM_UNIT_SPAN:
        return QUANTITY_SPAN;
    case PARAM_UNIT_RATE:
        return QUANTITY_RATE;
    case PARAM_UNIT_SIZE:
        return QUANTITY_SIZE;
    case PARAM_UNIT_COUNT:
        return QUANTITY_COUNT;
    }
    return QUANTITY_COUNT;
}
