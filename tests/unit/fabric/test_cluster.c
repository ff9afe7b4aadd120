/* SPDX-License-Identifier: Apache-2.0 */
#include <criterion/criterion.h>

#include "sim/fabric/cluster.h"
#include "tests/unit/support/testbed.h"

Test(cluster, finds_hosts_by_name_and_says_none_otherwise)
{
    struct testbed bed;

    testbed_init(&bed);
    testbed_add(&bed, "a", "mac-mini-m4-pro");
    testbed_add(&bed, "ab", "mac-mini-m4-pro");
    cr_expect_eq(cluster_find_host(&bed.cluster, "a").ix, 0);
    cr_expect_eq(cluster_find_host(&bed.cluster, "ab").ix, 1);
    cr_expect_eq(cluster_find_host(&bed.cluster, "b").ix, ID_NONE);
    cr_expect_eq(cluster_find_host(&bed.cluster, "").ix, ID_NONE);
    testbed_done(&bed);
}

Test(cluster, a_peer_is_the_other_end_from_both_sides)
{
    struct testbed bed;

    testbed_init(&bed);
    testbed_add_many(&bed, "m", testbed_model("mac-mini-m4-pro"), 2);

    const struct cluster_cable *cable = testbed_cable(&bed, 0, 3, 1, 1);

    cr_expect_eq(cluster_peer(cable, (host_id){0}).host.ix, 1);
    cr_expect_eq(cluster_peer(cable, (host_id){0}).port, 0);
    cr_expect_eq(cluster_peer(cable, (host_id){1}).host.ix, 0);
    cr_expect_eq(cluster_peer(cable, (host_id){1}).port, 2);
    testbed_done(&bed);
}

Test(cluster, counts_the_cables_of_a_pair_and_not_those_over_a_hub)
{
    struct testbed bed;

    testbed_init(&bed);
    testbed_add_many(&bed, "m", testbed_model("mac-mini-m4-pro"), 2);
    testbed_add(&bed, "hub", "tb5-hub");
    testbed_cable(&bed, 0, 1, 1, 1);
    testbed_cable(&bed, 1, 2, 0, 2);
    testbed_cable(&bed, 0, 3, 2, 1);
    testbed_cable(&bed, 1, 3, 2, 2);
    cr_expect_eq(cluster_count_cables(&bed.cluster, (host_id){0}, (host_id){1}), 2);
    cr_expect_eq(cluster_count_cables(&bed.cluster, (host_id){1}, (host_id){0}), 2);
    cr_expect_eq(cluster_count_cables(&bed.cluster, (host_id){0}, (host_id){2}), 1);
    testbed_done(&bed);
}

Test(cluster, counts_rdma_ports_with_and_without_the_doubtful_one)
{
    static const struct {
        const char *model;
        size_t all, cautious;
    } rows[] = {
        {"mac-studio-m3-ultra", 6, 5}, {"mac-studio-m4-max", 4, 3}, {"mac-mini-m4-pro", 3, 3},
        {"mac-mini-m4", 0, 0},         {"tb5-hub", 0, 0},
    };

    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        const struct machine_model *model = testbed_model(rows[i].model);

        cr_expect_eq(machine_count_rdma_ports(model, false), rows[i].all, "%s", rows[i].model);
        cr_expect_eq(machine_count_rdma_ports(model, true), rows[i].cautious, "%s", rows[i].model);
    }
}

/* One thing wrong at a time, on an otherwise sound pair. */
enum spoil {
    SPOIL_NOTHING,
    SPOIL_RATE,
    SPOIL_ASYMMETRIC,
    SPOIL_FAR_RDMA,
    SPOIL_NEAR_RDMA,
    SPOIL_OLD_MACOS,
    SPOIL_NO_PROFILE,
    SPOIL_TB4_HOST,
    SPOIL_TB4_CABLE,
    SPOIL_ETHERNET,
};

Test(cluster, rdma_needs_every_condition_at_both_ends)
{
    static const struct {
        const char *name;
        enum spoil spoil;
        bool has_rdma;
    } rows[] = {
        {"sound", SPOIL_NOTHING, true},
        {"trained at exactly 40 Gb/s", SPOIL_RATE, false},
        {"120/40 is above 40 one way", SPOIL_ASYMMETRIC, true},
        {"far end disabled", SPOIL_FAR_RDMA, false},
        {"near end disabled", SPOIL_NEAR_RDMA, false},
        {"macOS without RDMA", SPOIL_OLD_MACOS, false},
        {"no macOS at all", SPOIL_NO_PROFILE, false},
        {"a Thunderbolt 4 Mac", SPOIL_TB4_HOST, false},
        {"a Thunderbolt 4 cable", SPOIL_TB4_CABLE, false},
        {"Ethernet", SPOIL_ETHERNET, false},
    };

    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct testbed bed;
        enum spoil spoil = rows[i].spoil;
        uint32_t port = spoil == SPOIL_ETHERNET ? 4 : 1;

        testbed_init(&bed);

        struct cluster_host *a = testbed_add(&bed, "a", "mac-mini-m4-pro");
        struct cluster_host *b =
            testbed_add(&bed, "b", spoil == SPOIL_TB4_HOST ? "mac-mini-m4" : "mac-mini-m4-pro");
        struct cluster_cable *cable =
            testbed_cable_of(&bed,
                             spoil == SPOIL_TB4_CABLE ? &testbed_tb4_cable : &testbed_tb5_cable, 0,
                             port, 1, port);

        b->is_rdma_enabled = true;
        if (spoil == SPOIL_RATE)
            cable->rate_ab = cable->rate_ba = GBPS(40);
        if (spoil == SPOIL_ASYMMETRIC)
            cable->rate_ab = GBPS(40), cable->rate_ba = GBPS(120);
        if (spoil == SPOIL_ETHERNET)
            cable->rate_ab = cable->rate_ba = GBPS(100);
        if (spoil == SPOIL_NEAR_RDMA)
            a->is_rdma_enabled = false;
        if (spoil == SPOIL_FAR_RDMA)
            b->is_rdma_enabled = false;
        if (spoil == SPOIL_OLD_MACOS)
            b->macos_profile = &testbed_macos[0];
        if (spoil == SPOIL_NO_PROFILE)
            b->macos_profile = NULL;
        cr_expect_eq(cluster_cable_has_rdma(&bed.cluster, (cable_id){0}), rows[i].has_rdma, "%s",
                     rows[i].name);
        testbed_done(&bed);
    }
}

