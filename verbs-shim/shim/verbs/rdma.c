/* SPDX-License-Identifier: Apache-2.0 */
/*
 * DOC: One-sided operations
 *
 * A peer's write, read or atomic comes as an event with the instant at which it reaches our
 * memory. It is kept until a thread of ours passes that instant (client_serve_inbox), in order of
 * time. Then it is checked as a responder's adapter would: what the queue pair allows, the key, its
 * domain, its access, the range; a write or read of no bytes needs no key. The answer goes to the
 * scheduler: a status, and for reads and atomics a slot of our arena with the bytes. The same
 * queue brings the bytes of our own reads, which go into the scatter list as it was posted.
 *
 * A fence lets a send wait for the reads before it; since its bytes were gathered at the post, they
 * are gathered again when such a read has arrived.
 */
#include "verbs-shim/shim/verbs/rdma.h"

#include <errno.h>
#include <signal.h>
#include <stddef.h>
#include <string.h>

#include "verbs-shim/shim/actor.h"
#include "verbs-shim/shim/guest.h"
#include "verbs-shim/shim/verbs/channel.h"
#include "verbs-shim/shim/verbs/memory.h"
#include "verbs-shim/shim/verbs/poll.h"
#include "verbs-shim/shim/verbs/queue.h"

#define INBOX        32768U /* under way to us, at most */
#define ATOMIC_BYTES 8U

static struct {
    struct proto_event ring[INBOX]; /* by time; of equal time as they were told */
    uint32_t head, count;
    uint64_t changes;
} inbox;

uint64_t rdma_changes(void)
{
    return inbox.changes;
}

static struct proto_event *inbox_at(uint32_t n)
{
    return &inbox.ring[(inbox.head + n) % INBOX];
}

static void show_due(void)
{
    client_set_due(inbox.count > 0 ? (simtime){inbox_at(0)->t} : simtime_never());
}

void rdma_book(const struct proto_event *event)
{
    uint32_t at = inbox.count;

    if (inbox.count == INBOX) {
        shim_log("more than %u one-sided operations are under way to one process", INBOX);
        (void)raise(SIGKILL);
    }
    inbox.count++;
    for (; at > 0 && inbox_at(at - 1)->t > event->t; at--)
        *inbox_at(at) = *inbox_at(at - 1);
    *inbox_at(at) = *event;
    show_due();
}

void rdma_fail(struct qp *qp)
{
    if (qp->ibv.qp_base.state == IBV_QPS_ERR)
        return;
    qp->ibv.qp_base.state = IBV_QPS_ERR;
    qp->has_failed = true;
    qp->pd->in_error++;
}

/* Where the peer may act; NULL: *ret_status says why it may not. */
static void *allowed(const struct qp *qp, const struct proto_event *event, unsigned int access,
                     enum ibv_wc_status *ret_status)
{
    const struct ibv_sge range = {
        .addr = event->remote_addr, .length = (uint32_t)event->length, .lkey = event->rkey};
    void *at;

    *ret_status = IBV_WC_REM_INV_REQ_ERR;
    if (!(qp->attr.qp_access_flags & access) || event->length > UINT32_MAX ||
        (access == IBV_ACCESS_REMOTE_ATOMIC && event->remote_addr % ATOMIC_BYTES != 0))
        return NULL;
    at = memory_at(qp->pd, &range, access);
    *ret_status = at != NULL ? IBV_WC_SUCCESS : IBV_WC_REM_ACCESS_ERR;
    return at;
}

static enum ibv_wc_status apply_write(const struct qp *qp, const struct proto_event *event)
{
    enum ibv_wc_status status;
    const void *from;
    void *to;

    if (event->length == 0)
        return IBV_WC_SUCCESS;
    to = allowed(qp, event, IBV_ACCESS_REMOTE_WRITE, &status);
    from = arena_peer(event->peer, event->slot, event->length);
    if (to == NULL)
        return status;
    if (from == NULL)
        return IBV_WC_REM_OP_ERR;
    memcpy(to, from, event->length);
    return IBV_WC_SUCCESS;
}

static enum ibv_wc_status apply_read(const struct qp *qp, const struct proto_event *event,
                                     uint64_t *ret_slot)
{
    enum ibv_wc_status status;
    const void *from;
    void *to;

    if (event->length == 0)
        return IBV_WC_SUCCESS;
    from = allowed(qp, event, IBV_ACCESS_REMOTE_READ, &status);
    if (from == NULL)
        return status;
    to = arena_take(event->length, ret_slot);
    if (to == NULL)
        return IBV_WC_REM_OP_ERR;
    memcpy(to, from, event->length);
    return IBV_WC_SUCCESS;
}

