/* SPDX-License-Identifier: Apache-2.0 */
/*
 * DOC: Queue pairs
 *
 * Apple's devices give UC queue pairs only, ten a device, whichever context asks (the eleventh is
 * EBUSY, ml-explore/mlx#4209), with queues of 1,023 frames for a small wish and 4,095 for a large
 * one. What was granted is told in the attributes and by query_qp.
 */
#include "verbs-shim/shim/verbs/qp.h"

#include <errno.h>
#include <stdint.h>
#include <string.h>

#include <infiniband/verbs.h>

#include "verbs-shim/shim/guest.h"
#include "verbs-shim/shim/verbs/channel.h"
#include "verbs-shim/shim/verbs/cq.h"
#include "verbs-shim/shim/verbs/objects.h"
#include "verbs-shim/shim/verbs/poll.h"
#include "verbs-shim/shim/verbs/queue.h"
#include "verbs-shim/shim/verbs/srq.h"

/* errno of a queue pair that cannot be. */
static int refuse(const struct pd *pd, const struct ibv_qp_init_attr *init)
{
    const struct library *library = library_now();
    const struct profile *profile = library->profile;
    const struct ibv_qp_cap *cap = &init->cap;

    if (!object_is(init->send_cq, LIVE_CQ) || !object_is(init->recv_cq, LIVE_CQ))
        return EINVAL;
    if ((unsigned int)init->qp_type >= 32 || !(profile->qp_types >> init->qp_type & 1) ||
        (init->srq != NULL && !profile->has_one_sided))
        return EOPNOTSUPP;
    if (init->srq != NULL && !object_is(init->srq, LIVE_SRQ))
        return EINVAL;
    if (cap->max_send_wr > library->agreed->max_wr || cap->max_recv_wr > library->agreed->max_wr ||
        cap->max_send_sge > profile->max_sge || cap->max_recv_sge > profile->max_sge ||
        cap->max_inline_data > profile->max_inline)
        return EINVAL;
    return pd->context->device->qps >= library->agreed->max_qp ? EBUSY : 0;
}

/* Work requests that a queue gets. */
static uint32_t granted(uint32_t wished)
{
    const struct proto_agreed *agreed = library_now()->agreed;

    if (library_now()->profile->has_frames)
        return wished <= agreed->queue_frames_small ? agreed->queue_frames_small
                                                    : agreed->queue_frames_max;
    return wished > 0 ? wished : 1;
}

static void grant(struct ibv_qp_cap *cap)
{
    cap->max_send_wr = granted(cap->max_send_wr);
    cap->max_recv_wr = granted(cap->max_recv_wr);
    if (cap->max_send_sge == 0)
        cap->max_send_sge = 1;
    if (cap->max_recv_sge == 0)
        cap->max_recv_sge = 1;
}

static void release_memory(struct qp *qp)
{
    qp_ex_done(qp);
    queue_done(&qp->send);
    queue_done(&qp->recv);
    shim_free(qp);
}

/* Receives that may complete. */
static uint32_t receives_of(const struct qp *qp)
{
    return qp->srq != NULL ? qp->srq->recv.depth : qp->recv.depth;
}

/* Memory of a queue pair, and room in its completion queues. NULL: none. */
static struct qp *build(const struct pd *pd, const struct ibv_qp_init_attr *init)
{
    bool has_frames = library_now()->profile->has_frames;
    struct qp *qp = shim_alloc(sizeof *qp);

    if (qp == NULL)
        return NULL;
    qp->cap = init->cap;
    grant(&qp->cap);
    qp->context = pd->context;
    qp->send_cq = (struct cq *)(void *)init->send_cq;
    qp->recv_cq = (struct cq *)(void *)init->recv_cq;
    qp->srq = (struct srq *)(void *)init->srq;
    if (queue_init(&qp->send, false, qp->cap.max_send_wr, has_frames ? qp->cap.max_send_wr : 0,
                   has_frames ? 1 : qp->cap.max_send_sge) &&
        queue_init(&qp->recv, true, qp->cap.max_recv_wr, has_frames ? qp->cap.max_recv_wr : 0,
                   qp->cap.max_recv_sge) &&
        cq_reserve(qp->send_cq, qp->send.depth)) {
        if (cq_reserve(qp->recv_cq, receives_of(qp)))
            return qp;
        cq_unreserve(qp->send_cq, qp->send.depth);
    }
    release_memory(qp);
    return NULL;
}

static void unbuild(struct qp *qp)
{
    cq_unreserve(qp->send_cq, qp->send.depth);
    cq_unreserve(qp->recv_cq, receives_of(qp));
    release_memory(qp);
}

static void tie(struct qp *qp, struct pd *pd, const struct ibv_qp_init_attr *init)
{
    struct ibv_qp *ibv = &qp->ibv.qp_base;

    qp->pd = pd;
    qp->signals_all = init->sq_sig_all != 0;
    ibv->context = pd->ibv.context;
    ibv->qp_context = init->qp_context;
    ibv->pd = &pd->ibv;
    ibv->send_cq = init->send_cq;
    ibv->recv_cq = init->recv_cq;
    ibv->srq = init->srq;
    ibv->handle = library_now()->next_handle++;
    ibv->state = IBV_QPS_RESET;
    ibv->qp_type = init->qp_type;
    (void)pthread_mutex_init(&ibv->mutex, NULL);
    (void)pthread_cond_init(&ibv->cond, NULL);
    qp->send_cq->uses++;
    qp->recv_cq->uses++;
    if (qp->srq != NULL) {
        qp->srq->uses++;
        /* Who waits for events of the device watches this queue from now on. */
        if (!qp->recv_cq->takes_of_srq)
            actor_acted_outside(actor_self());
        qp->recv_cq->takes_of_srq = true;
    }
    pd->uses++;
    pd->context->uses++;
    pd->context->device->qps++;
}

