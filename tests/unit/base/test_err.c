/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include <criterion/criterion.h>

#include "sim/base/err.h"

static struct src_pos at(uint32_t line, uint32_t col)
{
    return (struct src_pos){.file = "ring.yaml", .line = line, .col = col};
}

Test(err, the_first_error_stays)
{
    struct err err = {0};

    cr_expect_not(err_set(&err, ERR_UNIT, at(12, 9), "'%s' needs a unit", "850"));
    cr_expect_not(err_set(&err, ERR_RANGE, at(13, 1), "later"));
    cr_expect_eq(err.code, ERR_UNIT);
    cr_expect_eq(err.pos.line, 12);
    cr_expect_eq(err.pos.col, 9);
    cr_expect_str_eq(err.pos.file, "ring.yaml");
    cr_expect_str_eq(err.text, "'850' needs a unit");
}

Test(err, a_long_text_is_cut_and_terminated)
{
    struct err err = {0};

    err_set(&err, ERR_SYNTAX, at(1, 1), "%01000d", 1);
    cr_expect_eq(strlen(err.text), ERR_TEXT_MAX - 1);
}

Test(err, a_list_keeps_the_first_errors_and_counts_the_rest)
{
    struct err_list list;

    err_list_init(&list);
    for (uint32_t i = 0; i < ERR_LIST_MAX + 10; i++)
        cr_expect_not(err_list_add(&list, ERR_KEY, at(i + 1, 1), "key %u", i));
    cr_expect_eq(list.count, ERR_LIST_MAX);
    cr_expect_eq(list.dropped, 10);
    cr_expect_str_eq(list.items[0].text, "key 0");
    cr_expect_str_eq(list.items[ERR_LIST_MAX - 1].text, "key 63");
    err_list_done(&list);
    cr_expect_eq(list.count, 0);
    err_list_done(&list);
}

Test(err, a_list_takes_errors_but_not_their_absence)
{
    struct err_list list;
    struct err none = {0};
    struct err one = {.code = ERR_LIMIT, .pos = {"a.yaml", 2, 3}, .text = "too many"};

    err_list_init(&list);
    cr_expect_not(err_list_take(&list, &none));
    cr_expect_eq(list.count, 0);
    cr_expect_not(err_list_take(&list, &one));
    cr_assert_eq(list.count, 1);
    cr_expect_eq(list.items[0].code, ERR_LIMIT);
    cr_expect_str_eq(list.items[0].text, "too many");
    err_list_done(&list);
}

Test(err, a_list_sorts_by_place_and_keeps_the_order_at_one_place)
{
    static const uint32_t places[][2] = {{9, 1}, {2, 5}, {2, 5}, {2, 1}, {10, 1}, {2, 5}};
    static const char *const expected[] = {"3", "1", "2", "5", "0", "4"};
    struct err_list list;

    err_list_init(&list);
    for (uint32_t i = 0; i < 6; i++)
        err_list_add(&list, ERR_KEY, at(places[i][0], places[i][1]), "%u", i);
    err_list_sort(&list);
    for (uint32_t i = 0; i < 6; i++)
        cr_expect_str_eq(list.items[i].text, expected[i], "place %u", i);
    err_list_done(&list);
}

Test(err, a_message_stays_one_line_of_utf8)
{
    static const struct {
        const char *quoted, *text;
    } rows[] = {
        {"a\nb", "'a?b'"},
        {"\x7f\t", "'?"
                   "?'"},
        {"\xc3\xa9", "'\xc3\xa9'"},
        {"\xc3", "'?'"},
        {"\xed\xa0\x80", "'?"
                         "?"
                         "?'"},
        {"\xff"
         "ok",
         "'?ok'"},
    };

    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct err err = {0};

        err_set(&err, ERR_RANGE, at(1, 1), "'%s'", rows[i].quoted);
        cr_expect_str_eq(err.text, rows[i].text, "row %zu: %s", i, err.text);
    }
}
