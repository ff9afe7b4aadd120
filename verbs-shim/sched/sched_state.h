/* SPDX-License-Identifier: Apache-2.0 */
/* The scheduler's block of memory: private to verbs-shim/sched. */
#ifndef VERBS_SHIM_SCHED_SCHED_STATE_H
#define VERBS_SHIM_SCHED_SCHED_STATE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sim/base/ids.h"
#include "sim/base/units.h"
#include "sim/fabric/cluster.h"
#include "sim/fabric/fabric.h"
#include "verbs-shim/proto/proto.h"
#include "verbs-shim/sched/sched.h"

#define SCHED_QPS         16384U          /* over the whole run: a number is never used twice */
#define SCHED_FABRIC_QPS  2048U           /* connected at one time */
#define SCHED_WRS         (1U << 20)      /* work requests under way */
#define SCHED_LATE        (1U << 18)      /* events that a full ring could not take yet */
#define SCHED_OUTSIDE_LOG 1024U           /* actions on side channels remembered */
#define SCHED_CLIENT_QPS  (SCHED_QPS / 4) /* of one client, over the run */
#define SCHED_QUEUE_MAX   (1U << 16)      /* work requests of a queue */
#define SCHED_BURST       (16 * PROTO_COMMANDS) /* commands of a client between two turns */
#define SCHED_NUDGE       PS_PER_MS /* with a launcher: an idle actor's time goes on by so much ... */
#define SCHED_NUDGES      1024U     /* ... and so often, while nobody does anything */
#define SCHED_QPN_FIRST                                                      \
    UINT32_C(0x900) /* hellas-ai/thunderbolt-ibverbs kernel/tbv.h: path << 8 \
                     */
#define SCHED_QPN_STEP  UINT32_C(0x100)
#define SCHED_QPT_RC    2U /* enum ibv_qp_type */
#define SCHED_QPT_UD    4U
#define SCHED_QPT_SRQ   UINT32_MAX /* no queue pair: a shared receive queue */
#define SCHED_DATAGRAMS 65536U     /* whose fate is not decided yet */

/* Which side of a rank's device leads to which other rank, and how. */
struct sched_route {
    struct cluster_path path;
    bool exists;
};

struct sched_rank {
    host_id host;
    bool has_joined; /* or is not waited for */
    uint32_t qp_count;
    uint32_t last_client; /* highest number of a client that joined, + 1 */
    int64_t last_vt;      /* of an actor that is gone */
};

/* Messages of a port, one following the other: sched_rate.c. */
struct sched_row {
    int64_t start; /* first post */
    int64_t last;  /* that anything of it happens, as far as is known */
    int64_t there; /* last arrival */
    uint64_t completed, delivered;
    uint32_t messages;  /* completed */
    uint32_t under_way; /* completions and fates to come */
    bool is_best;
};

struct sched_port {
    uint32_t qps, used[PROTO_LIMITED_COUNT]; /* that programs have now */
    /* What a quirk remembers. */
    uint32_t failed_rtrs;
    int last_failure; /* errno */
    int64_t used_at;  /* last send of either end; while the cable wakes, the end of that */
    struct sched_row row;
    struct sched_rate rate;
};

struct sched_client {
    bool is_alive;
    uint32_t rank;
    uint32_t actor_count; /* slots in use or used */
    uint32_t open_sends, open_blind;
    int64_t min_wire;  /* among the open sends since there was none */
    uint64_t commands; /* executed */
    uint32_t forgiven; /* questions to the outside that will have no answer */
    uint32_t late_head, late_tail, late_count;
    uint32_t taken;    /* commands out of its ring ... */
    uint32_t told;     /* ... and events into the other, as the cursors have to say */
    uint32_t qp_count; /* made over the run */
    uint32_t step;     /* of the scheduler, in which it ... */
    uint32_t burst;    /* ... had so many commands */
    uint32_t used[PROTO_DEVICES_MAX][PROTO_LIMITED_COUNT]; /* of its rank's devices */
    uint32_t news;                                         /* events that it was told, or will be */
    uint32_t apply_head; /* what its threads have to apply, by time; ID_NONE */
};

