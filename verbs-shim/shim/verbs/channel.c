/* SPDX-License-Identifier: Apache-2.0 */
/*
 * DOC: Events
 *
 * A queue that a program has armed puts one event into its channel when a completion becomes
 * visible, and is armed no more. The channel's descriptor is an eventfd that counts the events
 * that wait, so that poll, select and epoll see what they would see of the kernel's.
 */
#include "verbs-shim/shim/verbs/channel.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <infiniband/verbs.h>

#include "sim/base/units.h"
#include "verbs-shim/shim/actor.h"
#include "verbs-shim/shim/guest.h"
#include "verbs-shim/shim/verbs/cq.h"
#include "verbs-shim/shim/verbs/objects.h"
#include "verbs-shim/shim/verbs/poll.h"

int channel_make_fd(void)
{
    return eventfd(0, EFD_CLOEXEC | EFD_SEMAPHORE);
}

void channel_close_fd(int fd)
{
    if (fd >= 0)
        (void)close(fd);
}

static simtime next_after(const struct cq *cq, simtime now)
{
    uint32_t visible = cq_visible(cq, now);

    return visible < cq->count ? (simtime){cq_at(cq, visible)->t} : simtime_never();
}

/* When a completion comes that the queue was armed for; those that were there before do not count.
 * One that is not armed may be by then: its next completion at all. */
static simtime due_at(const struct cq *cq, simtime now)
{
    if (!cq->is_armed)
        return next_after(cq, now);
    for (uint32_t i = 0; i < cq->count; i++) {
        const struct proto_event *event = cq_at(cq, i);

        if (event->t > cq->armed_at.ps &&
            (!cq->is_armed_solicited || event->status != IBV_WC_SUCCESS ||
             event->flags & PROTO_SOLICITED))
            return (simtime){event->t};
    }
    return simtime_never();
}

/* Behind the other queues of the channel that have events. */
static void enlist(struct channel *channel, struct cq *cq)
{
    cq->next_event = NULL;
    if (channel->first_event == NULL)
        channel->first_event = cq;
    else
        channel->last_event->next_event = cq;
    channel->last_event = cq;
}

