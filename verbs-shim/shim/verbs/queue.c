/* SPDX-License-Identifier: Apache-2.0 */
/*
 * DOC: Queues of work requests
 *
 * Depth is counted in 4 KiB frames on Apple's devices: a message of 64 KiB takes 16, and what is
 * used comes back when the completion is polled (TN3205; hellas-ai/thunderbolt-ibverbs PR 41: with
 * 1,023 frames the 64th receive of 64 KiB is refused). Sends complete in order, so they form a
 * ring; receives have a list of free places.
 */
#include "verbs-shim/shim/verbs/queue.h"

#include <stddef.h>
#include <string.h>

#include "verbs-shim/shim/guest.h"

bool queue_init(struct queue *queue, bool is_recv, uint32_t depth, uint32_t frames,
                uint32_t max_sge)
{
    *queue = (struct queue){.depth = depth, .frames = frames};
    queue->works = shim_alloc((size_t)depth * sizeof *queue->works);
    if (max_sge > 1)
        queue->sges = shim_alloc((size_t)depth * max_sge * sizeof *queue->sges);
    if (queue->works == NULL || (max_sge > 1 && queue->sges == NULL)) {
        queue_done(queue);
        return false;
    }
    for (uint32_t i = 0; max_sge > 1 && i < depth; i++)
        queue->works[i].sges = &queue->sges[(size_t)i * max_sge];
    queue_clear(queue, is_recv);
    return true;
}

void queue_done(struct queue *queue)
{
    shim_free(queue->works);
    shim_free(queue->sges);
    *queue = (struct queue){.works = NULL};
}

void queue_clear(struct queue *queue, bool is_recv)
{
    queue->used = 0;
    queue->frames_used = 0;
    queue->head = 0;
    queue->first_free = 0;
    for (uint32_t i = 0; i < queue->depth; i++) {
        queue->works[i].is_used = false;
        queue->works[i].next = is_recv ? i + 1 : 0;
    }
}

struct work *queue_take(struct queue *queue, bool is_recv, uint32_t frames)
{
    struct work *work;
    uint32_t place;

    if (queue->used == queue->depth ||
        (queue->frames > 0 && frames > queue->frames - queue->frames_used))
        return NULL;
    if (is_recv) {
        place = queue->first_free;
        queue->first_free = queue->works[place].next;
    } else {
        place = (queue->head + queue->used) % queue->depth;
    }
    work = &queue->works[place];
    work->is_used = true;
    work->frames = frames;
    queue->used++;
    queue->frames_used += frames;
    return work;
}

void queue_keep_sges(struct work *work, const struct ibv_sge *sges, uint32_t count)
{
    work->sge_count = count;
    if (count == 1)
        work->one = sges[0];
    else if (count > 1)
        memcpy(work->sges, sges, count * sizeof sges[0]);
}

bool queue_has(const struct queue *queue, uint32_t wqe, uint32_t epoch)
{
    return wqe >> QUEUE_EPOCH == (epoch & QUEUE_EPOCH_MASK) && queue_place(wqe) < queue->depth &&
           queue_work(queue, wqe)->is_used;
}

static void release(struct queue *queue, struct work *work)
{
    work->is_used = false;
    queue->used--;
    queue->frames_used -= work->frames;
}

void queue_untake(struct queue *queue, struct work *work)
{
    release(queue, work);
}

void queue_retire(struct queue *queue, uint32_t wqe)
{
    uint32_t place = queue_place(wqe);

    if (!queue->works[place].is_used)
        return;
    if (queue_wqe_is_recv(wqe)) {
        queue->works[place].next = queue->first_free;
        queue->first_free = place;
        release(queue, &queue->works[place]);
        return;
    }
    for (;;) {
        uint32_t oldest = queue->head;

        queue->head = (queue->head + 1) % queue->depth;
        release(queue, &queue->works[oldest]);
        if (oldest == place)
            return;
    }
}
