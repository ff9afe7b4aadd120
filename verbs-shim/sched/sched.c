/* SPDX-License-Identifier: Apache-2.0 */
/*
 * DOC: Turns
 *
 * Everybody's next act has an instant. The scheduler looks for the earliest: a parked actor that
 * may act at its time, an idle one whose completion is near, a waiter whose deadline comes, one
 * that waits for the outside and has reason to look. Before that actor gets its turn, everything
 * that is earlier has to happen: commands of others, events of the fabric. So the loop of
 * sched_next executes whatever comes first, one thing at a time, until what comes first is an
 * actor's turn.
 *
 * A running actor counts with the time that it shows in its channel: it may still act then.
 * An idle actor without a completion in sight, and one that waits without a deadline, hold nobody
 * back: only what others do can make them act.
 *
 * Nobody left who could act, and nothing under way: idle actors are asked to poll on until they
 * have made PROTO_QUIET empty polls in a row (a program may do something else after some of them),
 * and if that changes nothing, that is a deadlock. Actors whose polls are not folded say after so
 * many that they are quiet, and are waited for as long as anything else may happen.
 *
 * The verdict's instant does not depend on folding (sched_conclude): it comes PROTO_QUIET polls
 * after the last thing that happened, and until then everybody who polls has polled.
 */
#include "verbs-shim/sched/sched.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "sim/base/ids.h"
#include "sim/base/units.h"
#include "sim/core/engine.h"
#include "sim/core/evq.h"
#include "sim/fabric/cluster.h"
#include "sim/fabric/fabric.h"
#include "verbs-shim/proto/check.h"
#include "verbs-shim/proto/proto.h"
#include "verbs-shim/proto/ring.h"
#include "verbs-shim/sched/sched_state.h"
#include "verbs-shim/sched/sched_time.h"

static size_t take(size_t *at, size_t bytes)
{
    size_t start = *at;

    *at = (start + bytes + 63) & ~(size_t)63;
    return start;
}

static struct fabric_config fabric_part(const struct sched_config *config)
{
    return (struct fabric_config){
        .cluster = config->cluster,
        .params = config->params,
        .evq = EVQ_CALENDAR,
        .seed = config->seed,
        .has_jitter = config->has_jitter,
        .unmatched = config->unmatched,
        .qp_capacity = SCHED_FABRIC_QPS,
        .early_qps = config->sends_complete_early ? SCHED_FABRIC_QPS : 0,
        .wr_capacity = 1,
        .user_events = SCHED_DATAGRAMS,
        .ring_entries = SCHED_WRS,
        .fault_capacity = config->fault_capacity,
        .foresee = true,
        .mem_is_zero = true,
    };
}

static struct sched lay_out(const struct sched_config *config)
{
    struct sched s = {
        .rank_count = config->rank_count,
        .client_count = config->rank_count * PROTO_RANK_CLIENTS,
        .max_running = config->max_running,
        .lease_cap = config->lease_cap.ps,
        .sends_early = config->sends_complete_early,
        .drops = config->unmatched == FABRIC_DROP,
        .fails = config->fails_unmatched,
        .wedge_after = config->wedge_after,
        .idle_after = config->idle_after.ps,
        .idle_wake = config->idle_wake.ps,
        .stale_after = config->stale_after.ps,
    };
    const struct fabric_config net = fabric_part(config);
    size_t at = 0;
    size_t actors = (size_t)s.client_count * PROTO_CLIENT_ACTORS;

    (void)take(&at, sizeof s);
    s.agreed_at = take(&at, s.rank_count * sizeof(struct proto_agreed));
    s.routes_at = take(&at, (size_t)PROTO_RANKS_MAX * PROTO_DEVICES_MAX * PROTO_RANKS_MAX *
                                sizeof(struct sched_route));
    s.actors_at = take(&at, actors * sizeof(struct sched_actor));
    s.polled_at = take(&at, actors * (PROTO_POLLED_MAX + 1) * sizeof(uint16_t));
    s.live_at = take(&at, actors * sizeof(uint32_t));
    s.clients_at = take(&at, s.client_count * sizeof(struct sched_client));
    s.qps_at = take(&at, SCHED_QPS * sizeof(struct sched_qp));
    s.wrs_at = take(&at, SCHED_WRS * sizeof(struct sched_wr));
    s.lates_at = take(&at, SCHED_LATE * sizeof(struct sched_late));
    s.fabric_at = take(&at, fabric_mem_size(&net));
    s.size = at;
    return s;
}

size_t sched_mem_size(const struct sched_config *config)
{
    return lay_out(config).size;
}

/* The ways from a rank's devices to another rank's host, directly or through a hub; of several by
 * one cable the first. */
static void init_routes_between(struct sched *s, const struct cluster *cluster, uint32_t from,
                                uint32_t to)
{
    struct cluster_path paths[PROTO_DEVICES_MAX * PROTO_DEVICES_MAX];
    const size_t max = sizeof paths / sizeof paths[0];
    size_t count = cluster_find_paths(cluster, s->ranks[from].host, s->ranks[to].host, paths, max);

    for (uint32_t d = 0; d < sched_agreed(s, from)->device_count; d++) {
        uint32_t cable = sched_agreed(s, from)->device[d].cable;

        for (size_t i = count < max ? count : max; i-- > 0;) {
            if (paths[i].cables[0].ix == cable)
                *sched_route_at(s, from, d, to) =
                    (struct sched_route){.path = paths[i], .exists = true};
        }
    }
}

