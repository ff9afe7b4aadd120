/* SPDX-License-Identifier: Apache-2.0 */
/*
 * DOC: Work requests
 *
 * A command becomes a work request in a pool, and its index is what the fabric knows it by. What
 * the fabric says of it becomes an event for the client, with the time at which it is true; that
 * may lie in the future (fabric's foresight), so that a client reads its own completions without
 * asking anybody.
 *
 * A send's record lives until its completion is known and its bytes are no longer needed: consumed
 * by the receiver, lost on the way, or of interest to nobody because the receiver is gone. Then the
 * sender gets its slot back.
 */
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sim/base/ids.h"
#include "sim/base/units.h"
#include "sim/core/engine.h"
#include "sim/fabric/fabric.h"
#include "verbs-shim/proto/proto.h"
#include "verbs-shim/proto/ring.h"
#include "verbs-shim/sched/sched.h"
#include "verbs-shim/sched/sched_state.h"
#include "verbs-shim/sched/sched_time.h"

static struct sched_late *late_at(const struct sched *s, uint32_t late)
{
    return (struct sched_late *)sched_part(s, s->lates_at) + late;
}

void sched_init_wrs(struct sched *s)
{
    s->wr_free = ID_NONE;
    s->late_free = ID_NONE;
}

/* There is no place for another work request: whose are they? */
static void blame_the_greedy(struct sched *s)
{
    uint32_t counts[PROTO_CLIENTS_MAX] = {0};
    uint32_t worst = 0;

    for (uint32_t i = 0; i < s->wr_used; i++) {
        const struct sched_wr *wr = sched_wr_at(s, i);

        if (wr->state != WR_FREE)
            counts[sched_qp_at(s, wr->qp)->client]++;
    }
    for (uint32_t i = 1; i < s->client_count; i++) {
        if (counts[i] > counts[worst])
            worst = i;
    }
    sched_blame(s, worst, SCHED_TOO_MUCH);
}

uint32_t sched_take_wr(struct sched *s)
{
    uint32_t ix = s->wr_free;

    if (ix != ID_NONE) {
        s->wr_free = sched_wr_at(s, ix)->next;
        return ix;
    }
    if (s->wr_used < SCHED_WRS)
        return s->wr_used++;
    blame_the_greedy(s);
    return ID_NONE;
}

void sched_drop_wr(struct sched *s, uint32_t ix)
{
    struct sched_wr *wr = sched_wr_at(s, ix);

    wr->state = WR_FREE;
    wr->next = s->wr_free;
    s->wr_free = ix;
}

/* False: the ring is full, or damaged. */
static bool ring_put(const struct sched_view *view, uint32_t client_ix,
                     const struct proto_event *event)
{
    struct sched_client *client = sched_client_at(view->sched, client_ix);
    struct proto_segment *segment = view->segments[client_ix];

    if (atomic_load_explicit(&segment->event_ring.tail, memory_order_relaxed) != client->told) {
        sched_blame(view->sched, client_ix, SCHED_DAMAGED_RING);
        return false;
    }
    if (ring_writable(&segment->event_ring, PROTO_EVENTS) == 0)
        return false;
    segment->events[client->told++ % PROTO_EVENTS] = *event;
    ring_publish(&segment->event_ring);
    return true;
}

/* There is no place for another late event: who lets them pile up? */
static void blame_the_deaf(struct sched *s)
{
    uint32_t worst = 0;

    for (uint32_t i = 1; i < s->client_count; i++) {
        if (sched_client_at(s, i)->late_count > sched_client_at(s, worst)->late_count)
            worst = i;
    }
    sched_blame(s, worst, SCHED_DEAF);
}

static void put_late(struct sched *s, struct sched_client *client, const struct proto_event *event)
{
    uint32_t ix = s->late_free;

    if (ix != ID_NONE)
        s->late_free = late_at(s, ix)->next;
    else if (s->late_used < SCHED_LATE)
        ix = s->late_used++;
    else {
        blame_the_deaf(s);
        return;
    }
    client->late_count++;
    *late_at(s, ix) = (struct sched_late){.event = *event, .next = ID_NONE};
    if (client->late_head == ID_NONE)
        client->late_head = ix;
    else
        late_at(s, client->late_tail)->next = ix;
    client->late_tail = ix;
}

static void drop_late(struct sched *s, struct sched_client *client)
{
    uint32_t ix = client->late_head;

    client->late_head = late_at(s, ix)->next;
    client->late_count--;
    late_at(s, ix)->next = s->late_free;
    s->late_free = ix;
}

