/* SPDX-License-Identifier: Apache-2.0 */
/*
 * DOC: Life of a queue pair
 *
 * create -> connect -> ... -> flush -> release. In `tbmesh sim` queue pairs stay to the end; the
 * programs that the emulator runs make and destroy them.
 *
 * Flush drops what has not begun: sends of which no frame has been on the wire, receives that no
 * reported completion names. What has left is out of the sender's hands and will be delivered
 * after the sender is gone. A message whose claimed receive is dropped, or whose target is
 * released, is an orphan: it takes its way and arrives to nothing.
 *
 * A number is recycled only when no event of its queue pair is pending, so that an event never
 * meets a successor. The jitter's key counts creations: a successor draws its own.
 *
 * Cost: create, connect and flush touch the queue pair and its peer. A release looks at all queue
 * pairs only when others than its peer name it as theirs (fabric_set_peer).
 */
#include <stdbool.h>
#include <stdint.h>

#include "sim/base/ids.h"
#include "sim/base/rng.h"
#include "sim/base/units.h"
#include "sim/core/engine.h"
#include "sim/fabric/cluster.h"
#include "sim/fabric/fabric.h"
#include "sim/fabric/fabric_state.h"

static uint32_t next_number(const struct fabric *f)
{
    if (f->free_qp != ID_NONE)
        return f->free_qp;
    return f->qp_count < f->qp_capacity ? f->qp_count : ID_NONE;
}

/* Makes `qp`, whose rings are set, the queue pair of that number. */
static void enter_qp(struct fabric *f, uint32_t ix, const struct fabric_qp *qp, host_id host,
                     const struct cluster_path *path)
{
    struct fabric_qp *place = &fabric_qps(f)[ix];
    uint32_t at = host.ix; /* the machine that the next hop leaves from */

    if (ix == f->qp_count)
        f->qp_count++;
    else
        f->free_qp = place->next[0];
    *place = *qp;
    place->peer = ID_NONE;
    place->hops = (uint8_t)path->hops;
    place->jitter_key = rng_hash_key(f->seed, f->created++);
    for (uint32_t hop = 0; hop < path->hops; hop++) {
        uint32_t link = 2 * path->cables[hop].ix;

        if (fabric_ports(f)[fabric_links(f)[link].port_from].host != at)
            link++;
        fabric_links(f)[link].flows++;
        place->link[hop] = link;
        at = fabric_ports(f)[fabric_links(f)[link].port_to].host;
    }
}

qp_id fabric_create_qp(struct fabric *f, enum fabric_qp_kind kind, host_id host,
                       const struct cluster_path *path)
{
    uint32_t ix = next_number(f);
    struct fabric_qp qp = {.kind = kind, .frame_limit = f->queue_frames};

    if (ix == ID_NONE)
        return (qp_id){ID_NONE};
    qp.send_first = ix * (f->send_mask + 1);
    qp.send_mask = f->send_mask;
    qp.recv_first = ix * (f->recv_mask + 1);
    qp.recv_mask = f->recv_mask;
    enter_qp(f, ix, &qp, host, path);
    return (qp_id){ix};
}

qp_id fabric_create_qp_sized(struct fabric *f, enum fabric_qp_kind kind, host_id host,
                             const struct cluster_path *path, const struct fabric_qp_size *size)
{
    uint32_t ix = next_number(f);
    struct fabric_qp qp = {.kind = kind, .frame_limit = size->frames ? size->frames : UINT32_MAX};

    if (ix == ID_NONE || !fabric_take_rings(f, &qp, size))
        return (qp_id){ID_NONE};
    enter_qp(f, ix, &qp, host, path);
    return (qp_id){ix};
}

void fabric_set_send_completion(struct fabric *f, qp_id qp, enum fabric_send_completion when)
{
    fabric_qps(f)[qp.ix].completes_early = when == FABRIC_SEND_WHEN_QUEUED;
}

/* One past the last message that has its receive, or needs none. */
static uint32_t claimed_end(const struct fabric_qp *qp)
{
    return qp->head + qp->has_claim;
}

