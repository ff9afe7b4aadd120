/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <string.h>

#include <criterion/criterion.h>

#include "sim/scenario/import_mlx.h"
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

TestSuite(import_mlx, .init = set_up, .fini = tear_down);

/* One import; text is NULL after errors, which are then joined in `errors`. */
struct outcome {
    struct arena arena;
    const char *text;
    char errors[2000];
    size_t error_count;
    struct src_pos first;
};

static void import_text(struct outcome *ret, const char *json, const char *const *models,
                        size_t model_count)
{
    const struct import_mlx_options options = {
        .catalog = &catalog, .models = models, .model_count = model_count};
    struct source_text text = files_text("dir/hosts.json", json);
    struct err_list errs;
    const char *out = NULL;

    memset(ret, 0, sizeof *ret);
    arena_init(&ret->arena);
    err_list_init(&errs);
    if (import_mlx_parse(&text, &options, &ret->arena, &out, &errs))
        ret->text = out;
    cr_expect_eq(ret->text == NULL, errs.count > 0, "an error if and only if there is no text");
    files_join_errors(&errs, ret->errors, sizeof ret->errors);
    ret->error_count = errs.count;
    if (errs.count)
        ret->first = errs.items[0].pos;
    err_list_done(&errs);
}

static void outcome_done(struct outcome *outcome)
{
    arena_done(&outcome->arena);
}

/* The mesh of the MLX documentation, distributed.rst at 846d176. */
static const char *const documented =
    "[\n"
    "    {\"ssh\": \"m3-ultra-1\", \"ips\": [\"123.123.123.1\"],\n"
    "     \"rdma\": [null, \"rdma_en5\", \"rdma_en4\", \"rdma_en3\"]},\n"
    "    {\"ssh\": \"m3-ultra-2\", \"ips\": [],\n"
    "     \"rdma\": [\"rdma_en5\", null, \"rdma_en3\", \"rdma_en4\"]},\n"
    "    {\"ssh\": \"m3-ultra-3\", \"ips\": [],\n"
    "     \"rdma\": [\"rdma_en4\", \"rdma_en3\", null, \"rdma_en5\"]},\n"
    "    {\"ssh\": \"m3-ultra-4\", \"ips\": [],\n"
    "     \"rdma\": [\"rdma_en3\", \"rdma_en4\", \"rdma_en5\", null]}\n"
    "]\n";

Test(import_mlx, the_documented_host_file_becomes_six_cables_on_the_ports_of_the_mac)
{
    static const char *const models[] = {"mac-studio-m3-ultra"};
    static const char *const lines[] = {
        "name: \"hosts.json\"\n",
        "  - {name: m3-ultra-1, model: mac-studio-m3-ultra}\n",
        "  - {from: m3-ultra-1 port 4, to: m3-ultra-2 port 4, kind: tb5-1m}\n",
        "  - {from: m3-ultra-1 port 3, to: m3-ultra-3 port 3, kind: tb5-1m}\n",
        "  - {from: m3-ultra-1 port 2, to: m3-ultra-4 port 2, kind: tb5-1m}\n",
        "  - {from: m3-ultra-2 port 2, to: m3-ultra-3 port 2, kind: tb5-1m}\n",
        "  - {from: m3-ultra-2 port 3, to: m3-ultra-4 port 3, kind: tb5-1m}\n",
        "  - {from: m3-ultra-3 port 4, to: m3-ultra-4 port 4, kind: tb5-1m}\n",
        "library: jaccl-mesh",
    };
    struct outcome outcome;

    import_text(&outcome, documented, models, 1);
    cr_assert(outcome.text, "%s", outcome.errors);
    for (size_t i = 0; i < sizeof lines / sizeof lines[0]; i++)
        cr_expect(strstr(outcome.text, lines[i]), "%s in\n%s", lines[i], outcome.text);
    outcome_done(&outcome);
}

