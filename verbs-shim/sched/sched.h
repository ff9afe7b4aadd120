/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The quiescence clock: decides which actor runs, until when, and moves the fabric on.
 *
 * Pure code over one block of memory that several processes may map (the hub), driven by whichever
 * actor parks (inline) or by the conductor. The caller holds the hub's lock around every function;
 * nothing here waits. docs/emulation.md has the rules and why they give one result whatever runs
 * when; sched_time.h has them as functions.
 */
#ifndef VERBS_SHIM_SCHED_SCHED_H
#define VERBS_SHIM_SCHED_SCHED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sim/base/ids.h"
#include "sim/base/units.h"
#include "sim/fabric/cluster.h"
#include "sim/fabric/fabric.h"
#include "sim/fabric/param.h"
#include "verbs-shim/proto/proto.h"

struct sched; /* no pointer inside; lies at PROTO_HUB_BYTES of the hub, or anywhere with the
                 conductor */

struct sched_config {
    const struct cluster *cluster; /* read during sched_init only, like the next three */
    const struct param_set *params;
    const struct proto_agreed *agreed; /* of each rank: devices, charges, limits */
    const host_id *hosts;              /* of each rank */
    uint32_t rank_count;
    uint64_t seed;
    bool has_jitter;
    enum fabric_unmatched unmatched;
    bool fails_unmatched;          /* with FABRIC_DROP: UC hears of it, and of what arrives */
    bool sends_complete_early;     /* as what fools perftest: FABRIC_SEND_WHEN_QUEUED */
    uint32_t wedge_after;          /* failed RTRs of a port until all fail; 0: never */
    simspan idle_after, idle_wake; /* a cable that sleeps, and how long it wakes; zero: never */
    simspan stale_after; /* without a send, until a queue pair of UC carries nothing; zero: never */
    uint32_t fault_capacity; /* for fabric_schedule_rate on sched_fabric */
    uint32_t max_running;    /* 1: strict; more: as many actors at once where leases allow */
    simspan lease_cap;       /* zero: none */
};

/* Where this process sees the parts. A segment that no client uses yet may be NULL. */
struct sched_view {
    struct sched *sched;
    struct proto_segment *segments[PROTO_CLIENTS_MAX];
};

size_t sched_mem_size(const struct sched_config *config);
/* Builds a scheduler in `mem`: aligned to 64 bytes, sched_mem_size bytes, all zero. */
struct sched *sched_init(void *mem, const struct sched_config *config);
struct fabric *sched_fabric(struct sched *s);

/* A process joins as the client; its first actor is parked with PROTO_PARK_TURN at vt 0 (or at the
 * time that has been reached). The segment's agreed part is filled already. */
void sched_join(const struct sched_view *view, uint32_t client);
/* The rank will not join any more, or has not to be waited for: nobody holds the start for it. */
void sched_rank_is_absent(struct sched *s, uint32_t rank);
/* The process is gone: its queue pairs go, what it completed stays deliverable. */
void sched_client_died(const struct sched_view *view, uint32_t client);

/* Books that the actor has parked, as its channel says. False: that makes no sense; sched_next will
 * say SCHED_BROKEN. */
bool sched_park(const struct sched_view *view, uint32_t actor);

enum sched_state {
    SCHED_GRANTED,  /* *granted got the turn: its channel is filled; wake it */
    SCHED_RUNNING,  /* nobody new; somebody runs */
    SCHED_STARTING, /* waits for ranks to join */
    SCHED_OUTSIDE,  /* everybody waits, somebody for the outside: sched_retry_outside later */
    SCHED_DEADLOCK, /* everybody waits and nothing is under way */
    SCHED_FINISHED, /* no actor is left */
    SCHED_BROKEN,   /* a client's memory makes no sense: sched_culprit says whose */
};

/* Why a client is not believed any more. */
enum sched_damage {
    SCHED_WHOLE,
    SCHED_DAMAGED_RING,    /* cursors or an entry of its ring of commands */
    SCHED_DAMAGED_CHANNEL, /* what one of its actors says when it parks */
    SCHED_TOO_MUCH,        /* more work requests or commands than its queues hold */
    SCHED_DEAF,            /* it takes no events */
};

/* After SCHED_BROKEN. Bury the client (sched_client_died), and the others can go on. */
uint32_t sched_culprit(const struct sched *s, enum sched_damage *ret_why);

