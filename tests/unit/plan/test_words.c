/* SPDX-License-Identifier: Apache-2.0 */
#include <criterion/criterion.h>

#include "sim/plan/words.h"

Test(words, only_whole_words_match_and_case_is_free)
{
    static const struct {
        const char *text, *word;
        bool is_there;
    } rows[] = {
        {"MLX jaccl mesh", "JACCL", true}, {"JACCL-like mesh", "jaccl", true},
        {"jacclish", "jaccl", false},      {"string", "ring", false},
        {"TCP ring", "ring", true},        {"raw verbs both ways depth 60", "both ways", true},
        {"ib_send_bw UC", "bw", true},     {"", "ring", false},
        {"uc_pingpong", "ping", false},    {"ping", "ping", true},
    };

    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        cr_expect_eq(words_have(rows[i].text, rows[i].word), rows[i].is_there, "'%s' in '%s'",
                     rows[i].word, rows[i].text);
}

Test(words, a_number_is_read_behind_its_word)
{
    cr_expect_eq(words_number_after("both ways depth 60", "depth"), 60);
    cr_expect_eq(words_number_after("depth=8, rest", "depth"), 8);
    cr_expect_eq(words_number_after("depth", "depth"), 0);
    cr_expect_eq(words_number_after("in depths 60", "depth"), 0);
}
