/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The objects behind the handles that programs hold. What the program sees comes first in each, so
 * that a handle is the object's address.
 */
#ifndef VERBS_SHIM_SHIM_VERBS_OBJECTS_H
#define VERBS_SHIM_SHIM_VERBS_OBJECTS_H

#include <stdbool.h>
#include <stdint.h>

#include <infiniband/verbs.h>

#include "verbs-shim/proto/proto.h"
#include "verbs-shim/shim/actor.h"
#include "verbs-shim/shim/verbs/live.h"
#include "verbs-shim/shim/verbs/rules.h"

/* Vendor libraries (mlx5, efa) look behind a device and a context for their own marks, to tell
 * whether it is theirs: they shall find zeros. */
#define OBJECT_SLACK 4096U

/* Counters of what a device has given out, whichever context asked. */
struct device {
    struct ibv_device ibv;
    unsigned char slack[OBJECT_SLACK];
    uint32_t index;                  /* in the agreement */
    const struct proto_device *port; /* borrowed */
    uint32_t qps, mrs, cqs, pds;
};

#define ASYNC_EVENTS 64U

struct context {
    struct verbs_context verbs; /* ends with the ibv_context that programs hold */
    unsigned char slack[OBJECT_SLACK];
    struct device *device; /* borrowed */
    uint32_t uses;         /* objects that were made in it */
    struct ibv_async_event events[ASYNC_EVENTS];
    uint32_t event_head, event_count;
};

struct pd {
    struct ibv_pd ibv;
    struct context *context; /* borrowed */
    uint32_t uses;
    uint32_t in_error; /* its queue pairs in ERR */
};

struct mr {
    struct ibv_mr ibv;
    struct pd *pd; /* borrowed */
    uint64_t iova;
    unsigned int access;
};

struct channel {
    struct ibv_comp_channel ibv;
    struct context *context; /* borrowed */
    uint32_t uses;
    uint32_t number;                     /* in the library's table */
    struct cq *first_event, *last_event; /* queues whose event waits to be read; borrowed */
};

/* Completions that are known, by time; those of equal time in the order in which they came. */
struct cq {
    struct ibv_cq_ex ibv;
    struct context *context;  /* borrowed */
    struct channel *channel;  /* borrowed; NULL: none */
    uint32_t number;          /* of the client, never used twice */
    uint32_t uses;            /* queue pairs */
    struct proto_event *ring; /* owned */
    uint32_t ring_capacity, head, count;
    uint32_t needed; /* what the queue pairs may put in: their work requests */
    bool is_lost;    /* has overflowed */
    bool is_armed, is_armed_solicited;
    simtime armed_at;
    uint32_t events_waiting; /* for ibv_get_cq_event */
    uint32_t events_given, events_acked;
    struct cq *next_event; /* of the channel */
    bool takes_of_srq;     /* a queue pair that completes its receives here has an SRQ */
    bool ignores_overrun;
    struct ibv_wc wc; /* cq_ex.c: the completion that is being read */
};

/* One work request. */
struct work {
    uint64_t wr_id;
    uint32_t frames;    /* that it holds until its completion is polled */
    uint32_t sge_count; /* receives, reads, fenced sends */
    uint32_t next;      /* receives: next free one */
    bool is_used;
    bool is_fenced;            /* sends: waits for reads, its bytes are in `slot` */
    enum ibv_wc_status status; /* sends: what became of the bytes that a read brought */
    uint64_t slot;
    struct ibv_sge one;   /* the scatter list if it is short */
    struct ibv_sge *sges; /* borrowed from the queue; for more than one */
};

struct queue {
    struct work *works;   /* owned; `depth` of them */
    struct ibv_sge *sges; /* owned; NULL when a request has one element at most */
    uint32_t depth;       /* work requests */
    uint32_t frames;      /* budget; 0: not counted */
    uint32_t frames_used;
    uint32_t used;
    uint32_t head;       /* sends: oldest in use; in order */
    uint32_t first_free; /* receives: list, since an SRQ's end out of order */
};

struct srq {
    struct ibv_srq ibv;
    struct pd *pd;   /* borrowed */
    uint32_t number; /* as the scheduler knows it */
    uint32_t max_sge;
    uint32_t uses;     /* queue pairs */
    uint32_t limit;    /* as set, until its event */
    simtime limit_due; /* of that event; or never */
    struct queue recv;
    struct srq *next; /* of the library */
};

struct qp {
    struct ibv_qp_ex ibv;
    struct context *context;      /* borrowed */
    struct pd *pd;                /* borrowed */
    struct cq *send_cq, *recv_cq; /* borrowed */
    uint32_t number;              /* as the scheduler knows it */
    uint32_t epoch;               /* counts resets: what was posted before is forgotten */
    bool signals_all;
    bool has_failed;         /* in ERR by itself: the scheduler knows, and flushes */
    uint32_t reads;          /* reads and atomics whose bytes have not come */
    uint32_t fenced;         /* sends that wait for them */
    bool has_wr_ops;         /* made with the extended interface */
    struct builder *builder; /* owned; then only */
    struct queue send, recv;
    struct srq *srq; /* borrowed; NULL: receives are its own */
    struct ibv_qp_cap cap;
    struct ibv_qp_attr attr; /* only what was set, the rest is zero */
};

/* All that this process has; one, made when it joins. */
struct library {
    const struct proto_agreed *agreed; /* borrowed; NULL: not joined */
    const struct profile *profile;     /* borrowed */
    struct device *devices;            /* owned; of all ports */
    uint32_t device_count;
    struct live live;
    struct table mrs, qps, cqs; /* by lkey's number, scheduler's number, own number */
    struct srq *srqs;           /* borrowed; a list */
    uint32_t next_cq;
    uint32_t cq_count; /* that there are now */
    uint32_t next_handle;
    uint32_t next_key;
};

/* The process's library; joins the simulation if it has not joined. NULL: no part of a run, or no
 * memory (errno is set). */
struct library *library_get(void);

/*
 * How every call begins: finds the caller's actor, and charges. NULL: this thread is not under the
 * clock, errno ENOSYS. The library is there when the result is not NULL.
 */
struct actor *library_enter(enum proto_charge what);
/* The library of a process that has joined; its calls come from objects, so it has. */
struct library *library_now(void);

static inline bool object_is(const void *object, enum live_kind kind)
{
    return live_is(&library_now()->live, object, kind);
}

static inline struct context *context_of(struct ibv_context *ibv)
{
    return (struct context *)(void *)((char *)ibv - offsetof(struct verbs_context, context));
}

/* Sets errno and returns NULL, for calls that do. */
void *library_fail(int error);

/* Operations that contexts of the profile have. */
void context_set_ops(struct context *context);

#endif
