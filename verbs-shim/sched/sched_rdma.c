/* SPDX-License-Identifier: Apache-2.0 */
/*
 * DOC: Reliable queue pairs and one-sided operations
 *
 * Sends of a reliable queue pair end in the order of their posting, though a read's answer comes
 * later than the acknowledgement of a write behind it: they form a list, and what is known of one
 * waits until those before it have ended. The first error ends all that is behind it.
 *
 * A write, a read's request and an atomic travel as messages do. On arrival they become something
 * that the target's process has to apply, at that very time (PROTO_EVENT_APPLY), since only it sees
 * its memory and its regions. Like a completion it is told a latency ahead, so that a thread that
 * runs meets it in time; if none runs, one that is parked gets a turn for it (sched.c). What the
 * process answers, by a command of the same time, acknowledges the operation or refuses it, or is
 * what a read asked for; that goes back on a queue pair of the fabric of its own, so that it shares
 * the cable with the target's own messages and does not wait behind them. An acknowledgement takes
 * one latency and no bandwidth.
 *
 * Behind a message that waits for a receive everything waits that came from the same queue pair:
 * a real responder refuses it until the receive is there.
 */
#include <stdbool.h>
#include <stdint.h>

#include "sim/base/ids.h"
#include "sim/base/units.h"
#include "sim/core/engine.h"
#include "sim/fabric/fabric.h"
#include "verbs-shim/proto/proto.h"
#include "verbs-shim/sched/sched.h"
#include "verbs-shim/sched/sched_state.h"
#include "verbs-shim/sched/sched_time.h"

#define ATOMIC_BYTES 8U

void sched_init_rdma(struct sched_qp *qp)
{
    qp->reads_open = 0;
    qp->full_until = 0;
    qp->held = 0;
    qp->open_head = ID_NONE;
    qp->stalled = ID_NONE;
    qp->behind_head = ID_NONE;
    qp->response = ID_NONE;
}

static int64_t now_of(const struct sched *s)
{
    return engine_now(fabric_engine(sched_net(s))).ps;
}

/* Bytes on the wire besides headers. */
static uint64_t request_bytes(const struct sched_wr *wr)
{
    if (wr->opcode == PROTO_WR_READ)
        return 0;
    return sched_is_read(wr) ? PROTO_OPERANDS_BYTES : wr->length;
}

static bool may_start(const struct sched_qp *qp, const struct sched_wr *wr)
{
    if (sched_is_read(wr) && qp->reads_open >= wr->max_reads)
        return false;
    return !(wr->flags & PROTO_FENCED) || qp->reads_open == 0;
}

static void start(const struct sched_view *view, uint32_t ix, int64_t when)
{
    struct sched *s = view->sched;
    struct sched_wr *wr = sched_wr_at(s, ix);
    struct sched_qp *qp = sched_qp_at(s, wr->qp);

    if (sched_is_read(wr)) {
        qp->reads_open++;
        when = time_max(when, qp->full_until);
    }
    wr->is_started = true;
    if (qp->is_local) {
        sched_post_local(view, qp, ix, when);
        return;
    }
    (void)fabric_post_send(sched_net(s), (qp_id){qp->fabric},
                           (simtime){sched_wake_cable(s, qp, when)}, ix,
                           (bytecount){request_bytes(wr)});
}

/* Starts those that had to wait, at `when`. */
static void start_stalled(const struct sched_view *view, struct sched_qp *qp, int64_t when)
{
    struct sched *s = view->sched;

    while (qp->stalled != ID_NONE && may_start(qp, sched_wr_at(s, qp->stalled))) {
        uint32_t ix = qp->stalled;

        qp->stalled = sched_wr_at(s, ix)->after;
        start(view, ix, when);
    }
}

void sched_start_send(const struct sched_view *view, uint32_t ix, int64_t now)
{
    struct sched *s = view->sched;
    struct sched_wr *wr = sched_wr_at(s, ix);
    struct sched_qp *qp = sched_qp_at(s, wr->qp);

    wr->after = ID_NONE;
    if (qp->open_head == ID_NONE)
        qp->open_head = ix;
    else
        sched_wr_at(s, qp->open_tail)->after = ix;
    qp->open_tail = ix;
    if (qp->is_failed) {
        sched_conclude_open(view, wr->qp, ix, time_add(now, qp->latency));
        return;
    }
    if (qp->stalled == ID_NONE)
        qp->stalled = ix;
    start_stalled(view, qp, now);
}