Test(import_mlx, without_a_model_the_macs_that_fit_are_listed_and_the_ports_are_known)
{
    struct outcome outcome;

    import_text(&outcome, documented, NULL, 0);
    cr_assert(outcome.text, "%s", outcome.errors);
    cr_expect(strstr(outcome.text, "{name: m3-ultra-1, model: CHANGE-ME}   # one of: "
                                   "mac-studio-m3-ultra, mac-studio-m4-max\n"),
              "%s", outcome.text);
    cr_expect(strstr(outcome.text, "{from: m3-ultra-1 port 4, to: m3-ultra-2 port 4"));
    outcome_done(&outcome);
}

Test(import_mlx, the_only_mac_with_all_devices_is_found_and_an_open_question_is_asked)
{
    static const struct {
        const char *name;
        const char *json;
        const char *piece; /* of the text, or of the errors when it begins with '!' */
    } rows[] = {
        {"only the Ultra has en7", "[[null, \"rdma_en7\"], [\"rdma_en7\", null]]",
         "{name: mac1, model: mac-studio-m3-ultra}\n"},
        {"only MacBooks have en1, and several", "[[null, \"rdma_en1\"], [\"rdma_en1\", null]]",
         "{name: mac2, model: CHANGE-ME}   # one of: macbook-pro"},
        {"en2 is another port of a MacBook", "[[null, \"rdma_en2\"], [\"rdma_en2\", null]]",
         "!which Mac is mac1? rdma_en2 is port 1 of mac-studio-m3-ultra and port 2 of macbook-pro"},
        {"nobody has en12", "[[null, \"rdma_en12\"], [\"rdma_en12\", null]]",
         "!no Mac with Thunderbolt 5 in the catalogue has all devices of row 'mac1'"},
    };

    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        bool wants_error = *rows[i].piece == '!';
        struct outcome outcome;

        import_text(&outcome, rows[i].json, NULL, 0);
        cr_expect_eq(outcome.text == NULL, wants_error, "%s: %s", rows[i].name, outcome.errors);
        if (wants_error)
            cr_expect(strstr(outcome.errors, rows[i].piece + 1), "%s: %s", rows[i].name,
                      outcome.errors);
        else
            cr_expect(strstr(outcome.text, rows[i].piece), "%s: %s", rows[i].name, outcome.text);
        outcome_done(&outcome);
    }
}

Test(import_mlx, one_model_for_all_or_one_for_each)
{
    static const char *const models[] = {"mac-mini-m4-pro", "macbook-pro-m4-max"};
    const char *json = "[[null, \"rdma_en2\"], [\"rdma_en2\", null]]";
    struct outcome outcome;

    import_text(&outcome, json, models, 2);
    cr_assert(outcome.text, "%s", outcome.errors);
    cr_expect(strstr(outcome.text, "{from: mac1 port 1, to: mac2 port 2, kind"), "%s",
              outcome.text);
    outcome_done(&outcome);

    import_text(&outcome,
                "[[null,\"rdma_en2\",\"rdma_en3\"],[\"rdma_en2\",null,\"rdma_en3\"],"
                "[\"rdma_en2\",\"rdma_en3\",null]]",
                models, 2);
    cr_expect(strstr(outcome.errors, "2 models for 3 ranks"), "%s", outcome.errors);
    outcome_done(&outcome);
}

Test(import_mlx, a_ring_keeps_its_wires_and_an_object_with_hosts_its_back_end)
{
    static const char *const models[] = {"mac-studio-m3-ultra"};
    struct outcome outcome;

    import_text(&outcome,
                "{\"backend\":\"jaccl-ring\",\"envs\":[],\"hosts\":["
                "{\"ssh\":\"me@a.local\",\"ips\":[],\"rdma\":[null,[\"rdma_en6\",\"rdma_en7\"]]},"
                "{\"ssh\":\"b\",\"ips\":[],\"rdma\":[[\"rdma_en7\",\"rdma_en6\"],null]}]}",
                models, 1);
    cr_assert(outcome.text, "%s", outcome.errors);
    cr_expect(strstr(outcome.text, "{from: a.local port 5, to: b port 6, kind"));
    cr_expect(strstr(outcome.text, "{from: a.local port 6, to: b port 5, kind"));
    cr_expect(strstr(outcome.text, "library: jaccl-ring"));
    cr_expect(strstr(outcome.text, "wires: 2"));
    outcome_done(&outcome);
}