static void init_routes(struct sched *s, const struct cluster *cluster)
{
    for (uint32_t from = 0; from < s->rank_count; from++) {
        for (uint32_t to = 0; to < s->rank_count; to++) {
            if (from != to)
                init_routes_between(s, cluster, from, to);
        }
    }
}

struct sched *sched_init(void *mem, const struct sched_config *config)
{
    struct sched *s = mem;
    const struct fabric_config net = fabric_part(config);

    *s = lay_out(config);
    s->culprit = ID_NONE;
    for (uint32_t rank = 0; rank < s->rank_count; rank++) {
        struct proto_agreed *agreed = sched_part(s, s->agreed_at);

        agreed[rank] = config->agreed[rank];
        s->ranks[rank].host = config->hosts[rank];
    }
    for (uint32_t i = 0; i < s->client_count; i++) {
        sched_client_at(s, i)->rank = i / PROTO_RANK_CLIENTS;
        sched_client_at(s, i)->late_head = ID_NONE;
        sched_client_at(s, i)->apply_head = ID_NONE;
    }
    sched_init_wrs(s);
    (void)fabric_init(sched_net(s), &net);
    init_routes(s, config->cluster);
    s->has_launcher = config->agreed[0].has_launcher;
    return s;
}

struct fabric *sched_fabric(struct sched *s)
{
    return sched_net(s);
}

static int64_t fabric_time(const struct sched *s)
{
    return engine_now(fabric_engine(sched_net(s))).ps;
}

static void list_actor(struct sched *s, uint32_t actor)
{
    uint32_t *live = sched_live(s);
    uint32_t at = s->live_count++;

    while (at > 0 && live[at - 1] > actor) {
        live[at] = live[at - 1];
        at--;
    }
    live[at] = actor;
}

static void unlist_actor(struct sched *s, uint32_t actor)
{
    uint32_t *live = sched_live(s);

    for (uint32_t i = 0; i < s->live_count; i++) {
        if (live[i] != actor)
            continue;
        s->live_count--;
        memmove(&live[i], &live[i + 1], (s->live_count - i) * sizeof live[0]);
        return;
    }
}

/* A slot for a thread of the client that is ready at `vt`; PROTO_ACTORS_MAX when all are taken. */
static uint32_t add_actor(struct sched *s, uint32_t client_ix, int64_t vt)
{
    struct sched_client *client = sched_client_at(s, client_ix);
    uint32_t base = client_ix * PROTO_CLIENT_ACTORS;
    uint32_t k = 0;

    while (k < client->actor_count && sched_actor_at(s, base + k)->state != SCHED_ACTOR_NONE)
        k++;
    if (k == PROTO_CLIENT_ACTORS)
        return PROTO_ACTORS_MAX;
    if (k == client->actor_count)
        client->actor_count++;
    *sched_actor_at(s, base + k) = (struct sched_actor){
        .state = SCHED_ACTOR_READY,
        .resume = PROTO_RESUME_TURN,
        .vt = vt,
        .first = PROTO_NEVER,
        .deadline = PROTO_NEVER,
        .retry = PROTO_NEVER,
    };
    list_actor(s, base + k);
    return base + k;
}

void sched_join(const struct sched_view *view, uint32_t client_ix)
{
    struct sched *s = view->sched;
    struct sched_client *client = sched_client_at(s, client_ix);
    struct sched_rank *rank = &s->ranks[client->rank];
    int64_t vt = 0;

    /* A rank's next process begins where its last one ended, and nobody in the past. */
    if (s->is_started)
        vt = time_max(fabric_time(s), rank->last_vt);
    client->is_alive = true;
    client->min_wire = PROTO_NEVER;
    rank->has_joined = true;
    if (client_ix % PROTO_RANK_CLIENTS >= rank->last_client)
        rank->last_client = client_ix % PROTO_RANK_CLIENTS + 1;
    (void)add_actor(s, client_ix, vt);
}

void sched_rank_is_absent(struct sched *s, uint32_t rank)
{
    s->ranks[rank].has_joined = true;
}

static void remove_actor(struct sched *s, uint32_t actor_ix)
{
    struct sched_actor *actor = sched_actor_at(s, actor_ix);
    struct sched_rank *rank = &s->ranks[sched_client_at(s, actor_ix / PROTO_CLIENT_ACTORS)->rank];

    if (actor->state == SCHED_ACTOR_NONE)
        return;
    if (actor->state == SCHED_ACTOR_RUNNING)
        s->running--;
    rank->last_vt = time_max(rank->last_vt, actor->vt);
    actor->state = SCHED_ACTOR_NONE;
    unlist_actor(s, actor_ix);
}

/* Books how far the actors have come that end in the middle of a turn. When the process ended: as
 * far as one of these, if there is any; else nobody knows. */
static int64_t end_running(const struct sched_view *view, uint32_t client_ix)
{
    struct sched *s = view->sched;
    int64_t end = PROTO_NEVER;

    for (uint32_t k = 0; k < sched_client_at(s, client_ix)->actor_count; k++) {
        struct sched_actor *actor = sched_actor_at(s, client_ix * PROTO_CLIENT_ACTORS + k);
        int64_t vt =
            atomic_load_explicit(&view->segments[client_ix]->chan[k].vt, memory_order_acquire);

        if (actor->state != SCHED_ACTOR_RUNNING)
            continue;
        if (vt >= 0 && vt <= PROTO_TIME_MAX)
            actor->vt = time_max(actor->vt, vt);
        end = end == PROTO_NEVER ? actor->vt : time_max(end, actor->vt);
    }
    return end == PROTO_NEVER ? fabric_time(s) : end;
}

