/* SPDX-License-Identifier: Apache-2.0 */
/* The check over every Mac that the catalogue knows: 2 to 9 of each. */
#include <string.h>

#include <criterion/criterion.h>

#include "sim/plan/check.h"
#include "sim/scenario/scenario.h"
#include "tests/unit/scenario/support/files.h"
#include "tests/unit/support/findings.h"
#include "tests/unit/support/testbed.h"

static struct catalog catalog;

static void set_up(void)
{
    files_read_catalog(&catalog);
}

static void tear_down(void)
{
    catalog_done(&catalog);
}

TestSuite(check_catalog, .init = set_up, .fini = tear_down);

static struct check_result check_macs(const struct machine_model *model, uint32_t n)
{
    static const struct check_goal mesh = {.wants_mesh = true};
    struct testbed bed;
    struct check_result result;

    testbed_init(&bed);
    testbed_add_many(&bed, "mac", model, n);
    check_cluster(&(struct check_input){.cluster = &bed.cluster, .goals = &mesh, .goal_count = 1},
                  &result);
    testbed_done(&bed);
    return result;
}

Test(check_catalog, two_to_nine_of_every_mac_get_the_verdict_of_their_ports)
{
    size_t macs = 0;

    for (size_t m = 0; m < catalog.machine_count; m++) {
        const struct machine_model *model = &catalog.machines[m];
        size_t ports = machine_count_rdma_ports(model, false);

        if (model->kind != MACHINE_MAC)
            continue;
        macs++;
        for (uint32_t n = 2; n <= 9; n++) {
            struct check_result result = check_macs(model, n);
            const char *binding = n > ports + 1 ? "port-count" : "";

            if (!model->is_rdma_capable)
                binding = "tb4-host";
            cr_expect_str_eq(result.binding, binding, "%u x %s: '%s'", n, model->name,
                             result.binding);
            cr_expect_eq(result.is_feasible, *binding == '\0', "%u x %s", n, model->name);
            check_result_done(&result);
        }
    }
    cr_expect_geq(macs, 10, "the catalogue was read");
}

/* The published limits, so that a wrong port table fails here and not only in a review. */
Test(check_catalog, the_published_mesh_limits_hold)
{
    static const struct {
        const char *model;
        uint32_t limit, cautious;
    } rows[] = {
        {"mac-mini-m4-pro", 4, 4},   {"macbook-pro-m4-max", 4, 4},  {"macbook-pro-m5-max", 4, 4},
        {"mac-studio-m4-max", 5, 4}, {"mac-studio-m3-ultra", 7, 6},
    };

    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        const struct machine_model *model = catalog_find_machine(&catalog, rows[i].model);

        cr_assert(model, "%s", rows[i].model);

        struct check_result largest = check_macs(model, rows[i].limit);
        struct check_result more = check_macs(model, rows[i].limit + 1);

        cr_expect(largest.is_feasible, "%s", rows[i].model);
        cr_expect_eq(largest.max_full_mesh, rows[i].limit, "%s", rows[i].model);
        cr_expect_eq(largest.max_full_mesh_cautious, rows[i].cautious, "%s", rows[i].model);
        cr_expect_eq(finding_of(&largest, "port-beside-ethernet") != NULL,
                     rows[i].cautious < rows[i].limit, "%s", rows[i].model);
        cr_expect_str_eq(more.binding, "port-count", "%s", rows[i].model);
        check_result_done(&largest);
        check_result_done(&more);
    }
}
