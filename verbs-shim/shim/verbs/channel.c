/* SPDX-License-Identifier: Apache-2.0 */
/*
 * DOC: Events
 *
 * A queue that a program has armed puts one event into its channel when a completion becomes
 * visible, and is armed no more. The channel's descriptor is an eventfd that counts the events
 * that wait, so that poll, select and epoll see what they would see of the kernel's.
 */
#include "verbs-shim/shim/verbs/channel.h"

#include <stdbool.h>
#include <stddef.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <infiniband/verbs.h>

#include "sim/base/units.h"
#include "verbs-shim/shim/verbs/objects.h"

int channel_make_fd(void)
{
    return eventfd(0, EFD_CLOEXEC | EFD_SEMAPHORE | EFD_NONBLOCK);
}

void channel_close_fd(int fd)
{
    if (fd >= 0)
        (void)close(fd);
}

static void count_event(int fd)
{
    (void)eventfd_write(fd, 1); /* inside libc: no call of the program's is interposed */
}

static bool has_visible(const struct cq *cq, simtime now)
{
    return cq->count > 0 && cq->ring[cq->head].t <= now.ps;
}

void channel_fire(struct cq *cq, simtime now)
{
    struct channel *channel = cq->channel;

    if (channel == NULL || !cq->is_armed || !has_visible(cq, now))
        return;
    cq->is_armed = false;
    if (cq->events_waiting++ == 0) {
        cq->next_event = NULL;
        if (channel->first_event == NULL)
            channel->first_event = cq;
        else
            channel->last_event->next_event = cq;
        channel->last_event = cq;
    }
    count_event(channel->ibv.fd);
}

void channel_forget_cq(struct cq *cq)
{
    struct channel *channel = cq->channel;
    struct cq *before = NULL;

    if (channel == NULL || cq->events_waiting == 0)
        return;
    for (struct cq *i = channel->first_event; i != cq && i != NULL; i = i->next_event)
        before = i;
    if (before == NULL)
        channel->first_event = cq->next_event;
    else
        before->next_event = cq->next_event;
    if (channel->last_event == cq)
        channel->last_event = before;
    cq->events_waiting = 0;
}

void channel_async(struct context *context, const struct ibv_async_event *event)
{
    if (context->event_count == ASYNC_EVENTS)
        return;
    context->events[(context->event_head + context->event_count++) % ASYNC_EVENTS] = *event;
    count_event(context->verbs.context.async_fd);
}
