/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>

#include <criterion/criterion.h>

#include "sim/base/rng.h"
#include "sim/plan/check.h"
#include "tests/unit/support/findings.h"
#include "tests/unit/support/testbed.h"

static const char *const ultra = "mac-studio-m3-ultra";

static void set_macos(struct testbed *bed, const char *version, const struct macos_model *profile)
{
    for (size_t i = 0; i < bed->cluster.host_count; i++) {
        bed->cluster.hosts[i].macos = version;
        bed->cluster.hosts[i].macos_profile = profile;
        bed->cluster.hosts[i].is_rdma_enabled = profile->has_rdma;
    }
}

static struct check_result check_bed(struct testbed *bed)
{
    struct check_result result;

    check_cluster(&(struct check_input){.cluster = &bed->cluster}, &result);
    return result;
}

/* Macs of whom the fix takes the bridge away. */
static size_t count_cuts(const struct check_result *result, const struct testbed *bed)
{
    const struct finding *finding = finding_of(result, "bridge-loop");
    size_t count = 0;

    for (size_t i = 0; finding && i < bed->cluster.host_count; i++) {
        char line[64];

        (void)snprintf(line, sizeof line, "%s$ sudo ifconfig bridge0 destroy",
                       bed->cluster.hosts[i].name);
        count += says(finding, line);
    }
    return count;
}

static void mesh_init(struct testbed *bed, uint32_t count)
{
    testbed_init(bed);
    testbed_add_many(bed, "m", testbed_model(ultra), count);
    testbed_mesh(bed);
    testbed_bridge_all(bed);
}

Test(check_bridge, a_ring_of_three_is_one_loop_and_one_mac_cures_it)
{
    static const struct {
        const char *version;
        size_t profile;
        enum check_severity severity;
    } rows[] = {{"15.3.1", 0, CHECK_ERROR}, {"26.3", 2, CHECK_WARNING}};

    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct testbed bed;

        mesh_init(&bed, 3);
        set_macos(&bed, rows[i].version, &testbed_macos[rows[i].profile]);

        struct check_result result = check_bed(&bed);
        const struct finding *finding = finding_of(&result, "bridge-loop");

        cr_assert(finding);
        cr_expect_eq(finding->severity, rows[i].severity, "%s", rows[i].version);
        cr_expect_str_eq(finding->where, "m1, m2, m3");
        cr_expect(says(finding, "1 independent loop of"), "%s", finding->why);
        cr_expect(says(finding, "m2 - m1 - m3 - m2"), "%s", finding->why);
        cr_expect(says(finding, "80,000 packets"), "%s", finding->why);
        cr_expect(says(finding, "stayed inactive instead"), "%s", finding->why);
        cr_expect(says(finding, "unplug m2:2 - m3:2"), "%s", finding->fix);
        cr_expect_eq(count_cuts(&result, &bed), 1);
        check_result_done(&result);
        testbed_done(&bed);
    }
}

/* A mesh of n has n(n-1)/2 - (n-1) independent loops, and n - 2 Macs have to leave the bridge. */
Test(check_bridge, a_mesh_has_as_many_loops_and_cuts_as_theory_says)
{
    for (uint32_t n = 3; n <= 7; n++) {
        struct testbed bed;
        char piece[64];

        mesh_init(&bed, n);

        struct check_result result = check_bed(&bed);
        size_t loops = n * (n - 1) / 2 - (n - 1);

        (void)snprintf(piece, sizeof piece, "%zu independent loop%s of", loops,
                       loops == 1 ? "" : "s");
        cr_expect(says(finding_of(&result, "bridge-loop"), piece), "%s: %s", piece,
                  finding_of(&result, "bridge-loop")->why);
        cr_expect_eq(count_cuts(&result, &bed), n - 2, "mesh of %u", n);
        cr_expect_eq(finding_count(&result, "bridge-loop"), 1);
        check_result_done(&result);
        testbed_done(&bed);
    }
}

Test(check_bridge, two_parallel_cables_report_the_conflict_and_stay_a_warning)
{
    static const struct {
        const char *version;
        size_t profile;
    } rows[] = {{"15.3.1", 0}, {"26.3", 2}};

    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct testbed bed;

        testbed_init(&bed);
        testbed_add_many(&bed, "m", testbed_model(ultra), 2);
        testbed_cable(&bed, 0, 2, 1, 2);
        testbed_cable(&bed, 0, 3, 1, 3);
        testbed_bridge_all(&bed);
        set_macos(&bed, rows[i].version, &testbed_macos[rows[i].profile]);

        struct check_result result = check_bed(&bed);
        const struct finding *finding = finding_of(&result, "bridge-loop");

        cr_assert(finding, "%s", rows[i].version);
        cr_expect_eq(finding->severity, CHECK_WARNING);
        cr_expect_str_eq(finding->where, "cable m1:3 - m2:3");
        cr_expect(says(finding, "sources disagree"), "%s", finding->why);
        cr_expect(says(finding, "exo PR 1222"), "%s", finding->why);
        cr_expect(says(finding, "m1$ sudo ifconfig bridge0 destroy"), "%s", finding->fix);
        check_result_done(&result);
        testbed_done(&bed);
    }
}