/* Takes the queue pair's target away. What is under way to it becomes an orphan. */
static void detach(struct fabric *f, uint32_t ix)
{
    struct fabric_qp *qp = &fabric_qps(f)[ix];

    if (qp->peer == ID_NONE)
        return;
    for (uint32_t cursor = qp->arrived; cursor != claimed_end(qp); cursor++) {
        struct fabric_send *message = fabric_send_slot(f, ix, cursor);

        if ((message->flags & (MESSAGE_RECV_TOLD | MESSAGE_ORPHAN)) == MESSAGE_RECV_TOLD)
            fabric_settle_receive(f, qp);
        message->flags |= MESSAGE_ORPHAN;
    }
    fabric_qps(f)[qp->peer].named--;
    qp->peer = ID_NONE;
}

/* Makes b the target of a; its receives are free for a from the first that nobody has. */
static void attach(struct fabric *f, uint32_t a, uint32_t b)
{
    struct fabric_qp *qa = &fabric_qps(f)[a];
    struct fabric_qp *qb = &fabric_qps(f)[b];

    detach(f, a);
    qa->peer = b;
    qa->reserved = qb->recv_head + qb->recv_due;
    qb->named++;
}

/* Does what `a` sends arrive where `b` listens? */
static bool same_cables(const struct fabric_qp *a, const struct fabric_qp *b)
{
    if (a->hops != b->hops)
        return false;
    for (uint32_t hop = 0; hop < a->hops; hop++) {
        if ((a->link[hop] ^ 1U) != b->link[a->hops - 1 - hop])
            return false;
    }
    return true;
}

/* A former peer of either is left without one. */
void fabric_connect_qp(struct fabric *f, qp_id a, qp_id b)
{
    struct fabric_qp *qa = &fabric_qps(f)[a.ix];
    struct fabric_qp *qb = &fabric_qps(f)[b.ix];

    if (qa->peer != ID_NONE && fabric_qps(f)[qa->peer].peer == a.ix)
        detach(f, qa->peer);
    if (qb->peer != ID_NONE && fabric_qps(f)[qb->peer].peer == b.ix)
        detach(f, qb->peer);
    attach(f, a.ix, b.ix);
    if (a.ix != b.ix)
        attach(f, b.ix, a.ix);
    qa->is_crossed = qb->is_crossed = !same_cables(qa, qb);
    fabric_try_send(f, a.ix);
    fabric_try_send(f, b.ix);
}

void fabric_set_peer(struct fabric *f, qp_id a, qp_id b)
{
    attach(f, a.ix, b.ix);
    fabric_try_send(f, a.ix);
}

/* True when a frame of the head message is, or has been, on the wire. */
static bool has_begun(const struct fabric *f, uint32_t ix)
{
    const struct fabric_qp *qp = &fabric_qps(f)[ix];

    if (!qp->has_claim)
        return false;
    if (qp->hops == 0 || qp->frames_left[0] != fabric_send_slot(f, ix, qp->head)->frames)
        return true;
    return fabric_links(f)[qp->link[0]].serving == ix * FABRIC_HOPS_MAX;
}

/* Takes the head message, which has not begun, back from the line to the queue. */
static void withdraw_head(struct fabric *f, uint32_t ix)
{
    struct fabric_qp *qp = &fabric_qps(f)[ix];

    if (!qp->has_claim)
        return;
    if (qp->is_listed[0])
        fabric_unlist(f, ix * FABRIC_HOPS_MAX);
    qp->has_claim = false;
    if (qp->kind == FABRIC_QP_RDMA && f->unmatched == FABRIC_HOLD &&
        !(fabric_send_slot(f, ix, qp->head)->flags & MESSAGE_ORPHAN))
        qp->reserved--;
}

/* The early completions that are due come now; what is pending of them is stale. */
static void flush_queued(struct fabric *f, uint32_t ix, const struct fabric_hooks *hooks)
{
    struct fabric_qp *qp = &fabric_qps(f)[ix];
    simtime now = engine_now(fabric_clock(f));

    qp->queued_stale += qp->tail - qp->queued;
    for (; qp->queued != qp->tail; qp->queued++) {
        const struct fabric_send *message = fabric_send_slot(f, ix, qp->queued);
        struct fabric_completion completion = {
            .qp = {ix}, .wr_id = message->wr_id, .length = {message->length_bytes}, .at = now};

        if (message->ready.ps <= now.ps)
            hooks->completed(hooks->ctx, &completion);
    }
}

