/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include <criterion/criterion.h>

#include "sim/report/series.h"

static struct run_item item(enum run_op op, enum run_library library)
{
    return (struct run_item){.op = op, .library = library, .node_count = 4, .repeat = 1};
}

static void expect_names(const struct run_item *items, size_t count, const char *const *names)
{
    struct arena arena;
    const char **got;

    arena_init(&arena);
    got = series_names(items, count, &arena);
    for (size_t i = 0; i < count; i++)
        cr_expect_str_eq(got[i], names[i], "%s", got[i]);
    arena_done(&arena);
}

Test(series, the_library_is_enough_where_all_operations_are_the_same)
{
    const struct run_item items[] = {item(RUN_ALL_REDUCE, LIBRARY_JACCL_MESH),
                                     item(RUN_ALL_REDUCE, LIBRARY_TCP_RING)};

    expect_names(items, 2, (const char *[]){"jaccl-mesh", "tcp-ring"});
    expect_names(items, 1, (const char *[]){"jaccl-mesh"});
    expect_names(items, 0, NULL);
}

Test(series, the_operation_stands_first_where_there_are_several)
{
    const struct run_item items[] = {item(RUN_ALL_REDUCE, LIBRARY_RING),
                                     item(RUN_BARRIER, LIBRARY_RING)};

    expect_names(items, 2, (const char *[]){"all_reduce ring", "barrier ring"});
}

Test(series, only_what_differs_is_named)
{
    struct run_item items[3];

    for (size_t i = 0; i < 3; i++)
        items[i] = item(RUN_ALL_REDUCE, LIBRARY_JACCL_RING);
    items[1].handoff = HANDOFF_FAST;
    items[2].handoff = HANDOFF_FAST;
    items[2].wires = 2;
    expect_names(items, 3,
                 (const char *[]){"jaccl-ring, all cables, handoff none",
                                  "jaccl-ring, all cables, handoff fast",
                                  "jaccl-ring, 2 cables, handoff fast"});
}

Test(series, equal_items_are_numbered)
{
    const struct run_item items[] = {item(RUN_BARRIER, LIBRARY_RING),
                                     item(RUN_BARRIER, LIBRARY_RING),
                                     item(RUN_BARRIER, LIBRARY_RING)};

    expect_names(items, 3, (const char *[]){"ring", "ring (2)", "ring (3)"});
}

/* Each attribute in which two items can differ makes their names differ, by words and not by
 * numbers. */
Test(series, every_attribute_tells_two_items_apart)
{
    struct run_item changed[18];

    for (size_t i = 0; i < 18; i++)
        changed[i] = item(RUN_STREAM, LIBRARY_VERBS);
    changed[0].jaccl = JACCL_LATEST;
    changed[1].node_count = 3;
    changed[2].to = 2;
    changed[3].wires = 1;
    changed[4].handoff = HANDOFF_SLOW;
    changed[5].dtype = DTYPE_F64;
    changed[6].chunk.bytes = 4096;
    changed[7].depth = 3;
    changed[8].count = 9;
    changed[9].root = 1;
    changed[10].is_duplex = true;
    changed[11].is_round_trip = true;
    changed[12].is_cold = true;
    changed[13].reduction = REDUCTION_MAX;
    changed[14].has_gpu_copy = true;
    changed[15].has_storage = true;
    changed[16].receiver_check.bps = 8000000000;
    changed[17].send_completion = FABRIC_SEND_WHEN_QUEUED;
    for (size_t i = 0; i < 18; i++) {
        const struct run_item pair[] = {item(RUN_STREAM, LIBRARY_VERBS), changed[i]};
        struct arena arena;
        const char **names;

        arena_init(&arena);
        names = series_names(pair, 2, &arena);
        cr_expect_str_neq(names[0], names[1]);
        cr_expect(strncmp(names[0], "verbs, ", 7) == 0, "%s", names[0]);
        cr_expect(strncmp(names[1], "verbs, ", 7) == 0, "%s", names[1]);
        cr_expect_not(strchr(names[1], '('), "%s", names[1]);
        arena_done(&arena);
    }
}