/* Hot part of an actor: one line of cache. */
struct sched_actor {
    uint8_t state;  /* enum sched_actor_state */
    uint8_t park;   /* enum proto_park */
    uint8_t resume; /* enum proto_resume, once it may go on */
    uint8_t call;   /* enum proto_call */
    uint8_t saved;  /* state to which it returns, if is_applying */
    bool is_applying;
    int64_t applies_at;
    uint32_t told;  /* to its client when it got the turn to apply */
    uint32_t polls; /* idle, quiet: empty ones that it really made since it did anything else */
    int64_t vt;     /* when it parked; running: when it got the turn */
    int64_t first;
    int64_t grid;
    int64_t deadline;
    uint64_t key;
    uint32_t outside_seen; /* entries of the log of actions */
    int64_t retry;         /* external: when to try again; or never */
    uint32_t new_cqs;      /* external: queues from this number on count as polled */
    bool is_asleep;
    bool has_loose;  /* spin */
    bool is_quiet;   /* ready or running, and nothing but empty polls is to be expected */
    uint32_t acts;   /* calls other than polls when it parked, low bits */
    int64_t since;   /* idle, quiet: end of the first of these polls */
    int64_t settled; /* polls that the verdict adds, or takes away */
};

struct sched_qp {
    bool exists, is_dead, is_connected;
    bool has_path;
    uint32_t client, rank, device, qp_type, qp_num;
    uint32_t send_cq, recv_cq;
    uint32_t send_wrs, recv_wrs;
    uint32_t fabric; /* queue pair of the fabric; ID_NONE before RTR */
    uint32_t peer;   /* ID_NONE */
    uint32_t dest_rank, dest_device, dest_qp_num;
    uint32_t sends_open, recvs_open;
    uint32_t early_head, early_tail; /* receives posted before RTR; direct: those that wait */
    bool is_direct;                  /* profile `verbs`: messages meet receives here */
    uint32_t held_head, held_tail;   /* direct: messages that have arrived and met no receive */
    int64_t last_recv, last_send;    /* direct: latest completions, which keep their order */
    uint32_t srq;                    /* where its receives are; ID_NONE: here */
    uint32_t limit;                  /* SRQ: tells when it holds fewer; 0: does not */
    bool is_local;                   /* leads to a queue pair of the same device */
    int64_t local_free;              /* ... by which the last message has left */
    bool is_open;                    /* UD: takes datagrams */
    uint32_t qkey;
    uint32_t order_head,
        order_tail; /* UD: sends not completed; local: before there is a peer; stale */
    uint32_t ways[PROTO_RANKS_MAX]; /* UD: queue pair of the fabric to a rank, + 1; 0: none yet */
    int64_t ps_per_kib;
    int64_t latency;
    bool is_failed; /* RC, in ERR: what is posted is flushed, what arrives gets no answer */
    uint32_t open_head, open_tail; /* RC: sends without a completion, in order of posting */
    uint32_t stalled;              /* RC: the first of them that has to wait for reads; ID_NONE */
    uint32_t reads_open;           /* RC: reads and atomics under way */
    int64_t full_until;            /* RC: when a place for one of them gets free */
    uint32_t held;                 /* messages to this one that wait for a receive */
    uint32_t behind_head, behind_tail; /* messages that arrived behind those */
    uint32_t response;      /* queue pair of the fabric for what reads ask for; ID_NONE */
    struct sched_held past; /* of queue pairs of the fabric that it had before */
    int64_t used_at;        /* last send of its own, or when it was connected */
    int64_t idle; /* for so long when somebody sent again, so that it is stale; 0: it is not */
    bool is_stale_sender;
};

enum sched_wr_state {
    WR_FREE,
    WR_RECV,
    WR_SEND,
    WR_RESPONSE, /* of a read or an atomic, on its way back */
};