void sched_log_outside(struct sched *s, int64_t t)
{
    s->outside[s->outside_count++ % SCHED_OUTSIDE_LOG] = t;
}

void sched_client_died(const struct sched_view *view, uint32_t client_ix)
{
    struct sched *s = view->sched;
    struct sched_client *client = sched_client_at(s, client_ix);

    if (!client->is_alive)
        return;
    client->is_alive = false; /* and is told nothing any more */
    /* Its sockets are closed, its locks given back. */
    sched_log_outside(s, end_running(view, client_ix));
    if (s->culprit == client_ix)
        s->culprit = ID_NONE;
    for (uint32_t k = 0; k < client->actor_count; k++)
        remove_actor(s, client_ix * PROTO_CLIENT_ACTORS + k);
    for (uint32_t i = 0; i < s->qp_count; i++) {
        if (sched_own_qp(s, client_ix, i))
            (void)sched_destroy_qp(view, client_ix, i);
    }
    sched_give_back(s, client_ix);
    sched_forget_client(view, client_ix);
}

/* The queues in which a completion lets the actor go on. */
static void watch_queues(struct sched *s, struct sched_actor *actor, uint32_t actor_ix,
                         const struct proto_parked *parked)
{
    uint16_t *polled = sched_polled_at(s, actor_ix);
    uint32_t count = parked->polled_count;

    actor->first = count > 0 || parked->new_cqs < PROTO_CQS_MAX ? parked->first : PROTO_NEVER;
    actor->new_cqs = parked->new_cqs;
    polled[0] = (uint16_t)count;
    memcpy(polled + 1, parked->polled, count * sizeof polled[0]);
}

/* Are there events that the client has not taken? */
static bool has_untaken(const struct sched_view *view, uint32_t client)
{
    return sched_client_at(view->sched, client)->late_head != ID_NONE ||
           ring_readable(&view->segments[client]->event_ring, PROTO_EVENTS) != 0;
}

static void park_idle(const struct sched_view *view, struct sched_actor *actor, uint32_t actor_ix,
                      const struct proto_parked *parked)
{
    struct sched *s = view->sched;

    actor->state = SCHED_ACTOR_IDLE;
    actor->grid = parked->grid;
    actor->since = parked->since;
    actor->polls = parked->polls;
    watch_queues(s, actor, actor_ix, parked);
    /* What was told while the actor still ran is not in what it says: it has to look once more. */
    if (has_untaken(view, actor_ix / PROTO_CLIENT_ACTORS)) {
        actor->state = SCHED_ACTOR_READY;
        actor->resume = PROTO_RESUME_LOOK;
    }
}

static void park_quiet(const struct sched_view *view, struct sched_actor *actor, uint32_t actor_ix,
                       const struct proto_parked *parked)
{
    actor->state = SCHED_ACTOR_READY;
    actor->resume = PROTO_RESUME_TURN;
    actor->since = parked->since;
    actor->polls = parked->polls;
    watch_queues(view->sched, actor, actor_ix, parked);
    actor->is_quiet = !has_untaken(view, actor_ix / PROTO_CLIENT_ACTORS);
}

/* Has it done nothing but poll since it was quiet, and is there still nothing for it to see? */
static bool stays_quiet(const struct sched_view *view, const struct sched_actor *actor,
                        uint32_t actor_ix, const struct proto_parked *parked)
{
    return actor->is_quiet && parked->park == PROTO_PARK_TURN && parked->acts == actor->acts &&
           actor->first == PROTO_NEVER && !has_untaken(view, actor_ix / PROTO_CLIENT_ACTORS);
}

/* One that reads memory looks again. */
static void let_look(struct sched_actor *actor, int64_t vt)
{
    actor->state = SCHED_ACTOR_READY;
    actor->resume = PROTO_RESUME_TURN;
    actor->vt = time_max(actor->vt, vt);
}

/* A thread of the client has acted: what others of it read over and over may have changed. */
static void wake_spinners(struct sched *s, uint32_t client_ix, int64_t vt)
{
    uint32_t count = sched_client_at(s, client_ix)->actor_count;

    for (uint32_t k = 0; k < count; k++) {
        struct sched_actor *actor = sched_actor_at(s, client_ix * PROTO_CLIENT_ACTORS + k);

        if (actor->state == SCHED_ACTOR_SPIN)
            let_look(actor, vt);
    }
}

/* It has applied what was due, and is what it was before. */
static void park_again(struct sched *s, struct sched_actor *actor, uint32_t actor_ix)
{
    bool is_idle = actor->saved == SCHED_ACTOR_IDLE;
    bool watches =
        is_idle || (actor->saved == SCHED_ACTOR_EXTERNAL && actor->new_cqs < PROTO_CQS_MAX);

    s->running--;
    actor->is_applying = false;
    actor->state = SCHED_ACTOR_NONE; /* it sees by itself what it has changed */
    wake_spinners(s, actor_ix / PROTO_CLIENT_ACTORS, actor->applies_at);
    actor->state = actor->saved;
    /* What was told meanwhile has woken nobody. */
    if (watches && actor->told != sched_client_at(s, actor_ix / PROTO_CLIENT_ACTORS)->news) {
        actor->state = SCHED_ACTOR_READY;
        actor->resume = is_idle ? PROTO_RESUME_LOOK : PROTO_RESUME_RETRY;
    }
}

