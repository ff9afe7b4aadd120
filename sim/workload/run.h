/* SPDX-License-Identifier: Apache-2.0 */
/* What a scenario asks to be run, and what came out: plain data, no behaviour. */
#ifndef SIM_WORKLOAD_RUN_H
#define SIM_WORKLOAD_RUN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sim/base/arena.h"
#include "sim/base/err.h"
#include "sim/base/ids.h"
#include "sim/base/units.h"
#include "sim/core/evq.h"
#include "sim/fabric/fabric.h"
#include "sim/fabric/param.h"

/* X(identifier, name in YAML) */
#define RUN_OP_LIST(X)                                                                          \
    X(ALL_REDUCE, "all_reduce")                                                                 \
    X(ALL_GATHER, "all_gather")                                                                 \
    X(REDUCE_SCATTER, "reduce_scatter")                                                         \
    X(ALL_TO_ALL, "all_to_all")                                                                 \
    X(BROADCAST, "broadcast")                                                                   \
    X(BARRIER, "barrier")                                                                       \
    X(SEND_RECV,                                                                                \
      "send_recv") /* one message from `from` to `to`, forwarded if they share no cable */      \
    X(PING_PONG,                                                                                \
      "ping_pong")      /* latency is half the round trip, or the round trip with round_trip */ \
    X(STREAM, "stream") /* `count` messages with `depth` outstanding: bandwidth */

#define RUN_LIBRARY_LIST(X)                                                \
    X(JACCL_MESH, "jaccl-mesh")                                            \
    X(JACCL_RING, "jaccl-ring")                                            \
    X(TCP_RING, "tcp-ring")                                                \
    X(RING, "ring") /* the textbook algorithms, over RDMA */               \
    X(MESH, "mesh") /* direct two-shot exchange */                         \
    X(RECURSIVE_DOUBLING, "recursive-doubling")                            \
    X(HALVING_DOUBLING, "halving-doubling")                                \
    X(BINOMIAL_TREE, "binomial-tree")                                      \
    X(VERBS, "verbs") /* raw SEND/RECV for ping_pong, stream, send_recv */ \
    X(TCP, "tcp")     /* the same over IP */

/* JACCL's published behaviour by date; JACCL_LATEST is the last. */
#define JACCL_VERSION_LIST(X)                                                                   \
    X(2025_12, "2025-12") /* one-shot at any size, 4 KiB buffers */                             \
    X(2026_02, "2026-02") /* size classes; ring; large mesh messages by a bidirectional ring */ \
    X(2026_04, "2026-04") /* the same, reduced in rank order */                                 \
    X(2026_08, "2026-08") /* reduce-scatter + all-gather above 32 KiB; a thread a wire */

/* clang-format off */
#define DTYPE_LIST(X) \
    X(BOOL, "bool", 1) \
    X(U8, "uint8", 1) \
    X(U16, "uint16", 2) \
    X(U32, "uint32", 4) \
    X(U64, "uint64", 8) \
    X(I8, "int8", 1) \
    X(I16, "int16", 2) \
    X(I32, "int32", 4) \
    X(I64, "int64", 8) \
    X(F16, "float16", 2) \
    X(BF16, "bfloat16", 2) \
    X(F32, "float32", 4) \
    X(F64, "float64", 8) \
    X(C64, "complex64", 8)
/* clang-format on */

#define REDUCTION_LIST(X) X(SUM, "sum") X(MAX, "max") X(MIN, "min")

#define HANDOFF_LIST(X)                                                   \
    X(NONE, "none") /* the library alone, data already on the CPU side */ \
    X(FAST, "fast") /* MLX_METAL_FAST_SYNCH=1 */                          \
    X(SLOW, "slow")

enum run_op {
#define X(id, name) RUN_##id,
    RUN_OP_LIST(X)
#undef X
    RUN_OP_COUNT
};

enum run_library {
#define X(id, name) LIBRARY_##id,
    RUN_LIBRARY_LIST(X)
#undef X
    LIBRARY_COUNT
};

enum jaccl_version {
#define X(id, name) JACCL_##id,
    JACCL_VERSION_LIST(X)
#undef X
    JACCL_VERSION_COUNT
};
#define JACCL_LATEST (JACCL_VERSION_COUNT - 1)

enum dtype {
#define X(id, name, size) DTYPE_##id,
    DTYPE_LIST(X)
#undef X
    DTYPE_COUNT
};

enum reduction {
#define X(id, name) REDUCTION_##id,
    REDUCTION_LIST(X)
#undef X
    REDUCTION_COUNT
};

enum handoff {
#define X(id, name) HANDOFF_##id,
    HANDOFF_LIST(X)
#undef X
    HANDOFF_COUNT
};

/* All names of a list, in the order of its enum. */
extern const char *const run_op_names[RUN_OP_COUNT];
extern const char *const run_library_names[LIBRARY_COUNT];
extern const char *const jaccl_version_names[JACCL_VERSION_COUNT];
extern const char *const dtype_names[DTYPE_COUNT];
extern const char *const reduction_names[REDUCTION_COUNT];
extern const char *const handoff_names[HANDOFF_COUNT];

const char *run_op_name(enum run_op op);
const char *run_library_name(enum run_library library);
const char *jaccl_version_name(enum jaccl_version version);
const char *dtype_name(enum dtype dtype);
uint32_t dtype_size(enum dtype dtype);
const char *reduction_name(enum reduction reduction);
const char *handoff_name(enum handoff handoff);

