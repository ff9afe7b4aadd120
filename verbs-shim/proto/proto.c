/* SPDX-License-Identifier: Apache-2.0 */
/* What another process wrote, checked before anybody acts on it. */
#include "verbs-shim/proto/proto.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "verbs-shim/proto/check.h"
#include "verbs-shim/proto/ring.h"

/* May a message of that length lie at that place of an arena? */
static bool is_in_arena(uint64_t slot, uint64_t length)
{
    if (length > PROTO_ARENA_BYTES)
        return false;
    return slot == PROTO_NO_SLOT || slot <= PROTO_ARENA_BYTES - length;
}

bool proto_command_is_sane(const struct proto_command *command, uint32_t client)
{
    if (command->actor / PROTO_CLIENT_ACTORS != client || command->t < 0 ||
        command->t > PROTO_TIME_MAX)
        return false;
    switch ((enum proto_command_kind)command->kind) {
    case PROTO_COMMAND_SEND:
    case PROTO_COMMAND_APPLIED:
        return is_in_arena(command->slot, command->length);
    case PROTO_COMMAND_CONSUMED:
        return command->qp < PROTO_CLIENTS_MAX && command->slot < PROTO_ARENA_BYTES;
    case PROTO_COMMAND_RECV:
        return command->length <= PROTO_ARENA_BYTES;
    case PROTO_COMMAND_INTERRUPT:
        return command->slot / PROTO_CLIENT_ACTORS == client;
    case PROTO_COMMAND_WAKE:
    case PROTO_COMMAND_OUTSIDE:
        return true;
    }
    return false;
}

bool proto_event_is_sane(const struct proto_event *event)
{
    switch ((enum proto_event_kind)event->kind) {
    case PROTO_EVENT_COMPLETION:
    case PROTO_EVENT_APPLY:
        return event->t >= 0 && event->cq < PROTO_CQS_MAX && event->peer < PROTO_CLIENTS_MAX &&
               is_in_arena(event->slot, event->length);
    case PROTO_EVENT_SLOT_FREE:
        return event->slot < PROTO_ARENA_BYTES;
    }
    return false;
}

/* Commands in the ring; UINT32_MAX: a cursor is wrong. */
static uint32_t count_commands(const struct proto_cursors *ring, uint32_t taken)
{
    if (atomic_load_explicit(&ring->head, memory_order_relaxed) != taken)
        return UINT32_MAX;
    return ring_readable(ring, PROTO_COMMANDS);
}

enum proto_read proto_peek_command(const struct proto_segment *segment, uint32_t client,
                                   uint32_t taken, int64_t *ret_t, uint32_t *ret_actor)
{
    const struct proto_command *command = &segment->commands[taken % PROTO_COMMANDS];
    uint32_t count = count_commands(&segment->command_ring, taken);

    if (count == 0)
        return PROTO_READ_NOTHING;
    *ret_t = *(const volatile int64_t *)&command->t;
    *ret_actor = *(const volatile uint32_t *)&command->actor;
    if (count == UINT32_MAX || *ret_t < 0 || *ret_t > PROTO_TIME_MAX ||
        *ret_actor / PROTO_CLIENT_ACTORS != client)
        return PROTO_READ_DAMAGED;
    return PROTO_READ_ONE;
}

/* A copy, and the compiler does not look again where it came from. */
static void copy_out(void *to, const void *from, size_t bytes)
{
    memcpy(to, from, bytes);
    atomic_signal_fence(memory_order_seq_cst);
}

enum proto_read proto_take_command(struct proto_segment *segment, uint32_t client, uint32_t *taken,
                                   struct proto_command *ret)
{
    uint32_t count = count_commands(&segment->command_ring, *taken);

    if (count == 0)
        return PROTO_READ_NOTHING;
    copy_out(ret, &segment->commands[*taken % PROTO_COMMANDS], sizeof *ret);
    if (count == UINT32_MAX || !proto_command_is_sane(ret, client))
        return PROTO_READ_DAMAGED;
    atomic_store_explicit(&segment->command_ring.head, ++*taken, memory_order_release);
    return PROTO_READ_ONE;
}

