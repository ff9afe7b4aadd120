/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
#include <string.h>

#include <criterion/criterion.h>

#include "sim/core/evq.h"
#include "tests/unit/core/support/program.h"

static const struct {
    enum evq_kind kind;
    const char *name;
} kinds[] = {{EVQ_CALENDAR, "calendar"}, {EVQ_HEAP, "heap"}};

#define KINDS (sizeof kinds / sizeof kinds[0])

/* The queue as one would write it without a thought for speed: all events, unsorted. */
struct reference {
    struct evq_event events[512];
    uint32_t count;
};

static uint32_t reference_least(const struct reference *ref)
{
    uint32_t least = 0;

    for (uint32_t i = 1; i < ref->count; i++) {
        const struct evq_event *a = &ref->events[i];
        const struct evq_event *b = &ref->events[least];

        if (a->at.ps < b->at.ps || (a->at.ps == b->at.ps && a->seq < b->seq))
            least = i;
    }
    return least;
}

static simtime reference_next_time(const struct reference *ref)
{
    return ref->count ? ref->events[reference_least(ref)].at : simtime_never();
}

static bool reference_pop_until(struct reference *ref, simtime limit, struct evq_event *ret)
{
    uint32_t least = reference_least(ref);

    if (!ref->count || ref->events[least].at.ps > limit.ps)
        return false;
    *ret = ref->events[least];
    /* Keeps the order, so that the least of equal ones is not a matter of luck. */
    memmove(&ref->events[least], &ref->events[least + 1],
            (--ref->count - least) * sizeof ref->events[0]);
    return true;
}

static bool events_equal(const struct evq_event *a, const struct evq_event *b)
{
    return a->at.ps == b->at.ps && a->seq == b->seq && a->kind == b->kind && a->arg == b->arg;
}

struct twins {
    struct evq *evq;
    struct reference ref;
    struct draws draws;
    enum spread spread;
    simtime now;
    uint64_t pushed;
};

static bool push_both(struct twins *twins)
{
    struct evq_event event = {.at = draw_time(&twins->draws, twins->spread, twins->now),
                              .kind = (uint32_t)draw(&twins->draws),
                              .arg = (uint32_t)draw(&twins->draws)};
    uint32_t capacity = sizeof twins->ref.events / sizeof twins->ref.events[0];
    bool has_room = twins->ref.count < capacity;

    if (has_room) {
        event.seq = twins->pushed++;
        twins->ref.events[twins->ref.count++] = event;
    }
    return evq_push(twins->evq, event.at, event.kind, event.arg) == has_room;
}

static bool pop_both(struct twins *twins)
{
    bool is_bounded = draw(&twins->draws) % 4 == 0;
    simtime limit =
        is_bounded ? draw_time(&twins->draws, twins->spread, twins->now) : simtime_never();
    struct evq_event expected;
    struct evq_event found;
    bool has_event = reference_pop_until(&twins->ref, limit, &expected);

    if (evq_pop_until(twins->evq, limit, &found) != has_event)
        return false;
    if (has_event)
        twins->now = expected.at;
    /* Near the end of time nothing lies ahead any more; start again. */
    if (twins->now.ps > SIMTIME_NEVER_PS / 2)
        twins->now.ps = 0;
    return !has_event || events_equal(&expected, &found);
}

/* Random phases of growing and shrinking; false at the first difference. */
static bool run_both(struct twins *twins, uint32_t steps)
{
    for (uint32_t i = 0; i < steps; i++) {
        bool grows = i / 900 % 2 == 0;
        bool pushes = draw(&twins->draws) % 8 < (grows ? 5 : 3);

        if (pushes ? !push_both(twins) : !pop_both(twins))
            return false;
        if (evq_count(twins->evq) != twins->ref.count ||
            evq_is_empty(twins->evq) != (twins->ref.count == 0) ||
            evq_next_time(twins->evq).ps != reference_next_time(&twins->ref).ps)
            return false;
    }
    return true;
}

Test(evq, pops_what_a_plain_search_would_pop)
{
    for (size_t k = 0; k < KINDS; k++) {
        for (int spread = 0; spread < SPREAD_COUNT; spread++) {
            struct twins twins = {.evq = queue_new(kinds[k].kind, 512),
                                  .draws = {.seed = 7},
                                  .spread = (enum spread)spread};

            cr_expect(run_both(&twins, 6000), "%s, %s, after %llu pushes", kinds[k].name,
                      spread_names[spread], (unsigned long long)twins.pushed);
            queue_free(twins.evq);
        }
    }
}