Test(check_bridge, what_is_not_bridged_or_not_closed_is_no_loop)
{
    static const struct {
        const char *name;
        bool in_bridge, third_cable, one_member_less;
        bool is_loop;
    } rows[] = {
        {"a closed bridged ring", true, true, false, true},
        {"a ring outside the bridge", false, true, false, false},
        {"a bridged chain", true, false, false, false},
        {"one port taken out of the bridge", true, true, true, false},
    };

    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct testbed bed;

        testbed_init(&bed);
        testbed_add_many(&bed, "m", testbed_model(ultra), 3);
        testbed_cable(&bed, 0, 2, 1, 2);
        testbed_cable(&bed, 1, 3, 2, 2);
        if (rows[i].third_cable)
            testbed_cable(&bed, 2, 3, 0, 3);
        if (rows[i].in_bridge)
            testbed_bridge_all(&bed);
        if (rows[i].one_member_less)
            bed.cluster.hosts[1].ports[1].is_bridge_member = false;

        struct check_result result = check_bed(&bed);

        cr_expect_eq(finding_of(&result, "bridge-loop") != NULL, rows[i].is_loop, "%s",
                     rows[i].name);
        check_result_done(&result);
        testbed_done(&bed);
    }
}

Test(check_bridge, a_loop_through_a_hub_counts_and_a_star_on_it_does_not)
{
    for (uint32_t direct = 0; direct <= 1; direct++) {
        struct testbed bed;

        testbed_init(&bed);
        testbed_add_many(&bed, "m", testbed_model(ultra), 2);
        testbed_add(&bed, "hub", "tb5-hub");
        testbed_cable(&bed, 0, 2, 2, 1);
        testbed_cable(&bed, 1, 2, 2, 2);
        if (direct)
            testbed_cable(&bed, 0, 3, 1, 3);
        testbed_bridge_all(&bed);

        struct check_result result = check_bed(&bed);

        cr_expect_eq(finding_of(&result, "bridge-loop") != NULL, direct == 1);
        check_result_done(&result);
        testbed_done(&bed);
    }
}

Test(check_bridge, two_separate_rings_are_two_findings)
{
    struct testbed bed;

    testbed_init(&bed);
    testbed_add_many(&bed, "m", testbed_model(ultra), 6);
    for (uint32_t i = 0; i < 6; i++)
        testbed_cable(&bed, i, 2, i / 3 * 3 + (i + 1) % 3, 3);
    testbed_bridge_all(&bed);

    struct check_result result = check_bed(&bed);

    cr_expect_eq(finding_count(&result, "bridge-loop"), 2);
    cr_expect_str_eq(finding_nth(&result, "bridge-loop", 0)->where, "m1, m2, m3");
    cr_expect_str_eq(finding_nth(&result, "bridge-loop", 1)->where, "m4, m5, m6");
    check_result_done(&result);
    testbed_done(&bed);
}

Test(check_bridge, a_large_ring_is_cut_too_although_not_by_trying_every_set)
{
    struct testbed bed;

    testbed_init(&bed);
    testbed_add_many(&bed, "m", testbed_model(ultra), 16);
    for (uint32_t i = 0; i < 16; i++)
        testbed_cable(&bed, i, 2, (i + 1) % 16, 3);
    testbed_bridge_all(&bed);

    struct check_result result = check_bed(&bed);

    cr_expect_eq(count_cuts(&result, &bed), 1);
    cr_expect(says(finding_of(&result, "bridge-loop"), "# a cure of all loops"));
    check_result_done(&result);
    testbed_done(&bed);
}

Test(check_bridge, a_lost_default_route_is_told_from_a_storm)
{
    struct testbed bed;

    testbed_init(&bed);
    testbed_add_many(&bed, "m", testbed_model(ultra), 2);
    testbed_add(&bed, "pc", "mac-mini-m4");
    testbed_cable(&bed, 0, 2, 1, 2);
    testbed_cable(&bed, 0, 7, 2, 4); /* Ethernet */
    testbed_bridge_all(&bed);

    struct check_result result = check_bed(&bed);
    const struct finding *finding = finding_of(&result, "bridge-default-route");

    cr_assert(finding);
    cr_expect_str_eq(finding->where, "m1", "m2 is on no LAN");
    cr_expect(says(finding, "that is no storm"));
    cr_expect(says(finding, "-setmanual") && says(finding, "-ordernetworkservices"));
    cr_expect_not(finding_of(&result, "bridge-loop"));
    check_result_done(&result);
    testbed_done(&bed);
}