Test(import_mlx, cells_of_which_only_one_end_is_named_are_left_out_with_a_comment)
{
    static const char *const models[] = {"mac-studio-m3-ultra"};
    struct outcome outcome;

    import_text(&outcome, "[[null, [\"rdma_en3\", \"rdma_en4\"]], [\"rdma_en3\", null]]", models,
                1);
    cr_assert(outcome.text, "%s", outcome.errors);
    cr_expect(strstr(outcome.text, "# row 1 (mac1), column 2 (mac2) names 2 devices, row 2 (mac2), "
                                   "column 1 (mac1) names 1 device: a cable needs both ends"),
              "%s", outcome.text);
    cr_expect_not(strstr(outcome.text, "port 3"));
    outcome_done(&outcome);
}

Test(import_mlx, what_is_neither_mesh_nor_ring_is_refused_at_its_cells)
{
    static const char *const models[] = {"mac-studio-m3-ultra"};
    static const struct {
        const char *name;
        const char *json;
        uint32_t line, col; /* of the first error */
        const char *mesh, *ring;
    } rows[] = {
        {"a hole in three",
         "[[null, \"rdma_en2\", \"rdma_en3\"],\n"
         " [\"rdma_en2\", null, null],\n"
         " [\"rdma_en2\", \"rdma_en3\", null]]",
         2, 21, "not a mesh: row 2 (mac2), column 3 (mac3) is null",
         "not a ring: row 2 (mac2), column 3 (mac3) is null"},
        {"unequal rails on a diagonal that is not empty",
         "[[\"rdma_en7\", [\"rdma_en2\", \"rdma_en4\"], \"rdma_en3\"],\n"
         " [\"rdma_en2\", null, \"rdma_en3\"],\n"
         " [\"rdma_en2\", \"rdma_en3\", null]]",
         1, 3, "not a mesh: row 1 (mac1), column 1 (mac1) names 1 device, where a mesh has null",
         "not a ring: row 1 (mac1), column 3 (mac3) names 1 device"},
        {"all null", "[[null, null],\n [null, null]]", 1, 9,
         "not a mesh: row 1 (mac1), column 2 (mac2) is null",
         "not a ring: row 1 (mac1), column 2 (mac2) is null"},
    };

    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct outcome outcome;

        import_text(&outcome, rows[i].json, models, 1);
        cr_expect_eq(outcome.error_count, 2, "%s: %s", rows[i].name, outcome.errors);
        cr_expect_eq(outcome.first.line, rows[i].line, "%s: %s", rows[i].name, outcome.errors);
        cr_expect_eq(outcome.first.col, rows[i].col, "%s: %s", rows[i].name, outcome.errors);
        cr_expect(strstr(outcome.errors, rows[i].mesh), "%s: %s", rows[i].name, outcome.errors);
        cr_expect(strstr(outcome.errors, rows[i].ring), "%s: %s", rows[i].name, outcome.errors);
        outcome_done(&outcome);
    }
}

