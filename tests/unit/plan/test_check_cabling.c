/* SPDX-License-Identifier: Apache-2.0 */
#include <criterion/criterion.h>

#include "sim/plan/check.h"
#include "tests/unit/support/findings.h"
#include "tests/unit/support/testbed.h"

static const host_id in_order[] = {{0}, {1}, {2}, {3}, {4}, {5}};

static struct check_result check_item(struct testbed *bed, enum run_library library,
                                      const host_id *nodes, size_t count, uint32_t wires)
{
    const struct run_item item = {.op = RUN_ALL_REDUCE,
                                  .library = library,
                                  .nodes = nodes,
                                  .node_count = count,
                                  .wires = wires};
    struct check_result result;

    check_cluster(&(struct check_input){.cluster = &bed->cluster, .items = &item, .item_count = 1},
                  &result);
    return result;
}

static void ring_init(struct testbed *bed, uint32_t count)
{
    testbed_init(bed);
    testbed_add_many(bed, "m", testbed_model("mac-mini-m4-pro"), count);
    for (uint32_t i = 0; i < count; i++)
        testbed_cable(bed, i, 1, (i + 1) % count, 2);
}

Test(check_cabling, a_full_mesh_of_four_satisfies_the_mesh_and_the_ring)
{
    static const enum run_library libraries[] = {LIBRARY_JACCL_MESH, LIBRARY_JACCL_RING,
                                                 LIBRARY_TCP_RING, LIBRARY_RECURSIVE_DOUBLING};

    for (size_t i = 0; i < sizeof libraries / sizeof libraries[0]; i++) {
        struct testbed bed;

        testbed_init(&bed);
        testbed_add_many(&bed, "m", testbed_model("mac-mini-m4-pro"), 4);
        cr_assert(testbed_mesh(&bed));

        struct check_result result = check_item(&bed, libraries[i], in_order, 4, 0);

        cr_expect_eq(result.finding_count, 0, "%s: %s", run_library_name(libraries[i]),
                     result.finding_count ? result.findings[0].id : "");
        cr_expect_eq(result.cables, 6);
        check_result_done(&result);
        testbed_done(&bed);
    }
}

Test(check_cabling, a_mesh_over_a_ring_names_the_pairs_and_offers_the_ring)
{
    struct testbed bed;

    ring_init(&bed, 4);

    struct check_result result = check_item(&bed, LIBRARY_JACCL_MESH, in_order, 4, 0);
    const struct finding *finding = finding_of(&result, "mesh-incomplete");

    cr_assert(finding);
    cr_expect_str_eq(finding->where, "m1 - m3; m2 - m4");
    cr_expect(says(finding, "each of its 6 pairs"), "%s", finding->why);
    cr_expect(says(finding, "plug a cable: m1 port 3 (en4, rear right) - m3 port 3"), "%s",
              finding->fix);
    cr_expect(says(finding, "a ring, which these cables allow in the order m1, m2, m3, m4"), "%s",
              finding->fix);
    cr_expect_str_eq(result.binding, "mesh-incomplete");
    check_result_done(&result);
    testbed_done(&bed);
}

Test(check_cabling, a_ring_in_the_wrong_order_is_offered_the_right_one)
{
    static const host_id crossed[] = {{0}, {2}, {1}, {3}};
    struct testbed bed;

    ring_init(&bed, 4);

    struct check_result result = check_item(&bed, LIBRARY_JACCL_RING, crossed, 4, 1);
    const struct finding *finding = finding_of(&result, "ring-incomplete");

    cr_assert(finding);
    cr_expect_str_eq(finding->where, "m1 - m3; m2 - m4");
    cr_expect(says(finding, "in the order in which they are cabled: m1, m2, m3, m4"), "%s",
              finding->fix);
    check_result_done(&result);

    result = check_item(&bed, LIBRARY_JACCL_RING, in_order, 4, 1);
    cr_expect(result.is_feasible);
    check_result_done(&result);
    testbed_done(&bed);
}

