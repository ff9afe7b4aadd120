/* SPDX-License-Identifier: Apache-2.0 */
/* Results of validate and calibrate, made by hand, as text and as JSON. */
#include <string.h>

#include <criterion/criterion.h>

#include "sim/report/fields.h"
#include "sim/report/validation.h"
#include "tests/unit/report/support/schema.h"

static const struct measurement measured[] = {
    {.id = "good",
     .value_text = "4.15",
     .unit_text = "us",
     .unit = MEASUREMENT_SPAN,
     .low = 4150000,
     .high = 4150000,
     .scale = 1000000,
     .source = "a \"source\""},
    {.id = "wild",
     .value_text = "191",
     .unit_text = "Gb/s",
     .unit = MEASUREMENT_RATE,
     .low = INT64_C(191000000000),
     .high = INT64_C(191000000000),
     .scale = 1000000000,
     .source = "b"},
    {.id = "hpl",
     .value_text = "1",
     .unit_text = "Gflop/s",
     .unit = MEASUREMENT_NO_MODEL,
     .low = 1000,
     .high = 1000,
     .scale = 1,
     .source = "c"},
};

static struct validate_row rows[] = {
    {.row = &measured[0],
     .predicted = 4200000,
     .low = 3000000,
     .high = 6000000,
     .error_ppm = 12048,
     .limit = 6400,
     .label = VALIDATE_FITTED},
    {.row = &measured[1],
     .predicted = INT64_C(37000000000),
     .low = INT64_C(35000000000),
     .high = INT64_C(38000000000),
     .error_ppm = -806282,
     .limit = INT64_C(40000000000),
     .label = VALIDATE_IMPOSSIBLE},
};

static struct validate_gap gaps[] = {{&measured[2], "no arithmetic here"}};

static struct validate_result hand(bool is_partial)
{
    return (struct validate_result){.rows = rows,
                                    .row_count = 2,
                                    .gaps = gaps,
                                    .gap_count = 1,
                                    .scored = 1,
                                    .median_ppm = 12048,
                                    .p90_ppm = 12048,
                                    .worst_ppm = 12048,
                                    .coverage_ppm = 666666,
                                    .is_partial = is_partial};
}

static void fill(struct param_set *params)
{
    memset(params, 0, sizeof *params);
    for (size_t i = 0; i < PARAM_COUNT; i++)
        params->v[i] = (struct param_value){.value = 4000,
                                            .low = 3000,
                                            .high = 5000,
                                            .label = PARAM_ASSUMED,
                                            .is_set = true,
                                            .source = "s",
                                            .date = "2026-01-01"};
}

Test(validation, the_table_names_errors_gaps_and_what_is_impossible)
{
    static const char *const expected[] = {
        "row   measured   predicted     low - high    error  label\n",
        "good   4.15 us    4.200 us  3.000 - 6.000   +1.2 %  fitted\n",
        "absolute error of 1 rows: median 1.2 %, p90 1.2 %, worst 1.2 %\n",
        "coverage: 2 of 3 rows (66.7 %)\n",
        "fitted to 1 of these rows",
        "wild: physically impossible: 191 Gb/s is above the 40.00 Gb/s that",
        "  hpl: no arithmetic here\n",
        "partial: stopped before the last row\n",
    };
    struct validate_result result = hand(true);
    struct arena arena;
    struct text text;

    arena_init(&arena);
    text_init(&text, &arena);
    validation_write_table(&result, &text);
    for (size_t i = 0; i < sizeof expected / sizeof expected[0]; i++)
        cr_expect(strstr(text.bytes, expected[i]), "no '%s' in:\n%s", expected[i], text.bytes);
    arena_done(&arena);
}

Test(validation, json_follows_its_schema)
{
    struct validate_result result = hand(false);
    struct param_set params;
    struct arena arena;
    struct text text;

    fill(&params);
    arena_init(&arena);
    text_init(&text, &arena);
    struct report_head head = {.version = "0.1", .command = "validate", .params = &params};

    validation_write_json(&head, &result, &text);
    schema_expect("schema/validate.schema.json", text.bytes);
    cr_expect(strstr(text.bytes, "\"error_pct\": 1.2048"), "%s", text.bytes);
    arena_done(&arena);
}

