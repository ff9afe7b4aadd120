/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Any text as a word of a command line. Beyond "no crash": there is a list if and only if there is
 * no error, and a word without braces stays as it is.
 */
#include <stdlib.h>
#include <string.h>

#include "verbs-shim/conductor/words.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(bool holds)
{
    if (!holds)
        abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const char *const hosts[] = {"a", "studio", "m4"};
    const struct words_rank rank = {.rank = 2, .rank_count = 3, .hosts = hosts};
    char *word = malloc(size + 1);
    char *argv[] = {word, NULL};
    struct arena arena;
    struct err err = {0};
    char **list = NULL;

    if (!word)
        return 0;
    if (size > 0)
        memcpy(word, data, size);
    word[size] = '\0';
    arena_init(&arena);

    bool is_fine = words_replace(argv, &rank, &arena, &list, &err);

    require(is_fine == (err.code == ERR_NONE));
    require(is_fine == (list != NULL));
    require(is_fine || strchr(word, '{'));
    if (is_fine) {
        require(list[1] == NULL);
        require(strchr(word, '{') || strcmp(list[0], word) == 0);
    }
    arena_done(&arena);
    free(word);
    return 0;
}