/* A work request from post until nothing refers to it. */
struct sched_wr {
    uint8_t state;     /* enum sched_wr_state */
    bool is_completed; /* at the sender */
    bool is_settled;   /* delivered and consumed, or lost: the slot is free */
    bool is_delivered;
    bool is_rated;
    uint16_t flags;
    uint32_t qp;
    uint32_t wqe;
    uint32_t opcode;
    uint32_t imm;
    uint32_t consumer; /* client that copies the bytes */
    uint64_t length;
    uint64_t slot;
    uint32_t next;     /* free list; receives posted early; messages held */
    uint32_t is_blind; /* 1: its completion is not foreseen */
    int64_t at;        /* direct: when a message has arrived, a receive can be met */
    uint32_t to;       /* direct: queue pair that a message has reached */
    uint32_t dest;     /* UD: what the datagram names, as the command has it */
    uint32_t qkey;
    uint16_t place; /* where it goes */
    uint8_t status; /* UD: enum ibv_wc_status, once `is_sent` */
    bool is_sent;
    uint32_t after;   /* RC: the send that was posted next */
    bool is_started;  /* RC: the fabric has it */
    bool is_done;     /* RC: the completion is known, and waits for those before it */
    bool is_applying; /* told to its target as something to apply */
    int64_t done_at;
    uint32_t done_status;
    uint32_t apply_next;
    uint32_t request; /* RESPONSE: the read or atomic */
    uint32_t max_reads;
    uint32_t patience_us;
    uint32_t rkey;
    uint64_t remote_addr;
};

struct sched_late {
    struct proto_event event;
    uint32_t next;
    uint32_t pad0;
};

struct sched {
    uint64_t routes_at, actors_at, clients_at, qps_at, wrs_at, lates_at, polled_at, live_at,
        agreed_at, fabric_at, size;
    uint32_t rank_count, client_count;
    uint32_t max_running;
    uint32_t running;
    uint32_t live_count;
    uint32_t qp_count;
    uint32_t wr_free, wr_used;
    uint32_t late_free, late_used;
    uint32_t step;    /* counts sched_next */
    uint32_t culprit; /* client that is not believed any more; ID_NONE */
    uint32_t damage;  /* enum sched_damage */
    bool is_started;
    bool has_launcher;
    bool is_held;     /* time stands still for the sake of the outside */
    bool is_forgiven; /* ... no longer, until somebody has acted */
    uint32_t nudges;  /* since there were so many commands */
    uint64_t nudged_commands;
    bool sends_early;
    bool drops; /* what meets no receive: nothing is foreseen */
    bool fails; /* ... and the send with it; UC's complete when the sender hears of them */
    bool stop;  /* an idle actor may go on: leave the fabric's loop */
    int64_t lease_cap;
    uint32_t wedge_after;
    int64_t idle_after, idle_wake;
    int64_t stale_after;
    uint64_t hash;
    uint32_t outside_count;
    uint32_t fabric_qps;
    uint32_t datagrams; /* with an event of their own */
    int64_t outside[SCHED_OUTSIDE_LOG];
    struct sched_port ports[PROTO_RANKS_MAX][PROTO_DEVICES_MAX];
    struct sched_rank ranks[PROTO_RANKS_MAX];
    uint64_t bytes[PROTO_RANKS_MAX][PROTO_RANKS_MAX];
    uint64_t messages[PROTO_RANKS_MAX][PROTO_RANKS_MAX];
};

static inline void *sched_part(const struct sched *s, uint64_t offset)
{
    // NOLINTNEXTLINE(performance-no-int-to-ptr): parts of the block go by offset
    return (void *)((uintptr_t)s + offset);
}

static inline struct fabric *sched_net(const struct sched *s)
{
    return sched_part(s, s->fabric_at);
}

static inline struct sched_actor *sched_actor_at(const struct sched *s, uint32_t actor)
{
    return (struct sched_actor *)sched_part(s, s->actors_at) + actor;
}

static inline struct sched_client *sched_client_at(const struct sched *s, uint32_t client)
{
    return (struct sched_client *)sched_part(s, s->clients_at) + client;
}

static inline struct sched_qp *sched_qp_at(const struct sched *s, uint32_t qp)
{
    return (struct sched_qp *)sched_part(s, s->qps_at) + qp;
}

static inline struct sched_wr *sched_wr_at(const struct sched *s, uint32_t wr)
{
    return (struct sched_wr *)sched_part(s, s->wrs_at) + wr;
}

/* Completion queues that an idle actor polls; [0] is how many. */
static inline uint16_t *sched_polled_at(const struct sched *s, uint32_t actor)
{
    return (uint16_t *)sched_part(s, s->polled_at) + (size_t)actor * (PROTO_POLLED_MAX + 1);
}