static void park_external(const struct sched_view *view, struct sched_actor *actor,
                          uint32_t actor_ix, const struct proto_parked *parked)
{
    struct sched *s = view->sched;

    actor->state = SCHED_ACTOR_EXTERNAL;
    actor->deadline = parked->deadline;
    watch_queues(s, actor, actor_ix, parked);
    /* What was told while the actor still ran is not in what it says, as in park_idle. */
    if (parked->new_cqs < PROTO_CQS_MAX && has_untaken(view, actor_ix / PROTO_CLIENT_ACTORS)) {
        actor->state = SCHED_ACTOR_READY;
        actor->resume = PROTO_RESUME_RETRY;
    }
    /* What has been executed had really been done before, so the actor has seen it. */
    actor->outside_seen = s->outside_count;
}

static void park_exit(const struct sched_view *view, struct sched_actor *actor, uint32_t actor_ix,
                      const struct proto_parked *parked)
{
    struct sched *s = view->sched;

    actor->state = SCHED_ACTOR_RUNNING; /* remove_actor counts it down */
    s->running++;
    if (parked->ends_process)
        sched_client_died(view, actor_ix / PROTO_CLIENT_ACTORS);
    else
        remove_actor(s, actor_ix);
}

static void book_park(const struct sched_view *view, struct sched_actor *actor, uint32_t actor_ix,
                      const struct proto_parked *parked)
{
    bool has_acted = parked->park != PROTO_PARK_SPIN || !parked->is_again;

    view->sched->running--;
    actor->is_applying = false;
    if (has_acted)
        wake_spinners(view->sched, actor_ix / PROTO_CLIENT_ACTORS, parked->vt);
    actor->vt = parked->vt;
    actor->park = (uint8_t)parked->park;
    actor->is_asleep = parked->is_asleep;
    actor->is_quiet = stays_quiet(view, actor, actor_ix, parked);
    actor->acts = parked->acts;
    actor->deadline = PROTO_NEVER;
    actor->retry = PROTO_NEVER;
    switch (parked->park) {
    case PROTO_PARK_IDLE:
        park_idle(view, actor, actor_ix, parked);
        break;
    case PROTO_PARK_WAIT:
        actor->state = SCHED_ACTOR_WAIT;
        actor->key = parked->key;
        actor->deadline = parked->deadline;
        break;
    case PROTO_PARK_QUIET:
        park_quiet(view, actor, actor_ix, parked);
        break;
    case PROTO_PARK_EXTERNAL:
        park_external(view, actor, actor_ix, parked);
        break;
    case PROTO_PARK_EXIT:
        park_exit(view, actor, actor_ix, parked);
        break;
    case PROTO_PARK_CALL:
        actor->state = SCHED_ACTOR_READY;
        actor->resume = PROTO_RESUME_ANSWER;
        actor->call = (uint8_t)parked->call;
        break;
    case PROTO_PARK_SPIN:
        actor->state = SCHED_ACTOR_SPIN;
        actor->deadline = parked->deadline;
        actor->has_loose = parked->has_loose;
        break;
    case PROTO_PARK_TURN:
    case PROTO_PARK_SAME:
    case PROTO_PARK_COUNT:
        actor->state = SCHED_ACTOR_READY;
        actor->resume = PROTO_RESUME_TURN;
        break;
    }
}

bool sched_park(const struct sched_view *view, uint32_t actor_ix)
{
    struct sched *s = view->sched;
    uint32_t client_ix = actor_ix / PROTO_CLIENT_ACTORS;
    const struct proto_chan *chan;
    struct sched_actor *actor;
    struct proto_parked parked;
    int64_t t;
    uint32_t who;

    if (client_ix >= s->client_count || !sched_client_at(s, client_ix)->is_alive)
        return false;
    actor = sched_actor_at(s, actor_ix);
    /* Who has damaged the one has perhaps damaged the other, in a way that does not show. */
    if (proto_peek_command(view->segments[client_ix], client_ix,
                           sched_client_at(s, client_ix)->taken, &t, &who) == PROTO_READ_DAMAGED) {
        sched_blame(s, client_ix, SCHED_DAMAGED_RING);
        return false;
    }
    chan = &view->segments[client_ix]->chan[actor_ix % PROTO_CLIENT_ACTORS];
    /* Whoever still has its turn in its hand has not parked. */
    if (actor->state != SCHED_ACTOR_RUNNING ||
        atomic_load_explicit(&chan->turn, memory_order_acquire) != 0 ||
        !proto_read_park(chan, actor->vt, &parked)) {
        sched_blame(s, client_ix, SCHED_DAMAGED_CHANNEL);
        return false;
    }
    if (parked.park == PROTO_PARK_SAME) {
        if (!actor->is_applying) {
            sched_blame(s, client_ix, SCHED_DAMAGED_CHANNEL);
            return false;
        }
        park_again(s, actor, actor_ix);
    } else {
        book_park(view, actor, actor_ix, &parked);
    }
    return true;
}

/* When one that waits for the outside has reason to try again. */
static void set_retry(struct sched *s, struct sched_actor *actor, int64_t side_latency)
{
    while (actor->retry == PROTO_NEVER && actor->outside_seen != s->outside_count) {
        uint32_t behind = s->outside_count - actor->outside_seen;

        if (behind > SCHED_OUTSIDE_LOG)
            actor->outside_seen = s->outside_count - SCHED_OUTSIDE_LOG;
        actor->retry =
            time_max(actor->vt,
                     time_add(s->outside[actor->outside_seen++ % SCHED_OUTSIDE_LOG], side_latency));
    }
}

