/* SPDX-License-Identifier: Apache-2.0 */
/*
 * DOC: States of a queue pair
 *
 * Each transition is a row: for which types, from where, to where, which attributes it needs and
 * which it may bring (InfiniBand specification, volume 1, table of modify queue pair). An attribute
 * whose bit is not in the mask is not looked at: JACCL and others leave the rest of the structure
 * as it was on the stack. Both JACCL's attributes (MTU 1024, access 7) and those of TN3205's sample
 * (MTU 4096, access 0) pass; no MTU changes the frames on the wire.
 *
 * To RTR, profile `apple` wants an IPv4-mapped source GID and a destination at the other end of
 * the cable; the scheduler answers with the errno that users report (sched_qp.c).
 */
#include <errno.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <infiniband/verbs.h>

#include "verbs-shim/shim/verbs/ah.h"
#include "verbs-shim/shim/verbs/channel.h"
#include "verbs-shim/shim/verbs/objects.h"
#include "verbs-shim/shim/verbs/poll.h"
#include "verbs-shim/shim/verbs/port.h"
#include "verbs-shim/shim/verbs/qp.h"
#include "verbs-shim/shim/verbs/queue.h"

#define UC  (1U << IBV_QPT_UC)
#define RC  (1U << IBV_QPT_RC)
#define UD  (1U << IBV_QPT_UD)
#define ANY (UC | RC | UD)

#define MTU_MIN IBV_MTU_256
#define MTU_MAX IBV_MTU_4096

struct transition {
    uint32_t types;
    enum ibv_qp_state from, to;
    int needs; /* besides IBV_QP_STATE */
    int may;
};

static const struct transition transitions[] = {
    {UC | RC, IBV_QPS_RESET, IBV_QPS_INIT, IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS,
     0},
    {UD, IBV_QPS_RESET, IBV_QPS_INIT, IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_QKEY, 0},
    {UC | RC, IBV_QPS_INIT, IBV_QPS_INIT, 0, IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS},
    {UD, IBV_QPS_INIT, IBV_QPS_INIT, 0, IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_QKEY},
    {UC, IBV_QPS_INIT, IBV_QPS_RTR, IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN,
     IBV_QP_PKEY_INDEX | IBV_QP_ACCESS_FLAGS},
    {RC, IBV_QPS_INIT, IBV_QPS_RTR,
     IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN | IBV_QP_MAX_DEST_RD_ATOMIC |
         IBV_QP_MIN_RNR_TIMER,
     IBV_QP_PKEY_INDEX | IBV_QP_ACCESS_FLAGS},
    {UD, IBV_QPS_INIT, IBV_QPS_RTR, 0, IBV_QP_PKEY_INDEX | IBV_QP_QKEY},
    {UC, IBV_QPS_RTR, IBV_QPS_RTS, IBV_QP_SQ_PSN, IBV_QP_CUR_STATE | IBV_QP_ACCESS_FLAGS},
    {RC, IBV_QPS_RTR, IBV_QPS_RTS,
     IBV_QP_SQ_PSN | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY | IBV_QP_MAX_QP_RD_ATOMIC,
     IBV_QP_CUR_STATE | IBV_QP_ACCESS_FLAGS | IBV_QP_MIN_RNR_TIMER},
    {UD, IBV_QPS_RTR, IBV_QPS_RTS, IBV_QP_SQ_PSN, IBV_QP_CUR_STATE | IBV_QP_QKEY},
    {UC, IBV_QPS_RTS, IBV_QPS_RTS, 0, IBV_QP_CUR_STATE | IBV_QP_ACCESS_FLAGS},
    {RC, IBV_QPS_RTS, IBV_QPS_RTS, 0,
     IBV_QP_CUR_STATE | IBV_QP_ACCESS_FLAGS | IBV_QP_MIN_RNR_TIMER},
    {UD, IBV_QPS_RTS, IBV_QPS_RTS, 0, IBV_QP_CUR_STATE | IBV_QP_QKEY},
};

/* Is there such a transition, with these attributes? */
static bool is_allowed(enum ibv_qp_type type, enum ibv_qp_state from, enum ibv_qp_state to,
                       int mask)
{
    if (to == IBV_QPS_RESET || to == IBV_QPS_ERR)
        return (mask & ~(IBV_QP_STATE | IBV_QP_CUR_STATE)) == 0;
    for (size_t i = 0; i < sizeof transitions / sizeof transitions[0]; i++) {
        const struct transition *row = &transitions[i];

        if (row->types >> type & 1 && row->from == from && row->to == to)
            return (mask & row->needs) == row->needs &&
                   (mask & ~(IBV_QP_STATE | row->needs | row->may)) == 0;
    }
    return false;
}

/* Values of the attributes in the mask. */
static bool is_sane(const struct ibv_qp_attr *attr, int mask)
{
    const unsigned int access = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE |
                                IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_ATOMIC;

    if (mask & IBV_QP_PORT && attr->port_num != PORT_NUMBER)
        return false;
    if (mask & IBV_QP_PKEY_INDEX && attr->pkey_index != 0)
        return false;
    if (mask & IBV_QP_ACCESS_FLAGS && attr->qp_access_flags & ~access)
        return false;
    if (mask & IBV_QP_PATH_MTU && (attr->path_mtu < MTU_MIN || attr->path_mtu > MTU_MAX))
        return false;
    if (mask & IBV_QP_AV && attr->ah_attr.port_num != PORT_NUMBER)
        return false;
    if (mask & IBV_QP_DEST_QPN && attr->dest_qp_num >= 1U << 24)
        return false;
    return true;
}