/* Ends what is known of the first ones. */
static void end_in_order(const struct sched_view *view, struct sched_qp *qp)
{
    const struct sched *s = view->sched;

    while (qp->open_head != ID_NONE && sched_wr_at(s, qp->open_head)->is_done) {
        uint32_t ix = qp->open_head;
        const struct sched_wr *wr = sched_wr_at(s, ix);

        qp->open_head = wr->after;
        sched_conclude_send(view, ix, wr->done_at, wr->done_status);
    }
}

static void mark_done(struct sched_wr *wr, int64_t at, uint32_t status)
{
    wr->is_done = true;
    wr->done_at = at;
    wr->done_status = status;
}

void sched_conclude_open(const struct sched_view *view, uint32_t qp_ix, uint32_t first, int64_t at)
{
    struct sched *s = view->sched;
    struct sched_qp *qp = sched_qp_at(s, qp_ix);

    for (uint32_t ix = first; ix != ID_NONE; ix = sched_wr_at(s, ix)->after) {
        struct sched_wr *wr = sched_wr_at(s, ix);

        if (!wr->is_started) {
            wr->is_started = true;
            sched_settle(view, ix);
        }
        if (!wr->is_done)
            mark_done(wr, at, PROTO_WC_FLUSHED);
    }
    qp->stalled = ID_NONE;
    end_in_order(view, qp);
}

/* To ERR at `at`: those from `first` on have not been done. */
static void fail_from(const struct sched_view *view, uint32_t qp_ix, uint32_t first, int64_t at)
{
    struct sched_qp *qp = sched_qp_at(view->sched, qp_ix);

    if (qp->is_failed || qp->is_dead)
        return;
    qp->is_failed = true;
    sched_conclude_open(view, qp_ix, first, at);
    sched_flush_qp_at(view, qp_ix, true, at);
}

void sched_fail_qp(const struct sched_view *view, uint32_t qp_ix, int64_t at)
{
    fail_from(view, qp_ix, sched_qp_at(view->sched, qp_ix)->open_head, at);
}

void sched_finish_reliable(const struct sched_view *view, uint32_t send_ix, int64_t at,
                           uint32_t status)
{
    struct sched *s = view->sched;
    struct sched_wr *wr = sched_wr_at(s, send_ix);
    uint32_t qp_ix = wr->qp;
    uint32_t after = wr->after;

    if (wr->is_done)
        return; /* flushed before its answer came */
    mark_done(wr, at, status);
    end_in_order(view, sched_qp_at(s, qp_ix));
    if (status != PROTO_WC_SUCCESS && status != PROTO_WC_FLUSHED)
        fail_from(view, qp_ix, after, at);
}

/* Into the client's list of what it has to apply, by time. */
static void list_apply(struct sched *s, uint32_t client_ix, uint32_t ix, int64_t at)
{
    struct sched_client *client = sched_client_at(s, client_ix);
    struct sched_wr *wr = sched_wr_at(s, ix);
    uint32_t *link = &client->apply_head;

    while (*link != ID_NONE && sched_wr_at(s, *link)->at <= at)
        link = &sched_wr_at(s, *link)->apply_next;
    wr->at = at;
    wr->apply_next = *link;
    wr->is_applying = true;
    wr->consumer = client_ix;
    *link = ix;
}

static void unlist_apply(struct sched *s, uint32_t ix)
{
    struct sched_wr *wr = sched_wr_at(s, ix);
    uint32_t *link = &sched_client_at(s, wr->consumer)->apply_head;

    while (*link != ID_NONE && *link != ix)
        link = &sched_wr_at(s, *link)->apply_next;
    if (*link == ix)
        *link = wr->apply_next;
    wr->is_applying = false;
}

/* Tells the client what to apply. Who polls idly goes on before: it may look at the memory. */
static void tell_apply(const struct sched_view *view, uint32_t client, uint32_t ix,
                       struct proto_event *event)
{
    struct sched *s = view->sched;
    uint32_t base = client * PROTO_CLIENT_ACTORS;

    event->kind = PROTO_EVENT_APPLY;
    event->token = ix;
    sched_mix(s, (uint64_t)event->t);
    sched_mix(s, ((uint64_t)client << 40) ^ ((uint64_t)event->opcode << 32) ^ event->length);
    list_apply(s, client, ix, event->t);
    sched_tell(view, client, event);
    for (uint32_t k = 0; k < sched_client_at(s, client)->actor_count; k++) {
        struct sched_actor *actor = sched_actor_at(s, base + k);

        if (actor->state == SCHED_ACTOR_IDLE || actor->is_quiet)
            actor->first = time_min(actor->first, event->t);
    }
    s->stop = true;
}

