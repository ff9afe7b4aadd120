/* SPDX-License-Identifier: Apache-2.0 */
#include <stdint.h>
#include <string.h>

#include <criterion/criterion.h>

#include "sim/scenario/csv.h"
#include "tests/unit/scenario/support/files.h"

static struct arena arena;
static struct err_list errs;

static void set_up(void)
{
    arena_init(&arena);
    err_list_init(&errs);
}

static void tear_down(void)
{
    err_list_done(&errs);
    arena_done(&arena);
}

TestSuite(csv, .init = set_up, .fini = tear_down);

Test(csv, quotes_hold_commas_line_ends_and_doubled_quotes)
{
    static const char text[] = "\xef\xbb\xbf"
                               "a,b\r\n\"x,\"\"y\"\"\",\"one\ntwo\"\n\n z ,\n";
    struct source_text source = files_text("t.csv", text);
    struct csv_table table;

    cr_assert(csv_read(&source, &arena, &table, &errs));
    cr_assert_eq(table.column_count, 2);
    cr_assert_eq(table.row_count, 2);
    cr_expect_str_eq(table.header[0].text, "a");
    cr_expect_str_eq(table.rows[0].fields[0].text, "x,\"y\"");
    cr_expect_str_eq(table.rows[0].fields[1].text, "one\ntwo");
    cr_expect_str_eq(table.rows[1].fields[0].text, " z ");
    cr_expect_str_eq(table.rows[1].fields[1].text, "");
    cr_expect_eq(table.rows[0].fields[1].pos.line, 2);
    cr_expect_eq(table.rows[0].fields[1].pos.col, 11);
    cr_expect_eq(table.rows[1].pos.line, 5, "the line end inside the quotes counts");
    cr_expect_eq(csv_find_column(&table, "b"), 1);
    cr_expect_eq(csv_find_column(&table, "c"), SIZE_MAX);
}

Test(csv, the_last_line_needs_no_end)
{
    struct source_text source = files_text("t.csv", "a\n1");
    struct csv_table table;

    cr_assert(csv_read(&source, &arena, &table, &errs));
    cr_assert_eq(table.row_count, 1);
    cr_expect_str_eq(table.rows[0].fields[0].text, "1");
}

Test(csv, what_is_no_csv_is_refused_at_its_place)
{
    static const struct {
        const char *name;
        const char *text;
        const char *expected;
    } rows[] = {
        {"open quote", "a\n\"b\nc\n", "2:1: a quote that nothing closes"},
        {"behind a quote", "a,b\n\"x\"y,1\n", "2:4: text behind a closing quote"},
        {"quote inside", "a\nb\"c\n", "2:2: a quote inside a field"},
        {"short row", "a,b\n1,2\n3\n", "3:1: 1 fields where the header names 2 columns"},
        {"two bad rows", "a,b\n1\n1,2,3\n", "3:1: 3 fields where the header names 2 columns"},
        {"control byte", "a\nb\001\n", "2:2: byte 0x01: this is no CSV text"},
        {"no UTF-8", "a\n\xff\n", "2:1: byte 0xff: this is no UTF-8 text"},
        {"overlong UTF-8", "a\n\xe0\x80\x80\n", "2:1: byte 0xe0: this is no UTF-8 text"},
        {"bare carriage return", "a\nb\rc\n", "2:2: a carriage return without a line feed"},
        {"nothing", "", "1:1: an empty file"},
        {"empty lines only", "\n\n", "an empty file"},
    };

    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct source_text source = files_text("t.csv", rows[i].text);
        struct csv_table table;
        char text[2048];

        cr_expect_not(csv_read(&source, &arena, &table, &errs), "%s", rows[i].name);
        files_join_errors(&errs, text, sizeof text);
        cr_expect(strstr(text, rows[i].expected), "%s: %s", rows[i].name, text);
        err_list_done(&errs);
        err_list_init(&errs);
    }
}
