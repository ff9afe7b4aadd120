/* SPDX-License-Identifier: Apache-2.0 */
/* sim/plan/calibrate; here because its rows and its catalogue are read from text. */
#include <stdio.h>
#include <string.h>

#include <criterion/criterion.h>

#include "sim/plan/calibrate.h"
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

TestSuite(calibrate, .init = set_up, .fini = tear_down);

static void fit(const struct measurement *list, size_t count, const struct param_set *start,
                struct calibrate_result *ret)
{
    struct calibrate_input input = {
        .source = rows.source, .params = start, .rows = list, .row_count = count};

    calibrate_run(&input, ret);
}

static bool is_near(int64_t a, int64_t b, int64_t per_mille)
{
    int64_t distance = a > b ? a - b : b - a;

    return distance <= b / 1000 * per_mille;
}

/* The small rows, so that a test takes a moment: predicted with `truth`, as if measured. */
static const struct measurement *measure(const struct param_set *truth, size_t *ret_count)
{
    static const char *const ids[] = {"lat-64B", "lat-4K",     "bw-64K-a", "bw-4K-d60",
                                      "ar-8K",   "ar-8K-slow", "tcp-ar-4K"};
    struct measurement *list = arena_alloc_array(&rows.arena, 7, sizeof *list);

    for (size_t i = 0; i < 7; i++) {
        struct predict_case c;
        struct prediction prediction;
        char reason[PREDICT_REASON_MAX];

        list[i] = *rows_find(&rows, ids[i]);
        cr_assert(predict_prepare(&rows.source, &list[i], &rows.arena, &c, reason));
        cr_assert(predict_run(&c, truth, &prediction, reason));
        list[i].low = list[i].high = prediction.value;
    }
    *ret_count = 7;
    return list;
}

Test(calibrate, finds_the_parameters_that_made_the_measurements)
{
    struct param_set truth = rows.catalog.params;
    struct calibrate_result result;
    size_t count;
    const struct measurement *list;

    truth.v[PARAM_RDMA_GOODPUT].value = INT64_C(61000000000);
    truth.v[PARAM_RDMA_LATENCY].value = 2900000;
    truth.v[PARAM_RDMA_POST_SEND].value = 230000;
    truth.v[PARAM_RDMA_POST_RECV].value = 230000;
    truth.v[PARAM_RDMA_POLL].value = 230000;
    truth.v[PARAM_GPU_HANDOFF_FAST].value = 21000000;
    truth.v[PARAM_GPU_HANDOFF_SLOW].value = 199000000;
    truth.v[PARAM_IP_LATENCY].value = 61000000;
    list = measure(&truth, &count);
    fit(list, count, &rows.catalog.params, &result);
    for (size_t i = 0; i < PARAM_COUNT; i++)
        cr_expect(is_near(result.params.v[i].value, truth.v[i].value, 15), "%s: %lld for %lld",
                  param_name((enum param_id)i), (long long)result.params.v[i].value,
                  (long long)truth.v[i].value);
    cr_expect_lt(result.sum_after_ppm, 20000, "%lld", (long long)result.sum_after_ppm);
    cr_expect_gt(result.sum_before_ppm, 200000);
    cr_expect_eq(result.params.v[PARAM_RDMA_GOODPUT].label, PARAM_FITTED);
    cr_expect_leq(result.params.v[PARAM_RDMA_GOODPUT].low,
                  result.params.v[PARAM_RDMA_GOODPUT].value);
    calibrate_done(&result);
}

Test(calibrate, what_no_row_depends_on_keeps_its_value_and_is_named)
{
    struct calibrate_result result;
    struct measurement one = *rows_find(&rows, "lat-64B");

    fit(&one, 1, &rows.catalog.params, &result);
    for (size_t i = 0; i < result.variable_count; i++) {
        const struct calibrate_variable *v = &result.variables[i];
        bool is_known = v->param_count > 0 && (v->params[0] == PARAM_RDMA_LATENCY ||
                                               v->params[0] == PARAM_RDMA_POST_SEND);

        cr_expect_eq(v->status == CALIBRATE_NOT_IDENTIFIED, !is_known, "%s",
                     calibrate_variable_name(v, &result.arena));
        cr_expect(is_known || v->value == v->start);
    }
    cr_expect_eq(result.params.v[PARAM_RDMA_GOODPUT].label,
                 rows.catalog.params.v[PARAM_RDMA_GOODPUT].label);
    calibrate_done(&result);
}

Test(calibrate, impossible_and_unknown_rows_are_no_part_of_a_fit)
{
    static const char text[] =
        ROWS_HEAD "wild,send_bandwidth,M3 Ultra,2,1,ib_send_bw,65536,191,Gb/s,,\n"
                  "flux,flux,M3 Ultra,2,1,x,1,1,us,,\n";
    struct calibrate_result result;
    size_t count;
    const struct measurement *list = rows_read(&rows, text, &count);

    fit(list, count, &rows.catalog.params, &result);
    cr_expect_eq(result.skip_count, 2);
    cr_expect_eq(result.residual_count, 0);
    cr_expect_eq(memcmp(&result.params, &rows.catalog.params, sizeof result.params), 0);
    calibrate_done(&result);
}