void sched_apply(const struct sched_view *view, uint32_t to_ix, uint32_t send_ix, int64_t at,
                 uint32_t recv_ix)
{
    struct sched *s = view->sched;
    const struct sched_wr *send = sched_wr_at(s, send_ix);
    struct sched_qp *to = sched_qp_at(s, to_ix);
    struct proto_event event = {
        .t = at,
        .flags = send->flags,
        .cq = to->recv_cq,
        .qp = to_ix,
        .opcode = send->opcode,
        .length = send->length,
        .slot = send->slot,
        .peer = sched_qp_at(s, send->qp)->client,
        .imm = send->imm,
        .remote_addr = send->remote_addr,
        .rkey = send->rkey,
    };

    if (recv_ix != ID_NONE) {
        event.flags |= sched_count_down(sched_receives_of(s, to));
        event.wqe = sched_wr_at(s, recv_ix)->wqe;
        sched_drop_wr(s, recv_ix);
    }
    if (to->is_dead || !sched_client_at(s, to->client)->is_alive) {
        sched_lose(view, send_ix);
        return;
    }
    sched_wr_at(s, send_ix)->to = to_ix;
    tell_apply(view, to->client, send_ix, &event);
    if (recv_ix != ID_NONE)
        sched_notice(s, to->client, to->recv_cq, at);
}

/* A message in its turn: to be applied, or to be received. */
static void take_turn(const struct sched_view *view, uint32_t to_ix, uint32_t send_ix)
{
    struct sched *s = view->sched;
    struct sched_wr *send = sched_wr_at(s, send_ix);
    struct sched_qp *to = sched_qp_at(s, to_ix);

    send->at = time_max(send->at, to->last_recv);
    if (sched_takes_receive(send)) {
        sched_offer(view, to_ix, send_ix);
        return;
    }
    to->last_recv = send->at;
    sched_apply(view, to_ix, send_ix, send->at, ID_NONE);
}

bool sched_goes_elsewhere(const struct sched_view *view, uint32_t to_ix, uint32_t send_ix)
{
    struct sched *s = view->sched;
    struct sched_wr *send = sched_wr_at(s, send_ix);
    struct sched_qp *to = sched_qp_at(s, to_ix);

    if (to->held == 0 && to->behind_head == ID_NONE) {
        if (sched_takes_receive(send))
            return false;
        take_turn(view, to_ix, send_ix);
        return true;
    }
    sched_append(s, &to->behind_head, &to->behind_tail, send_ix);
    return true;
}

void sched_go_on(const struct sched_view *view, uint32_t to_ix)
{
    struct sched *s = view->sched;
    struct sched_qp *to = sched_qp_at(s, to_ix);

    while (!to->is_dead && to->held == 0 && to->behind_head != ID_NONE) {
        take_turn(view, to_ix, sched_pop(s, &to->behind_head));
    }
}

/* The fabric's queue pair for answers of this one; its own one if there is no other. */
static uint32_t response_way(struct sched *s, struct sched_qp *qp)
{
    const struct sched_route *route = sched_route_at(s, qp->rank, qp->device, qp->dest_rank);
    const struct fabric_qp_size size = {.send_wrs = 16, .recv_wrs = 1};
    qp_id made;

    if (qp->response != ID_NONE)
        return qp->response;
    made = fabric_create_qp_sized(sched_net(s), FABRIC_QP_DIRECT, s->ranks[qp->rank].host,
                                  &route->path, &size);
    if (made.ix == ID_NONE)
        return qp->fabric;
    fabric_set_peer(sched_net(s), made, made);
    qp->response = made.ix;
    return made.ix;
}

/* What a read asked for leaves its target. */
static void respond(const struct sched_view *view, uint32_t to_ix, uint32_t request_ix,
                    const struct proto_command *command)
{
    struct sched *s = view->sched;
    struct sched_qp *to = sched_qp_at(s, to_ix);
    uint32_t ix = sched_take_wr(s);
    const struct sched_wr *request = sched_wr_at(s, request_ix);
    uint64_t length = request->opcode == PROTO_WR_READ ? request->length : ATOMIC_BYTES;

    if (ix == ID_NONE)
        return;
    *sched_wr_at(s, ix) = (struct sched_wr){
        .state = WR_RESPONSE,
        .is_completed = true,
        .qp = to_ix,
        .wqe = request->wqe,
        .opcode = request->opcode,
        .consumer = ID_NONE,
        .length = length,
        .slot = command->slot,
        .request = request_ix,
    };
    sched_count(s, to->rank, sched_qp_at(s, request->qp)->rank, length);
    if (to->is_local) {
        int64_t wire = time_wire(length, to->ps_per_kib);

        sched_response_arrives(view, ix, time_add(now_of(s), time_add(wire, to->latency)));
        return;
    }
    (void)fabric_post_send(sched_net(s), (qp_id){response_way(s, to)},
                           (simtime){sched_wake_cable(s, to, now_of(s))}, ix, (bytecount){length});
}

