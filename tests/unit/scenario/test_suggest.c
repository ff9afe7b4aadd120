/* SPDX-License-Identifier: Apache-2.0 */
#include <stdint.h>
#include <string.h>

#include <criterion/criterion.h>

#include "sim/scenario/suggest.h"

Test(suggest, distance_counts_edits_and_swaps_of_neighbours)
{
    static const struct {
        const char *a, *b;
        size_t distance;
    } rows[] = {
        {"", "", 0},
        {"abc", "abc", 0},
        {"abc", "ABC", 0},
        {"abc", "", 3},
        {"bandwith", "bandwidth", 1},
        {"ab", "ba", 1},
        {"kitten", "sitting", 3},
        {"ca", "abc", 3}, /* each place is edited once */
    };

    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        cr_expect_eq(suggest_distance(rows[i].a, rows[i].b), rows[i].distance, "%s", rows[i].a);
        cr_expect_eq(suggest_distance(rows[i].b, rows[i].a), rows[i].distance, "%s", rows[i].b);
    }
}

Test(suggest, the_nearest_name_wins_and_far_ones_are_kept_back)
{
    static const char *const names[] = {"kind", "cables", "rate", "cable"};
    char text[SUGGEST_TEXT_MAX];
    char word[80];

    cr_expect_str_eq(suggest_name("cabel", names, 4), "cable");
    cr_expect_str_eq(suggest_name("cabels", names, 4), "cables");
    cr_expect_str_eq(suggest_name("Rate", names, 4), "rate");
    cr_expect_null(suggest_name("machines", names, 4));
    cr_expect_null(suggest_name("", names, 4));
    suggest_text(text, "knd", names, 4);
    cr_expect_str_eq(text, ", did you mean 'kind'?");
    memset(word, 'x', sizeof word - 1);
    word[sizeof word - 1] = '\0';
    cr_expect_eq(suggest_distance(word, "kind"), SIZE_MAX);
    cr_expect_null(suggest_name(word, names, 4));
}