bool sched_refill(const struct sched_view *view, uint32_t client_ix)
{
    struct sched *s = view->sched;
    struct sched_client *client = sched_client_at(s, client_ix);

    while (client->late_head != ID_NONE) {
        if (!ring_put(view, client_ix, &late_at(s, client->late_head)->event))
            return false;
        drop_late(s, client);
    }
    return true;
}

void sched_tell(const struct sched_view *view, uint32_t client_ix, const struct proto_event *event)
{
    struct sched_client *client = sched_client_at(view->sched, client_ix);

    if (!client->is_alive)
        return;
    client->news++;
    if (client->late_head != ID_NONE || !ring_put(view, client_ix, event))
        put_late(view->sched, client, event);
}

static bool is_watched(const struct sched *s, uint32_t actor, uint32_t cq)
{
    const uint16_t *polled = sched_polled_at(s, actor);

    for (uint32_t i = 1; i <= polled[0]; i++) {
        if (polled[i] == cq)
            return true;
    }
    return cq >= sched_actor_at(s, actor)->new_cqs;
}

void sched_notice(struct sched *s, uint32_t client, uint32_t cq, int64_t at)
{
    uint32_t base = client * PROTO_CLIENT_ACTORS;
    uint32_t count = sched_client_at(s, client)->actor_count;

    for (uint32_t k = 0; k < count; k++) {
        struct sched_actor *actor = sched_actor_at(s, base + k);

        if ((actor->state != SCHED_ACTOR_IDLE && actor->state != SCHED_ACTOR_EXTERNAL &&
             !actor->is_quiet) ||
            at >= actor->first || !is_watched(s, base + k, cq))
            continue;
        actor->first = at;
        s->stop = true;
    }
}

static void complete(const struct sched_view *view, const struct sched_qp *qp,
                     struct proto_event *event)
{
    struct sched *s = view->sched;

    sched_mix(s, (uint64_t)event->t);
    sched_mix(s, ((uint64_t)qp->client << 40) ^ ((uint64_t)event->wqe << 8) ^ event->status);
    event->kind = PROTO_EVENT_COMPLETION;
    sched_tell(view, qp->client, event);
    sched_notice(s, qp->client, event->cq, event->t);
}

void sched_settle(const struct sched_view *view, uint32_t send_ix)
{
    struct sched *s = view->sched;
    struct sched_wr *send = sched_wr_at(s, send_ix);

    if (!send->is_delivered)
        sched_rate_ended(s, send, 0, false);
    send->is_settled = true;
    if (send->slot != PROTO_NO_SLOT) {
        struct proto_event event = {.kind = PROTO_EVENT_SLOT_FREE, .slot = send->slot};

        sched_tell(view, sched_qp_at(s, send->qp)->client, &event);
    }
    if (send->is_completed)
        sched_drop_wr(s, send_ix);
}

/* Enum ibv_wc_opcode of what was posted with enum ibv_wr_opcode. */
static uint32_t wc_opcode(uint32_t opcode)
{
    static const uint32_t codes[] = {1, 1, PROTO_WC_SEND, PROTO_WC_SEND, 2, 3, 4};

    return opcode < sizeof codes / sizeof codes[0] ? codes[opcode] : PROTO_WC_SEND;
}

/* An acknowledged one was never counted as open. */
void sched_conclude_send(const struct sched_view *view, uint32_t send_ix, int64_t at,
                         uint32_t status)
{
    struct sched *s = view->sched;
    struct sched_wr *send = sched_wr_at(s, send_ix);
    struct sched_qp *qp = sched_qp_at(s, send->qp);
    struct sched_client *client = sched_client_at(s, qp->client);

    send->is_completed = true;
    qp->sends_open--;
    if (!sched_is_reliable(qp)) {
        client->open_sends--;
        client->open_blind -= send->is_blind;
    }
    at = time_max(at, qp->last_send);
    qp->last_send = qp->is_direct ? at : 0;
    sched_rate_completed(s, send, at, status == PROTO_WC_SUCCESS);
    if (!qp->is_dead && (send->flags & PROTO_SIGNALED || status != PROTO_WC_SUCCESS)) {
        struct proto_event event = {.t = at,
                                    .cq = qp->send_cq,
                                    .qp = send->qp,
                                    .wqe = send->wqe,
                                    .status = status,
                                    .opcode = wc_opcode(send->opcode),
                                    .length = send->length,
                                    .slot = PROTO_NO_SLOT};

        complete(view, qp, &event);
    }
    if (send->is_settled)
        sched_drop_wr(s, send_ix);
}

