/* SPDX-License-Identifier: Apache-2.0 */
/*
 * DOC: Folding empty polls
 *
 * A thread that polls empty queues in a loop does nothing but let time pass, one poll_empty a poll.
 * After `fold_after` (K) empty polls in a row, with no other call between, the last K queues polled
 * are searched for the smallest period p <= K / 2. If there is one, the loop is taken to go on: a
 * round of p polls takes c = p * poll_empty, and with the first known completion of these queues
 * due at T the time moves to now + floor((T - now - 1) / c) * c, the end of the last whole round
 * that ends before T. The program then polls on and meets the completion in the very poll, at the
 * very picosecond, in which the unfolded loop would have. (Rounding up would not do: which queue of
 * the round sees it first depends on where in the round it falls.)
 *
 * T is final if it lies within the lease. Otherwise the actor parks as idle, and the scheduler, who
 * will know, moves it by the same rule. Events that came while it parked are none of the program's
 * business: whether they did depends on the machine, and a program may count its polls.
 *
 * A peer's write ends the row, as a call between would: the program may look at its memory after
 * the very poll during which it came, and then do something else.
 *
 * Cost: an empty poll stores one number; the search is O(K^2) once in K polls.
 */
#include "verbs-shim/shim/verbs/fold.h"

#include <stdbool.h>
#include <stdint.h>

#include "verbs-shim/proto/proto.h"
#include "verbs-shim/sched/sched_time.h"
#include "verbs-shim/shim/verbs/cq.h"
#include "verbs-shim/shim/verbs/poll.h"
#include "verbs-shim/shim/verbs/rdma.h"

#define ROW_MAX (2 * PROTO_POLLED_MAX) /* a period of PROTO_POLLED_MAX shows twice */

struct row {
    uint64_t calls;   /* of the actor, other than polls, when the row began */
    uint64_t changes; /* of the memory, likewise */
    uint32_t length;  /* empty polls in it */
    uint16_t cqs[ROW_MAX];
};

static _Thread_local struct row row;

void fold_reset(void)
{
    row.length = 0;
}

/* The smallest p <= n / 2 with cqs[i] == cqs[i - p] throughout; 0: none. */
static uint32_t find_period(const uint16_t *cqs, uint32_t n)
{
    for (uint32_t p = 1; p <= n / 2; p++) {
        uint32_t i = p;

        while (i < n && cqs[i] == cqs[i - p])
            i++;
        if (i == n)
            return p;
    }
    return 0;
}

static simtime first_of(const uint16_t *cqs, uint32_t n)
{
    simtime first = client_due(); /* the program may look at what a peer writes */

    for (uint32_t i = 0; i < n; i++) {
        const struct cq *cq = table_get(&library_now()->cqs, cqs[i]);

        if (cq != NULL)
            first = simtime_min(first, cq_first(cq));
    }
    return first;
}

static void skip(struct actor *a, uint32_t period, int64_t poll)
{
    simspan grid = {poll * period};
    simtime now = actor_now(a);
    simtime first;

    for (;;) {
        first = first_of(row.cqs, period);
        if (first.ps <= now.ps)
            return;
        if (first.ps < actor_lease(a).ps)
            break;
        if (actor_idle(a, row.cqs, period, grid, first))
            return;
        poll_take_events();
    }
    now.ps = time_fold(now.ps, first.ps, grid.ps);
    actor_stats(a)->folded += (uint64_t)((now.ps - actor_now(a).ps) / poll);
    actor_jump(a, now);
}

void fold_after_empty(struct actor *a, const struct cq *cq)
{
    const struct proto_agreed *agreed = library_now()->agreed;
    int64_t poll = agreed->charge[PROTO_CHARGE_POLL_EMPTY];
    uint32_t after = agreed->fold_after < ROW_MAX ? agreed->fold_after : ROW_MAX;
    uint32_t period;

    if (after < 2 || poll <= 0)
        return;
    if (row.calls != actor_calls(a) || row.changes != rdma_changes())
        row.length = 0;
    row.calls = actor_calls(a);
    row.changes = rdma_changes();
    row.cqs[row.length++] = (uint16_t)cq->number;
    if (row.length < after)
        return;
    period = find_period(row.cqs, row.length);
    row.length = 0;
    if (period > 0)
        skip(a, period, poll);
}
