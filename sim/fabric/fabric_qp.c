/* SPDX-License-Identifier: Apache-2.0 */
/*
 * DOC: Queue pairs
 *
 * UC SEND/RECV as Apple TN3205 (2026-04-13) describes it. A SEND becomes the head of its queue,
 * waits until the peer has posted a receive (its claim), then its frames take their turns on the
 * link. It completes at the sender when the last frame has left, and at the receiver rdma.latency
 * (and jitter) after the last frame's propagation; completions of one queue pair stay in order.
 * SEND and RECV must cover the same number of frames, else the receive fails.
 *
 * What is not published is stated here: a message whose every frame was lost leaves its receive
 * posted and takes the claim with it, so a queue pair that loses messages stalls in the end, as
 * reported of real ones; a message that lost some frames fails its receive. IP repairs losses
 * itself and pays a round trip.
 *
 * Invariants: reserved counts claims, one for each RDMA message that got in line; a message is in
 * exactly one of queue, line, flight.
 */
#include <stdbool.h>
#include <stdint.h>

#include "sim/base/ids.h"
#include "sim/base/units.h"
#include "sim/core/engine.h"
#include "sim/fabric/fabric.h"
#include "sim/fabric/fabric_state.h"

static inline uint32_t flow_of(uint32_t qp, uint32_t hop)
{
    return qp * FABRIC_HOPS_MAX + hop;
}

static void set_timer(struct fabric *f, uint32_t qp_ix, simtime at)
{
    fabric_qps(f)[qp_ix].has_timer = true;
    engine_push(fabric_clock(f), at, EVENT_QP_READY, qp_ix);
}

/* The head message waits for a receive that is on its way (is_posted), or for nobody knows what. */
static void block(struct fabric *f, struct fabric_qp *qp, bool is_posted)
{
    if (qp->is_blocked)
        return;
    qp->is_blocked = true;
    qp->blocked_since = engine_now(fabric_clock(f));
    qp->counters.held += !is_posted;
}

void fabric_unblock(struct fabric *f, struct fabric_qp *qp)
{
    simspan waited = simtime_since(engine_now(fabric_clock(f)), qp->blocked_since);

    qp->counters.credit_wait = simspan_add(qp->counters.credit_wait, waited);
    qp->is_blocked = false;
}

/* Gets the head message its receive. False: not yet; somebody will try again. */
static bool claim_receive(struct fabric *f, uint32_t qp_ix)
{
    struct fabric_qp *qp = &fabric_qps(f)[qp_ix];
    simtime now = engine_now(fabric_clock(f));
    bool is_posted =
        !qp->is_crossed && qp->peer != ID_NONE && qp->reserved != fabric_qps(f)[qp->peer].recv_tail;

    if (is_posted) {
        simtime visible = fabric_recv_slot(f, qp->peer, qp->reserved)->visible;

        if (visible.ps <= now.ps) {
            if (qp->is_blocked)
                fabric_unblock(f, qp);
            qp->reserved++;
            return true;
        }
        set_timer(f, qp_ix, visible);
    }
    block(f, qp, is_posted);
    return false;
}

/* The same for a message that needs no receive but somebody to go to. */
static bool claim_target(struct fabric *f, struct fabric_qp *qp)
{
    if (qp->peer == ID_NONE) {
        block(f, qp, false);
        return false;
    }
    if (qp->is_blocked)
        fabric_unblock(f, qp);
    return true;
}

/* Prepares the message at the head of the queue for the link. */
static bool claim_head(struct fabric *f, uint32_t qp_ix)
{
    struct fabric_qp *qp = &fabric_qps(f)[qp_ix];
    struct fabric_send *message = fabric_send_slot(f, qp_ix, qp->head);

    if (message->ready.ps > engine_now(fabric_clock(f)).ps) {
        set_timer(f, qp_ix, message->ready);
        return false;
    }
    if (qp->kind == FABRIC_QP_RDMA && f->unmatched == FABRIC_HOLD) {
        if (!claim_receive(f, qp_ix))
            return false;
    } else if (!claim_target(f, qp)) {
        return false;
    }
    qp->has_claim = true;
    qp->frames_left[0] = message->frames;
    return true;
}

void fabric_try_send(struct fabric *f, uint32_t qp_ix)
{
    struct fabric_qp *qp = &fabric_qps(f)[qp_ix];
    uint32_t flow = flow_of(qp_ix, 0);

    if (qp->head == qp->tail || qp->has_timer || qp->is_listed[0])
        return;
    if (!qp->has_claim && !claim_head(f, qp_ix))
        return;
    if (qp->hops > 1 && qp->hub_tail - qp->hub_head == HUB_FRAMES)
        return; /* the hub has no buffer left; it calls when a frame has gone on */
    if (qp->hops == 0) {
        qp->is_listed[0] = true;
        engine_push(fabric_clock(f), engine_now(fabric_clock(f)), EVENT_LOCAL, qp_ix);
        return;
    }
    fabric_enlist(f, flow);
}

