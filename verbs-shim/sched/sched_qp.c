/* SPDX-License-Identifier: Apache-2.0 */
/*
 * DOC: Queue pairs between processes
 *
 * A queue pair of a program becomes one of the fabric when it reaches RTR, since only then is it
 * known which cable it uses and who is at the other end. The peer is found by GID and number; the
 * two are joined as soon as each names the other. Until then receives are kept and sends held.
 *
 * What RTR answers is what users of Macs report: without an IPv4-mapped GID at the source index,
 * EINVAL; a GID that the cable does not lead to, ETIMEDOUT (ml-explore/mlx#3467, PR 4530). A GID of
 * the right Mac but of another of its ports is not refused: the frames leave on one cable while
 * the peer listens on another, and nothing ever arrives (exo-explore/exo PR 2160).
 *
 * In the profile `verbs` the fabric carries messages without asking for receives; messages and
 * receives meet in sched_wr.c, so that their sizes may differ. Such a queue pair of the fabric is
 * its own target, which it gets when the two ends are joined.
 *
 * Numbers are never used twice in a run, so that what is late finds nothing. A reset keeps the
 * number; what of it is still under way stays with a record of its own, which is dead.
 */
#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "sim/base/ids.h"
#include "sim/base/units.h"
#include "sim/core/engine.h"
#include "sim/fabric/fabric.h"
#include "verbs-shim/proto/proto.h"
#include "verbs-shim/sched/sched.h"
#include "verbs-shim/sched/sched_state.h"
#include "verbs-shim/sched/sched_time.h"

struct sched_qp *sched_own_qp(const struct sched *s, uint32_t client, uint32_t qp)
{
    struct sched_qp *own;

    if (qp >= s->qp_count)
        return NULL;
    own = sched_qp_at(s, qp);
    return own->exists && !own->is_dead && own->client == client ? own : NULL;
}

struct sched_qp *sched_named_qp(const struct sched *s, uint32_t client, int64_t qp)
{
    return qp >= 0 && qp < SCHED_QPS ? sched_own_qp(s, client, (uint32_t)qp) : NULL;
}

int sched_query_port(const struct sched *s, uint32_t rank, uint32_t device, int64_t *reply)
{
    const struct proto_agreed *agreed = sched_agreed(s, rank);
    const struct proto_device *port;

    if (device >= agreed->device_count)
        return EINVAL;
    port = &agreed->device[device];
    reply[0] = PROTO_PORT_DOWN;
    if (port->has_rdma && port->cable != ID_NONE &&
        fabric_cable_is_up(sched_net(s), (cable_id){port->cable}))
        reply[0] = PROTO_PORT_ACTIVE;
    return 0;
}

uint32_t sched_add_qp(struct sched *s, uint32_t client, uint32_t device)
{
    uint32_t rank = sched_client_at(s, client)->rank;

    if (s->qp_count == SCHED_QPS || sched_client_at(s, client)->qp_count >= SCHED_CLIENT_QPS)
        return ID_NONE;
    sched_client_at(s, client)->qp_count++;
    *sched_qp_at(s, s->qp_count) = (struct sched_qp){
        .exists = true,
        .client = client,
        .rank = rank,
        .device = device,
        .fabric = ID_NONE,
        .peer = ID_NONE,
        .dest_rank = ID_NONE,
        .early_head = ID_NONE,
        .held_head = ID_NONE,
        .order_head = ID_NONE,
        .srq = ID_NONE,
        .is_direct = sched_agreed(s, rank)->profile == PROTO_VERBS,
        .latency = sched_agreed(s, rank)->receive_after,
        .ps_per_kib = sched_agreed(s, rank)->wire_ps_per_kib,
    };
    sched_init_rdma(sched_qp_at(s, s->qp_count));
    return s->qp_count++;
}

int sched_create_qp(const struct sched_view *view, uint32_t client,
                    const struct proto_qp_request *request, int64_t *reply)
{
    struct sched *s = view->sched;
    uint32_t rank = sched_client_at(s, client)->rank;
    const struct sched_qp *srq = NULL;
    struct sched_qp *qp;
    uint32_t ix;

    if (request->srq != 0) {
        srq = sched_own_qp(s, client, request->srq - 1);
        if (!srq || srq->qp_type != SCHED_QPT_SRQ)
            return EINVAL;
    }
    if (request->device >= sched_agreed(s, rank)->device_count ||
        request->send_cq >= PROTO_CQS_MAX || request->recv_cq >= PROTO_CQS_MAX ||
        request->send_wrs > SCHED_QUEUE_MAX || request->recv_wrs > SCHED_QUEUE_MAX ||
        request->qp_type == SCHED_QPT_SRQ)
        return EINVAL;
    if (s->ports[rank][request->device].qps >= sched_agreed(s, rank)->max_qp)
        return EBUSY;
    ix = sched_add_qp(s, client, request->device);
    if (ix == ID_NONE)
        return ENOMEM;
    s->ports[rank][request->device].qps++;
    qp = sched_qp_at(s, ix);
    qp->qp_type = request->qp_type;
    qp->qp_num = SCHED_QPN_FIRST + SCHED_QPN_STEP * s->ranks[rank].qp_count++;
    qp->send_cq = request->send_cq;
    qp->recv_cq = request->recv_cq;
    qp->send_wrs = request->send_wrs;
    qp->recv_wrs = request->recv_wrs;
    qp->srq = request->srq - 1; /* 0: ID_NONE */
    reply[0] = ix;
    reply[1] = qp->qp_num;
    return 0;
}

