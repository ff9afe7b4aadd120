/* SPDX-License-Identifier: Apache-2.0 */
/*
 * DOC: Asynchronous events
 *
 * A context's descriptor is an eventfd that counts the events that wait, as a channel's is. Events
 * come of overflowing completion queues, of shared receive queues that run low, and of queue pairs
 * in error that have a shared queue. Ports and cables say nothing: programs have to ask.
 */
#include <errno.h>
#include <stdbool.h>
#include <stdint.h>

#include <infiniband/verbs.h>

#include "verbs-shim/shim/actor.h"
#include "verbs-shim/shim/verbs/channel.h"
#include "verbs-shim/shim/verbs/objects.h"

struct wait_for {
    struct actor *a;
    struct ibv_context *ibv;
    struct actor_watch watch;
};

static bool has_event(void *ctx)
{
    struct wait_for *wait = ctx;

    channel_look(wait->a, &wait->watch);
    /* Another thread may have closed it. */
    return !object_is(wait->ibv, LIVE_CONTEXT) || context_of(wait->ibv)->event_count > 0;
}

int ibv_get_async_event(struct ibv_context *ibv, struct ibv_async_event *event)
{
    struct wait_for wait = {.a = library_enter(PROTO_CHARGE_VERB)};
    struct context *context;

    if (wait.a == NULL)
        return -1;
    if (!object_is(ibv, LIVE_CONTEXT) || event == NULL) {
        errno = EINVAL;
        return -1;
    }
    wait.ibv = ibv;
    while (!has_event(&wait)) {
        if (channel_never_waits(ibv->async_fd)) {
            errno = EAGAIN;
            return -1;
        }
        (void)actor_wait_watching(wait.a, has_event, &wait, simtime_never(), &wait.watch);
    }
    if (!object_is(ibv, LIVE_CONTEXT)) {
        errno = EBADF;
        return -1;
    }
    context = context_of(ibv);
    *event = context->events[context->event_head];
    context->event_head = (context->event_head + 1) % ASYNC_EVENTS;
    context->event_count--;
    client_take_event(ibv->async_fd);
    return 0;
}

void ibv_ack_async_event(struct ibv_async_event *event)
{
    (void)event; /* nothing waits for it: what is destroyed takes its events along */
}
