/* SPDX-License-Identifier: Apache-2.0 */
/*
 * DOC: Live objects
 *
 * Programs hand pointers to objects back to us, sometimes after they destroyed them, sometimes NULL
 * or garbage. A set of the addresses that are alive answers before anything is dereferenced: open
 * addressing with linear probing, at most half full, removal by moving later cells back, so that a
 * search ends at the first empty cell.
 */
#include "verbs-shim/shim/verbs/live.h"

#include <stdint.h>
#include <string.h>

#include "verbs-shim/shim/guest.h"

#define FIRST_CAPACITY 64U
#define TABLE_MAX      (1U << 20)

static size_t home_of(const struct live *live, const void *object)
{
    uint64_t x = (uint64_t)(uintptr_t)object;

    x = (x >> 4) * UINT64_C(0x9e3779b97f4a7c15);
    return (size_t)(x >> 32) & (live->capacity - 1);
}

/* The object's cell, or the empty one where it would go. */
static size_t find(const struct live *live, const void *object)
{
    size_t at = home_of(live, object);

    while (live->cells[at].object != NULL && live->cells[at].object != object)
        at = (at + 1) & (live->capacity - 1);
    return at;
}

static bool grow(struct live *live)
{
    struct live wider = {.capacity = live->capacity ? live->capacity * 2 : FIRST_CAPACITY};

    wider.cells = shim_alloc(wider.capacity * sizeof *wider.cells);
    if (wider.cells == NULL)
        return false;
    for (size_t i = 0; i < live->capacity; i++) {
        if (live->cells[i].object != NULL)
            wider.cells[find(&wider, live->cells[i].object)] = live->cells[i];
    }
    shim_free(live->cells);
    live->cells = wider.cells;
    live->capacity = wider.capacity;
    return true;
}

bool live_add(struct live *live, const void *object, enum live_kind kind)
{
    if (2 * (live->count + 1) > live->capacity && !grow(live))
        return false;
    live->cells[find(live, object)] = (struct live_cell){object, kind};
    live->count++;
    return true;
}

void live_remove(struct live *live, const void *object)
{
    size_t hole;

    if (live->capacity == 0 || object == NULL)
        return;
    hole = find(live, object);
    if (live->cells[hole].object == NULL)
        return;
    live->count--;
    for (size_t at = hole;;) {
        size_t home;

        at = (at + 1) & (live->capacity - 1);
        if (live->cells[at].object == NULL)
            break;
        home = home_of(live, live->cells[at].object);
        /* A cell may move back to the hole unless its home lies behind the hole. */
        if (((at - home) & (live->capacity - 1)) >= ((at - hole) & (live->capacity - 1))) {
            live->cells[hole] = live->cells[at];
            hole = at;
        }
    }
    live->cells[hole] = (struct live_cell){NULL, LIVE_NONE};
}

bool live_is(const struct live *live, const void *object, enum live_kind kind)
{
    const struct live_cell *cell;

    if (live->capacity == 0 || object == NULL)
        return false;
    cell = &live->cells[find(live, object)];
    return cell->object == object && cell->kind == kind;
}

bool table_put(struct table *table, uint32_t index, void *object)
{
    uint32_t capacity = table->capacity ? table->capacity : FIRST_CAPACITY;
    void **entries;

    if (index >= TABLE_MAX)
        return false;
    if (index < table->capacity) {
        table->entries[index] = object;
        return true;
    }
    while (capacity <= index)
        capacity *= 2;
    entries = shim_alloc(capacity * sizeof *entries);
    if (entries == NULL)
        return false;
    if (table->capacity > 0)
        memcpy(entries, table->entries, table->capacity * sizeof *entries);
    shim_free(table->entries);
    *table = (struct table){entries, capacity};
    entries[index] = object;
    return true;
}

void *table_get(const struct table *table, uint32_t index)
{
    return index < table->capacity ? table->entries[index] : NULL;
}

uint32_t table_free_index(const struct table *table)
{
    uint32_t i = 0;

    while (i < table->capacity && table->entries[i] != NULL)
        i++;
    return i;
}
