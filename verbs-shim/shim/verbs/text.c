/* SPDX-License-Identifier: Apache-2.0 */
#include "verbs-shim/shim/verbs/text.h"

size_t text_put(char *array, size_t size, size_t at, const char *word)
{
    while (*word != '\0' && at + 1 < size)
        array[at++] = *word++;
    array[at] = '\0';
    return at;
}

size_t text_put_number(char *array, size_t size, size_t at, uint32_t number)
{
    char digits[11];
    size_t i = sizeof digits - 1;

    digits[i] = '\0';
    do {
        digits[--i] = (char)('0' + number % 10);
        number /= 10;
    } while (number > 0);
    return text_put(array, size, at, &digits[i]);
}
