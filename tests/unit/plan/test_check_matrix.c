/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>

#include <criterion/criterion.h>

#include "sim/plan/check.h"
#include "tests/unit/support/findings.h"
#include "tests/unit/support/testbed.h"

#define RANKS_MAX 4U
#define NAMES_MAX 8U

/* A matrix written as text: cells of a row by ',', rows by '/', names of a cell by '+', '-' null.
 * "-,en4/en2,-" */
struct written {
    char text[256];
    const char *names[RANKS_MAX * RANKS_MAX][NAMES_MAX];
    const char *const *cells[RANKS_MAX * RANKS_MAX];
    struct src_pos pos[RANKS_MAX * RANKS_MAX];
    host_id hosts[RANKS_MAX];
    struct check_matrix matrix;
};

/* Cuts the next piece off *rest at one of `separators`; NULL at the end. */
static char *next_piece(char **rest, const char *separators)
{
    char *piece = *rest;
    size_t length;

    if (!piece)
        return NULL;
    length = strcspn(piece, separators);
    *rest = piece[length] ? piece + length + 1 : NULL;
    piece[length] = '\0';
    return piece;
}

static void write_matrix(struct written *w, size_t size, const char *text)
{
    char *rest = w->text;
    char *cell;

    memset(w, 0, sizeof *w);
    (void)snprintf(w->text, sizeof w->text, "%s", text);
    for (size_t i = 0; (cell = next_piece(&rest, ",/")); i++) {
        size_t count = 0;

        w->pos[i] =
            (struct src_pos){"matrix.json", (uint32_t)(i / size + 1), (uint32_t)(i % size + 1)};
        if (*cell == '-')
            continue;
        for (char *name; (name = next_piece(&cell, "+"));)
            w->names[i][count++] = name;
        w->cells[i] = w->names[i];
    }
    for (uint32_t i = 0; i < size; i++)
        w->hosts[i] = (host_id){i};
    w->matrix = (struct check_matrix){
        .size = size, .hosts = w->hosts, .cells = w->cells, .cell_pos = w->pos};
}

static struct check_result check_text(struct testbed *bed, size_t size, const char *text, bool ring)
{
    struct written w;
    struct check_result result;

    write_matrix(&w, size, text);
    w.matrix.prefers_ring = ring;
    check_cluster(&(struct check_input){.cluster = &bed->cluster, .matrix = &w.matrix}, &result);
    return result;
}

/* Two Studios, two cables crossed: en6 - en7 and en7 - en6 (exo PR 2160 and 2195). */
static void crossed_init(struct testbed *bed)
{
    testbed_init(bed);
    testbed_add(bed, "a", "mac-studio-m3-ultra");
    testbed_add(bed, "b", "mac-studio-m3-ultra");
    testbed_cable(bed, 0, 5, 1, 6);
    testbed_cable(bed, 0, 6, 1, 5);
}

Test(check_matrix, crossed_rails_are_rejected_with_the_pair_and_both_right_forms)
{
    static const struct {
        const char *text;
        bool ring;
        bool is_crossed;
    } rows[] = {
        {"-,rdma_en6/rdma_en6,-", false, true},
        {"-,rdma_en6/rdma_en6,-", true, true},
        {"-,rdma_en6/rdma_en7,-", false, false},
        {"-,rdma_en7/rdma_en6,-", false, false},
        {"-,rdma_en6+rdma_en7/rdma_en7+rdma_en6,-", true, false},
        {"-,rdma_en6+rdma_en7/rdma_en6+rdma_en7,-", true, true},
        {"-,rdma_en6+rdma_en7/rdma_en7+rdma_en7,-", false, false}, /* a mesh uses the first */
    };

    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct testbed bed;

        crossed_init(&bed);

        struct check_result result = check_text(&bed, 2, rows[i].text, rows[i].ring);
        const struct finding *finding = finding_of(&result, "rail-crossed");

        cr_expect_eq(finding != NULL, rows[i].is_crossed, "row %zu", i);
        cr_expect_eq(result.is_feasible, !rows[i].is_crossed, "row %zu: %s", i, result.binding);
        if (finding) {
            cr_expect_str_eq(finding->where, "a - b");
            cr_expect(says(finding, "row 1 (a), column 2 (b): \"rdma_en6\" and row 2 (b), column "
                                    "1 (a): \"rdma_en7\""),
                      "%s", finding->fix);
            cr_expect(says(finding, "[\"rdma_en6\", \"rdma_en7\"]") &&
                          says(finding, "[\"rdma_en7\", \"rdma_en6\"]"),
                      "%s", finding->fix);
            cr_expect(says(finding, "a deadlock without any error"));
            cr_expect_eq(finding->pos.line, 1);
            cr_expect_eq(finding->pos.col, 2);
        }
        check_result_done(&result);
        testbed_done(&bed);
    }
}