void sched_finish_sent(const struct sched_view *view, uint32_t send_ix, int64_t at, uint32_t status)
{
    struct sched *s = view->sched;
    struct sched_wr *send = sched_wr_at(s, send_ix);
    struct sched_qp *qp = sched_qp_at(s, send->qp);

    if (sched_is_reliable(qp)) {
        sched_finish_reliable(view, send_ix, at, status);
        return;
    }
    if (!sched_is_datagram(qp)) {
        sched_conclude_send(view, send_ix, at, status);
        return;
    }
    send->at = at;
    send->status = (uint8_t)status;
    send->is_sent = true;
    while (qp->order_head != ID_NONE && sched_wr_at(s, qp->order_head)->is_sent) {
        uint32_t first = sched_pop(s, &qp->order_head);

        sched_conclude_send(view, first, sched_wr_at(s, first)->at, sched_wr_at(s, first)->status);
    }
}

void sched_count(struct sched *s, uint32_t from_rank, uint32_t to_rank, uint64_t length)
{
    s->bytes[from_rank][to_rank] += length;
    s->messages[from_rank][to_rank]++;
}

uint16_t sched_count_down(struct sched_qp *receives)
{
    receives->recvs_open--;
    if (receives->recvs_open >= receives->limit)
        return 0;
    receives->limit = 0;
    return PROTO_SRQ_LIMIT;
}

void sched_finish_recv(const struct sched_view *view, uint32_t recv_ix, uint32_t send_ix,
                       int64_t at, bool is_whole)
{
    struct sched *s = view->sched;
    const struct sched_wr recv = *sched_wr_at(s, recv_ix);
    struct sched_wr *send = sched_wr_at(s, send_ix);
    struct sched_qp *qp = sched_qp_at(s, recv.qp);
    bool has_header = sched_is_datagram(qp);
    bool has_bytes = is_whole && send->slot != PROTO_NO_SLOT && !qp->is_dead;
    struct proto_event event = {
        .t = at,
        .flags = (uint16_t)(send->flags | (has_header ? PROTO_HAS_GRH : 0) |
                            sched_count_down(sched_receives_of(s, qp))),
        .cq = qp->recv_cq,
        .qp = recv.qp,
        .wqe = recv.wqe,
        .status = is_whole ? PROTO_WC_SUCCESS : PROTO_WC_LOC_LEN,
        .opcode = PROTO_WC_RECV,
        .length = send->length + (has_header ? PROTO_GRH_BYTES : 0),
        .slot = has_bytes ? send->slot : PROTO_NO_SLOT,
        .peer = sched_qp_at(s, send->qp)->client,
        .imm = send->imm,
        .src_qp = sched_qp_at(s, send->qp)->qp_num,
        .remote_addr =
            PROTO_PLACE(sched_qp_at(s, send->qp)->rank, sched_qp_at(s, send->qp)->device),
        .token = send_ix,
    };

    sched_drop_wr(s, recv_ix);
    sched_count(s, sched_qp_at(s, send->qp)->rank, qp->rank, send->length);
    send->is_delivered = true;
    sched_rate_ended(s, send, at, true);
    send->consumer = qp->client;
    if (!qp->is_dead)
        complete(view, qp, &event);
    if (!has_bytes || !sched_client_at(s, qp->client)->is_alive)
        sched_settle(view, send_ix);
}

uint32_t sched_pop(const struct sched *s, uint32_t *head)
{
    uint32_t ix = *head;

    *head = sched_wr_at(s, ix)->next;
    return ix;
}

void sched_append(const struct sched *s, uint32_t *head, uint32_t *tail, uint32_t ix)
{
    sched_wr_at(s, ix)->next = ID_NONE;
    if (*head == ID_NONE)
        *head = ix;
    else
        sched_wr_at(s, *tail)->next = ix;
    *tail = ix;
}