Test(check_bridge, many_paths_between_two_macs_are_a_conflict_of_names_and_no_loop)
{
    struct testbed bed;

    testbed_init(&bed);
    testbed_add_many(&bed, "m", testbed_model(ultra), 2);
    for (uint32_t port = 2; port <= 4; port++)
        testbed_cable(&bed, 0, port, 1, port);

    struct check_result result = check_bed(&bed);

    cr_expect_not(finding_of(&result, "multi-path"), "three paths");
    check_result_done(&result);
    testbed_cable(&bed, 0, 7, 1, 7);
    result = check_bed(&bed);

    const struct finding *finding = finding_of(&result, "multi-path");

    cr_assert(finding, "four paths, one of them Ethernet");
    cr_expect(says(finding, "not a bridge loop"));
    cr_expect(says(finding, "m1$ sudo ifconfig en4 down") &&
              says(finding, "m1$ sudo ifconfig en5 down"));
    cr_expect_not(says(finding, "ifconfig en3 down"), "one cable stays up");
    cr_expect_not(finding_of(&result, "bridge-loop"));
    check_result_done(&result);
    testbed_done(&bed);
}

/* Leaves fall off until nothing does: what is left has a cycle. Independent of the union-find. */
static bool mask_leaves_cycle(const struct cluster *cluster, uint32_t cut)
{
    size_t degree[TESTBED_HOSTS] = {0};
    bool is_gone[TESTBED_CABLES] = {false};
    bool has_changed = true;

    for (size_t e = 0; e < cluster->cable_count; e++) {
        const struct cluster_cable *c = &cluster->cables[e];

        is_gone[e] = (cut >> c->a.host.ix & 1) || (cut >> c->b.host.ix & 1);
        degree[c->a.host.ix] += !is_gone[e];
        degree[c->b.host.ix] += !is_gone[e];
    }
    while (has_changed) {
        has_changed = false;
        for (size_t e = 0; e < cluster->cable_count; e++) {
            const struct cluster_cable *c = &cluster->cables[e];

            if (is_gone[e] || (degree[c->a.host.ix] > 1 && degree[c->b.host.ix] > 1))
                continue;
            is_gone[e] = has_changed = true;
            degree[c->a.host.ix]--;
            degree[c->b.host.ix]--;
        }
    }
    for (size_t e = 0; e < cluster->cable_count; e++) {
        if (!is_gone[e])
            return true;
    }
    return false;
}

static size_t least_cuts(const struct cluster *cluster)
{
    size_t least = cluster->host_count;

    for (uint32_t mask = 0; mask < (uint32_t)1 << cluster->host_count; mask++) {
        size_t size = 0;

        for (uint32_t m = mask; m; m &= m - 1)
            size++;
        if (size < least && !mask_leaves_cycle(cluster, mask))
            least = size;
    }
    return least;
}

/* All findings of one component share one fix, so the Macs of distinct fixes add up. */
static size_t count_all_cuts(const struct check_result *result, const struct testbed *bed)
{
    size_t count = 0;

    for (size_t h = 0; h < bed->cluster.host_count; h++) {
        char line[64];
        bool is_cut = false;

        (void)snprintf(line, sizeof line, "%s$ sudo ifconfig bridge0 destroy",
                       bed->cluster.hosts[h].name);
        for (size_t i = 0; i < result->finding_count; i++)
            is_cut = is_cut || (strcmp(result->findings[i].id, "bridge-loop") == 0 &&
                                says(&result->findings[i], line));
        count += is_cut;
    }
    return count;
}

Test(check_bridge, the_cure_is_the_least_one_on_random_cablings)
{
    struct rng rng;

    rng_init(&rng, 1, 0);
    for (uint32_t round = 0; round < 300; round++) {
        struct testbed bed;

        testbed_init(&bed);
        testbed_add_many(&bed, "m", testbed_model(ultra), 6);
        for (uint32_t k = 0; k < 4 + round % 9; k++) {
            uint32_t a = (uint32_t)rng_below(&rng, 6);
            uint32_t b = (a + 1 + (uint32_t)rng_below(&rng, 5)) % 6;

            if (testbed_free_port(&bed, a) && testbed_free_port(&bed, b))
                testbed_cable(&bed, a, testbed_free_port(&bed, a), b, testbed_free_port(&bed, b));
        }
        testbed_bridge_all(&bed);

        struct check_result result = check_bed(&bed);

        cr_expect_eq(count_all_cuts(&result, &bed), least_cuts(&bed.cluster), "round %u", round);
        check_result_done(&result);
        testbed_done(&bed);
    }
}
