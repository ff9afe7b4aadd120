/* SPDX-License-Identifier: Apache-2.0 */
/* What another process wrote, checked before anybody acts on it. */
#include "verbs-shim/proto/proto.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "verbs-shim/proto/check.h"

bool proto_command_is_sane(const struct proto_command *command, uint32_t client)
{
    if (command->actor / PROTO_CLIENT_ACTORS != client || command->t < 0 ||
        command->t == PROTO_NEVER)
        return false;
    switch ((enum proto_command_kind)command->kind) {
    case PROTO_COMMAND_SEND:
        return command->slot == PROTO_NO_SLOT ||
               (command->slot <= PROTO_ARENA_BYTES && command->length <= PROTO_ARENA_BYTES &&
                command->slot + command->length <= PROTO_ARENA_BYTES);
    case PROTO_COMMAND_CONSUMED:
        return command->qp < PROTO_CLIENTS_MAX && command->slot < PROTO_ARENA_BYTES;
    case PROTO_COMMAND_RECV:
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
               (event->slot == PROTO_NO_SLOT ||
                (event->slot <= PROTO_ARENA_BYTES && event->length <= PROTO_ARENA_BYTES &&
                 event->slot + event->length <= PROTO_ARENA_BYTES));
    case PROTO_EVENT_SLOT_FREE:
        return event->slot < PROTO_ARENA_BYTES;
    }
    return false;
}

bool proto_park_is_sane(const struct proto_chan *chan)
{
    if (chan->park >= PROTO_PARK_COUNT || atomic_load_explicit(&chan->vt, memory_order_relaxed) < 0)
        return false;
    if (chan->park == PROTO_PARK_CALL)
        return chan->call < PROTO_CALL_COUNT;
    if (chan->park != PROTO_PARK_IDLE && chan->park != PROTO_PARK_EXTERNAL)
        return true;
    if (chan->park == PROTO_PARK_IDLE && (chan->grid <= 0 || chan->polled_count == 0))
        return false;
    if (chan->polled_count > PROTO_POLLED_MAX)
        return false;
    for (uint32_t i = 0; i < chan->polled_count; i++) {
        if (chan->polled[i] >= PROTO_CQS_MAX)
            return false;
    }
    return true;
}
