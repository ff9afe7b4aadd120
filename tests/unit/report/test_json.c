/* SPDX-License-Identifier: Apache-2.0 */
/* The printer, what all reports share, and the members of the two large ones. */
#include <math.h>
#include <string.h>

#include <criterion/criterion.h>

#include "sim/report/json_check.h"
#include "sim/report/json_text.h"
#include "tests/unit/report/support/result.h"
#include "tests/unit/report/support/schema.h"

static const char *print(const char *json, struct arena *arena)
{
    JsonNode *root = json_from_string(json, NULL);
    struct text text;

    cr_assert(root, "%s", json);
    text_init(&text, arena);
    json_text_print(root, &text);
    json_node_unref(root);
    return text.bytes;
}

Test(json_text, members_and_rows_stand_on_lines_of_their_own)
{
    static const struct {
        const char *json, *text;
    } rows[] = {
        {"{}", "{}\n"},
        {"{\"a\":[]}", "{\n  \"a\": []\n}\n"},
        {"{\"a\":[1,2],\"b\":{\"c\":null}}", "{\n  \"a\": [1, 2],\n  \"b\": {\"c\": null}\n}\n"},
        {"{\"a\":[{\"x\":[1,{}]},{}]}", "{\n  \"a\": [\n    {\"x\": [1, {}]},\n    {}\n  ]\n}\n"},
        {"[[1],[2]]", "[\n  [1],\n  [2]\n]\n"},
    };
    struct arena arena;

    arena_init(&arena);
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        cr_expect_str_eq(print(rows[i].json, &arena), rows[i].text, "%s",
                         print(rows[i].json, &arena));
    arena_done(&arena);
}

Test(json_text, scalars_read_back_as_they_were)
{
    static const struct {
        const char *json, *text;
    } rows[] = {
        {"{\"a\":0.1}", "{\n  \"a\": 0.1\n}\n"},
        {"{\"a\":0.30000000000000004}", "{\n  \"a\": 0.30000000000000004\n}\n"},
        {"{\"a\":9223372036854775807}", "{\n  \"a\": 9223372036854775807\n}\n"},
        {"{\"a\":-1}", "{\n  \"a\": -1\n}\n"},
        {"{\"a\":true,\"b\":false}", "{\n  \"a\": true,\n  \"b\": false\n}\n"},
        {"{\"a\":\"q\\\"b\\\\n\\nt\\t7\\u001b\"}",
         "{\n  \"a\": \"q\\\"b\\\\n\\nt\\t7\\u001b\"\n}\n"},
        {"{\"\\n\":\"\xc2\xb5\"}", "{\n  \"\\n\": \"\xc2\xb5\"\n}\n"},
    };
    struct arena arena;

    arena_init(&arena);
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        cr_expect_str_eq(print(rows[i].json, &arena), rows[i].text, "%s",
                         print(rows[i].json, &arena));
    arena_done(&arena);
}

Test(json_text, what_json_cannot_say_is_null)
{
    JsonNode *root = json_node_init_double(json_node_alloc(), INFINITY);
    struct arena arena;
    struct text text;

    arena_init(&arena);
    text_init(&text, &arena);
    json_text_print(root, &text);
    cr_expect_str_eq(text.bytes, "null\n");
    json_node_unref(root);
    arena_done(&arena);
}

Test(json_report, numbers_keep_their_value_and_hashes_their_digits)
{
    struct report_head head = {.version = "1", .command = "x"};
    struct arena arena;
    struct text text;
    JsonBuilder *builder;

    arena_init(&arena);
    text_init(&text, &arena);
    builder = json_report_begin(&head);
    json_add_thousandths(builder, "t", 12345);
    json_add_hash(builder, "h", 0x1f);
    json_report_end(builder, &text);
    cr_expect(strstr(text.bytes, "\"t\": 12.345"), "%s", text.bytes);
    cr_expect(strstr(text.bytes, "\"h\": \"000000000000001f\""), "%s", text.bytes);
    cr_expect(strstr(text.bytes, "\"seed\": null"));
    cr_expect(strstr(text.bytes, "\"scenario\": null"));
    arena_done(&arena);
}

Test(json_report, a_result_with_every_oddity_follows_its_schema)
{
    struct arena arena;
    struct hand_result hand;

    arena_init(&arena);
    hand_result_init(&hand);
    schema_expect("schema/sim.schema.json", hand_result_json(&hand, &arena));
    hand.result.is_partial = true;
    hand.result.row_count = 0;
    hand.result.use.bin_count = 0;
    schema_expect("schema/sim.schema.json", hand_result_json(&hand, &arena));
    hand_result_done(&hand);
    arena_done(&arena);
}

