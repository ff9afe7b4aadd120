/* SPDX-License-Identifier: Apache-2.0 */
#include <criterion/criterion.h>

#include "sim/plan/check.h"
#include "tests/unit/support/findings.h"
#include "tests/unit/support/testbed.h"

static struct check_result check_bed(struct testbed *bed)
{
    struct check_input input = {.cluster = &bed->cluster};
    struct check_result result;

    check_cluster(&input, &result);
    return result;
}

/* Two Macs and one cable, set up right; then one thing is spoiled. */
static void pair_init(struct testbed *bed, const char *model)
{
    testbed_init(bed);
    testbed_add(bed, "a", model);
    testbed_add(bed, "b", model);
    testbed_cable(bed, 0, 3, 1, 2);
}

Test(check_rdma, a_pair_set_up_as_documented_has_no_finding)
{
    struct testbed bed;

    pair_init(&bed, "mac-mini-m4-pro");

    struct check_result result = check_bed(&bed);

    cr_expect_eq(result.finding_count, 0, "%s", result.finding_count ? result.findings[0].id : "");
    cr_expect(result.is_feasible);
    cr_expect_str_eq(result.binding, "");
    check_result_done(&result);
    testbed_done(&bed);
}

Test(check_rdma, thunderbolt_4_macs_are_told_so_and_never_to_enable_rdma)
{
    static const char *const cell_to_b[] = {"rdma_en4", NULL};
    static const char *const cell_to_a[] = {"rdma_en3", NULL};
    static const char *const *const cells[] = {NULL, cell_to_b, cell_to_a, NULL};
    static const host_id hosts[] = {{0}, {1}};
    const struct check_matrix matrix = {.size = 2, .hosts = hosts, .cells = cells};
    struct testbed bed;
    struct check_result result;

    pair_init(&bed, "mac-mini-m4");
    check_cluster(&(struct check_input){.cluster = &bed.cluster, .matrix = &matrix}, &result);
    cr_expect_str_eq(result.binding, "tb4-host");
    cr_expect_eq(finding_count(&result, "tb4-host"), 2);
    cr_expect(says(finding_of(&result, "tb4-host"), "Thunderbolt 4 hardware"));
    cr_expect(says(finding_of(&result, "tb4-host"), "--backend ring"));
    cr_expect_eq(finding_errors(&result), 2, "one fault is told once a Mac");
    for (size_t i = 0; i < result.finding_count; i++)
        cr_expect_not(says(&result.findings[i], "rdma_ctl"), "%s", result.findings[i].id);
    check_result_done(&result);
    testbed_done(&bed);
}

Test(check_rdma, a_thunderbolt_4_mac_that_only_runs_tcp_is_fine)
{
    static const host_id nodes[] = {{0}, {1}};
    const struct run_item item = {
        .op = RUN_ALL_REDUCE, .library = LIBRARY_TCP_RING, .nodes = nodes, .node_count = 2};
    struct testbed bed;
    struct check_result result;

    pair_init(&bed, "mac-mini-m4");
    check_cluster(&(struct check_input){.cluster = &bed.cluster, .items = &item, .item_count = 1},
                  &result);
    cr_expect_eq(result.finding_count, 0);
    check_result_done(&result);
    testbed_done(&bed);
}

Test(check_rdma, a_link_at_40_gbps_is_judged_by_its_rate_and_not_by_the_device_list)
{
    static const char *const cell_to_b[] = {"rdma_en4", NULL};
    static const char *const cell_to_a[] = {"rdma_en3", NULL};
    static const char *const *const cells[] = {NULL, cell_to_b, cell_to_a, NULL};
    static const host_id hosts[] = {{0}, {1}};
    const struct check_matrix matrix = {.size = 2, .hosts = hosts, .cells = cells};
    struct testbed bed;
    struct check_result result;

    pair_init(&bed, "mac-mini-m4-pro");
    bed.cluster.cables[0].rate_ab = bed.cluster.cables[0].rate_ba = GBPS(40);
    check_cluster(&(struct check_input){.cluster = &bed.cluster, .matrix = &matrix}, &result);
    cr_expect_str_eq(result.binding, "tb4-link");
    cr_expect(says(finding_of(&result, "tb4-link"), "trained at 40 Gb/s"));
    cr_expect(says(finding_of(&result, "tb4-link"), "proves nothing"));
    cr_expect(says(finding_of(&result, "tb4-link"), "--backend ring"));
    cr_expect_eq(finding_errors(&result), 1);
    check_result_done(&result);
    testbed_done(&bed);
}

