/* SPDX-License-Identifier: Apache-2.0 */
/* The fabric's block of memory: private to sim/fabric/fabric*.c. */
#ifndef SIM_FABRIC_FABRIC_STATE_H
#define SIM_FABRIC_FABRIC_STATE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sim/base/ids.h"
#include "sim/base/rng.h"
#include "sim/base/units.h"
#include "sim/core/engine.h"
#include "sim/fabric/fabric.h"

enum fabric_event {
    EVENT_LINK_DONE = 1, /* link: its burst ends */
    EVENT_QP_READY,      /* queue pair: the head of its send queue may have become ready */
    EVENT_HUB_READY,     /* queue pair: a frame has crossed the hub */
    EVENT_ARRIVED,       /* queue pair: the completion of its oldest message in flight is due */
    EVENT_SEND_QUEUED,   /* queue pair: early send completion */
    EVENT_RATE,          /* entry of the table of changes */
    EVENT_LOCAL,         /* queue pair to the same host: its head message is through */
};

/* Frames in one burst at most. It bounds the events that a cut-short burst leaves behind: while one
 * waits to be found stale, at most BURST_MAX / 2 others can be cut short on the same link. */
#define BURST_MAX          64U
#define LINK_EVENTS_MAX    (BURST_MAX / 2 + 2)
#define QP_EVENTS_MAX      3U
#define MESSAGE_FRAMES_MAX 4095U
#define HUB_FRAMES         64U /* frames of one path that a hub holds: its credits */

/* One direction of one cable. */
struct fabric_link {
    bitrate line;       /* now; zero: cut */
    simspan frame_rdma; /* wire time of a full frame of each kind */
    simspan frame_ip;
    bitrate goodput; /* payload a second, frame headers of IP counted as payload */
    simspan propagation;
    uint32_t port_from, port_to; /* indexes of the IP servers of both ends */
    uint32_t cable;
    bool is_ethernet;
    bool to_forwarder;  /* the far end is a hub or switch: frames leave one at a time */
    bool is_broken;     /* the last frame of the burst is lost already */
    bool is_fresh;      /* in the list of fabric.fresh_head */
    uint32_t list_head; /* flows that wait for the link, in order */
    uint32_t list_tail;
    uint32_t serving;  /* flow on the wire; ID_NONE: idle */
    uint32_t promised; /* flow whose end of service has been reported ahead; ID_NONE */
    uint32_t burst_frames;
    simtime burst_start;
    simtime burst_end;
    uint32_t loss_ppb;
    uint32_t corrupt_ppb;
    struct fabric_link_counters counters;
    simtime promised_end;
    uint32_t next_fresh;
    uint32_t flows;   /* hops of queue pairs that lead over it */
    uint32_t changes; /* of the rate, pending */
};

/* What is known of a message. */
#define MESSAGE_SEND_TOLD 1U /* its completion at the sender has been reported ahead */
#define MESSAGE_RECV_TOLD 2U /* the same at the receiver: its receive is among recv_due */
#define MESSAGE_ORPHAN    4U /* the receive that it had claimed, or its target, is gone */

/* A message from post to completion at the receiver. */
struct fabric_send {
    uint64_t wr_id;
    simtime ready;  /* posted; for IP through the sender's stack */
    simtime arrive; /* completion at the receiver, once it has left */
    uint32_t length_bytes;
    uint16_t frames;
    uint16_t flags;
    uint32_t lost; /* frames */
    uint32_t corrupted;
};

struct fabric_recv {
    uint64_t wr_id;
    simtime visible; /* when the sender knows of it */
    uint32_t frames;
};

/*
 * Cursors count messages since the start and wrap; the place is first + (cursor & mask). In a send
 * ring arrived <= forwarded <= head <= tail; places are free again once arrived.
 *
 * One flow is one hop of one queue pair: index qp * FABRIC_HOPS_MAX + hop. What every message
 * touches comes first, in two lines of cache.
 */