static struct calibrate_variable variables[] = {
    {.params = {PARAM_RDMA_POST_SEND, PARAM_RDMA_POLL},
     .param_count = 2,
     .unit = PARAM_UNIT_SPAN,
     .start = 178750,
     .value = 180000,
     .status = CALIBRATE_IDENTIFIED,
     .rows = "a, b",
     .sources = "s",
     .date = ""},
    {.rate = CHIP_RATE_HOST_STAGING,
     .chip = "m9",
     .unit = PARAM_UNIT_RATE,
     .start = INT64_C(248000000000),
     .value = INT64_C(247000000000),
     .status = CALIBRATE_IDENTIFIED,
     .rows = "c",
     .sources = "s",
     .date = ""},
    {.rate = CHIP_RATE_THREAD_COPY,
     .chip = "m9",
     .unit = PARAM_UNIT_RATE,
     .start = 8,
     .value = 8,
     .status = CALIBRATE_NOT_IDENTIFIED,
     .rows = "",
     .sources = "",
     .date = ""},
};

static struct calibrate_residual residuals[] = {
    {.row = &measured[0], .predicted = 4200000, .before_ppm = -80000, .after_ppm = 12048}};
static struct calibrate_skip skipped[] = {{&measured[2], "no arithmetic here"}};

static void hand_fit(struct calibrate_result *ret)
{
    *ret = (struct calibrate_result){.variables = variables,
                                     .variable_count = 3,
                                     .residuals = residuals,
                                     .residual_count = 1,
                                     .skipped = skipped,
                                     .skip_count = 1};
    fill(&ret->params);
    ret->params.v[PARAM_RDMA_GOODPUT].source = "a \"quoted\\\" source";
}

Test(calibration, the_profile_is_a_model_file_with_its_residuals)
{
    static const char *const expected[] = {
        "#   rdma.post_send = rdma.poll = 180 ns: identified by a, b\n",
        "kept as they were:\n#     m9 thread_copy\n",
        "#   good              -8.0 %    +1.2 %   predicted 4.200, measured 4.15 us\n",
        "#   hpl            not part of the fit: no arithmetic here\n",
        "\ntbmesh-models: 1\n\nparameters:\n",
        "  - {name: rdma.latency, value: 4 ns, low: 3 ns, high: 5 ns, label: assumed,\n",
        "source: \"a \\\"quoted\\\\\\\" source\", date: 2026-01-01}\n",
        "chip_rates:\n  - {chip: m9, host_staging: 247 Gb/s,\n",
    };
    struct calibrate_result result;
    struct arena arena;
    struct text text;

    hand_fit(&result);
    arena_init(&arena);
    text_init(&text, &arena);
    calibration_write_yaml(&result, "own.csv", &text);
    for (size_t i = 0; i < sizeof expected / sizeof expected[0]; i++)
        cr_expect(strstr(text.bytes, expected[i]), "no '%s' in:\n%s", expected[i], text.bytes);
    arena_done(&arena);
}

Test(calibration, json_follows_its_schema)
{
    struct calibrate_result result;
    struct arena arena;
    struct text text;

    hand_fit(&result);
    arena_init(&arena);
    text_init(&text, &arena);
    struct report_head head = {.version = "0.1", .command = "calibrate"};

    calibration_write_json(&head, &result, &text);
    schema_expect("schema/calibrate.schema.json", text.bytes);
    arena_done(&arena);
}

Test(fields, numbers_have_about_four_digits_and_no_exponent)
{
    static const struct {
        int64_t value, scale;
        const char *expected;
    } cases[] = {
        {4150000, 1000000, "4.150"},
        {163600, 1000, "163.6"},
        {520050, 1000000, "0.5201"},
        {123456789, 1000, "123457"},
        {0, 1000, "0.0000"},
        {-15460, 1000, "-15.46"},
        {INT64_C(74060000000), 1000000000, "74.06"},
    };

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char text[FIELD_MAX];

        field_number(text, cases[i].value, cases[i].scale);
        cr_expect_str_eq(text, cases[i].expected);
    }
}