/* Messages that have arrived meet receives that are posted, each in their order. */
static void match(const struct sched_view *view, struct sched_qp *receives)
{
    struct sched *s = view->sched;

    while (receives->early_head != ID_NONE && receives->held_head != ID_NONE) {
        uint32_t recv_ix = sched_pop(s, &receives->early_head);
        uint32_t send_ix = sched_pop(s, &receives->held_head);
        const struct sched_wr *send = sched_wr_at(s, send_ix);
        uint32_t to = send->to;
        struct sched_qp *qp = sched_qp_at(s, to);
        bool is_reliable = sched_is_reliable(sched_qp_at(s, send->qp));
        bool fits = send->length <= sched_wr_at(s, recv_ix)->length;
        int64_t at = time_max(send->at, sched_wr_at(s, recv_ix)->at);

        at = time_max(at, qp->last_recv);
        qp->last_recv = at;
        qp->held--;
        if (send->opcode == PROTO_WR_WRITE_IMM) {
            sched_apply(view, to, send_ix, at, recv_ix);
            if (qp->held == 0)
                sched_go_on(view, to);
            continue;
        }
        if (is_reliable)
            sched_finish_sent(view, send_ix, time_add(at, qp->latency),
                              fits ? PROTO_WC_SUCCESS : PROTO_WC_REM_INV);
        sched_wr_at(s, recv_ix)->qp = to;
        sched_finish_recv(view, recv_ix, send_ix, at, fits);
        if (is_reliable && !fits)
            sched_fail_qp(view, to, at);
        if (qp->held == 0)
            sched_go_on(view, to);
    }
}

void sched_offer(const struct sched_view *view, uint32_t to_ix, uint32_t send_ix)
{
    struct sched *s = view->sched;
    struct sched_qp *to = sched_qp_at(s, to_ix);
    struct sched_qp *receives = sched_receives_of(s, to);

    to->held++;
    sched_wr_at(s, send_ix)->to = to_ix;
    sched_append(s, &receives->held_head, &receives->held_tail, send_ix);
    match(view, receives);
}

/* Does the sender hear of it only when it has arrived, or has not? Messages of direct queue pairs
 * meet their receives here, which holds them. */
static bool is_answered(const struct sched *s, const struct sched_qp *from)
{
    return s->fails && !from->is_direct;
}

void sched_lose(const struct sched_view *view, uint32_t send_ix)
{
    struct sched *s = view->sched;
    const struct sched_wr *send = sched_wr_at(s, send_ix);
    const struct sched_qp *qp = sched_qp_at(s, send->qp);
    int64_t now = engine_now(fabric_engine(sched_net(s))).ps;

    if (sched_is_reliable(qp) && send->patience_us != PROTO_PATIENCE_NEVER)
        sched_finish_sent(view, send_ix,
                          time_add(now, time_max(2 * qp->latency, send->patience_us * PS_PER_US)),
                          PROTO_WC_RETRY_EXC);
    else if (is_answered(s, qp))
        sched_finish_sent(view, send_ix, time_add(now, qp->latency), PROTO_WC_RETRY_EXC);
    sched_settle(view, send_ix);
}

/* A message will have arrived at `at`. What lost frames is repaired if it is acknowledged: no time
 * is charged for that. */
static void arrive(const struct sched_view *view, const struct fabric_completion *c)
{
    struct sched *s = view->sched;
    uint32_t send_ix = (uint32_t)c->peer_wr_id;
    struct sched_wr *send = sched_wr_at(s, send_ix);
    const struct sched_qp *from = sched_qp_at(s, send->qp);
    struct sched_qp *to = from->peer != ID_NONE ? sched_qp_at(s, from->peer) : NULL;

    if (send->state == WR_RESPONSE) {
        sched_response_arrives(view, send_ix, c->at.ps);
        return;
    }
    if (sched_is_datagram(from) && c->status == FABRIC_OK) {
        sched_datagram_arrives(view, send_ix, c->at.ps);
        return;
    }
    if (!to || to->is_dead || to->is_failed ||
        (c->status != FABRIC_OK && !sched_is_reliable(from))) {
        sched_lose(view, send_ix);
        return;
    }
    if (from->is_failed) {
        sched_settle(view, send_ix); /* behind one that failed: the other end takes no notice */
        return;
    }
    send->at = c->at.ps;
    if (!sched_goes_elsewhere(view, from->peer, send_ix))
        sched_offer(view, from->peer, send_ix);
}

/* A message has met its receive in the fabric. */
static void meet(const struct sched_view *view, const struct fabric_completion *c)
{
    const struct sched *s = view->sched;
    uint32_t send_ix = (uint32_t)c->peer_wr_id;
    const struct sched_qp *from = sched_qp_at(s, sched_wr_at(s, send_ix)->qp);

    if (is_answered(s, from))
        sched_finish_sent(view, send_ix, time_add(c->at.ps, from->latency), PROTO_WC_SUCCESS);
    sched_finish_recv(view, (uint32_t)c->wr_id, send_ix, c->at.ps, c->status == FABRIC_OK);
}

