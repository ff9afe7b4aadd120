/* SPDX-License-Identifier: Apache-2.0 */
/* Folded loops of polls against the loops themselves, poll by poll. */
#include <string.h>

#include <criterion/criterion.h>

#include "tests/unit/shim/support/world.h"
#include "verbs-shim/shim/verbs/fold.h"

#define QUEUES 12U
#define POLL   50000 /* ps */

/* A program that polls its queues in this order, over and over. */
struct loop {
    const char *name;
    uint16_t order[20];
    uint32_t length;
};

static const struct loop loops[] = {
    {"one queue", {0}, 1},
    {"two in turn", {0, 1}, 2},
    {"one twice", {0, 0, 1}, 3},
    {"three", {2, 0, 1}, 3},
    {"there and back", {0, 1, 2, 3, 2, 1}, 6},
    {"one of them three times", {0, 1, 0, 2, 0, 3}, 6},
    {"twelve", {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11}, 12},
    {"a row of one, then eleven",
     {0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11},
     20},
};

struct found {
    uint64_t polls; /* empty ones and the last */
    uint16_t cq;
    int64_t vt;
};

static struct cq cqs[QUEUES];
static struct proto_event events[QUEUES];
static int64_t due[QUEUES];

static int64_t first_due(const uint16_t *numbers, uint32_t count)
{
    int64_t first = PROTO_NEVER;

    for (uint32_t i = 0; i < count; i++)
        first = due[numbers[i]] < first ? due[numbers[i]] : first;
    return first;
}

/* The program learns what is due. */
static void tell(void)
{
    for (uint32_t q = 0; q < QUEUES; q++) {
        events[q].t = due[q];
        cqs[q].ring = &events[q];
        cqs[q].ring_capacity = 1;
        cqs[q].count = due[q] != PROTO_NEVER;
    }
}

static void begin(uint32_t fold_after, int64_t lease)
{
    memset(&world, 0, sizeof world);
    memset(cqs, 0, sizeof cqs);
    world.agreed.charge[PROTO_CHARGE_POLL_EMPTY] = POLL;
    world.agreed.fold_after = fold_after;
    world.library.agreed = &world.agreed;
    world.actor.lease = lease;
    world.first = first_due;
    world.take_events = tell;
    for (uint32_t q = 0; q < QUEUES; q++) {
        cqs[q].number = q;
        cr_assert(table_put(&world.library.cqs, q, &cqs[q]));
    }
    fold_reset();
}

/* How many queues it polls, and so has. */
static uint32_t count_queues(const struct loop *loop)
{
    uint32_t count = 0;

    for (uint32_t i = 0; i < loop->length; i++)
        count = loop->order[i] + 1U > count ? loop->order[i] + 1U : count;
    return count;
}

/* Polls until something is found; 10,000 polls at most. */
static struct found run(const struct loop *loop)
{
    struct actor *a = &world.actor;
    struct found found = {0};

    for (uint32_t i = 0; i < 10000; i++) {
        uint16_t cq = loop->order[i % loop->length];

        a->vt += POLL;
        found.polls++;
        if (due[cq] <= a->vt) {
            fold_after_found(a, &cqs[cq]);
            found.cq = cq;
            break;
        }
        fold_after_empty(a, &cqs[cq]);
    }
    found.polls += a->stats.folded;
    found.vt = a->vt;
    free(world.library.cqs.entries);
    return found;
}

static const uint32_t folds[] = {2, 3, 8, 16, 60, 128};
static const int64_t dues[] = {1,          POLL - 1,   POLL,           POLL + 1,
                               7 * POLL,   33333333,   100 * POLL - 1, 100 * POLL,
                               101 * POLL, 123 * POLL, 7777777,        12345678,
                               250 * POLL, 263 * POLL, 300 * POLL + 1, 19999999};

/* Every loop, fold and time; the queue that gets it is whichever. */
static void compare_all(int64_t lease, bool is_known, uint32_t disturbed)
{
    for (size_t l = 0; l < sizeof loops / sizeof loops[0]; l++) {
        for (size_t d = 0; d < sizeof dues / sizeof dues[0]; d++) {
            struct found plain;

            for (uint32_t q = 0; q < QUEUES; q++)
                due[q] = PROTO_NEVER;
            due[loops[l].order[d % loops[l].length]] = dues[d];
            begin(0, lease);
            plain = run(&loops[l]);
            for (size_t f = 0; f < sizeof folds / sizeof folds[0]; f++) {
                uint32_t queues = count_queues(&loops[l]);
                struct found folded;

                /* Fewer polls than two rounds may look like a shorter round, unless each queue
                 * is polled once. */
                if (folds[f] < 2 * loops[l].length && queues != loops[l].length)
                    continue;
                begin(folds[f], lease);
                world.library.cq_count = queues;
                world.idles_disturbed = disturbed;
                if (is_known)
                    tell();
                folded = run(&loops[l]);
                cr_expect_eq(folded.vt, plain.vt, "%s, due %ld, fold %u: %ld, not %ld",
                             loops[l].name, (long)dues[d], folds[f], (long)folded.vt,
                             (long)plain.vt);
                cr_expect_eq(folded.polls, plain.polls, "%s, due %ld, fold %u: %lu polls, not %lu",
                             loops[l].name, (long)dues[d], folds[f], (unsigned long)folded.polls,
                             (unsigned long)plain.polls);
                cr_expect_eq(folded.cq, plain.cq);
                cr_expect_eq(world.actor.stats.misfolds, 0);
            }
        }
    }
}