/* The earliest instant at which the actor may go on; never: only others can bring it about. */
static int64_t own_time(const struct sched_view *view, uint32_t actor_ix)
{
    struct sched *s = view->sched;
    struct sched_actor *actor = sched_actor_at(s, actor_ix);
    uint32_t client = actor_ix / PROTO_CLIENT_ACTORS;

    switch ((enum sched_actor_state)actor->state) {
    case SCHED_ACTOR_READY:
        return actor->vt;
    case SCHED_ACTOR_RUNNING:
        return time_max(
            actor->is_applying ? actor->applies_at : actor->vt,
            atomic_load_explicit(&view->segments[client]->chan[actor_ix % PROTO_CLIENT_ACTORS].vt,
                                 memory_order_acquire));
    case SCHED_ACTOR_IDLE:
        return actor->first == PROTO_NEVER ? PROTO_NEVER
                                           : time_fold(actor->vt, actor->first, actor->grid);
    case SCHED_ACTOR_WAIT:
    case SCHED_ACTOR_SPIN:
        return actor->deadline == PROTO_NEVER ? PROTO_NEVER : time_max(actor->vt, actor->deadline);
    case SCHED_ACTOR_EXTERNAL:
        set_retry(s, actor, sched_agreed(s, sched_client_at(s, client)->rank)->side_latency);
        return time_min(actor->retry, time_max(actor->vt, time_min(actor->deadline, actor->first)));
    case SCHED_ACTOR_NONE:
        break;
    }
    return PROTO_NEVER;
}

/* The earliest instant at which the actor may act, be it to apply what a peer asked for: one that
 * runs does that by itself, and one that polls goes on before. */
static int64_t act_time(const struct sched_view *view, uint32_t actor_ix)
{
    const struct sched *s = view->sched;
    int64_t own = own_time(view, actor_ix);

    if (sched_actor_at(s, actor_ix)->state == SCHED_ACTOR_RUNNING)
        return own;
    return time_min(own, sched_apply_at(s, actor_ix / PROTO_CLIENT_ACTORS));
}

/* What may happen next, of each kind. */
struct next {
    uint32_t actor; /* parked; ID_NONE */
    int64_t actor_t;
    uint32_t bound; /* actor that may act first, running ones too; ID_NONE */
    int64_t bound_t;
    uint32_t client; /* whose command is first; ID_NONE */
    int64_t command_t;
    uint32_t command_actor;
    int64_t event_t;
};

/* Reads the times of the actors first, the rings after: a command that is published while we look
 * carries a time that is not below the one we read (release before release, acquire before
 * acquire). */
static void look_at_actors(const struct sched_view *view, struct next *next)
{
    struct sched *s = view->sched;
    const uint32_t *live = sched_live(s);

    *next = (struct next){.actor = ID_NONE,
                          .actor_t = PROTO_NEVER,
                          .bound = ID_NONE,
                          .bound_t = PROTO_NEVER,
                          .client = ID_NONE,
                          .command_t = PROTO_NEVER,
                          .command_actor = ID_NONE};
    for (uint32_t i = 0; i < s->live_count; i++) {
        int64_t t = act_time(view, live[i]);

        if (t < next->bound_t) {
            next->bound_t = t;
            next->bound = live[i];
        }
        if (t < next->actor_t && sched_actor_at(s, live[i])->state != SCHED_ACTOR_RUNNING) {
            next->actor_t = t;
            next->actor = live[i];
        }
    }
}

static void look_at_ring(const struct sched_view *view, uint32_t client, struct next *next)
{
    struct sched *s = view->sched;
    enum proto_read got;
    int64_t t;
    uint32_t actor;

    if (!sched_client_at(s, client)->is_alive)
        return;
    got = proto_peek_command(view->segments[client], client, sched_client_at(s, client)->taken, &t,
                             &actor);
    if (got == PROTO_READ_DAMAGED)
        sched_blame(s, client, SCHED_DAMAGED_RING);
    if (got == PROTO_READ_ONE && time_is_before(t, actor, next->command_t, next->command_actor)) {
        next->command_t = t;
        next->command_actor = actor;
        next->client = client;
    }
}

static void look_at_rings(const struct sched_view *view, struct next *next)
{
    const struct sched *s = view->sched;

    for (uint32_t rank = 0; rank < s->rank_count; rank++) {
        uint32_t base = rank * PROTO_RANK_CLIENTS;

        for (uint32_t c = base; c < base + s->ranks[rank].last_client; c++)
            look_at_ring(view, c, next);
    }
}

/* Executes the command that comes next, if it is still what it was. */
static void run_command(const struct sched_view *view, const struct next *next)
{
    struct sched *s = view->sched;
    struct sched_client *client = sched_client_at(s, next->client);
    struct proto_command command;

    if (proto_take_command(view->segments[next->client], next->client, &client->taken, &command) !=
            PROTO_READ_ONE ||
        command.t != next->command_t || command.actor != next->command_actor) {
        sched_blame(s, next->client, SCHED_DAMAGED_RING);
        return;
    }
    client->burst = client->step == s->step ? client->burst + 1 : 0;
    client->step = s->step;
    if (client->burst > SCHED_BURST)
        sched_blame(s, next->client, SCHED_TOO_MUCH);
    else
        sched_execute(view, &command, next->client);
}

/*
 * Until when the actor may act.
 *
 * Others of its process: not past their next act, so that threads that share memory act in order
 * of time. Everybody else: nothing that they do is seen before the look-ahead has passed.
 */
