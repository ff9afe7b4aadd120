/* SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>
#include <string.h>

#include <criterion/criterion.h>

#include "sim/scenario/quantity.h"

static const struct src_pos here = {"q.yaml", 12, 9};

Test(quantity, reads_exact_integers_in_the_base_unit)
{
    static const struct {
        const char *text;
        enum quantity_kind kind;
        int64_t value;
    } rows[] = {
        {"850 ns", QUANTITY_SPAN, 850000},
        {"850ns", QUANTITY_SPAN, 850000},
        {"12.5 us", QUANTITY_SPAN, 12500000},
        {"178.75 ns", QUANTITY_SPAN, 178750},
        {"1e3 ns", QUANTITY_SPAN, 1000000},
        {"0.000000000001 s", QUANTITY_SPAN, 1},
        {"2 min", QUANTITY_SPAN, 120 * PS_PER_S},
        {"0 ms", QUANTITY_SPAN, 0},
        {"9223372036854775807 ps", QUANTITY_SPAN, INT64_MAX},
        {"80 Gb/s", QUANTITY_RATE, 80000000000},
        {"80 GB/s", QUANTITY_RATE, 640000000000},
        {"9.31 GB/s", QUANTITY_RATE, 74480000000},
        {"1 MiB/s", QUANTITY_RATE, 8 * 1048576},
        {"64 KiB", QUANTITY_SIZE, 65536},
        {"64 KB", QUANTITY_SIZE, 64000},
        {"512 GiB", QUANTITY_SIZE, INT64_C(549755813888)},
        {"512 GB", QUANTITY_SIZE, INT64_C(512000000000)},
        {"1.5 KiB", QUANTITY_SIZE, 1536},
        {"0.5 m", QUANTITY_LENGTH, 500},
        {"20", QUANTITY_COUNT, 20},
        {"1e6", QUANTITY_COUNT, 1000000},
        {"1e-6", QUANTITY_CHANCE, 1000},
        {"1", QUANTITY_CHANCE, 1000000000},
        {".5", QUANTITY_CHANCE, 500000000},
    };

    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct err err = {0};
        int64_t value = -1;

        cr_expect(quantity_parse(rows[i].text, rows[i].kind, here, &value, &err), "%s: %s",
                  rows[i].text, err.text);
        cr_expect_eq(value, rows[i].value, "%s: got %" PRId64, rows[i].text, value);
    }
}

Test(quantity, says_what_was_found_and_what_is_accepted)
{
    static const struct {
        const char *text;
        enum quantity_kind kind;
        enum err_code code;
        const char *message;
    } rows[] = {
        {"850", QUANTITY_SPAN, ERR_UNIT, "'850' needs a unit: ps, ns, us, ms, s or min"},
        {"80 Gb/s", QUANTITY_SPAN, ERR_UNIT,
         "'80 Gb/s' is a rate; a duration is wanted here: ps, ns, us, ms, s or min"},
        {"64 KiB", QUANTITY_RATE, ERR_UNIT,
         "'64 KiB' is a size; a rate is wanted here: Gb/s, Mb/s, kb/s, GB/s, MB/s, GiB/s or MiB/s"},
        {"64", QUANTITY_SIZE, ERR_UNIT,
         "'64' needs a unit: B, KB, MB, GB, TB, KiB, MiB, GiB or TiB"},
        {"64 kib", QUANTITY_SIZE, ERR_UNIT,
         "'64 kib' has an unknown unit 'kib'; accepted: B, KB, MB, GB, TB, KiB, MiB, GiB or TiB"},
        {"80 Gbps", QUANTITY_RATE, ERR_UNIT,
         "'80 Gbps' has an unknown unit 'Gbps'; accepted: Gb/s, Mb/s, kb/s, GB/s, MB/s, GiB/s or "
         "MiB/s"},
        {"0.5 ps", QUANTITY_SPAN, ERR_RANGE, "'0.5 ps' is finer than one picosecond"},
        {"0.1 KiB", QUANTITY_SIZE, ERR_RANGE, "'0.1 KiB' is finer than one byte"},
        {"9223372036854775808 ps", QUANTITY_SPAN, ERR_LIMIT,
         "'9223372036854775808 ps' is too large: at most 2^63 - 1 picoseconds"},
        {"8388608 TiB", QUANTITY_SIZE, ERR_LIMIT,
         "'8388608 TiB' is too large: at most 2^63 - 1 bytes"},
        {"99999999999999999999 B", QUANTITY_SIZE, ERR_RANGE,
         "'99999999999999999999 B' has too many digits or too large an exponent"},
        {"1e99 s", QUANTITY_SPAN, ERR_RANGE,
         "'1e99 s' has too many digits or too large an exponent"},
        {"1e40 s", QUANTITY_SPAN, ERR_LIMIT, "'1e40 s' is too large: at most 2^63 - 1 picoseconds"},
        {"-5 ns", QUANTITY_SPAN, ERR_RANGE, "'-5 ns' is negative; a duration is 0 or more"},
        {"fast", QUANTITY_SPAN, ERR_UNIT,
         "'fast' is not a duration: a number is wanted, with ps, ns, us, ms, s or min"},
        {"", QUANTITY_SIZE, ERR_UNIT,
         "'' is not a size: a number is wanted, with B, KB, MB, GB, TB, KiB, MiB, GiB or TiB"},
        {"20 x", QUANTITY_COUNT, ERR_UNIT,
         "'20 x' has a unit; a number is wanted here, with no unit"},
        {"0.5", QUANTITY_COUNT, ERR_RANGE, "'0.5' is finer than one unit"},
        {"1.5", QUANTITY_CHANCE, ERR_RANGE, "'1.5' is not a probability: 0 to 1 is"},
        {"1e-10", QUANTITY_CHANCE, ERR_RANGE, "'1e-10' is finer than one part per billion"},
    };

    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct err err = {0};
        int64_t value = -7;

        cr_expect_not(quantity_parse(rows[i].text, rows[i].kind, here, &value, &err), "%s",
                      rows[i].text);
        cr_expect_str_eq(err.text, rows[i].message);
        cr_expect_eq(err.code, rows[i].code, "%s", rows[i].text);
        cr_expect_eq(err.pos.line, 12, "%s", rows[i].text);
        cr_expect_eq(value, -7, "%s: a failed parse changed the result", rows[i].text);
    }
}

Test(quantity, thousandths_take_a_percent_sign_and_three_decimals)
{
    struct err err = {0};
    int64_t value = 0;

    cr_expect(quantity_parse_thousandths("3.25", here, &value, &err));
    cr_expect_eq(value, 3250);
    cr_expect(quantity_parse_thousandths("35 %", here, &value, &err));
    cr_expect_eq(value, 35000);
    cr_expect_not(quantity_parse_thousandths("1.0005", here, &value, &err));
    cr_expect_str_eq(err.text, "'1.0005' has more than three decimals");
}

Test(quantity, prints_what_it_reads)
{
    static const struct {
        enum quantity_kind kind;
        int64_t value;
        const char *text;
    } rows[] = {
        {QUANTITY_SPAN, 12345678, "12.346 us"},
        {QUANTITY_SPAN, 0, "0 ps"},
        {QUANTITY_SPAN, 850000, "850 ns"},
        {QUANTITY_SPAN, 90 * PS_PER_S, "90 s"},
        {QUANTITY_RATE, 80000000000, "80 Gb/s"},
        {QUANTITY_RATE, 74480000000, "74.48 Gb/s"},
        {QUANTITY_SIZE, 65536, "64 KiB"},
        {QUANTITY_SIZE, 1000, "1000 B"},
        {QUANTITY_COUNT, 7, "7"},
        {QUANTITY_SIZE, 1 << 20, "1 MiB"},
    };

    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        char text[QUANTITY_TEXT_MAX];

        quantity_format(text, rows[i].kind, rows[i].value);
        cr_expect_str_eq(text, rows[i].text);
    }
}
