/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/report/support/schema.h"

#include <stdio.h>

#include <criterion/criterion.h>

#include "tests/unit/report/support/schema_walker.h"

void schema_expect(const char *path, const char *json)
{
    char full[512];
    char why[SCHEMA_WHY_MAX];
    JsonParser *schema = json_parser_new();
    JsonParser *value = json_parser_new();

    (void)snprintf(full, sizeof full, "%s/%s", SOURCE_ROOT, path);
    cr_assert(json_parser_load_from_file(schema, full, NULL), "%s", full);
    cr_assert(json_parser_load_from_data(value, json, -1, NULL), "%s", json);
    cr_expect(schema_check(json_parser_get_root(schema), json_parser_get_root(value), why),
              "%s: %s", path, why);
    g_object_unref(schema);
    g_object_unref(value);
}
