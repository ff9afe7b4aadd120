/* SPDX-License-Identifier: Apache-2.0 */
/*
 * DOC: Catalogue
 *
 * Look-ups in what sim/scenario read from models/. Tables are short (tens of rows), so they are
 * searched from the front; the names are unique.
 */
#include "sim/fabric/model.h"

#include <string.h>

const struct machine_model *catalog_find_machine(const struct catalog *catalog, const char *name)
{
    for (size_t i = 0; i < catalog->machine_count; i++) {
        if (strcmp(catalog->machines[i].name, name) == 0)
            return &catalog->machines[i];
    }
    return NULL;
}

const struct cable_model *catalog_find_cable(const struct catalog *catalog, const char *name)
{
    for (size_t i = 0; i < catalog->cable_count; i++) {
        if (strcmp(catalog->cables[i].name, name) == 0)
            return &catalog->cables[i];
    }
    return NULL;
}

const struct chip_model *catalog_find_chip(const struct catalog *catalog, const char *name)
{
    for (size_t i = 0; i < catalog->chip_count; i++) {
        if (strcmp(catalog->chips[i].name, name) == 0)
            return &catalog->chips[i];
    }
    return NULL;
}

const struct unsold_model *catalog_find_unsold(const struct catalog *catalog, const char *name)
{
    for (size_t i = 0; i < catalog->unsold_count; i++) {
        if (strcmp(catalog->unsold[i].name, name) == 0)
            return &catalog->unsold[i];
    }
    return NULL;
}

bool macos_version_is_valid(const char *version)
{
    uint32_t digits = 0;

    for (const char *p = version; *p != '\0'; p++) {
        if (*p >= '0' && *p <= '9') {
            if (++digits > 6)
                return false;
        } else if (*p == '.' && digits > 0 && p[1] != '\0') {
            digits = 0;
        } else {
            return false;
        }
    }
    return digits > 0;
}

/* Takes one number and what separates it from the next off the front; zero at the end. */
static uint32_t take_number(const char **version)
{
    uint32_t number = 0;

    for (; **version >= '0' && **version <= '9'; (*version)++)
        number = number * 10 + (uint32_t)(**version - '0');
    if (**version != '\0')
        (*version)++;
    return number;
}

/*
 * Order of two dotted versions; a missing number counts as 0, so "26" equals "26.0".
 *
 * Returns:  negative, zero or positive.
 * Requires: macos_version_is_valid() of both.
 */
int macos_version_compare(const char *a, const char *b)
{
    while (*a != '\0' || *b != '\0') {
        uint32_t x = take_number(&a);
        uint32_t y = take_number(&b);

        if (x != y)
            return x < y ? -1 : 1;
    }
    return 0;
}

const struct macos_model *catalog_find_macos(const struct catalog *catalog, const char *version)
{
    const struct macos_model *found = NULL;

    if (!macos_version_is_valid(version))
        return NULL;
    for (size_t i = 0; i < catalog->macos_count; i++) {
        if (macos_version_compare(catalog->macos[i].version, version) <= 0)
            found = &catalog->macos[i];
    }
    return found;
}
