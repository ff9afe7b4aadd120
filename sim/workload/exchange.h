/* SPDX-License-Identifier: Apache-2.0 */
/* Runs plans on the fabric: every thread of every rank as a state machine on completions. */
#ifndef SIM_WORKLOAD_EXCHANGE_H
#define SIM_WORKLOAD_EXCHANGE_H

#include <stdbool.h>
#include <stdint.h>

#include "sim/base/arena.h"
#include "sim/base/ids.h"
#include "sim/base/units.h"
#include "sim/fabric/fabric.h"
#include "sim/fabric/param.h"
#include "sim/workload/layout.h"
#include "sim/workload/plan.h"
#include "sim/workload/verify.h"

/* Where a thread's time went; what is left of the latency is the wire. */
enum spent {
    SPENT_COPY,
    SPENT_REDUCE,
    SPENT_SOFTWARE, /* posts, polls, wake-ups */
    SPENT_CHECK,    /* a receiver that looks at what it got */
    SPENT_OUTER,    /* GPU and files */
    SPENT_COUNT
};

/* Place in the sequence of a stream's messages. */
struct cursor {
    uint64_t index; /* messages passed */
    uint64_t k;     /* of the current step */
    uint64_t left;  /* bytes of the step's slice that these messages do not hold */
    uint32_t step;
    uint32_t block;
};

/* A stream while it runs. */
struct flow {
    const struct stream *stream; /* borrowed */
    qp_id qp;
    uint64_t count;   /* messages in all */
    uint64_t arrived; /* completions seen */
    uint64_t damaged; /* of these, damaged and not yet taken */
    uint64_t staged;  /* sends: copied into their buffers */
    struct cursor post;
    struct cursor take; /* receives: reduced or copied so far */
};

struct inbox_entry {
    simtime at;
    uint32_t lane;
    bool is_recv;
    bool is_damaged;
};

/* One thread of one rank: a server that is busy while it posts, polls, copies and reduces. */
struct worker {
    simtime free_at; /* its clock: until then it is busy */
    uint32_t rank;
    uint32_t thread;
    uint32_t index; /* of the current phase */
    uint32_t open;  /* flows of the phase that are not complete */
    bool is_done;
    bool is_waking;   /* a wake-up is pending */
    bool is_retrying; /* a post was refused; it is tried again */
    struct phase phase;
    struct flow *flows;  /* [stream_max] */
    int32_t *lane_flow;  /* [lanes][2]: flow that receives (0) and sends (1), or -1 */
    uint64_t *early;     /* [lanes]: arrivals before their phase began (IP) */
    uint32_t *in_flight; /* [lanes]: segments that are not acknowledged (IP) */
    simspan spent[SPENT_COUNT];
    simtime sent_at;           /* last completion of a send */
    struct inbox_entry *inbox; /* owned; completions that came while busy */
    uint32_t inbox_capacity;   /* a power of two */
    uint32_t inbox_head, inbox_tail;
};

/* What one rank's machine does besides. */
struct rank_state {
    host_id host;
    bitrate copy; /* zero: free */
    bitrate reduce;
    uint64_t file_bytes; /* read so far */
    simtime file_free;   /* when what was written so far is on the disk */
};

struct lane_owner {
    uint32_t worker;
    uint32_t lane;
};

struct exchange {
    struct fabric *fabric; /* borrowed */
    const struct cluster *cluster;
    const struct param_set *params;
    const struct plan *plan; /* borrowed: what runs */
    struct worker *workers;  /* owned */
    uint32_t worker_count;
    struct rank_state *ranks;  /* owned */
    struct lane_owner *owners; /* owned; by queue pair, counted from first_qp */
    uint32_t first_qp;
    uint32_t owner_count;
    uint32_t kind; /* of its own events: the first of EXCHANGE_KINDS */
    bool is_ip;
    struct verify *verify; /* NULL unless real bytes are carried */
    simspan post_send, post_recv, poll, ack;
    simspan before, after; /* of every worker: GPU and files */
    simtime start;
    uint32_t running;  /* workers that are not done */
    uint64_t messages; /* posted since exchange_start */
    uint64_t damaged;  /* arrived so since exchange_start */
    bool is_eager;     /* one thread a machine: completions are handled as they come */
    /* of the plan that runs, found once */
    bool is_staged;
    bool has_file; /* the bytes come from a file and go to one while they are sent */
    simspan wake;  /* of a receiver that sleeps */
    bitrate receiver_check;
    bool is_finished;
    bool is_stopped;            /* for fabric_run_until: finished, or stopped from outside */
    const bool *outside;        /* borrowed; the user's wish to stop; may be NULL */
    bool has_used[PARAM_COUNT]; /* parameters that cost time here, beside the fabric's own */
};

/* Makes the queue pairs of a layout: lane->qp of every lane. */
void exchange_connect(struct fabric *fabric, struct layout *layout,
                      enum fabric_send_completion completion);

/* What an exchange needs beside the fabric. All borrowed. */
struct exchange_config {
    const struct cluster *cluster;
    const struct param_set *params;
    const struct layout *layout;
    uint32_t stream_max; /* of every plan that will run */
    uint32_t item;       /* number of the item: late events of another one are told apart by it */
    bool has_inboxes;    /* even where one thread alone runs on a machine; for tests */
};

void exchange_init(struct exchange *x, struct fabric *fabric, const struct exchange_config *config);
/* Most events of its own that plans of this depth may have pending. */
uint32_t exchange_event_max(const struct layout *layout, uint32_t depth_max);
void exchange_done(struct exchange *x);

/* Starts one repetition; no worker may be running. `when` is not before the engine's time. */
void exchange_start(struct exchange *x, const struct plan *plan, simtime when);

/* The hooks' functions; ctx is the exchange. */
void exchange_completed(void *ctx, const struct fabric_completion *completion);
void exchange_user_event(void *ctx, uint32_t kind, uint32_t arg);

/* The worker that finished last, the first among equals. */
const struct worker *exchange_slowest(const struct exchange *x);

/* Who waits for whom, in words, when nothing moves any more. */
const char *exchange_explain(const struct exchange *x, struct arena *arena);

#endif
