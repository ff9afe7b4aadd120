/* SPDX-License-Identifier: Apache-2.0 */
/* A text that grows piece by piece: messages, command lists, exported files. */
#ifndef SIM_BASE_TEXT_H
#define SIM_BASE_TEXT_H

#include <stddef.h>

#include "sim/base/arena.h"

/* The bytes live in the arena; bytes[length] is always NUL once text_init has run. */
struct text {
    struct arena *arena; /* borrowed */
    char *bytes;
    size_t length;
    size_t capacity;
};

void text_init(struct text *text, struct arena *arena);
/* Appends a formatted piece. */
void text_add(struct text *text, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* Appends `piece`, and `separator` before it unless the text is still empty. */
void text_add_item(struct text *text, const char *separator, const char *piece);

/* ASCII letters only, whatever the locale. */
static inline char text_lower(char c)
{
    if (c >= 'A' && c <= 'Z')
        return (char)(c - 'A' + 'a');
    return c;
}

#endif
