/* SPDX-License-Identifier: Apache-2.0 */
/* What is exported for MLX and imported again is the same cabling. */
#include <string.h>

#include <criterion/criterion.h>

#include "sim/report/export_mlx.h"
#include "sim/scenario/import_mlx.h"
#include "tests/unit/support/testbed.h"

/* The models of the testbed as a catalogue. */
static struct machine_model models[TESTBED_MODELS];

static struct catalog make_catalog(void)
{
    static struct cable_model cables[1];
    static struct macos_model macos[TESTBED_MACOS];

    memcpy(models, testbed_models, sizeof models);
    memcpy(macos, testbed_macos, sizeof macos);
    cables[0] = testbed_tb5_cable;
    return (struct catalog){.machines = models,
                            .machine_count = TESTBED_MODELS,
                            .cables = cables,
                            .cable_count = 1,
                            .macos = macos,
                            .macos_count = TESTBED_MACOS};
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

/* The number of the cable between two ports of a cluster, whichever end comes first. */
static bool has_cable(const struct cluster *cluster, struct cluster_end a, struct cluster_end b)
{
    cable_id cable = cluster->hosts[a.host.ix].ports[a.port].cable;

    if (cable.ix == ID_NONE)
        return false;

    struct cluster_end peer = cluster_peer(&cluster->cables[cable.ix], a.host);

    return peer.host.ix == b.host.ix && peer.port == b.port;
}

/* The scenario reads without an error and has the cables of the cluster, machine by machine. */
static void expect_same_cables(const struct testbed *bed, const char *text, const char *name)
{
    struct catalog catalog = make_catalog();
    struct source_text source = {name, text, strlen(text)};
    struct scenario scenario;
    struct err_list errs;

    err_list_init(&errs);
    cr_assert(scenario_parse(&source, &catalog, &scenario, &errs), "%s: %s in\n%s", name,
              errs.items[0].text, text);
    cr_expect_eq(scenario.cluster.cable_count, bed->cluster.cable_count, "%s", name);
    for (size_t i = 0; i < bed->cluster.cable_count; i++) {
        const struct cluster_cable *c = &bed->cluster.cables[i];

        cr_expect(has_cable(&scenario.cluster, c->a, c->b), "%s: cable %zu in\n%s", name, i, text);
    }
    scenario_done(&scenario);
    err_list_done(&errs);
}

Test(export_roundtrip, a_mesh_of_any_size_comes_back)
{
    for (uint32_t n = 2; n <= 7; n++) {
        struct testbed bed;
        const struct export_request request = {.shape = EXPORT_MESH};

        testbed_init(&bed);
        testbed_add_many(&bed, "studio", testbed_model("mac-studio-m3-ultra"), n);
        cr_assert(testbed_mesh(&bed));
        expect_same_cables(&bed, go_round(&bed, &request, true, "mac-studio-m3-ultra"),
                           "host file");
        expect_same_cables(&bed, go_round(&bed, &request, false, "mac-studio-m3-ultra"), "matrix");
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
        expect_same_cables(&bed, scenario, "ring");
        cr_expect(strstr(scenario, "library: jaccl-ring"));
        testbed_done(&bed);
    }
}