void channel_fire(struct cq *cq, simtime now)
{
    struct channel *channel = cq->channel;

    if (channel == NULL || !cq->is_armed || due_at(cq, now).ps > now.ps)
        return;
    cq->is_armed = false;
    if (cq->events_waiting++ == 0)
        enlist(channel, cq);
    client_count_event(channel->ibv.fd);
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

static bool keep_async(struct context *context, const struct ibv_async_event *event)
{
    if (context->event_count == ASYNC_EVENTS)
        return false;
    context->events[(context->event_head + context->event_count++) % ASYNC_EVENTS] = *event;
    return true;
}

static bool show_async(struct context *context, const struct ibv_async_event *event)
{
    if (!keep_async(context, event))
        return false;
    client_count_event(context->verbs.context.async_fd);
    return true;
}

void channel_async(struct actor *a, struct context *context, const struct ibv_async_event *event)
{
    if (show_async(context, event))
        actor_acted_outside(a);
}

void channel_async_at(struct actor *a, struct context *context, const struct ibv_async_event *event,
                      simtime t)
{
    struct proto_command outside = {.kind = PROTO_COMMAND_OUTSIDE};

    if (show_async(context, event))
        client_answer(a, &outside, t);
}

void channel_forget(struct context *context, const void *element)
{
    uint32_t kept = 0;

    for (uint32_t i = 0; i < context->event_count; i++) {
        const struct ibv_async_event event =
            context->events[(context->event_head + i) % ASYNC_EVENTS];

        if ((const void *)event.element.cq == element)
            client_take_event(context->verbs.context.async_fd);
        else
            context->events[(context->event_head + kept++) % ASYNC_EVENTS] = event;
    }
    context->event_count = kept;
}

void channel_srq_limit(struct srq *srq)
{
    srq->limit = 0;
    srq->limit_due = simtime_never();
    (void)show_async(srq->pd->context,
                     &(struct ibv_async_event){.element.srq = &srq->ibv,
                                               .event_type = IBV_EVENT_SRQ_LIMIT_REACHED});
}

bool channel_never_waits(int fd)
{
    return (fcntl(fd, F_GETFL) & O_NONBLOCK) != 0;
}

static void watch_none(struct actor_watch *set)
{
    set->count = 0;
    set->new_cqs = library_now()->next_cq;
    set->first = simtime_never();
}

static void watch(struct actor_watch *set, const struct cq *cq, simtime now)
{
    if (set->count < PROTO_POLLED_MAX)
        set->cqs[set->count++] = (uint16_t)cq->number;
    else
        set->new_cqs = 0;
    set->first = simtime_min(set->first, due_at(cq, now));
}

void channel_look(struct actor *a, struct actor_watch *ret)
{
    const struct library *library = library_now();

    watch_none(ret);
    poll_take_events();
    for (struct srq *srq = library->srqs; srq != NULL; srq = srq->next) {
        if (srq->limit_due.ps <= actor_now(a).ps)
            channel_srq_limit(srq);
        ret->first = simtime_min(ret->first, srq->limit_due);
    }
    for (uint32_t i = 0; i < library->next_cq; i++) {
        struct cq *cq = table_get(&library->cqs, i);

        if (cq == NULL)
            continue;
        channel_fire(cq, actor_now(a));
        if (cq->channel != NULL || cq->takes_of_srq)
            watch(ret, cq, actor_now(a));
    }
}

struct ibv_comp_channel *ibv_create_comp_channel(struct ibv_context *ibv)
{
    struct library *library = library_now();
    struct channel *channel;

    if (library_enter(PROTO_CHARGE_OBJECT) == NULL)
        return NULL;
    if (!object_is(ibv, LIVE_CONTEXT))
        return library_fail(EINVAL);
    if (!library->profile->has_one_sided)
        return library_fail(EOPNOTSUPP);
    channel = shim_alloc(sizeof *channel);
    if (channel == NULL)
        return NULL;
    channel->ibv.fd = channel_make_fd();
    if (channel->ibv.fd < 0 || !live_add(&library->live, channel, LIVE_CHANNEL)) {
        channel_close_fd(channel->ibv.fd);
        shim_free(channel);
        return library_fail(ENOMEM);
    }
    channel->ibv.context = ibv;
    channel->context = context_of(ibv);
    channel->context->uses++;
    return &channel->ibv;
}

int ibv_destroy_comp_channel(struct ibv_comp_channel *ibv)
{
    struct channel *channel = (struct channel *)(void *)ibv;

    if (library_enter(PROTO_CHARGE_OBJECT) == NULL)
        return ENOSYS;
    if (!object_is(ibv, LIVE_CHANNEL))
        return EINVAL;
    if (channel->uses > 0)
        return EBUSY;
    live_remove(&library_now()->live, channel);
    channel->context->uses--;
    channel_close_fd(ibv->fd);
    shim_free(channel);
    return 0;
}

struct wait_for {
    struct actor *a;
    const struct channel *channel;
    struct actor_watch watch;
};

/* Is there an event? If not, the queues that may bring one are what is watched. */
static bool has_event(void *ctx)
{
    struct wait_for *wait = ctx;
    const struct library *library = library_now();

    poll_take_events();
    watch_none(&wait->watch);
    for (uint32_t i = 0; i < library->next_cq; i++) {
        struct cq *cq = table_get(&library->cqs, i);

        if (cq == NULL || cq->channel != wait->channel)
            continue;
        channel_fire(cq, actor_now(wait->a));
        watch(&wait->watch, cq, actor_now(wait->a));
    }
    return wait->channel->first_event != NULL;
}

/* The first queue that has an event; what else it has waits behind the others'. */
static struct cq *take_event(struct channel *channel)
{
    struct cq *cq = channel->first_event;

    channel->first_event = cq->next_event;
    if (channel->first_event == NULL)
        channel->last_event = NULL;
    cq->next_event = NULL;
    if (--cq->events_waiting > 0)
        enlist(channel, cq);
    cq->events_given++;
    client_take_event(channel->ibv.fd);
    return cq;
}

int ibv_get_cq_event(struct ibv_comp_channel *ibv, struct ibv_cq **cq, void **cq_context)
{
    struct wait_for wait = {.a = library_enter(PROTO_CHARGE_VERB)};
    struct cq *found;

    if (wait.a == NULL)
        return -1;
    if (!object_is(ibv, LIVE_CHANNEL) || cq == NULL || cq_context == NULL) {
        errno = EINVAL;
        return -1;
    }
    wait.channel = (struct channel *)(void *)ibv;
    while (!has_event(&wait)) {
        if (channel_never_waits(ibv->fd)) {
            errno = EAGAIN;
            return -1;
        }
        (void)actor_wait_watching(wait.a, has_event, &wait, simtime_never(), &wait.watch);
    }
    found = take_event((struct channel *)(void *)ibv);
    *cq = ibv_cq_ex_to_cq(&found->ibv);
    *cq_context = found->ibv.cq_context;
    return 0;
}

void ibv_ack_cq_events(struct ibv_cq *ibv, unsigned int count)
{
    if (object_is(ibv, LIVE_CQ))
        ((struct cq *)(void *)ibv)->events_acked += count;
}
