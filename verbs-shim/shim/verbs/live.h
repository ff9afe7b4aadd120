/* SPDX-License-Identifier: Apache-2.0 */
/* Which addresses are objects of ours: whatever a program passes is looked up before it is read. */
#ifndef VERBS_SHIM_SHIM_VERBS_LIVE_H
#define VERBS_SHIM_SHIM_VERBS_LIVE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum live_kind {
    LIVE_NONE,
    LIVE_DEVICE,
    LIVE_CONTEXT,
    LIVE_PD,
    LIVE_MR,
    LIVE_CHANNEL,
    LIVE_CQ,
    LIVE_QP,
    LIVE_SRQ,
    LIVE_AH,
};

struct live_cell {
    const void *object; /* borrowed */
    enum live_kind kind;
};

/* Zeroed is empty. */
struct live {
    struct live_cell *cells; /* owned */
    size_t capacity;         /* a power of two, or 0 */
    size_t count;
};

/* False: no memory. */
bool live_add(struct live *live, const void *object, enum live_kind kind);
void live_remove(struct live *live, const void *object);
bool live_is(const struct live *live, const void *object, enum live_kind kind);

/* Objects by number. Zeroed is empty; entry 0 may be used. */
struct table {
    void **entries; /* owned; what they point to is borrowed */
    uint32_t capacity;
};

/* False: no memory, or an index that makes no sense. */
bool table_put(struct table *table, uint32_t index, void *object);
void *table_get(const struct table *table, uint32_t index);
/* The lowest number that is free; capacity when none is. */
uint32_t table_free_index(const struct table *table);

#endif