static void on_completed(void *ctx, const struct fabric_completion *c)
{
    const struct sched_view *view = *(const struct sched_view **)ctx;
    const struct sched_qp *qp =
        sched_qp_at(view->sched, sched_wr_at(view->sched, (uint32_t)c->wr_id)->qp);

    if (!c->is_recv) {
        if (!sched_is_reliable(qp) && !is_answered(view->sched, qp))
            sched_finish_sent(view, (uint32_t)c->wr_id, c->at.ps, PROTO_WC_SUCCESS);
    } else if (qp->is_direct) {
        arrive(view, c);
    } else {
        meet(view, c);
    }
}

static void on_lost(void *ctx, qp_id sender, uint64_t wr_id)
{
    const struct sched_view *view = *(const struct sched_view **)ctx;

    (void)sender;
    if (sched_wr_at(view->sched, (uint32_t)wr_id)->state == WR_RESPONSE)
        sched_response_is_lost(view, (uint32_t)wr_id);
    else
        sched_lose(view, (uint32_t)wr_id);
}

static void on_user_event(void *ctx, uint32_t kind, uint32_t arg)
{
    (void)kind; /* there is one */
    sched_datagram_decides(*(const struct sched_view **)ctx, arg);
}

/* What a flush drops: with a flush error for the client, or without a word. */
struct flush_ctx {
    const struct sched_view *view; /* first: the other hooks read it */
    int64_t at;
};

/* A receive that nothing will meet. */
static void flush_recv(const struct sched_view *view, uint32_t ix, int64_t at)
{
    struct sched *s = view->sched;
    const struct sched_wr *wr = sched_wr_at(s, ix);
    struct sched_qp *qp = sched_qp_at(s, wr->qp);

    qp->recvs_open--;
    if (!qp->is_dead) {
        struct proto_event event = {.t = at,
                                    .cq = qp->recv_cq,
                                    .qp = wr->qp,
                                    .wqe = wr->wqe,
                                    .status = PROTO_WC_FLUSHED,
                                    .opcode = PROTO_WC_RECV,
                                    .slot = PROTO_NO_SLOT};

        complete(view, qp, &event);
    }
    sched_drop_wr(s, ix);
}

static void on_flushed(void *ctx, qp_id fabric_qp, uint64_t wr_id, bool is_recv)
{
    const struct flush_ctx *flush = ctx;
    uint32_t ix = (uint32_t)wr_id;

    (void)fabric_qp;
    if (sched_wr_at(flush->view->sched, ix)->state == WR_RESPONSE) {
        sched_response_is_lost(flush->view, ix);
        return;
    }
    if (!is_recv) {
        sched_finish_sent(flush->view, ix, flush->at, PROTO_WC_FLUSHED);
        sched_settle(flush->view, ix);
        return;
    }
    flush_recv(flush->view, ix, flush->at);
}

/* What waits here, not in the fabric: receives posted before RTR, and in the profile `verbs` also
 * messages, which get no answer any more, and sends to the same device that have no peer yet. */
static void flush_waiting(struct flush_ctx *ctx, struct sched_qp *qp)
{
    struct sched *s = ctx->view->sched;

    while (qp->early_head != ID_NONE)
        on_flushed(ctx, (qp_id){qp->fabric}, sched_pop(s, &qp->early_head), true);
    qp->held = 0;
    while (qp->held_head != ID_NONE)
        sched_lose(ctx->view, sched_pop(s, &qp->held_head));
    while (qp->behind_head != ID_NONE)
        sched_lose(ctx->view, sched_pop(s, &qp->behind_head));
    /* Datagrams there have left. */
    while (!sched_is_datagram(qp) && qp->order_head != ID_NONE)
        on_flushed(ctx, (qp_id){qp->fabric}, sched_pop(s, &qp->order_head), false);
}

void sched_flush_qp(const struct sched_view *view, uint32_t qp_ix, bool tells)
{
    struct sched_qp *qp = sched_qp_at(view->sched, qp_ix);
    int64_t now = engine_now(fabric_engine(sched_net(view->sched))).ps;
    bool was_dead = qp->is_dead;

    qp->is_dead = was_dead || !tells;
    if (sched_is_reliable(qp))
        sched_conclude_open(view, qp_ix, qp->open_head, now);
    qp->is_dead = was_dead;
    sched_flush_qp_at(view, qp_ix, tells, now);
}

