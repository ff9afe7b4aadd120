/* SPDX-License-Identifier: Apache-2.0 */
/* A JSON tree as text: one member or one row of a list a line, so that diff and grep are of use. */
#ifndef SIM_REPORT_JSON_TEXT_H
#define SIM_REPORT_JSON_TEXT_H

#include <json-glib/json-glib.h>

#include "sim/base/text.h"

/* Appends the tree and a final newline. Numbers with a fraction get the fewest digits that read
 * back as the same number; infinities, which JSON cannot say, become null. */
void json_text_print(JsonNode *root, struct text *ret);

#endif
