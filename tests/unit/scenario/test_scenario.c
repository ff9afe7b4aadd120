/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <criterion/criterion.h>

#include "sim/scenario/scenario.h"
#include "tests/unit/scenario/support/files.h"

static struct catalog catalog;

static void set_up(void)
{
    files_read_catalog(&catalog);
}

static void tear_down(void)
{
    catalog_done(&catalog);
}

TestSuite(scenario, .init = set_up, .fini = tear_down);

/* Parses a text that has to be right. */
static void parse_good(const char *name, const struct source_text *text, struct scenario *ret)
{
    struct err_list errs;
    char all[4096];
    bool is_ok;

    err_list_init(&errs);
    is_ok = scenario_parse(text, &catalog, ret, &errs);
    files_join_errors(&errs, all, sizeof all);
    cr_assert(is_ok, "%s:\n%s", name, all);
    cr_expect_eq(errs.count, 0, "%s", name);
    err_list_done(&errs);
}

Test(scenario, four_studios_is_a_full_mesh_on_the_lowest_ports)
{
    struct source_text text = files_read(SOURCE_ROOT "/scenarios/clusters/four-studios.yaml");
    struct scenario s;
    static const struct {
        uint32_t host_a, port_a, host_b, port_b;
    } cables[] = {{0, 0, 1, 0}, {0, 1, 2, 0}, {0, 2, 3, 0},
                  {1, 1, 2, 1}, {1, 2, 3, 1}, {2, 2, 3, 2}};

    parse_good("four-studios", &text, &s);
    cr_assert_eq(s.cluster.host_count, 4);
    cr_expect_str_eq(s.cluster.hosts[3].name, "studio4");
    cr_expect_eq(s.cluster.hosts[0].memory.bytes, UINT64_C(512) << 30);
    cr_expect(s.cluster.hosts[0].macos_profile->has_large_buffers);
    cr_expect_not(s.cluster.hosts[0].is_bridge_assumed);
    cr_assert_eq(s.cluster.cable_count, 6);
    for (size_t i = 0; i < 6; i++) {
        const struct cluster_cable *cable = &s.cluster.cables[i];

        cr_expect_eq(cable->a.host.ix, cables[i].host_a, "cable %zu", i);
        cr_expect_eq(cable->a.port, cables[i].port_a, "cable %zu", i);
        cr_expect_eq(cable->b.host.ix, cables[i].host_b, "cable %zu", i);
        cr_expect_eq(cable->b.port, cables[i].port_b, "cable %zu", i);
        cr_expect_eq(cable->rate_ab.bps, UINT64_C(80000000000));
        cr_expect_eq(s.cluster.hosts[cables[i].host_b].ports[cables[i].port_b].cable.ix, i);
    }
    cr_assert_eq(s.item_count, 3);
    cr_expect_eq(s.items[0].library, LIBRARY_JACCL_MESH);
    cr_expect_eq(s.items[2].library, LIBRARY_TCP_RING);
    cr_expect_eq(s.items[0].size_count, 13);
    cr_expect_eq(s.items[0].sizes[12].bytes, UINT64_C(64) << 20);
    cr_expect_eq(s.items[0].node_count, 4);
    cr_expect_eq(s.expectation_count, 3);
    cr_expect_eq(s.warnings.count, 0);
    scenario_done(&s);
    files_free(&text);
}