Test(evq, pops_equal_times_in_push_order)
{
    for (size_t k = 0; k < KINDS; k++) {
        struct evq *evq = queue_new(kinds[k].kind, 30000);
        struct evq_event event;

        /* Two instants in one bucket, so that the earlier run is never at the bucket's tail. */
        for (uint32_t i = 0; i < 30000; i++)
            cr_assert(evq_push(evq, (simtime){1000 + i % 2}, 1, i));
        for (uint32_t i = 0; i < 30000; i++) {
            cr_assert(evq_pop(evq, &event));
            cr_assert_eq(event.arg, i < 15000 ? 2 * i : 2 * (i - 15000) + 1, "%s, event %u",
                         kinds[k].name, i);
        }
        queue_free(evq);
    }
}

Test(evq, a_million_events_at_one_instant_take_no_quadratic_time)
{
    struct evq *evq = queue_new(EVQ_CALENDAR, 1U << 20);
    struct evq_event event;

    /* A quadratic queue needs 10^11 steps here, far past the time limit of the test. */
    cr_assert(evq_push(evq, (simtime){5001}, 0, 0));
    for (uint32_t i = 1; i < 1U << 20; i++)
        cr_assert(evq_push(evq, (simtime){5000}, 0, i));
    for (uint32_t i = 1; i < 1U << 20; i++) {
        cr_assert(evq_pop(evq, &event));
        cr_assert_eq(event.arg, i);
    }
    cr_assert(evq_pop(evq, &event));
    cr_assert_eq(event.at.ps, 5001);
    cr_assert(evq_is_empty(evq));
    queue_free(evq);
}

Test(evq, an_event_of_the_past_comes_next)
{
    for (size_t k = 0; k < KINDS; k++) {
        struct evq *evq = queue_new(kinds[k].kind, 8);
        static const int64_t pushed[] = {900, 5, -3, INT64_MIN, 5};
        static const int64_t expected[] = {INT64_MIN, -3, 5, 5, 900};
        struct evq_event event;

        cr_assert(evq_push(evq, (simtime){800}, 0, 0));
        cr_assert(evq_pop(evq, &event));
        for (size_t i = 0; i < 5; i++)
            cr_assert(evq_push(evq, (simtime){pushed[i]}, 0, 0));
        for (size_t i = 0; i < 5; i++) {
            cr_assert(evq_pop(evq, &event));
            cr_expect_eq(event.at.ps, expected[i], "%s, event %zu", kinds[k].name, i);
        }
        queue_free(evq);
    }
}

Test(evq, an_event_of_the_past_does_not_turn_the_wheel_back)
{
    for (size_t k = 0; k < KINDS; k++) {
        struct evq *evq = queue_new(kinds[k].kind, 8);
        struct evq_event event;

        /* The wheel begins with 64 buckets of a picosecond: 163 is the last in reach from 100, but
         * not from 40, where its bucket would come before the one of 101. */
        cr_assert(evq_push(evq, (simtime){100}, 0, 0));
        cr_assert(evq_pop(evq, &event));
        cr_assert(evq_push(evq, (simtime){163}, 0, 0));
        cr_assert(evq_push(evq, (simtime){100}, 0, 0));
        cr_assert(evq_push(evq, (simtime){40}, 0, 0));
        cr_assert(evq_pop(evq, &event));
        cr_expect_eq(event.at.ps, 40, "%s", kinds[k].name);
        cr_assert(evq_push(evq, (simtime){101}, 0, 0));
        for (size_t i = 0; i < 3; i++) {
            static const int64_t expected[] = {100, 101, 163};

            cr_assert(evq_pop(evq, &event));
            cr_expect_eq(event.at.ps, expected[i], "%s, event %zu", kinds[k].name, i);
        }
        queue_free(evq);
    }
}

Test(evq, the_last_instant_is_an_instant_like_others)
{
    for (size_t k = 0; k < KINDS; k++) {
        struct evq *evq = queue_new(kinds[k].kind, 600);
        struct evq_event event;

        for (uint32_t i = 0; i < 600; i++)
            cr_assert(evq_push(evq, (simtime){INT64_MAX - i / 2}, 0, i));
        cr_expect_not(evq_pop_until(evq, (simtime){INT64_MAX - 300}, &event), "%s", kinds[k].name);
        for (uint32_t i = 0; i < 600; i++) {
            cr_assert(evq_pop(evq, &event));
            cr_assert_eq(event.at.ps, INT64_MAX - (599 - i) / 2, "%s, event %u", kinds[k].name, i);
        }
        queue_free(evq);
    }
}

