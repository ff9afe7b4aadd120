/* SPDX-License-Identifier: Apache-2.0 */
/* Holds a JSON value against a JSON Schema: the part of draft 2020-12 that schema/ uses. */
#ifndef TESTS_UNIT_REPORT_SCHEMA_WALKER_H
#define TESTS_UNIT_REPORT_SCHEMA_WALKER_H

#include <json-glib/json-glib.h>
#include <stdbool.h>
#include <stddef.h>

#define SCHEMA_WHY_MAX 400

/* False with the place and the reason in `why`. A keyword that the walker does not know is a
 * failure too: a schema may not promise what no test holds it to. */
bool schema_check(JsonNode *schema, JsonNode *value, char why[SCHEMA_WHY_MAX]);

#endif
