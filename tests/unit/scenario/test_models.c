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

TestSuite(models, .init = set_up, .fini = tear_down);

static size_t count_ports(const struct machine_model *machine, uint32_t generation,
                          bool without_doubt)
{
    size_t count = 0;

    for (size_t i = 0; i < machine->port_count; i++) {
        const struct port_model *port = &machine->ports[i];

        count += port->kind == PORT_THUNDERBOLT && port->generation == generation &&
                 !(without_doubt && port->is_doubtful);
    }
    return count;
}

Test(models, each_mac_has_the_ports_of_the_published_table)
{
    static const struct {
        const char *name;
        size_t tb5, tb5_sure, tb4;
        bool is_rdma_capable;
        const char *first_ifname;
    } rows[] = {
        {"mac-studio-m3-ultra", 6, 5, 0, true, "en2"},
        {"mac-studio-m4-max", 4, 3, 0, true, "en2"},
        {"mac-mini-m4-pro", 3, 3, 0, true, "en2"},
        {"macbook-pro-m4-pro", 3, 3, 0, true, "en1"},
        {"macbook-pro-m4-max", 3, 3, 0, true, "en1"},
        {"macbook-pro-m5-pro", 3, 3, 0, true, "en1"},
        {"macbook-pro-m5-max", 3, 3, 0, true, "en1"},
        {"mac-mini-m4", 0, 0, 3, false, "en2"},
        {"mac-studio-m2-ultra", 0, 0, 6, false, "en2"},
        {"mac-studio-m1-ultra", 0, 0, 6, false, "en2"},
        {"macbook-air-m4", 0, 0, 2, false, "en1"},
    };

    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        const struct machine_model *machine = catalog_find_machine(&catalog, rows[i].name);

        cr_assert_not_null(machine, "%s", rows[i].name);
        cr_expect_eq(count_ports(machine, 5, false), rows[i].tb5, "%s", rows[i].name);
        cr_expect_eq(count_ports(machine, 5, true), rows[i].tb5_sure, "%s", rows[i].name);
        cr_expect_eq(count_ports(machine, 4, false), rows[i].tb4, "%s", rows[i].name);
        cr_expect_eq(machine->is_rdma_capable, rows[i].is_rdma_capable, "%s", rows[i].name);
        cr_expect_str_eq(machine->ports[0].ifname, rows[i].first_ifname, "%s", rows[i].name);
    }
}

/* Interface names do not follow the order of the sockets on every Mac. */
Test(models, laptops_number_their_interfaces_as_they_were_seen)
{
    static const char *const m4[] = {"en1", "en2", "en3"};
    static const char *const m5[] = {"en1", "en6", "en2"};
    static const struct {
        const char *name;
        const char *const *ifnames;
    } rows[] = {{"macbook-pro-m4-pro", m4},
                {"macbook-pro-m4-max", m4},
                {"macbook-pro-m5-pro", m5},
                {"macbook-pro-m5-max", m5}};

    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        const struct machine_model *machine = catalog_find_machine(&catalog, rows[i].name);

        cr_assert_not_null(machine, "%s", rows[i].name);
        for (size_t port = 0; port < 3; port++)
            cr_expect_str_eq(machine->ports[port].ifname, rows[i].ifnames[port], "%s",
                             rows[i].name);
    }
}

Test(models, every_entry_names_its_source_and_date)
{
    for (size_t i = 0; i < catalog.machine_count; i++) {
        const struct machine_model *machine = &catalog.machines[i];

        cr_expect_eq(strlen(machine->provenance.date), 10, "%s", machine->name);
        cr_expect_gt(strlen(machine->provenance.source), 5, "%s", machine->name);
        cr_expect_eq(machine->chip == NULL,
                     machine->kind == MACHINE_HUB || machine->kind == MACHINE_SWITCH, "%s",
                     machine->name);
        for (size_t k = 0; k < machine->port_count; k++)
            cr_expect_eq(machine->ports[k].number, k + 1, "%s", machine->name);
    }
    for (uint32_t i = 0; i < PARAM_COUNT; i++) {
        const struct param_value *v = &catalog.params.v[i];

        cr_expect(v->is_set, "%s", param_name((enum param_id)i));
        cr_expect(v->low <= v->value && v->value <= v->high, "%s", param_name((enum param_id)i));
        cr_expect_neq(v->label, PARAM_USER, "%s", param_name((enum param_id)i));
        cr_expect_eq(strlen(v->date), 10, "%s", param_name((enum param_id)i));
    }
}