Test(cluster, a_hub_keeps_rdma_on_both_segments)
{
    struct testbed bed;

    testbed_init(&bed);
    testbed_add_many(&bed, "m", testbed_model("mac-mini-m4-pro"), 2);
    testbed_add(&bed, "hub", "tb5-hub");
    testbed_cable(&bed, 0, 1, 2, 2);
    testbed_cable_of(&bed, &testbed_tb4_cable, 2, 3, 1, 1);
    cr_expect(cluster_cable_has_rdma(&bed.cluster, (cable_id){0}));
    cr_expect_not(cluster_cable_has_rdma(&bed.cluster, (cable_id){1}));
    testbed_done(&bed);
}

Test(cluster, paths_are_direct_cables_first_then_over_a_hub_and_never_over_a_mac)
{
    struct testbed bed;
    struct cluster_path paths[4] = {0};
    const host_id m1 = {0}, m2 = {1}, m3 = {2};

    testbed_init(&bed);
    testbed_add_many(&bed, "m", testbed_model("mac-studio-m3-ultra"), 3);
    testbed_add(&bed, "hub", "tb5-hub");
    testbed_cable(&bed, 0, 3, 3, 1); /* 0: m1 - hub */
    testbed_cable(&bed, 1, 3, 3, 2); /* 1: m2 - hub */
    testbed_cable(&bed, 0, 2, 1, 1); /* 2 and 3: m1 - m2, the ports in descending order */
    testbed_cable(&bed, 0, 1, 1, 2);
    testbed_cable(&bed, 1, 4, 2, 1); /* 4: m2 - m3 */

    cr_expect_eq(cluster_find_paths(&bed.cluster, m1, m2, paths, 4), 3);
    cr_expect_eq(paths[0].hops, 1);
    cr_expect_eq(paths[0].cables[0].ix, 2);
    cr_expect_eq(paths[1].hops, 1);
    cr_expect_eq(paths[1].cables[0].ix, 3);
    cr_expect_eq(paths[2].hops, 2);
    cr_expect_eq(paths[2].cables[0].ix, 0);
    cr_expect_eq(paths[2].cables[1].ix, 1);

    cr_expect_eq(cluster_find_paths(&bed.cluster, m2, m1, paths, 4), 3);
    cr_expect_eq(paths[2].cables[0].ix, 1, "the first cable is the one at the first machine");
    cr_expect_eq(cluster_find_paths(&bed.cluster, m1, m3, paths, 4), 0, "m2 forwards nothing");
    cr_expect_eq(cluster_find_paths(&bed.cluster, m1, m1, paths, 4), 0);
    testbed_done(&bed);
}

Test(cluster, a_list_of_paths_that_is_too_short_still_counts_them_all)
{
    struct testbed bed;
    struct cluster_path paths[2] = {{.hops = 9}, {.hops = 9}};

    testbed_init(&bed);
    testbed_add_many(&bed, "m", testbed_model("mac-studio-m3-ultra"), 2);
    for (uint32_t port = 1; port <= 3; port++)
        testbed_cable(&bed, 0, port, 1, port);
    cr_expect_eq(cluster_find_paths(&bed.cluster, (host_id){0}, (host_id){1}, paths, 1), 3);
    cr_expect_eq(paths[0].hops, 1);
    cr_expect_eq(paths[1].hops, 9, "nothing is written past the end");
    cr_expect_eq(cluster_find_paths(&bed.cluster, (host_id){0}, (host_id){1}, NULL, 0), 3);
    testbed_done(&bed);
}

Test(cluster, a_linux_computer_does_rdma_with_a_mac_at_40_gbps_if_its_model_says_so)
{
    static const struct port_model ports[] = {TB4(1, "USB4", "thunderbolt0")};
    struct machine_model linux_model = {
        .name = "linux", .kind = MACHINE_OTHER, .ports = ports, .port_count = 1};
    struct testbed bed;

    testbed_init(&bed);
    testbed_add(&bed, "mac", "mac-mini-m4-pro");
    testbed_add_model(&bed, "linux", &linux_model)->is_rdma_enabled = true;
    testbed_cable(&bed, 0, 1, 1, 1);
    cr_expect_not(cluster_cable_has_rdma(&bed.cluster, (cable_id){0}));
    linux_model.is_rdma_capable = true;
    cr_expect(cluster_cable_has_rdma(&bed.cluster, (cable_id){0}));
    bed.cluster.hosts[0].is_rdma_enabled = false;
    cr_expect_not(cluster_cable_has_rdma(&bed.cluster, (cable_id){0}));
    testbed_done(&bed);
}
