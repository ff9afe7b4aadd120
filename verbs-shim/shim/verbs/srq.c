/* SPDX-License-Identifier: Apache-2.0 */
/*
 * DOC: Shared receive queues
 *
 * A queue of receives for several queue pairs of one protection domain. A place in it comes back
 * when its completion is polled. The limit, once set, causes one event, when fewer receives than
 * that are left; the scheduler knows when (sched_srq.c), and marks the completion that did it.
 */
#include "verbs-shim/shim/verbs/srq.h"

#include <errno.h>
#include <stdint.h>

#include "verbs-shim/shim/actor.h"
#include "verbs-shim/shim/guest.h"
#include "verbs-shim/shim/verbs/channel.h"
#include "verbs-shim/shim/verbs/cq.h"
#include "verbs-shim/shim/verbs/post.h"
#include "verbs-shim/shim/verbs/queue.h"

static struct srq *build(const struct ibv_srq_attr *attr)
{
    uint32_t sges = attr->max_sge > 0 ? attr->max_sge : 1;
    struct srq *srq = shim_alloc(sizeof *srq);

    if (srq == NULL)
        return NULL;
    srq->max_sge = sges;
    srq->limit_due = simtime_never();
    if (queue_init(&srq->recv, true, attr->max_wr, 0, sges))
        return srq;
    shim_free(srq);
    return NULL;
}

static void unbuild(struct srq *srq)
{
    queue_done(&srq->recv);
    shim_free(srq);
}

/* errno */
static int announce(struct actor *a, struct srq *srq)
{
    const union proto_call_args args = {.device = srq->pd->context->device->index};
    int64_t reply[4] = {0};
    int error = actor_call(a, PROTO_CALL_CREATE_SRQ, &args, reply);

    if (error)
        return error;
    srq->number = (uint32_t)reply[0];
    if (!live_add(&library_now()->live, srq, LIVE_SRQ)) {
        const union proto_call_args gone = {.qp = srq->number};

        (void)actor_call(a, PROTO_CALL_DESTROY_QP, &gone, NULL);
        return ENOMEM;
    }
    srq->next = library_now()->srqs;
    library_now()->srqs = srq;
    return 0;
}

struct ibv_srq *ibv_create_srq(struct ibv_pd *ibv, struct ibv_srq_init_attr *init)
{
    struct pd *pd = (struct pd *)ibv;
    struct actor *a = library_enter(PROTO_CHARGE_OBJECT);
    const struct library *library = library_now();
    struct srq *srq;
    int error;

    if (a == NULL)
        return NULL;
    if (!object_is(ibv, LIVE_PD) || init == NULL)
        return library_fail(EINVAL);
    if (!library->profile->has_one_sided)
        return library_fail(EOPNOTSUPP);
    if (init->attr.max_wr == 0 || init->attr.max_wr > library->agreed->max_wr ||
        init->attr.max_sge > library->profile->max_sge)
        return library_fail(EINVAL);
    srq = build(&init->attr);
    if (srq == NULL)
        return library_fail(ENOMEM);
    srq->pd = pd;
    srq->ibv.context = pd->ibv.context;
    srq->ibv.srq_context = init->srq_context;
    srq->ibv.pd = ibv;
    srq->ibv.handle = library_now()->next_handle++;
    (void)pthread_mutex_init(&srq->ibv.mutex, NULL);
    (void)pthread_cond_init(&srq->ibv.cond, NULL);
    pd->uses++;
    pd->context->uses++;
    error = announce(a, srq);
    if (error) {
        pd->uses--;
        pd->context->uses--;
        unbuild(srq);
        return library_fail(error);
    }
    init->attr.max_sge = srq->max_sge;
    return &srq->ibv;
}

struct ibv_srq *srq_create_ex(struct ibv_context *ibv, struct ibv_srq_init_attr_ex *init)
{
    const uint32_t known = IBV_SRQ_INIT_ATTR_TYPE | IBV_SRQ_INIT_ATTR_PD;
    struct ibv_srq_init_attr plain;
    struct ibv_srq *srq;

    if (!object_is(ibv, LIVE_CONTEXT) || init == NULL || !(init->comp_mask & IBV_SRQ_INIT_ATTR_PD))
        return library_fail(EINVAL);
    if (init->comp_mask & ~known ||
        (init->comp_mask & IBV_SRQ_INIT_ATTR_TYPE && init->srq_type != IBV_SRQT_BASIC))
        return library_fail(EOPNOTSUPP);
    plain = (struct ibv_srq_init_attr){.srq_context = init->srq_context, .attr = init->attr};
    srq = ibv_create_srq(init->pd, &plain);
    if (srq != NULL)
        init->attr = plain.attr;
    return srq;
}

