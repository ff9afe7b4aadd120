/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/shim/support/world.h"

#include <stdlib.h>

#include "verbs-shim/sched/sched_time.h"
#include "verbs-shim/shim/guest.h"
#include "verbs-shim/shim/verbs/ah.h"
#include "verbs-shim/shim/verbs/channel.h"
#include "verbs-shim/shim/verbs/poll.h"
#include "verbs-shim/shim/verbs/qp.h"
#include "verbs-shim/shim/verbs/queue.h"
#include "verbs-shim/shim/verbs/rdma.h"

struct world world;

void *shim_alloc(size_t bytes)
{
    return calloc(1, bytes);
}

void shim_free(void *p)
{
    free(p);
}

struct library *library_now(void)
{
    return &world.library;
}

struct actor *library_enter(enum proto_charge what)
{
    (void)what;
    return &world.actor;
}

simtime actor_now(const struct actor *a)
{
    return (simtime){a->vt};
}

simtime actor_lease(const struct actor *a)
{
    return (simtime){a->lease};
}

uint64_t actor_calls(const struct actor *a)
{
    return a->calls;
}

struct proto_stats *actor_stats(struct actor *a)
{
    return &a->stats;
}

void actor_jump(struct actor *a, simtime t)
{
    a->vt = t.ps;
}

/* As the scheduler moves it: it knows the completion that the actor may not know. */
bool actor_idle(struct actor *a, const struct actor_row *row)
{
    int64_t vt = a->vt;

    if (row->grid.ps == 0) {
        world.quiets++;
        return false;
    }
    world.idled++;
    if (world.idles_disturbed > 0) {
        world.idles_disturbed--;
        return false;
    }
    a->vt = time_fold(vt, world.first(row->cqs, row->count), row->grid.ps);
    a->stats.folded += (uint64_t)((a->vt - vt) / world.agreed.charge[PROTO_CHARGE_POLL_EMPTY]);
    return true;
}

int actor_call(struct actor *a, enum proto_call call, const union proto_call_args *args,
               int64_t *reply)
{
    (void)a;
    (void)call;
    (void)args;
    (void)reply;
    world.scheduled++;
    return world.call_error;
}

simtime client_due(void)
{
    return simtime_never();
}

void poll_take_events(void)
{
    if (world.take_events)
        world.take_events();
}

bool ah_is_named(const struct ibv_ah_attr *attr)
{
    (void)attr;
    return true;
}

void channel_async(struct actor *a, struct context *context, const struct ibv_async_event *event)
{
    (void)a;
    (void)context;
    (void)event;
}

void qp_forget_completions(struct actor *a, struct qp *qp)
{
    (void)a;
    (void)qp;
}

void queue_clear(struct queue *queue, bool is_recv)
{
    (void)queue;
    (void)is_recv;
}

uint64_t rdma_changes(void)
{
    return 0;
}