Test(check_cabling, a_chain_is_no_ring_and_no_order_makes_it_one)
{
    struct testbed bed;

    testbed_init(&bed);
    testbed_add_many(&bed, "m", testbed_model("mac-mini-m4-pro"), 3);
    testbed_cable(&bed, 0, 1, 1, 1);
    testbed_cable(&bed, 1, 2, 2, 1);

    struct check_result result = check_item(&bed, LIBRARY_JACCL_RING, in_order, 3, 1);
    const struct finding *finding = finding_of(&result, "ring-incomplete");

    cr_assert(finding);
    cr_expect_str_eq(finding->where, "m3 - m1");
    cr_expect_not(says(finding, "list the ranks"), "%s", finding->fix);
    check_result_done(&result);

    check_cluster(&(struct check_input){.cluster = &bed.cluster}, &result);
    cr_assert(finding_of(&result, "not-mesh-nor-ring"),
              "nothing asked, and neither shape is there");
    cr_expect_eq(finding_of(&result, "not-mesh-nor-ring")->severity, CHECK_WARNING);
    check_result_done(&result);
    testbed_done(&bed);
}

Test(check_cabling, a_bare_ring_is_only_noted)
{
    struct testbed bed;
    struct check_result result;

    ring_init(&bed, 5);
    check_cluster(&(struct check_input){.cluster = &bed.cluster}, &result);
    cr_expect(result.is_feasible);
    cr_expect_eq(result.finding_count, 1);
    cr_expect(says(finding_of(&result, "ring-only"), "in the order m1, m2, m3, m4, m5"));
    check_result_done(&result);
    testbed_done(&bed);
}

Test(check_cabling, a_stream_needs_one_path_and_a_forwarded_message_none)
{
    static const struct {
        enum run_op op;
        uint32_t to;
        bool has_finding;
    } rows[] = {
        {RUN_STREAM, 1, false},
        {RUN_STREAM, 2, true},
        {RUN_PING_PONG, 2, true},
        {RUN_SEND_RECV, 2, false},
    };

    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct testbed bed;
        struct check_result result;
        const struct run_item item = {.op = rows[i].op,
                                      .library = LIBRARY_VERBS,
                                      .nodes = in_order,
                                      .node_count = 3,
                                      .from = 0,
                                      .to = rows[i].to};

        testbed_init(&bed);
        testbed_add_many(&bed, "m", testbed_model("mac-mini-m4-pro"), 3);
        testbed_cable(&bed, 0, 1, 1, 1);
        testbed_cable(&bed, 1, 2, 2, 1);
        check_cluster(
            &(struct check_input){.cluster = &bed.cluster, .items = &item, .item_count = 1},
            &result);
        cr_expect_eq(finding_of(&result, "no-path") != NULL, rows[i].has_finding, "%s to %u",
                     run_op_name(rows[i].op), rows[i].to);
        check_result_done(&result);
        testbed_done(&bed);
    }
}

Test(check_cabling, ethernet_joins_a_tcp_ring_but_not_a_mesh_of_rdma)
{
    struct testbed bed;

    testbed_init(&bed);
    testbed_add_many(&bed, "m", testbed_model("mac-mini-m4-pro"), 2);
    testbed_cable(&bed, 0, 4, 1, 4);

    struct check_result result = check_item(&bed, LIBRARY_TCP_RING, in_order, 2, 0);

    cr_expect_eq(result.finding_count, 0);
    check_result_done(&result);
    result = check_item(&bed, LIBRARY_JACCL_MESH, in_order, 2, 0);
    cr_expect_str_eq(result.binding, "mesh-incomplete");
    check_result_done(&result);
    testbed_done(&bed);
}

/* Two cables between m1 and m2, `more` between all other neighbours. */
static void rails_init(struct testbed *bed, uint32_t first, uint32_t others)
{
    testbed_init(bed);
    testbed_add_many(bed, "m", testbed_model("mac-studio-m3-ultra"), 3);
    for (uint32_t i = 0; i < 3; i++) {
        for (uint32_t k = 0; k < (i == 0 ? first : others); k++)
            testbed_cable(bed, i, testbed_free_port(bed, i), (i + 1) % 3,
                          testbed_free_port(bed, (i + 1) % 3));
    }
}

