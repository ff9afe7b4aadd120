/* SPDX-License-Identifier: Apache-2.0 */
/* UTF-8: what is a character in a user's bytes. */
#ifndef SIM_BASE_UTF8_H
#define SIM_BASE_UTF8_H

#include <stddef.h>

/* Bytes of the character at p, of which `left` may be read (at least 1); 0 when it is no valid
 * UTF-8: a stray or missing continuation, an overlong form, a surrogate, above U+10FFFF. */
size_t utf8_length(const unsigned char *p, size_t left);

#endif
