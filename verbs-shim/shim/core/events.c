/* SPDX-License-Identifier: Apache-2.0 */
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "verbs-shim/proto/check.h"
#include "verbs-shim/proto/proto.h"
#include "verbs-shim/proto/ring.h"
#include "verbs-shim/shim/actor.h"
#include "verbs-shim/shim/core/client.h"
#include "verbs-shim/shim/core/sys.h"
#include "verbs-shim/shim/guest.h"

/* The scheduler's memory makes no sense: another process has damaged it. Going on would be a run
 * whose results mean nothing. */
static void give_up(void)
{
    shim_log("the shared memory is damaged: this process ends");
    sys_die();
}

void client_asked(bool is_question, int more)
{
    struct proto_asked *asked = &client.segment->asked;

    if (is_question)
        (void)atomic_fetch_add_explicit(&asked->count, 1, memory_order_relaxed);
    (void)atomic_fetch_add_explicit(&asked->open, (uint32_t)more, memory_order_relaxed);
}

static void (*look_for_completions)(struct actor *a, struct actor_watch *ret);

void client_set_look(void (*look)(struct actor *a, struct actor_watch *ret))
{
    look_for_completions = look;
}

void client_look(struct actor *a, struct actor_watch *ret)
{
    ret->count = 0;
    ret->new_cqs = PROTO_CQS_MAX;
    ret->first = simtime_never();
    if (look_for_completions)
        look_for_completions(a, ret);
}

void client_take_events(void (*handle)(const struct proto_event *event))
{
    /* Those that are there now; what comes meanwhile is for the next time. */
    uint32_t count = ring_readable(&client.segment->event_ring, PROTO_EVENTS);

    for (; count > 0; count--) {
        struct proto_event event;

        if (proto_take_event(client.segment, &event) != PROTO_READ_ONE)
            give_up();
        if (event.kind == PROTO_EVENT_SLOT_FREE)
            arena_release(event.slot);
        else
            handle(&event);
    }
}
