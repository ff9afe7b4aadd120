/* SPDX-License-Identifier: Apache-2.0 */
/*
 * DOC: Growing text
 *
 * Doubles its room inside an arena, so a text of n bytes leaves at most 2n bytes of old copies
 * behind; they go when the arena goes. Nothing is freed piece by piece.
 */
#include "sim/base/text.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define TEXT_FIRST_BYTES ((size_t)256)

void text_init(struct text *text, struct arena *arena)
{
    *text = (struct text){.arena = arena,
                          .bytes = arena_alloc(arena, TEXT_FIRST_BYTES),
                          .capacity = TEXT_FIRST_BYTES};
}

/* Room for `more` bytes and the final NUL. */
static void make_room(struct text *text, size_t more)
{
    size_t capacity = text->capacity;

    if (more < capacity - text->length)
        return;
    while (more >= capacity - text->length)
        capacity *= 2;

    char *bytes = arena_alloc(text->arena, capacity);

    memcpy(bytes, text->bytes, text->length + 1);
    text->bytes = bytes;
    text->capacity = capacity;
}

void text_add(struct text *text, const char *format, ...)
{
    va_list args;

    va_start(args, format);
    int length = vsnprintf(NULL, 0, format, args);
    va_end(args);
    if (length < 0)
        abort();

    make_room(text, (size_t)length);
    va_start(args, format);
    (void)vsnprintf(text->bytes + text->length, (size_t)length + 1, format, args);
    va_end(args);
    text->length += (size_t)length;
}

void text_add_item(struct text *text, const char *separator, const char *piece)
{
    text_add(text, "%s%s", text->length ? separator : "", piece);
}
