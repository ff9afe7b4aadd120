/* SPDX-License-Identifier: Apache-2.0 */
/*
 * DOC: Polling
 *
 * A poll that begins at t looks at t + poll_empty and shows completions due by then. With n of them
 * it takes max(poll_empty, n * poll_entry) in all, an empty one poll_empty. Nothing is decided
 * after the look, so that the rest of the cost needs no second chance to park.
 *
 * The bytes of a receive lie in an arena of the sender's process until the poll that returns the
 * completion; they are copied then, within the scatter list as it was posted, and the sender's slot
 * is given back. What an event says is checked against our own tables first: another process had
 * its hands on it.
 */
#include "verbs-shim/shim/verbs/poll.h"

#include <errno.h>
#include <stdint.h>
#include <string.h>

#include "verbs-shim/shim/verbs/ah.h"
#include "verbs-shim/shim/verbs/channel.h"
#include "verbs-shim/shim/verbs/cq.h"
#include "verbs-shim/shim/verbs/fold.h"
#include "verbs-shim/shim/verbs/memory.h"
#include "verbs-shim/shim/verbs/queue.h"
#include "verbs-shim/shim/verbs/rdma.h"

static bool is_recv(const struct proto_event *event)
{
    return queue_wqe_is_recv(event->wqe);
}

static struct queue *queue_of(struct qp *qp, const struct proto_event *event)
{
    if (!is_recv(event))
        return &qp->send;
    return qp->srq != NULL ? &qp->srq->recv : &qp->recv;
}

/* Is it of a receive in a shared queue? */
static bool is_shared(const struct qp *qp, const struct proto_event *event)
{
    return is_recv(event) && qp->srq != NULL;
}

void poll_on_event(const struct proto_event *event)
{
    struct library *library = library_now();
    struct cq *cq = table_get(&library->cqs, event->cq);
    struct qp *qp = table_get(&library->qps, event->qp);

    if (event->kind == PROTO_EVENT_APPLY) {
        rdma_book(event);
        return;
    }
    if (event->kind != PROTO_EVENT_COMPLETION || cq == NULL || qp == NULL ||
        cq != (is_recv(event) ? qp->recv_cq : qp->send_cq) ||
        !queue_has(queue_of(qp, event), event->wqe, is_shared(qp, event) ? 0 : qp->epoch))
        return;
    if (event->flags & PROTO_SRQ_LIMIT && is_shared(qp, event))
        qp->srq->limit_due = (simtime){event->t};
    cq_insert(cq, event);
}

void poll_take_events(void)
{
    client_take_events(poll_on_event);
}

void *poll_take_slot(uint64_t bytes, uint64_t *ret_slot)
{
    void *slot = arena_take(bytes, ret_slot);

    if (slot != NULL)
        return slot;
    poll_take_events();
    return arena_take(bytes, ret_slot);
}

enum ibv_wc_status poll_scatter(const struct pd *pd, const struct work *work,
                                struct proto_event *event, bool is_late)
{
    const unsigned char *from = arena_peer(event->peer, event->slot, event->length);
    const struct ibv_sge *sges = queue_sges(work);
    uint64_t left = event->length;

    if (from == NULL)
        return IBV_WC_GENERAL_ERR;
    if (event->flags & PROTO_HAS_GRH)
        event->rkey = ah_header_kind(from);
    for (uint32_t i = 0; i < work->sge_count && left > 0; i++) {
        size_t step = left < sges[i].length ? (size_t)left : sges[i].length;
        void *to = memory_at(pd, &sges[i], IBV_ACCESS_LOCAL_WRITE);

        if (step == 0)
            continue; /* its key need not be one */
        if (to == NULL)
            return IBV_WC_LOC_PROT_ERR;
        if (!is_late || memory_is_mapped((uintptr_t)to, step))
            memcpy(to, from, step);
        from += step;
        left -= step;
    }
    return left == 0 ? IBV_WC_SUCCESS : IBV_WC_LOC_LEN_ERR;
}

/* The bytes of a completion go where they belong; afterwards it has none. */
static void deliver(struct actor *a, struct qp *qp, struct proto_event *event, bool is_late)
{
    struct proto_command consumed = {
        .kind = PROTO_COMMAND_CONSUMED,
        .qp = event->peer,
        .length = event->length,
        .slot = event->slot,
        .token = event->token,
    };

    if (event->slot == PROTO_NO_SLOT)
        return;
    if (event->status == IBV_WC_SUCCESS)
        event->status = poll_scatter(qp->srq != NULL ? qp->srq->pd : qp->pd,
                                     queue_work(queue_of(qp, event), event->wqe), event, is_late);
    event->slot = PROTO_NO_SLOT;
    actor_post(a, &consumed);
}

