/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <string.h>

#include <criterion/criterion.h>

#include "sim/report/export_mlx.h"
#include "tests/unit/support/findings.h"
#include "tests/unit/support/testbed.h"

static bool build(struct testbed *bed, enum export_shape shape, uint32_t wires,
                  struct check_matrix *matrix, struct err *err)
{
    *err = (struct err){0};
    return export_matrix(&bed->cluster, &(struct export_request){.shape = shape, .wires = wires},
                         &bed->arena, matrix, err);
}

static const char *matrix_text(struct testbed *bed, const struct check_matrix *matrix)
{
    struct text text;

    text_init(&text, &bed->arena);
    export_matrix_json(matrix, &text);
    return text.bytes;
}

static void mesh_init(struct testbed *bed, const char *model, uint32_t n)
{
    testbed_init(bed);
    testbed_add_many(bed, "m", testbed_model(model), n);
    cr_assert(testbed_mesh(bed));
}

Test(export_mlx, a_mesh_names_one_device_a_cell)
{
    struct testbed bed;
    struct check_matrix matrix;
    struct err err;

    mesh_init(&bed, "mac-mini-m4-pro", 3);
    cr_assert(build(&bed, EXPORT_AUTO, 0, &matrix, &err), "%s", err.text);
    cr_expect_str_eq(matrix_text(&bed, &matrix), "[\n"
                                                 "    [null, \"rdma_en2\", \"rdma_en3\"],\n"
                                                 "    [\"rdma_en2\", null, \"rdma_en3\"],\n"
                                                 "    [\"rdma_en2\", \"rdma_en3\", null]\n"
                                                 "]\n");
    testbed_done(&bed);
}

Test(export_mlx, a_host_file_has_one_entry_a_rank_with_its_row)
{
    static const char *const ips[] = {"198.51.100.7", NULL};
    struct testbed bed;
    struct check_matrix matrix;
    struct err err;
    struct text text;

    mesh_init(&bed, "mac-mini-m4-pro", 2);
    bed.cluster.hosts[1].name = "odd\"name";
    cr_assert(build(&bed, EXPORT_MESH, 0, &matrix, &err));
    text_init(&text, &bed.arena);
    export_hosts_json(&matrix, &bed.cluster, ips, &text);
    cr_expect_str_eq(text.bytes, "[\n"
                                 "    {\n"
                                 "        \"ssh\": \"m1\",\n"
                                 "        \"ips\": [\"198.51.100.7\"],\n"
                                 "        \"rdma\": [null, \"rdma_en2\"]\n"
                                 "    },\n"
                                 "    {\n"
                                 "        \"ssh\": \"odd\\\"name\",\n"
                                 "        \"ips\": [\"192.0.2.2\"],\n"
                                 "        \"rdma\": [\"rdma_en2\", null]\n"
                                 "    }\n"
                                 "]\n");
    testbed_done(&bed);
}

/* Two cables crossed: wire k has to be one cable at both ends. */
Test(export_mlx, a_ring_lists_its_wires_in_the_order_of_the_cables_at_both_ends)
{
    struct testbed bed;
    struct check_matrix matrix;
    struct err err;

    testbed_init(&bed);
    testbed_add_many(&bed, "m", testbed_model("mac-studio-m3-ultra"), 2);
    testbed_cable(&bed, 0, 6, 1, 5);
    testbed_cable(&bed, 1, 6, 0, 5);
    cr_assert(build(&bed, EXPORT_RING, 0, &matrix, &err), "%s", err.text);
    cr_expect_str_eq(matrix_text(&bed, &matrix), "[\n"
                                                 "    [null, [\"rdma_en7\", \"rdma_en6\"]],\n"
                                                 "    [[\"rdma_en6\", \"rdma_en7\"], null]\n"
                                                 "]\n");
    cr_assert(build(&bed, EXPORT_RING, 1, &matrix, &err));
    cr_expect_str_eq(matrix_text(&bed, &matrix), "[\n"
                                                 "    [null, \"rdma_en7\"],\n"
                                                 "    [\"rdma_en6\", null]\n"
                                                 "]\n");
    testbed_done(&bed);
}

/* The check knows the cables and JACCL's rules; what is exported must satisfy it. */
static void expect_sound(struct testbed *bed, const struct check_matrix *matrix, const char *name)
{
    struct check_result result;

    check_cluster(&(struct check_input){.cluster = &bed->cluster, .matrix = matrix}, &result);
    cr_expect_eq(finding_errors(&result), 0, "%s: %s", name, result.binding);
    for (size_t i = 0; i < result.finding_count; i++)
        cr_expect_neq(strncmp(result.findings[i].id, "matrix", 6), 0, "%s: %s", name,
                      result.findings[i].why);
    check_result_done(&result);
}

Test(export_mlx, what_is_exported_passes_the_check)
{
    for (uint32_t n = 2; n <= 7; n++) {
        for (enum export_shape shape = EXPORT_AUTO; shape <= EXPORT_RING; shape++) {
            struct testbed bed;
            struct check_matrix matrix;
            struct err err;

            mesh_init(&bed, "mac-studio-m3-ultra", n);
            cr_assert(build(&bed, shape, 0, &matrix, &err), "%s", err.text);
            cr_expect_eq(matrix.size, n);
            cr_expect_eq(matrix.prefers_ring, shape == EXPORT_RING);
            expect_sound(&bed, &matrix, "mesh");
            testbed_done(&bed);
        }
    }
}

