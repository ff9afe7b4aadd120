/* SPDX-License-Identifier: Apache-2.0 */
/* Whatever an output names can be explained. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <criterion/criterion.h>

#include "sim/report/explain.h"
#include "sim/report/explain_table.h"
#include "tests/unit/report/support/result.h"

static char *read_source(const char *path)
{
    char full[512];
    FILE *file;
    char *text = calloc(1, 1 << 20);

    (void)snprintf(full, sizeof full, "%s/%s", SOURCE_ROOT, path);
    file = fopen(full, "rb");
    cr_assert(file, "%s", full);
    cr_assert(fread(text, 1, (1 << 20) - 1, file) > 0);
    (void)fclose(file);
    return text;
}

/* The explanation, NULL when there is none. */
static const char *explain(const char *name, struct arena *arena)
{
    struct catalog catalog;
    struct text text;

    memset(&catalog, 0, sizeof catalog);
    text_init(&text, arena);
    return explain_print(name, &catalog, &text) ? text.bytes : NULL;
}

Test(explain, every_parameter_is_explained_in_the_order_of_the_parameters)
{
    for (uint32_t i = 0; i < PARAM_COUNT; i++) {
        cr_expect_str_eq(explain_table[i].name, param_name((enum param_id)i));
        cr_expect_eq(explain_table[i].kind, EXPLAIN_PARAMETER);
        cr_expect(*explain_table[i].equation != '\0', "%s", explain_table[i].name);
    }
    cr_expect_neq(explain_table[PARAM_COUNT].kind, EXPLAIN_PARAMETER);
}

Test(explain, every_input_of_an_equation_is_a_parameter)
{
    for (const struct explain_entry *e = explain_table; e->name; e++) {
        for (size_t i = 0; i < EXPLAIN_INPUTS_MAX && e->inputs[i]; i++)
            cr_expect_neq(param_find(e->inputs[i]), PARAM_COUNT, "%s: %s", e->name, e->inputs[i]);
    }
}

Test(explain, no_name_stands_twice)
{
    for (const struct explain_entry *a = explain_table; a->name; a++) {
        for (const struct explain_entry *b = a + 1; b->name; b++)
            cr_expect_str_neq(a->name, b->name);
    }
}

Test(explain, every_finding_of_the_manual_is_explained_and_no_other)
{
    char *page = read_source("docs/check.md");
    size_t count = 0;
    size_t in_table = 0;
    char seen[64][48];

    for (char *at = strstr(page, "\n| `"); at; at = strstr(at + 1, "\n| `")) {
        char *end = strchr(at + 4, '`');
        bool is_new = true;

        cr_assert(end && count < 64);
        (void)snprintf(seen[count], sizeof seen[0], "%.*s", (int)(end - at - 4), at + 4);
        for (size_t i = 0; i < count; i++)
            is_new &= strcmp(seen[i], seen[count]) != 0;
        count += is_new;
    }
    for (const struct explain_entry *e = explain_table; e->name; e++) {
        bool is_there = false;

        if (e->kind != EXPLAIN_FINDING)
            continue;
        in_table++;
        for (size_t i = 0; i < count; i++)
            is_there |= strcmp(seen[i], e->name) == 0;
        cr_expect(is_there, "docs/check.md has no '%s'", e->name);
    }
    cr_expect_gt(count, 30);
    cr_expect_eq(in_table, count);
    free(page);
}

Test(explain, every_column_of_the_tables_and_every_member_of_a_result_is_explained)
{
    struct arena arena;
    struct hand_result hand;
    JsonNode *root;
    struct text tables[2];

    arena_init(&arena);
    hand_result_init(&hand);
    root = hand_result_read(&hand, &arena);
    for (size_t i = 0; i < 2; i++)
        text_init(&tables[i], &arena);
    tsv_print_results(root, &tables[0]);
    tsv_print_links(root, &tables[1]);
    for (size_t i = 0; i < 2; i++) {
        *strchr(tables[i].bytes, '\n') = '\0';
        for (char *name = strtok(tables[i].bytes, "\t"); name; name = strtok(NULL, "\t")) {
            bool is_place = strncmp(name, "link", 4) == 0 || strcmp(name, "from_ps") == 0 ||
                            strcmp(name, "to_ps") == 0;

            cr_expect(is_place || explain(name, &arena), "%s", name);
        }
    }
    json_node_unref(root);
    hand_result_done(&hand);
    arena_done(&arena);
}

Test(explain, a_column_is_found_with_and_without_its_unit)
{
    static const struct {
        const char *name, *entry;
    } rows[] = {
        {"latency_median_ps", "latency_median"},
        {"latency.median", "latency_median"},
        {"latency_ps", "latency"},
        {"algbw_bps", "algbw"},
        {"share_wire_pct", "wire"},
        {"shares.wire", "wire"},
        {"share.credit", "credit"},
        {"over_bound_pct", "over_bound"},
        {"size_bytes", "size"},
        {"median_error_pct", "median_error"},
        {"port-count", "port-count"},
        {"rdma.goodput", "rdma.goodput"},
        {"host_staging", "host_staging"},
        {"latency_median_ps_ps", NULL},
        {"_ps", NULL},
        {"share_", NULL},
        {"", NULL},
        {"no_such_column_that_is_longer_than_sixty_three_bytes_and_goes_on_and_on", NULL},
    };
    struct arena arena;

    arena_init(&arena);
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        const char *text = explain(rows[i].name, &arena);

        cr_expect_eq(text == NULL, rows[i].entry == NULL, "%s", rows[i].name);
        if (text && rows[i].entry) {
            size_t length = strlen(rows[i].entry);

            cr_expect(strncmp(text, rows[i].entry, length) == 0 && text[length] == ':', "%s: %s",
                      rows[i].name, text);
        }
    }
    arena_done(&arena);
}

Test(explain, the_value_the_range_and_the_source_of_a_parameter_are_shown)
{
    struct arena arena;
    struct catalog catalog;
    struct text text;
    struct report_head head = {.version = "1", .command = "explain"};

    memset(&catalog, 0, sizeof catalog);
    catalog.params.v[PARAM_RDMA_GOODPUT] = (struct param_value){
        .value = 74500000000,
        .low = 70000000000,
        .high = 75100000000,
        .label = PARAM_MEASURED,
        .is_set = true,
        .source = "somebody's cable",
        .date = "2026-01-02",
    };
    arena_init(&arena);
    text_init(&text, &arena);
    cr_assert(explain_print("rdma.goodput", &catalog, &text));
    cr_expect(strstr(text.bytes, "74.5 Gb/s"));
    cr_expect(strstr(text.bytes, "70 Gb/s"));
    cr_expect(strstr(text.bytes, "measured"));
    cr_expect(strstr(text.bytes, "somebody's cable"));
    cr_expect(strstr(text.bytes, "2026-01-02"));
    text_init(&text, &arena);
    cr_assert(explain_print_json(&head, "rdma.goodput", &catalog, &text));
    cr_expect(strstr(text.bytes, "\"value\": 74500000000"), "%s", text.bytes);
    cr_expect_not(explain_print_json(&head, "rdma.goodputt", &catalog, &text));
    arena_done(&arena);
}
