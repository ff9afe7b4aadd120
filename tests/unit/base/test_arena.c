/* SPDX-License-Identifier: Apache-2.0 */
#include <signal.h>
#include <stdint.h>
#include <string.h>

#include <criterion/criterion.h>

#include "sim/base/arena.h"

Test(arena, pieces_are_zeroed_aligned_and_apart)
{
    static const size_t sizes[] = {1, 15, 16, 17, 0, 40000, 40000, 70000, 200000, 3};
    enum {
        COUNT = sizeof sizes / sizeof sizes[0]
    };
    unsigned char *pieces[COUNT];
    struct arena arena;

    arena_init(&arena);
    for (size_t i = 0; i < COUNT; i++) {
        pieces[i] = arena_alloc(&arena, sizes[i]);
        cr_assert_not_null(pieces[i]);
        cr_expect_eq((uintptr_t)pieces[i] % 16, 0, "piece %zu", i);
        for (size_t k = 0; k < sizes[i]; k++)
            cr_assert_eq(pieces[i][k], 0, "piece %zu, byte %zu", i, k);
        memset(pieces[i], (int)i + 1, sizes[i]);
    }
    for (size_t i = 0; i < COUNT; i++) {
        for (size_t k = 0; k < sizes[i]; k++)
            cr_assert_eq(pieces[i][k], i + 1, "piece %zu, byte %zu", i, k);
    }
    arena_done(&arena);
    cr_expect_null(arena.blocks);
    arena_done(&arena); /* twice is fine */
}

Test(arena, a_product_that_overflows_aborts, .signal = SIGABRT)
{
    struct arena arena;

    arena_init(&arena);
    arena_alloc_array(&arena, SIZE_MAX / 2, 3);
}

Test(arena, a_size_that_no_machine_has_aborts, .signal = SIGABRT)
{
    struct arena arena;

    arena_init(&arena);
    arena_alloc(&arena, SIZE_MAX - 3);
}

Test(arena, copies_end_in_a_nul_and_do_not_follow_the_original)
{
    struct arena arena;
    char original[] = "en2:en3";

    arena_init(&arena);

    char *copy = arena_copy_text(&arena, original, 3);

    memset(original, 'x', sizeof original - 1);
    cr_expect_str_eq(copy, "en2");
    cr_expect_str_eq(arena_copy_text(&arena, "", 0), "");
    arena_done(&arena);
}

Test(arena, formats_texts_of_any_length)
{
    struct arena arena;

    arena_init(&arena);
    cr_expect_str_eq(arena_format(&arena, "host %d of %s", 3, "ring"), "host 3 of ring");

    char *wide = arena_format(&arena, "%0100000d", 7);

    cr_expect_eq(strlen(wide), 100000);
    cr_expect_eq(wide[99999], '7');
    arena_done(&arena);
}