Test(evq, pop_until_leaves_later_events_and_the_result_alone)
{
    for (size_t k = 0; k < KINDS; k++) {
        struct evq *evq = queue_new(kinds[k].kind, 4);
        struct evq_event event = {.arg = 77};

        cr_expect_not(evq_pop_until(evq, simtime_never(), &event));
        cr_assert(evq_push(evq, (simtime){10}, 3, 4));
        cr_expect_not(evq_pop_until(evq, (simtime){9}, &event));
        cr_expect_eq(event.arg, 77, "%s", kinds[k].name);
        cr_expect_eq(evq_count(evq), 1);
        cr_expect_eq(evq_next_time(evq).ps, 10);
        cr_expect(evq_pop_until(evq, (simtime){10}, &event));
        cr_expect_eq(event.kind, 3);
        cr_expect_eq(event.arg, 4);
        cr_expect_eq(evq_next_time(evq).ps, SIMTIME_NEVER_PS);
        queue_free(evq);
    }
}

Test(evq, holds_exactly_its_capacity)
{
    static const uint32_t capacities[] = {1, 2, 63, 64, 65, 1000};

    for (size_t k = 0; k < KINDS; k++) {
        for (size_t c = 0; c < sizeof capacities / sizeof capacities[0]; c++) {
            struct evq *evq = queue_new(kinds[k].kind, capacities[c]);
            struct evq_event event;

            /* Twice around, so that nodes given back are used again. */
            for (int round = 0; round < 2; round++) {
                for (uint32_t i = 0; i < capacities[c]; i++)
                    cr_assert(evq_push(evq, (simtime){i * 977 % 101}, 0, i));
                cr_expect_not(evq_push(evq, (simtime){0}, 0, 0), "%s of %u", kinds[k].name,
                              capacities[c]);
                cr_expect_eq(evq_count(evq), capacities[c]);
                while (evq_pop(evq, &event)) {
                }
            }
            queue_free(evq);
        }
    }
}

/* What a program of pushes and pops leaves behind. */
struct outcome {
    uint64_t hash;
    uint64_t popped;
};

/* Some phases of some length each, with times of one spread; everything from the seed. */
static void run_program(struct evq *evq, uint64_t seed, struct outcome *ret)
{
    struct draws draws = {.seed = seed};
    enum spread spread = (enum spread)(seed % SPREAD_COUNT);
    uint32_t phases = 2 + (uint32_t)(draw(&draws) % 4);
    simtime now = {0};
    struct evq_event event;

    for (uint32_t phase = 0; phase < phases; phase++) {
        uint32_t length = (uint32_t)(draw(&draws) % (seed % 50 ? 300 : 6000));
        uint64_t pushes_of_8 = 1 + draw(&draws) % 7;

        for (uint32_t i = 0; i < length; i++) {
            if (draw(&draws) % 8 < pushes_of_8) {
                cr_assert(evq_push(evq, draw_time(&draws, spread, now), phase, i));
            } else if (evq_pop(evq, &event)) {
                now = event.at.ps < SIMTIME_NEVER_PS / 2 ? event.at : (simtime){0};
                ret->hash = (ret->hash ^ (uint64_t)event.at.ps ^ event.seq << 20 ^ event.arg) *
                            UINT64_C(0x9e3779b97f4a7c15);
                ret->popped++;
            }
        }
    }
    while (evq_pop(evq, &event))
        ret->hash = (ret->hash ^ (uint64_t)event.at.ps ^ event.seq) * UINT64_C(0x9e3779b97f4a7c15);
}

Test(evq, both_kinds_agree_on_a_thousand_random_programs)
{
    uint64_t popped = 0;

    for (uint64_t seed = 0; seed < 1000; seed++) {
        struct outcome outcomes[KINDS] = {{0}};

        for (size_t k = 0; k < KINDS; k++) {
            struct evq *evq = queue_new(kinds[k].kind, 40000);

            run_program(evq, seed, &outcomes[k]);
            queue_free(evq);
        }
        cr_assert_eq(outcomes[0].hash, outcomes[1].hash, "seed %llu, %s", (unsigned long long)seed,
                     spread_names[seed % SPREAD_COUNT]);
        popped += outcomes[0].popped;
    }
    cr_expect_gt(popped, 100000, "the programs hardly pop anything");
}

/* Grows to `peak` pending events, holds, drains; true when times never went back. */
static bool rise_and_fall(struct evq *evq, uint32_t peak, enum spread spread)
{
    struct draws draws = {.seed = peak};
    struct evq_event event = {.at = {0}};
    simtime last = {INT64_MIN};
    uint64_t last_seq = 0;
    bool is_sorted = true;

    for (uint32_t i = 0; i < peak; i++)
        evq_push(evq, draw_time(&draws, spread, (simtime){0}), 0, i);
    for (uint32_t i = 0; evq_pop(evq, &event); i++) {
        is_sorted &= event.at.ps > last.ps || (event.at.ps == last.ps && event.seq > last_seq);
        last = event.at;
        last_seq = event.seq;
        if (i < 2 * peak)
            evq_push(evq, draw_time(&draws, spread, event.at), 0, i);
    }
    return is_sorted;
}

