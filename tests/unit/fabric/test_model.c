/* SPDX-License-Identifier: Apache-2.0 */
#include <criterion/criterion.h>

#include "sim/fabric/model.h"

Test(model, versions_compare_number_by_number)
{
    static const struct {
        const char *a, *b;
        int sign;
    } rows[] = {
        {"26.3", "26.2", 1},    {"26.10", "26.9", 1},   {"26", "26.0", 0},
        {"26.2", "26.2.1", -1}, {"15.3.1", "26.0", -1}, {"26.4.1", "26.4.1", 0},
        {"26.03", "26.3", 0},
    };

    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        int forth = macos_version_compare(rows[i].a, rows[i].b);
        int back = macos_version_compare(rows[i].b, rows[i].a);

        cr_expect_eq((forth > 0) - (forth < 0), rows[i].sign, "%s %s", rows[i].a, rows[i].b);
        cr_expect_eq((back > 0) - (back < 0), -rows[i].sign, "%s %s", rows[i].b, rows[i].a);
    }
}

Test(model, only_dotted_numbers_are_versions)
{
    static const struct {
        const char *text;
        bool is_valid;
    } rows[] = {
        {"26.3", true}, {"26", true},  {"26.4.1", true},   {"", false},
        {"26.", false}, {".3", false}, {"26..3", false},   {"26.x", false},
        {"26 ", false}, {"-1", false}, {"1234567", false},
    };

    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        cr_expect_eq(macos_version_is_valid(rows[i].text), rows[i].is_valid, "'%s'", rows[i].text);
}

Test(model, a_profile_holds_from_its_version_on)
{
    struct macos_model macos[] = {{.version = "15.0"}, {.version = "26.2"}, {.version = "26.3"}};
    struct catalog catalog = {.macos = macos, .macos_count = 3};
    static const struct {
        const char *version;
        int index; /* -1: none */
    } rows[] = {{"14.9", -1}, {"15.0", 0}, {"26.1", 0}, {"26.2.5", 1}, {"26.10", 2}, {"x", -1}};

    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        const struct macos_model *expected = rows[i].index < 0 ? NULL : &macos[rows[i].index];

        cr_expect_eq(catalog_find_macos(&catalog, rows[i].version), expected, "%s",
                     rows[i].version);
    }
}

Test(model, names_are_found_whole)
{
    struct machine_model machines[] = {{.name = "mac-mini-m4"}, {.name = "mac-mini-m4-pro"}};
    struct cable_model cables[] = {{.name = "tb5-1m"}};
    struct chip_model chips[] = {{.name = "m4"}};
    struct unsold_model unsold[] = {{"mac-studio-m4-ultra", "never made"}};
    struct catalog catalog = {
        .machines = machines,
        .machine_count = 2,
        .cables = cables,
        .cable_count = 1,
        .chips = chips,
        .chip_count = 1,
        .unsold = unsold,
        .unsold_count = 1,
    };

    cr_expect_eq(catalog_find_machine(&catalog, "mac-mini-m4-pro"), &machines[1]);
    cr_expect_null(catalog_find_machine(&catalog, "mac-mini"));
    cr_expect_eq(catalog_find_cable(&catalog, "tb5-1m"), &cables[0]);
    cr_expect_null(catalog_find_cable(&catalog, "tb5-2m"));
    cr_expect_eq(catalog_find_chip(&catalog, "m4"), &chips[0]);
    cr_expect_null(catalog_find_chip(&catalog, "m5"));
    cr_expect_eq(catalog_find_unsold(&catalog, "mac-studio-m4-ultra"), &unsold[0]);
    cr_expect_null(catalog_find_unsold(&catalog, "mac-mini-m4"));
}