Test(import_mlx, every_slip_is_named_at_its_place)
{
    static const struct {
        const char *name;
        const char *json;
        const char *model;
        const char *error; /* with its place */
    } rows[] = {
        {"not JSON", "[[null, \"rdma_en2\"", "mac-mini-m4-pro", "1:"},
        {"empty", "", "mac-mini-m4-pro", ":"},
        {"a text", "\"hosts\"", "mac-mini-m4-pro", "1:1: neither a host file of MLX"},
        {"a map without hosts", "{\"a\": 1}", "mac-mini-m4-pro", "1:1: neither a host file of MLX"},
        {"one rank", "[[null]]", "mac-mini-m4-pro", "1:1: 1 rank; 2 to 256"},
        {"a number for a host", "[1, 2]", "mac-mini-m4-pro", "1:2: a host is {"},
        {"no name", "[{\"rdma\": [null, \"rdma_en2\"]}, {\"ssh\": \"b\"}]", "mac-mini-m4-pro",
         "1:2: this host has no \"ssh\" name"},
        {"a host file for TCP",
         "[{\"ssh\": \"a\", \"ips\": [\"192.0.2.1\"]}, {\"ssh\": \"b\", \"rdma\": []}]",
         "mac-mini-m4-pro", "1:2: a has no \"rdma\" row: a host file for TCP names no devices"},
        {"a short row", "[[null, \"rdma_en2\"],\n [\"rdma_en2\"]]", "mac-mini-m4-pro",
         "2:2: row 2 (mac2) has 1 cell, but there are 2 ranks"},
        {"a map for a cell", "[[null, {\"a\": 1}], [\"rdma_en2\", null]]", "mac-mini-m4-pro",
         "1:9: a cell is null, a device name or a list of them, not a map"},
        {"null in a list", "[[null, [null]], [\"rdma_en2\", null]]", "mac-mini-m4-pro",
         "1:10: a device name such as"},
        {"the same Mac twice",
         "[{\"ssh\": \"a\", \"rdma\": [null, \"rdma_en2\"]},\n"
         " {\"ssh\": \"me@a\", \"rdma\": [\"rdma_en2\", null]}]",
         "mac-mini-m4-pro", "2:10: rank 0 and rank 1 are both called a"},
        {"a port twice",
         "[[null, \"rdma_en2\", \"rdma_en2\"], [\"rdma_en2\", null, \"rdma_en3\"], "
         "[\"rdma_en2\", \"rdma_en3\", null]]",
         "mac-mini-m4-pro",
         "1:21: row 1 (mac1), column 3 (mac3) names rdma_en2 again after column 2 (mac2)"},
        {"a device it lacks", "[[null, \"rdma_en5\"], [\"rdma_en2\", null]]", "mac-mini-m4-pro",
         "1:9: mac1 (mac-mini-m4-pro) has no device 'rdma_en5', did you mean 'rdma_en2'?: it has "
         "rdma_en2, rdma_en3, rdma_en4"},
        {"an interface for a device", "[[null, \"en2\"], [\"rdma_en2\", null]]", "mac-mini-m4-pro",
         "1:9: mac1 (mac-mini-m4-pro) has no device 'en2'"},
        {"the Ethernet port", "[[null, \"rdma_en0\"], [\"rdma_en2\", null]]", "mac-mini-m4-pro",
         "has no device 'rdma_en0'"},
        {"a Mac that is none", "[[null, \"rdma_en2\"], [\"rdma_en2\", null]]", "mac-mini-m4-por",
         "the catalogue has no Mac 'mac-mini-m4-por', did you mean 'mac-mini-m4-pro'?"},
        {"a hub for a Mac", "[[null, \"rdma_en2\"], [\"rdma_en2\", null]]", "tb5-hub",
         "the catalogue has no Mac 'tb5-hub'"},
    };

    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct outcome outcome;

        import_text(&outcome, rows[i].json, &rows[i].model, 1);
        cr_expect_null(outcome.text, "%s", rows[i].name);
        cr_expect(strstr(outcome.errors, rows[i].error), "%s: %s", rows[i].name, outcome.errors);
        outcome_done(&outcome);
    }
}

Test(import_mlx, names_that_a_scenario_could_not_hold_are_made_fit)
{
    static const char *const models[] = {"mac-mini-m4-pro"};
    static const struct {
        const char *ssh, *name;
    } rows[] = {
        {"10.0.0.1", "10.0.0.1"},
        {"user@mini.local", "mini.local"},
        {"mini one", "mini-one"},
        {"-x", "mac-x"},
        {"~", "mac-"},
    };

    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct outcome outcome;
        char json[200];
        char line[100];

        (void)snprintf(json, sizeof json,
                       "[{\"ssh\": \"%s\", \"rdma\": [null, \"rdma_en2\"]}, "
                       "{\"ssh\": \"other\", \"rdma\": [\"rdma_en2\", null]}]",
                       rows[i].ssh);
        (void)snprintf(line, sizeof line, "{name: %s, model", rows[i].name);
        import_text(&outcome, json, models, 1);
        cr_assert(outcome.text, "%s: %s", rows[i].ssh, outcome.errors);
        cr_expect(strstr(outcome.text, line), "%s in %s", line, outcome.text);
        outcome_done(&outcome);
    }
}
