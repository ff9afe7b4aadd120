/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include <criterion/criterion.h>

#include "sim/base/text.h"

Test(text, is_empty_and_terminated_after_init)
{
    struct arena arena;
    struct text text;

    arena_init(&arena);
    text_init(&text, &arena);
    cr_expect_eq(text.length, 0);
    cr_expect_str_eq(text.bytes, "");
    arena_done(&arena);
}

Test(text, keeps_every_byte_while_it_grows)
{
    struct arena arena;
    struct text text;

    arena_init(&arena);
    text_init(&text, &arena);
    for (unsigned i = 0; i < 3000; i++)
        text_add(&text, "%c%s", (char)('a' + i % 26), i % 7 ? "" : "--");
    cr_expect_eq(strlen(text.bytes), text.length);
    cr_expect_eq(text.length, 3000 + 2 * 429); /* 429 multiples of 7 below 3000 */
    cr_expect_eq(strncmp(text.bytes, "a--bcdefgh--i", 13), 0);
    arena_done(&arena);
}

Test(text, takes_a_piece_larger_than_twice_its_room)
{
    struct arena arena;
    struct text text;
    char big[2000];

    memset(big, 'x', sizeof big - 1);
    big[sizeof big - 1] = '\0';
    arena_init(&arena);
    text_init(&text, &arena);
    text_add(&text, "1%s2", big);
    cr_expect_eq(text.length, sizeof big + 1);
    cr_expect_eq(text.bytes[text.length - 1], '2');
    arena_done(&arena);
}

Test(text, separates_items_but_begins_with_none)
{
    struct arena arena;
    struct text text;

    arena_init(&arena);
    text_init(&text, &arena);
    text_add_item(&text, ", ", "a");
    text_add_item(&text, ", ", "b");
    cr_expect_str_eq(text.bytes, "a, b");
    arena_done(&arena);
}
