/* SPDX-License-Identifier: Apache-2.0 */
/*
 * DOC: Datagrams
 *
 * A UD queue pair has no peer: each send names a port (by its GID, which an address handle turned
 * into a place) and a queue pair there. It leaves by the cable of the queue pair's own device, so
 * only what that cable leads to can be reached: the other end's port, or, through a hub, ports of
 * its other cables. Nothing is routed from cable to cable, as on Macs. A device reaches itself.
 *
 * A datagram is dropped, without a word to anybody, when it reaches no UD queue pair of that number
 * that is in RTR or RTS on the very port, when the Q keys differ, or when no receive is posted.
 *
 * When is that decided? A receive that is posted at t can be met from t + latency, as on all queue
 * pairs of this profile: leases rest on it. So what a datagram that arrives at `a` finds is known
 * at a - latency, and decided then, in an event of the fabric's clock. No program can tell: news of
 * its receive travels no faster than that either.
 *
 * Sends to several Macs through a hub have several queue pairs of the fabric, which may overtake
 * each other; their completions keep the order of posting.
 */
#include <errno.h>
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

#define DATAGRAM_MAX 4096U /* the MTU */

/* The device's cable leads to another Mac's port of this GID, and is up; else errno. */
int sched_find_gid(const struct sched *s, uint32_t client,
                   const struct proto_connect_request *request, int64_t *reply)
{
    uint32_t from = sched_client_at(s, client)->rank;
    uint32_t rank;
    uint32_t device;
    int64_t state[4];

    if (sched_query_port(s, from, request->qp, state) != 0)
        return EINVAL;
    if (!sched_find_port(s, request, &rank, &device))
        return ETIMEDOUT;
    if (!sched_is_loop(s, from, request->qp, rank, device) &&
        (rank == from || !sched_route_at(s, from, request->qp, rank)->exists ||
         state[0] != PROTO_PORT_ACTIVE))
        return ETIMEDOUT;
    reply[0] = PROTO_PLACE(rank, device);
    return 0;
}

int sched_open_ud(const struct sched_view *view, uint32_t client, const int64_t *raw)
{
    struct sched_qp *qp = sched_named_qp(view->sched, client, raw[0]);

    if (!qp || !sched_is_datagram(qp))
        return EINVAL;
    qp->is_open = true;
    qp->qkey = (uint32_t)raw[1];
    return 0;
}

bool sched_choose_way(struct sched *s, struct sched_qp *qp, const struct proto_command *command)
{
    uint32_t rank;

    /* With its header it has to lie in the arena as well: who takes it believes that. */
    if (command->remote_addr >= (uint64_t)PROTO_PLACES || command->length > DATAGRAM_MAX ||
        (command->slot != PROTO_NO_SLOT &&
         command->slot + command->length + PROTO_GRH_BYTES > PROTO_ARENA_BYTES))
        return false;
    rank = PROTO_PLACE_RANK((uint32_t)command->remote_addr);
    qp->is_local = sched_is_loop(s, qp->rank, qp->device, rank,
                                 PROTO_PLACE_DEVICE((uint32_t)command->remote_addr));
    if (!qp->is_local && (rank >= s->rank_count || rank == qp->rank ||
                          !sched_route_at(s, qp->rank, qp->device, rank)->exists))
        return false;
    if (!qp->is_local && qp->ways[rank] == 0) {
        uint32_t made = sched_make_way(s, qp, rank);

        if (made == ID_NONE)
            return false;
        fabric_set_peer(sched_net(s), (qp_id){made}, (qp_id){made});
        qp->ways[rank] = made + 1;
    }
    qp->dest_rank = rank;
    qp->dest_device = PROTO_PLACE_DEVICE((uint32_t)command->remote_addr);
    qp->dest_qp_num = command->dest;
    return true;
}

void sched_datagram_arrives(const struct sched_view *view, uint32_t send_ix, int64_t at)
{
    struct sched *s = view->sched;
    struct engine *engine = fabric_engine(sched_net(s));
    int64_t decided = at - sched_qp_at(s, sched_wr_at(s, send_ix)->qp)->latency;

    if (s->datagrams == SCHED_DATAGRAMS) { /* far beyond what cables hold */
        sched_lose(view, send_ix);
        return;
    }
    s->datagrams++;
    engine_push(engine, simtime_max(engine_now(engine), (simtime){decided}), FABRIC_KIND_USER,
                send_ix);
}

static bool is_target(const struct sched_qp *qp, const struct sched_wr *send)
{
    return qp->exists && !qp->is_dead && qp->is_open && sched_is_datagram(qp) &&
           qp->qp_num == send->dest && PROTO_PLACE(qp->rank, qp->device) == send->place &&
           qp->qkey == send->qkey;
}

/* The queue pair that takes the datagram; ID_NONE. */
static uint32_t find_target(const struct sched *s, const struct sched_wr *send)
{
    for (uint32_t i = 0; i < s->qp_count; i++) {
        if (is_target(sched_qp_at(s, i), send))
            return i;
    }
    return ID_NONE;
}

void sched_datagram_decides(const struct sched_view *view, uint32_t send_ix)
{
    struct sched *s = view->sched;
    struct sched_wr *send = sched_wr_at(s, send_ix);
    struct sched_qp *receives;
    struct sched_qp *to;
    uint32_t recv_ix;
    int64_t at;

    s->datagrams--;
    send->to = find_target(s, send);
    if (send->to == ID_NONE) {
        sched_lose(view, send_ix);
        return;
    }
    to = sched_qp_at(s, send->to);
    receives = sched_receives_of(s, to);
    if (receives->early_head == ID_NONE) {
        sched_lose(view, send_ix);
        return;
    }
    recv_ix = sched_pop(s, &receives->early_head);
    sched_wr_at(s, recv_ix)->qp = send->to;
    at = time_add(engine_now(fabric_engine(sched_net(s))).ps, to->latency);
    at = time_max(at, to->last_recv);
    to->last_recv = at;
    sched_finish_recv(view, recv_ix, send_ix, at,
                      send->length + PROTO_GRH_BYTES <= sched_wr_at(s, recv_ix)->length);
}