struct fabric_qp {
    _Alignas(64) enum fabric_qp_kind kind;
    uint32_t peer;
    uint32_t link[FABRIC_HOPS_MAX];
    uint32_t next[FABRIC_HOPS_MAX]; /* flow behind it in line */
    uint8_t hops;                   /* zero: to the same host */
    bool completes_early;           /* FABRIC_SEND_WHEN_QUEUED */
    bool is_crossed;                /* the peer listens on another cable */
    bool has_timer;
    bool has_hub_timer;
    bool has_claim;                  /* the head message has its receive, or needs none */
    bool is_blocked;                 /* the head message found no receive, or no peer */
    bool is_listed[FABRIC_HOPS_MAX]; /* the flow waits for its link, or is on the wire */
    bool is_sized;                   /* its rings are from the pools */
    bool is_free;                    /* released; fabric.free_qp leads to it by next[0] */
    /* sending */
    uint32_t send_first, send_mask;
    uint32_t tail;      /* posted */
    uint32_t head;      /* on hop 0 */
    uint32_t forwarded; /* on hop 1, or equal to head when there is one hop */
    uint32_t arrived;
    uint32_t frames_left[FABRIC_HOPS_MAX]; /* of the message at the head of each hop */
    uint32_t reserved;                     /* receives of the peer that messages have claimed */
    uint32_t send_frames;                  /* budget in use */
    uint32_t frame_limit;                  /* budget of each queue */
    /* receiving */
    uint32_t recv_first, recv_mask;
    uint32_t recv_tail;
    uint32_t recv_head;
    uint32_t recv_due; /* receives from recv_head on whose completion has been reported ahead */
    uint32_t recv_frames;
    simtime last_arrival; /* completions stay in order */
    uint64_t jitter_key;  /* of rng_hash_at */
    simtime blocked_since;
    struct fabric_qp_counters counters;
    uint32_t hub_head, hub_tail; /* of the hub's buffer of this path: fabric_hub_slot */
    uint32_t queued;             /* early completions given */
    uint32_t queued_stale;       /* events of early completions that are to be ignored */
    uint32_t named;              /* queue pairs whose peer this is */
};

/* Places of rings of sized queue pairs: a power of two each, kept by size when given back. A free
 * ring holds the next of its size in its first word. */
#define POOL_CLASSES 32U

struct fabric_pool {
    uint64_t at; /* of the array, as struct fabric's */
    uint32_t entry_bytes;
    uint32_t next, end; /* never used yet */
    uint32_t free[POOL_CLASSES];
};

/* Kinds of traffic that there has been. */
struct fabric_traffic {
    bool rdma, ip, ethernet, hub;
    bool ip_over_cable; /* in the frames of a Thunderbolt cable */
};

/* Interface of a host: what its IP stack has promised already. */
struct fabric_port {
    simtime free_direction[2]; /* send, receive */
    simtime free_port;
    uint32_t host;
};

struct fabric_host {
    simtime free_staging;
    simtime free_stack;
    bitrate staging; /* zero: no limit */
};

struct fabric_change {
    uint32_t cable;
    bitrate rate[2];
};

struct fabric {
    uint64_t engine_at, links_at, qps_at, hubs_at, sends_at, recvs_at, ports_at, hosts_at,
        changes_at;
    uint32_t link_count, qp_count, qp_capacity, port_count, host_count;
    uint32_t change_count, change_capacity;
    uint32_t send_mask, recv_mask;
    uint32_t free_qp;                /* released queue pairs; ID_NONE */
    uint32_t created;                /* queue pairs, over all */
    uint32_t fresh_head, fresh_tail; /* links that began a burst since the last report */
    uint64_t seed;
    /* parameters, as numbers */
    bitrate goodput_80g;
    bitrate goodput_10g;
    simspan latency, jitter, credit_latency, hub_latency, ip_latency;
    bitrate stack_direction, stack_port, stack_host;
    uint32_t frame_bytes, ip_frame_bytes;
    uint32_t queue_frames;
    enum fabric_unmatched unmatched;
    bool single_frames;
    bool foresee;
    bool posts_refused;
    bool has_staged;
    struct fabric_traffic past; /* of released queue pairs */
    struct fabric_pool send_pool, recv_pool;
};

/* A part of the block. Reading through a const fabric and writing through the result is for the
 * functions below only: the block is one object, whose parts the compiler cannot see. */
static inline void *fabric_part(const struct fabric *f, uint64_t offset)
{
    // NOLINTNEXTLINE(performance-no-int-to-ptr): parts of the block go by offset
    return (void *)((uintptr_t)f + offset);
}

static inline struct fabric_link *fabric_links(const struct fabric *f)
{
    return fabric_part(f, f->links_at);
}

static inline struct fabric_qp *fabric_qps(const struct fabric *f)
{
    return fabric_part(f, f->qps_at);
}

static inline struct fabric_qp *fabric_flow_qp(const struct fabric *f, uint32_t flow)
{
    return &fabric_qps(f)[flow / FABRIC_HOPS_MAX];
}

/* When the frame at `cursor` of a path has crossed the hub. */
static inline simtime *fabric_hub_slot(const struct fabric *f, uint32_t qp, uint32_t cursor)
{
    simtime *all = fabric_part(f, f->hubs_at);

    return &all[(size_t)qp * HUB_FRAMES + cursor % HUB_FRAMES];
}

static inline struct fabric_port *fabric_ports(const struct fabric *f)
{
    return fabric_part(f, f->ports_at);
}

static inline struct fabric_host *fabric_hosts(const struct fabric *f)
{
    return fabric_part(f, f->hosts_at);
}