/* Two minis, one cable on en4 at both ends; the generated matrix says en2 at one. */
Test(check_matrix, a_dead_port_names_its_row_its_state_and_the_right_device)
{
    struct testbed bed;

    testbed_init(&bed);
    testbed_add(&bed, "a", "mac-mini-m4-pro");
    testbed_add(&bed, "b", "mac-mini-m4-pro");
    testbed_cable(&bed, 0, 3, 1, 3);

    struct check_result result = check_text(&bed, 2, "-,rdma_en4/rdma_en2,-", false);
    const struct finding *finding = finding_of(&result, "matrix-dead-port");

    cr_assert(finding);
    cr_expect_eq(finding_errors(&result), 1);
    cr_expect(says(finding, "Row 2 is b's"), "%s", finding->why);
    cr_expect(says(finding, "rdma_en2 is DOWN: nothing is plugged into it"), "%s", finding->why);
    cr_expect(says(finding, "the right entry is \"rdma_en4\""), "%s", finding->why);
    cr_expect(says(finding, "write \"rdma_en4\""), "%s", finding->fix);
    cr_expect_eq(finding->pos.line, 2);
    cr_expect_eq(finding->pos.col, 1);
    check_result_done(&result);

    bed.cluster.hosts[1].is_rdma_enabled = false;
    result = check_text(&bed, 2, "-,rdma_en4/rdma_en4,-", false);
    cr_expect(says(finding_of(&result, "matrix-dead-port"),
                   "Row 1 is a's, and its rdma_en4 is DOWN: RDMA is disabled at the other end, b"));
    check_result_done(&result);
    testbed_done(&bed);
}

Test(check_matrix, an_unknown_device_is_answered_with_those_that_exist)
{
    static const struct {
        const char *text;
        const char *piece;
    } rows[] = {
        {"-,rdma_en9/rdma_en2,-", "its devices are rdma_en2, rdma_en3, rdma_en4"},
        {"-,en2/rdma_en2,-", "did you mean rdma_en2?"},
        {"-,rdma_en0/rdma_en2,-", "has no device rdma_en0"}, /* Ethernet has none */
        {"-,rdma_/rdma_en2,-", "has no device rdma_"},
    };

    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct testbed bed;

        testbed_init(&bed);
        testbed_add_many(&bed, "m", testbed_model("mac-mini-m4-pro"), 2);
        testbed_cable(&bed, 0, 1, 1, 1);

        struct check_result result = check_text(&bed, 2, rows[i].text, false);

        cr_expect(says(finding_of(&result, "matrix-unknown-device"), rows[i].piece), "%s",
                  rows[i].text);
        cr_expect_eq(finding_errors(&result), 1);
        check_result_done(&result);
        testbed_done(&bed);
    }
}

/* A mesh of three minis: m1:1 - m2:1, m1:2 - m3:1, m2:2 - m3:2. */
static void three_init(struct testbed *bed)
{
    testbed_init(bed);
    testbed_add_many(bed, "m", testbed_model("mac-mini-m4-pro"), 3);
    testbed_mesh(bed);
}

Test(check_matrix, a_device_of_the_wrong_cable_predicts_errno_60)
{
    struct testbed bed;

    three_init(&bed);

    struct check_result result =
        check_text(&bed, 3, "-,rdma_en3,rdma_en2/rdma_en2,-,rdma_en3/rdma_en2,rdma_en3,-", false);

    cr_expect_eq(finding_count(&result, "matrix-wrong-cable"), 2, "both cells of row 1");
    cr_expect(says(finding_of(&result, "matrix-wrong-cable"), "goes to m3, not to m2"));
    cr_expect(says(finding_of(&result, "matrix-wrong-cable"), "errno 60"));
    cr_expect(says(finding_of(&result, "matrix-wrong-cable"), "write \"rdma_en2\""));
    check_result_done(&result);
    testbed_done(&bed);
}

