/* SPDX-License-Identifier: Apache-2.0 */
/* Public reports of people who cabled Macs, as scenarios, and what the check has to say to each. */
#include <stdio.h>
#include <string.h>

#include <criterion/criterion.h>

#include "sim/plan/check.h"
#include "sim/scenario/scenario.h"
#include "tests/unit/scenario/support/files.h"
#include "tests/unit/support/findings.h"

static struct catalog catalog;

static void set_up(void)
{
    files_read_catalog(&catalog);
}

static void tear_down(void)
{
    catalog_done(&catalog);
}

TestSuite(check_cases, .init = set_up, .fini = tear_down);

/* Checks a scenario's text; the caller frees both. */
static void check_text(const char *name, const char *yaml, struct scenario *scenario,
                       struct check_result *result)
{
    struct source_text text = files_text(name, yaml);
    struct err_list errs;
    char lines[1000];

    err_list_init(&errs);
    if (!scenario_parse(&text, &catalog, scenario, &errs)) {
        files_join_errors(&errs, lines, sizeof lines);
        cr_assert_fail("%s: %s", name, lines);
    }
    err_list_done(&errs);
    check_cluster(&(struct check_input){.cluster = &scenario->cluster,
                                        .goals = scenario->goals,
                                        .goal_count = scenario->goal_count,
                                        .matrix = scenario->matrix.size ? &scenario->matrix : NULL,
                                        .items = scenario->items,
                                        .item_count = scenario->item_count},
                  result);
}

#define PIECES 5

struct report {
    const char *name;
    const char *binding;        /* "" feasible */
    const char *id;             /* the finding that must be there */
    const char *pieces[PIECES]; /* which it must say */
    const char *absent;         /* no finding may say this; NULL */
    const char *yaml;
};

#define HEAD "tbmesh: 1\nmacos: \"26.3\"\nbridge: {members: none}\n"

