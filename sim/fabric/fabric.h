/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The fabric at run time: link directions, queue pairs, credits, frames, IP, faults.
 *
 * One block of memory, given by the caller, holds everything and refers by index only; several
 * processes may map it at different addresses. Callbacks travel as an argument, never in the block.
 * The same code serves `tbmesh sim` (time jumps from event to event) and the emulator.
 */
#ifndef SIM_FABRIC_FABRIC_H
#define SIM_FABRIC_FABRIC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sim/base/ids.h"
#include "sim/base/units.h"
#include "sim/core/engine.h"
#include "sim/core/evq.h"
#include "sim/core/trace.h"
#include "sim/fabric/cluster.h"
#include "sim/fabric/param.h"

struct fabric;

/* Events with a kind of at least FABRIC_KIND_USER belong to the driver and are handed to it. */
#define FABRIC_KIND_USER 64U

/* The most hops between two computers: one hub or switch between them. */
#define FABRIC_HOPS_MAX 2U

/* What a queue pair carries. */
enum fabric_qp_kind {
    FABRIC_QP_RDMA, /* UC SEND/RECV: leaves when the peer has posted a receive of as many frames */
    FABRIC_QP_IP,   /* a TCP connection's direction: passes both hosts' stacks, needs no receive */
    FABRIC_QP_DIRECT, /* RDMA's frames and latency, but needs no receive: the driver matches */
};

/* When a SEND completes at the sender. */
enum fabric_send_completion {
    FABRIC_SEND_WHEN_SENT,   /* credits existed and all frames have left (TN3205) */
    FABRIC_SEND_WHEN_QUEUED, /* as soon as it is in the send ring: what fools perftest */
};

/* What happens to a SEND that meets no posted receive. */
enum fabric_unmatched {
    FABRIC_HOLD, /* it waits (TN3205) */
    FABRIC_DROP, /* textbook UC, and one report */
};

struct fabric_config {
    const struct cluster *cluster; /* read during fabric_init only */
    const struct param_set *params;
    enum evq_kind evq;
    uint64_t seed;
    bool has_jitter;
    enum fabric_unmatched unmatched;
    uint32_t qp_capacity;
    uint32_t early_qps;      /* queue pairs with FABRIC_SEND_WHEN_QUEUED at most */
    uint32_t wr_capacity;    /* per queue of a queue pair; rounded up to a power of two */
    uint32_t user_events;    /* most events of the driver pending at once */
    uint32_t fault_capacity; /* most scheduled fault changes pending at once */
    uint32_t ring_entries;   /* places in the rings of all sized queue pairs, for each side */
    bool single_frames;      /* no bursts: one event a frame. Same results, for tests */
    bool foresee;            /* report completions as soon as they are certain */
    bool mem_is_zero;        /* the caller's memory is fresh: do not touch all of it */
};

enum fabric_status {
    FABRIC_OK = 0,
    FABRIC_LENGTH_ERROR, /* frame counts of SEND and RECV differ, or a frame was lost on the way */
};

struct fabric_completion {
    qp_id qp;
    bool is_recv;
    enum fabric_status status;
    bool is_corrupt; /* a frame was damaged on the way; hardware does not say so */
    uint64_t wr_id;
    uint64_t peer_wr_id; /* of a receive: the wr_id of the SEND that it met */
    bytecount length;
    simtime at; /* with foresee: perhaps later than engine time, never before */
};

struct fabric_hooks {
    void *ctx; /* borrowed */
    /* A completion became visible, at engine time `at`; with foresee perhaps earlier, as soon as it
     * is certain (fabric_foresee.c). Each one is reported once. */
    void (*completed)(void *ctx, const struct fabric_completion *completion);
    /* A send that has left will never be delivered: no frame arrived, or no receive met it. Each
     * send has exactly one of a completed receive that names it, lost and flushed. May be NULL. */
    void (*lost)(void *ctx, qp_id sender, uint64_t wr_id);
    /* A request was dropped by fabric_flush_qp. May be NULL. */
    void (*flushed)(void *ctx, qp_id qp, uint64_t wr_id, bool is_recv);
    /* One of the driver's own events is due. */
    void (*user_event)(void *ctx, uint32_t kind, uint32_t arg);
    const struct trace *trace; /* may be NULL */
};

size_t fabric_mem_size(const struct fabric_config *config);
/* Builds a fabric in mem (aligned to 64 bytes, fabric_mem_size bytes). */
struct fabric *fabric_init(void *mem, const struct fabric_config *config);
struct engine *fabric_engine(struct fabric *f);

/*
 * Makes one queue pair end on `host`, sending over `path`. RDMA needs a path whose cables all have
 * RDMA; the caller checks (cluster_cable_has_rdma).
 * Returns the new queue pair, or ID_NONE when qp_capacity is used up.
 */
qp_id fabric_create_qp(struct fabric *f, enum fabric_qp_kind kind, host_id host,
                       const struct cluster_path *path);

struct fabric_qp_size {
    uint32_t send_wrs, recv_wrs; /* expected in the queues; more find place while there is any */
    uint32_t frames;             /* budget of each queue; zero: none, the driver counts */
};

/* Like fabric_create_qp, with rings of its own from the pool of config.ring_entries. ID_NONE also
 * when the pool is used up. A path of zero hops is a queue pair to the same host. */