static bool has_gid(const struct proto_device *device, const uint8_t *gid)
{
    for (uint32_t g = 0; g < device->gid_count; g++) {
        if (memcmp(device->gid[g], gid, 16) == 0)
            return true;
    }
    return false;
}

bool sched_gid_owner(const struct sched *s, const uint8_t *gid, uint32_t *ret_rank,
                     uint32_t *ret_device)
{
    for (uint32_t rank = 0; rank < s->rank_count; rank++) {
        const struct proto_agreed *agreed = sched_agreed(s, rank);

        for (uint32_t d = 0; d < agreed->device_count; d++) {
            if (!has_gid(&agreed->device[d], gid))
                continue;
            *ret_rank = rank;
            *ret_device = d;
            return true;
        }
    }
    return false;
}

bool sched_find_port(const struct sched *s, const struct proto_connect_request *request,
                     uint32_t *ret_rank, uint32_t *ret_device)
{
    uint32_t place = request->dlid - 1;

    if (request->dlid == 0)
        return sched_gid_owner(s, request->dgid, ret_rank, ret_device);
    *ret_rank = PROTO_PLACE_RANK(place);
    *ret_device = PROTO_PLACE_DEVICE(place);
    return *ret_rank < s->rank_count && *ret_device < sched_agreed(s, *ret_rank)->device_count;
}

// NOLINTNEXTLINE(bugprone-easily-swappable-parameters): two ends that are alike
bool sched_is_loop(const struct sched *s, uint32_t rank, uint32_t device, uint32_t to_rank,
                   uint32_t to_device)
{
    return rank == to_rank && device == to_device && sched_agreed(s, rank)->profile == PROTO_VERBS;
}

/* Where a queue pair of `from` leads that names this GID; errno when nowhere. */
static int resolve(const struct sched *s, const struct sched_qp *from,
                   const struct proto_connect_request *request, uint32_t *ret_rank,
                   uint32_t *ret_device)
{
    const struct proto_device *port = &sched_agreed(s, from->rank)->device[from->device];
    int64_t state[4];

    if (request->is_gid_checked) {
        if (request->sgid_index >= port->gid_count)
            return EINVAL;
        if (request->sgid_index == 0)
            return ETIMEDOUT;
        if (!proto_gid_is_ipv4(port->gid[request->sgid_index]))
            return EINVAL;
    }
    if (!sched_find_port(s, request, ret_rank, ret_device))
        return ETIMEDOUT;
    if (sched_is_loop(s, from->rank, from->device, *ret_rank, *ret_device))
        return 0;
    if (*ret_rank == from->rank || !sched_route_at(s, from->rank, from->device, *ret_rank)->exists)
        return ETIMEDOUT;
    if (sched_query_port(s, from->rank, from->device, state) != 0 || state[0] != PROTO_PORT_ACTIVE)
        return ETIMEDOUT;
    return 0;
}

/* The same with a port that counts its failures, and after some has no other answer. */
static int resolve_unless_wedged(struct sched *s, const struct sched_qp *from,
                                 const struct proto_connect_request *request, uint32_t *ret_rank,
                                 uint32_t *ret_device)
{
    struct sched_port *port = &s->ports[from->rank][from->device];
    bool is_wedged = s->wedge_after > 0 && port->failed_rtrs >= s->wedge_after;
    int error = is_wedged ? port->last_failure : resolve(s, from, request, ret_rank, ret_device);

    if (error) {
        port->failed_rtrs++;
        port->last_failure = error;
    }
    return error;
}

int64_t sched_wake_cable(struct sched *s, const struct sched_qp *qp, int64_t t)
{
    int64_t *near = &s->ports[qp->rank][qp->device].used_at;
    int64_t *far = &s->ports[qp->dest_rank][qp->dest_device].used_at;
    int64_t used_at = time_max(*near, *far);

    if (s->idle_after == 0)
        return t;
    if (t >= time_add(used_at, s->idle_after))
        t = time_add(t, s->idle_wake);
    t = time_max(t, used_at);
    *near = *far = t;
    return t;
}