/* Moves the fabric on as far as the actors allow and gives at most one turn. Call again while it
 * says SCHED_GRANTED and more may run (max_running). */
enum sched_state sched_next(const struct sched_view *view, uint32_t *granted);
/* May more actors run than do now? If not, sched_next has nothing to do after SCHED_GRANTED, and
 * would only read what the one that got the turn is writing. */
bool sched_has_room(const struct sched *s);
/* Externals shall try again although nothing inside happened. */
void sched_retry_outside(struct sched *s);

/* With a launcher: is everybody parked only because a process outside the run has yet to answer, or
 * because time would leap? */
bool sched_is_held(const struct sched *s);
/* There will be no answer: time goes on. */
void sched_forgive(const struct sched_view *view);
/* Commands that were executed so far. */
uint64_t sched_commands(const struct sched *s);

/* After SCHED_DEADLOCK, or when what SCHED_OUTSIDE waits for has not come: actors' times are such
 * as do not depend on how polls were folded. Once; nobody acts any more. */
void sched_conclude(struct sched *s);

/* For the judge and the report. */
simtime sched_now(const struct sched *s);
/* The latest time that any thread of the rank has reached. */
simtime sched_rank_now(const struct sched *s, uint32_t rank);
uint64_t sched_hash(const struct sched *s);
/* Messages that have reached another queue pair, and acts on side channels: what a program can do
 * something with. A send that nobody receives is none, nor is the passing of time. */
uint64_t sched_arrivals(const struct sched *s);
/* Moves to RTR that the device's port has refused. */
uint32_t sched_failed_rtrs(const struct sched *s, uint32_t rank, uint32_t device);
/* Sends of UC that reached the head of their queue before the peer had posted a receive, and how
 * long they waited for it; of one that still waits, only the number. */
struct sched_held {
    uint64_t sends;
    simspan waited;
};
struct sched_held sched_held(const struct sched *s, uint32_t rank);
/* The same of one queue pair, also when it is gone. */
struct sched_held sched_held_of(const struct sched *s, uint32_t qp);
/* What a program could compute from its completions on a port, at its strangest: sched_rate.c. */
struct sched_rate {
    uint32_t messages;        /* of the row so far; 0: it was never more than one */
    uint64_t bytes;           /* of those that took time ... */
    simspan seen;             /* ... and when they had completed, from the first post on */
    uint64_t delivered_bytes; /* of the whole row ... */
    simspan delivered;        /* ... and when they had arrived */
};
struct sched_rate sched_rate_of(const struct sched *s, uint32_t rank, uint32_t device);
uint64_t sched_bytes(const struct sched *s, uint32_t from_rank, uint32_t to_rank);
uint64_t sched_messages(const struct sched *s, uint32_t from_rank, uint32_t to_rank);

enum sched_actor_state {
    SCHED_ACTOR_NONE,
    SCHED_ACTOR_READY,
    SCHED_ACTOR_RUNNING,
    SCHED_ACTOR_IDLE,
    SCHED_ACTOR_WAIT,
    SCHED_ACTOR_EXTERNAL,
    SCHED_ACTOR_SPIN,
};

struct sched_actor_info {
    enum sched_actor_state state;
    simtime vt;
    uint64_t key;     /* WAIT */
    simtime deadline; /* WAIT, EXTERNAL */
    int64_t settled;  /* empty polls that sched_conclude has added, or taken away */
};

struct sched_actor_info sched_actor_info(const struct sched *s, uint32_t actor);

/* One queue pair's part in a deadlock. */
struct sched_qp_info {
    bool exists;
    uint32_t client, rank, device, qp_num;
    uint32_t peer_rank;   /* ID_NONE: not connected */
    uint32_t peer_device; /* of the peer's queue pair */
    bool is_peer_dead;
    bool is_crossed;      /* the peer listens on another cable */
    simspan idle;         /* for so long, so that it carries nothing any more; zero: it works */
    bool is_stale_sender; /* something was posted on it since */
    uint32_t sends_waiting, receives_posted;
    enum fabric_wait wait; /* of the sends */
};

uint32_t sched_qp_count(const struct sched *s);
struct sched_qp_info sched_qp_info(const struct sched *s, uint32_t ix);

#endif
