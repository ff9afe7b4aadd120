/* SPDX-License-Identifier: Apache-2.0 */
/* What each thread of a collective does, phase by phase, as a pure function: nothing is stored. */
#ifndef SIM_WORKLOAD_PLAN_H
#define SIM_WORKLOAD_PLAN_H

#include <stdbool.h>
#include <stdint.h>

#include "sim/base/err.h"
#include "sim/base/units.h"
#include "sim/fabric/cluster.h"
#include "sim/fabric/param.h"
#include "sim/workload/layout.h"
#include "sim/workload/run.h"

/*
 * Messages in one direction of one lane, in order. Message m belongs to step m / per_step and is
 * the k-th of that step, k = m % per_step. Step s handles block (block + stride * s) mod blocks of
 * the phase, and of that block the slice [slice_begin, slice_begin + slice_bytes).
 */
struct stream {
    uint32_t lane;
    bool is_send;
    uint32_t depth; /* buffers: messages posted and not complete */
    uint32_t block;
    uint32_t stride; /* 0, 1, or blocks - 1 to go down */
    uint32_t steps;
    uint32_t
        reduce_steps; /* received messages of earlier steps are reduced, of later ones copied */
    uint64_t per_step;
    uint64_t slice_begin;
    uint64_t slice_bytes;
};

/* Streams that run side by side; a thread begins the next phase when all of them are complete. */
struct phase {
    uint64_t chunk;       /* bytes of one buffer */
    uint64_t origin;      /* where block 0 begins in the vector */
    uint64_t limit;       /* where the last block ends: it may be shorter */
    uint64_t block_bytes; /* of the others */
    uint32_t blocks;
    bool has_full_buffers; /* every message is sent at full length, as JACCL does */
    bool is_shared_send;   /* one staging copy serves all sends of a chunk */
    bool is_ordered;       /* chunk m is reduced in lane order when it is here from every lane */
    bool is_from_input;    /* sends come from the input, not from what was reduced so far */
    bool is_guarded;       /* message m may be reduced only once our own m is staged */
    bool is_gated;         /* a send waits for what all receives of this phase have brought */
    uint32_t gate_back;    /* of how many steps before: 1 in a ring, 0 when forwarding */
    uint64_t gate_unit;    /* in units of this many messages: 1, or a packet of segments */
    uint32_t stream_count;
    struct stream *streams; /* the caller's array of plan.stream_max */
};

struct plan;

/* Fills *ret; false when the thread has no phase of that index. A phase may have no stream. */
typedef bool plan_phase_fn(const struct plan *plan, uint32_t rank, uint32_t thread, uint32_t index,
                           struct phase *ret);

/* Costs beside posts and polls. */
enum plan_staging {
    PLAN_STAGED,      /* copied into and out of registered buffers */
    PLAN_REDUCE_ONLY, /* only reductions cost: the socket's copies are part of the IP stack */
    PLAN_ZERO_COPY,   /* the application's own buffers are registered */
};

/* One item at one size. */
struct plan {
    const struct run_item *item;    /* borrowed */
    const struct layout *layout;    /* borrowed */
    const struct param_set *params; /* borrowed */
    plan_phase_fn *phase;
    enum run_op op; /* a barrier is an all_reduce of one byte */
    enum dtype dtype;
    uint32_t element;     /* bytes */
    uint64_t bytes;       /* of the vector that phases index: all_gather: of all ranks together */
    uint64_t block_bytes; /* of a rank's share: ceil(elements / ranks) elements */
    enum plan_staging staging;
    uint64_t chunk; /* textbook and IP: bytes a message */
    uint32_t depth;
    uint64_t packet;       /* TCP ring: messages that are reduced together */
    uint64_t class_max;    /* JACCL: largest buffer class */
    uint32_t pieces;       /* TCP ring: parts of the vector that run at the same time */
    bool has_posted_ahead; /* the first receives were posted before the clock started */
    uint32_t stream_max;   /* streams in a phase, at most */
    uint32_t depth_max;    /* depth of any stream */
    bool is_queue_bound;   /* a longer queue would hold more or longer messages */
    const char *note;      /* what a reader of the result must know; NULL */
};

/*
 * Prepares the plan of an item at one size.
 *
 * Returns: true and *ret; false with *reterr when the size cannot be run, such as a size that is
 *          not a whole number of elements.
 */
bool plan_make(const struct run_item *item, bytecount size, const struct layout *layout,
               const struct cluster *cluster, const struct param_set *params, struct plan *ret,
               struct err *reterr);

/* The families, called by plan_make when the fields that all share are filled. */
bool plan_make_jaccl(struct plan *plan, const struct cluster *cluster, struct err *reterr);
bool plan_make_textbook(struct plan *plan, struct err *reterr);
void plan_make_tcp_ring(struct plan *plan);
bool plan_make_micro(struct plan *plan, struct err *reterr);

/* Above this JACCL exchanges in more than one shot. */
#define JACCL_ONE_SHOT_MAX UINT64_C(32768)

/* Largest JACCL buffer class not above `bytes`, at least 4 KiB. */
uint64_t jaccl_buffer_class(uint64_t bytes, uint64_t class_max);
bool jaccl_mesh_is_one_shot(const struct plan *plan);
/* One wire, one direction. */
bool jaccl_ring_is_small(const struct plan *plan);

/* How many messages of the default or chosen depth fit into a queue; 0: not even one. */
uint32_t plan_fit_depth(const struct plan *plan, uint64_t chunk, uint32_t depth);

/* A phase over the whole vector as one block. */
void phase_begin(const struct plan *plan, struct phase *phase);
/* Cuts the vector into `blocks` blocks. */
void phase_cut(struct phase *phase, uint64_t block_bytes, uint32_t blocks);
/* Adds a stream of one step over all of one block. */
struct stream *phase_add(const struct plan *plan, struct phase *phase, bool is_send, uint32_t lane,
                         uint32_t block);
/* The whole vector along a line of ranks, each passing on what it has received. Its only phase. */
bool phase_forward(const struct plan *plan, uint32_t rank, uint32_t index, struct phase *phase);
/* Restricts a stream to a slice. */
void stream_cut(const struct phase *phase, struct stream *stream, uint64_t begin, uint64_t bytes);

/* ceil(elements / parts) elements, in bytes. */
uint64_t plan_share(const struct plan *plan, uint64_t bytes, uint32_t parts);

/* Bytes and place of a stream's slice of a block. */
static inline uint64_t phase_slice(const struct phase *phase, const struct stream *stream,
                                   uint32_t block, uint64_t *ret_offset)
{
    uint64_t base = phase->origin + block * phase->block_bytes;
    uint64_t slice_end = stream->slice_begin + stream->slice_bytes;
    uint64_t end = base + (slice_end < phase->block_bytes ? slice_end : phase->block_bytes);
    uint64_t begin = base + stream->slice_begin;

    if (end > phase->limit)
        end = phase->limit;
    *ret_offset = begin;
    return begin < end ? end - begin : 0;
}

/* Bytes and place of the k-th message of a block. */
static inline uint64_t phase_message(const struct phase *phase, const struct stream *stream,
                                     uint32_t block, uint64_t k, uint64_t *ret_offset)
{
    uint64_t slice = phase_slice(phase, stream, block, ret_offset);
    uint64_t before = k * phase->chunk;
    uint64_t left = before < slice ? slice - before : 0;

    *ret_offset += before;
    return left < phase->chunk ? left : phase->chunk;
}

#endif
