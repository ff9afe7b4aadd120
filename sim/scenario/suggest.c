/* SPDX-License-Identifier: Apache-2.0 */
/*
 * DOC: Suggestions
 *
 * Optimal string alignment distance (edit distance with swaps of neighbours, each place edited
 * once): three rows of a table over the two words. A name is near when at most a third of the
 * word, and at least one letter, has to change.
 */
#include "sim/scenario/suggest.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "sim/base/text.h"

#define WORD_MAX 63

static size_t least(size_t a, size_t b)
{
    return a < b ? a : b;
}

size_t suggest_distance(const char *a, const char *b)
{
    size_t rows[3][WORD_MAX + 1];
    size_t a_length = strlen(a);
    size_t b_length = strlen(b);

    if (a_length > WORD_MAX || b_length > WORD_MAX)
        return SIZE_MAX;
    memset(rows, 0, sizeof rows);
    for (size_t k = 0; k <= b_length; k++)
        rows[0][k] = k;
    for (size_t i = 1; i <= a_length; i++) {
        size_t *row = rows[i % 3];
        const size_t *above = rows[(i + 2) % 3];
        const size_t *second = rows[(i + 1) % 3];

        row[0] = i;
        for (size_t k = 1; k <= b_length; k++) {
            bool is_same = text_lower(a[i - 1]) == text_lower(b[k - 1]);
            bool is_swap = i > 1 && k > 1 && text_lower(a[i - 1]) == text_lower(b[k - 2]) &&
                           text_lower(a[i - 2]) == text_lower(b[k - 1]);

            row[k] = least(least(above[k] + 1, row[k - 1] + 1), above[k - 1] + !is_same);
            if (is_swap)
                row[k] = least(row[k], second[k - 2] + 1);
        }
    }
    return rows[a_length % 3][b_length];
}

const char *suggest_name(const char *word, const char *const *names, size_t count)
{
    size_t limit = strlen(word) / 3 + 1; /* a name has to be nearer than this */
    const char *best = NULL;

    if (limit == 1)
        limit = 2;
    for (size_t i = 0; i < count; i++) {
        size_t distance = suggest_distance(word, names[i]);

        if (distance < limit && distance < strlen(names[i])) {
            best = names[i];
            limit = distance;
        }
    }
    return best;
}

void suggest_text(char ret[SUGGEST_TEXT_MAX], const char *word, const char *const *names,
                  size_t count)
{
    const char *name = suggest_name(word, names, count);

    ret[0] = '\0';
    if (name)
        (void)snprintf(ret, SUGGEST_TEXT_MAX, ", did you mean '%.63s'?", name);
}
