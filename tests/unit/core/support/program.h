/* SPDX-License-Identifier: Apache-2.0 */
/* Random programs of pushes and pops, the same for every kind of queue. */
#ifndef TESTS_UNIT_CORE_SUPPORT_PROGRAM_H
#define TESTS_UNIT_CORE_SUPPORT_PROGRAM_H

#include <stdbool.h>
#include <stdint.h>

#include "sim/core/evq.h"

/* How far ahead of the last popped time an event is pushed. */
enum spread {
    SPREAD_UNIFORM,
    SPREAD_TIES,        /* whole bursts at one instant */
    SPREAD_BIMODAL,     /* most near, some a million times as far */
    SPREAD_EXPONENTIAL, /* over 40 powers of two */
    SPREAD_FAR,         /* gaps of hours, and the last representable times */
    SPREAD_PAST,        /* before what was popped last */
    SPREAD_CLUSTERS,    /* dense clusters of distinct times, far apart */
    SPREAD_COUNT
};

extern const char *const spread_names[SPREAD_COUNT];

/* Numbers that depend on the seed and the position only. */
struct draws {
    uint64_t seed;
    uint64_t index;
};

uint64_t draw(struct draws *draws);
simtime draw_time(struct draws *draws, enum spread spread, simtime now);

/* A queue in memory of its own. */
struct evq *queue_new(enum evq_kind kind, uint32_t capacity);
void queue_free(struct evq *evq);

#endif
