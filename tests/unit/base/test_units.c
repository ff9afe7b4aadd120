/* SPDX-License-Identifier: Apache-2.0 */
#include <criterion/criterion.h>

#include "sim/base/units.h"

#define LENGTH(array) (sizeof(array) / sizeof(array)[0])

Test(units, serialisation_rounds_up_to_a_picosecond)
{
    static const struct {
        const char *name;
        uint64_t bps, bytes;
        int64_t expected_ps;
    } rows[] = {
        {"16 KiB at 80 Gb/s", 80000000000, 16384, 1638400},
        {"one frame at 40 Gb/s", 40000000000, 4096, 819200},
        {"nothing", 80000000000, 0, 0},
        {"one byte at 3 b/s", 3, 1, 2666666666667},
        {"one byte faster than 8 Tb/s", 8000000000001, 1, 1},
        {"the fastest rate", UINT64_MAX, 1, 1},
        {"90 PB at 80 Gb/s, 104 days", 80000000000, 90000000000000000, 9000000 * PS_PER_S},
        {"100 PB, more than 63 bits hold", 80000000000, 100000000000000000, SIMTIME_NEVER_PS},
        {"everything at one bit a second", 1, UINT64_MAX, SIMTIME_NEVER_PS},
    };

    for (size_t i = 0; i < LENGTH(rows); i++)
        cr_expect_eq(bitrate_send_span((bitrate){rows[i].bps}, (bytecount){rows[i].bytes}).ps,
                     rows[i].expected_ps, "%s", rows[i].name);
}

Test(units, a_rate_and_its_serialisation_are_inverse)
{
    static const uint64_t rates[] = {1000, 40000000000, 80000000000, 120000000000};

    for (size_t i = 0; i < LENGTH(rates); i++) {
        bytecount size = {rates[i]}; /* eight seconds, with nothing to round */
        simspan span = bitrate_send_span((bitrate){rates[i]}, size);

        cr_expect_eq(span.ps, 8 * PS_PER_S);
        cr_expect_eq(bitrate_from_transfer(size, span).bps, rates[i]);
    }
}

Test(units, a_rate_that_cannot_be_said_is_zero)
{
    cr_expect_eq(bitrate_from_transfer((bytecount){1}, (simspan){0}).bps, 0);
    cr_expect_eq(bitrate_from_transfer((bytecount){1}, (simspan){-5}).bps, 0);
    cr_expect_eq(bitrate_from_transfer((bytecount){UINT64_MAX}, (simspan){1}).bps, 0);
    cr_expect_eq(bitrate_from_transfer((bytecount){0}, (simspan){1}).bps, 0);
    /* 8 * 10^12 bits a second for a byte a picosecond, rounded down after division. */
    cr_expect_eq(bitrate_from_transfer((bytecount){1}, (simspan){3}).bps, 2666666666666);
}

Test(units, instants_and_spans_add_up)
{
    simtime early = {100};
    simtime late = simtime_add(early, (simspan){50});

    cr_expect_eq(late.ps, 150);
    cr_expect_eq(simtime_since(late, early).ps, 50);
    cr_expect_eq(simtime_max(early, late).ps, 150);
    cr_expect_eq(simtime_min(early, late).ps, 100);
    cr_expect_eq(simtime_min(early, simtime_never()).ps, 100);
    cr_expect_eq(simspan_add((simspan){3}, (simspan){4}).ps, 7);
    cr_expect_eq(simspan_mul((simspan){1638400}, 4096).ps, 6710886400);
    cr_expect_eq(bytecount_min((bytecount){5}, (bytecount){4}).bytes, 4);
}

Test(units, division_rounds_up_without_overflow)
{
    cr_expect_eq(u64_div_ceil(0, 7), 0);
    cr_expect_eq(u64_div_ceil(14, 7), 2);
    cr_expect_eq(u64_div_ceil(15, 7), 3);
    cr_expect_eq(u64_div_ceil(UINT64_MAX, 2), UINT64_C(1) << 63);
    cr_expect_eq(u64_div_ceil(UINT64_MAX, UINT64_MAX), 1);
}