/* Numbers of the actors that are not gone, ascending. */
static inline uint32_t *sched_live(const struct sched *s)
{
    return sched_part(s, s->live_at);
}

static inline const struct proto_agreed *sched_agreed(const struct sched *s, uint32_t rank)
{
    return (const struct proto_agreed *)sched_part(s, s->agreed_at) + rank;
}

static inline struct sched_route *sched_route_at(const struct sched *s, uint32_t rank,
                                                 uint32_t device, uint32_t to)
{
    struct sched_route *all = sched_part(s, s->routes_at);

    return &all[((size_t)rank * PROTO_DEVICES_MAX + device) * PROTO_RANKS_MAX + to];
}

static inline void sched_mix(struct sched *s, uint64_t x)
{
    s->hash = (s->hash ^ x) * UINT64_C(0x9e3779b97f4a7c15);
    s->hash ^= s->hash >> 29;
}

/* sched_hold.c: must the actor, who acts at `t` unless something happens before, wait for the
 * outside? `by_time`: it is a sleep's end or a timeout. */
bool sched_must_hold(const struct sched_view *view, uint32_t actor, int64_t t, bool by_time);

/* The client's memory makes no sense, or it asks for more than there is. */
static inline void sched_blame(struct sched *s, uint32_t client, enum sched_damage why)
{
    if (s->culprit != ID_NONE)
        return; /* one after the other */
    s->culprit = client;
    s->damage = (uint32_t)why;
}

/* May one who polls be given some time before anything happens at `t`? */
bool sched_may_nudge(const struct sched_view *view, uint32_t actor, int64_t t);

/* sched_wr.c: commands, completions, events */
void sched_init_wrs(struct sched *s);
/* Executes one command, at the fabric's present time or its own, whichever is later. */
void sched_execute(const struct sched_view *view, const struct proto_command *command,
                   uint32_t client);
/* Moves the fabric's clock to `t`, if that is ahead; nothing of it is due before. Returns its time.
 */
simtime sched_reach(struct sched *s, int64_t t);
/* Runs the fabric's events up to and including `limit`, or until an idle actor may go on. */
void sched_run_fabric(const struct sched_view *view, int64_t limit);
/* Moves events that waited for room into the client's ring. False: some still wait. */
bool sched_refill(const struct sched_view *view, uint32_t client);
/* Everything posted on the queue pair that has not begun is dropped; `tells`: with flush errors. */
void sched_flush_qp(const struct sched_view *view, uint32_t qp, bool tells);
/* Is every message that is acknowledged to its sender? */
static inline bool sched_is_reliable(const struct sched_qp *qp)
{
    return qp->is_direct && qp->qp_type == SCHED_QPT_RC;
}

/* Work requests of one queue pair become those of another. */
void sched_move_wrs(struct sched *s, uint32_t from_qp, uint32_t to_qp);
/* Hands the receives that were posted before RTR to the fabric. */
void sched_post_early(const struct sched_view *view, uint32_t qp);
/* At `t` something has happened that whoever waits for the outside may wait for. */
void sched_log_outside(struct sched *s, int64_t t);
/* The client will consume nothing any more and wants no events. */
void sched_forget_client(const struct sched_view *view, uint32_t client);

/* The completion of a send, in the order of posting on queue pairs with several ways. */
void sched_finish_sent(const struct sched_view *view, uint32_t send, int64_t at, uint32_t status);
/* A message has met a receive of the list of `receives`; it is complete at `at`. */
void sched_finish_recv(const struct sched_view *view, uint32_t recv, uint32_t send, int64_t at,
                       bool is_whole);
/* Nobody will ever take the message. */
void sched_lose(const struct sched_view *view, uint32_t send);
/* What the fabric has counted of the queue pair, over its life. */
struct sched_held sched_count_held(const struct sched *s, const struct sched_qp *qp);
/* The first of a list, taken out; the list is not empty. */
uint32_t sched_pop(const struct sched *s, uint32_t *head);
void sched_append(const struct sched *s, uint32_t *head, uint32_t *tail, uint32_t ix);

/* Sends what a local queue pair has kept for its peer, which is there now. */
void sched_send_kept(const struct sched_view *view, uint32_t qp);

/* Does it lead anywhere? */
static inline bool sched_has_way(const struct sched_qp *qp)
{
    return qp->fabric != ID_NONE || qp->is_local;
}

