/* SPDX-License-Identifier: Apache-2.0 */
/*
 * DOC: Ring search
 *
 * A Hamiltonian cycle by depth first search, lowest machine first. The problem is hard in general,
 * but clusters are small and well cabled; RING_STEPS_MAX bounds what a strange one may cost, and a
 * search that gives up only means that no ring is offered.
 */
#include "sim/plan/check_ring.h"

#include <stdint.h>

#define RING_STEPS_MAX 200000U

struct ring_search {
    const bool *linked; /* borrowed */
    size_t n;
    size_t *order;                  /* borrowed: order[0 .. depth - 1] is placed */
    size_t next[RING_MACHINES_MAX]; /* the candidate to try at each depth */
    bool used[RING_MACHINES_MAX];
};

static bool is_linked(const struct ring_search *search, size_t a, size_t b)
{
    return search->linked[a * search->n + b];
}

/* Places the next candidate at `depth`; false when they are used up. */
static bool place_next(struct ring_search *search, size_t depth)
{
    for (size_t k = search->next[depth]; k < search->n; k++) {
        if (search->used[k] || !is_linked(search, search->order[depth - 1], k))
            continue;
        search->next[depth] = k + 1;
        search->order[depth] = k;
        search->used[k] = true;
        return true;
    }
    return false;
}

bool ring_find(const bool *linked, size_t n, size_t *ret)
{
    struct ring_search search = {.linked = linked, .n = n, .order = ret};
    size_t depth = 1;

    if (n < 2 || n > RING_MACHINES_MAX)
        return false;
    ret[0] = 0;
    search.used[0] = true;
    search.next[1] = 1;
    for (uint32_t steps = 0; steps < RING_STEPS_MAX; steps++) {
        if (depth == n && is_linked(&search, ret[n - 1], 0))
            return true;
        if (depth < n && place_next(&search, depth)) {
            depth++;
            if (depth < n)
                search.next[depth] = 1;
            continue;
        }
        depth--;
        if (depth == 0)
            return false;
        search.used[ret[depth]] = false;
    }
    return false;
}
