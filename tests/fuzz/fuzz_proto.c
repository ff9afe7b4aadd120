/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Fuzz: a client's segment full of any bytes, read as the conductor and the client itself read it.
 * Property: what a reader hands out lies within what its contract says, and cursors of ours move by
 * what was taken and nothing else.
 */
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "verbs-shim/proto/check.h"
#include "verbs-shim/proto/proto.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct input {
    const uint8_t *at;
    size_t left;
};

/* The next bytes; zeros when there are no more. */
static void take(struct input *in, void *to, size_t bytes)
{
    size_t n = bytes < in->left ? bytes : in->left;

    memset(to, 0, bytes);
    if (n > 0)
        memcpy(to, in->at, n);
    in->at += n;
    in->left -= n;
}

static uint32_t take_u32(struct input *in)
{
    uint32_t x;

    take(in, &x, sizeof x);
    return x;
}

static void demand(bool holds)
{
    if (!holds)
        abort();
}

static bool lies_in_arena(uint64_t slot, uint64_t length)
{
    return length <= PROTO_ARENA_BYTES &&
           (slot == PROTO_NO_SLOT ||
            (slot <= PROTO_ARENA_BYTES && slot + length <= PROTO_ARENA_BYTES));
}

static void read_commands(struct proto_segment *segment, uint32_t client, uint32_t taken)
{
    for (int i = 0; i < 4; i++) {
        struct proto_command command;
        uint32_t before = taken;
        uint32_t actor;
        int64_t t;
        enum proto_read peeked = proto_peek_command(segment, client, taken, &t, &actor);
        enum proto_read got = proto_take_command(segment, client, &taken, &command);

        demand(got != PROTO_READ_ONE || peeked == PROTO_READ_ONE);
        demand(taken == before + (got == PROTO_READ_ONE));
        if (got != PROTO_READ_ONE)
            return;
        demand(atomic_load(&segment->command_ring.head) == taken);
        demand(command.t == t && t >= 0 && t <= PROTO_TIME_MAX);
        demand(command.actor == actor && actor / PROTO_CLIENT_ACTORS == client);
        if (command.kind == PROTO_COMMAND_SEND)
            demand(lies_in_arena(command.slot, command.length));
    }
}

static void read_events(struct proto_segment *segment)
{
    for (int i = 0; i < 4; i++) {
        struct proto_event event;
        uint32_t head = atomic_load(&segment->event_ring.head);
        enum proto_read got = proto_take_event(segment, &event);

        demand(atomic_load(&segment->event_ring.head) == head + (got == PROTO_READ_ONE));
        if (got != PROTO_READ_ONE)
            return;
        if (event.kind == PROTO_EVENT_SLOT_FREE)
            demand(event.slot < PROTO_ARENA_BYTES);
        else
            demand(event.t >= 0 && event.cq < PROTO_CQS_MAX && event.peer < PROTO_CLIENTS_MAX &&
                   lies_in_arena(event.slot, event.length));
    }
}

static void read_channel(const struct proto_chan *chan, int64_t since)
{
    struct proto_parked parked;

    if (!proto_read_park(chan, since, &parked))
        return;
    demand(parked.vt >= since && parked.vt <= PROTO_TIME_MAX);
    demand(parked.park < PROTO_PARK_COUNT && parked.call < PROTO_CALL_COUNT);
    demand(parked.park != PROTO_PARK_IDLE || (parked.grid > 0 && parked.polled_count > 0));
    demand(parked.polled_count <= PROTO_POLLED_MAX);
    for (uint32_t i = 0; i < parked.polled_count; i++)
        demand(parked.polled[i] < PROTO_CQS_MAX);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct proto_segment segment;
    struct input in = {.at = data, .left = size};
    uint32_t client = take_u32(&in) % PROTO_CLIENTS_MAX;
    uint32_t taken = take_u32(&in);
    int64_t since;

    atomic_store(&segment.command_ring.head, taken + take_u32(&in) % 2);
    atomic_store(&segment.command_ring.tail, taken + take_u32(&in));
    atomic_store(&segment.event_ring.head, take_u32(&in));
    atomic_store(&segment.event_ring.tail, take_u32(&in));
    take(&in, &since, sizeof since);
    take(&in, &segment.chan[0], sizeof segment.chan[0]);
    for (uint32_t i = 0; i < 4; i++) {
        take(&in, &segment.commands[(taken + i) % PROTO_COMMANDS], sizeof segment.commands[0]);
        take(&in, &segment.events[(atomic_load(&segment.event_ring.head) + i) % PROTO_EVENTS],
             sizeof segment.events[0]);
    }
    read_channel(&segment.chan[0], since);
    read_commands(&segment, client, taken);
    read_events(&segment);
    return 0;
}
