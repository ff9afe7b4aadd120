/* SPDX-License-Identifier: Apache-2.0 */
/* Looking for words in what people wrote by hand; letter case never counts. */
#ifndef SIM_PLAN_WORDS_H
#define SIM_PLAN_WORDS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Length of `word` when `text` begins with it; else 0. */
size_t words_match(const char *text, const char *word);
/* What follows the whole word (or words) in the text; NULL when it does not occur. */
const char *words_find(const char *text, const char *word);
bool words_have(const char *text, const char *word);
/* `words` ends with a NULL. */
bool words_have_any(const char *text, const char *const *words);
/* The whole number behind a word, such as 60 of "depth 60"; 0 when there is none. */
uint32_t words_number_after(const char *text, const char *word);

#endif