void poll_deliver_arrived(struct actor *a)
{
    const struct library *library = library_now();

    poll_take_events();
    for (uint32_t i = 0; i < library->next_cq; i++) {
        struct cq *cq = table_get(&library->cqs, i);
        uint32_t visible = cq != NULL ? cq_visible(cq, actor_now(a)) : 0;

        for (uint32_t n = 0; n < visible; n++)
            deliver(a, table_get(&library->qps, cq_at(cq, n)->qp), cq_at(cq, n), true);
    }
}

static void fill(struct ibv_wc *wc, const struct qp *qp, const struct work *work,
                 const struct proto_event *event)
{
    *wc = (struct ibv_wc){
        .wr_id = work->wr_id,
        .status = (enum ibv_wc_status)event->status,
        .opcode = (enum ibv_wc_opcode)event->opcode,
        .byte_len = (uint32_t)event->length,
        .qp_num = qp->ibv.qp_base.qp_num,
        .src_qp = event->src_qp,
    };
    if (event->flags & PROTO_HAS_IMM) {
        wc->wc_flags |= IBV_WC_WITH_IMM;
        wc->imm_data = event->imm;
    }
    if (event->flags & PROTO_HAS_GRH) {
        wc->wc_flags |= event->rkey != 0 ? IBV_WC_GRH : 0;
        if (!library_now()->agreed->has_lids)
            wc->sl = (uint8_t)event->rkey;
        else
            wc->slid = (uint16_t)PROTO_LID(event->remote_addr);
    }
}

/* The first completion of the queue, into *wc. */
static void take(struct actor *a, struct cq *cq, struct ibv_wc *wc)
{
    struct proto_event event = *cq_at(cq, 0);
    struct qp *qp = table_get(&library_now()->qps, event.qp);
    struct queue *queue = queue_of(qp, &event);

    cq_pop(cq, 1);
    deliver(a, qp, &event, false);
    if (!is_recv(&event) && event.status == IBV_WC_SUCCESS)
        event.status = queue_work(queue, event.wqe)->status;
    if (event.status != IBV_WC_SUCCESS && qp->ibv.qp_base.qp_type == IBV_QPT_RC)
        rdma_fail(qp);
    fill(wc, qp, queue_work(queue, event.wqe), &event);
    queue_retire(queue, event.wqe);
    actor_trace(a, PROTO_CHARGE_POLL_ENTRY, event.wqe, ((uint64_t)wc->status << 32) | wc->byte_len);
}

/* Pays for `n` completions, of which looking is paid already. */
static void pay(struct actor *a, uint32_t n)
{
    const int64_t *charge = library_now()->agreed->charge;
    struct proto_stats *stats = actor_stats(a);
    int64_t rest = charge[PROTO_CHARGE_POLL_ENTRY] * n - charge[PROTO_CHARGE_POLL_EMPTY];

    stats->calls[PROTO_CHARGE_POLL_EMPTY]--;
    stats->calls[PROTO_CHARGE_POLL_ENTRY] += n;
    if (rest > 0)
        actor_jump(a, simtime_add(actor_now(a), (simspan){rest}));
}

int poll_cq(struct ibv_cq *ibv, int num_entries, struct ibv_wc *wc)
{
    struct cq *cq = (struct cq *)(void *)ibv;
    struct actor *a = library_enter(PROTO_CHARGE_POLL_EMPTY);
    uint32_t visible;
    uint32_t n;

    if (a == NULL)
        return -ENOSYS;
    if (!object_is(ibv, LIVE_CQ) || num_entries < 0 || (num_entries > 0 && wc == NULL))
        return -EINVAL;
    poll_take_events();
    visible = cq_visible(cq, actor_now(a));
    channel_fire(cq, actor_now(a));
    if (visible > (uint32_t)ibv->cqe && !cq->is_lost && !cq->ignores_overrun) {
        cq->is_lost = true;
        channel_async(a, cq->context,
                      &(struct ibv_async_event){.element.cq = ibv, .event_type = IBV_EVENT_CQ_ERR});
    }
    if (cq->is_lost)
        return -EIO;
    if (visible == 0 && num_entries > 0) {
        fold_after_empty(a, cq);
        return 0;
    }
    fold_after_found(a, cq);
    n = visible < (uint32_t)num_entries ? visible : (uint32_t)num_entries;
    for (uint32_t i = 0; i < n; i++)
        take(a, cq, &wc[i]);
    if (n > 0)
        pay(a, n);
    actor_leave(a);
    return (int)n;
}
