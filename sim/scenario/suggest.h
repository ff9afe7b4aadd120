/* SPDX-License-Identifier: Apache-2.0 */
/* "did you mean": the known name that is nearest to a misspelt one. */
#ifndef SIM_SCENARIO_SUGGEST_H
#define SIM_SCENARIO_SUGGEST_H

#include <stddef.h>

#define SUGGEST_TEXT_MAX 96

/* Insertions, deletions, changes and swaps of neighbours that turn a into b; letter case is free.
 * Names longer than 63 bytes are infinitely far from all others. */
size_t suggest_distance(const char *a, const char *b);

/* The nearest name within a third of the word's length; NULL when none is near. The first of
 * equals wins. */
const char *suggest_name(const char *word, const char *const *names, size_t count);

/* ", did you mean 'x'?" or nothing, ready to be put after a message. */
void suggest_text(char ret[SUGGEST_TEXT_MAX], const char *word, const char *const *names,
                  size_t count);

#endif
