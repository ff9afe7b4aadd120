/* SPDX-License-Identifier: Apache-2.0 */
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include <criterion/criterion.h>

#include "sim/core/engine.h"
#include "tests/unit/core/support/program.h"

static struct engine *engine_new(enum evq_kind kind, uint32_t capacity)
{
    void *mem = aligned_alloc(64, engine_mem_size(kind, capacity));

    if (!mem)
        abort();
    return engine_init(mem, kind, capacity);
}

Test(engine, now_is_the_time_of_the_last_event)
{
    struct engine *engine = engine_new(EVQ_CALENDAR, 4);
    struct evq_event event;

    cr_expect_eq(engine_now(engine).ps, 0);
    cr_expect_eq(engine_next_time(engine).ps, SIMTIME_NEVER_PS);
    engine_push(engine, (simtime){700}, 1, 2);
    cr_expect_eq(engine_now(engine).ps, 0, "a push does not move time");
    cr_expect_not(engine_pop_until(engine, (simtime){699}, &event));
    cr_expect_eq(engine_now(engine).ps, 0, "nothing was due");
    cr_expect_eq(engine_pending(engine), 1);
    cr_expect(engine_pop_until(engine, (simtime){1000}, &event));
    cr_expect_eq(engine_now(engine).ps, 700, "not the limit");
    cr_expect_eq(engine_event_count(engine), 1);
    free(engine);
}

Test(engine, an_event_of_the_past_is_moved_to_now)
{
    struct engine *engine = engine_new(EVQ_CALENDAR, 4);
    struct evq_event event;

    engine_push(engine, (simtime){700}, 0, 0);
    cr_assert(engine_pop_until(engine, simtime_never(), &event));
    engine_push(engine, (simtime){700}, 0, 1);
    engine_push(engine, (simtime){10}, 0, 2);
    cr_assert(engine_pop_until(engine, simtime_never(), &event));
    cr_expect_eq(event.arg, 1, "moved to now, it is the younger of two");
    cr_assert(engine_pop_until(engine, simtime_never(), &event));
    cr_expect_eq(event.arg, 2);
    cr_expect_eq(event.at.ps, 700);
    free(engine);
}

Test(engine, time_advances_up_to_the_next_event)
{
    struct engine *engine = engine_new(EVQ_CALENDAR, 4);

    engine_advance(engine, (simtime){50});
    engine_push(engine, (simtime){80}, 0, 0);
    engine_advance(engine, (simtime){80});
    cr_expect_eq(engine_now(engine).ps, 80);
    cr_expect_eq(engine_pending(engine), 1, "the event is still to come");
    cr_expect_eq(engine_event_count(engine), 0);
    free(engine);
}

Test(engine, a_push_past_the_capacity_is_a_bug_and_aborts, .signal = SIGABRT)
{
    struct engine *engine = engine_new(EVQ_CALENDAR, 1);

    engine_push(engine, (simtime){1}, 0, 0);
    engine_push(engine, (simtime){1}, 0, 0);
}

/* Runs a self-feeding model; the digest is what it did. */
static uint64_t run_model(struct engine *engine, uint64_t seed)
{
    struct draws draws = {.seed = seed};
    enum spread spread = (enum spread)(seed % SPREAD_FAR);
    uint32_t start = 1 + (uint32_t)(draw(&draws) % 500);
    struct evq_event event;

    for (uint32_t i = 0; i < start; i++)
        engine_push(engine, draw_time(&draws, spread, (simtime){0}), 0, i);
    for (uint32_t i = 0; i < 2000 && engine_pop_until(engine, simtime_never(), &event); i++)
        engine_push(engine, draw_time(&draws, spread, event.at), event.kind + 1, event.arg);
    return engine_digest(engine);
}

Test(engine, the_digest_does_not_depend_on_the_kind_of_queue)
{
    for (uint64_t seed = 0; seed < 200; seed++) {
        struct engine *calendar = engine_new(EVQ_CALENDAR, 600);
        struct engine *heap = engine_new(EVQ_HEAP, 600);

        cr_assert_eq(run_model(calendar, seed), run_model(heap, seed), "seed %llu",
                     (unsigned long long)seed);
        cr_assert_eq(engine_event_count(calendar), 2000);
        free(calendar);
        free(heap);
    }
}

Test(engine, the_digest_sees_time_kind_argument_and_order)
{
    static const struct {
        const char *name;
        struct evq_event first, second;
    } rows[] = {
        {"as it is", {.at = {10}, .kind = 1, .arg = 2}, {.at = {20}, .kind = 3, .arg = 4}},
        {"time", {.at = {11}, .kind = 1, .arg = 2}, {.at = {20}, .kind = 3, .arg = 4}},
        {"kind", {.at = {10}, .kind = 5, .arg = 2}, {.at = {20}, .kind = 3, .arg = 4}},
        {"argument", {.at = {10}, .kind = 1, .arg = 6}, {.at = {20}, .kind = 3, .arg = 4}},
        {"kind for argument", {.at = {10}, .kind = 2, .arg = 1}, {.at = {20}, .kind = 3, .arg = 4}},
        {"times swapped", {.at = {20}, .kind = 1, .arg = 2}, {.at = {10}, .kind = 3, .arg = 4}},
        {"one tie", {.at = {10}, .kind = 1, .arg = 2}, {.at = {10}, .kind = 3, .arg = 4}},
        {"the other", {.at = {10}, .kind = 3, .arg = 4}, {.at = {10}, .kind = 1, .arg = 2}},
    };
    uint64_t digests[sizeof rows / sizeof rows[0]];

    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct engine *engine = engine_new(EVQ_HEAP, 2);
        struct evq_event event;

        engine_push(engine, rows[i].first.at, rows[i].first.kind, rows[i].first.arg);
        engine_push(engine, rows[i].second.at, rows[i].second.kind, rows[i].second.arg);
        while (engine_pop_until(engine, simtime_never(), &event)) {
        }
        digests[i] = engine_digest(engine);
        free(engine);
        for (size_t k = 0; k < i; k++)
            cr_expect_neq(digests[i], digests[k], "'%s' and '%s'", rows[i].name, rows[k].name);
    }
}

Test(engine, goes_on_at_another_address)
{
    size_t size = engine_mem_size(EVQ_CALENDAR, 2000);
    struct engine *from = engine_new(EVQ_CALENDAR, 2000);
    struct engine *to = aligned_alloc(64, size);

    run_model(from, 4);
    memcpy(to, from, size);

    uint64_t expected = run_model(from, 9);

    memset(from, 0xa5, size);
    cr_expect_eq(run_model(to, 9), expected);
    free(from);
    free(to);
}
