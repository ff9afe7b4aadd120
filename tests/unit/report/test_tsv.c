/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include <criterion/criterion.h>

#include "tests/unit/report/support/result.h"

/* The field of that column in a row, counted from 1; "" when there is none. */
static const char *field(const char *table, size_t row, const char *column, struct arena *arena)
{
    char *copy = arena_copy_text(arena, table, strlen(table));
    char *line_end = NULL;
    char *line = strtok_r(copy, "\n", &line_end);
    char *header = line;
    size_t index = 0;
    char *end = NULL;
    const char *name = NULL;

    for (size_t i = 0; i < row && line; i++)
        line = strtok_r(NULL, "\n", &line_end);
    cr_assert(line);
    for (name = strtok_r(header, "\t", &end); name && strcmp(name, column) != 0;
         name = strtok_r(NULL, "\t", &end))
        index++;
    cr_assert(name, "%s", column);
    for (; index > 0; index--)
        line = strchr(line, '\t') + 1;
    line[strcspn(line, "\t")] = '\0';
    return line;
}

static size_t count_char(const char *text, size_t length, char c)
{
    size_t count = 0;

    for (size_t i = 0; i < length; i++)
        count += text[i] == c;
    return count;
}

static void expect_rectangle(const char *table, size_t rows)
{
    size_t columns = count_char(table, strcspn(table, "\n"), '\t');
    size_t lines = 0;

    for (const char *p = table; *p != '\0'; lines++) {
        size_t length = strcspn(p, "\n");

        cr_expect_eq(count_char(p, length, '\t'), columns, "line %zu", lines);
        p += length + 1;
    }
    cr_expect_eq(lines, rows + 1);
}

Test(tsv, a_row_has_a_field_for_each_column_whatever_its_texts_hold)
{
    struct arena arena;
    struct hand_result hand;
    struct text text;
    JsonNode *root;

    arena_init(&arena);
    hand_result_init(&hand);
    hand.rows[0].limit = "a\ttab\nand a line";
    hand.bed.cluster.hosts[0].name = "m\t1";
    root = hand_result_read(&hand, &arena);
    text_init(&text, &arena);
    tsv_print_results(root, &text);
    expect_rectangle(text.bytes, HAND_ROWS);
    text_init(&text, &arena);
    tsv_print_links(root, &text);
    expect_rectangle(text.bytes, 2 * HAND_BINS);
    json_node_unref(root);
    hand_result_done(&hand);
    arena_done(&arena);
}

Test(tsv, integers_are_copied_and_percentages_divided)
{
    static const struct {
        size_t row;
        const char *column, *value;
    } rows[] = {
        {1, "series", "jaccl-mesh"},
        {4, "series", "tcp-ring"},
        {2, "size_bytes", "65536"},
        {2, "latency_median_ps", "7000000"},
        {2, "latency_mean_ps", "7000001"},
        {2, "bound_ps", "3500000"},
        {2, "over_bound_pct", "100.000"},
        {2, "busbw_bps", "74898285714"},
        {2, "bound_busbw_bps", "149796571428"},
        {2, "share_wire_pct", "50.000"},
        {2, "share_copy_pct", "25.000"},
        {2, "share_credit_pct", "25.000"},
        {2, "share_reduce_pct", "0.000"},
        {2, "began_ps", "100000000"},
        {5, "samples", "0"},
        {5, "deadlock", "true"},
        {5, "over_bound_pct", "0.000"},
        {5, "bound_busbw_bps", "0"},
        {5, "share_wire_pct", "0.000"},
        {1, "deadlock", "false"},
        {1, "partial", "false"},
        {1, "note", ""},
        {4, "note", "a note"},
    };
    struct arena arena;
    struct hand_result hand;
    struct text text;
    JsonNode *root;

    arena_init(&arena);
    hand_result_init(&hand);
    root = hand_result_read(&hand, &arena);
    text_init(&text, &arena);
    tsv_print_results(root, &text);
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        cr_expect_str_eq(field(text.bytes, rows[i].row, rows[i].column, &arena), rows[i].value,
                         "row %zu, %s: %s", rows[i].row, rows[i].column,
                         field(text.bytes, rows[i].row, rows[i].column, &arena));
    json_node_unref(root);
    hand_result_done(&hand);
    arena_done(&arena);
}

Test(tsv, an_interrupted_run_is_marked_in_every_row)
{
    struct arena arena;
    struct hand_result hand;
    struct text text;
    JsonNode *root;

    arena_init(&arena);
    hand_result_init(&hand);
    hand.result.is_partial = true;
    root = hand_result_read(&hand, &arena);
    text_init(&text, &arena);
    tsv_print_results(root, &text);
    for (size_t row = 1; row <= HAND_ROWS; row++)
        cr_expect_str_eq(field(text.bytes, row, "partial", &arena), "true");
    json_node_unref(root);
    hand_result_done(&hand);
    arena_done(&arena);
}

Test(tsv, a_link_has_a_row_for_each_bin_with_its_times)
{
    struct arena arena;
    struct hand_result hand;
    struct text text;
    JsonNode *root;

    arena_init(&arena);
    hand_result_init(&hand);
    root = hand_result_read(&hand, &arena);
    text_init(&text, &arena);
    tsv_print_links(root, &text);
    cr_expect_str_eq(field(text.bytes, 6, "link", &arena), "m2:1 > m1:1");
    cr_expect_str_eq(field(text.bytes, 6, "link_number", &arena), "1");
    cr_expect_str_eq(field(text.bytes, 6, "from_ps", &arena), "125000000");
    cr_expect_str_eq(field(text.bytes, 6, "to_ps", &arena), "250000000");
    cr_expect_str_eq(field(text.bytes, 6, "busy_ps", &arena), "500000");
    cr_expect_str_eq(field(text.bytes, 6, "busy_pct", &arena), "0.400");
    json_node_unref(root);
    hand_result_done(&hand);
    arena_done(&arena);
}
