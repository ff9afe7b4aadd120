/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include <criterion/criterion.h>

#include "sim/report/table.h"

Test(table, a_text_is_as_wide_as_its_characters_are)
{
    static const struct {
        const char *text;
        size_t width;
    } rows[] = {
        {"", 0},
        {"abc", 3},
        {"\xc2\xb5s", 2},                /* micro sign */
        {"e\xcc\x81", 1},                /* e and a combining acute accent */
        {"\xe4\xb8\xad\xe6\x96\x87", 4}, /* two ideographs */
        {"\xf0\x9f\x98\x80", 2},         /* an emoji */
        {"\xff\xfe", 2},                 /* no UTF-8: a byte a column */
        {"\xe4\xb8", 2},                 /* cut short */
        {"\xc3", 1},
    };

    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        cr_expect_eq(table_text_width(rows[i].text), rows[i].width, "row %zu: %zu", i,
                     table_text_width(rows[i].text));
}

Test(table, columns_are_aligned_and_lines_have_no_blanks_at_the_end)
{
    static const struct table_column columns[] = {{"name", NULL, true},
                                                  {"n", "numbers", false},
                                                  {"m", "numbers", false},
                                                  {"end", NULL, true}};
    struct arena arena;
    struct table table;
    struct text text;

    arena_init(&arena);
    text_init(&text, &arena);
    table_init(&table, &arena, columns, 4);
    table_add(&table, "\xe4\xb8\xad");
    table_add(&table, "%d", 1);
    table_add(&table, "%d", 22222);
    table_add(&table, "x");
    table_add(&table, "ab\tc");
    table_add(&table, "333");
    table_print(&table, 2, &text);
    cr_expect_str_eq(text.bytes,
                     "        numbers\n"
                     "  name    n      m  end\n"
                     "  \xe4\xb8\xad      1  22222  x\n"
                     "  ab?c  333\n",
                     "%s", text.bytes);
    arena_done(&arena);
}

Test(table, a_group_stands_between_dashes_over_its_columns)
{
    static const struct table_column columns[] = {
        {"first", "g", false}, {"second", "g", false}, {"third", "h", false}};
    struct arena arena;
    struct table table;
    struct text text;

    arena_init(&arena);
    text_init(&text, &arena);
    table_init(&table, &arena, columns, 3);
    table_print(&table, 0, &text);
    cr_expect_str_eq(text.bytes,
                     "----- g -----  - h -\n"
                     "first  second  third\n",
                     "%s", text.bytes);
    arena_done(&arena);
}

Test(table, a_table_grows_past_its_first_room)
{
    static const struct table_column columns[] = {{"n", NULL, false}};
    struct arena arena;
    struct table table;
    struct text text;
    size_t lines = 0;

    arena_init(&arena);
    text_init(&text, &arena);
    table_init(&table, &arena, columns, 1);
    for (int i = 0; i < 1000; i++)
        table_add(&table, "%d", i);
    table_print(&table, 0, &text);
    for (const char *p = text.bytes; *p != '\0'; p++)
        lines += *p == '\n';
    cr_expect_eq(lines, 1001);
    cr_expect(strstr(text.bytes, "\n998\n999\n"));
    arena_done(&arena);
}

Test(table, a_long_text_breaks_at_blanks_and_keeps_its_own_lines)
{
    static const struct {
        const char *text;
        size_t indent, width;
        const char *lines;
    } rows[] = {
        {"", 2, 10, ""},
        {"one two three", 0, 8, "one two\nthree\n"},
        {"one two three", 2, 10, "  one two\n  three\n"},
        {"unbreakable words", 0, 4, "unbreakable\nwords\n"},
        {"a\nb c", 1, 40, " a\n b c\n"},
        {"a\n", 0, 40, "a\n"},
        {"x y", 9, 3, "         x\n         y\n"},
    };
    struct arena arena;

    arena_init(&arena);
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct text text;

        text_init(&text, &arena);
        table_print_wrapped(rows[i].text, rows[i].indent, rows[i].width, &text);
        cr_expect_str_eq(text.bytes, rows[i].lines, "row %zu: %s", i, text.bytes);
    }
    arena_done(&arena);
}
