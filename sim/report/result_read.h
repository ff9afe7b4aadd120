/* SPDX-License-Identifier: Apache-2.0 */
/* Reads the JSON that `tbmesh sim` wrote, for figures and tables made later. */
#ifndef SIM_REPORT_RESULT_READ_H
#define SIM_REPORT_RESULT_READ_H

#include <json-glib/json-glib.h> // IWYU pragma: export
#include <stdbool.h>
#include <stddef.h>

#include "sim/base/err.h"

/*
 * Parses and checks that all members which tables and figures need are there and of their type.
 *
 * Returns: true and the root object, to be freed by json_node_unref; false with the reason: where
 *          the text is no JSON, or what a result of `tbmesh sim` has and this one lacks.
 */
bool result_read(const char *name, const char *bytes, size_t length, JsonNode **ret,
                 struct err *reterr);

#endif