static void flush_sends(struct fabric *f, uint32_t ix, const struct fabric_hooks *hooks)
{
    struct fabric_qp *qp = &fabric_qps(f)[ix];
    uint32_t end = qp->tail;
    bool is_begun = has_begun(f, ix);

    if (qp->completes_early)
        flush_queued(f, ix, hooks);
    if (!is_begun)
        withdraw_head(f, ix);
    qp->tail = qp->head + is_begun;
    if (qp->completes_early)
        qp->queued = qp->tail;
    if (qp->is_blocked)
        fabric_unblock(f, qp);
    for (uint32_t cursor = qp->tail; cursor != end; cursor++) {
        const struct fabric_send *message = fabric_send_slot(f, ix, cursor);

        qp->send_frames -= message->frames;
        if (hooks->flushed)
            hooks->flushed(hooks->ctx, (qp_id){ix}, message->wr_id, false);
    }
}

/* The receives that messages to `ix` have claimed are dropped, unless they are due. */
static void orphan_claims(struct fabric *f, uint32_t ix)
{
    const struct fabric_qp *qp = &fabric_qps(f)[ix];
    struct fabric_qp *sender;

    if (qp->peer == ID_NONE || qp->kind != FABRIC_QP_RDMA || f->unmatched != FABRIC_HOLD)
        return;
    sender = &fabric_qps(f)[qp->peer];
    for (uint32_t cursor = sender->arrived; cursor != claimed_end(sender); cursor++) {
        struct fabric_send *message = fabric_send_slot(f, qp->peer, cursor);

        if (!(message->flags & MESSAGE_RECV_TOLD))
            message->flags |= MESSAGE_ORPHAN;
    }
    sender->reserved = qp->recv_tail;
}

static void flush_recvs(struct fabric *f, uint32_t ix, const struct fabric_hooks *hooks)
{
    struct fabric_qp *qp = &fabric_qps(f)[ix];
    uint32_t end = qp->recv_tail;

    qp->recv_tail = qp->recv_head + qp->recv_due;
    orphan_claims(f, ix);
    for (uint32_t cursor = qp->recv_tail; cursor != end; cursor++) {
        const struct fabric_recv *recv = fabric_recv_slot(f, ix, cursor);

        qp->recv_frames -= recv->frames;
        if (hooks->flushed)
            hooks->flushed(hooks->ctx, (qp_id){ix}, recv->wr_id, true);
    }
}

/* Requires: the hooks do not post to this queue pair. */
void fabric_flush_qp(struct fabric *f, qp_id id, const struct fabric_hooks *hooks)
{
    flush_sends(f, id.ix, hooks);
    flush_recvs(f, id.ix, hooks);
}

/* Nothing of it is queued, under way, or pending as an event. */
static bool is_idle(const struct fabric_qp *qp)
{
    return qp->arrived == qp->tail && qp->recv_head + qp->recv_due == qp->recv_tail &&
           !qp->has_timer && !qp->has_hub_timer && qp->queued_stale == 0 &&
           (!qp->completes_early || qp->queued == qp->tail);
}

bool fabric_release_qp(struct fabric *f, qp_id id)
{
    struct fabric_qp *qp = &fabric_qps(f)[id.ix];
    uint32_t peer = qp->peer;

    if (!is_idle(qp))
        return false;
    detach(f, id.ix);
    if (peer != ID_NONE && fabric_qps(f)[peer].peer == id.ix)
        detach(f, peer);
    for (uint32_t i = 0; qp->named > 0 && i < f->qp_count; i++) {
        if (fabric_qps(f)[i].peer == id.ix)
            detach(f, i);
    }
    for (uint32_t hop = 0; hop < qp->hops; hop++)
        fabric_links(f)[qp->link[hop]].flows--;
    fabric_add_traffic(f, qp, &f->past);
    if (qp->is_sized)
        fabric_give_rings(f, qp);
    *qp = (struct fabric_qp){.is_free = true, .peer = ID_NONE, .next = {f->free_qp}};
    f->free_qp = id.ix;
    return true;
}
