/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include <criterion/criterion.h>

#include "sim/base/utf8.h"

Test(utf8, counts_the_bytes_of_valid_characters_only)
{
    static const struct {
        const char *name;
        const char *bytes;
        size_t length;
    } rows[] = {
        {"letter", "a", 1},
        {"two bytes", "\xc3\xa9", 2},
        {"three bytes", "\xe2\x82\xac", 3},
        {"four bytes", "\xf0\x9f\x98\x80", 4},
        {"largest", "\xf4\x8f\xbf\xbf", 4},
        {"above the largest", "\xf4\x90\x80\x80", 0},
        {"cut", "\xe2\x82", 0},
        {"stray continuation", "\x80", 0},
        {"overlong slash", "\xc0\xaf", 0},
        {"overlong three", "\xe0\x80\xaf", 0},
        {"surrogate", "\xed\xa0\x80", 0},
        {"no continuation", "\xc3(", 0},
        {"never in UTF-8", "\xff", 0},
    };

    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        cr_expect_eq(utf8_length((const unsigned char *)rows[i].bytes, strlen(rows[i].bytes)),
                     rows[i].length, "%s", rows[i].name);
}
