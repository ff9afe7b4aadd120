/* SPDX-License-Identifier: Apache-2.0 */
/* What is exported for MLX and imported again is the same cabling. */
#include <stdio.h>
#include <string.h>

#include <criterion/criterion.h>

#include "sim/report/export_mlx.h"
#include "sim/scenario/import_mlx.h"
#include "tests/unit/support/testbed.h"

/* The models of the testbed as a catalogue. */
static struct machine_model models[TESTBED_MODELS];

static struct catalog make_catalog(void)
{
    memcpy(models, testbed_models, sizeof models);
    return (struct catalog){.machines = models, .machine_count = TESTBED_MODELS};
}

/* Exports as a host file or a bare matrix and reads that back; the scenario's text. */
static const char *go_round(struct testbed *bed, const struct export_request *request,
                            bool as_hosts, const char *model)
{
    struct catalog catalog = make_catalog();
    const struct import_mlx_options options = {
        .catalog = &catalog, .models = &model, .model_count = 1};
    struct check_matrix matrix;
    struct err_list errs;
    struct err err = {0};
    struct text json;
    const char *scenario = NULL;

    err_list_init(&errs);
    text_init(&json, &bed->arena);
    cr_assert(export_matrix(&bed->cluster, request, &bed->arena, &matrix, &err), "%s", err.text);
    if (as_hosts)
        export_hosts_json(&matrix, &bed->cluster, NULL, &json);
    else
        export_matrix_json(&matrix, &json);
    cr_assert(import_mlx_parse(&(struct source_text){"m.json", json.bytes, json.length}, &options,
                               &bed->arena, &scenario, &errs),
              "%s", errs.count ? errs.items[0].text : "");
    err_list_done(&errs);
    return scenario;
}

static size_t count_cables(const char *scenario)
{
    size_t count = 0;

    for (const char *at = strstr(scenario, "{from: "); at; at = strstr(at + 1, "{from: "))
        count++;
    return count;
}

/* Each cable of the cluster is in the scenario, from either end. */
static void expect_same_cables(const struct testbed *bed, const char *scenario, const char *prefix,
                               const char *name)
{
    for (size_t i = 0; i < bed->cluster.cable_count; i++) {
        const struct cluster_cable *c = &bed->cluster.cables[i];
        char one[128];
        char other[128];

        (void)snprintf(one, sizeof one, "{from: %s%u port %u, to: %s%u port %u,", prefix,
                       c->a.host.ix + 1, c->a.port + 1, prefix, c->b.host.ix + 1, c->b.port + 1);
        (void)snprintf(other, sizeof other, "{from: %s%u port %u, to: %s%u port %u,", prefix,
                       c->b.host.ix + 1, c->b.port + 1, prefix, c->a.host.ix + 1, c->a.port + 1);
        cr_expect(strstr(scenario, one) || strstr(scenario, other), "%s: %s in\n%s", name, one,
                  scenario);
    }
    cr_expect_eq(count_cables(scenario), bed->cluster.cable_count, "%s", name);
}

Test(export_roundtrip, a_mesh_of_any_size_comes_back)
{
    for (uint32_t n = 2; n <= 7; n++) {
        struct testbed bed;
        const struct export_request request = {.shape = EXPORT_MESH};

        testbed_init(&bed);
        testbed_add_many(&bed, "studio", testbed_model("mac-studio-m3-ultra"), n);
        cr_assert(testbed_mesh(&bed));
        expect_same_cables(&bed, go_round(&bed, &request, true, "mac-studio-m3-ultra"), "studio",
                           "host file");
        expect_same_cables(&bed, go_round(&bed, &request, false, "mac-studio-m3-ultra"), "mac",
                           "matrix");
        testbed_done(&bed);
    }
}

Test(export_roundtrip, a_ring_of_several_wires_comes_back)
{
    for (uint32_t wires = 1; wires <= 3; wires++) {
        struct testbed bed;
        const struct export_request request = {.shape = EXPORT_RING};
        const char *scenario;

        testbed_init(&bed);
        testbed_add_many(&bed, "studio", testbed_model("mac-studio-m3-ultra"), 4);
        for (uint32_t i = 0; i < 4; i++) {
            for (uint32_t k = 0; k < wires; k++)
                testbed_cable(&bed, i, 1 + k, (i + 1) % 4, 6 - k);
        }
        scenario = go_round(&bed, &request, true, "mac-studio-m3-ultra");
        expect_same_cables(&bed, scenario, "studio", "ring");
        cr_expect(strstr(scenario, "library: jaccl-ring"));
        testbed_done(&bed);
    }
}
