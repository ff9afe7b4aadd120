/* SPDX-License-Identifier: Apache-2.0 */
/* A published schema as an assertion. */
#ifndef TESTS_UNIT_REPORT_SCHEMA_H
#define TESTS_UNIT_REPORT_SCHEMA_H

/* Fails the test unless the text is JSON that follows SOURCE_ROOT/path. */
void schema_expect(const char *path, const char *json);

#endif
