/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include <criterion/criterion.h>

#include "verbs-shim/conductor/words.h"

static const char *const hosts[] = {"studio1", "mini", "{host}"};

Test(words, what_is_known_is_replaced_and_other_braces_stay)
{
    static const struct {
        const char *word, *expected;
    } rows[] = {
        {"", ""},
        {"plain", "plain"},
        {"{rank}", "1"},
        {"{ranks}", "3"},
        {"{host}", "mini"},
        {"{peer0}", "studio1"},
        {"{peer02}", "{host}"},
        {"{ip2}", "127.0.0.1"},
        {"a{rank}b{ranks}c", "a1b3c"},
        {"{rank}{rank}", "11"},
        {"--out={host}-{rank}.json", "--out=mini-1.json"},
        {"{peer2}", "{host}"}, /* once only */
        {"{", "{"},
        {"}", "}"},
        {"{{rank}}", "{1}"},
        {"{rank", "{rank"},
        {"{rankx}", "{rankx}"},
        {"{RANK}", "{RANK}"},
        {"{peer}", "{peer}"},
        {"{peer-1}", "{peer-1}"},
        {"{peer+1}", "{peer+1}"},
        {"{peer 1}", "{peer 1}"},
        {"{peer1", "{peer1"},
        {"{peer1x}", "{peer1x}"},
        {"{ip}", "{ip}"},
        {"${HOME}", "${HOME}"},
    };
    const struct words_rank rank = {.rank = 1, .rank_count = 3, .hosts = hosts};

    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        char word[64];
        char *argv[] = {word, NULL};
        struct arena arena;
        struct err err = {0};
        char **list = NULL;

        arena_init(&arena);
        (void)strcpy(word, rows[i].word);
        cr_assert(words_replace(argv, &rank, &arena, &list, &err), "'%s'", rows[i].word);
        cr_expect_str_eq(list[0], rows[i].expected, "'%s'", rows[i].word);
        cr_expect_null(list[1]);
        arena_done(&arena);
    }
}

Test(words, a_rank_that_is_not_there_is_named)
{
    static const char *const words[] = {"{peer3}", "{ip3}", "x{peer0}{ip99}",
                                        "{peer99999999999999999999}"};
    const struct words_rank rank = {.rank = 1, .rank_count = 3, .hosts = hosts};

    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++) {
        char word[64];
        char *argv[] = {word, NULL};
        struct arena arena;
        struct err err = {0};
        char **list = NULL;

        arena_init(&arena);
        (void)strcpy(word, words[i]);
        cr_expect_not(words_replace(argv, &rank, &arena, &list, &err), "'%s'", words[i]);
        cr_expect_eq(err.code, ERR_RANGE);
        cr_expect_not_null(strstr(err.text, "there are ranks 0 to 2"), "%s", err.text);
        cr_expect_not_null(strstr(err.text, words[i]), "%s", err.text);
        cr_expect_null(list);
        arena_done(&arena);
    }
}

Test(words, the_program_s_own_list_is_left_alone)
{
    char first[] = "{rank}";
    char second[] = "{host}";
    char *argv[] = {first, second, NULL};
    const struct words_rank rank = {.rank = 0, .rank_count = 3, .hosts = hosts};
    struct arena arena;
    struct err err = {0};
    char **list = NULL;

    arena_init(&arena);
    cr_assert(words_replace(argv, &rank, &arena, &list, &err));
    cr_expect_str_eq(first, "{rank}");
    cr_expect_str_eq(list[0], "0");
    cr_expect_str_eq(list[1], "studio1");
    arena_done(&arena);
}