/* Where the queue pair's receives are. */
static inline struct sched_qp *sched_receives_of(const struct sched *s, struct sched_qp *qp)
{
    return qp->srq == ID_NONE ? qp : sched_qp_at(s, qp->srq);
}

/* sched_ud.c: datagrams, addresses */
static inline bool sched_is_datagram(const struct sched_qp *qp)
{
    return qp->is_direct && qp->qp_type == SCHED_QPT_UD;
}
int sched_find_gid(const struct sched *s, uint32_t client,
                   const struct proto_connect_request *request, int64_t *reply);
int sched_open_ud(const struct sched_view *view, uint32_t client, const int64_t *raw);
/* Chooses the fabric's queue pair for a datagram; false: there is no way. */
bool sched_choose_way(struct sched *s, struct sched_qp *qp, const struct proto_command *command);
/* A datagram will have arrived at `at`. */
void sched_datagram_arrives(const struct sched_view *view, uint32_t send, int64_t at);
/* ... and would have to be posted for by now. */
void sched_datagram_decides(const struct sched_view *view, uint32_t send);

/* sched_srq.c: shared receive queues */
int sched_create_srq(const struct sched_view *view, uint32_t client, uint32_t device,
                     int64_t *reply);
int sched_limit_srq(const struct sched_view *view, uint32_t client, const int64_t *raw,
                    int64_t *reply);
/* Messages for a queue pair that is about to go wait in its shared queue no more. */
void sched_leave_srq(const struct sched_view *view, uint32_t qp);

/* The event has to reach the client. */
void sched_tell(const struct sched_view *view, uint32_t client, const struct proto_event *event);
/* A completion will be in `cq` at `at`: who polls it idly or watches it may go on. */
void sched_notice(struct sched *s, uint32_t client, uint32_t cq, int64_t at);
/* ID_NONE: all are taken, the run is broken. */
uint32_t sched_take_wr(struct sched *s);
void sched_drop_wr(struct sched *s, uint32_t ix);
/* The send's bytes are of no use to anybody any more. */
void sched_settle(const struct sched_view *view, uint32_t send);
/* The client gets the completion. */
void sched_conclude_send(const struct sched_view *view, uint32_t send, int64_t at, uint32_t status);
/* A receive was taken from the list. The flag for its completion: no fewer shall be in it. */
uint16_t sched_count_down(struct sched_qp *receives);
/* Books a message of `length` between two ranks. */
void sched_count(struct sched *s, uint32_t from_rank, uint32_t to_rank, uint64_t length);
/* As sched_flush_qp; the flush errors are of `at`. */
void sched_flush_qp_at(const struct sched_view *view, uint32_t qp, bool tells, int64_t at);
/* A message to the same device, posted at `now`. */
void sched_post_local(const struct sched_view *view, struct sched_qp *qp, uint32_t ix, int64_t now);
/* A message that will have arrived at wr->at goes to its receive, or waits for one. */
void sched_offer(const struct sched_view *view, uint32_t to, uint32_t send);

/* sched_rate.c: a send is posted, completed, delivered or lost */
void sched_rate_posted(struct sched *s, struct sched_wr *send, int64_t t);
void sched_rate_completed(struct sched *s, const struct sched_wr *send, int64_t t, bool is_sent);
void sched_rate_ended(struct sched *s, const struct sched_wr *send, int64_t t, bool is_delivered);

/* sched_rdma.c: reliable queue pairs, one-sided operations */
void sched_init_rdma(struct sched_qp *qp);
static inline bool sched_takes_receive(const struct sched_wr *wr)
{
    return wr->opcode == PROTO_WR_SEND || wr->opcode == PROTO_WR_SEND_IMM ||
           wr->opcode == PROTO_WR_WRITE_IMM;
}
static inline bool sched_is_read(const struct sched_wr *wr)
{
    return wr->opcode >= PROTO_WR_READ && wr->opcode <= PROTO_WR_FETCH_ADD;
}
/* A send of a reliable queue pair was posted at `now`. */
void sched_start_send(const struct sched_view *view, uint32_t ix, int64_t now);
/* Its fate is known; the completion comes after those of the sends before it. */
void sched_finish_reliable(const struct sched_view *view, uint32_t send, int64_t at,
                           uint32_t status);
