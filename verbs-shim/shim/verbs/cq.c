/* SPDX-License-Identifier: Apache-2.0 */
/*
 * DOC: Completion queues
 *
 * The scheduler tells of completions ahead of their time, so a queue holds what has arrived and
 * what is known to come, sorted by time; nearly always a new one goes to the end. A poll at t shows
 * those due at t or before.
 *
 * Memory is reserved when a queue pair is made: no more can be under way than its work requests.
 * What the program asked for (cqe) is another number: when more than that have arrived unpolled,
 * the queue has overflowed, as a real one would. Between two polls nothing leaves, so counting at
 * the poll finds every overflow.
 */
#include "verbs-shim/shim/verbs/cq.h"

#include <errno.h>
#include <stdint.h>
#include <string.h>

#include <infiniband/verbs.h>

#include "verbs-shim/shim/guest.h"
#include "verbs-shim/shim/verbs/channel.h"
#include "verbs-shim/shim/verbs/limit.h"

bool cq_reserve(struct cq *cq, uint32_t more)
{
    uint32_t needed = cq->needed + more;
    struct proto_event *ring;

    if (needed > cq->ring_capacity) {
        ring = shim_alloc(needed * sizeof *ring);
        if (ring == NULL)
            return false;
        for (uint32_t i = 0; i < cq->count; i++)
            ring[i] = *cq_at(cq, i);
        shim_free(cq->ring);
        cq->ring = ring;
        cq->ring_capacity = needed;
        cq->head = 0;
    }
    cq->needed = needed;
    return true;
}

void cq_unreserve(struct cq *cq, uint32_t fewer)
{
    cq->needed -= fewer;
}

void cq_insert(struct cq *cq, const struct proto_event *event)
{
    uint32_t at = cq->count;

    if (cq->count == cq->ring_capacity) {
        cq->is_lost = true;
        return;
    }
    cq->count++;
    for (; at > 0 && cq_at(cq, at - 1)->t > event->t; at--)
        *cq_at(cq, at) = *cq_at(cq, at - 1);
    *cq_at(cq, at) = *event;
}

uint32_t cq_visible(const struct cq *cq, simtime now)
{
    uint32_t n = 0;

    while (n < cq->count && cq_at(cq, n)->t <= now.ps)
        n++;
    return n;
}

void cq_pop(struct cq *cq, uint32_t n)
{
    cq->head += n;
    if (cq->head >= cq->ring_capacity)
        cq->head -= cq->ring_capacity;
    cq->count -= n;
}

void cq_drop_qp(struct cq *cq, uint32_t qp)
{
    uint32_t kept = 0;

    for (uint32_t i = 0; i < cq->count; i++) {
        if (cq_at(cq, i)->qp != qp)
            *cq_at(cq, kept++) = *cq_at(cq, i);
    }
    cq->count = kept;
}

/* A queue that the device has one more of, in our tables. NULL: none. */
static struct cq *enter_cq(struct actor *a, const struct device *device)
{
    struct library *library = library_now();
    struct cq *cq;

    if (!limit_take(a, device, PROTO_LIMITED_CQ))
        return NULL;
    cq = shim_alloc(sizeof *cq);
    if (cq != NULL && live_add(&library->live, cq, LIVE_CQ)) {
        cq->number = library->next_cq;
        if (cq->number < PROTO_CQS_MAX && table_put(&library->cqs, cq->number, cq)) {
            library->next_cq++;
            library->cq_count++;
            return cq;
        }
        live_remove(&library->live, cq);
    }
    limit_give(a, device, PROTO_LIMITED_CQ);
    shim_free(cq);
    return NULL;
}

struct ibv_cq *ibv_create_cq(struct ibv_context *ibv, int cqe, void *cq_context,
                             struct ibv_comp_channel *channel, int comp_vector)
{
    struct library *library = library_now();
    struct actor *a = library_enter(PROTO_CHARGE_OBJECT);
    struct context *context;
    struct cq *cq;

    if (a == NULL)
        return NULL;
    if (!object_is(ibv, LIVE_CONTEXT) || cqe < 1 || (uint32_t)cqe > library->agreed->max_cqe ||
        comp_vector < 0 || comp_vector >= ibv->num_comp_vectors ||
        (channel != NULL && !object_is(channel, LIVE_CHANNEL)))
        return library_fail(EINVAL);
    context = context_of(ibv);
    if (context->device->cqs >= library->agreed->max_cq || library->next_cq == PROTO_CQS_MAX)
        return library_fail(ENOMEM);
    cq = enter_cq(a, context->device);
    if (cq == NULL)
        return library_fail(ENOMEM);
    cq->context = context;
    cq->channel = (struct channel *)channel;
    cq->ibv.context = ibv;
    cq->ibv.channel = channel;
    cq->ibv.cq_context = cq_context;
    cq->ibv.cqe = cqe;
    cq->ibv.handle = library->next_handle++;
    (void)pthread_mutex_init(&cq->ibv.mutex, NULL);
    (void)pthread_cond_init(&cq->ibv.cond, NULL);
    if (cq->channel != NULL)
        cq->channel->uses++;
    context->uses++;
    context->device->cqs++;
    return ibv_cq_ex_to_cq(&cq->ibv);
}

int ibv_resize_cq(struct ibv_cq *ibv, int cqe)
{
    struct actor *a = library_enter(PROTO_CHARGE_OBJECT);

    if (a == NULL)
        return ENOSYS;
    if (!object_is(ibv, LIVE_CQ) || cqe < 1 || (uint32_t)cqe > library_now()->agreed->max_cqe ||
        (uint32_t)cqe < cq_visible((const struct cq *)(void *)ibv, actor_now(a)))
        return EINVAL;
    ibv->cqe = cqe;
    return 0;
}

int ibv_destroy_cq(struct ibv_cq *ibv)
{
    struct cq *cq = (struct cq *)(void *)ibv;
    struct library *library = library_now();
    struct actor *a = library_enter(PROTO_CHARGE_OBJECT);

    if (a == NULL)
        return ENOSYS;
    if (!object_is(ibv, LIVE_CQ))
        return EINVAL;
    if (cq->uses > 0)
        return EBUSY;
    channel_forget_cq(cq);
    channel_forget(cq->context, cq);
    (void)table_put(&library->cqs, cq->number, NULL);
    library->cq_count--;
    live_remove(&library->live, cq);
    if (cq->channel != NULL)
        cq->channel->uses--;
    cq->context->uses--;
    cq->context->device->cqs--;
    limit_give(a, cq->context->device, PROTO_LIMITED_CQ);
    shim_free(cq->ring);
    shim_free(cq);
    return 0;
}