int srq_number(struct ibv_srq *ibv, uint32_t *ret)
{
    if (!object_is(ibv, LIVE_SRQ) || ret == NULL)
        return EINVAL;
    *ret = ((const struct srq *)(void *)ibv)->number;
    return 0;
}

int ibv_modify_srq(struct ibv_srq *ibv, struct ibv_srq_attr *attr, int attr_mask)
{
    struct srq *srq = (struct srq *)(void *)ibv;
    struct actor *a = library_enter(PROTO_CHARGE_OBJECT);
    union proto_call_args args = {.raw = {0}};
    int64_t reply[4] = {0};
    int error;

    if (a == NULL)
        return ENOSYS;
    if (!object_is(ibv, LIVE_SRQ) || attr == NULL)
        return EINVAL;
    if (attr_mask & ~IBV_SRQ_LIMIT)
        return attr_mask & IBV_SRQ_MAX_WR ? EOPNOTSUPP : EINVAL;
    if (!(attr_mask & IBV_SRQ_LIMIT))
        return 0;
    if (attr->srq_limit > srq->recv.depth)
        return EINVAL;
    args.raw[0] = srq->number;
    args.raw[1] = attr->srq_limit;
    error = actor_call(a, PROTO_CALL_LIMIT_SRQ, &args, reply);
    if (error || !object_is(ibv, LIVE_SRQ))
        return error ? error : EINVAL;
    srq->limit = attr->srq_limit;
    if (reply[0]) {
        channel_srq_limit(srq);
        actor_acted_outside(a);
    }
    return 0;
}

int ibv_query_srq(struct ibv_srq *ibv, struct ibv_srq_attr *attr)
{
    const struct srq *srq = (const struct srq *)(void *)ibv;

    if (library_enter(PROTO_CHARGE_VERB) == NULL)
        return ENOSYS;
    if (!object_is(ibv, LIVE_SRQ) || attr == NULL)
        return EINVAL;
    *attr = (struct ibv_srq_attr){
        .max_wr = srq->recv.depth,
        .max_sge = srq->max_sge,
        .srq_limit = srq->limit,
    };
    return 0;
}

static void unlist(const struct srq *srq)
{
    struct srq **at = &library_now()->srqs;

    while (*at != srq)
        at = &(*at)->next;
    *at = srq->next;
}

int ibv_destroy_srq(struct ibv_srq *ibv)
{
    struct srq *srq = (struct srq *)(void *)ibv;
    struct actor *a = library_enter(PROTO_CHARGE_OBJECT);
    union proto_call_args args = {.qp = 0};

    if (a == NULL)
        return ENOSYS;
    if (!object_is(ibv, LIVE_SRQ))
        return EINVAL;
    if (srq->uses > 0)
        return EBUSY;
    live_remove(&library_now()->live, srq);
    unlist(srq);
    args.qp = srq->number;
    (void)actor_call(a, PROTO_CALL_DESTROY_QP, &args, NULL);
    channel_forget(srq->pd->context, srq);
    srq->pd->uses--;
    srq->pd->context->uses--;
    unbuild(srq);
    return 0;
}

void srq_forget_qp(const struct qp *qp)
{
    if (qp->srq == NULL)
        return;
    for (uint32_t i = 0; i < qp->recv_cq->count; i++) {
        const struct proto_event *event = cq_at(qp->recv_cq, i);

        if (event->qp == qp->number && queue_wqe_is_recv(event->wqe))
            queue_retire(&qp->srq->recv, event->wqe);
    }
}

int srq_post_recv(struct ibv_srq *ibv, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad_wr)
{
    int error;

    if (wr == NULL)
        return EINVAL;
    for (;;) {
        struct srq *srq = (struct srq *)(void *)ibv;
        struct actor *a = library_enter(PROTO_CHARGE_POST_RECV);

        if (a == NULL)
            return ENOSYS;
        error = EINVAL;
        if (object_is(ibv, LIVE_SRQ)) {
            struct post_target target = {
                .number = srq->number, .pd = srq->pd, .queue = &srq->recv, .max_sge = srq->max_sge};

            error = post_receive(a, &target, wr);
        }
        if (error)
            break;
        wr = wr->next;
        if (wr == NULL)
            return 0;
    }
    if (bad_wr != NULL)
        *bad_wr = wr;
    return error;
}