static enum ibv_wc_status apply_atomic(const struct qp *qp, const struct proto_event *event,
                                       uint64_t *ret_slot)
{
    const unsigned char *operands = arena_peer(event->peer, event->slot, PROTO_OPERANDS_BYTES);
    enum ibv_wc_status status;
    uint64_t *target = allowed(qp, event, IBV_ACCESS_REMOTE_ATOMIC, &status);
    uint64_t compare_add;
    uint64_t swap;
    void *old;

    if (target == NULL)
        return status;
    old = arena_take(ATOMIC_BYTES, ret_slot);
    if (operands == NULL || old == NULL)
        return IBV_WC_REM_OP_ERR;
    memcpy(&compare_add, operands, sizeof compare_add);
    memcpy(&swap, operands + sizeof compare_add, sizeof swap);
    memcpy(old, target, ATOMIC_BYTES);
    if (event->opcode == IBV_WR_ATOMIC_FETCH_AND_ADD)
        *target += compare_add;
    else if (*target == compare_add)
        *target = swap;
    return IBV_WC_SUCCESS;
}

/* The receive that a write with immediate data takes. */
static void complete_receive(const struct proto_event *event, enum ibv_wc_status status)
{
    struct proto_event completion = *event;

    completion.kind = PROTO_EVENT_COMPLETION;
    completion.status = status == IBV_WC_SUCCESS ? IBV_WC_SUCCESS : IBV_WC_WR_FLUSH_ERR;
    completion.opcode = IBV_WC_RECV_RDMA_WITH_IMM;
    completion.slot = PROTO_NO_SLOT;
    poll_on_event(&completion);
}

/* What a peer asks of our memory. True: it has changed. */
static bool apply_request(struct actor *a, const struct proto_event *event,
                          struct proto_command *answer)
{
    struct qp *qp = table_get(&library_now()->qps, event->qp);
    bool is_write =
        event->opcode == IBV_WR_RDMA_WRITE || event->opcode == IBV_WR_RDMA_WRITE_WITH_IMM;
    enum ibv_wc_status status;

    answer->status = PROTO_WC_GONE;
    if (qp == NULL ||
        (qp->ibv.qp_base.state != IBV_QPS_RTR && qp->ibv.qp_base.state != IBV_QPS_RTS))
        return false;
    if (is_write)
        status = apply_write(qp, event);
    else if (event->opcode == IBV_WR_RDMA_READ)
        status = apply_read(qp, event, &answer->slot);
    else
        status = apply_atomic(qp, event, &answer->slot);
    answer->status = status;
    answer->length = event->length;
    if (event->opcode == IBV_WR_RDMA_WRITE_WITH_IMM)
        complete_receive(event, status);
    if (status != IBV_WC_SUCCESS && qp->ibv.qp_base.qp_type == IBV_QPT_RC) {
        rdma_fail(qp);
        channel_async_at(a, qp->context,
                         &(struct ibv_async_event){.element.qp = &qp->ibv.qp_base,
                                                   .event_type = IBV_EVENT_QP_ACCESS_ERR},
                         (simtime){event->t});
    }
    return status == IBV_WC_SUCCESS && event->opcode != IBV_WR_RDMA_READ;
}

/* Copies the bytes of fenced sends that wait for reads once more. */
static void gather_again(struct qp *qp)
{
    struct queue *queue = &qp->send;

    for (uint32_t n = 0; qp->fenced > 0 && n < queue->used; n++) {
        struct work *work = &queue->works[(queue->head + n) % queue->depth];
        unsigned char *to = work->is_fenced ? arena_own(work->slot) : NULL;
        const struct ibv_sge *sges = queue_sges(work);

        for (uint32_t i = 0; to != NULL && i < work->sge_count; i++) {
            const void *from = memory_at(qp->pd, &sges[i], 0);

            if (from != NULL)
                memcpy(to, from, sges[i].length);
            to += sges[i].length;
        }
        if (qp->reads == 0 && work->is_fenced) {
            work->is_fenced = false;
            qp->fenced--;
        }
    }
}

/* The bytes that our own read or atomic asked for. */
static bool apply_response(struct proto_event *event)
{
    struct qp *qp = table_get(&library_now()->qps, event->qp);
    struct work *work;

    if (qp == NULL || !queue_has(&qp->send, event->wqe, qp->epoch))
        return false;
    work = queue_work(&qp->send, event->wqe);
    if (event->slot != PROTO_NO_SLOT)
        work->status = poll_scatter(qp->pd, work, event, false);
    if (qp->reads > 0)
        qp->reads--;
    gather_again(qp);
    return true;
}