void fabric_try_forward(struct fabric *f, uint32_t qp_ix)
{
    struct fabric_qp *qp = &fabric_qps(f)[qp_ix];
    uint32_t flow = flow_of(qp_ix, 1);

    if (qp->hub_head == qp->hub_tail || qp->has_hub_timer || qp->is_listed[1])
        return;

    simtime ready = *fabric_hub_slot(f, qp_ix, qp->hub_head);

    if (ready.ps > engine_now(fabric_clock(f)).ps) {
        qp->has_hub_timer = true;
        engine_push(fabric_clock(f), ready, EVENT_HUB_READY, qp_ix);
        return;
    }
    if (qp->frames_left[1] == 0)
        qp->frames_left[1] = fabric_send_slot(f, qp_ix, qp->forwarded)->frames;
    fabric_enlist(f, flow);
}

/* When a message that has just left its last link completes at the receiver. */
static simtime arrival_time(struct fabric *f, uint32_t qp_ix, struct fabric_send *message)
{
    const struct fabric_qp *qp = &fabric_qps(f)[qp_ix];
    simtime now = engine_now(fabric_clock(f));

    if (qp->hops == 0)
        return simtime_max(simtime_add(now, f->latency), qp->last_arrival);
    if (qp->kind != FABRIC_QP_IP)
        return fabric_rdma_arrival(f, qp_ix, now);

    const struct fabric_link *link = &fabric_links(f)[qp->link[qp->hops - 1]];
    simtime there = simtime_add(now, link->propagation);

    there = fabric_stack_pass(f, link->port_to, 1, there, message->length_bytes);
    if (message->lost + message->corrupted > 0) {
        there = simtime_add(there, simspan_mul(f->ip_latency, 2));
        message->lost = 0;
        message->corrupted = 0;
    }
    return simtime_max(simtime_add(there, f->ip_latency), qp->last_arrival);
}

/* The message at cursor `forwarded` has left its last link: it is in flight. True: *received is
 * to be reported. */
static bool launch(struct fabric *f, uint32_t qp_ix, struct fabric_completion *received)
{
    struct fabric_qp *qp = &fabric_qps(f)[qp_ix];
    struct fabric_send *message = fabric_send_slot(f, qp_ix, qp->forwarded);

    message->arrive = arrival_time(f, qp_ix, message);
    qp->last_arrival = message->arrive;
    if (qp->arrived == qp->forwarded)
        engine_push(fabric_clock(f), message->arrive, EVENT_ARRIVED, qp_ix);
    qp->forwarded++;
    return f->foresee && fabric_foresee_receive(f, qp_ix, message, received);
}

/* Books the head message as sent. True: *ret is to be reported. */
static inline bool finish_send(struct fabric *f, uint32_t qp_ix, struct fabric_completion *ret)
{
    struct fabric_qp *qp = &fabric_qps(f)[qp_ix];
    const struct fabric_send *message = fabric_send_slot(f, qp_ix, qp->head);

    qp->head++;
    qp->has_claim = false;
    qp->send_frames -= message->frames;
    qp->counters.sends++;
    qp->counters.send_bytes += message->length_bytes;
    *ret = (struct fabric_completion){
        .qp = {qp_ix},
        .wr_id = message->wr_id,
        .length = {message->length_bytes},
        .at = engine_now(fabric_clock(f)),
    };
    return !qp->completes_early && !(message->flags & MESSAGE_SEND_TOLD);
}

static void first_hop_left(struct fabric *f, uint32_t qp_ix, uint32_t frames,
                           const struct fabric_hooks *hooks)
{
    struct fabric_qp *qp = &fabric_qps(f)[qp_ix];
    struct fabric_link *link = &fabric_links(f)[qp->link[0]];
    struct fabric_completion sent;
    struct fabric_completion received;
    bool is_sent = false;
    bool is_certain = false;

    qp->frames_left[0] -= frames;
    if (qp->frames_left[0] == 0) {
        link->promised = ID_NONE;
        is_sent = finish_send(f, qp_ix, &sent);
        if (qp->hops == 1)
            is_certain = launch(f, qp_ix, &received);
    }
    if (qp->hops > 1) { /* then it was one frame */
        simtime there = simtime_add(engine_now(fabric_clock(f)), link->propagation);

        *fabric_hub_slot(f, qp_ix, qp->hub_tail++) = simtime_add(there, f->hub_latency);
        fabric_try_forward(f, qp_ix);
    }
    fabric_try_send(f, qp_ix);
    fabric_link_resume(f, qp->link[0]);
    if (is_sent)
        hooks->completed(hooks->ctx, &sent);
    if (is_certain)
        hooks->completed(hooks->ctx, &received);
}