// NOLINTNEXTLINE(readability-function-cognitive-complexity): a list, a line an attribute
static void keep(struct ibv_qp_attr *to, const struct ibv_qp_attr *from, int mask)
{
#define KEEP(bit, field)             \
    do {                             \
        if (mask & (bit))            \
            to->field = from->field; \
    } while (0)
    KEEP(IBV_QP_PKEY_INDEX, pkey_index);
    KEEP(IBV_QP_PORT, port_num);
    KEEP(IBV_QP_ACCESS_FLAGS, qp_access_flags);
    KEEP(IBV_QP_QKEY, qkey);
    KEEP(IBV_QP_AV, ah_attr);
    KEEP(IBV_QP_PATH_MTU, path_mtu);
    KEEP(IBV_QP_DEST_QPN, dest_qp_num);
    KEEP(IBV_QP_RQ_PSN, rq_psn);
    KEEP(IBV_QP_SQ_PSN, sq_psn);
    KEEP(IBV_QP_TIMEOUT, timeout);
    KEEP(IBV_QP_RETRY_CNT, retry_cnt);
    KEEP(IBV_QP_RNR_RETRY, rnr_retry);
    KEEP(IBV_QP_MIN_RNR_TIMER, min_rnr_timer);
    KEEP(IBV_QP_MAX_QP_RD_ATOMIC, max_rd_atomic);
    KEEP(IBV_QP_MAX_DEST_RD_ATOMIC, max_dest_rd_atomic);
#undef KEEP
}

/* errno */
static int connect_peer(struct actor *a, const struct qp *qp, const struct ibv_qp_attr *attr)
{
    const struct ibv_ah_attr *ah = &attr->ah_attr;
    union proto_call_args args = {.raw = {0}};

    if (!ah_is_named(ah))
        return EINVAL;
    if (!ah->is_global)
        args.connect.dlid = ah->dlid;
    args.connect.qp = qp->number;
    args.connect.dest_qp_num = attr->dest_qp_num;
    args.connect.is_gid_checked = library_now()->profile->wants_ipv4;
    args.connect.sgid_index = ah->grh.sgid_index;
    memcpy(args.connect.dgid, ah->grh.dgid.raw, sizeof args.connect.dgid);
    return actor_call(a, PROTO_CALL_CONNECT_QP, &args, NULL);
}

/* From RTR on datagrams with the Q key are taken. errno */
static int open_datagrams(struct actor *a, const struct qp *qp, const struct ibv_qp_attr *attr,
                          int mask)
{
    const union proto_call_args args = {
        .raw = {qp->number, (mask & IBV_QP_QKEY) ? attr->qkey : qp->attr.qkey}};

    return actor_call(a, PROTO_CALL_OPEN_UD, &args, NULL);
}

static void flush(struct actor *a, const struct qp *qp)
{
    const union proto_call_args args = {.qp = qp->number};

    (void)actor_call(a, PROTO_CALL_FLUSH_QP, &args, NULL);
    poll_take_events();
}

/* errno */
static int reset(struct actor *a, struct qp *qp)
{
    const union proto_call_args args = {.qp = qp->number};
    int error = actor_call(a, PROTO_CALL_RESET_QP, &args, NULL);

    if (error)
        return error;
    qp_forget_completions(a, qp);
    queue_clear(&qp->send, false);
    queue_clear(&qp->recv, true);
    qp->epoch++;
    qp->has_failed = false;
    qp->reads = 0;
    qp->fenced = 0;
    qp->attr = (struct ibv_qp_attr){.qp_state = IBV_QPS_RESET};
    return 0;
}

/* What a transition does besides being noted. errno */
static int enter(struct actor *a, struct qp *qp, enum ibv_qp_state to,
                 const struct ibv_qp_attr *attr, int mask)
{
    enum ibv_qp_state from = qp->ibv.qp_base.state;
    int error = 0;

    if (qp->ibv.qp_base.qp_type == IBV_QPT_UD && (to == IBV_QPS_RTR || to == IBV_QPS_RTS))
        return open_datagrams(a, qp, attr, mask);
    if (to == IBV_QPS_RTR)
        return connect_peer(a, qp, attr);
    if (to == from)
        return 0;
    if (to == IBV_QPS_ERR) {
        flush(a, qp);
        qp->pd->in_error++;
        if (qp->srq != NULL)
            channel_async(a, qp->context,
                          &(struct ibv_async_event){.element.qp = &qp->ibv.qp_base,
                                                    .event_type = IBV_EVENT_QP_LAST_WQE_REACHED});
    } else if (to == IBV_QPS_RESET) {
        error = reset(a, qp);
    }
    if (from == IBV_QPS_ERR && error == 0)
        qp->pd->in_error--;
    return error;
}

int ibv_modify_qp(struct ibv_qp *ibv, struct ibv_qp_attr *attr, int attr_mask)
{
    struct qp *qp = (struct qp *)(void *)ibv;
    struct actor *a = library_enter(PROTO_CHARGE_OBJECT);
    enum ibv_qp_state to;
    int error;

    if (a == NULL)
        return ENOSYS;
    if (!object_is(ibv, LIVE_QP) || attr == NULL)
        return EINVAL;
    to = (attr_mask & IBV_QP_STATE) ? attr->qp_state : ibv->state;
    if ((attr_mask & IBV_QP_CUR_STATE && attr->cur_qp_state != ibv->state) ||
        !is_allowed(ibv->qp_type, ibv->state, to, attr_mask) || !is_sane(attr, attr_mask))
        return EINVAL;
    error = enter(a, qp, to, attr, attr_mask);
    if (error)
        return error;
    keep(&qp->attr, attr, attr_mask);
    ibv->state = to;
    return 0;
}