Test(models, macos_profiles_ascend_and_hold_until_the_next)
{
    static const struct {
        const char *version;
        bool has_rdma, has_large_buffers;
    } rows[] = {{"15.3.1", false, false}, {"26.0", false, false}, {"26.2", true, false},
                {"26.2.9", true, false},  {"26.3", true, true},   {"27", true, true}};

    for (size_t i = 1; i < catalog.macos_count; i++)
        cr_expect_lt(macos_version_compare(catalog.macos[i - 1].version, catalog.macos[i].version),
                     0);
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        const struct macos_model *macos = catalog_find_macos(&catalog, rows[i].version);

        cr_assert_not_null(macos, "%s", rows[i].version);
        cr_expect_eq(macos->has_rdma, rows[i].has_rdma, "%s", rows[i].version);
        cr_expect_eq(macos->has_large_buffers, rows[i].has_large_buffers, "%s", rows[i].version);
    }
    cr_expect_null(catalog_find_macos(&catalog, "10.15"));
}

#define CHIP                                                                               \
    "tbmesh-models: 1\nchips:\n  - {name: c, thread_copy: 1 GB/s, thread_reduce: 1 GB/s, " \
    "host_staging: 1 GB/s, memory_bandwidth: 1 GB/s, source: s, date: 2026-01-01, "        \
    "confidence: vendor}\n"

Test(models, a_bad_file_is_refused_with_each_place)
{
    static const struct {
        const char *name;
        const char *text;
        const char *expected; /* a line that must be among the errors */
    } rows[] = {
        {"version of the format", "tbmesh-models: 2\n",
         "1:16: tbmesh-models is '2'; accepted is 1 to 1"},
        {"unknown section", "tbmesh-models: 1\nmachine: []\n",
         "2:1: unknown key 'machine', did you mean 'machines'?"},
        {"unknown chip",
         CHIP "machines:\n  - {name: m, kind: mac, chip: d, rdma: true, source: s, date: "
              "2026-01-01, confidence: vendor,\n     ports: [{number: 1, ifname: en1, kind: "
              "thunderbolt, generation: 5, rate: 80 Gb/s}]}\n",
         "5:32: unknown chip 'd'"},
        {"no date",
         "tbmesh-models: 1\nchips:\n  - {name: c, thread_copy: 1 GB/s, thread_reduce: 1 "
         "GB/s, host_staging: 1 GB/s, memory_bandwidth: 1 GB/s, source: s}\n",
         "3:5: a model needs the key 'date'"},
        {"name twice", CHIP CHIP, "4:1: duplicate key 'tbmesh-models': it stands at 1:1 already"},
        {"hub with a chip",
         CHIP "machines:\n  - {name: h, kind: hub, chip: c, rdma: true, source: s, date: "
              "2026-01-01, confidence: vendor, ports: [{number: 2, ifname: p, kind: ethernet, "
              "rate: 1 Gb/s}]}\n",
         "5:32: a hub has no chip"},
        {"value outside its range",
         "tbmesh-models: 1\nparameters:\n  - {name: rdma.poll, value: 5 ns, low: 6 ns, high: 7 ns, "
         "label: assumed, source: s, date: 2026-01-01}\n",
         "3:30: rdma.poll: the value does not lie in its own range low to high"},
        {"unknown parameter",
         "tbmesh-models: 1\nparameters:\n  - {name: rdma.pol, value: 5 ns, low: 6 ns, high: 7 ns, "
         "label: assumed, source: s, date: 2026-01-01}\n",
         "3:12: unknown parameter 'rdma.pol', did you mean 'rdma.poll'?"},
        {"parameter missing", CHIP, "1:1: no model file gives the parameter 'rdma.goodput'"},
    };

    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct source_text text = files_text("m.yaml", rows[i].text);
        struct catalog bad;
        struct err_list errs;
        char all[8192];

        err_list_init(&errs);
        cr_assert_not(catalog_parse(&text, 1, &bad, &errs), "%s", rows[i].name);
        files_join_errors(&errs, all, sizeof all);
        cr_expect_not_null(strstr(all, rows[i].expected), "%s: got\n%s", rows[i].name, all);
        err_list_done(&errs);
    }
}

