/* SPDX-License-Identifier: Apache-2.0 */
/* Work requests of one queue of a queue pair. */
#ifndef VERBS_SHIM_SHIM_VERBS_QUEUE_H
#define VERBS_SHIM_SHIM_VERBS_QUEUE_H

#include <stdbool.h>
#include <stdint.h>

#include "verbs-shim/shim/verbs/objects.h"

/* A number that comes back in events: place, direction, epoch of the queue pair. */
#define QUEUE_PLACE_BITS 20
#define QUEUE_RECV       (1U << QUEUE_PLACE_BITS)
#define QUEUE_EPOCH      (QUEUE_PLACE_BITS + 1)
#define QUEUE_EPOCH_MASK ((1U << (32 - QUEUE_EPOCH)) - 1)

static inline uint32_t queue_wqe(uint32_t place, bool is_recv, uint32_t epoch)
{
    return place | (is_recv ? QUEUE_RECV : 0) | ((epoch & QUEUE_EPOCH_MASK) << QUEUE_EPOCH);
}

static inline bool queue_wqe_is_recv(uint32_t wqe)
{
    return (wqe & QUEUE_RECV) != 0;
}

static inline uint32_t queue_place(uint32_t wqe)
{
    return wqe & (QUEUE_RECV - 1);
}

static inline struct work *queue_work(const struct queue *queue, uint32_t wqe)
{
    return &queue->works[queue_place(wqe)];
}

static inline const struct ibv_sge *queue_sges(const struct work *work)
{
    return work->sge_count > 1 ? work->sges : &work->one;
}

/* Keeps the scatter list, of no more elements than the queue was made for. */
void queue_keep_sges(struct work *work, const struct ibv_sge *sges, uint32_t count);

/* False: no memory; the queue is as queue_done leaves it. */
bool queue_init(struct queue *queue, bool is_recv, uint32_t depth, uint32_t frames,
                uint32_t max_sge);
void queue_done(struct queue *queue);
/* Forgets all work requests. */
void queue_clear(struct queue *queue, bool is_recv);

/* A place for a request of so many frames; NULL: the queue is full. */
struct work *queue_take(struct queue *queue, bool is_recv, uint32_t frames);
/* Gives the last one taken of the sends back. */
void queue_untake(struct queue *queue, struct work *work);
static inline uint32_t queue_place_of(const struct queue *queue, const struct work *work)
{
    return (uint32_t)(work - queue->works);
}

/* Is the request in use, and of this epoch? */
bool queue_has(const struct queue *queue, uint32_t wqe, uint32_t epoch);
/* Its completion has been polled. A send takes those before it along: they were unsignaled. */
void queue_retire(struct queue *queue, uint32_t wqe);

#endif
