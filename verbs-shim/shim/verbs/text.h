/* SPDX-License-Identifier: Apache-2.0 */
/* Words and numbers into arrays of fixed size; a guest does not use stdio. */
#ifndef VERBS_SHIM_SHIM_VERBS_TEXT_H
#define VERBS_SHIM_SHIM_VERBS_TEXT_H

#include <stddef.h>
#include <stdint.h>

/* Writes `word` at `at`, cut to the array and terminated. Returns where the next one goes. */
size_t text_put(char *array, size_t size, size_t at, const char *word);
size_t text_put_number(char *array, size_t size, size_t at, uint32_t number);

#endif