void sched_flush_qp_at(const struct sched_view *view, uint32_t qp_ix, bool tells, int64_t at)
{
    struct sched_qp *qp = sched_qp_at(view->sched, qp_ix);
    struct flush_ctx ctx = {.view = view, .at = at};
    bool was_dead = qp->is_dead;
    const struct fabric_hooks hooks = {.ctx = &ctx,
                                       .completed = on_completed,
                                       .user_event = on_user_event,
                                       .lost = on_lost,
                                       .flushed = on_flushed};

    qp->is_dead = was_dead || !tells;
    qp->is_open = false;
    if (qp->fabric != ID_NONE)
        fabric_flush_qp(sched_net(view->sched), (qp_id){qp->fabric}, &hooks);
    for (uint32_t rank = 0; rank < view->sched->rank_count; rank++) {
        if (qp->ways[rank] != 0)
            fabric_flush_qp(sched_net(view->sched), (qp_id){qp->ways[rank] - 1}, &hooks);
    }
    if (qp->response != ID_NONE && !tells)
        fabric_flush_qp(sched_net(view->sched), (qp_id){qp->response}, &hooks);
    flush_waiting(&ctx, qp);
    if (qp->srq != ID_NONE)
        sched_leave_srq(view, qp_ix);
    qp->is_dead = was_dead;
}

void sched_run_fabric(const struct sched_view *view, int64_t limit)
{
    struct sched *s = view->sched;
    const struct sched_view *ctx = view;
    const struct fabric_hooks hooks = {
        .ctx = &ctx, .completed = on_completed, .user_event = on_user_event, .lost = on_lost};

    s->stop = false;
    (void)fabric_run_until(sched_net(s), (simtime){limit}, &hooks, &s->stop);
}

simtime sched_reach(struct sched *s, int64_t t)
{
    struct engine *engine = fabric_engine(sched_net(s));

    if (t > engine_now(engine).ps)
        engine_advance(engine, (simtime){t});
    return engine_now(engine);
}

/* A message to the same device loads no cable: it takes a message's time on a wire of its own, and
 * the latency. */
void sched_post_local(const struct sched_view *view, struct sched_qp *qp, uint32_t ix, int64_t now)
{
    struct sched *s = view->sched;
    uint64_t length = sched_wr_at(s, ix)->length;
    struct fabric_completion c = {.wr_id = ix, .peer_wr_id = ix, .length = {length}};

    if (qp->peer == ID_NONE && !sched_is_datagram(qp)) {
        sched_append(s, &qp->order_head, &qp->order_tail, ix);
        return;
    }
    qp->local_free = time_add(time_max(now, qp->local_free), time_wire(length, qp->ps_per_kib));
    c.at.ps = qp->local_free;
    on_completed(&view, &c);
    c.at.ps = time_add(c.at.ps, qp->latency);
    c.is_recv = true;
    on_completed(&view, &c);
}

void sched_send_kept(const struct sched_view *view, uint32_t qp_ix)
{
    struct sched *s = view->sched;
    struct sched_qp *qp = sched_qp_at(s, qp_ix);

    while (qp->order_head != ID_NONE)
        sched_post_local(view, qp, sched_pop(s, &qp->order_head),
                         engine_now(fabric_engine(sched_net(s))).ps);
}

static bool is_blind_on(const struct sched *s, const struct sched_qp *qp, uint32_t way)
{
    return !qp->is_local && (s->sends_early || !fabric_qp_foresees(sched_net(s), (qp_id){way}));
}

static void post_send(const struct sched_view *view, struct sched_qp *qp,
                      struct sched_client *client, uint32_t ix, const struct proto_command *command)
{
    struct sched *s = view->sched;
    uint32_t way = sched_is_datagram(qp) ? qp->ways[qp->dest_rank] - 1 : qp->fabric;
    bool is_blind = is_blind_on(s, qp, way);
    simtime now = sched_reach(s, command->t);

    qp->sends_open++;
    if (sched_is_reliable(qp)) {
        sched_start_send(view, ix, now.ps);
        return;
    }
    if (client->open_sends == 0)
        client->min_wire = PROTO_NEVER;
    client->min_wire = time_min(client->min_wire, time_wire(command->length, qp->ps_per_kib));
    client->open_sends++;
    client->open_blind += is_blind;
    sched_wr_at(s, ix)->is_blind = is_blind;
    sched_rate_posted(s, sched_wr_at(s, ix), now.ps);
    if (sched_is_datagram(qp))
        sched_append(s, &qp->order_head, &qp->order_tail, ix);
    if (qp->is_local) {
        sched_post_local(view, qp, ix, now.ps);
        return;
    }
    if (sched_goes_stale(s, qp, now.ps)) {
        sched_append(s, &qp->order_head, &qp->order_tail, ix);
        return;
    }
    (void)fabric_post_send(sched_net(s), (qp_id){way}, (simtime){sched_wake_cable(s, qp, now.ps)},
                           ix, (bytecount){command->length});
}