static bool apply_first(struct actor *a)
{
    struct proto_event event = *inbox_at(0);
    struct proto_command answer = {
        .kind = PROTO_COMMAND_APPLIED,
        .qp = event.peer,
        .slot = PROTO_NO_SLOT,
        .token = event.token,
        .status = PROTO_WC_SUCCESS,
    };
    bool changes;

    inbox.head = (inbox.head + 1) % INBOX;
    inbox.count--;
    show_due();
    changes =
        event.flags & PROTO_RESPONSE ? apply_response(&event) : apply_request(a, &event, &answer);
    client_answer(a, &answer, (simtime){event.t});
    inbox.changes += changes;
    return changes;
}

void rdma_begin(void)
{
    static const struct client_inbox calls = {.take = poll_take_events, .apply = apply_first};

    inbox.head = 0;
    inbox.count = 0;
    inbox.changes = 0;
    client_serve_inbox(library_now()->profile->has_one_sided ? &calls : NULL);
}

int rdma_refuse(const struct qp *qp, const struct ibv_send_wr *wr, uint64_t length)
{
    enum ibv_qp_type type = qp->ibv.qp_base.qp_type;
    bool is_send = wr->opcode == IBV_WR_SEND || wr->opcode == IBV_WR_SEND_WITH_IMM;

    if (is_send)
        return 0;
    if (type != IBV_QPT_RC && (type != IBV_QPT_UC || rdma_is_read(wr->opcode)))
        return EINVAL;
    if (rdma_is_read(wr->opcode) &&
        (wr->send_flags & IBV_SEND_INLINE || qp->attr.max_rd_atomic == 0))
        return EINVAL;
    return rdma_is_atomic(wr->opcode) && length != ATOMIC_BYTES ? EINVAL : 0;
}

/* Microseconds until an answer that does not come is given up: the time-out of 4.096 us * 2^n
 * (InfiniBand specification, volume 1, 9.7.6.1.3), as often as is tried. */
static uint32_t patience_of(const struct ibv_qp_attr *attr)
{
    uint64_t us = (UINT64_C(4096) << (attr->timeout & 31)) / 1000 * (attr->retry_cnt + 1U);

    if (attr->timeout == 0)
        return PROTO_PATIENCE_NEVER;
    return us < PROTO_PATIENCE_NEVER ? (uint32_t)us : PROTO_PATIENCE_NEVER - 1;
}

void rdma_describe(struct qp *qp, const struct ibv_send_wr *wr, struct work *work,
                   struct proto_command *command)
{
    bool is_reliable = qp->ibv.qp_base.qp_type == IBV_QPT_RC;

    if (is_reliable) {
        command->dest = qp->attr.max_rd_atomic;
        command->patience_us = patience_of(&qp->attr);
        if (wr->send_flags & IBV_SEND_FENCE)
            command->flags |= PROTO_FENCED;
    }
    if (rdma_is_atomic(wr->opcode)) {
        command->remote_addr = wr->wr.atomic.remote_addr;
        command->rkey = wr->wr.atomic.rkey;
    } else if (wr->opcode == IBV_WR_RDMA_READ || wr->opcode == IBV_WR_RDMA_WRITE ||
               wr->opcode == IBV_WR_RDMA_WRITE_WITH_IMM) {
        command->remote_addr = wr->wr.rdma.remote_addr;
        command->rkey = wr->wr.rdma.rkey;
    }
    work->status = IBV_WC_SUCCESS;
    work->is_fenced = false;
    if (rdma_is_read(wr->opcode)) {
        queue_keep_sges(work, wr->sg_list, (uint32_t)wr->num_sge);
        qp->reads++;
    } else if (is_reliable && wr->send_flags & IBV_SEND_FENCE && qp->reads > 0 &&
               !(wr->send_flags & IBV_SEND_INLINE)) {
        queue_keep_sges(work, wr->sg_list, (uint32_t)wr->num_sge);
        work->is_fenced = true;
        work->slot = command->slot;
        qp->fenced++;
    }
}

bool rdma_take_operands(const struct ibv_send_wr *wr, uint64_t *ret_slot)
{
    unsigned char *to = poll_take_slot(PROTO_OPERANDS_BYTES, ret_slot);

    if (to == NULL)
        return false;
    memcpy(to, &wr->wr.atomic.compare_add, sizeof wr->wr.atomic.compare_add);
    memcpy(to + sizeof wr->wr.atomic.compare_add, &wr->wr.atomic.swap, sizeof wr->wr.atomic.swap);
    return true;
}
