/* SPDX-License-Identifier: Apache-2.0 */
/* The quiescence clock on scripted clients: no choice of the scheduler may change a result. */
#include <stdint.h>

#include <criterion/criterion.h>
#include <criterion/new/assert.h>

#include "sim/base/units.h"
#include "tests/unit/sched/support/puppets.h"
#include "verbs-shim/sched/sched.h"
#include "verbs-shim/sched/sched_time.h"

static const struct puppet_style strict = {.max_running = 1, .fold_after = 16};

static void expect_same(const struct puppet_story *story, const struct puppet_result *a,
                        const struct puppet_style *style)
{
    struct puppet_result b = puppets_play(story, style);

    cr_expect(eq(int, b.state, a->state), "seed %lu, running %u, fold %u, cap %ld", story->seed,
              style->max_running, style->fold_after, style->lease_cap);
    cr_expect(eq(u32, b.late, 0), "seed %lu, running %u, fold %u, cap %ld", story->seed,
              style->max_running, style->fold_after, style->lease_cap);
    cr_expect(eq(u64, b.seen_hash, a->seen_hash), "seed %lu, running %u, fold %u, cap %ld",
              story->seed, style->max_running, style->fold_after, style->lease_cap);
    cr_expect(eq(u64, b.fabric_hash, a->fabric_hash), "seed %lu, running %u, fold %u, cap %ld",
              story->seed, style->max_running, style->fold_after, style->lease_cap);
    cr_expect(eq(i64, b.end, a->end));
    cr_expect(eq(i64, b.verdict, a->verdict), "seed %lu, running %u, fold %u, cap %ld", story->seed,
              style->max_running, style->fold_after, style->lease_cap);
}

/* Every style against strict turns with folding after 16 polls. */
static void expect_one_result(const struct puppet_story *story, enum sched_state end)
{
    static const uint32_t folds[] = {16, 8, 60, 0};
    static const int64_t caps[] = {0, 500 * PS_PER_NS};
    struct puppet_result base = puppets_play(story, &strict);

    cr_expect(eq(int, base.state, end), "seed %lu", story->seed);
    cr_expect(eq(u32, base.late, 0), "seed %lu", story->seed);
    for (uint32_t running = 1; running <= 4; running++) {
        for (size_t f = 0; f < 4; f++) {
            for (size_t c = 0; c < 2; c++) {
                const struct puppet_style style = {.max_running = running,
                                                   .fold_after = folds[f],
                                                   .lease_cap = caps[c],
                                                   .shuffle = running * 7 + f};

                expect_same(story, &base, &style);
            }
        }
    }
}

Test(sched, no_choice_changes_a_result_of_symmetric_ranks)
{
    for (uint32_t ranks = 2; ranks <= 5; ranks++) {
        const struct puppet_story story = {.ranks = ranks, .rounds = 6, .wires = 1, .seed = ranks};

        expect_one_result(&story, SCHED_FINISHED);
    }
}

Test(sched, no_choice_changes_a_result_of_uneven_ranks)
{
    for (uint64_t seed = 1; seed <= 12; seed++) {
        const struct puppet_story story = {.ranks = 2 + seed % 3,
                                           .rounds = 6,
                                           .wires = 1 + seed % 2,
                                           .seed = seed,
                                           .has_pauses = true,
                                           .is_late = seed % 4 == 0};

        expect_one_result(&story, SCHED_FINISHED);
    }
}

Test(sched, a_missing_send_is_a_deadlock_at_once)
{
    const struct puppet_story story = {
        .ranks = 3, .rounds = 3, .wires = 1, .seed = 5, .hangs = true};
    struct puppet_result result = puppets_play(&story, &strict);

    cr_expect(eq(int, result.state, SCHED_DEADLOCK));
    /* To the last poll of those who poll on after somebody has seen the last completion. */
    cr_expect(gt(i64, result.verdict, result.end + (PROTO_QUIET - 1) * PUPPET_POLL));
    cr_expect(le(i64, result.verdict, result.end + (PROTO_QUIET + 1) * PUPPET_POLL));
}

Test(sched, a_deadlock_has_one_instant_however_polls_are_folded)
{
    for (uint64_t seed = 1; seed <= 3; seed++) {
        const struct puppet_story story = {.ranks = 2 + seed % 3,
                                           .rounds = 3,
                                           .wires = 1 + seed % 2,
                                           .seed = seed,
                                           .has_pauses = seed % 2 == 0,
                                           .is_late = seed % 3 == 0,
                                           .hangs = true};

        expect_one_result(&story, SCHED_DEADLOCK);
    }
}

Test(sched, few_turns_are_needed)
{
    const struct puppet_story story = {
        .ranks = 4, .rounds = 200, .wires = 1, .seed = 0, .is_small = true};
    struct puppet_result result = puppets_play(&story, &strict);

    /* Two turns a rank and round: one when its receives are there, in which it also posts the next
     * round, and one when its sends are matched. The rest is the set-up, a call a turn. */
    cr_expect(le(u64, result.handovers, 200 * 4 * 2 + 4 * 3 * 2 + 8));
}

Test(sched_time, fold_stays_on_the_grid_and_before_the_completion)
{
    for (int64_t grid = 1; grid < 20; grid++) {
        for (int64_t first = 0; first < 100; first++) {
            int64_t t = time_fold(10, first, grid);
            int64_t loop = 10;

            while (loop + grid < first)
                loop += grid;
            cr_assert(eq(i64, t, loop));
        }
    }
}

Test(sched_time, wire_time_is_a_lower_bound)
{
    for (uint64_t length = 0; length < 10000; length += 7)
        cr_assert(le(i64, time_wire(length, 110123), (int64_t)(length * 110123 / 1024)));
    cr_assert(eq(i64, time_wire(UINT64_C(1) << 30, 110123), (INT64_C(1) << 20) * 110123));
}

Test(sched_time, never_is_never)
{
    cr_assert(eq(i64, time_add(PROTO_NEVER, 5), PROTO_NEVER));
    cr_assert(eq(i64, time_add(PROTO_NEVER - 3, 5), PROTO_NEVER));
    cr_assert(eq(i64, time_shrink(PROTO_NEVER, 7, 5), 12));
    cr_assert(eq(i64, time_shrink(9, 7, PROTO_NEVER), 9));
}
