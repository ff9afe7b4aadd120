/* SPDX-License-Identifier: Apache-2.0 */
#include "sim/base/utf8.h"

#include <stdint.h>

/* Length that the first byte announces, and its bits of the code point; 0 for none. */
static size_t announced_length(unsigned char first, uint32_t *ret_bits)
{
    if ((first & 0xe0U) == 0xc0) {
        *ret_bits = first & 0x1fU;
        return 2;
    }
    if ((first & 0xf0U) == 0xe0) {
        *ret_bits = first & 0x0fU;
        return 3;
    }
    *ret_bits = first & 0x07U;
    return (first & 0xf8U) == 0xf0 ? 4 : 0;
}

size_t utf8_length(const unsigned char *p, size_t left)
{
    static const uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
    uint32_t code;
    size_t n;

    if (p[0] < 0x80)
        return 1;
    n = announced_length(p[0], &code);
    if (n == 0 || n > left)
        return 0;
    for (size_t i = 1; i < n; i++) {
        if ((p[i] & 0xc0U) != 0x80)
            return 0;
        code = code << 6 | (p[i] & 0x3fU);
    }
    if (code < least[n] || code > 0x10ffff || (code >= 0xd800 && code <= 0xdfff))
        return 0;
    return n;
}