/* One entry of `run:`, every default filled. */
struct run_item {
    enum run_op op;
    enum run_library library;
    const bytecount *sizes; /* vector on each rank (all_gather: what a rank contributes) */
    size_t size_count;
    enum dtype dtype;
    enum reduction reduction;
    uint32_t repeat;
    enum jaccl_version jaccl;
    const host_id *nodes; /* ranks in order */
    size_t node_count;
    uint32_t wires;  /* cables a pair to use; 0: as many as every pair has */
    bytecount chunk; /* buffer of the textbook algorithms; zero: the library's own */
    uint32_t depth;  /* messages outstanding: textbook window, stream depth; 0: the library's own */
    uint32_t root;   /* rank, for broadcast */
    uint32_t from, to; /* ranks, for send_recv, ping_pong, stream */
    uint64_t count;    /* messages of a stream */
    bool is_duplex;    /* stream in both directions at once */
    bool is_round_trip;
    bool is_cold; /* the receiver sleeps between packets (ping, not a busy socket) */
    enum handoff handoff;
    bool has_gpu_copy;      /* the vector crosses the GPU boundary, once each way */
    bool has_storage;       /* the data comes from and goes to files */
    bitrate receiver_check; /* a receiver that verifies content at this rate; zero: none */
    enum fabric_send_completion send_completion;
    bool is_verified; /* real bytes are carried and the result is compared */
    struct src_pos pos;
};

/* One entry of `faults:`. */
enum fault_kind {
    FAULT_RATE,   /* at `at`, the cable runs at `rate` each way (cut: zero) */
    FAULT_FRAMES, /* loss and corruption from the start */
};

struct fault {
    enum fault_kind kind;
    simtime at;
    cable_id cable; /* ID_NONE with FAULT_FRAMES: every cable */
    bitrate rate_forward;
    bitrate rate_reverse; /* equal unless the cable is asymmetric */
    uint32_t loss_ppb;
    uint32_t corrupt_ppb;
    struct src_pos pos;
};

/* Parts of the time of the rank that finished last; they add up to the latency of the median
 * repetition, each in picoseconds. docs/model.md, "Shares". */
struct run_shares {
    simspan wire; /* serialisation and propagation: everything not named below */
    simspan copy; /* staging copies */
    simspan reduce;
    simspan software; /* posts, polls, socket calls */
    simspan credit;   /* idle while a send waited for the peer's receive */
    simspan handoff;  /* GPU and storage */
};

struct run_result {
    const struct run_item *item; /* borrowed */
    bytecount size;
    uint32_t nodes;
    uint32_t samples;     /* repetitions that finished */
    simtime began, ended; /* of all repetitions, on the run's time line */
    simspan latency_min, latency_median, latency_p99, latency_mean, latency_max;
    bitrate algbw;       /* size over the median; receiver's view for streams */
    bitrate busbw;       /* algbw times the customary factor of the operation */
    bitrate sender_rate; /* streams: by the sender's completions; else zero */
    simspan bound;       /* closed-form lower bound */
    struct run_shares shares;
    const char *limit; /* what binds, in words: "wire", "host staging", ... */
    const char *note;  /* what a reader must know about this row; NULL when nothing */
    bool is_deadlock;
    const char *deadlock_text; /* who waits for whom; NULL when none */
    bool is_wrong;             /* verification failed */
    uint64_t messages;         /* by all ranks, one repetition */
    uint64_t damaged;          /* messages that arrived with frames lost or changed, in all */
};

/* Use of each link direction over time, for plots: bins of equal width over the whole run. */
struct link_use {
    uint32_t bin_count;
    simspan bin_width;
    uint32_t link_count;
    const uint64_t *busy_ps; /* [link_count][bin_count] */
};

struct sim_result {
    struct arena arena; /* owns all below */
    struct run_result *rows;
    size_t row_count;
    uint64_t events;
    uint64_t digest;
    simtime end;
    bool is_deadlock;
    bool is_partial; /* stopped from outside before the end */
    bool is_wrong;
    bool had_effect[PARAM_COUNT];
    struct link_use use;
    uint64_t frames;
    uint64_t frames_lost;
    uint64_t frames_corrupted;
};

struct sim_input {
    const struct cluster *cluster;
    const struct param_set *params;
    const struct run_item *items;
    size_t item_count;
    const struct fault *faults;
    size_t fault_count;
    uint64_t seed;
    bool has_jitter;
    enum evq_kind evq;
    enum fabric_unmatched unmatched;
    bool single_frames;
    bool has_inboxes;  /* threads wake up by events even where they need not; for tests */
    uint32_t use_bins; /* 0: no link use is recorded */
};

struct sim_watch {
    void *ctx;
    /* Called between repetitions with work done and in all; may be NULL. */
    void (*progress)(void *ctx, uint64_t done, uint64_t total);
    const bool *stop; /* may be NULL; becomes true on Ctrl-C */
};

/*
 * Runs the items one after another on one time line (faults count from its start).
 *
 * Returns:  true and a filled *ret (sim_result_done frees it); false with *reterr when an item
 *           cannot run on this cluster, such as a mesh without all its cables.
 */
bool sim_run(const struct sim_input *input, const struct sim_watch *watch, struct sim_result *ret,
             struct err *reterr);
void sim_result_done(struct sim_result *result);

#endif
