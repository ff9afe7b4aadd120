/* SPDX-License-Identifier: Apache-2.0 */
/*
 * DOC: Foresight
 *
 * A driver that runs programs (the emulator) may let one go on for as long as nothing can reach it.
 * The earlier it knows of a completion, the longer that is. So with config.foresee a completion is
 * reported as soon as it is certain, with the instant at which it will be:
 *
 *   receive  when its message has left the last link: latency, jitter and order are known then.
 *            Not with FABRIC_DROP: a receive may still be posted in time.
 *   both     when the message begins a burst on a link direction of which its queue pair is the
 *            only user, on a cable without loss, corruption and pending changes of rate:
 *
 *                end     = start + wire time of what is left of the message
 *                arrival = max(end + propagation + latency + jitter, arrival before)
 *
 *   send     when its last frame begins, on a cable without pending changes of rate.
 *
 * What has been reported is a promise: a queue pair that comes to the link meanwhile waits until
 * the promised message is through, a change of rate that is scheduled meanwhile comes after it,
 * and frame faults that are set meanwhile spare it. Otherwise foresight changes no instant and no
 * event: the link and the queues take their steps when they are due, and what has been reported
 * is then only booked. A promised receive stays in its queue until then (recv_due).
 *
 * Links that begin a burst are listed as fresh and looked at when the event, or the driver's posts,
 * are done; a look costs a few comparisons, and nothing is scanned.
 */
#include <stdbool.h>
#include <stdint.h>

#include "sim/base/ids.h"
#include "sim/base/units.h"
#include "sim/fabric/fabric.h"
#include "sim/fabric/fabric_state.h"

/* Nothing but messages of this queue pair decides when one of them has left. */
static bool is_undisturbed(const struct fabric *f, const struct fabric_qp *qp)
{
    const struct fabric_link *link = &fabric_links(f)[qp->link[0]];

    if (qp->hops == 0)
        return true;
    return qp->kind != FABRIC_QP_IP && qp->hops == 1 && link->flows == 1 && link->changes == 0 &&
           (link->loss_ppb | link->corrupt_ppb) == 0;
}

/* A message that arrives completes a receive, whatever happens meanwhile. */
static bool is_delivery_certain(const struct fabric *f, const struct fabric_qp *qp)
{
    return qp->kind != FABRIC_QP_RDMA || f->unmatched == FABRIC_HOLD;
}

bool fabric_qp_foresees(const struct fabric *f, qp_id id)
{
    const struct fabric_qp *qp = &fabric_qps(f)[id.ix];

    return f->foresee && is_delivery_certain(f, qp) && is_undisturbed(f, qp);
}

/* Requires: message->arrive is final, and so is its number of lost frames. */
bool fabric_foresee_receive(struct fabric *f, uint32_t qp_ix, struct fabric_send *message,
                            struct fabric_completion *ret)
{
    const struct fabric_qp *qp = &fabric_qps(f)[qp_ix];

    if ((message->flags & (MESSAGE_RECV_TOLD | MESSAGE_ORPHAN)) ||
        message->lost == message->frames || !is_delivery_certain(f, qp))
        return false;
    message->flags |= MESSAGE_RECV_TOLD;
    *ret = (struct fabric_completion){
        .qp = {qp->peer},
        .is_recv = true,
        .status = message->lost ? FABRIC_LENGTH_ERROR : FABRIC_OK,
        .is_corrupt = message->corrupted > 0,
        .peer_wr_id = message->wr_id,
        .length = {message->length_bytes},
        .at = message->arrive,
    };
    if (qp->kind == FABRIC_QP_DIRECT)
        ret->wr_id = message->wr_id;
    if (qp->kind != FABRIC_QP_RDMA)
        return true;

    struct fabric_qp *peer = &fabric_qps(f)[qp->peer];
    const struct fabric_recv *recv =
        fabric_recv_slot(f, qp->peer, peer->recv_head + peer->recv_due++);

    ret->wr_id = recv->wr_id;
    if (recv->frames != message->frames)
        ret->status = FABRIC_LENGTH_ERROR;
    return true;
}

/* When the message on the link has left, if nothing comes between. The rest behind this burst is
 * of RDMA frames. */
static simtime end_of_message(const struct fabric *f, const struct fabric_link *link,
                              const struct fabric_send *message, uint32_t left)
{
    uint32_t rest = left - link->burst_frames;
    uint32_t last = message->length_bytes - (uint32_t)(message->frames - 1) * f->frame_bytes;
    simspan span;

    if (rest == 0)
        return link->burst_end;
    span = simspan_add(simspan_mul(link->frame_rdma, rest - 1),
                       bitrate_send_span(link->goodput, (bytecount){last}));
    return simtime_add(link->burst_end, span);
}

/* What is certain of the message on this link. */
static void foresee_link(struct fabric *f, struct fabric_link *link,
                         const struct fabric_hooks *hooks)
{
    uint32_t flow = link->serving;

    if (flow == ID_NONE || flow % FABRIC_HOPS_MAX != 0 || link->changes > 0)
        return;

    uint32_t qp_ix = flow / FABRIC_HOPS_MAX;
    struct fabric_qp *qp = &fabric_qps(f)[qp_ix];
    struct fabric_send *message = fabric_send_slot(f, qp_ix, qp->head);
    uint32_t left = qp->frames_left[0];
    bool is_whole = is_undisturbed(f, qp);

    if (!is_whole && left > 1)
        return;

    struct fabric_completion sent = {
        .qp = {qp_ix},
        .wr_id = message->wr_id,
        .length = {message->length_bytes},
        .at = end_of_message(f, link, message, left),
    };
    struct fabric_completion received;
    bool is_certain = false;

    link->promised = flow;
    link->promised_end = sent.at;
    message->flags |= MESSAGE_SEND_TOLD;
    if (is_whole) {
        message->arrive = fabric_rdma_arrival(f, qp_ix, sent.at);
        is_certain = fabric_foresee_receive(f, qp_ix, message, &received);
    }
    if (!qp->completes_early)
        hooks->completed(hooks->ctx, &sent);
    if (is_certain)
        hooks->completed(hooks->ctx, &received);
}

void fabric_foresee_fresh(struct fabric *f, const struct fabric_hooks *hooks)
{
    while (f->fresh_head != ID_NONE) {
        struct fabric_link *link = &fabric_links(f)[f->fresh_head];

        f->fresh_head = link->next_fresh;
        if (f->fresh_head == ID_NONE)
            f->fresh_tail = ID_NONE;
        link->is_fresh = false;
        foresee_link(f, link, hooks);
    }
}
