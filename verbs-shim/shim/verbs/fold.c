/* SPDX-License-Identifier: Apache-2.0 */
/*
 * DOC: Folding empty polls
 *
 * A thread that polls empty queues in a loop does nothing but let time pass, one poll_empty a poll.
 * After K empty polls in a row, with no other call between, the last K queues polled are searched
 * for the smallest period p <= K / 2. K is `fold_after`, and at least two for each queue that the
 * process has, or a round of all of them would never be seen twice. If there is one, the loop is
 * taken to go on: a round of p polls takes c = p * poll_empty, and with the first known completion
 * of these queues due at T the time moves to now + floor((T - now - 1) / c) * c, the end of the
 * last whole round that ends before T. The program then polls on and meets the completion in the
 * very poll, at the very picosecond, in which the unfolded loop would have. (Rounding up would not
 * do: which queue of the round sees it first depends on where in the round it falls.)
 *
 * T is final if it lies within the lease. Otherwise the actor parks as idle, and the scheduler, who
 * will know, moves it by the same rule. Events that came while it parked are none of the program's
 * business: whether they did depends on the machine, and a program may count its polls.
 *
 * Was it the loop that it seemed? Then the polls after a jump go on in the same order, and a
 * completion comes within one round. Whoever polls another queue, or makes another call while the
 * completion is due, is counted: the results say that its times may be off.
 *
 * A peer's write ends the row, as a call between would: the program may look at its memory after
 * the very poll during which it came, and then do something else.
 *
 * After PROTO_QUIET real polls of a row the actor parks in any case, also where nothing is folded:
 * if everybody else waits as well, that is a deadlock, whatever K is (sched.c).
 *
 * Cost: an empty poll stores two numbers; the search is O(K^2) once in K polls.
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
    uint32_t polls; /* empty ones since anything else, none of them skipped ... */
    simtime since;  /* ... and when the first of them was over */
    uint16_t last[PROTO_QUIET];
    uint32_t expected; /* after a jump: polls of its round that are still to come ... */
    uint32_t next;     /* ... and where in `cqs` the next one's queue is */
};

static _Thread_local struct row row;

void fold_reset(void)
{
    row.length = 0;
    row.polls = 0;
    row.expected = 0;
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

static simtime first_completion(const uint16_t *cqs, uint32_t n)
{
    simtime first = simtime_never();

    for (uint32_t i = 0; i < n; i++) {
        const struct cq *cq = table_get(&library_now()->cqs, cqs[i]);

        if (cq != NULL)
            first = simtime_min(first, cq_first(cq));
    }
    return first;
}

/* The program may also look at what a peer writes. */
static simtime first_of(const uint16_t *cqs, uint32_t n)
{
    return simtime_min(client_due(), first_completion(cqs, n));
}

/* The program polls `cq`. Is that what it had to do after the jump? */
static void check_jump(struct actor *a, const struct cq *cq)
{
    const uint16_t *rest = row.cqs + row.next;
    bool is_other;

    if (row.expected == 0)
        return;
    if (row.calls != actor_calls(a))
        is_other = first_completion(rest, row.expected).ps <= actor_now(a).ps;
    else
        is_other = cq->number != rest[0];
    row.expected--;
    row.next++;
    if (row.changes != rdma_changes()) {
        row.expected = 0; /* the program may react to what a peer has written */
    } else if (is_other) {
        actor_stats(a)->misfolds++;
        row.expected = 0;
    }
}

void fold_after_found(struct actor *a, const struct cq *cq)
{
    check_jump(a, cq);
    fold_reset();
}

static void skip(struct actor *a, uint32_t period, int64_t poll)
{
    struct actor_row idle = {.cqs = row.cqs,
                             .count = period,
                             .polls = row.polls,
                             .grid = {poll * period},
                             .since = row.since};
    simtime now = actor_now(a);

    for (;;) {
        idle.first = first_of(row.cqs, period);
        if (idle.first.ps <= now.ps)
            return;
        if (idle.first.ps < actor_lease(a).ps)
            break;
        if (actor_idle(a, &idle))
            return;
        poll_take_events();
    }
    now.ps = time_fold(now.ps, idle.first.ps, idle.grid.ps);
    actor_stats(a)->folded += (uint64_t)((now.ps - actor_now(a).ps) / poll);
    actor_jump(a, now);
}

/* The different queues among the last polls; 0: too many. */
static uint32_t find_polled(uint16_t *ret)
{
    uint32_t count = 0;

    for (uint32_t i = 0; i < PROTO_QUIET; i++) {
        uint32_t k = 0;

        while (k < count && ret[k] != row.last[i])
            k++;
        if (k == PROTO_POLLED_MAX)
            return 0;
        ret[k] = row.last[i];
        count += k == count;
    }
    return count;
}

/* Lets the scheduler see that nothing but empty polls comes from here. */
static void show_quiet(struct actor *a)
{
    uint16_t cqs[PROTO_POLLED_MAX];
    struct actor_row quiet = {
        .cqs = cqs, .count = find_polled(cqs), .polls = row.polls, .since = row.since};

    quiet.first = first_of(cqs, quiet.count);
    if (quiet.count > 0 && quiet.first.ps > actor_now(a).ps)
        (void)actor_idle(a, &quiet);
}

static void count_poll(struct actor *a, const struct cq *cq)
{
    if (row.calls != actor_calls(a) || row.changes != rdma_changes())
        fold_reset();
    row.calls = actor_calls(a);
    row.changes = rdma_changes();
    if (row.polls == 0)
        row.since = actor_now(a);
    row.last[row.polls++ % PROTO_QUIET] = (uint16_t)cq->number;
}

/* K; 0: nothing is folded. */
static uint32_t find_length(const struct library *library)
{
    uint32_t length = library->agreed->fold_after;

    if (length < 2)
        return 0;
    if (length < 2 * library->cq_count)
        length = 2 * library->cq_count;
    return length < ROW_MAX ? length : ROW_MAX;
}

void fold_after_empty(struct actor *a, const struct cq *cq)
{
    const struct library *library = library_now();
    int64_t poll = library->agreed->charge[PROTO_CHARGE_POLL_EMPTY];
    uint32_t after = find_length(library);
    bool is_quiet;
    uint32_t period = 0;
    uint32_t length = 0;
    simtime before;

    if (poll <= 0)
        return;
    check_jump(a, cq);
    count_poll(a, cq);
    is_quiet = row.polls % PROTO_QUIET == 0;
    if (after > 0)
        row.cqs[row.length++] = (uint16_t)cq->number;
    if (after > 0 && row.length >= after) {
        length = row.length;
        period = find_period(row.cqs, length);
        row.length = 0;
    }
    before = actor_now(a);
    if (period > 0)
        skip(a, period, poll);
    else if (is_quiet)
        show_quiet(a);
    if (period > 0 && actor_now(a).ps > before.ps) {
        row.next = length - period;
        row.expected = period;
    }
}
