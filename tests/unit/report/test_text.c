/* SPDX-License-Identifier: Apache-2.0 */
/* What people read: the blocks of a simulation and of a check. */
#include <string.h>

#include <criterion/criterion.h>

#include "sim/report/text_check.h"
#include "sim/report/text_sim.h"
#include "tests/unit/report/support/result.h"

static const char *print_sim(const struct hand_result *hand, struct arena *arena)
{
    struct text text;

    text_init(&text, arena);
    text_print_sim(&hand->report, &text);
    return text.bytes;
}

static void expect_pieces(const char *text, const char *const *pieces, size_t count)
{
    for (size_t i = 0; i < count; i++)
        cr_expect(strstr(text, pieces[i]), "'%s' is not in:\n%s", pieces[i], text);
}

Test(text_sim, every_part_of_a_result_is_shown)
{
    static const char *const pieces[] = {
        "two Macs, by \"hand\" \xe2\x80\x94 \xe4\xb8\xad: 2 machines, 1 cable, seed 7\n",
        "\nall_reduce, jaccl-mesh as of 2026-08, float32, 2 nodes, 20 repetitions\n",
        "\nall_reduce, tcp-ring, float32, 2 nodes",
        "64 KiB",
        "6.500 us  7.000 us  7.900 us",
        "3.500 us      100    50    25",
        "\n  at 4 B: a note\n",
        "deadlock at 4 B",
        "    m1 waits for m2,\n    m2 waits for m1\n",
        "\nwarnings\n  - s.yaml:3:1: a \"warning\"",
        "  FAILS: deadlock == false\n    seen: true\n",
        "  holds: frames > 1\n",
        "assumed, since nobody has published a measurement:\n  ip.window = ",
        "rdma.latency, rdma.jitter",
        "12345 events, 99 frames (2 lost, 1 damaged), 500.0 us of simulated time",
        ", digest 00deadbeefcafe01\n",
    };
    struct arena arena;
    struct hand_result hand;

    arena_init(&arena);
    hand_result_init(&hand);
    expect_pieces(print_sim(&hand, &arena), pieces, sizeof pieces / sizeof pieces[0]);
    cr_expect_not(strstr(print_sim(&hand, &arena), "PARTIAL"));
    hand_result_done(&hand);
    arena_done(&arena);
}

Test(text_sim, the_parameters_that_took_no_part_are_named_and_no_others)
{
    struct arena arena;
    struct hand_result hand;
    const char *list;

    arena_init(&arena);
    hand_result_init(&hand);
    list = strstr(print_sim(&hand, &arena), "took no part");
    cr_assert(list);
    for (uint32_t i = 0; i < PARAM_COUNT; i++)
        cr_expect_eq(strstr(list, param_name((enum param_id)i)) != NULL,
                     !hand.result.had_effect[i] && !param_is_of_run((enum param_id)i), "%s",
                     param_name((enum param_id)i));
    for (uint32_t i = 0; i < PARAM_COUNT; i++)
        hand.result.had_effect[i] = true;
    cr_expect_not(strstr(print_sim(&hand, &arena), "took no part"));
    hand_result_done(&hand);
    arena_done(&arena);
}

Test(text_sim, an_interrupted_run_says_so_and_an_item_without_rows_has_no_block)
{
    struct arena arena;
    struct hand_result hand;
    const char *text;

    arena_init(&arena);
    hand_result_init(&hand);
    hand.result.is_partial = true;
    hand.result.row_count = 3;
    text = print_sim(&hand, &arena);
    cr_expect(strstr(text, "PARTIAL"));
    cr_expect(strstr(text, "\nall_reduce, jaccl-mesh"));
    cr_expect_not(strstr(text, "\nall_reduce, tcp-ring"));
    hand_result_done(&hand);
    arena_done(&arena);
}

Test(text_sim, a_wrong_result_is_marked_in_its_row)
{
    struct arena arena;
    struct hand_result hand;

    arena_init(&arena);
    hand_result_init(&hand);
    hand.rows[1].is_wrong = true;
    cr_expect(strstr(print_sim(&hand, &arena), "wire, WRONG RESULT\n"));
    hand_result_done(&hand);
    arena_done(&arena);
}

Test(text_sim, names_that_users_write_cannot_move_the_cursor)
{
    struct arena arena;
    struct hand_result hand;

    arena_init(&arena);
    hand_result_init(&hand);
    hand.scenario.name = "\x1b[2Jgone";
    hand.expectations[0].text = "\x1b[1A == 3";
    cr_expect_not(strchr(print_sim(&hand, &arena), '\x1b'));
    hand_result_done(&hand);
    arena_done(&arena);
}

Test(text_check, findings_come_with_place_reason_and_fix_and_commands_keep_their_lines)
{
    static const char *const pieces[] = {
        "NOT FEASIBLE: 1 error, 1 warning, 1 note; what binds is port-count\n",
        "full mesh of these models: up to 7 machines (6 without ports",
        "these would take 1 cable\n",
        "\nerror port-count: m1 (s.yaml:4)\n  too few ports\n  fix:\n    m1$ a-command-that-is-",
        "\nwarning macos-mix: m2\n  old\n",
        "\nnote ring-only: m1\n",
        "\ncables\n",
        "m1:1  rear 1, beside Ethernet, en2  m2:1",
        "80 Gb/s  yes\n",
        "FAILS: deadlock == false",
    };
    static const char fix[] =
        "m1$ a-command-that-is-longer-than-a-line with many words that must not be broken because "
        "people paste them into a terminal as they are";
    struct arena arena;
    struct hand_result hand;
    struct check_report report;
    struct text text;

    arena_init(&arena);
    hand_result_init(&hand);
    hand.findings[0].fix = fix;
    report = (struct check_report){hand.report.head, &hand.scenario, &hand.check, hand.outcomes};
    text_init(&text, &arena);
    text_print_check(&report, &text);
    expect_pieces(text.bytes, pieces, sizeof pieces / sizeof pieces[0]);
    cr_expect(strstr(text.bytes, fix));
    hand_result_done(&hand);
    arena_done(&arena);
}

Test(text_check, expectations_on_runs_are_not_shown_as_judged)
{
    struct arena arena;
    struct hand_result hand;
    struct check_report report;
    struct text text;

    arena_init(&arena);
    hand_result_init(&hand);
    hand.outcomes[0].verdict = hand.outcomes[1].verdict = EXPECT_NOT_RUN;
    hand.check.is_feasible = true;
    report = (struct check_report){hand.report.head, &hand.scenario, &hand.check, hand.outcomes};
    text_init(&text, &arena);
    text_print_check(&report, &text);
    cr_expect(strstr(text.bytes, "\nfeasible: "));
    cr_expect_not(strstr(text.bytes, "expectations"));
    hand_result_done(&hand);
    arena_done(&arena);
}
