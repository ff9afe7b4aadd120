/* SPDX-License-Identifier: Apache-2.0 */
/*
 * DOC: Engine
 *
 * Now, the event queue and a running hash over what was handed out. The hash is what tests compare
 * to say that two runs were the same run: it depends on every (time, kind, arg) and on their order,
 * but not on push sequence numbers, so that models may push more or fewer events that are never
 * popped.
 *
 * Invariants: now never moves back; no pending event lies before now.
 */
#include "sim/core/engine.h"

#include <assert.h>
#include <stdlib.h>

struct engine {
    _Alignas(64) simtime now; /* the queue follows, and wants 64 bytes too */
    uint64_t event_count;
    uint64_t digest;
};

static inline struct evq *queue_of(struct engine *engine)
{
    return (void *)(engine + 1);
}

static inline const struct evq *queue_of_const(const struct engine *engine)
{
    return (const void *)(engine + 1);
}

static inline uint64_t rotate(uint64_t n, unsigned by)
{
    return n << by | n >> (64 - by);
}

/* One multiplication lies on the path from event to event; the odd constants are the fractions of
 * the golden ratio and of the square roots of 3 and 5. */
static inline uint64_t mix_event(uint64_t digest, const struct evq_event *event)
{
    uint64_t what = (uint64_t)event->kind << 32 | event->arg;
    uint64_t when = (uint64_t)event->at.ps * UINT64_C(0x9e3779b97f4a7c15);

    what = rotate(what * UINT64_C(0xbb67ae8584caa73b), 32);
    return (rotate(digest, 23) ^ when ^ what) * UINT64_C(0x3c6ef372fe94f82b);
}

size_t engine_mem_size(enum evq_kind kind, uint32_t capacity)
{
    return sizeof(struct engine) + evq_mem_size(kind, capacity);
}

struct engine *engine_init(void *mem, enum evq_kind kind, uint32_t capacity)
{
    struct engine *engine = mem;

    *engine = (struct engine){.digest = UINT64_C(0x6a09e667f3bcc908)};
    evq_init(queue_of(engine), kind, capacity);
    return engine;
}

simtime engine_now(const struct engine *engine)
{
    return engine->now;
}

uint64_t engine_event_count(const struct engine *engine)
{
    return engine->event_count;
}

uint64_t engine_digest(const struct engine *engine)
{
    uint64_t n = engine->digest;

    n = (n ^ n >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    n = (n ^ n >> 27) * UINT64_C(0x94d049bb133111eb);
    return n ^ n >> 31;
}

void engine_push(struct engine *engine, simtime at, uint32_t kind, uint32_t arg)
{
    if (!evq_push(queue_of(engine), simtime_max(at, engine->now), kind, arg))
        abort();
}

bool engine_pop_until(struct engine *engine, simtime limit, struct evq_event *ret)
{
    if (!evq_pop_until(queue_of(engine), limit, ret))
        return false;
    engine->now = ret->at;
    engine->event_count++;
    engine->digest = mix_event(engine->digest, ret);
    return true;
}

void engine_advance(struct engine *engine, simtime to)
{
    assert(to.ps >= engine->now.ps);
    assert(to.ps <= engine_next_time(engine).ps);
    engine->now = to;
}

simtime engine_next_time(struct engine *engine)
{
    return evq_next_time(queue_of(engine));
}

uint32_t engine_pending(const struct engine *engine)
{
    return evq_count(queue_of_const(engine));
}
