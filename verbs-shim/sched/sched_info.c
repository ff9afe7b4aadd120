/* SPDX-License-Identifier: Apache-2.0 */
/* What the judge and the report ask for. */
#include <stdbool.h>
#include <stdint.h>

#include "sim/base/ids.h"
#include "sim/base/units.h"
#include "sim/core/engine.h"
#include "sim/fabric/cluster.h"
#include "sim/fabric/fabric.h"
#include "verbs-shim/proto/proto.h"
#include "verbs-shim/sched/sched.h"
#include "verbs-shim/sched/sched_state.h"
#include "verbs-shim/sched/sched_time.h"

simtime sched_now(const struct sched *s)
{
    int64_t now = engine_now(fabric_engine(sched_net(s))).ps;

    /* Actors may have gone on after the fabric's last event. */
    for (uint32_t rank = 0; rank < s->rank_count; rank++)
        now = time_max(now, s->ranks[rank].last_vt);
    for (uint32_t i = 0; i < s->live_count; i++)
        now = time_max(now, sched_actor_at(s, sched_live(s)[i])->vt);
    return (simtime){now};
}

simtime sched_rank_now(const struct sched *s, uint32_t rank)
{
    int64_t now = s->ranks[rank].last_vt;

    for (uint32_t i = 0; i < s->live_count; i++) {
        uint32_t actor = sched_live(s)[i];

        if (sched_client_at(s, actor / PROTO_CLIENT_ACTORS)->rank == rank)
            now = time_max(now, sched_actor_at(s, actor)->vt);
    }
    return (simtime){now};
}

uint32_t sched_culprit(const struct sched *s, enum sched_damage *ret_why)
{
    *ret_why = (enum sched_damage)s->damage;
    return s->culprit;
}

uint64_t sched_hash(const struct sched *s)
{
    return s->hash;
}

uint64_t sched_arrivals(const struct sched *s)
{
    uint64_t sum = s->outside_count;

    for (uint32_t from = 0; from < s->rank_count; from++) {
        for (uint32_t to = 0; to < s->rank_count; to++)
            sum += s->messages[from][to];
    }
    return sum;
}

uint32_t sched_failed_rtrs(const struct sched *s, uint32_t rank, uint32_t device)
{
    return s->ports[rank][device].failed_rtrs;
}

struct sched_held sched_count_held(const struct sched *s, const struct sched_qp *qp)
{
    struct sched_held held = qp->past;

    if (qp->fabric != ID_NONE) {
        struct fabric_qp_counters counted = fabric_qp_counters(sched_net(s), (qp_id){qp->fabric});

        held.sends += counted.held;
        held.waited = simspan_add(held.waited, counted.credit_wait);
    }
    return held;
}

struct sched_held sched_held_of(const struct sched *s, uint32_t qp)
{
    return sched_count_held(s, sched_qp_at(s, qp));
}

struct sched_held sched_held(const struct sched *s, uint32_t rank)
{
    struct sched_held sum = {0};

    for (uint32_t i = 0; i < s->qp_count; i++) {
        struct sched_held held = {0};

        if (sched_qp_at(s, i)->rank == rank)
            held = sched_held_of(s, i);
        sum.sends += held.sends;
        sum.waited = simspan_add(sum.waited, held.waited);
    }
    return sum;
}

uint64_t sched_bytes(const struct sched *s, uint32_t from_rank, uint32_t to_rank)
{
    return s->bytes[from_rank][to_rank];
}

uint64_t sched_messages(const struct sched *s, uint32_t from_rank, uint32_t to_rank)
{
    return s->messages[from_rank][to_rank];
}

struct sched_actor_info sched_actor_info(const struct sched *s, uint32_t actor_ix)
{
    const struct sched_actor *actor;

    if (actor_ix / PROTO_CLIENT_ACTORS >= s->client_count)
        return (struct sched_actor_info){.state = SCHED_ACTOR_NONE};
    actor = sched_actor_at(s, actor_ix);
    return (struct sched_actor_info){
        .state = (enum sched_actor_state)actor->state,
        .vt = {actor->vt},
        .key = actor->key,
        .deadline = {actor->deadline},
        .settled = actor->settled,
    };
}

uint32_t sched_qp_count(const struct sched *s)
{
    return s->qp_count;
}

/* Does the way of the one end at the port of the other? Within a Mac there is no way. */
static bool is_same_cable(const struct sched *s, const struct sched_qp *qp,
                          const struct sched_qp *peer)
{
    const struct cluster_path *path = &sched_route_at(s, qp->rank, qp->device, peer->rank)->path;

    return path->hops == 0 || path->cables[path->hops - 1].ix ==
                                  sched_agreed(s, peer->rank)->device[peer->device].cable;
}

struct sched_qp_info sched_qp_info(const struct sched *s, uint32_t ix)
{
    const struct sched_qp *qp = sched_qp_at(s, ix);
    struct sched_qp_info info = {
        .exists = ix < s->qp_count && qp->exists && !qp->is_dead && qp->qp_type != SCHED_QPT_SRQ,
        .client = qp->client,
        .rank = qp->rank,
        .device = qp->device,
        .qp_num = qp->qp_num,
        .peer_rank = qp->dest_rank,
        .peer_device = qp->dest_device,
        .sends_waiting = qp->sends_open,
        .receives_posted =
            qp->srq == ID_NONE ? qp->recvs_open : sched_qp_at(s, qp->srq)->recvs_open,
        .idle = {qp->idle},
        .is_stale_sender = qp->is_stale_sender,
    };

    if (qp->fabric != ID_NONE)
        info.wait = fabric_qp_wait(sched_net(s), (qp_id){qp->fabric});
    if (qp->peer != ID_NONE) {
        const struct sched_qp *peer = sched_qp_at(s, qp->peer);

        info.is_peer_dead = peer->is_dead;
        info.is_crossed = peer->device != qp->dest_device || qp->device != peer->dest_device ||
                          !is_same_cable(s, qp, peer);
    }
    return info;
}
