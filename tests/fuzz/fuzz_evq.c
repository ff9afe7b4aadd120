/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Bytes are a program of pushes and pops. Property: both kinds of queue do at every step what a
 * sorted array does.
 *
 * The first two bytes are the capacity less one, little endian, modulo CAPACITY_MAX; then an
 * opcode (modulo OP_COUNT) and what it needs. Operands past the end are zero.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "sim/core/evq.h"

#define CAPACITY_MAX 2048U

enum op {
    OP_PUSH_NEAR,  /* u8: picoseconds after the last pop */
    OP_PUSH_SCALE, /* u8, u8: the first, shifted left by the second, after the last pop */
    OP_PUSH_AT,    /* u64: any time */
    OP_PUSH_BACK,  /* u8: before the last pop */
    OP_PUSH_MANY,  /* u8, u8: so many, all at the second shifted left by eight after the last pop */
    OP_POP,        /* */
    OP_POP_UNTIL,  /* u8, u8: like OP_PUSH_SCALE */
    OP_POP_MANY,   /* u8: so many */
    OP_COUNT
};

struct program {
    const uint8_t *bytes;
    size_t left;
};

/* The reference: sorted by time, then age. It creeps through twice its room, so that a pop moves
 * nothing. */
struct sorted {
    struct evq_event room[2 * CAPACITY_MAX];
    struct evq_event *events; /* borrowed: the first in room */
    uint32_t count;
    uint32_t capacity;
    uint64_t pushed;
};

struct state {
    struct evq *queues[2];
    struct sorted sorted;
    simtime now;
};

static uint64_t take(struct program *program, size_t size)
{
    uint64_t n = 0;

    for (size_t i = 0; i < size && program->left; i++, program->left--)
        n |= (uint64_t)*program->bytes++ << 8 * i;
    return n;
}

static void require(bool holds)
{
    if (!holds)
        abort();
}

static simtime after(simtime now, uint64_t span)
{
    return (simtime){(int64_t)((uint64_t)now.ps + span)};
}

static simtime take_scaled(struct program *program, simtime now)
{
    uint64_t span = take(program, 1);

    return after(now, span << take(program, 1) % 56);
}

static bool sorted_push(struct sorted *sorted, struct evq_event event)
{
    uint32_t place = sorted->count;

    if (sorted->count == sorted->capacity)
        return false;
    if (sorted->events + sorted->count == sorted->room + 2 * (size_t)CAPACITY_MAX) {
        memmove(sorted->room, sorted->events, sorted->count * sizeof event);
        sorted->events = sorted->room;
    }
    event.seq = sorted->pushed++;
    while (place > 0 && sorted->events[place - 1].at.ps > event.at.ps)
        place--;
    memmove(&sorted->events[place + 1], &sorted->events[place],
            (sorted->count - place) * sizeof event);
    sorted->events[place] = event;
    sorted->count++;
    return true;
}

static void push(struct state *state, simtime at)
{
    struct evq_event event = {
        .at = at, .kind = (uint32_t)state->sorted.pushed, .arg = ~(uint32_t)state->sorted.pushed};
    bool has_room = sorted_push(&state->sorted, event);

    for (size_t i = 0; i < 2; i++)
        require(evq_push(state->queues[i], at, event.kind, event.arg) == has_room);
}

static void pop(struct state *state, simtime limit)
{
    struct sorted *sorted = &state->sorted;
    bool is_due = sorted->count && sorted->events[0].at.ps <= limit.ps;

    for (size_t i = 0; i < 2; i++) {
        struct evq_event found;

        require(evq_pop_until(state->queues[i], limit, &found) == is_due);
        if (is_due)
            require(found.at.ps == sorted->events[0].at.ps && found.seq == sorted->events[0].seq &&
                    found.kind == sorted->events[0].kind && found.arg == sorted->events[0].arg);
    }
    if (!is_due)
        return;
    state->now = sorted->events[0].at;
    sorted->count--;
    sorted->events++;
}

static void check_view(struct state *state)
{
    const struct sorted *sorted = &state->sorted;
    int64_t next = sorted->count ? sorted->events[0].at.ps : SIMTIME_NEVER_PS;

    for (size_t i = 0; i < 2; i++) {
        require(evq_count(state->queues[i]) == sorted->count);
        require(evq_is_empty(state->queues[i]) == (sorted->count == 0));
        require(evq_next_time(state->queues[i]).ps == next);
    }
}

static void push_many(struct state *state, struct program *program)
{
    uint64_t count = take(program, 1);
    simtime at = after(state->now, take(program, 1) << 8);

    for (uint64_t i = 0; i < count; i++)
        push(state, at);
}

static void pop_many(struct state *state, uint64_t count)
{
    for (uint64_t i = 0; i < count; i++)
        pop(state, simtime_never());
}

static void step(struct state *state, struct program *program)
{
    switch ((enum op)(take(program, 1) % OP_COUNT)) {
    case OP_PUSH_NEAR:
        push(state, after(state->now, take(program, 1)));
        return;
    case OP_PUSH_SCALE:
        push(state, take_scaled(program, state->now));
        return;
    case OP_PUSH_AT:
        push(state, (simtime){(int64_t)take(program, 8)});
        return;
    case OP_PUSH_BACK:
        push(state, after(state->now, -take(program, 1)));
        return;
    case OP_PUSH_MANY:
        push_many(state, program);
        return;
    case OP_POP:
        pop(state, simtime_never());
        return;
    case OP_POP_UNTIL:
        pop(state, take_scaled(program, state->now));
        return;
    case OP_POP_MANY:
        pop_many(state, take(program, 1));
        return;
    case OP_COUNT:
        break;
    }
    abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct state state;
    struct program program = {data, size};
    static const enum evq_kind kinds[] = {EVQ_CALENDAR, EVQ_HEAP};

    state.now = (simtime){0};
    state.sorted.events = state.sorted.room;
    state.sorted.count = 0;
    state.sorted.pushed = 0;
    state.sorted.capacity = 1 + (uint32_t)take(&program, 2) % CAPACITY_MAX;
    for (size_t i = 0; i < 2; i++) {
        void *mem = aligned_alloc(64, evq_mem_size(kinds[i], state.sorted.capacity));

        require(mem != NULL);
        state.queues[i] = evq_init(mem, kinds[i], state.sorted.capacity);
    }
    while (program.left) {
        step(&state, &program);
        check_view(&state);
    }
    while (state.sorted.count)
        pop(&state, simtime_never());
    check_view(&state);
    for (size_t i = 0; i < 2; i++)
        free(state.queues[i]);
    return 0;
}