qp_id fabric_create_qp_sized(struct fabric *f, enum fabric_qp_kind kind, host_id host,
                             const struct cluster_path *path, const struct fabric_qp_size *size);
/* Chooses when sends of this queue pair complete; FABRIC_SEND_WHEN_SENT unless called, before the
 * first post. At most early_qps queue pairs may complete early. */
void fabric_set_send_completion(struct fabric *f, qp_id qp, enum fabric_send_completion when);
/* Makes two ends each other's peer. They may name different cables: then what one sends waits for
 * a receive that can never match (a crossed rail), as on hardware. */
void fabric_connect_qp(struct fabric *f, qp_id a, qp_id b);
/* Makes b the target of what `a`, of kind FABRIC_QP_DIRECT, sends; b is not touched. */
void fabric_set_peer(struct fabric *f, qp_id a, qp_id b);
/* True when sends of this queue pair are promised at the start of service (fabric_foresee.c): both
 * completions are reported then, the receive's at least one latency ahead. */
bool fabric_qp_foresees(const struct fabric *f, qp_id qp);

/* Drops the sends that are not on the wire yet and the receives that no reported completion names,
 * and says so by hooks->flushed. What is on the wire or in flight goes on, but arrives to nothing
 * (hooks->lost) when the receive that it had claimed was dropped. */
void fabric_flush_qp(struct fabric *f, qp_id id, const struct fabric_hooks *hooks);
/* Takes a flushed queue pair away from its peer, whose sends then wait for ever, and recycles its
 * number. False: something of it is queued, on the wire, in flight or due; try later. */
bool fabric_release_qp(struct fabric *f, qp_id id);

/* Results of posting; the numbers are errno's for the shim's sake, fixed here. */
enum fabric_post {
    FABRIC_POSTED = 0,
    FABRIC_POST_NO_FRAMES = 12, /* ENOMEM: the queue's frame budget is used up */
    FABRIC_POST_TOO_LONG = 22,  /* EINVAL: longer than 4,095 frames */
};

/* Posts at instant `when` (at least now). Lengths in bytes, 1 to 4,095 frames; an empty message
 * takes one frame. Without a peer yet, receives are kept and sends wait. What a post makes certain
 * is reported by the next fabric_run_until. */
enum fabric_post fabric_post_send(struct fabric *f, qp_id id, simtime when, uint64_t wr_id,
                                  bytecount length);
enum fabric_post fabric_post_recv(struct fabric *f, qp_id id, simtime when, uint64_t wr_id,
                                  bytecount length);

/* Runs events up to and including `limit`, or until none is left, or until *stop becomes true
 * (stop may be NULL). Returns the number of events run. */
uint64_t fabric_run_until(struct fabric *f, simtime limit, const struct fabric_hooks *hooks,
                          const bool *stop);

/*
 * Memory server of a host: a copy or reduction of `size` by one thread that starts at `start` and
 * alone runs at `thread_rate`. All threads of the host share host_staging. Returns its end.
 */
simtime fabric_host_work(struct fabric *f, host_id host, simtime start, bytecount size,
                         bitrate thread_rate);

/* Faults, in simulated time. Rate zero cuts the cable; frames on the wire are lost, frames that
 * wait stay. Loss and corruption in parts per billion of frames, both directions. */
void fabric_schedule_rate(struct fabric *f, simtime at, cable_id cable, bitrate forward,
                          bitrate reverse);
void fabric_set_frame_faults(struct fabric *f, cable_id cable, uint32_t loss_ppb,
                             uint32_t corrupt_ppb);

struct fabric_link_counters {
    uint64_t frames;
    uint64_t payload_bytes;
    simspan busy;
    uint64_t lost;
    uint64_t corrupted;
};

struct fabric_qp_counters {
    uint64_t sends;      /* messages whose last frame has left */
    uint64_t send_bytes; /* of these */
    uint64_t recvs;      /* receives completed */
    uint64_t held;       /* sends that found no receive posted when they reached the head */
    simspan credit_wait; /* time the head of the send queue waited for a receive */
};

uint32_t fabric_link_count(const struct fabric *f);
struct fabric_link_counters fabric_link_counters(const struct fabric *f, link_id link);
/* Direction of cable c from its first-named end is link 2c, the other 2c + 1. */
static inline link_id fabric_link_of_cable(cable_id cable, bool is_reverse)
{
    return (link_id){2 * cable.ix + (is_reverse ? 1 : 0)};
}
struct fabric_qp_counters fabric_qp_counters(const struct fabric *f, qp_id qp);
uint32_t fabric_qp_count(const struct fabric *f);

/* False while the cable is cut in either direction. */
bool fabric_cable_is_up(const struct fabric *f, cable_id cable);

/* What a queue pair waits for, for verdicts. */
enum fabric_wait {
    FABRIC_WAIT_NOTHING, /* send queue empty */
    FABRIC_WAIT_RECV,    /* the peer has posted no receive */
    FABRIC_WAIT_CABLE,   /* the cable is cut */
    FABRIC_WAIT_LINK,    /* in line or on the wire */
};
enum fabric_wait fabric_qp_wait(const struct fabric *f, qp_id id);

/* True when the parameter took part in what was simulated so far. */
bool fabric_param_had_effect(const struct fabric *f, enum param_id id);

#endif