static void post_recv(const struct sched_view *view, struct sched_qp *qp, uint32_t ix, simtime now)
{
    struct sched *s = view->sched;
    struct sched_wr *wr = sched_wr_at(s, ix);

    qp->recvs_open++;
    if (qp->is_failed) {
        flush_recv(view, ix, time_add(now.ps, qp->latency));
        return;
    }
    if (qp->is_direct) {
        /* No receive completes sooner after any post: leases count on it. */
        wr->at = time_add(now.ps, qp->latency);
        sched_append(s, &qp->early_head, &qp->early_tail, ix);
        match(view, qp);
        return;
    }
    if (qp->fabric != ID_NONE) {
        (void)fabric_post_recv(sched_net(s), (qp_id){qp->fabric}, now, ix, (bytecount){wr->length});
        return;
    }
    sched_append(s, &qp->early_head, &qp->early_tail, ix);
}

/* Receives that may be posted. What a shared queue was granted only its process knows. */
static uint32_t receives_most(const struct sched_qp *qp)
{
    return qp->qp_type == SCHED_QPT_SRQ ? SCHED_QUEUE_MAX : qp->recv_wrs;
}

static void execute_post(const struct sched_view *view, const struct proto_command *command,
                         uint32_t client_ix)
{
    struct sched *s = view->sched;
    struct sched_qp *qp = sched_own_qp(s, client_ix, command->qp);
    struct sched_client *client = sched_client_at(s, client_ix);
    bool is_send = command->kind == PROTO_COMMAND_SEND;
    uint32_t ix;

    if (!qp || (is_send && !sched_has_way(qp) && !sched_is_datagram(qp)))
        return; /* destroyed meanwhile, or never connected: the client knows */
    if (is_send ? qp->sends_open >= qp->send_wrs : qp->recvs_open >= receives_most(qp)) {
        sched_blame(s, client_ix, SCHED_TOO_MUCH);
        return;
    }
    ix = sched_take_wr(s);
    if (ix == ID_NONE)
        return;
    *sched_wr_at(s, ix) = (struct sched_wr){.state = is_send ? WR_SEND : WR_RECV,
                                            .flags = command->flags,
                                            .qp = command->qp,
                                            .wqe = command->wqe,
                                            .opcode = command->opcode,
                                            .imm = command->imm,
                                            .consumer = ID_NONE,
                                            .length = command->length,
                                            .slot = is_send ? command->slot : PROTO_NO_SLOT,
                                            .to = ID_NONE,
                                            .dest = command->dest,
                                            .place = (uint16_t)command->remote_addr,
                                            .qkey = command->rkey,
                                            .max_reads = command->dest,
                                            .patience_us = command->patience_us,
                                            .rkey = command->rkey,
                                            .remote_addr = command->remote_addr};
    if (is_send && sched_is_datagram(qp) && !sched_choose_way(s, qp, command)) {
        sched_drop_wr(s, ix); /* an address that nobody gave out */
        return;
    }
    if (is_send)
        post_send(view, qp, client, ix, command);
    else
        post_recv(view, qp, ix, sched_reach(s, command->t));
    /* The fabric reports what became certain when it runs next. */
    sched_run_fabric(view, engine_now(fabric_engine(sched_net(s))).ps);
}

void sched_post_early(const struct sched_view *view, uint32_t qp_ix)
{
    struct sched *s = view->sched;
    struct sched_qp *qp = sched_qp_at(s, qp_ix);
    uint32_t ix = qp->early_head;

    qp->early_head = ID_NONE;
    while (ix != ID_NONE) {
        uint32_t next = sched_wr_at(s, ix)->next;

        qp->recvs_open--;
        post_recv(view, qp, ix, engine_now(fabric_engine(sched_net(s))));
        ix = next;
    }
}

static void execute_consumed(const struct sched_view *view, const struct proto_command *command,
                             uint32_t client)
{
    struct sched *s = view->sched;
    const struct sched_wr *send;

    if (command->token >= s->wr_used)
        return;
    send = sched_wr_at(s, command->token);
    if (send->state == WR_SEND && send->is_delivered && !send->is_settled &&
        send->consumer == client)
        sched_settle(view, command->token);
}

