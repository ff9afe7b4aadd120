/* SPDX-License-Identifier: Apache-2.0 */
/* The engine: a current time, an event queue and a digest of all that happened. */
#ifndef SIM_CORE_ENGINE_H
#define SIM_CORE_ENGINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sim/base/units.h"
#include "sim/core/evq.h"

/* Opaque; holds no pointer. The driver (command line or conductor) owns the memory and decides how
 * far time may move; the engine never reads a clock. */
struct engine;

size_t engine_mem_size(enum evq_kind kind, uint32_t capacity);
struct engine *engine_init(void *mem, enum evq_kind kind, uint32_t capacity);
simtime engine_now(const struct engine *engine);
/* Events handed out so far. */
uint64_t engine_event_count(const struct engine *engine);
/* Hash over (time, kind, arg) of every event handed out, in order. */
uint64_t engine_digest(const struct engine *engine);
/* Schedules an event; `at` earlier than now is moved to now. Aborts when the queue is full: its
 * capacity is a bound that the builder computed, so a full queue is a bug. */
void engine_push(struct engine *engine, simtime at, uint32_t kind, uint32_t arg);
/* The next event at or before `limit`: moves now to it. When there is none, leaves now alone and
 * returns false. */
bool engine_pop_until(struct engine *engine, simtime limit, struct evq_event *ret);
/* Moves now forward without an event; `to` must not lie before now or after the next event. */
void engine_advance(struct engine *engine, simtime to);
simtime engine_next_time(struct engine *engine);
uint32_t engine_pending(const struct engine *engine);

#endif
