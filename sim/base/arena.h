/* SPDX-License-Identifier: Apache-2.0 */
/* Memory that is built up piece by piece and freed whole: catalogues, scenarios, results. */
#ifndef SIM_BASE_ARENA_H
#define SIM_BASE_ARENA_H

#include <stddef.h>

struct arena_block;

struct arena {
    struct arena_block *blocks; /* owned, newest first */
};

void arena_init(struct arena *arena);
void arena_done(struct arena *arena);
/* Zeroed, aligned for any type, valid until arena_done. Never NULL: out of memory aborts. */
void *arena_alloc(struct arena *arena, size_t size);
/* An array of count elements; a product that overflows aborts like memory that ran out. */
void *arena_alloc_array(struct arena *arena, size_t count, size_t size);
/* A copy of the first length bytes of text, with a final NUL. */
char *arena_copy_text(struct arena *arena, const char *text, size_t length);
/* A formatted string. */
char *arena_format(struct arena *arena, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

#endif
