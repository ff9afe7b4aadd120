/* SPDX-License-Identifier: Apache-2.0 */
/*
 * DOC: The rules of virtual time
 *
 * Every decision about time is one of these functions; docs/emulation.md explains them in words.
 *
 * Order. What actors do is ordered by (time, actor, order of posting). A command is executed when
 * nobody can come before it any more; events of the fabric at its very instant come first.
 *
 * Lease. An actor may run ahead of the others, and reads only what it was told. So its lease ends
 * where something unknown could first reach it: `base` is the first instant at which anything can
 * happen anywhere else (another actor acts, the fabric has an event, a command waits), and nothing
 * that happens then is seen by this actor before `look-ahead` has passed.
 *
 * Grid. A thread that polls empty queues over and over is moved, by whole rounds of polls, to the
 * last round's end before its completion is due, and polls on from there: to the picosecond what
 * the unfolded loop gives. Rounding up instead would depend on when folding began.
 */
#ifndef VERBS_SHIM_SCHED_SCHED_TIME_H
#define VERBS_SHIM_SCHED_SCHED_TIME_H

#include <stdbool.h>
#include <stdint.h>

#include "verbs-shim/proto/proto.h"

/* a + b where either may be PROTO_NEVER; b is never negative. */
static inline int64_t time_add(int64_t a, int64_t b)
{
    return a > PROTO_NEVER - b ? PROTO_NEVER : a + b;
}

static inline int64_t time_min(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

static inline int64_t time_max(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

/* The last end of a round of polls before a completion due at `first`; a round takes `grid` > 0. */
static inline int64_t time_fold(int64_t vt, int64_t first, int64_t grid)
{
    return first <= vt ? vt : vt + (first - vt - 1) / grid * grid;
}

/* Is something at (t_a, a) before something at (t_b, b)? */
static inline bool time_is_before(int64_t t_a, uint32_t a, int64_t t_b, uint32_t b)
{
    return t_a != t_b ? t_a < t_b : a < b;
}

/* Wire time of a message, rounded down: no send of it completes sooner. */
static inline int64_t time_wire(uint64_t length, int64_t ps_per_kib)
{
    uint64_t kib = length >> 10;

    /* Below 16 GiB a message, and 2^34 / 2^10 * ps_per_kib stays far below 2^63. */
    return (int64_t)(kib * (uint64_t)ps_per_kib + (((length & 1023) * (uint64_t)ps_per_kib) >> 10));
}

/* What is known of an actor's queue pairs, for its look-ahead. */
struct time_outlook {
    int64_t receive_after; /* latency of the fabric: no receive completes sooner */
    uint32_t open_sends;   /* posted, completion not known yet */
    int64_t min_wire;      /* least wire time among them */
    bool is_blind;         /* one of them may complete at any event */
};

/* How long after the first thing that may happen nothing can reach the actor. */
static inline int64_t time_lookahead(const struct time_outlook *outlook)
{
    if (outlook->is_blind)
        return 0;
    return outlook->open_sends ? time_min(outlook->receive_after, outlook->min_wire)
                               : outlook->receive_after;
}

/* The lease after a post of the actor's own at `t`: its consequences were not in the bound. */
static inline int64_t time_shrink(int64_t lease, int64_t t, int64_t soonest)
{
    return time_min(lease, time_add(t, soonest));
}

#endif