Test(fold, a_completion_that_is_known_is_met_in_the_same_poll)
{
    compare_all(PROTO_NEVER, true, 0);
}

Test(fold, a_completion_that_the_scheduler_knows_is_met_in_the_same_poll)
{
    compare_all(3 * POLL, false, 0);
}

Test(fold, events_that_come_meanwhile_change_nothing)
{
    compare_all(3 * POLL, false, 2);
}

Test(fold, long_waits_cost_few_polls)
{
    due[0] = INT64_C(10000000) * POLL;
    begin(16, PROTO_NEVER);
    tell();

    struct found found = run(&loops[0]);

    cr_expect_eq(found.vt, due[0]);
    cr_expect_eq(found.polls, 10000000);
    cr_expect_geq(world.actor.stats.folded, 10000000 - 2 * 16);
}

Test(fold, a_round_of_all_queues_is_folded_whatever_the_fold)
{
    const struct loop *twelve = &loops[6];
    struct found found;

    for (uint32_t q = 0; q < QUEUES; q++)
        due[q] = PROTO_NEVER;
    due[5] = 9000 * POLL;
    for (size_t f = 0; f < sizeof folds / sizeof folds[0]; f++) {
        begin(folds[f], PROTO_NEVER);
        world.library.cq_count = QUEUES;
        tell();
        found = run(twelve);
        cr_expect_eq(found.vt, 9006 * POLL); /* queue 5 is polled in polls 6, 18, ..., 9006 */
        cr_expect_eq(found.polls, 9006);
        cr_expect_gt(world.actor.stats.folded, 9006 - 2 * PROTO_QUIET);
    }
}

static void poll_empty(uint32_t cq)
{
    world.actor.vt += POLL;
    fold_after_empty(&world.actor, &cqs[cq]);
}

Test(fold, another_call_between_begins_a_new_row)
{
    due[0] = 1000 * POLL;
    begin(8, PROTO_NEVER);
    tell();
    for (uint32_t i = 0; i < 100; i++) {
        world.actor.calls += i % 7 == 6;
        poll_empty(0);
    }
    cr_expect_eq(world.actor.stats.folded, 0);
    free(world.library.cqs.entries);
}

Test(fold, a_row_without_a_period_is_left_alone)
{
    static const uint16_t order[] = {0, 1, 2, 3, 0, 0, 1, 3};

    for (uint32_t q = 0; q < QUEUES; q++)
        due[q] = 1000 * POLL;
    begin(8, PROTO_NEVER);
    tell();
    for (uint32_t i = 0; i < 8; i++)
        poll_empty(order[i]);
    cr_expect_eq(world.actor.stats.folded, 0);
    cr_expect_eq(world.actor.vt, 8 * POLL);
    free(world.library.cqs.entries);
}

/* Ten rounds of two queues, and then a third one. */
Test(fold, a_loop_that_was_longer_than_it_seemed_is_counted)
{
    due[0] = 500 * POLL;
    due[2] = 1000 * POLL;
    for (uint32_t is_longer = 0; is_longer < 2; is_longer++) {
        due[1] = is_longer ? PROTO_NEVER : 1000 * POLL;
        begin(20, PROTO_NEVER);
        tell();
        for (uint32_t i = 0; i < 20; i++)
            poll_empty(i % 2);
        poll_empty(is_longer ? 2 : 0);
        cr_expect_gt(world.actor.stats.folded, 0);
        cr_expect_eq(world.actor.stats.misfolds, is_longer);
        free(world.library.cqs.entries);
    }
}

/* Sixteen polls, and then something else. */
Test(fold, a_call_in_place_of_the_completion_is_counted)
{
    due[0] = 500 * POLL;
    begin(16, PROTO_NEVER);
    tell();
    for (uint32_t i = 0; i < 16; i++)
        poll_empty(0);
    cr_expect_gt(world.actor.stats.folded, 0);
    world.actor.calls++;
    world.actor.vt += 2 * POLL;
    fold_after_found(&world.actor, &cqs[0]);
    cr_expect_eq(world.actor.stats.misfolds, 1);
    free(world.library.cqs.entries);
}

Test(fold, a_loop_that_is_not_folded_says_that_it_is_quiet)
{
    due[0] = 3 * PROTO_QUIET * POLL + 1;
    begin(0, PROTO_NEVER);
    (void)run(&loops[0]);
    cr_expect_eq(world.quiets, 3, "%u", world.quiets);
    cr_expect_eq(world.idled, 0);
    /* What is known to be due is waited for, and no wait for others. */
    begin(60, PROTO_NEVER);
    tell();
    (void)run(&loops[0]);
    cr_expect_eq(world.quiets, 0, "%u", world.quiets);
}