Test(json_report, a_result_has_the_fixed_keys_with_their_values)
{
    static const char *const pieces[] = {
        "\"tbmesh\": \"9.9.9\"",
        "\"scenario\": \"two Macs, by \\\"hand\\\" \xe2\x80\x94 \xe4\xb8\xad\"",
        "\"seed\": 7",
        "{\"name\": \"rdma.goodput\", \"value\": 1, \"unit\": \"bit/s\"",
        "\"source\": \"s\", \"date\": \"\", \"had_effect\": true}",
        "{\"name\": \"rdma.latency\", \"value\": 2, \"unit\": \"ps\", \"low\": 1, \"high\": 3, ",
        "\"date\": \"\", \"had_effect\": false}",
        "\"workload\": \"all_reduce\", \"op\": \"all_reduce\", \"library\": \"jaccl-mesh\"",
        "\"nodes\": 2, \"size_bytes\": 65536",
        "\"latency_ps\": {\"min\": 6500000, \"median\": 7000000, \"p99\": 7900000, \"mean\": 7000001, ",
        "\"max\": 7950000}",
        "\"bound_ps\": 3500000",
        "\"events\": 12345",
        "\"digest\": \"00deadbeefcafe01\"",
        "\"partial\": false",
        "\"deadlock\": true",
        "{\"text\": \"deadlock == false\", \"verdict\": \"fails\", \"seen\": \"true\"",
        "{\"a\": \"m1:1\", \"b\": \"m2:1\", \"kind\": \"tb5-1m\"",
        "{\"link\": \"m1:1 > m2:1\", \"busy_ps\": [0, 100000, 200000, 300000]}",
        "{\"link\": \"m2:1 > m1:1\"",
        "a \\\"warning\\\" with a tab\\there",
    };
    struct arena arena;
    struct hand_result hand;
    const char *json;

    arena_init(&arena);
    hand_result_init(&hand);
    json = hand_result_json(&hand, &arena);
    for (size_t i = 0; i < sizeof pieces / sizeof pieces[0]; i++)
        cr_expect(strstr(json, pieces[i]), "%s is not in %s", pieces[i], json);
    hand_result_done(&hand);
    arena_done(&arena);
}

Test(json_report, a_check_follows_its_schema_and_has_the_fixed_keys)
{
    static const char *const pieces[] = {
        "\"feasible\": false",
        "\"binding\": \"port-count\"",
        "\"cables\": 1",
        "\"max_full_mesh\": 7",
        "{\"id\": \"port-count\", \"severity\": \"error\", \"where\": \"m1\", ",
        "\"why\": \"too few ports\", \"fix\": \"buy more\", \"line\": 4, \"col\": 5}",
    };
    struct arena arena;
    struct hand_result hand;
    struct check_report report;
    struct text text;

    arena_init(&arena);
    hand_result_init(&hand);
    text_init(&text, &arena);
    report = (struct check_report){hand.report.head, &hand.scenario, &hand.check, hand.outcomes};
    report.head.command = "check";
    json_print_check(&report, &text);
    schema_expect("schema/check.schema.json", text.bytes);
    for (size_t i = 0; i < sizeof pieces / sizeof pieces[0]; i++)
        cr_expect(strstr(text.bytes, pieces[i]), "%s is not in %s", pieces[i], text.bytes);
    hand_result_done(&hand);
    arena_done(&arena);
}

Test(json_report, errors_follow_their_schema)
{
    struct report_head head = {.version = "1", .command = "sim"};
    struct err_list errors;
    struct arena arena;
    struct text text;

    arena_init(&arena);
    text_init(&text, &arena);
    err_list_init(&errors);
    err_list_add(&errors, ERR_KEY, (struct src_pos){"a.yaml", 3, 4}, "unknown key");
    err_list_add(&errors, ERR_LIMIT, (struct src_pos){0}, "no place");
    json_print_errors(&head, &errors, &text);
    schema_expect("schema/errors.schema.json", text.bytes);
    cr_expect(strstr(text.bytes, "{\"file\": \"a.yaml\", \"line\": 3, \"col\": 4"), "%s",
              text.bytes);
    err_list_done(&errors);
    arena_done(&arena);
}