static const struct report reports[] = {
    {"exo#1293, six Ultras: the mesh",
     "tp-divisibility",
     "mesh-plan",
     {"15 cables", "up to 7 computers, or 6 without"},
     NULL,
     HEAD "machines: [{name: m, model: mac-studio-m3-ultra, count: 6}]\n"
          "goals: [{mesh: true}, {tensor_parallel: 6, heads: 128, model: DeepSeek-V3.1}, "
          "{tensor_parallel: 6, heads: 64, model: Kimi-K2}]\n"},
    {"exo#1293, six Ultras: tensor parallelism",
     "tp-divisibility",
     "tp-divisibility",
     {"128 attention heads leave 2 over", "over 4 of the 6", "pipeline over all 6"},
     NULL,
     HEAD "machines: [{name: m, model: mac-studio-m3-ultra, count: 6}]\n"
          "goals: [{mesh: true}, {tensor_parallel: 6, heads: 128, model: DeepSeek-V3.1}]\n"},
    {"exo#1834, three 256 GiB Ultras",
     "tp-divisibility",
     "memory-fit",
     {"Kimi-K2.5 needs 300.0 GB of weights on each of 2 Macs", "206.1 GB", "pipeline over all 3",
      "or 4 computers"},
     NULL,
     HEAD "machines: [{name: m, model: mac-studio-m3-ultra, memory: 256 GiB, count: 3}]\n"
          "cables: [{mesh: [m1, m2, m3], kind: tb5-1m}]\n"
          "goals: [{tensor_parallel: 3, heads: 128, model: DeepSeek-V3.2, weights: 380 GB}, "
          "{tensor_parallel: 3, heads: 64, model: Kimi-K2.5, weights: 600 GB}, "
          "{tensor_parallel: 2, heads: 64, model: Kimi-K2.5, weights: 600 GB}]\n"},
    {"exo#1459, three unequal Macs",
     "tp-divisibility",
     "tp-divisibility",
     {"the same over RDMA and TCP", "a link is missing, not a divisor"},
     NULL,
     HEAD "machines: [{name: a, model: mac-studio-m3-ultra, memory: 512 GiB}, "
          "{name: b, model: mac-studio-m3-ultra, memory: 96 GiB, gpu: 60-core}, "
          "{name: c, model: mac-studio-m4-max, memory: 128 GiB}]\n"
          "cables: [{mesh: [a, b, c], kind: tb5-1m}]\n"
          "goals: [{tensor_parallel: 2, heads: 64}, {tensor_parallel: 3, heads: 64}]\n"},
    {"exo PR 2160, crossed rails",
     "rail-crossed",
     "rail-crossed",
     {"a - b", "row 1 (a), column 2 (b): \"rdma_en6\"", "[\"rdma_en6\", \"rdma_en7\"]",
      "[\"rdma_en7\", \"rdma_en6\"]", "deadlock"},
     NULL,
     HEAD "machines: [{name: a, model: mac-studio-m3-ultra}, {name: b, model: "
          "mac-studio-m3-ultra}]\n"
          "cables: [{from: a port 5, to: b port 6, kind: tb5-1m}, "
          "{from: a port 6, to: b port 5, kind: tb5-1m}]\n"
          "matrix: {devices: [[null, rdma_en6], [rdma_en6, null]]}\n"},
    {"exo PR 2195, the right lists",
     "",
     "multi-cable",
     {NULL},
     "deadlock",
     HEAD "machines: [{name: a, model: mac-studio-m3-ultra}, {name: b, model: "
          "mac-studio-m3-ultra}]\n"
          "cables: [{from: a port 5, to: b port 6, kind: tb5-1m}, "
          "{from: a port 6, to: b port 5, kind: tb5-1m}]\n"
          "matrix: {backend: ring, devices: [[null, [rdma_en6, rdma_en7]], "
          "[[rdma_en7, rdma_en6], null]]}\n"},
    {"exo#1390, the bridge in the way",
     "no-gid1",
     "no-gid1",
     {"on bridge0, not on en4", "errno 22", "mini$ sudo ifconfig bridge0 destroy",
      "-setmanual \"tb en4\""},
     NULL,
     "tbmesh: 1\nmacos: \"26.3\"\n"
     "machines: [{name: mini, model: mac-mini-m4-pro, ip: bridge}, "
     "{name: studio, model: mac-studio-m4-max, bridge: {members: none}}]\n"
     "cables: [{from: mini port 3, to: studio port 4, kind: tb5-1m}]\n"
     "matrix: {devices: [[null, rdma_en4], [rdma_en5, null]]}\n"},
    {"mlx#3777, Thunderbolt 4 Macs",
     "tb4-host",
     "tb4-host",
     {"Thunderbolt 4 hardware", "--backend ring"},
     "rdma_ctl",
     HEAD "machines: [{name: m, model: mac-mini-m4, memory: 16 GiB, count: 2}]\n"
          "cables: [{pair: [m1, m2], kind: tb4-1m}]\n"
          "matrix: {devices: [[null, rdma_en2], [rdma_en2, null]]}\n"},
    {"mlx#4485, a link at 40 Gb/s with a device in the list",
     "tb4-link",
     "tb4-link",
     {"trained at 40 Gb/s", "proves nothing", "--backend ring"},
     "rdma_ctl",
     HEAD "machines: [{name: m, model: mac-mini-m4-pro, count: 2}]\n"
          "cables: [{from: m1 port 1, to: m2 port 1, kind: tb5-1m, rate: 40 Gb/s}]\n"
          "matrix: {devices: [[null, rdma_en2], [rdma_en2, null]]}\n"},
    {"exo PR 1543, beside Ethernet, M3 Ultra",
     "",
     "port-beside-ethernet",
     {"a port 1 (en2, rear 1, beside Ethernet)", "ends at 6 computers instead of 7"},
     NULL,
     HEAD "machines: [{name: a, model: mac-studio-m3-ultra}, {name: b, model: "
          "mac-studio-m3-ultra}]\n"
          "cables: [{from: a port 1, to: b port 2, kind: tb5-1m}]\n"},
    {"exo PR 1543, beside Ethernet, M4 Max",
     "",
     "port-beside-ethernet",
     {"a port 1 (en2, rear 1, beside Ethernet)", "ends at 4 computers instead of 5"},
     NULL,
     HEAD "machines: [{name: a, model: mac-studio-m4-max}, {name: b, model: "
          "mac-studio-m4-max}]\n"
          "cables: [{from: a port 1, to: b port 2, kind: tb5-1m}]\n"},
    {"exo PR 2063, a hub in the middle",
     "",
     "hub-nested",
     {"the link is present", "a port 1", "b port 1", "one level deeper"},
     NULL,
     HEAD "machines: [{name: a, model: macbook-pro-m5-max}, {name: b, model: "
          "macbook-pro-m5-max}, {name: c, model: macbook-pro-m5-max}, "
          "{name: hub, model: tb5-hub}]\n"
          "cables: [{from: a port 1, to: hub port 2, kind: tb5-1m}, "
          "{from: b port 1, to: hub port 3, kind: tb5-1m}, {pair: [a, c], kind: tb5-1m}, "
          "{pair: [b, c], kind: tb5-1m}]\ngoals: {mesh: true}\n"},
    {"mlx-jaccl-cluster, a dead port in a made matrix",
     "matrix-dead-port",
     "matrix-dead-port",
     {"Row 2 is b's", "rdma_en2 is DOWN", "the right entry is \"rdma_en4\""},
     NULL,
     HEAD "machines: [{name: a, model: mac-mini-m4-pro}, {name: b, model: mac-mini-m4-pro}]\n"
          "cables: [{from: a port 3, to: b port 3, kind: tb5-1m}]\n"
          "matrix: {devices: [[null, rdma_en4], [rdma_en2, null]]}\n"},
    {"dnet#69, a ring on the default bridge",
     "bridge-loop",
     "bridge-loop",
     {"1 independent loop", "80,000 packets", "unplug m2:2 - m3:1"},
     NULL,
     "tbmesh: 1\nmacos: \"15.3.1\"\n"
     "machines: [{name: m, model: mac-mini-m4-pro, count: 3}]\n"
     "cables: [{ring: [m1, m2, m3], kind: tb5-1m}]\n"
     "run: [{all_reduce: {library: tcp-ring, sizes: [1 MiB]}}]\n"},
    {"exo PR 1222, two parallel cables",
     "",
     "bridge-loop",
     {"sources disagree", "No capture is published for any macOS version", "ifconfig bridge0"},
     NULL,
     "tbmesh: 1\nmacos: \"26.3\"\n"
     "machines: [{name: m, model: mac-studio-m3-ultra, count: 2}]\n"
     "cables: [{pair: [m1, m2], kind: tb5-1m, cables: 2}]\n"},
    {"exo#525, the other outcome of a ring",
     "bridge-loop",
     "bridge-loop",
     {"stayed inactive instead", "went the other way round"},
     NULL,
     "tbmesh: 1\nmacos: \"15.2\"\n"
     "machines: [{name: m, model: mac-mini-m4-pro, count: 3}]\n"
     "cables: [{ring: [m1, m2, m3], kind: tb5-1m}]\n"
     "run: [{all_reduce: {library: tcp-ring, sizes: [1 MiB]}}]\n"},
};

