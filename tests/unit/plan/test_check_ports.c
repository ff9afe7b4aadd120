/* SPDX-License-Identifier: Apache-2.0 */
#include <criterion/criterion.h>

#include "sim/plan/check.h"
#include "tests/unit/support/findings.h"
#include "tests/unit/support/testbed.h"

static struct check_result check_goal(struct testbed *bed, const struct check_goal *goals,
                                      size_t count)
{
    struct check_input input = {.cluster = &bed->cluster, .goals = goals, .goal_count = count};
    struct check_result result;

    check_cluster(&input, &result);
    return result;
}

/* What must come out for n Macs of a model, from its ports alone. */
static const char *expected_binding(const struct machine_model *model, uint32_t n)
{
    size_t ports = machine_count_rdma_ports(model, false);

    if (!model->is_rdma_capable)
        return "tb4-host";
    if (n - 1 > ports)
        return ports + 1 > 8 ? "jaccl-mesh-cap" : "port-count";
    return n > 8 ? "jaccl-mesh-cap" : "";
}

/* A Mac that does not exist, so that the software's cap is reached before the ports. */
static const struct port_model many_ports[] = {
    TB5(1, "1", "en2"), TB5(2, "2", "en3"), TB5(3, "3", "en4"),
    TB5(4, "4", "en5"), TB5(5, "5", "en6"), TB5(6, "6", "en7"),
    TB5(7, "7", "en8"), TB5(8, "8", "en9"), TB5(9, "9", "en10"),
};
static const struct machine_model many_port_model = {.name = "mac-with-nine-ports",
                                                     .kind = MACHINE_MAC,
                                                     .memory_options = testbed_mini_memory,
                                                     .memory_option_count = 3,
                                                     .ports = many_ports,
                                                     .port_count = 9,
                                                     .is_rdma_capable = true};

static void expect_verdict(const struct machine_model *model, uint32_t n, bool with_goal)
{
    static const struct check_goal mesh = {.wants_mesh = true};
    struct testbed bed;

    testbed_init(&bed);
    testbed_add_many(&bed, "mac", model, n);

    struct check_result result = check_goal(&bed, &mesh, with_goal);
    const char *binding = expected_binding(model, n);
    size_t ports = machine_count_rdma_ports(model, false);
    size_t sure = machine_count_rdma_ports(model, true);

    cr_expect_str_eq(result.binding, binding, "%u x %s: %s", n, model->name, result.binding);
    cr_expect_eq(result.is_feasible, *binding == '\0', "%u x %s", n, model->name);
    cr_expect_eq(result.mesh_cables, n * (n - 1) / 2);
    cr_expect_eq(result.max_full_mesh, ports + 1);
    cr_expect_eq(result.max_full_mesh_cautious, sure + 1);
    cr_expect_eq(finding_of(&result, "port-beside-ethernet") != NULL,
                 n - 1 > sure && n - 1 <= ports, "%u x %s", n, model->name);
    check_result_done(&result);
    testbed_done(&bed);
}

Test(check_ports, two_to_nine_macs_of_each_model_meet_their_own_limit)
{
    for (size_t m = 0; m < TESTBED_MODELS; m++) {
        for (uint32_t n = 2; n <= 9 && testbed_models[m].kind == MACHINE_MAC; n++) {
            expect_verdict(&testbed_models[m], n, true);
            expect_verdict(&testbed_models[m], n, false);
        }
    }
    for (uint32_t n = 2; n <= 11; n++)
        expect_verdict(&many_port_model, n, true);
}

Test(check_ports, an_error_of_ports_names_the_model_its_ports_and_its_limit)
{
    static const struct check_goal mesh = {.wants_mesh = true};
    struct testbed bed;

    testbed_init(&bed);
    testbed_add_many(&bed, "mini", testbed_model("mac-mini-m4-pro"), 5);

    struct check_result result = check_goal(&bed, &mesh, 1);
    const struct finding *finding = finding_of(&result, "port-count");

    cr_assert(finding);
    cr_expect(says(finding, "mac-mini-m4-pro has 3 ports"), "%s", finding->why);
    cr_expect(says(finding, "needs 4 Thunderbolt 5 ports"), "%s", finding->why);
    cr_expect(says(finding, "10 cables"), "%s", finding->why);
    cr_expect(says(finding, "jaccl-ring"), "%s", finding->fix);
    check_result_done(&result);
    testbed_done(&bed);
}

Test(check_ports, the_scarcest_model_of_a_mixed_cluster_decides)
{
    static const struct check_goal mesh = {.wants_mesh = true};
    struct testbed bed;

    testbed_init(&bed);
    testbed_add_many(&bed, "ultra", testbed_model("mac-studio-m3-ultra"), 4);
    testbed_add(&bed, "mini", "mac-mini-m4-pro");

    struct check_result result = check_goal(&bed, &mesh, 1);

    cr_expect_eq(result.max_full_mesh, 4);
    cr_expect_str_eq(result.binding, "port-count");
    cr_expect(says(finding_of(&result, "port-count"), "mac-mini-m4-pro has 3 ports"));
    cr_expect_not(says(finding_of(&result, "port-count"), "mac-studio-m3-ultra has"));
    check_result_done(&result);
    testbed_done(&bed);
}

