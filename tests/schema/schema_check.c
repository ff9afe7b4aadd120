/* SPDX-License-Identifier: Apache-2.0 */
/* Usage: schema_check SCHEMA FILE: says what is wrong, and exits with 1 when anything is. */
#include <stdio.h>

#include "tests/unit/report/support/schema_walker.h"

static JsonParser *read_json(const char *path)
{
    JsonParser *parser = json_parser_new();
    GError *error = NULL;

    if (json_parser_load_from_file(parser, path, &error))
        return parser;
    (void)printf("%s: %s\n", path, error->message);
    g_error_free(error);
    g_object_unref(parser);
    return NULL;
}

int main(int argc, char **argv)
{
    char why[SCHEMA_WHY_MAX];
    JsonParser *schema = argc == 3 ? read_json(argv[1]) : NULL;
    JsonParser *value = schema ? read_json(argv[2]) : NULL;
    bool is_good =
        value && schema_check(json_parser_get_root(schema), json_parser_get_root(value), why);

    if (value && !is_good)
        (void)printf("%s: %s\n", argv[1], why);
    if (schema)
        g_object_unref(schema);
    if (value)
        g_object_unref(value);
    return is_good ? 0 : 1;
}