Test(check_rdma, a_slow_link_beside_a_fast_one_is_a_warning)
{
    struct testbed bed;

    pair_init(&bed, "mac-mini-m4-pro");
    testbed_cable_of(&bed, &testbed_tb4_cable, 0, 1, 1, 1);

    struct check_result result = check_bed(&bed);

    cr_assert(finding_of(&result, "tb4-link"));
    cr_expect_eq(finding_of(&result, "tb4-link")->severity, CHECK_WARNING);
    cr_expect(says(finding_of(&result, "tb4-link"), "replace cable a:1 - b:1 (tb4-1m)"));
    cr_expect(result.is_feasible);
    check_result_done(&result);
    testbed_done(&bed);
}

Test(check_rdma, one_disabled_end_is_named_with_the_cable_that_stays_down)
{
    struct testbed bed;

    pair_init(&bed, "mac-mini-m4-pro");
    bed.cluster.hosts[1].is_rdma_enabled = false;

    struct check_result result = check_bed(&bed);
    const struct finding *finding = finding_of(&result, "rdma-disabled-one-end");

    cr_assert(finding);
    cr_expect_str_eq(finding->where, "b");
    cr_expect(says(finding, "a:3 - b:2"), "%s", finding->why);
    cr_expect(says(finding, "a port 3 (en4, rear right) stays PORT_DOWN"), "%s", finding->why);
    cr_expect(says(finding, "b (Recovery)$ rdma_ctl enable"), "%s", finding->fix);
    cr_expect_not(finding_of(&result, "rdma-disabled"));
    check_result_done(&result);
    testbed_done(&bed);
}

Test(check_rdma, disabled_everywhere_is_an_error_only_where_rdma_is_asked_for)
{
    static const host_id nodes[] = {{0}, {1}};
    const struct run_item item = {
        .op = RUN_ALL_REDUCE, .library = LIBRARY_JACCL_MESH, .nodes = nodes, .node_count = 2};

    for (size_t asked = 0; asked <= 1; asked++) {
        struct testbed bed;
        struct check_result result;

        pair_init(&bed, "mac-mini-m4-pro");
        bed.cluster.hosts[0].is_rdma_enabled = bed.cluster.hosts[1].is_rdma_enabled = false;
        check_cluster(
            &(struct check_input){.cluster = &bed.cluster, .items = &item, .item_count = asked},
            &result);
        cr_expect_eq(finding_count(&result, "rdma-disabled"), asked ? 2 : 0);
        cr_expect_eq(result.is_feasible, !asked);
        check_result_done(&result);
        testbed_done(&bed);
    }
}

Test(check_rdma, an_old_macos_is_told_to_update_and_not_to_enable)
{
    struct testbed bed;

    pair_init(&bed, "mac-mini-m4-pro");
    bed.cluster.hosts[0].macos = "26.1";
    bed.cluster.hosts[0].macos_profile = &testbed_macos[0];
    bed.cluster.hosts[0].is_rdma_enabled = false;

    struct check_result result = check_bed(&bed);

    cr_expect_str_eq(result.binding, "macos-too-old");
    cr_expect(says(finding_of(&result, "macos-too-old"), "a$ sudo softwareupdate"));
    cr_expect(says(finding_of(&result, "macos-mix"), "identical builds"));
    cr_expect_not(finding_of(&result, "rdma-disabled"));
    cr_expect_not(finding_of(&result, "rdma-disabled-one-end"));
    check_result_done(&result);
    testbed_done(&bed);
}