Test(models, an_override_changes_one_parameter_and_says_so)
{
    struct param_set params = catalog.params;
    struct arena arena;
    struct err_list warnings;
    struct err err = {0};

    err_list_init(&warnings);
    arena_init(&arena);
    cr_assert(params_override(&params, "rdma.goodput = 70 Gb/s", &arena, &warnings, &err), "%s",
              err.text);
    cr_expect_eq(params.v[PARAM_RDMA_GOODPUT].value, 70000000000);
    cr_expect_eq(params.v[PARAM_RDMA_GOODPUT].label, PARAM_USER);
    cr_expect_eq(params.v[PARAM_RDMA_POLL].label, catalog.params.v[PARAM_RDMA_POLL].label);
    cr_expect_not(params_override(&params, "rdma.goodput=70 GB", &arena, &warnings, &err));
    cr_expect_str_eq(err.text,
                     "rdma.goodput: '70 GB' is a size; a rate is wanted here: Gb/s, Mb/s, "
                     "kb/s, GB/s, MB/s, GiB/s or MiB/s");
    cr_expect_eq(err.pos.col, 14);
    cr_expect_eq(params.v[PARAM_RDMA_GOODPUT].value, 70000000000);
    err = (struct err){0};
    cr_expect_not(params_override(&params, "ip.frame_header=4 KiB", &arena, &warnings, &err));
    err = (struct err){0};
    cr_expect_not(params_override(&params, "goodput", &arena, &warnings, &err));
    cr_expect_eq(err.code, ERR_SYNTAX);
    cr_assert_eq(warnings.count, 1);
    cr_expect_str_eq(warnings.items[0].text,
                     "rdma.goodput lies outside 70.9 Gb/s to 75.1 Gb/s, where sources put it");
    err_list_done(&warnings);
    arena_done(&arena);
}

Test(models, fitted_rates_replace_those_of_the_chip_and_no_others)
{
    static const char rates[] = "tbmesh-models: 1\nchip_rates:\n"
                                "  - {chip: m3-ultra, host_staging: 7 GB/s, source: a fit}\n";
    static const char unknown[] = "tbmesh-models: 1\nchip_rates:\n"
                                  "  - {chip: m9, host_staging: 7 GB/s, source: a fit}\n";
    static const char *const names[] = {"chips", "machines", "cables", "macos", "calibration"};
    static char paths[5][512];
    struct source_text texts[6];
    struct catalog changed;
    struct err_list errs;

    for (size_t i = 0; i < 5; i++) {
        (void)snprintf(paths[i], sizeof paths[i], "%s/models/%s.yaml", SOURCE_ROOT, names[i]);
        texts[i] = files_read(paths[i]);
    }
    err_list_init(&errs);
    texts[5] = files_text("fit.yaml", rates);
    cr_assert(catalog_parse(texts, 6, &changed, &errs));

    const struct chip_model *chip = catalog_find_chip(&changed, "m3-ultra");
    const struct chip_model *was = catalog_find_chip(&catalog, "m3-ultra");

    cr_expect_eq(chip->host_staging.bps, 56000000000);
    cr_expect_eq(chip->thread_copy.bps, was->thread_copy.bps);
    catalog_done(&changed);
    texts[5] = files_text("fit.yaml", unknown);
    cr_expect_not(catalog_parse(texts, 6, &changed, &errs));
    cr_assert_eq(errs.count, 1);
    cr_expect_eq(errs.items[0].pos.line, 3);
    err_list_done(&errs);
    for (size_t i = 0; i < 5; i++)
        files_free(&texts[i]);
}
