/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
#include <string.h>

#include <criterion/criterion.h>

#include "sim/report/result_read.h"
#include "tests/unit/report/support/result.h"

static bool read_text(const char *text, size_t length, struct err *err)
{
    JsonNode *root = NULL;
    bool is_good;

    *err = (struct err){0};
    is_good = result_read("r.json", text, length, &root, err);
    cr_expect_eq(is_good, err->code == ERR_NONE);
    cr_expect_eq(is_good, root != NULL);
    if (root)
        json_node_unref(root);
    return is_good;
}

Test(result_read, texts_that_are_no_result_are_refused_with_the_reason)
{
    static const struct {
        const char *text, *why;
    } rows[] = {
        {"", "no JSON object"},
        {"[]", "no JSON object"},
        {"7", "no JSON object"},
        {"{}", "tbmesh, scenario, link_bin_ps or partial"},
        {"{\"tbmesh\": \"1\",", "this is no JSON"},
        {"{\"tbmesh\": 1, \"scenario\": \"s\", \"link_bin_ps\": 0, \"partial\": false}",
         "tbmesh, scenario, link_bin_ps or partial"},
        {"{\"tbmesh\": \"1\", \"scenario\": \"s\", \"link_bin_ps\": 0, \"partial\": false}",
         "results is missing"},
        {"{\"tbmesh\": \"1\", \"scenario\": \"s\", \"link_bin_ps\": 0, \"partial\": false, "
         "\"results\": [3]}",
         "no object"},
        {"{\"tbmesh\": \"1\", \"scenario\": \"s\", \"link_bin_ps\": 0, \"partial\": false, "
         "\"results\": [{\"latency_ps\": {}, \"shares_ps\": {}}]}",
         "missing in a row"},
        {"{\"tbmesh\": \"1\", \"scenario\": \"s\", \"link_bin_ps\": 0, \"partial\": false, "
         "\"results\": []}",
         "link_use is missing"},
        {"{\"tbmesh\": \"1\", \"scenario\": \"s\", \"link_bin_ps\": 0, \"partial\": false, "
         "\"results\": [], \"link_use\": [{\"link\": \"a\"}]}",
         "busy_ps is missing"},
        {"{\"tbmesh\": \"1\", \"scenario\": \"s\", \"link_bin_ps\": 0, \"partial\": false, "
         "\"results\": [], \"link_use\": [{\"link\": \"a\", \"busy_ps\": [1]}, {\"link\": \"b\", "
         "\"busy_ps\": []}]}",
         "different numbers of bins"},
        {"{\"tbmesh\": \"1\", \"scenario\": \"s\", \"link_bin_ps\": 0, \"partial\": false, "
         "\"results\": [], \"link_use\": [{\"link\": \"a\", \"busy_ps\": [-1]}]}",
         "no count"},
        {"{\"tbmesh\": \"1\", \"scenario\": \"s\", \"link_bin_ps\": 9223372036854775807, "
         "\"partial\": false, \"results\": [], \"link_use\": [{\"link\": \"a\", \"busy_ps\": [1]}]}",
         "longer than any run"},
    };

    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct err err;

        cr_expect_not(read_text(rows[i].text, strlen(rows[i].text), &err), "row %zu", i);
        cr_expect(strstr(err.text, rows[i].why), "row %zu: %s", i, err.text);
        cr_expect_str_eq(err.pos.file, "r.json");
    }
}

Test(result_read, a_slip_of_syntax_is_named_with_line_and_column)
{
    static const char text[] = "{\n  \"tbmesh\": \"1\"\n  \"scenario\": 3\n}\n";
    struct err err;

    cr_expect_not(read_text(text, sizeof text - 1, &err));
    cr_expect_eq(err.pos.line, 2, "line %u: json-glib names the end of the member before",
                 err.pos.line);
    cr_expect_neq(err.pos.col, 0);
    cr_expect(strstr(err.text, "expected"), "%s", err.text);
    cr_expect_not(strstr(err.text, "<data>"), "%s", err.text);
}

/* A recursive parser would run out of stack. */
Test(result_read, a_million_brackets_are_refused)
{
    static char text[1000000];
    struct err err;

    memset(text, '[', sizeof text);
    cr_expect_not(read_text(text, sizeof text, &err));
    cr_expect(strstr(err.text, "deeper"), "%s", err.text);
    memset(text, '{', sizeof text);
    cr_expect_not(read_text(text, sizeof text, &err));
    for (size_t i = 0; i + 4 < sizeof text; i += 4)
        memcpy(text + i, "\"[\\\"", 4); /* in strings they do not count, and strings can end */
    (void)read_text(text, sizeof text, &err);
}

/* A file that was cut, or in which one byte was changed, is read or refused, never half of it. */
Test(result_read, cut_and_damaged_results_are_never_half_read)
{
    struct arena arena;
    struct hand_result hand;
    const char *json;
    size_t length;
    struct err err;

    arena_init(&arena);
    hand_result_init(&hand);
    json = hand_result_json(&hand, &arena);
    length = strlen(json);
    cr_assert(read_text(json, length, &err), "%s", err.text);
    for (size_t cut = 0; cut + 2 < length; cut += 1 + cut % 97)
        cr_expect_not(read_text(json, cut, &err), "cut at %zu", cut);
    for (size_t at = 0; at < length; at += 1 + at % 53) {
        char *changed = arena_copy_text(&arena, json, length);

        changed[at] = (char)(changed[at] ^ 0x15);
        (void)read_text(changed, length, &err);
    }
    hand_result_done(&hand);
    arena_done(&arena);
}