Test(evq, stays_in_order_while_it_grows_and_shrinks)
{
    static const uint32_t peaks[] = {1, 10, 100, 5000, 70000};
    static const enum spread spreads[] = {SPREAD_UNIFORM, SPREAD_TIES, SPREAD_BIMODAL,
                                          SPREAD_CLUSTERS};

    for (size_t p = 0; p < sizeof peaks / sizeof peaks[0]; p++) {
        struct evq *evq = queue_new(EVQ_CALENDAR, peaks[p]);

        /* The same queue again and again: it has to get over what it was tuned for before. */
        for (size_t s = 0; s < sizeof spreads / sizeof spreads[0]; s++)
            cr_expect(rise_and_fall(evq, peaks[p], spreads[s]), "%u events, %s", peaks[p],
                      spread_names[spreads[s]]);
        queue_free(evq);
    }
}

/* Pops and pushes `count` times on both; false when they differ. */
static bool hold_both(struct evq *const both[KINDS], uint32_t count, enum spread spread)
{
    struct draws draws = {.seed = count};
    struct evq_event a;
    struct evq_event b;

    for (uint32_t i = 0; i < count; i++) {
        if (!evq_pop(both[0], &a) || !evq_pop(both[1], &b) || !events_equal(&a, &b))
            return false;
        a.at = draw_time(&draws, spread, a.at);
        for (size_t k = 0; k < KINDS; k++)
            evq_push(both[k], a.at, a.kind, a.arg);
    }
    return true;
}

Test(evq, stays_in_order_when_the_spread_changes)
{
    /* Long enough for the calendar to narrow its buckets and to widen them again. */
    static const struct {
        enum spread spread;
        uint32_t count;
    } phases[] = {
        {SPREAD_CLUSTERS, 20000}, {SPREAD_UNIFORM, 40000}, {SPREAD_BIMODAL, 20000},
        {SPREAD_CLUSTERS, 20000}, {SPREAD_TIES, 20000},    {SPREAD_EXPONENTIAL, 20000},
    };
    struct evq *both[KINDS];

    for (size_t k = 0; k < KINDS; k++) {
        both[k] = queue_new(kinds[k].kind, 1000);
        for (uint32_t i = 0; i < 1000; i++)
            evq_push(both[k], (simtime){i % 10}, 0, i);
    }
    for (size_t p = 0; p < sizeof phases / sizeof phases[0]; p++)
        cr_expect(hold_both(both, phases[p].count, phases[p].spread), "phase %zu, %s", p,
                  spread_names[phases[p].spread]);
    for (size_t k = 0; k < KINDS; k++)
        queue_free(both[k]);
}

Test(evq, goes_on_at_another_address_in_the_middle_of_a_run)
{
    for (size_t k = 0; k < KINDS; k++) {
        size_t size = evq_mem_size(kinds[k].kind, 40000);
        struct evq *from = queue_new(kinds[k].kind, 40000);
        struct evq *to = aligned_alloc(64, size);
        struct draws draws = {.seed = 1};
        struct outcome stayed = {0};
        struct outcome moved = {0};
        struct evq_event event;

        for (uint32_t i = 0; i < 20000; i++)
            evq_push(from, draw_time(&draws, SPREAD_BIMODAL, (simtime){0}), 0, i);
        for (uint32_t i = 0; i < 10000; i++)
            evq_pop(from, &event);
        memcpy(to, from, size);
        run_program(from, 350, &stayed);
        memset(from, 0xa5, size);
        run_program(to, 350, &moved);
        cr_expect_eq(moved.hash, stayed.hash, "%s", kinds[k].name);
        cr_expect_gt(moved.popped, 100);
        queue_free(from);
        queue_free(to);
    }
}

Test(evq, stays_within_the_memory_that_it_asked_for)
{
    static const uint32_t capacities[] = {1, 31, 64, 1000, 4097};

    for (size_t k = 0; k < KINDS; k++) {
        for (size_t c = 0; c < sizeof capacities / sizeof capacities[0]; c++) {
            size_t size = evq_mem_size(kinds[k].kind, capacities[c]);
            unsigned char *mem = aligned_alloc(64, size + 64);
            unsigned char fence[64];

            memset(fence, 0x5a, sizeof fence);
            memset(mem + size, 0x5a, 64);
            cr_expect_eq(size % 64, 0);
            rise_and_fall(evq_init(mem, kinds[k].kind, capacities[c]), capacities[c],
                          SPREAD_UNIFORM);
            cr_expect_eq(memcmp(mem + size, fence, sizeof fence), 0, "%s of %u", kinds[k].name,
                         capacities[c]);
            free(mem);
        }
    }
}