static int64_t find_lease(const struct sched_view *view, uint32_t actor_ix, const struct next *next)
{
    struct sched *s = view->sched;
    const uint32_t *live = sched_live(s);
    uint32_t client_ix = actor_ix / PROTO_CLIENT_ACTORS;
    const struct sched_client *client = sched_client_at(s, client_ix);
    struct time_outlook outlook = {
        .receive_after = sched_agreed(s, client->rank)->receive_after,
        .open_sends = client->open_sends,
        .min_wire = client->min_wire,
        .is_blind = s->drops || client->open_blind > 0 ||
                    ring_readable(&view->segments[client_ix]->command_ring, PROTO_COMMANDS) != 0,
    };
    int64_t base = time_min(next->event_t, next->command_t);
    int64_t siblings = PROTO_NEVER;
    int64_t lease;

    for (uint32_t i = 0; i < s->live_count; i++) {
        int64_t t;

        if (live[i] == actor_ix)
            continue;
        if (live[i] / PROTO_CLIENT_ACTORS != client_ix) {
            base = time_min(base, act_time(view, live[i]));
            continue;
        }
        /* Who reads memory over and over sees every act of a sibling at once. */
        if (sched_actor_at(s, live[i])->state == SCHED_ACTOR_SPIN)
            siblings = time_min(siblings, next->actor_t);
        t = own_time(view, live[i]);
        if (t != PROTO_NEVER)
            siblings = time_min(siblings, t + (actor_ix < live[i]));
    }
    lease = time_min(time_add(base, time_lookahead(&outlook)), siblings);
    if (s->lease_cap > 0)
        lease = time_min(lease, time_add(next->actor_t, s->lease_cap));
    return lease;
}

/* The call acts at the actor's time: what it sets free leaves the fabric then, and not when
 * something last happened there. */
static void answer(const struct sched_view *view, uint32_t actor_ix, struct proto_chan *chan)
{
    struct sched *s = view->sched;
    uint32_t client = actor_ix / PROTO_CLIENT_ACTORS;
    union proto_call_args args;
    int64_t reply[4] = {0};
    int status = 0;

    proto_read_args(chan, &args);
    (void)sched_reach(s, sched_actor_at(s, actor_ix)->vt);
    switch ((enum proto_call)sched_actor_at(s, actor_ix)->call) {
    case PROTO_CALL_QUERY_PORT:
        status = sched_query_port(s, sched_client_at(s, client)->rank, args.device, reply);
        break;
    case PROTO_CALL_CREATE_QP:
        status = sched_create_qp(view, client, &args.create, reply);
        break;
    case PROTO_CALL_CONNECT_QP:
        status = sched_connect_qp(view, client, &args.connect);
        break;
    case PROTO_CALL_DESTROY_QP:
        status = sched_destroy_qp(view, client, args.qp);
        break;
    case PROTO_CALL_FLUSH_QP:
        sched_stop_qp(view, client, args.qp);
        break;
    case PROTO_CALL_NEW_ACTOR:
        reply[0] = add_actor(s, client, sched_actor_at(s, actor_ix)->vt);
        break;
    case PROTO_CALL_DROP_ACTOR:
        if (args.raw[0] >= 0 && args.raw[0] / PROTO_CLIENT_ACTORS == client &&
            args.raw[0] != actor_ix)
            remove_actor(s, (uint32_t)args.raw[0]);
        break;
    case PROTO_CALL_RESET_QP:
        status = sched_reset_qp(view, client, args.qp);
        break;
    case PROTO_CALL_LIMITED:
        status = sched_limited(s, client, &args.limited);
        break;
    case PROTO_CALL_FIND_GID:
        status = sched_find_gid(s, client, &args.connect, reply);
        break;
    case PROTO_CALL_OPEN_UD:
        status = sched_open_ud(view, client, args.raw);
        break;
    case PROTO_CALL_CREATE_SRQ:
        status = sched_create_srq(view, client, args.device, reply);
        break;
    case PROTO_CALL_LIMIT_SRQ:
        status = sched_limit_srq(view, client, args.raw, reply);
        break;
    case PROTO_CALL_ORDER:
    case PROTO_CALL_COUNT:
        break;
    }
    chan->reply_status = status;
    memcpy(chan->reply, reply, sizeof reply);
    sched_run_fabric(view, engine_now(fabric_engine(sched_net(s))).ps);
}

static enum proto_resume why(const struct sched_actor *actor)
{
    if (actor->state == SCHED_ACTOR_IDLE)
        return PROTO_RESUME_POLL;
    if (actor->state == SCHED_ACTOR_EXTERNAL && actor->retry <= actor->deadline &&
        actor->retry <= actor->first)
        return PROTO_RESUME_RETRY;
    return actor->state == SCHED_ACTOR_READY ? (enum proto_resume)actor->resume
                                             : PROTO_RESUME_TIMEOUT;
}

/* A turn to apply what is due, after which the actor parks again as it was. */
static void grant_apply(const struct sched_view *view, struct next *next)
{
    struct sched *s = view->sched;
    uint32_t client = next->actor / PROTO_CLIENT_ACTORS;
    struct sched_actor *actor = sched_actor_at(s, next->actor);
    struct proto_chan *chan = &view->segments[client]->chan[next->actor % PROTO_CLIENT_ACTORS];
    int64_t own = own_time(view, next->actor);
    int64_t lease =
        sched_refill(view, client) ? find_lease(view, next->actor, next) : next->actor_t;

    chan->resume = PROTO_RESUME_APPLY;
    chan->resume_vt = next->actor_t;
    chan->lease = time_min(lease, own);
    atomic_store_explicit(&chan->vt, next->actor_t, memory_order_relaxed);
    actor->saved = actor->state;
    actor->state = SCHED_ACTOR_RUNNING;
    actor->is_applying = true;
    actor->applies_at = next->actor_t;
    actor->told = sched_client_at(s, client)->news;
    s->running++;
}