static inline struct fabric_change *fabric_changes(const struct fabric *f)
{
    return fabric_part(f, f->changes_at);
}

static inline struct engine *fabric_clock(const struct fabric *f)
{
    return fabric_part(f, f->engine_at);
}

static inline struct fabric_send *fabric_send_slot(const struct fabric *f, uint32_t qp,
                                                   uint32_t cursor)
{
    struct fabric_send *all = fabric_part(f, f->sends_at);
    const struct fabric_qp *q = &fabric_qps(f)[qp];

    return &all[q->send_first + (cursor & q->send_mask)];
}

static inline struct fabric_recv *fabric_recv_slot(const struct fabric *f, uint32_t qp,
                                                   uint32_t cursor)
{
    struct fabric_recv *all = fabric_part(f, f->recvs_at);
    const struct fabric_qp *q = &fabric_qps(f)[qp];

    return &all[q->recv_first + (cursor & q->recv_mask)];
}

/* When the message of RDMA frames at cursor `forwarded` arrives if it has left its last link at
 * `left`; completions stay in order. Here for the sake of speed. */
static inline simtime fabric_rdma_arrival(const struct fabric *f, uint32_t qp_ix, simtime left)
{
    const struct fabric_qp *qp = &fabric_qps(f)[qp_ix];
    const struct fabric_link *link = &fabric_links(f)[qp->link[qp->hops - 1]];
    simtime there = simtime_add(simtime_add(left, link->propagation), f->latency);

    if (f->jitter.ps > 0)
        there = simtime_add(there, rng_exponential_from_bits(
                                       rng_hash_at(qp->jitter_key, qp->forwarded), f->jitter));
    return simtime_max(there, qp->last_arrival);
}

/* fabric_link.c */
void fabric_set_link_rate(struct fabric *f, uint32_t link, bitrate line);
/* Puts a ready flow in line; starts or cuts short the link's burst. */
void fabric_enlist(struct fabric *f, uint32_t flow);
/* Takes a flow out of line that waits there. */
void fabric_unlist(struct fabric *f, uint32_t flow);
/* Starts the next flow in line when nothing is on the wire. */
void fabric_link_resume(struct fabric *f, uint32_t link);
void fabric_link_done(struct fabric *f, uint32_t link, simtime at,
                      const struct fabric_hooks *hooks);

/* fabric_qp.c */
/* Lets the head of a queue pair's send queue get in line if it may. */
void fabric_try_send(struct fabric *f, uint32_t qp);
/* The same for the second hop. */
void fabric_try_forward(struct fabric *f, uint32_t qp);
/* `frames` frames of the head message of `flow` have left its link now. */
void fabric_frames_left(struct fabric *f, uint32_t flow, uint32_t frames,
                        const struct fabric_hooks *hooks);
/* The head message of a queue pair to the same host is through. */
void fabric_local_left(struct fabric *f, uint32_t qp, const struct fabric_hooks *hooks);
/* Books the arrival of a message whose completion at the receiver has been reported. */
void fabric_settle_receive(struct fabric *f, const struct fabric_qp *qp);
/* The head of the send queue goes on, or is gone. */
void fabric_unblock(struct fabric *f, struct fabric_qp *qp);
void fabric_arrive(struct fabric *f, uint32_t qp, const struct fabric_hooks *hooks);
void fabric_complete_queued(struct fabric *f, uint32_t qp, const struct fabric_hooks *hooks);

/* fabric_ring.c */
void fabric_init_pools(struct fabric *f, uint32_t entries);
/* Gives a sized queue pair its rings; false: the pools are used up, and it has none. */
bool fabric_take_rings(struct fabric *f, struct fabric_qp *qp, const struct fabric_qp_size *size);
void fabric_give_rings(struct fabric *f, struct fabric_qp *qp);
/* Makes room for more sends or receives; false: there is none. */
bool fabric_grow_ring(struct fabric *f, struct fabric_qp *qp, bool is_recv);

/* fabric.c */
void fabric_add_traffic(const struct fabric *f, const struct fabric_qp *qp,
                        struct fabric_traffic *found);

/* fabric_foresee.c */
/* Reports what the bursts that began since the last call make certain. */
void fabric_foresee_fresh(struct fabric *f, const struct fabric_hooks *hooks);
/* The completion at the receiver of a message whose arrival is known; false: not certain, or told
 * already. */
bool fabric_foresee_receive(struct fabric *f, uint32_t qp, struct fabric_send *message,
                            struct fabric_completion *ret);

/* fabric_ip.c */
/* Passes `length` through the stack of a port; direction 0 sends, 1 receives. Returns its end. */
simtime fabric_stack_pass(struct fabric *f, uint32_t port, uint32_t direction, simtime start,
                          uint32_t length_bytes);

#endif