/* Either end's sends keep both awake: what was seen to help is a message on that very queue pair.
 */
bool sched_goes_stale(struct sched *s, struct sched_qp *qp, int64_t t)
{
    struct sched_qp *peer = qp->peer != ID_NONE ? sched_qp_at(s, qp->peer) : qp;
    int64_t used_at = time_max(qp->used_at, peer->used_at);

    if (s->stale_after == 0 || qp->is_direct)
        return false;
    if (qp->idle == 0 && t >= time_add(used_at, s->stale_after))
        qp->idle = peer->idle = t - used_at;
    qp->used_at = t;
    qp->is_stale_sender = qp->idle > 0;
    return qp->is_stale_sender;
}

/* Joins the two when each names the other; one that names itself is its own peer. */
static void join_peers(const struct sched_view *view, uint32_t ix)
{
    struct sched *s = view->sched;
    struct sched_qp *qp = sched_qp_at(s, ix);

    for (uint32_t i = 0; i < s->qp_count; i++) {
        struct sched_qp *peer = sched_qp_at(s, i);

        if (!peer->exists || peer->is_dead || !sched_has_way(peer) || peer->peer != ID_NONE ||
            peer->rank != qp->dest_rank || peer->qp_num != qp->dest_qp_num ||
            peer->dest_rank != qp->rank || peer->dest_qp_num != qp->qp_num)
            continue;
        qp->peer = i;
        peer->peer = ix;
        if (qp->is_local) {
            sched_send_kept(view, ix);
            sched_send_kept(view, i);
        } else if (qp->is_direct) {
            fabric_set_peer(sched_net(s), (qp_id){qp->fabric}, (qp_id){qp->fabric});
            fabric_set_peer(sched_net(s), (qp_id){peer->fabric}, (qp_id){peer->fabric});
        } else {
            fabric_connect_qp(sched_net(s), (qp_id){qp->fabric}, (qp_id){peer->fabric});
        }
        return;
    }
}

/* Its queue pair of the fabric goes, and what was counted there stays. */
static void release_way(struct sched *s, struct sched_qp *qp)
{
    struct sched_held held = sched_count_held(s, qp);

    if (!fabric_release_qp(sched_net(s), (qp_id){qp->fabric}))
        return;
    qp->past = held;
    qp->fabric = ID_NONE;
}

bool sched_release_ways(struct sched *s, struct sched_qp *qp)
{
    bool is_rest = false;

    if (qp->fabric != ID_NONE)
        release_way(s, qp);
    if (qp->response != ID_NONE && fabric_release_qp(sched_net(s), (qp_id){qp->response}))
        qp->response = ID_NONE;
    for (uint32_t rank = 0; rank < s->rank_count; rank++) {
        if (qp->ways[rank] != 0 && fabric_release_qp(sched_net(s), (qp_id){qp->ways[rank] - 1}))
            qp->ways[rank] = 0;
        is_rest |= qp->ways[rank] != 0;
    }
    return qp->fabric == ID_NONE && qp->response == ID_NONE && !is_rest;
}

/* Takes back the fabric's queue pairs of those that are dead and drained. */
static void reclaim(struct sched *s)
{
    for (uint32_t i = 0; i < s->qp_count; i++) {
        struct sched_qp *qp = sched_qp_at(s, i);

        if (qp->is_dead)
            (void)sched_release_ways(s, qp);
    }
}

uint32_t sched_make_way(struct sched *s, const struct sched_qp *qp, uint32_t rank)
{
    const struct sched_route *route = sched_route_at(s, qp->rank, qp->device, rank);
    /* Direct ones have their receives here. */
    const struct fabric_qp_size size = {.send_wrs = qp->send_wrs,
                                        .recv_wrs = qp->is_direct ? 1 : qp->recv_wrs};
    enum fabric_qp_kind kind = qp->is_direct ? FABRIC_QP_DIRECT : FABRIC_QP_RDMA;
    host_id host = s->ranks[qp->rank].host;
    qp_id made = fabric_create_qp_sized(sched_net(s), kind, host, &route->path, &size);

    if (made.ix == ID_NONE) {
        reclaim(s);
        made = fabric_create_qp_sized(sched_net(s), kind, host, &route->path, &size);
    }
    if (made.ix != ID_NONE && s->sends_early)
        fabric_set_send_completion(sched_net(s), made, FABRIC_SEND_WHEN_QUEUED);
    return made.ix;
}