Test(check_matrix, the_shape_is_judged_as_jaccl_does_and_the_cell_is_named)
{
    static const struct {
        const char *name;
        const char *text;
        bool ring;
        const char *id; /* NULL: sound */
        const char *piece;
    } rows[] = {
        {"a mesh", "-,rdma_en2,rdma_en3/rdma_en2,-,rdma_en3/rdma_en2,rdma_en3,-", false, NULL, ""},
        {"the same as a ring", "-,rdma_en2,rdma_en3/rdma_en2,-,rdma_en3/rdma_en2,rdma_en3,-", true,
         NULL, ""},
        {"a hole", "-,rdma_en2,rdma_en3/rdma_en2,-,-/rdma_en2,rdma_en3,-", false, "matrix-shape",
         "row 2 (m2), column 3 (m3) is null"},
        {"a device on the diagonal is a ring all the same",
         "rdma_en2,rdma_en2,rdma_en3/rdma_en2,-,rdma_en3/rdma_en2,rdma_en3,-", false, NULL, ""},
        {"all null", "-,-,-/-,-,-/-,-,-", false, "matrix-shape",
         "row 2 (m2), column 3 (m3) is null and 2 more"},
        {"unequal lists but a mesh, and a ring is preferred",
         "-,rdma_en2+rdma_en2,rdma_en3/rdma_en2,-,rdma_en3/rdma_en2,rdma_en3,-", true,
         "matrix-shape", "JACCL runs its mesh instead"},
        {"unequal lists and a diagonal",
         "rdma_en2,rdma_en2+rdma_en2,rdma_en3/rdma_en2,-,rdma_en3/rdma_en2,rdma_en3,-", false,
         "unequal-rails", "use the common minimum"},
    };

    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct testbed bed;

        three_init(&bed);

        struct check_result result = check_text(&bed, 3, rows[i].text, rows[i].ring);

        if (!rows[i].id)
            cr_expect_eq(result.finding_count, 0, "%s: %s", rows[i].name,
                         result.finding_count ? result.findings[0].id : "");
        else
            cr_expect(says(finding_of(&result, rows[i].id), rows[i].piece), "%s: %s", rows[i].name,
                      result.findings[0].why);
        check_result_done(&result);
        testbed_done(&bed);
    }
}

Test(check_matrix, a_fifth_wire_is_refused)
{
    static const char *const names[] = {"rdma_en2", "rdma_en3", "rdma_en4",
                                        "rdma_en5", "rdma_en6", NULL};
    static const char *const *const cells[] = {NULL, names, names, NULL};
    static const host_id hosts[] = {{0}, {1}};
    const struct check_matrix matrix = {
        .size = 2, .hosts = hosts, .cells = cells, .prefers_ring = true};
    struct testbed bed;
    struct check_result result;

    testbed_init(&bed);
    testbed_add_many(&bed, "m", testbed_model("mac-studio-m3-ultra"), 2);
    for (uint32_t i = 1; i <= 5; i++)
        testbed_cable(&bed, 0, i, 1, i);
    check_cluster(&(struct check_input){.cluster = &bed.cluster, .matrix = &matrix}, &result);
    cr_expect_str_eq(result.binding, "jaccl-wires-cap");
    check_result_done(&result);
    testbed_done(&bed);
}

Test(check_matrix, a_hub_port_reaches_every_mac_on_the_hub)
{
    struct testbed bed;

    testbed_init(&bed);
    testbed_add_many(&bed, "m", testbed_model("mac-mini-m4-pro"), 2);
    testbed_add(&bed, "hub", "tb5-hub");
    testbed_cable(&bed, 0, 1, 2, 1);
    testbed_cable(&bed, 1, 3, 2, 2);

    struct check_result result = check_text(&bed, 2, "-,rdma_en2/rdma_en4,-", false);

    cr_expect(result.is_feasible, "%s", result.binding);
    check_result_done(&result);
    testbed_done(&bed);
}