/* The first parked actor gets its turn. */
static void grant(const struct sched_view *view, struct next *next)
{
    struct sched *s = view->sched;
    uint32_t client = next->actor / PROTO_CLIENT_ACTORS;
    struct sched_actor *actor = sched_actor_at(s, next->actor);
    struct proto_chan *chan = &view->segments[client]->chan[next->actor % PROTO_CLIENT_ACTORS];
    enum proto_resume resume = why(actor);

    if (sched_apply_at(s, client) <= next->actor_t) {
        grant_apply(view, next);
        return;
    }
    chan->resume = resume;
    if (resume == PROTO_RESUME_ANSWER) {
        answer(view, next->actor, chan);
        next->event_t = engine_next_time(fabric_engine(sched_net(s))).ps;
    }
    actor->state = SCHED_ACTOR_RUNNING;
    /* A retry that finds nothing leaves the actor's time alone: only its channel hears of this. */
    if (resume != PROTO_RESUME_RETRY)
        actor->vt = next->actor_t;
    chan->resume_vt = next->actor_t;
    chan->lease = sched_refill(view, client) ? find_lease(view, next->actor, next) : next->actor_t;
    atomic_store_explicit(&chan->vt, actor->vt, memory_order_relaxed);
    s->running++;
}

static bool polls_on(const struct sched_actor *actor)
{
    return actor->state == SCHED_ACTOR_IDLE || actor->is_quiet;
}

/* Nothing is under way. Somebody who polls may still do something else after a few rounds. */
static bool ask_to_confirm(const struct sched_view *view, uint32_t *granted)
{
    struct sched *s = view->sched;
    const uint32_t *live = sched_live(s);
    struct sched_actor *best = NULL;
    struct next next = {.client = ID_NONE,
                        .command_t = PROTO_NEVER,
                        .command_actor = ID_NONE,
                        .event_t = PROTO_NEVER};

    for (uint32_t i = 0; i < s->live_count; i++) {
        struct sched_actor *actor = sched_actor_at(s, live[i]);

        if (actor->state == SCHED_ACTOR_IDLE && actor->polls < PROTO_QUIET &&
            (!best || actor->polls < best->polls)) {
            best = actor;
            next.actor = live[i];
        }
    }
    if (!best)
        return false;
    next.actor_t = best->vt;
    *granted = next.actor;
    grant(view, &next);
    return true;
}

/* May what nobody here knows of let it go on? */
static bool waits_outside(const struct sched_actor *actor)
{
    return actor->state == SCHED_ACTOR_EXTERNAL ||
           (actor->state == SCHED_ACTOR_SPIN && actor->has_loose);
}

/* Does everybody either wait for others or poll in vain, with nothing under way? Those who run are
 * what they were when they got the turn. */
static bool is_all_quiet(const struct sched_view *view, const struct next *next)
{
    struct sched *s = view->sched;
    const uint32_t *live = sched_live(s);

    if (next->command_t != PROTO_NEVER || next->event_t != PROTO_NEVER)
        return false;
    for (uint32_t i = 0; i < s->live_count; i++) {
        const struct sched_actor *actor = sched_actor_at(s, live[i]);

        if (sched_apply_at(s, live[i] / PROTO_CLIENT_ACTORS) != PROTO_NEVER ||
            (actor->is_quiet ? actor->first : own_time(view, live[i])) != PROTO_NEVER)
            return false;
    }
    return true;
}

/* Everybody who polls polls until PROTO_QUIET polls after the last thing that happened. */
void sched_conclude(struct sched *s)
{
    const uint32_t *live = sched_live(s);
    int64_t last = fabric_time(s);
    int64_t poll = sched_agreed(s, 0)->charge[PROTO_CHARGE_POLL_EMPTY];

    for (uint32_t rank = 0; rank < s->rank_count; rank++)
        last = time_max(last, s->ranks[rank].last_vt);
    for (uint32_t i = 0; i < s->live_count; i++) {
        const struct sched_actor *actor = sched_actor_at(s, live[i]);

        last = time_max(last, polls_on(actor) ? actor->since : actor->vt);
    }
    for (uint32_t i = 0; poll > 0 && i < s->live_count; i++) {
        struct sched_actor *actor = sched_actor_at(s, live[i]);
        int64_t end;

        if (!polls_on(actor))
            continue;
        end = actor->since + (last + PROTO_QUIET * poll - actor->since) / poll * poll;
        actor->settled = (end - actor->vt) / poll;
        actor->vt = end;
    }
}

static enum sched_state nobody_can_act(const struct sched_view *view, uint32_t *granted)
{
    struct sched *s = view->sched;
    const uint32_t *live = sched_live(s);

    if (s->running > 0)
        return SCHED_RUNNING;
    if (s->live_count == 0)
        return SCHED_FINISHED;
    for (uint32_t i = 0; i < s->live_count; i++) {
        if (waits_outside(sched_actor_at(s, live[i])))
            return SCHED_OUTSIDE;
    }
    return ask_to_confirm(view, granted) ? SCHED_GRANTED : SCHED_DEADLOCK;
}

static bool is_starting(struct sched *s)
{
    for (uint32_t i = 0; !s->is_started && i < s->rank_count; i++) {
        if (!s->ranks[i].has_joined)
            return true;
    }
    s->is_started = true;
    return false;
}

