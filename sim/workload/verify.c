/* SPDX-License-Identifier: Apache-2.0 */
/*
 * DOC: Real bytes
 *
 * In test mode every rank owns an input and an output vector. A message copies its part when it is
 * posted and waits in line at the receiving lane, since messages of a queue pair arrive in order;
 * the receiver's reduction or copy takes the oldest one.
 *
 * Inputs are small whole numbers from a hash of rank and position, small enough that the sum over
 * all ranks is exact in every type, bfloat16 (8 digits) included: then the result does not depend
 * on the order of the sum, and every missing, doubled or misplaced chunk shows. max and min use
 * numbers of both signs.
 */
#include "sim/workload/verify.h"

#include <stdlib.h>
#include <string.h>

#include "sim/base/mem.h"
#include "sim/base/rng.h"
#include "sim/workload/dtype.h"
#include "sim/workload/layout.h"
#include "sim/workload/run.h"

#define BYTES_MAX   (UINT64_C(1) << 30)
#define EXACT_MAX   256U /* bfloat16 holds every whole number up to here */
#define RANGE_MAX   97U
#define ELEMENT_MAX 8U

/* A message on its way. */
struct parcel {
    struct parcel *next;
    uint64_t bytes;
    unsigned char data[];
};

struct queue {
    struct parcel *oldest;
    struct parcel *newest;
};

struct verify {
    const struct plan *plan; /* borrowed */
    uint64_t round;          /* repetition: other numbers each time */
    unsigned char **in;      /* [ranks], owned, plan->bytes each */
    unsigned char **out;
    unsigned char *expected; /* owned; the sum over all ranks, or one rank's result */
    struct queue *queues;    /* [threads of all ranks][lanes] */
    uint32_t queue_count;
    bool is_broken; /* a receive found no message, or one of another length */
};

bool verify_fits(const struct plan *plan)
{
    return plan->bytes <= BYTES_MAX / 2 / plan->layout->ranks;
}

/* Numbers from 0 to this, less half of it when they need not be summed. */
static uint32_t number_range(const struct verify *v)
{
    uint32_t range = EXACT_MAX / v->plan->layout->ranks;

    if (v->plan->item->reduction != REDUCTION_SUM || range > RANGE_MAX)
        return RANGE_MAX;
    return range < 2 ? 2 : range;
}

/* A hash is good for eight elements. */
static void fill_input(struct verify *v, uint32_t rank)
{
    const struct plan *plan = v->plan;
    uint32_t range = number_range(v);
    int64_t shift = plan->item->reduction == REDUCTION_SUM ? 0 : range / 2;
    uint32_t size = plan->element;
    unsigned char elements[EXACT_MAX][ELEMENT_MAX];
    uint64_t bits = 0;

    for (uint32_t i = 0; i < range; i++)
        dtype_put_number(plan->dtype, elements[i], i - shift);
    for (uint64_t i = 0; i < plan->bytes / size; i++) {
        bits = i % 8 ? bits >> 8 : rng_hash(v->round, rank, i);
        memcpy(v->in[rank] + i * size, elements[(bits & 0xff) * range >> 8], size);
    }
}

/* Which part of its output a rank holds before the operation begins. */
static struct verify_part own_part(const struct plan *plan, uint32_t rank)
{
    struct verify_part part = {rank, 0, plan->bytes};
    bool is_source = rank == (plan->op == RUN_BROADCAST ? plan->item->root : 0);

    switch (plan->op) {
    case RUN_ALL_GATHER:
    case RUN_ALL_TO_ALL:
        part.offset = rank * plan->block_bytes;
        part.bytes = plan->block_bytes;
        break;
    case RUN_BROADCAST:
    case RUN_SEND_RECV:
        part.bytes = is_source ? plan->bytes : 0;
        break;
    case RUN_ALL_REDUCE:
    case RUN_REDUCE_SCATTER:
    case RUN_BARRIER:
    case RUN_PING_PONG:
    case RUN_STREAM:
    case RUN_OP_COUNT:
        break;
    }
    return part;
}

static void fill(struct verify *v, uint32_t rank)
{
    const struct plan *plan = v->plan;
    struct verify_part own = own_part(plan, rank);

    fill_input(v, rank);
    memset(v->out[rank], 0, plan->bytes);
    memcpy(v->out[rank] + own.offset, v->in[rank] + own.offset, own.bytes);
}

static void drop_parcels(struct verify *v)
{
    for (uint32_t i = 0; i < v->queue_count; i++) {
        while (v->queues[i].oldest) {
            struct parcel *parcel = v->queues[i].oldest;

            v->queues[i].oldest = parcel->next;
            free(parcel);
        }
        v->queues[i].newest = NULL;
    }
}

void verify_reset(struct verify *v)
{
    drop_parcels(v);
    v->round++;
    v->is_broken = false;
    for (uint32_t rank = 0; rank < v->plan->layout->ranks; rank++)
        fill(v, rank);
}

struct verify *verify_new(const struct plan *plan)
{
    const struct layout *l = plan->layout;
    struct verify *v = mem_alloc_zeroed(1, sizeof *v);