enum proto_read proto_take_event(struct proto_segment *segment, struct proto_event *ret)
{
    struct proto_cursors *ring = &segment->event_ring;
    uint32_t count = ring_readable(ring, PROTO_EVENTS);

    if (count == 0)
        return PROTO_READ_NOTHING;
    copy_out(ret, &segment->events[ring_read_at(ring, PROTO_EVENTS, 0)], sizeof *ret);
    if (count == UINT32_MAX || !proto_event_is_sane(ret))
        return PROTO_READ_DAMAGED;
    ring_consume(ring, 1);
    return PROTO_READ_ONE;
}

/* The queues that an actor polls or watches. */
static bool read_queues(const struct proto_chan *chan, struct proto_parked *ret)
{
    uint32_t count = *(const volatile uint32_t *)&chan->polled_count;

    if (count > PROTO_POLLED_MAX)
        return false;
    ret->polled_count = count;
    ret->new_cqs = PROTO_CQS_MAX;
    copy_out(ret->polled, chan->polled, count * sizeof ret->polled[0]);
    for (uint32_t i = 0; i < count; i++) {
        if (ret->polled[i] >= PROTO_CQS_MAX)
            return false;
    }
    return true;
}

/* A row of empty polls, and the queues polled. */
static bool read_row(const struct proto_chan *chan, struct proto_parked *ret)
{
    ret->since = *(const volatile int64_t *)&chan->since;
    ret->polls = *(const volatile uint32_t *)&chan->polls;
    return ret->since >= 0 && ret->since <= ret->vt && read_queues(chan, ret) &&
           ret->polled_count > 0;
}

bool proto_read_park(const struct proto_chan *chan, int64_t since, struct proto_parked *ret)
{
    uint32_t park = *(const volatile uint32_t *)&chan->park;
    uint32_t call = *(const volatile uint32_t *)&chan->call;

    *ret = (struct proto_parked){.vt = atomic_load_explicit(&chan->vt, memory_order_acquire)};
    if (park >= PROTO_PARK_COUNT || ret->vt < since || ret->vt > PROTO_TIME_MAX)
        return false;
    ret->park = (enum proto_park)park;
    ret->is_asleep = *(const volatile uint32_t *)&chan->is_asleep != 0;
    ret->has_loose = *(const volatile uint32_t *)&chan->has_loose != 0;
    ret->is_again = *(const volatile uint32_t *)&chan->is_again != 0;
    ret->acts = *(const volatile uint32_t *)&chan->acts;
    ret->first = *(const volatile int64_t *)&chan->first;
    ret->deadline = *(const volatile int64_t *)&chan->deadline;
    switch (ret->park) {
    case PROTO_PARK_IDLE:
        ret->grid = *(const volatile int64_t *)&chan->grid;
        return ret->grid > 0 && read_row(chan, ret);
    case PROTO_PARK_QUIET:
        return read_row(chan, ret);
    case PROTO_PARK_EXTERNAL:
        if (!read_queues(chan, ret))
            return false;
        ret->new_cqs = *(const volatile uint32_t *)&chan->new_cqs;
        return ret->new_cqs <= PROTO_CQS_MAX;
    case PROTO_PARK_WAIT:
        ret->key = *(const volatile uint64_t *)&chan->key;
        return true;
    case PROTO_PARK_CALL:
        ret->call = (enum proto_call)call;
        return call < PROTO_CALL_COUNT;
    case PROTO_PARK_EXIT:
        ret->ends_process = *(const volatile int64_t *)&chan->args.raw[0] != 0;
        return true;
    case PROTO_PARK_TURN:
    case PROTO_PARK_SPIN:
    case PROTO_PARK_SAME:
    case PROTO_PARK_COUNT:
        break;
    }
    return true;
}

void proto_read_args(const struct proto_chan *chan, union proto_call_args *ret)
{
    copy_out(ret, &chan->args, sizeof *ret);
}