Test(export_mlx, a_ring_cabled_out_of_order_is_exported_in_its_own_order)
{
    static const uint32_t order[] = {0, 2, 4, 1, 3};
    struct testbed bed;
    struct check_matrix matrix;
    struct err err;

    testbed_init(&bed);
    testbed_add_many(&bed, "m", testbed_model("mac-mini-m4-pro"), 5);
    for (uint32_t i = 0; i < 5; i++)
        testbed_cable(&bed, order[i], 1, order[(i + 1) % 5], 2);
    cr_assert(build(&bed, EXPORT_AUTO, 0, &matrix, &err), "%s", err.text);
    cr_expect(matrix.prefers_ring);
    for (uint32_t i = 0; i < 5; i++)
        cr_expect_eq(matrix.hosts[i].ix, order[i]);
    expect_sound(&bed, &matrix, "ring");
    testbed_done(&bed);
}

Test(export_mlx, rdma_that_is_switched_off_is_exported_all_the_same)
{
    struct testbed bed;
    struct check_matrix matrix;
    struct err err;

    mesh_init(&bed, "mac-mini-m4-pro", 2);
    bed.cluster.hosts[0].is_rdma_enabled = false;
    cr_expect(build(&bed, EXPORT_AUTO, 0, &matrix, &err), "%s", err.text);
    testbed_done(&bed);
}

Test(export_mlx, what_cannot_be_exported_says_why)
{
    static const struct {
        const char *name;
        const char *model;
        uint32_t machines, cables; /* of a chain */
        enum export_shape shape;
        uint32_t wires;
        uint64_t gbps;
        const char *piece;
    } rows[] = {
        {"alone", "mac-mini-m4-pro", 1, 0, EXPORT_AUTO, 0, 80, "two computers or more"},
        {"old", "mac-mini-m4", 2, 1, EXPORT_AUTO, 0, 80, "no Thunderbolt 5 port"},
        {"uncabled", "mac-mini-m4-pro", 2, 0, EXPORT_AUTO, 0, 80, "m1 and m2 share no cable"},
        {"slow", "mac-mini-m4-pro", 2, 1, EXPORT_MESH, 0, 40, "m1 and m2 share no cable"},
        {"chain as mesh", "mac-mini-m4-pro", 3, 2, EXPORT_MESH, 0, 80, "m1 and m3 share no cable"},
        {"chain", "mac-mini-m4-pro", 3, 2, EXPORT_AUTO, 0, 80, "; and no ring"},
        {"chain as ring", "mac-mini-m4-pro", 3, 2, EXPORT_RING, 0, 80, "no ring"},
        {"too many wires", "mac-mini-m4-pro", 2, 1, EXPORT_RING, 2, 80, "1 is what every pair has"},
    };

    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct testbed bed;
        struct check_matrix matrix;
        struct err err;

        testbed_init(&bed);
        testbed_add_many(&bed, "m", testbed_model(rows[i].model), rows[i].machines);
        for (uint32_t k = 0; k < rows[i].cables; k++) {
            struct cluster_cable *cable = testbed_cable(&bed, k, 1, k + 1, 2);

            cable->rate_ab = cable->rate_ba = GBPS(rows[i].gbps);
        }
        cr_expect_not(build(&bed, rows[i].shape, rows[i].wires, &matrix, &err), "%s", rows[i].name);
        cr_expect(strstr(err.text, rows[i].piece), "%s: %s", rows[i].name, err.text);
        testbed_done(&bed);
    }
}

/* mlx.launch --backend ring: rank r listens on its end of the cable to rank r - 1. */
Test(export_mlx, a_tcp_ring_lists_the_addresses_towards_the_rank_before)
{
    struct testbed bed;
    struct err err = {0};
    struct text text;

    testbed_init(&bed);
    testbed_add_many(&bed, "old", testbed_model("mac-mini-m4"), 3);
    for (uint32_t i = 0; i < 3; i++)
        testbed_cable_of(&bed, &testbed_tb4_cable, i, 1, (i + 1) % 3, 2);
    text_init(&text, &bed.arena);
    cr_assert(export_tcp_ring_json(&bed.cluster, &bed.arena, &text, &err), "%s", err.text);
    /* Cable 2 is old3 - old1, so its second end, .10, is old1's; and so round. */
    cr_expect(strstr(text.bytes, "\"ssh\": \"old1\",\n        \"ips\": [\"192.168.0.10\"]"), "%s",
              text.bytes);
    cr_expect(strstr(text.bytes, "\"ssh\": \"old2\",\n        \"ips\": [\"192.168.0.2\"]"));
    cr_expect(strstr(text.bytes, "\"ssh\": \"old3\",\n        \"ips\": [\"192.168.0.6\"]"));
    testbed_done(&bed);
}

Test(export_mlx, json_text_escapes_what_json_asks_for)
{
    struct arena arena;
    struct text text;

    arena_init(&arena);
    text_init(&text, &arena);
    export_json_text(&text, "a\"b\\c\nd\x01\xc3\xa9");
    cr_expect_str_eq(text.bytes, "\"a\\\"b\\\\c\\u000ad\\u0001\xc3\xa9\"");
    arena_done(&arena);
}