/* Executes what comes before every actor's act. True: something did. */
static bool step(const struct sched_view *view, struct next *next)
{
    struct sched *s = view->sched;
    bool has_command =
        next->client != ID_NONE &&
        (next->bound == ID_NONE ||
         !time_is_before(next->bound_t, next->bound, next->command_t, next->command_actor));
    int64_t limit = has_command ? next->command_t : next->bound_t;

    next->event_t = engine_next_time(fabric_engine(sched_net(s))).ps;
    if (next->event_t != PROTO_NEVER && next->event_t <= limit) {
        sched_run_fabric(view, limit);
        return true;
    }
    if (has_command)
        run_command(view, next);
    return has_command;
}

/* Somebody who runs may act before the first parked actor. May that one run all the same? Only if
 * all it wants is to go on, and its lease reaches so far. */
static bool may_overtake(const struct sched_view *view, const struct next *next)
{
    const struct sched_actor *actor = sched_actor_at(view->sched, next->actor);
    bool goes_on = actor->state == SCHED_ACTOR_IDLE ||
                   (actor->state == SCHED_ACTOR_READY && actor->resume != PROTO_RESUME_ANSWER);

    return goes_on && find_lease(view, next->actor, next) > next->actor_t;
}

/* Would the actor go on because a sleep ends or a timeout comes? */
static bool is_by_time(const struct sched *s, const struct next *next)
{
    const struct sched_actor *actor = sched_actor_at(s, next->actor);

    if (sched_apply_at(s, next->actor / PROTO_CLIENT_ACTORS) <= next->actor_t)
        return false;
    switch ((enum sched_actor_state)actor->state) {
    case SCHED_ACTOR_READY:
        return actor->is_asleep && actor->resume == PROTO_RESUME_TURN;
    case SCHED_ACTOR_WAIT:
    case SCHED_ACTOR_SPIN:
        return true;
    case SCHED_ACTOR_EXTERNAL:
        return next->actor_t == time_max(actor->vt, actor->deadline) &&
               actor->retry > next->actor_t && actor->first > next->actor_t;
    case SCHED_ACTOR_IDLE:
    case SCHED_ACTOR_RUNNING:
    case SCHED_ACTOR_NONE:
        break;
    }
    return false;
}

/* Nothing but time would bring the next act about: somebody who polls may look at the clock now and
 * then, and gets some time first. True: *next is that act. */
static bool nudge(const struct sched_view *view, struct next *next)
{
    struct sched *s = view->sched;
    uint32_t poller = ID_NONE;

    if (next->actor != ID_NONE && !is_by_time(s, next))
        return false;
    for (uint32_t i = 0; i < s->live_count; i++) {
        const struct sched_actor *actor = sched_actor_at(s, sched_live(s)[i]);

        if (actor->state == SCHED_ACTOR_IDLE && actor->first == PROTO_NEVER &&
            (poller == ID_NONE || actor->vt < sched_actor_at(s, poller)->vt))
            poller = sched_live(s)[i];
    }
    if (poller == ID_NONE || !sched_may_nudge(view, poller, next->actor_t))
        return false;
    next->actor = poller;
    next->actor_t = sched_actor_at(s, poller)->vt +
                    SCHED_NUDGE / sched_actor_at(s, poller)->grid * sched_actor_at(s, poller)->grid;
    return true;
}

/* Does another thread of its process run? What that has just woken acts after it. */
static bool has_runner(struct sched *s, uint32_t actor_ix)
{
    for (uint32_t i = 0; i < s->live_count; i++) {
        uint32_t other = sched_live(s)[i];

        if (other / PROTO_CLIENT_ACTORS == actor_ix / PROTO_CLIENT_ACTORS &&
            sched_actor_at(s, other)->state == SCHED_ACTOR_RUNNING)
            return true;
    }
    return false;
}

bool sched_has_room(const struct sched *s)
{
    return s->running < s->max_running;
}

enum sched_state sched_next(const struct sched_view *view, uint32_t *granted)
{
    struct sched *s = view->sched;
    struct next next;

    if (is_starting(s))
        return SCHED_STARTING;
    s->step++;
    do {
        look_at_actors(view, &next);
        look_at_rings(view, &next);
        if (s->culprit != ID_NONE)
            return SCHED_BROKEN;
    } while (step(view, &next));
    if (s->running > 0 && !sched_has_room(s))
        return SCHED_RUNNING;
    if (s->has_launcher && s->running == 0 && nudge(view, &next)) {
        *granted = next.actor;
        grant(view, &next);
        return SCHED_GRANTED;
    }
    if (next.actor == ID_NONE ||
        (sched_actor_at(s, next.actor)->is_quiet && is_all_quiet(view, &next)))
        return nobody_can_act(view, granted);
    if (next.actor != next.bound && !may_overtake(view, &next))
        return SCHED_RUNNING;
    if (s->running > 0 && has_runner(s, next.actor))
        return SCHED_RUNNING;
    if (s->has_launcher && sched_must_hold(view, next.actor, next.actor_t, is_by_time(s, &next)))
        return s->running > 0 ? SCHED_RUNNING : SCHED_OUTSIDE;
    *granted = next.actor;
    grant(view, &next);
    return SCHED_GRANTED;
}

void sched_retry_outside(struct sched *s)
{
    const uint32_t *live = sched_live(s);

    for (uint32_t i = 0; i < s->live_count; i++) {
        struct sched_actor *actor = sched_actor_at(s, live[i]);

        if (actor->state == SCHED_ACTOR_EXTERNAL)
            actor->retry = time_min(actor->retry, time_max(actor->vt, fabric_time(s)));
        else if (waits_outside(actor))
            let_look(actor, fabric_time(s));
    }
}
