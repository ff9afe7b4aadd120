/* SPDX-License-Identifier: Apache-2.0 */
/*
 * DOC: Rings of sized queue pairs
 *
 * Rings are powers of two out of two pools, one of places for sends, one for receives. A ring that
 * is given back waits for the next queue pair of its size; when the untouched rest of a pool is
 * used up, a larger one is halved. Halves are not joined again.
 *
 * A driver that counts its own requests (the emulator) knows neither how many messages are still
 * in flight nor which of two steps of one instant comes first here, so a full ring grows to twice
 * its size. Cost: a copy of what is queued, once for each doubling.
 */
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "sim/base/ids.h"
#include "sim/base/mem.h"
#include "sim/fabric/fabric.h"
#include "sim/fabric/fabric_state.h"

#define RING_LEAST 4U

static uint32_t class_of(uint32_t size)
{
    uint32_t class = 0;

    while (UINT32_C(1) << class < size)
        class ++;
    return class;
}

static void *place(const struct fabric *f, const struct fabric_pool *pool, uint32_t ix)
{
    return fabric_part(f, pool->at + (uint64_t)ix * pool->entry_bytes);
}

static void give(struct fabric *f, struct fabric_pool *pool, uint32_t first, uint32_t class)
{
    uint32_t *next = place(f, pool, first);

    *next = pool->free[class];
    pool->free[class] = first;
}

static uint32_t take_free(struct fabric *f, struct fabric_pool *pool, uint32_t class)
{
    uint32_t first = pool->free[class];
    const uint32_t *next;

    if (first == ID_NONE)
        return ID_NONE;
    next = place(f, pool, first);
    pool->free[class] = *next;
    return first;
}

/* First place of a ring of that size; ID_NONE when there is none. */
static uint32_t take(struct fabric *f, struct fabric_pool *pool, uint32_t size)
{
    uint32_t class = class_of(size);
    uint32_t first = take_free(f, pool, class);
    uint32_t larger = class;

    if (first != ID_NONE)
        return first;
    if (pool->end - pool->next >= size) {
        first = pool->next;
        pool->next += size;
        return first;
    }
    while (first == ID_NONE && ++larger < POOL_CLASSES)
        first = take_free(f, pool, larger);
    while (first != ID_NONE && larger-- > class)
        give(f, pool, first + (UINT32_C(1) << larger), larger);
    return first;
}

static void init_pool(struct fabric_pool *pool, uint64_t at, uint32_t entry_bytes, uint32_t first,
                      uint32_t entries)
{
    *pool = (struct fabric_pool){
        .at = at, .entry_bytes = entry_bytes, .next = first, .end = first + entries};
    for (uint32_t class = 0; class < POOL_CLASSES; class ++)
        pool->free[class] = ID_NONE;
}

/* Behind the rings of plain queue pairs. */
void fabric_init_pools(struct fabric *f, uint32_t entries)
{
    init_pool(&f->send_pool, f->sends_at, sizeof(struct fabric_send),
              f->qp_capacity * (f->send_mask + 1), entries);
    init_pool(&f->recv_pool, f->recvs_at, sizeof(struct fabric_recv),
              f->qp_capacity * (f->recv_mask + 1), entries);
}

bool fabric_take_rings(struct fabric *f, struct fabric_qp *qp, const struct fabric_qp_size *size)
{
    uint32_t sends = mem_power_of_two(size->send_wrs > RING_LEAST ? size->send_wrs : RING_LEAST);
    uint32_t recvs = mem_power_of_two(size->recv_wrs > RING_LEAST ? size->recv_wrs : RING_LEAST);

    qp->send_first = take(f, &f->send_pool, sends);
    if (qp->send_first == ID_NONE)
        return false;
    qp->recv_first = take(f, &f->recv_pool, recvs);
    if (qp->recv_first == ID_NONE) {
        give(f, &f->send_pool, qp->send_first, class_of(sends));
        return false;
    }
    qp->send_mask = sends - 1;
    qp->recv_mask = recvs - 1;
    qp->is_sized = true;
    return true;
}

void fabric_give_rings(struct fabric *f, struct fabric_qp *qp)
{
    give(f, &f->send_pool, qp->send_first, class_of(qp->send_mask + 1));
    give(f, &f->recv_pool, qp->recv_first, class_of(qp->recv_mask + 1));
}

/* A ring in its pool, and the cursors of what it holds. */
struct ring {
    struct fabric_pool *pool; /* borrowed */
    uint32_t *first;          /* borrowed, like mask */
    uint32_t *mask;
    uint32_t head, tail;
};

bool fabric_grow_ring(struct fabric *f, struct fabric_qp *qp, bool is_recv)
{
    const struct ring ring = is_recv ? (struct ring){&f->recv_pool, &qp->recv_first, &qp->recv_mask,
                                                     qp->recv_head, qp->recv_tail}
                                     : (struct ring){&f->send_pool, &qp->send_first, &qp->send_mask,
                                                     qp->arrived, qp->tail};
    uint32_t size = *ring.mask + 1;
    uint32_t first;

    if (!qp->is_sized || size > UINT32_MAX / 4)
        return false;
    first = take(f, ring.pool, 2 * size);
    if (first == ID_NONE)
        return false;
    for (uint32_t cursor = ring.head; cursor != ring.tail; cursor++)
        memcpy(place(f, ring.pool, first + (cursor & (2 * size - 1))),
               place(f, ring.pool, *ring.first + (cursor & *ring.mask)), ring.pool->entry_bytes);
    give(f, ring.pool, *ring.first, class_of(size));
    *ring.first = first;
    *ring.mask = 2 * size - 1;
    return true;
}