    v->plan = plan;
    v->in = mem_alloc_zeroed(1, l->ranks * sizeof *v->in);
    v->out = mem_alloc_zeroed(1, l->ranks * sizeof *v->out);
    for (uint32_t rank = 0; rank < l->ranks; rank++) {
        v->in[rank] = mem_alloc_zeroed(1, plan->bytes);
        v->out[rank] = mem_alloc_zeroed(1, plan->bytes);
    }
    v->expected = mem_alloc_zeroed(1, plan->bytes);
    v->queue_count = l->ranks * l->threads * l->lanes;
    v->queues = mem_alloc_zeroed(1, v->queue_count * sizeof *v->queues);
    return v;
}

void verify_free(struct verify *v)
{
    if (!v)
        return;
    drop_parcels(v);
    for (uint32_t rank = 0; rank < v->plan->layout->ranks; rank++) {
        free(v->in[rank]);
        free(v->out[rank]);
    }
    free(v->in);
    free(v->out);
    free(v->expected);
    free(v->queues);
    free(v);
}

void verify_send(struct verify *v, const struct verify_part *part, bool is_from_input,
                 uint32_t to_worker, uint32_t to_lane)
{
    struct queue *queue = &v->queues[to_worker * v->plan->layout->lanes + to_lane];
    struct parcel *parcel = mem_alloc_zeroed(1, sizeof *parcel + part->bytes);
    const unsigned char *from = is_from_input ? v->in[part->rank] : v->out[part->rank];

    parcel->bytes = part->bytes;
    if (part->bytes)
        memcpy(parcel->data, from + part->offset, part->bytes);
    if (queue->newest)
        queue->newest->next = parcel;
    else
        queue->oldest = parcel;
    queue->newest = parcel;
}

static struct parcel *take_parcel(struct queue *queue)
{
    struct parcel *parcel = queue->oldest;

    if (!parcel)
        return NULL;
    queue->oldest = parcel->next;
    if (!queue->oldest)
        queue->newest = NULL;
    return parcel;
}

void verify_receive(struct verify *v, const struct verify_part *part, uint32_t worker,
                    uint32_t lane, bool is_reduced, bool is_damaged)
{
    struct parcel *parcel = take_parcel(&v->queues[worker * v->plan->layout->lanes + lane]);
    unsigned char *into = v->out[part->rank] + part->offset;

    if (!parcel || parcel->bytes != part->bytes) {
        v->is_broken = true;
    } else if (part->bytes) {
        if (is_damaged)
            parcel->data[0] ^= 0xff;
        if (is_reduced)
            dtype_reduce(v->plan->dtype, v->plan->item->reduction, into, parcel->data,
                         part->bytes / v->plan->element);
        else
            memcpy(into, parcel->data, part->bytes);
    }
    free(parcel);
}

/* What a rank's output must be, where nothing is reduced: whose input lies in which block. */
static void expect_copies(const struct verify *v, uint32_t rank)
{
    const struct plan *plan = v->plan;
    uint64_t block = plan->block_bytes;

    for (uint32_t from = 0; from < plan->layout->ranks; from++) {
        uint64_t there = (plan->op == RUN_ALL_TO_ALL ? rank : from) * block;

        memcpy(v->expected + from * block, v->in[from] + there, block);
    }
}

static void expect_reduction(const struct verify *v)
{
    const struct plan *plan = v->plan;

    memcpy(v->expected, v->in[0], plan->bytes);
    for (uint32_t rank = 1; rank < plan->layout->ranks; rank++)
        dtype_reduce(plan->dtype, plan->item->reduction, v->expected, v->in[rank],
                     plan->bytes / plan->element);
}

/* The part of its output that an operation promises to a rank. */
static struct verify_part promised_part(const struct plan *plan, uint32_t rank)
{
    struct verify_part part = {rank, 0, plan->bytes};

    if (plan->op == RUN_REDUCE_SCATTER) {
        part.offset = rank * plan->block_bytes;
        if (part.offset > plan->bytes)
            part.offset = plan->bytes;
        part.bytes = plan->bytes - part.offset;
        if (part.bytes > plan->block_bytes)
            part.bytes = plan->block_bytes;
    }
    if (plan->op == RUN_SEND_RECV && rank + 1 < plan->layout->ranks)
        part.bytes = 0;
    return part;
}

static bool is_rank_right(const struct verify *v, uint32_t rank)
{
    struct verify_part part = promised_part(v->plan, rank);

    return memcmp(v->expected + part.offset, v->out[rank] + part.offset, part.bytes) == 0;
}

bool verify_is_right(const struct verify *v)
{
    const struct plan *plan = v->plan;
    bool is_own = plan->op == RUN_ALL_GATHER || plan->op == RUN_ALL_TO_ALL;

    if (plan->op == RUN_PING_PONG || plan->op == RUN_STREAM)
        return !v->is_broken;
    if (plan->op == RUN_ALL_REDUCE || plan->op == RUN_REDUCE_SCATTER)
        expect_reduction(v);
    else if (!is_own)
        memcpy(v->expected, v->in[plan->op == RUN_BROADCAST ? plan->item->root : 0], plan->bytes);
    for (uint32_t rank = 0; rank < plan->layout->ranks; rank++) {
        if (is_own)
            expect_copies(v, rank);
        if (!is_rank_right(v, rank))
            return false;
    }
    return !v->is_broken;
}