Test(check_rdma, buffers_of_4_kib_are_noted_before_26_3)
{
    struct testbed bed;

    pair_init(&bed, "mac-mini-m4-pro");
    for (size_t i = 0; i < 2; i++) {
        bed.cluster.hosts[i].macos = "26.2";
        bed.cluster.hosts[i].macos_profile = &testbed_macos[1];
    }

    struct check_result result = check_bed(&bed);

    cr_assert(finding_of(&result, "4k-buffers"));
    cr_expect_str_eq(finding_of(&result, "4k-buffers")->where, "a, b");
    cr_expect(result.is_feasible);
    check_result_done(&result);
    testbed_done(&bed);
}

/* A mini and a Studio, one cable, the address of the mini on bridge0 (exo issue 1390). */
Test(check_rdma, an_address_on_the_bridge_predicts_errno_22_and_is_moved_to_the_port)
{
    struct testbed bed;

    testbed_init(&bed);
    testbed_add(&bed, "mini", "mac-mini-m4-pro");
    testbed_add(&bed, "studio", "mac-studio-m4-max");
    testbed_cable(&bed, 0, 3, 1, 4);
    for (size_t i = 0; i < 3; i++) {
        bed.cluster.hosts[0].ports[i].is_bridge_member = true;
        bed.cluster.hosts[0].ports[i].ip = PORT_IP_BRIDGE;
    }

    struct check_result result = check_bed(&bed);
    const struct finding *finding = finding_of(&result, "no-gid1");

    cr_assert(finding);
    cr_expect_eq(finding_count(&result, "no-gid1"), 1, "the studio has its address");
    cr_expect(says(finding, "on bridge0, not on en4"), "%s", finding->why);
    cr_expect(says(finding, "errno 22"), "%s", finding->why);
    cr_expect(says(finding, "mini$ sudo ifconfig bridge0 deletem en4"), "%s", finding->fix);
    cr_expect(says(finding, "mini$ sudo ifconfig bridge0 destroy"), "%s", finding->fix);
    cr_expect(says(finding, "mini$ sudo networksetup -createnetworkservice \"tb en4\" en4"), "%s",
              finding->fix);
    cr_expect(says(finding, "-setmanual \"tb en4\" 192.168.0.1 255.255.255.252"), "%s",
              finding->fix);
    cr_expect(says(finding, "after a reboot"), "%s", finding->fix);
    cr_expect_str_eq(result.binding, "no-gid1");
    check_result_done(&result);
    testbed_done(&bed);
}

Test(check_rdma, the_two_ends_of_a_cable_get_the_two_addresses_of_one_network)
{
    struct testbed bed;

    testbed_init(&bed);
    testbed_add_many(&bed, "m", testbed_model("mac-mini-m4-pro"), 3);
    testbed_mesh(&bed);
    for (size_t h = 0; h < 3; h++) {
        for (size_t i = 0; i < 3; i++)
            bed.cluster.hosts[h].ports[i].ip = PORT_IP_NONE;
    }

    struct check_result result = check_bed(&bed);

    cr_expect_eq(finding_count(&result, "no-gid1"), 3);
    /* Cable 2 joins m2 and m3 on their second ports: 192.168.0.8/30. */
    cr_expect(says(finding_nth(&result, "no-gid1", 1), "\"tb en3\" 192.168.0.9 255.255.255.252"));
    cr_expect(says(finding_nth(&result, "no-gid1", 2), "\"tb en3\" 192.168.0.10 255.255.255.252"));
    cr_expect_not(says(finding_of(&result, "no-gid1"), "bridge0"), "nothing is bridged here");
    check_result_done(&result);
    testbed_done(&bed);
}

Test(check_rdma, bridged_ports_with_addresses_of_their_own_are_a_warning)
{
    struct testbed bed;

    pair_init(&bed, "mac-mini-m4-pro");
    bed.cluster.hosts[0].ports[2].is_bridge_member = true;

    struct check_result result = check_bed(&bed);

    cr_assert(finding_of(&result, "bridge-members-with-rdma"));
    cr_expect_str_eq(finding_of(&result, "bridge-members-with-rdma")->where, "a");
    cr_expect(result.is_feasible);
    check_result_done(&result);
    testbed_done(&bed);
}