/* A read or an atomic is over at `at`, well or not: another one may start. */
static void end_read(const struct sched_view *view, uint32_t request_ix, int64_t at,
                     uint32_t status)
{
    struct sched *s = view->sched;
    struct sched_qp *qp = sched_qp_at(s, sched_wr_at(s, request_ix)->qp);
    uint32_t max_reads = sched_wr_at(s, request_ix)->max_reads;

    if (qp->reads_open >= max_reads)
        qp->full_until = at;
    qp->reads_open--;
    sched_finish_reliable(view, request_ix, at, status);
    sched_settle(view, request_ix);
    if (!qp->is_failed && !qp->is_dead)
        start_stalled(view, qp, at);
}

void sched_response_arrives(const struct sched_view *view, uint32_t ix, int64_t at)
{
    struct sched *s = view->sched;
    const struct sched_wr *response = sched_wr_at(s, ix);
    const struct sched_wr *request = sched_wr_at(s, response->request);
    const struct sched_qp *qp = sched_qp_at(s, request->qp);
    struct proto_event event = {
        .t = at,
        .flags = PROTO_RESPONSE,
        .qp = request->qp,
        .wqe = request->wqe,
        .opcode = request->opcode,
        .length = response->length,
        .slot = response->slot,
        .peer = sched_qp_at(s, response->qp)->client,
    };
    bool is_wanted = !request->is_done && !qp->is_dead && sched_client_at(s, qp->client)->is_alive;

    if (is_wanted)
        tell_apply(view, qp->client, ix, &event);
    end_read(view, response->request, at, PROTO_WC_SUCCESS);
    if (!is_wanted)
        sched_settle(view, ix);
}

void sched_response_is_lost(const struct sched_view *view, uint32_t ix)
{
    struct sched *s = view->sched;
    uint32_t request_ix = sched_wr_at(s, ix)->request;
    const struct sched_qp *qp = sched_qp_at(s, sched_wr_at(s, request_ix)->qp);

    end_read(view, request_ix, time_add(now_of(s), 2 * qp->latency), PROTO_WC_RETRY_EXC);
    sched_settle(view, ix);
}

/* The target has refused: both queue pairs are in ERR, if anybody hears of it. */
static void refuse(const struct sched_view *view, uint32_t to_ix, uint32_t send_ix, uint32_t status)
{
    struct sched *s = view->sched;
    const struct sched_qp *from = sched_qp_at(s, sched_wr_at(s, send_ix)->qp);
    int64_t at = time_add(now_of(s), from->latency);

    if (status == PROTO_WC_GONE) {
        sched_lose(view, send_ix);
        return;
    }
    if (sched_is_reliable(from)) {
        sched_finish_reliable(view, send_ix, at, status);
        sched_fail_qp(view, to_ix, at);
    }
    sched_settle(view, send_ix);
}

void sched_execute_applied(const struct sched_view *view, const struct proto_command *command,
                           uint32_t client)
{
    struct sched *s = view->sched;
    uint32_t ix = command->token;
    const struct sched_wr *wr;
    const struct sched_qp *from;

    if (ix >= s->wr_used)
        return;
    wr = sched_wr_at(s, ix);
    if (wr->state == WR_FREE || !wr->is_applying || wr->consumer != client)
        return;
    unlist_apply(s, ix);
    sched_mix(s, ((uint64_t)command->t << 8) ^ command->status);
    if (wr->state == WR_RESPONSE) {
        sched_settle(view, ix);
        return;
    }
    from = sched_qp_at(s, wr->qp);
    if (command->status != PROTO_WC_SUCCESS) {
        refuse(view, wr->to, ix, command->status);
        return;
    }
    if (sched_is_read(wr)) {
        respond(view, wr->to, ix, command);
        return;
    }
    sched_count(s, from->rank, sched_qp_at(s, wr->to)->rank, wr->length);
    if (sched_is_reliable(from))
        sched_finish_reliable(view, ix, time_add(now_of(s), from->latency), PROTO_WC_SUCCESS);
    sched_settle(view, ix);
}

void sched_forget_applies(const struct sched_view *view, uint32_t client)
{
    struct sched *s = view->sched;

    while (sched_client_at(s, client)->apply_head != ID_NONE) {
        uint32_t ix = sched_client_at(s, client)->apply_head;

        unlist_apply(s, ix);
        if (sched_wr_at(s, ix)->state == WR_RESPONSE)
            sched_settle(view, ix);
        else
            sched_lose(view, ix);
    }
}
