/* SPDX-License-Identifier: Apache-2.0 */
/* sim/plan/validate; here because its rows and its catalogue are read from text. */
#include <stdio.h>
#include <string.h>

#include <criterion/criterion.h>

#include "sim/plan/validate.h"
#include "tests/unit/scenario/support/rows.h"

static struct rows rows;

static void set_up(void)
{
    rows_init(&rows);
}

static void tear_down(void)
{
    rows_done(&rows);
}

TestSuite(validate, .init = set_up, .fini = tear_down);

static void run(const struct measurement *list, size_t count, struct validate_result *ret)
{
    struct validate_input input = {
        .source = rows.source,
        .params = &rows.catalog.params,
        .rows = list,
        .row_count = count,
        .fit_rows = rows.fabric,
        .fit_row_count = rows.fabric_count,
    };

    validate_run(&input, ret);
}

Test(validate, an_error_is_zero_in_a_range_and_the_distance_to_the_nearer_end_outside)
{
    static const struct {
        int64_t low, high, predicted, expected;
    } cases[] = {
        {100, 100, 100, 0},      {100, 100, 110, 100000}, {100, 100, 90, -100000},
        {100, 200, 150, 0},      {100, 200, 100, 0},      {100, 200, 200, 0},
        {100, 200, 50, -500000}, {100, 200, 300, 500000}, {1, 1, INT64_MAX, 1000000000000},
        {100, 100, 0, -1000000},
    };

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct measurement m = {.low = cases[i].low, .high = cases[i].high};

        cr_expect_eq(validate_error_ppm(&m, cases[i].predicted), cases[i].expected, "case %zu", i);
    }
}

Test(validate, the_shipped_rows_meet_the_targets)
{
    struct validate_result result;

    run(rows.fabric, rows.fabric_count, &result);
    cr_expect_eq(result.row_count, rows.fabric_count - 2);
    cr_expect_eq(result.gap_count, 2);
    cr_expect_eq(result.coverage_ppm, 17 * 1000000 / 19);
    cr_expect_leq(result.median_ppm, 50000, "%lld", (long long)result.median_ppm);
    cr_expect_leq(result.worst_ppm, 200000, "%lld", (long long)result.worst_ppm);
    for (size_t i = 0; i < result.row_count; i++) {
        const struct validate_row *row = &result.rows[i];

        cr_expect_eq(row->label, VALIDATE_FITTED, "%s", row->row->id);
        cr_expect(row->low <= row->predicted && row->predicted <= row->high, "%s", row->row->id);
        if (row->row->low != row->row->high)
            cr_expect_eq(row->error_ppm, 0, "%s", row->row->id);
    }
    validate_done(&result);
}

Test(validate, labels_tell_how_far_a_row_is_from_the_fit)
{
    static const char text[] =
        ROWS_HEAD "same,all_reduce,M3 Ultra,2,1,MLX jaccl mesh fast-synch on,8192,22,us,,\n"
                  "between,one_way_latency,M4 Pro mini - M4 Max MBP,2,1,verbs,1024,4.3,us,,\n"
                  "beyond,one_way_latency,M4 Pro mini - M4 Max MBP,2,1,verbs,32768,9,us,,\n"
                  "more,all_reduce,M3 Ultra,4,1,jaccl mesh,8192,9,us,,\n"
                  "wild,send_bandwidth,M3 Ultra,2,1,ib_send_bw,4096,191,Gb/s,,\n";
    static const enum validate_label expected[] = {VALIDATE_MEASURED, VALIDATE_INTERPOLATED,
                                                   VALIDATE_EXTRAPOLATED, VALIDATE_EXTRAPOLATED,
                                                   VALIDATE_IMPOSSIBLE};
    struct validate_result result;
    size_t count;
    const struct measurement *list = rows_read(&rows, text, &count);

    run(list, count, &result);
    cr_assert_eq(result.row_count, 5);
    for (size_t i = 0; i < 5; i++)
        cr_expect_eq(result.rows[i].label, expected[i], "%s is %s", result.rows[i].row->id,
                     validate_label_text(result.rows[i].label));
    cr_expect_eq(result.scored, 4, "what is impossible scores nothing");
    validate_done(&result);
}

Test(validate, median_and_p90_are_those_of_the_sorted_absolute_errors)
{
    struct validate_result whole;
    int64_t errors[32];
    size_t n;

    run(rows.fabric, rows.fabric_count, &whole);
    n = whole.row_count;
    for (size_t i = 0; i < n; i++) {
        int64_t error =
            whole.rows[i].error_ppm < 0 ? -whole.rows[i].error_ppm : whole.rows[i].error_ppm;
        size_t at = i;

        for (; at > 0 && errors[at - 1] > error; at--)
            errors[at] = errors[at - 1];
        errors[at] = error;
    }
    cr_assert_eq(n, 17);
    cr_expect_eq(whole.median_ppm, errors[8]);
    cr_expect_eq(whole.p90_ppm, errors[15], "16 of 17 are the first 90 %%");
    cr_expect_eq(whole.worst_ppm, errors[16]);
    validate_done(&whole);
}

Test(validate, a_stop_leaves_a_partial_result)
{
    bool stop = true;
    struct validate_input input = {
        .source = rows.source,
        .params = &rows.catalog.params,
        .rows = rows.fabric,
        .row_count = rows.fabric_count,
        .stop = &stop,
    };
    struct validate_result result;

    validate_run(&input, &result);
    cr_expect(result.is_partial);
    cr_expect_eq(result.row_count, 0);
    validate_done(&result);
}
