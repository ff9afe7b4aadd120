/* SPDX-License-Identifier: Apache-2.0 */
#include <criterion/criterion.h>

#include "sim/report/human.h"

Test(human, a_span_has_four_digits_and_the_largest_unit_that_it_reaches)
{
    static const struct {
        int64_t ps;
        const char *text;
    } rows[] = {
        {0, "0 ps"},
        {-5, "0 ps"},
        {999, "999 ps"},
        {1000, "1.000 ns"},
        {1234567, "1.235 us"},
        {9999499, "9.999 us"},
        {9999500, "10.00 us"},
        {12345678, "12.35 us"},
        {123456789, "123.5 us"},
        {999950000, "1000 us"},
        {1000000000, "1.000 ms"},
        {INT64_MAX, "9223372 s"},
    };

    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        char text[HUMAN_TEXT_MAX];

        human_span(text, (simspan){rows[i].ps});
        cr_expect_str_eq(text, rows[i].text, "%lld: %s", (long long)rows[i].ps, text);
    }
}

Test(human, a_rate_is_in_bytes)
{
    static const struct {
        uint64_t bps;
        const char *text;
    } rows[] = {
        {0, "-"},
        {8, "1.000 B/s"},
        {7999, "999.9 B/s"},
        {8000, "1.000 kB/s"},
        {74500000000, "9.313 GB/s"},
        {UINT64_MAX, "2305843 TB/s"},
    };

    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        char text[HUMAN_TEXT_MAX];

        human_byte_rate(text, (bitrate){rows[i].bps});
        cr_expect_str_eq(text, rows[i].text, "%s", text);
    }
}

Test(human, a_size_is_exact)
{
    static const struct {
        uint64_t bytes;
        const char *text;
    } rows[] = {
        {0, "0 B"},
        {1023, "1023 B"},
        {1024, "1 KiB"},
        {1025, "1025 B"},
        {1536, "1.5 KiB"},
        {64 << 20, "64 MiB"},
        {(64 << 20) + 1, "67108865 B"},
        {UINT64_C(1) << 40, "1 TiB"},
        {UINT64_C(1) << 63, "8388608 TiB"},
        {UINT64_MAX, "18446744073709551615 B"},
    };

    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        char text[HUMAN_TEXT_MAX];

        human_size(text, (bytecount){rows[i].bytes});
        cr_expect_str_eq(text, rows[i].text, "%s", text);
    }
}

Test(human, percentages_round_half_away_from_zero_and_never_overflow)
{
    static const struct {
        int64_t part, whole;
        const char *human, *exact;
    } rows[] = {
        {1, 0, "-", "0.000"},
        {0, 7, "0", "0.000"},
        {1, 3, "33", "33.333"},
        {2, 3, "67", "66.667"},
        {1, 20, "5.0", "5.000"},
        {-1, 20, "-5.0", "-5.000"},
        {-1, 3, "-33", "-33.333"},
        {1, 100000, "0", "0.001"},
        {5, 4, "125", "125.000"},
        {INT64_MAX, INT64_MAX, "100", "100.000"},
        {INT64_MAX, 1, "9223372036854775807", "9223372036854775.807"},
    };

    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        char text[HUMAN_TEXT_MAX];

        human_percent(text, rows[i].part, rows[i].whole);
        cr_expect_str_eq(text, rows[i].human, "%s", text);
        percent_text(text, rows[i].part, rows[i].whole);
        cr_expect_str_eq(text, rows[i].exact, "%s", text);
    }
}
