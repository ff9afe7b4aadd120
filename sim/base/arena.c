/* SPDX-License-Identifier: Apache-2.0 */
/*
 * DOC: Arena
 *
 * A chain of blocks with a bump pointer. What a parser builds is a graph of small pieces with one
 * life time; freeing it whole leaves no order of destruction to get wrong.
 */
#include "sim/base/arena.h"

#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ARENA_BLOCK_BYTES ((size_t)64 * 1024)
#define ARENA_ALIGN       ((size_t)16)

struct arena_block {
    struct arena_block *next; /* owned */
    size_t used;
    size_t size;
    _Alignas(16) unsigned char bytes[];
};

void arena_init(struct arena *arena)
{
    arena->blocks = NULL;
}

void arena_done(struct arena *arena)
{
    struct arena_block *block = arena->blocks;

    while (block) {
        struct arena_block *next = block->next;

        free(block);
        block = next;
    }
    arena->blocks = NULL;
}

void *arena_alloc(struct arena *arena, size_t size)
{
    struct arena_block *block = arena->blocks;

    if (size > SIZE_MAX / 2)
        abort();
    size = (size + ARENA_ALIGN - 1) & ~(ARENA_ALIGN - 1);
    if (!block || block->size - block->used < size) {
        size_t room = size > ARENA_BLOCK_BYTES ? size : ARENA_BLOCK_BYTES;

        block = calloc(1, sizeof *block + room);
        if (!block)
            abort();
        block->size = room;
        block->next = arena->blocks;
        arena->blocks = block;
    }

    void *piece = block->bytes + block->used;

    block->used += size;
    return piece;
}

void *arena_alloc_array(struct arena *arena, size_t count, size_t size)
{
    size_t total;

    if (__builtin_mul_overflow(count, size, &total))
        abort();
    return arena_alloc(arena, total);
}

char *arena_copy_text(struct arena *arena, const char *text, size_t length)
{
    char *copy = arena_alloc(arena, length + 1);

    memcpy(copy, text, length);
    return copy;
}

char *arena_format(struct arena *arena, const char *format, ...)
{
    va_list args;

    va_start(args, format);
    int length = vsnprintf(NULL, 0, format, args);
    va_end(args);
    if (length < 0)
        abort();

    char *text = arena_alloc(arena, (size_t)length + 1);

    va_start(args, format);
    (void)vsnprintf(text, (size_t)length + 1, format, args);
    va_end(args);
    return text;
}
