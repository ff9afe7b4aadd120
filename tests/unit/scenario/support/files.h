/* SPDX-License-Identifier: Apache-2.0 */
/* Files of the repository, and the catalogue in models/, for tests of this layer. */
#ifndef TESTS_UNIT_SCENARIO_FILES_H
#define TESTS_UNIT_SCENARIO_FILES_H

#include <stddef.h>

#include "sim/scenario/scenario.h"

/* Reads a whole file, to be freed by files_free; name is `path`. A file that cannot be read fails
 * the test. */
struct source_text files_read(const char *path);
void files_free(struct source_text *text);
/* The catalogue of SOURCE_ROOT/models; its errors fail the test. */
void files_read_catalog(struct catalog *ret);
/* A text in memory as a source. */
struct source_text files_text(const char *name, const char *text);
/* All errors as "line:col: message" lines, cut to the buffer. */
void files_join_errors(const struct err_list *errs, char *ret, size_t size);

#endif