Test(check_cases, each_report_gets_its_finding)
{
    for (size_t i = 0; i < sizeof reports / sizeof reports[0]; i++) {
        const struct report *report = &reports[i];
        struct scenario scenario;
        struct check_result result;

        check_text(report->name, report->yaml, &scenario, &result);
        cr_expect_str_eq(result.binding, report->binding, "%s: '%s'", report->name, result.binding);
        for (size_t k = 0; k < PIECES && report->pieces[k]; k++) {
            bool is_said = false;

            for (size_t f = 0; finding_nth(&result, report->id, f); f++)
                is_said = is_said || says(finding_nth(&result, report->id, f), report->pieces[k]);
            cr_expect(is_said, "%s: nobody says '%s'", report->name, report->pieces[k]);
        }
        for (size_t f = 0; report->absent && f < result.finding_count; f++)
            cr_expect_not(says(&result.findings[f], report->absent), "%s: %s", report->name,
                          result.findings[f].id);
        check_result_done(&result);
        scenario_done(&scenario);
    }
}

/* The shortest file that asks for a mesh, with bridge0 as macOS leaves it. */
Test(check_cases, two_to_nine_macs_of_every_model_from_a_file)
{
    for (size_t m = 0; m < catalog.machine_count; m++) {
        const struct machine_model *model = &catalog.machines[m];
        size_t ports = machine_count_rdma_ports(model, false);

        for (uint32_t n = 2; n <= 9 && model->kind == MACHINE_MAC; n++) {
            struct scenario scenario;
            struct check_result result;
            char yaml[400];
            const char *binding = n > ports + 1 ? "port-count" : "";
            int length =
                snprintf(yaml, sizeof yaml,
                         "tbmesh: 1\nmachines: [{name: m, model: %s, count: %u}]\ncables:\n  - "
                         "{kind: %s, mesh: [m1",
                         model->name, n, ports ? "tb5-1m" : "tb4-1m");

            for (uint32_t i = 2; i <= n; i++)
                length += snprintf(yaml + length, sizeof yaml - (size_t)length, ", m%u", i);
            (void)snprintf(yaml + length, sizeof yaml - (size_t)length, "]}\n");
            if (!model->is_rdma_capable)
                binding = "tb4-host";
            check_text(model->name, yaml, &scenario, &result);
            cr_expect_str_eq(result.binding, binding, "%u x %s: '%s'", n, model->name,
                             result.binding);
            cr_expect_eq(result.mesh_cables, n * (n - 1) / 2);
            check_result_done(&result);
            scenario_done(&scenario);
        }
    }
}