void fabric_local_left(struct fabric *f, uint32_t qp_ix, const struct fabric_hooks *hooks)
{
    struct fabric_qp *qp = &fabric_qps(f)[qp_ix];
    struct fabric_completion sent;
    struct fabric_completion received;
    bool is_sent = finish_send(f, qp_ix, &sent);
    bool is_certain = launch(f, qp_ix, &received);

    qp->is_listed[0] = false;
    fabric_try_send(f, qp_ix);
    if (is_sent)
        hooks->completed(hooks->ctx, &sent);
    if (is_certain)
        hooks->completed(hooks->ctx, &received);
}

static void second_hop_left(struct fabric *f, uint32_t qp_ix, const struct fabric_hooks *hooks)
{
    struct fabric_qp *qp = &fabric_qps(f)[qp_ix];
    struct fabric_completion received;
    bool is_certain = false;

    qp->hub_head++;
    qp->frames_left[1]--;
    if (qp->frames_left[1] == 0)
        is_certain = launch(f, qp_ix, &received);
    fabric_try_forward(f, qp_ix);
    fabric_try_send(f, qp_ix);
    fabric_link_resume(f, qp->link[1]);
    if (is_certain)
        hooks->completed(hooks->ctx, &received);
}

void fabric_frames_left(struct fabric *f, uint32_t flow, uint32_t frames,
                        const struct fabric_hooks *hooks)
{
    if (flow % FABRIC_HOPS_MAX == 0)
        first_hop_left(f, flow / FABRIC_HOPS_MAX, frames, hooks);
    else
        second_hop_left(f, flow / FABRIC_HOPS_MAX, hooks);
}

/* Hands a message to the receive it meets. False: there is none, and it is gone. */
static bool meet_receive(struct fabric *f, uint32_t peer_ix, const struct fabric_send *message,
                         struct fabric_completion *ret)
{
    struct fabric_qp *peer = &fabric_qps(f)[peer_ix];
    const struct fabric_recv *recv = fabric_recv_slot(f, peer_ix, peer->recv_head);

    if (peer->recv_head == peer->recv_tail)
        return false;
    if (f->unmatched == FABRIC_DROP &&
        recv->visible.ps > simtime_add(ret->at, f->credit_latency).ps)
        return false; /* posted, but later than now */
    peer->recv_head++;
    peer->recv_frames -= recv->frames;
    ret->wr_id = recv->wr_id;
    if (recv->frames != message->frames)
        ret->status = FABRIC_LENGTH_ERROR;
    return true;
}

/* Hands a message to its target. False: it reaches nobody. */
static bool deliver(struct fabric *f, const struct fabric_qp *qp, const struct fabric_send *message,
                    struct fabric_completion *ret)
{
    if ((message->flags & MESSAGE_ORPHAN) || message->lost == message->frames)
        return false;
    *ret = (struct fabric_completion){
        .qp = {qp->peer},
        .is_recv = true,
        .status = message->lost ? FABRIC_LENGTH_ERROR : FABRIC_OK,
        .is_corrupt = message->corrupted > 0,
        .wr_id = qp->kind == FABRIC_QP_DIRECT ? message->wr_id : 0,
        .peer_wr_id = message->wr_id,
        .length = {message->length_bytes},
        .at = engine_now(fabric_clock(f)),
    };
    return qp->kind != FABRIC_QP_RDMA || meet_receive(f, qp->peer, message, ret);
}

void fabric_settle_receive(struct fabric *f, const struct fabric_qp *qp)
{
    struct fabric_qp *peer = &fabric_qps(f)[qp->peer];

    peer->counters.recvs++;
    if (qp->kind != FABRIC_QP_RDMA)
        return;
    peer->recv_frames -= fabric_recv_slot(f, qp->peer, peer->recv_head)->frames;
    peer->recv_head++;
    peer->recv_due--;
}

