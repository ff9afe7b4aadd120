/* SPDX-License-Identifier: Apache-2.0 */
#include "sim/plan/words.h"

#include "sim/base/text.h"

static bool is_word_char(char c)
{
    char l = text_lower(c);

    return (l >= 'a' && l <= 'z') || (c >= '0' && c <= '9');
}

size_t words_match(const char *text, const char *word)
{
    size_t i = 0;

    for (; word[i] != '\0'; i++) {
        if (text_lower(text[i]) != text_lower(word[i]))
            return 0;
    }
    return i;
}

const char *words_find(const char *text, const char *word)
{
    for (size_t i = 0; text[i] != '\0'; i++) {
        size_t length = words_match(text + i, word);

        if (length > 0 && (i == 0 || !is_word_char(text[i - 1])) && !is_word_char(text[i + length]))
            return text + i + length;
    }
    return NULL;
}

bool words_have(const char *text, const char *word)
{
    return words_find(text, word) != NULL;
}

bool words_have_any(const char *text, const char *const *words)
{
    for (; *words; words++) {
        if (words_have(text, *words))
            return true;
    }
    return false;
}

uint32_t words_number_after(const char *text, const char *word)
{
    const char *at = words_find(text, word);
    uint32_t number = 0;

    if (!at)
        return 0;
    while (*at == ' ' || *at == '=')
        at++;
    while (*at >= '0' && *at <= '9' && number < 1000000)
        number = number * 10 + (uint32_t)(*at++ - '0');
    return number;
}
