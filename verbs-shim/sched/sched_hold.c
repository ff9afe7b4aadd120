/* SPDX-License-Identifier: Apache-2.0 */
/*
 * DOC: The outside, under a launcher
 *
 * Ranks that mpirun or mpiexec starts ask it things on sockets, and meanwhile sleep in loops or in
 * waits with timeouts. The launcher is not under the clock and takes real time to answer, which
 * must not show in virtual time: so sleeps and timeouts of a process that has asked and has no
 * answer yet stand still, and long ones of everybody. What is left is either done without the
 * outside, or everybody waits for it, as for any socket.
 *
 * Not everything that is sent has an answer. If nothing comes for a while of real time, the
 * conductor says so, and what has been sent by then counts as answered (sched_forgive).
 *
 * Who polls empty queues over and over is not moved on while nothing can come of it (fold.c). But
 * Open MPI looks at the clock between two rounds of polls, and every 10 ms at its sockets. So
 * before time leaps for somebody else's timeout, pollers get theirs in small steps.
 *
 * A leap of many minutes is held as well, whoever it is for: libraries have idle timers of an hour,
 * and nobody means that hour.
 */
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "sim/base/units.h"
#include "sim/core/engine.h"
#include "sim/fabric/fabric.h"
#include "verbs-shim/proto/proto.h"
#include "verbs-shim/sched/sched.h"
#include "verbs-shim/sched/sched_state.h"
#include "verbs-shim/sched/sched_time.h"

#define LEAP_ASKED PS_PER_MS /* while anybody waits for an answer */
#define LEAP_EVER  (600 * PS_PER_S)

static bool is_owed(const struct sched_view *view, uint32_t client)
{
    const struct proto_asked *asked = &view->segments[client]->asked;

    return sched_client_at(view->sched, client)->is_alive &&
           atomic_load_explicit(&asked->open, memory_order_relaxed) > 0 &&
           atomic_load_explicit(&asked->count, memory_order_relaxed) !=
               sched_client_at(view->sched, client)->forgiven;
}

static bool is_anybody_owed(const struct sched_view *view)
{
    const struct sched *s = view->sched;

    for (uint32_t rank = 0; rank < s->rank_count; rank++) {
        uint32_t base = rank * PROTO_RANK_CLIENTS;

        for (uint32_t c = base; c < base + s->ranks[rank].last_client; c++) {
            if (is_owed(view, c))
                return true;
        }
    }
    return false;
}

bool sched_must_hold(const struct sched_view *view, uint32_t actor, int64_t t, bool by_time)
{
    struct sched *s = view->sched;
    int64_t leap = t - engine_now(fabric_engine(sched_net(s))).ps;

    s->is_held = by_time && !s->is_forgiven &&
                 (is_owed(view, actor / PROTO_CLIENT_ACTORS) || leap > LEAP_EVER ||
                  (leap > LEAP_ASKED && is_anybody_owed(view)));
    if (!s->is_held)
        s->is_forgiven = false;
    return s->is_held;
}

bool sched_may_nudge(const struct sched_view *view, uint32_t actor, int64_t t)
{
    struct sched *s = view->sched;
    uint64_t commands = sched_commands(s);

    if (commands != s->nudged_commands)
        s->nudges = 0;
    s->nudged_commands = commands;
    if (s->nudges == SCHED_NUDGES || is_anybody_owed(view) ||
        time_add(sched_actor_at(s, actor)->vt, SCHED_NUDGE) > t)
        return false;
    s->nudges++;
    return true;
}

bool sched_is_held(const struct sched *s)
{
    return s->is_held;
}

void sched_forgive(const struct sched_view *view)
{
    struct sched *s = view->sched;

    s->is_forgiven = true;
    s->is_held = false;
    for (uint32_t c = 0; c < s->client_count; c++)
        sched_client_at(s, c)->forgiven =
            atomic_load_explicit(&view->segments[c]->asked.count, memory_order_relaxed);
}

uint64_t sched_commands(const struct sched *s)
{
    uint64_t sum = 0;

    for (uint32_t c = 0; c < s->client_count; c++)
        sum += sched_client_at(s, c)->commands;
    return sum;
}