static void untie(struct qp *qp)
{
    qp->send_cq->uses--;
    qp->recv_cq->uses--;
    if (qp->srq != NULL)
        qp->srq->uses--;
    qp->pd->uses--;
    qp->pd->context->uses--;
    qp->pd->context->device->qps--;
    if (qp->ibv.qp_base.state == IBV_QPS_ERR)
        qp->pd->in_error--;
}

/* Makes the queue pair known to the scheduler, and to us under its number. errno. */
static int announce(struct actor *a, struct qp *qp, enum ibv_qp_type type)
{
    struct library *library = library_now();
    const union proto_call_args args = {
        .create = {.device = qp->context->device->index,
                   .qp_type = (uint32_t)type,
                   .send_cq = qp->send_cq->number,
                   .recv_cq = qp->recv_cq->number,
                   .send_wrs = qp->send.depth,
                   .recv_wrs = qp->recv.depth,
                   .srq = qp->srq != NULL ? qp->srq->number + 1 : 0},
    };
    int64_t reply[4] = {0};
    int error = actor_call(a, PROTO_CALL_CREATE_QP, &args, reply);

    if (error)
        return error;
    qp->number = (uint32_t)reply[0];
    qp->ibv.qp_base.qp_num = (uint32_t)reply[1];
    if (reply[0] < 0 || reply[0] > UINT32_MAX || !table_put(&library->qps, qp->number, qp))
        return ENOMEM;
    if (!live_add(&library->live, qp, LIVE_QP)) {
        (void)table_put(&library->qps, qp->number, NULL);
        return ENOMEM;
    }
    return 0;
}

struct ibv_qp *ibv_create_qp(struct ibv_pd *ibv_pd, struct ibv_qp_init_attr *init)
{
    struct pd *pd = (struct pd *)ibv_pd;
    struct actor *a = library_enter(PROTO_CHARGE_OBJECT);
    struct qp *qp;
    int error;

    if (a == NULL)
        return NULL;
    if (!object_is(ibv_pd, LIVE_PD) || init == NULL)
        return library_fail(EINVAL);
    error = refuse(pd, init);
    if (error)
        return library_fail(error);
    qp = build(pd, init);
    if (qp == NULL)
        return library_fail(ENOMEM);
    tie(qp, pd, init);
    error = announce(a, qp, init->qp_type);
    if (error) {
        untie(qp);
        unbuild(qp);
        return library_fail(error);
    }
    init->cap = qp->cap;
    return &qp->ibv.qp_base;
}

void qp_forget_completions(struct actor *a, struct qp *qp)
{
    poll_deliver_arrived(a);
    srq_forget_qp(qp);
    cq_drop_qp(qp->send_cq, qp->number);
    cq_drop_qp(qp->recv_cq, qp->number);
}

int ibv_destroy_qp(struct ibv_qp *ibv)
{
    struct qp *qp = (struct qp *)(void *)ibv;
    struct library *library = library_now();
    struct actor *a = library_enter(PROTO_CHARGE_OBJECT);
    union proto_call_args args = {.qp = 0};

    if (a == NULL)
        return ENOSYS;
    if (!object_is(ibv, LIVE_QP))
        return EINVAL;
    /* From here on no other thread finds it. What has arrived is in memory first. */
    poll_deliver_arrived(a);
    live_remove(&library->live, qp);
    args.qp = qp->number;
    (void)actor_call(a, PROTO_CALL_DESTROY_QP, &args, NULL);
    qp_forget_completions(a, qp);
    (void)table_put(&library->qps, qp->number, NULL);
    channel_forget(qp->context, qp);
    untie(qp);
    unbuild(qp);
    return 0;
}

struct ibv_qp_ex *ibv_qp_to_qp_ex(struct ibv_qp *ibv)
{
    return object_is(ibv, LIVE_QP) && ((struct qp *)(void *)ibv)->has_wr_ops
               ? (struct ibv_qp_ex *)(void *)ibv
               : NULL;
}

int ibv_query_qp(struct ibv_qp *ibv, struct ibv_qp_attr *attr, int attr_mask,
                 struct ibv_qp_init_attr *init)
{
    const struct qp *qp = (const struct qp *)(void *)ibv;

    (void)attr_mask; /* all is filled, as real providers do */
    if (library_enter(PROTO_CHARGE_VERB) == NULL)
        return ENOSYS;
    if (!object_is(ibv, LIVE_QP) || attr == NULL || init == NULL)
        return EINVAL;
    *attr = qp->attr;
    attr->qp_state = ibv->state;
    attr->cur_qp_state = ibv->state;
    attr->cap = qp->cap;
    *init = (struct ibv_qp_init_attr){
        .qp_context = ibv->qp_context,
        .send_cq = ibv->send_cq,
        .recv_cq = ibv->recv_cq,
        .srq = ibv->srq,
        .cap = qp->cap,
        .qp_type = ibv->qp_type,
        .sq_sig_all = qp->signals_all,
    };
    return 0;
}

int ibv_query_qp_data_in_order(struct ibv_qp *ibv, enum ibv_wr_opcode op, uint32_t flags)
{
    (void)op;
    return object_is(ibv, LIVE_QP) && flags == 0 ? 1 : 0;
}