Test(check_cabling, unequal_rails_are_cut_to_the_common_minimum)
{
    static const struct {
        const char *name;
        uint32_t first, others, wires;
        const char *id; /* NULL: no finding */
        enum check_severity severity;
    } rows[] = {
        {"equal", 2, 2, 0, NULL, CHECK_NOTE},
        {"unequal, as many as there are", 3, 2, 0, "unequal-rails", CHECK_WARNING},
        {"unequal, the minimum asked", 3, 2, 2, NULL, CHECK_NOTE},
        {"unequal, more asked than the least", 3, 2, 3, "unequal-rails", CHECK_ERROR},
    };

    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct testbed bed;

        rails_init(&bed, rows[i].first, rows[i].others);

        struct check_result result =
            check_item(&bed, LIBRARY_JACCL_RING, in_order, 3, rows[i].wires);
        const struct finding *finding = finding_of(&result, "unequal-rails");

        cr_expect_eq(finding != NULL, rows[i].id != NULL, "%s", rows[i].name);
        if (finding) {
            cr_expect_eq(finding->severity, rows[i].severity, "%s", rows[i].name);
            cr_expect(says(finding, "m2 - m3 has 2 cables"), "%s", finding->why);
            cr_expect(says(finding, "m1 - m2 has 3 cables"), "%s", finding->why);
        }
        check_result_done(&result);
        testbed_done(&bed);
    }
}

Test(check_cabling, jaccl_takes_four_wires_and_no_more)
{
    static const struct {
        uint32_t cables, wires;
        size_t findings;
        enum check_severity severity;
    } rows[] = {
        {4, 4, 0, CHECK_NOTE},
        {5, 5, 1, CHECK_ERROR},
        {5, 0, 1, CHECK_WARNING},
        {5, 4, 0, CHECK_NOTE},
    };

    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct testbed bed;

        testbed_init(&bed);
        testbed_add_many(&bed, "m", testbed_model("mac-studio-m3-ultra"), 2);
        for (uint32_t k = 1; k <= rows[i].cables; k++)
            testbed_cable(&bed, 0, k, 1, k);

        struct check_result result =
            check_item(&bed, LIBRARY_JACCL_RING, in_order, 2, rows[i].wires);

        cr_expect_eq(finding_count(&result, "jaccl-wires-cap"), rows[i].findings, "row %zu", i);
        if (rows[i].findings)
            cr_expect_eq(finding_of(&result, "jaccl-wires-cap")->severity, rows[i].severity);
        check_result_done(&result);
        testbed_done(&bed);
    }
}

Test(check_cabling, cables_of_two_speeds_are_noted_with_both)
{
    struct testbed bed;
    struct check_result result;

    ring_init(&bed, 3);
    bed.cluster.cables[1].rate_ab = GBPS(120);
    bed.cluster.cables[1].rate_ba = GBPS(40);
    check_cluster(&(struct check_input){.cluster = &bed.cluster}, &result);
    cr_expect(says(finding_of(&result, "mixed-speed"), "80 Gb/s"));
    cr_expect(says(finding_of(&result, "mixed-speed"), "120 Gb/s"));
    check_result_done(&result);
    testbed_done(&bed);
}

Test(check_cabling, a_ring_of_nine_is_fine_where_a_mesh_of_nine_is_not)
{
    static const host_id nodes[] = {{0}, {1}, {2}, {3}, {4}, {5}, {6}, {7}, {8}};
    struct testbed bed;

    ring_init(&bed, 9);

    struct check_result result = check_item(&bed, LIBRARY_JACCL_RING, nodes, 9, 1);

    cr_expect(result.is_feasible, "%s", result.binding);
    check_result_done(&result);
    result = check_item(&bed, LIBRARY_JACCL_MESH, nodes, 9, 1);
    cr_expect_str_eq(result.binding, "port-count");
    cr_expect(finding_of(&result, "jaccl-mesh-cap"));
    cr_expect_not(finding_of(&result, "mesh-incomplete"), "no list of cables without ports");
    check_result_done(&result);
    testbed_done(&bed);
}

Test(check_cabling, a_long_list_of_missing_cables_is_cut_and_counted)
{
    struct testbed bed;

    testbed_init(&bed);
    testbed_add_many(&bed, "m", testbed_model("mac-studio-m3-ultra"), 6);
    testbed_cable(&bed, 0, 1, 1, 1);

    struct check_result result = check_item(&bed, LIBRARY_JACCL_MESH, in_order, 6, 0);

    cr_expect(says(finding_of(&result, "mesh-incomplete"), "14 have none"));
    cr_expect(says(finding_of(&result, "mesh-incomplete"), "m4 - m5; and 2 more"), "%s",
              finding_of(&result, "mesh-incomplete")->why);
    check_result_done(&result);
    testbed_done(&bed);
}