void fabric_arrive(struct fabric *f, uint32_t qp_ix, const struct fabric_hooks *hooks)
{
    struct fabric_qp *qp = &fabric_qps(f)[qp_ix];
    const struct fabric_send message = *fabric_send_slot(f, qp_ix, qp->arrived);
    struct fabric_completion completion;

    qp->arrived++;
    if (qp->arrived != qp->forwarded)
        engine_push(fabric_clock(f), fabric_send_slot(f, qp_ix, qp->arrived)->arrive, EVENT_ARRIVED,
                    qp_ix);
    if (message.flags & MESSAGE_RECV_TOLD) {
        if (!(message.flags & MESSAGE_ORPHAN))
            fabric_settle_receive(f, qp);
        return;
    }
    if (!deliver(f, qp, &message, &completion)) {
        if (hooks->lost)
            hooks->lost(hooks->ctx, (qp_id){qp_ix}, message.wr_id);
        return;
    }
    fabric_qps(f)[qp->peer].counters.recvs++;
    hooks->completed(hooks->ctx, &completion);
}

void fabric_complete_queued(struct fabric *f, uint32_t qp_ix, const struct fabric_hooks *hooks)
{
    struct fabric_qp *qp = &fabric_qps(f)[qp_ix];

    if (qp->queued_stale > 0) {
        qp->queued_stale--; /* of a send that has been flushed */
        return;
    }

    const struct fabric_send *message = fabric_send_slot(f, qp_ix, qp->queued++);
    struct fabric_completion completion = {
        .qp = {qp_ix},
        .wr_id = message->wr_id,
        .length = {message->length_bytes},
        .at = engine_now(fabric_clock(f)),
    };

    hooks->completed(hooks->ctx, &completion);
}

/* Frames of a message of this length; zero when it is too long to post. */
static uint32_t count_frames(const struct fabric *f, enum fabric_qp_kind kind, bytecount length)
{
    uint64_t full = kind == FABRIC_QP_IP ? f->ip_frame_bytes : f->frame_bytes;
    uint64_t frames = u64_div_ceil(length.bytes, full);

    if (frames > MESSAGE_FRAMES_MAX)
        return 0;
    return frames ? (uint32_t)frames : 1;
}

enum fabric_post fabric_post_send(struct fabric *f, qp_id id, simtime when, uint64_t wr_id,
                                  bytecount length)
{
    struct fabric_qp *qp = &fabric_qps(f)[id.ix];
    uint32_t frames = count_frames(f, qp->kind, length);

    if (frames == 0)
        return FABRIC_POST_TOO_LONG;
    if ((qp->kind != FABRIC_QP_IP && (uint64_t)qp->send_frames + frames > qp->frame_limit) ||
        (qp->tail - qp->arrived > qp->send_mask && !fabric_grow_ring(f, qp, false))) {
        f->posts_refused = true;
        return FABRIC_POST_NO_FRAMES;
    }
    when = simtime_max(when, engine_now(fabric_clock(f)));

    struct fabric_send *message = fabric_send_slot(f, id.ix, qp->tail++);

    *message = (struct fabric_send){.wr_id = wr_id,
                                    .ready = when,
                                    .length_bytes = (uint32_t)length.bytes,
                                    .frames = (uint16_t)frames};
    qp->send_frames += frames;
    if (qp->kind == FABRIC_QP_IP)
        message->ready = fabric_stack_pass(f, fabric_links(f)[qp->link[0]].port_from, 0, when,
                                           message->length_bytes);
    if (qp->completes_early)
        engine_push(fabric_clock(f), when, EVENT_SEND_QUEUED, id.ix);
    fabric_try_send(f, id.ix);
    return FABRIC_POSTED;
}

enum fabric_post fabric_post_recv(struct fabric *f, qp_id id, simtime when, uint64_t wr_id,
                                  bytecount length)
{
    struct fabric_qp *qp = &fabric_qps(f)[id.ix];
    uint32_t frames = count_frames(f, qp->kind, length);

    if (frames == 0)
        return FABRIC_POST_TOO_LONG;
    if ((uint64_t)qp->recv_frames + frames > qp->frame_limit ||
        (qp->recv_tail - qp->recv_head > qp->recv_mask && !fabric_grow_ring(f, qp, true))) {
        f->posts_refused = true;
        return FABRIC_POST_NO_FRAMES;
    }
    when = simtime_max(when, engine_now(fabric_clock(f)));
    *fabric_recv_slot(f, id.ix, qp->recv_tail) = (struct fabric_recv){
        .wr_id = wr_id,
        .visible = simtime_add(when, f->credit_latency),
        .frames = frames,
    };
    qp->recv_tail++;
    qp->recv_frames += frames;
    if (qp->peer != ID_NONE)
        fabric_try_send(f, qp->peer);
    return FABRIC_POSTED;
}