Test(check_ports, a_cable_beside_ethernet_is_a_warning_with_the_limit_recomputed)
{
    static const struct {
        const char *model;
        const char *cautious, *all;
    } rows[] = {
        {"mac-studio-m3-ultra", "ends at 6 computers", "instead of 7"},
        {"mac-studio-m4-max", "ends at 4 computers", "instead of 5"},
    };

    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct testbed bed;

        testbed_init(&bed);
        testbed_add_many(&bed, "studio", testbed_model(rows[i].model), 2);
        testbed_cable(&bed, 0, 1, 1, 2);

        struct check_result result = check_goal(&bed, NULL, 0);
        const struct finding *finding = finding_of(&result, "port-beside-ethernet");

        cr_assert(finding, "%s", rows[i].model);
        cr_expect_eq(finding->severity, CHECK_WARNING);
        cr_expect_eq(finding_count(&result, "port-beside-ethernet"), 1, "port 2 is not in doubt");
        cr_expect(says(finding, "studio1 port 1 (en2, rear 1, beside Ethernet)"), "%s",
                  finding->where);
        cr_expect(says(finding, rows[i].cautious), "%s", finding->why);
        cr_expect(says(finding, rows[i].all), "%s", finding->why);
        cr_expect(says(finding, "move the cable from studio1 port 1"), "%s", finding->fix);
        cr_expect(result.is_feasible, "a doubt is not an error");
        check_result_done(&result);
        testbed_done(&bed);
    }
}

Test(check_ports, no_port_is_missing_where_a_hub_already_joins_every_pair)
{
    static const struct check_goal mesh = {.wants_mesh = true};
    struct testbed bed;

    testbed_init(&bed);
    testbed_add_many(&bed, "mini", testbed_model("mac-mini-m4-pro"), 3);
    testbed_add(&bed, "hub", "tb5-hub");
    for (uint32_t i = 0; i < 3; i++)
        testbed_cable(&bed, i, 1, 3, i + 1);

    struct check_result result = check_goal(&bed, &mesh, 1);

    cr_expect(result.is_feasible, "%s", result.binding);
    cr_expect(says(finding_of(&result, "hub-nested"), "the link is present"));
    cr_expect_not(finding_of(&result, "mesh-incomplete"));
    check_result_done(&result);

    /* Two more Macs than ports, one of them beside the hub: a pair is missing, not a port. */
    testbed_add(&bed, "late", "mac-mini-m4-pro");
    testbed_add(&bed, "later", "mac-mini-m4-pro");
    testbed_cable(&bed, 4, 1, 3, 4);
    result = check_goal(&bed, &mesh, 1);
    cr_expect_str_eq(result.binding, "mesh-incomplete");
    cr_expect(says(finding_of(&result, "mesh-incomplete"), "late - later"));
    check_result_done(&result);
    testbed_done(&bed);
}

Test(check_ports, figures_that_nobody_confirmed_are_marked_once_a_model)
{
    struct machine_model rumoured = *testbed_model("mac-studio-m3-ultra");
    struct testbed bed;

    rumoured.name = "mac-studio-next";
    rumoured.provenance = (struct provenance){"a rumour", "2026-08-01", "assumed"};
    testbed_init(&bed);
    testbed_add_many(&bed, "next", &rumoured, 3);

    struct check_result result = check_goal(&bed, NULL, 0);

    cr_expect_eq(finding_count(&result, "unconfirmed"), 1);
    cr_expect(says(finding_of(&result, "unconfirmed"), "a rumour"));
    check_result_done(&result);
    testbed_done(&bed);
}

Test(check_ports, a_computer_that_is_no_mac_says_itself_whether_it_does_rdma)
{
    static const struct port_model ports[] = {TB4(1, "USB4", "thunderbolt0")};
    static const struct check_goal mesh = {.wants_mesh = true};
    struct machine_model linux_model = {
        .name = "linux", .kind = MACHINE_OTHER, .ports = ports, .port_count = 1};

    for (int is_capable = 0; is_capable < 2; is_capable++) {
        struct testbed bed;

        linux_model.is_rdma_capable = is_capable;
        testbed_init(&bed);
        testbed_add(&bed, "mac", "mac-mini-m4-pro");
        testbed_add_model(&bed, "linux", &linux_model)->is_rdma_enabled = true;
        testbed_cable(&bed, 0, 1, 1, 1);

        struct check_result result = check_goal(&bed, &mesh, 1);

        cr_expect_eq(finding_of(&result, "not-a-mac") != NULL, !is_capable);
        check_result_done(&result);
        testbed_done(&bed);
    }
}