int sched_connect_qp(const struct sched_view *view, uint32_t client,
                     const struct proto_connect_request *request)
{
    struct sched *s = view->sched;
    struct sched_qp *qp = sched_own_qp(s, client, request->qp);
    uint32_t rank = 0;
    uint32_t device = 0;
    int error;

    if (!qp || sched_has_way(qp) || qp->qp_type == SCHED_QPT_SRQ || sched_is_datagram(qp))
        return EINVAL;
    error = resolve_unless_wedged(s, qp, request, &rank, &device);
    if (error)
        return error;
    qp->is_local = rank == qp->rank;
    if (!qp->is_local) {
        qp->fabric = sched_make_way(s, qp, rank);
        if (qp->fabric == ID_NONE)
            return ENOMEM;
    }
    qp->dest_rank = rank;
    qp->dest_device = device;
    qp->dest_qp_num = request->dest_qp_num;
    s->ports[qp->rank][qp->device].used_at = engine_now(fabric_engine(sched_net(s))).ps;
    qp->used_at = engine_now(fabric_engine(sched_net(s))).ps;
    if (!qp->is_direct)
        sched_post_early(view, request->qp);
    join_peers(view, request->qp);
    return 0;
}

void sched_stop_qp(const struct sched_view *view, uint32_t client, uint32_t ix)
{
    struct sched_qp *qp = sched_own_qp(view->sched, client, ix);

    if (!qp)
        return;
    sched_flush_qp(view, ix, true);
    qp->is_failed = qp->is_direct;
}

int sched_destroy_qp(const struct sched_view *view, uint32_t client, uint32_t ix)
{
    struct sched *s = view->sched;
    struct sched_qp *qp = sched_own_qp(s, client, ix);

    if (!qp)
        return EINVAL;
    sched_flush_qp(view, ix, false);
    qp->is_dead = true;
    if (qp->qp_type != SCHED_QPT_SRQ)
        s->ports[qp->rank][qp->device].qps--;
    (void)sched_release_ways(s, qp);
    return 0;
}

/* What has left, or is just leaving, goes on without the queue pair. */
static void leave_behind(struct sched *s, uint32_t ix)
{
    uint32_t rest = s->qp_count++;

    sched_client_at(s, sched_qp_at(s, ix)->client)->qp_count++;
    *sched_qp_at(s, rest) = *sched_qp_at(s, ix);
    sched_qp_at(s, rest)->is_dead = true;
    sched_qp_at(s, ix)->past = (struct sched_held){0};
    sched_move_wrs(s, ix, rest);
}

int sched_reset_qp(const struct sched_view *view, uint32_t client, uint32_t ix)
{
    struct sched *s = view->sched;
    struct sched_qp *qp = sched_own_qp(s, client, ix);

    if (!qp)
        return EINVAL;
    if (s->qp_count == SCHED_QPS || sched_client_at(s, client)->qp_count >= SCHED_CLIENT_QPS)
        return ENOMEM;
    sched_flush_qp(view, ix, false);
    qp->is_failed = false;
    if (!sched_has_way(qp) && !sched_is_datagram(qp))
        return 0;
    /* The other end names nobody now; it can be met again without a reset of its own. */
    if (qp->peer != ID_NONE)
        sched_qp_at(s, qp->peer)->peer = ID_NONE;
    if (!sched_release_ways(s, qp) || qp->is_local)
        leave_behind(s, ix);
    qp->is_local = false;
    qp->idle = 0;
    sched_init_rdma(qp);
    qp->fabric = ID_NONE;
    memset(qp->ways, 0, sizeof qp->ways);
    qp->order_head = ID_NONE;
    qp->peer = ID_NONE;
    qp->dest_rank = ID_NONE;
    qp->sends_open = 0;
    return 0;
}

int sched_limited(struct sched *s, uint32_t client, const struct proto_limited_request *request)
{
    uint32_t rank = sched_client_at(s, client)->rank;
    const struct proto_agreed *agreed = sched_agreed(s, rank);
    const uint32_t most[PROTO_LIMITED_COUNT] = {[PROTO_LIMITED_MR] = agreed->max_mr,
                                                [PROTO_LIMITED_CQ] = agreed->max_cq,
                                                [PROTO_LIMITED_PD] = agreed->max_pd};
    uint32_t *used;
    uint32_t *own;

    if (request->device >= agreed->device_count || request->what >= PROTO_LIMITED_COUNT)
        return EINVAL;
    used = &s->ports[rank][request->device].used[request->what];
    own = &sched_client_at(s, client)->used[request->device][request->what];
    if (request->is_back) {
        if (*own == 0)
            return EINVAL;
        --*own;
        --*used;
        return 0;
    }
    if (*used >= most[request->what])
        return ENOMEM;
    ++*own;
    ++*used;
    return 0;
}

void sched_give_back(struct sched *s, uint32_t client_ix)
{
    struct sched_client *client = sched_client_at(s, client_ix);

    for (uint32_t d = 0; d < PROTO_DEVICES_MAX; d++) {
        for (uint32_t what = 0; what < PROTO_LIMITED_COUNT; what++) {
            s->ports[client->rank][d].used[what] -= client->used[d][what];
            client->used[d][what] = 0;
        }
    }
}