void sched_move_wrs(struct sched *s, uint32_t from_qp, uint32_t to_qp)
{
    for (uint32_t i = 0; i < s->wr_used; i++) {
        struct sched_wr *wr = sched_wr_at(s, i);

        if (wr->state != WR_FREE && wr->qp == from_qp)
            wr->qp = to_qp;
    }
}

void sched_forget_client(const struct sched_view *view, uint32_t client)
{
    struct sched *s = view->sched;

    while (sched_client_at(s, client)->late_head != ID_NONE)
        drop_late(s, sched_client_at(s, client));

    for (uint32_t i = 0; i < s->wr_used; i++) {
        const struct sched_wr *wr = sched_wr_at(s, i);

        if (wr->state == WR_SEND && wr->is_delivered && !wr->is_settled && wr->consumer == client)
            sched_settle(view, i);
    }
    sched_forget_applies(view, client);
}

/* Wakes waiters of a key of the client, those who have waited longest first. */
static void execute_wake(struct sched *s, const struct proto_command *command, uint32_t client)
{
    uint32_t base = client * PROTO_CLIENT_ACTORS;

    for (uint64_t left = command->length; left > 0; left--) {
        struct sched_actor *best = NULL;

        for (uint32_t k = 0; k < sched_client_at(s, client)->actor_count; k++) {
            struct sched_actor *actor = sched_actor_at(s, base + k);

            if (actor->state == SCHED_ACTOR_WAIT && actor->key == command->slot &&
                (!best || actor->vt < best->vt))
                best = actor;
        }
        if (!best)
            return;
        best->state = SCHED_ACTOR_READY;
        best->resume = PROTO_RESUME_WOKEN;
        best->vt = time_max(best->vt, command->t);
    }
}

/* What the actor waits for may still come before; otherwise it looks around now. */
static void execute_interrupt(struct sched *s, const struct proto_command *command)
{
    struct sched_actor *actor = sched_actor_at(s, (uint32_t)command->slot);
    /* What it has polled at this instant came before, if it is first in the order of actors. */
    int64_t polls_until = command->t + (command->slot < command->actor);

    switch ((enum sched_actor_state)(actor->is_applying ? actor->saved : actor->state)) {
    case SCHED_ACTOR_WAIT:
    case SCHED_ACTOR_EXTERNAL:
        actor->deadline = time_min(actor->deadline, command->t);
        break;
    case SCHED_ACTOR_IDLE:
        actor->first = time_min(actor->first, polls_until);
        break;
    case SCHED_ACTOR_READY:
        if (actor->is_asleep && actor->resume == PROTO_RESUME_TURN)
            actor->vt = time_min(actor->vt, command->t);
        else if (actor->is_quiet)
            actor->first = time_min(actor->first, polls_until);
        break;
    case SCHED_ACTOR_SPIN: /* looks after every act of a sibling */
    case SCHED_ACTOR_RUNNING:
    case SCHED_ACTOR_NONE:
        break;
    }
}

void sched_execute(const struct sched_view *view, const struct proto_command *command,
                   uint32_t client)
{
    struct sched *s = view->sched;

    switch ((enum proto_command_kind)command->kind) {
    case PROTO_COMMAND_SEND:
    case PROTO_COMMAND_RECV:
        sched_client_at(s, client)->commands++;
        sched_mix(s, (uint64_t)command->t);
        sched_mix(s,
                  ((uint64_t)command->actor << 32) ^ ((uint64_t)command->kind << 24) ^ command->qp);
        sched_mix(s, command->wqe ^ (command->length << 17));
        execute_post(view, command, client);
        break;
    case PROTO_COMMAND_CONSUMED:
        execute_consumed(view, command, client);
        break;
    case PROTO_COMMAND_WAKE:
        sched_client_at(s, client)->commands++;
        execute_wake(s, command, client);
        break;
    case PROTO_COMMAND_INTERRUPT:
        sched_client_at(s, client)->commands++;
        execute_interrupt(s, command);
        break;
    case PROTO_COMMAND_OUTSIDE:
        sched_client_at(s, client)->commands++;
        sched_log_outside(s, command->t);
        break;
    case PROTO_COMMAND_APPLIED:
        (void)sched_reach(s, command->t);
        sched_execute_applied(view, command, client);
        sched_run_fabric(view, engine_now(fabric_engine(sched_net(s))).ps);
        break;
    }
}