/* The sends from `first` (ID_NONE: none) on have failed at `at`: they end with flush errors. */
void sched_conclude_open(const struct sched_view *view, uint32_t qp, uint32_t first, int64_t at);
/* To ERR, with what that means for all that is posted. */
void sched_fail_qp(const struct sched_view *view, uint32_t qp, int64_t at);
/* A message that arrived at `to` does not go to a receive: it waits behind others, or is applied.
 */
bool sched_goes_elsewhere(const struct sched_view *view, uint32_t to, uint32_t send);
/* A message to `to` has met its receive: those behind it go on. */
void sched_go_on(const struct sched_view *view, uint32_t to);
/* The target shall apply the message at `at`. `recv`: the receive that it takes, or ID_NONE. */
void sched_apply(const struct sched_view *view, uint32_t to, uint32_t send, int64_t at,
                 uint32_t recv);
void sched_execute_applied(const struct sched_view *view, const struct proto_command *command,
                           uint32_t client);
void sched_response_arrives(const struct sched_view *view, uint32_t ix, int64_t at);
void sched_response_is_lost(const struct sched_view *view, uint32_t ix);
/* The process is gone: nobody applies. */
void sched_forget_applies(const struct sched_view *view, uint32_t client);
/* When the first thing to apply is due; or never. */
static inline int64_t sched_apply_at(const struct sched *s, uint32_t client)
{
    uint32_t first = sched_client_at(s, client)->apply_head;

    return first == ID_NONE ? PROTO_NEVER : sched_wr_at(s, first)->at;
}

/* sched_qp.c: answers to calls; the result is errno */
int sched_create_qp(const struct sched_view *view, uint32_t client,
                    const struct proto_qp_request *request, int64_t *reply);
int sched_connect_qp(const struct sched_view *view, uint32_t client,
                     const struct proto_connect_request *request);
/* When a send that is posted at `t` may leave, and what that does to the cable's sleep. */
int64_t sched_wake_cable(struct sched *s, const struct sched_qp *qp, int64_t t);
/* Is a send that is posted at `t` lost in a queue pair that was idle for too long? */
bool sched_goes_stale(struct sched *s, struct sched_qp *qp, int64_t t);
/* To ERR: what is posted ends with flush errors, and what arrives gets no answer. */
void sched_stop_qp(const struct sched_view *view, uint32_t client, uint32_t ix);
int sched_destroy_qp(const struct sched_view *view, uint32_t client, uint32_t ix);
/* Back to what it was when it was made. */
int sched_reset_qp(const struct sched_view *view, uint32_t client, uint32_t ix);
int sched_limited(struct sched *s, uint32_t client, const struct proto_limited_request *request);
/* The client is gone: its device has them again. */
void sched_give_back(struct sched *s, uint32_t client);
/* A place for a queue pair or an SRQ, all zero but for the lists; ID_NONE: no more. */
uint32_t sched_add_qp(struct sched *s, uint32_t client, uint32_t device);
/* The port that the request names. */
bool sched_find_port(const struct sched *s, const struct proto_connect_request *request,
                     uint32_t *ret_rank, uint32_t *ret_device);
/* From a device to itself, where such messages are delivered? */
bool sched_is_loop(const struct sched *s, uint32_t rank, uint32_t device, uint32_t to_rank,
                   uint32_t to_device);
/* Whose GID is it? */
bool sched_gid_owner(const struct sched *s, const uint8_t *gid, uint32_t *ret_rank,
                     uint32_t *ret_device);
/* A queue pair of the fabric from a device to a rank; ID_NONE: no more. */
uint32_t sched_make_way(struct sched *s, const struct sched_qp *qp, uint32_t rank);
/* Gives what of the fabric's is drained back; true: that was all. */
bool sched_release_ways(struct sched *s, struct sched_qp *qp);
int sched_query_port(const struct sched *s, uint32_t rank, uint32_t device, int64_t *reply);
/* The client's queue pair of that number, alive; NULL. */
struct sched_qp *sched_own_qp(const struct sched *s, uint32_t client, uint32_t qp);
/* The same of a number that a client wrote. */
struct sched_qp *sched_named_qp(const struct sched *s, uint32_t client, int64_t qp);

#endif
