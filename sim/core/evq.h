/* SPDX-License-Identifier: Apache-2.0 */
/* Event queue in memory given by the caller: pops by time, then push order. */
#ifndef SIM_CORE_EVQ_H
#define SIM_CORE_EVQ_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sim/base/units.h"

enum evq_kind {
    EVQ_CALENDAR, /* the default: constant cost while the bucket width suits, resizes itself */
    EVQ_HEAP,     /* the reference: same order, O(log n) */
};

struct evq_event {
    simtime at;
    uint64_t seq;  /* push order, unique in one queue */
    uint32_t kind; /* what happens; the queue does not look at it */
    uint32_t arg;  /* to whom: an index */
};

/* Opaque; holds no pointer, so the memory may be mapped at another address elsewhere. */
struct evq;

/* Bytes that evq_init needs for at most `capacity` pending events. capacity in 1..2^30. */
size_t evq_mem_size(enum evq_kind kind, uint32_t capacity);
/* Builds a queue in mem (aligned to 64 bytes, evq_mem_size bytes). Returns it. */
struct evq *evq_init(void *mem, enum evq_kind kind, uint32_t capacity);
/* Adds an event; false when the queue is full. `at` may lie before the last popped time. */
bool evq_push(struct evq *evq, simtime at, uint32_t kind, uint32_t arg);
/* Removes the least event by (at, seq); false when empty. */
bool evq_pop(struct evq *evq, struct evq_event *ret);
/* Like evq_pop, but leaves the queue alone when the least event lies after `limit`. */
bool evq_pop_until(struct evq *evq, simtime limit, struct evq_event *ret);
/* Time of the least event; simtime_never() when empty. */
simtime evq_next_time(struct evq *evq);
bool evq_is_empty(const struct evq *evq);
uint32_t evq_count(const struct evq *evq);

#endif
