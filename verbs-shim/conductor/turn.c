/* SPDX-License-Identifier: Apache-2.0 */
/*
 * DOC: Two drivers
 *
 * Inline: the scheduler lies in memory that all clients write, and whoever parks runs it. We take
 * part under its lock, and carefully, since a client may have written over it; then nothing can be
 * believed any more and the run ends.
 *
 * Conductor: the scheduler lies where no client reaches. Each client has its own segment, and what
 * we read there is checked. A client whose segment makes no sense is dropped: its process is killed
 * and the scheduler buries it. Its peers see what any dead peer gives, and go on.
 */
#define _GNU_SOURCE
#include "verbs-shim/conductor/turn.h"

#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/pidfd.h>
#include <sys/socket.h>

#include "verbs-shim/conductor/careful.h"
#include "verbs-shim/conductor/conductor.h"
#include "verbs-shim/conductor/lock.h"
#include "verbs-shim/conductor/memory.h"
#include "verbs-shim/conductor/run.h"
#include "verbs-shim/proto/proto.h"
#include "verbs-shim/sched/sched.h"

static bool is_inline(const struct run *run)
{
    return run->options->driver == CONDUCTOR_INLINE;
}

/* Ends the client's process. One that we cannot name ends itself when its socket does. */
static void kill_client(const struct run *run, uint32_t client)
{
    for (uint32_t i = 0; i < RUN_CALLERS_MAX; i++) {
        const struct run_caller *caller = &run->callers[i];

        if (caller->fd < 0 || !caller->is_client || caller->client != client)
            continue;
        if (caller->pidfd >= 0)
            (void)pidfd_send_signal(caller->pidfd, SIGKILL, NULL, 0);
        (void)shutdown(caller->fd, SHUT_RDWR);
    }
}

static void drop(struct run *run, uint32_t client, enum sched_damage why)
{
    uint32_t rank = client / PROTO_RANK_CLIENTS;

    run->is_client_alive[client] = false;
    run->damage[rank] = why;
    kill_client(run, client);
    sched_client_died(&run->memory.view, client);
}

/* The scheduler does not believe a client. True: it is gone now, and the others can go on. */
static bool drop_culprit(struct run *run)
{
    enum sched_damage why;
    uint32_t client = sched_culprit(run->memory.view.sched, &why);

    if (is_inline(run) || client >= run->memory.client_count)
        return false;
    drop(run, client, why);
    return true;
}

/* Gives turns as long as there are any to give. */
static void move_on(struct run *run)
{
    for (;;) {
        uint32_t granted = PROTO_ACTORS_MAX;
        struct proto_chan *chan;

        run->state = sched_next(&run->memory.view, &granted);
        if (run->state == SCHED_BROKEN && drop_culprit(run))
            continue;
        if (run->state != SCHED_GRANTED)
            return;
        (void)atomic_fetch_add(&run->memory.hub->progress, 1);
        chan = &run->memory.view.segments[granted / PROTO_CLIENT_ACTORS]
                    ->chan[granted % PROTO_CLIENT_ACTORS];
        lock_wake_turn(&chan->turn, &chan->is_sleeping);
        if (!sched_has_room(run->memory.view.sched)) {
            run->state = SCHED_RUNNING;
            return;
        }
    }
}

static void make(struct run *run, enum turn_change change, uint32_t number)
{
    switch (change) {
    case TURN_JOIN:
        sched_join(&run->memory.view, number);
        break;
    case TURN_BURY:
        sched_client_died(&run->memory.view, number);
        break;
    case TURN_ABSENT:
        sched_rank_is_absent(run->memory.view.sched, number);
        break;
    case TURN_FORGIVE:
        sched_forgive(&run->memory.view);
        break;
    case TURN_RETRY:
        sched_retry_outside(run->memory.view.sched);
        break;
    case TURN_NONE:
        break;
    }
}

struct step {
    struct run *run;
    enum turn_change change;
    uint32_t number;
};

static void do_step(void *ctx)
{
    const struct step *step = ctx;

    make(step->run, step->change, step->number);
    move_on(step->run);
}

/* The same among clients that write to the same memory. False: the run is over. */
static bool step_among_clients(struct run *run, struct step *step)
{
    pid_t owner = lock_take(&run->memory.hub->lock);

    if (owner) {
        run->lock_owner = owner;
        run->end = RUN_LOCKED;
        return false;
    }
    if (!careful_call(do_step, step)) {
        run->end = RUN_DAMAGED; /* the lock stays: nobody shall go on from here */
        return false;
    }
    lock_give(&run->memory.hub->lock);
    return true;
}

/* What the scheduler said decides what the watch does next. */
static void heed(struct run *run)
{
    if (run->state == SCHED_DEADLOCK)
        run->end = RUN_STUCK;
    else if (run->state == SCHED_BROKEN)
        run->end = RUN_DAMAGED;
    else if (run->state == SCHED_OUTSIDE)
        run->is_outside = true; /* also when somebody's end, and no ring, has brought it about */
}

void turn_change(struct run *run, enum turn_change change, uint32_t number)
{
    struct step step = {.run = run, .change = change, .number = number};

    if (!is_inline(run))
        do_step(&step);
    else if (!step_among_clients(run, &step))
        return;
    heed(run);
}

bool turn_drive(struct run *run)
{
    turn_change(run, TURN_NONE, 0);
    return run->end == RUN_GOES_ON;
}

void turn_parked(struct run *run, uint32_t client, uint32_t actor)
{
    if (actor / PROTO_CLIENT_ACTORS != client)
        drop(run, client, SCHED_DAMAGED_CHANNEL);
    else
        (void)sched_park(&run->memory.view, actor); /* what makes no sense shows in the next step */
    move_on(run);
    heed(run);
}
