/* SPDX-License-Identifier: Apache-2.0 */
/*
 * DOC: Rates that a sender could compute
 *
 * A program that times its own sends divides the bytes that have completed by the time since its
 * first post. What a cable carries is another thing: bytes that have arrived. Both are measured
 * here, for each port: a row of messages begins with a post when all messages before have met
 * their fate by then. At each completion within it the sender's rate is that of what has completed
 * since the first post. A first message that completes the moment it is posted does not count: n
 * of that kind lie n - 1 intervals apart. Kept are the most messages whose rate is above the
 * cable's line rate, or else the highest rate, and what was delivered, by when, of that row.
 *
 * Only SEND of UC and UD is measured: RC completes when the other end has answered.
 */
#include <stdbool.h>
#include <stdint.h>

#include "sim/base/units.h"
#include "verbs-shim/proto/proto.h"
#include "verbs-shim/sched/sched.h"
#include "verbs-shim/sched/sched_state.h"
#include "verbs-shim/sched/sched_time.h"

static struct sched_port *port_of(struct sched *s, const struct sched_wr *send)
{
    const struct sched_qp *qp = sched_qp_at(s, send->qp);

    return &s->ports[qp->rank][qp->device];
}

void sched_rate_posted(struct sched *s, struct sched_wr *send, int64_t t)
{
    const struct sched_qp *qp = sched_qp_at(s, send->qp);
    struct sched_row *row = &port_of(s, send)->row;

    send->is_rated = !qp->is_local && !sched_is_reliable(qp) &&
                     (send->opcode == PROTO_WR_SEND || send->opcode == PROTO_WR_SEND_IMM);
    if (!send->is_rated)
        return;
    if (row->under_way == 0 && t >= row->last)
        *row = (struct sched_row){.start = t, .last = t};
    row->under_way += 2; /* until it is completed, and until it is delivered or lost */
}

static bool is_above(const struct sched_rate *rate, uint64_t line_bps)
{
    return (u128)rate->bytes * 8 * (uint64_t)PS_PER_S > (u128)line_bps * (uint64_t)rate->seen.ps;
}

/* Does `a` say more than `b`? */
static bool is_stronger(const struct sched_rate *a, const struct sched_rate *b, uint64_t line_bps)
{
    if (b->messages == 0 || is_above(a, line_bps) != is_above(b, line_bps))
        return b->messages == 0 || is_above(a, line_bps);
    if (is_above(a, line_bps))
        return a->messages > b->messages;
    return (u128)a->bytes * (uint64_t)b->seen.ps > (u128)b->bytes * (uint64_t)a->seen.ps;
}

void sched_rate_completed(struct sched *s, const struct sched_wr *send, int64_t t, bool is_sent)
{
    struct sched_port *port = port_of(s, send);
    struct sched_row *row = &port->row;
    const struct sched_qp *qp = sched_qp_at(s, send->qp);
    uint64_t line_bps = sched_agreed(s, qp->rank)->device[qp->device].rate_bps;
    struct sched_rate rate;

    if (!send->is_rated)
        return;
    row->under_way--;
    row->last = time_max(row->last, t);
    if (!is_sent)
        return;
    if (row->messages > 0 || t > row->start)
        row->completed += send->length;
    row->messages++;
    rate = (struct sched_rate){.messages = row->messages,
                               .bytes = row->completed,
                               .seen = {t - row->start},
                               .delivered_bytes = row->delivered,
                               .delivered = {row->there - row->start}};
    if (row->messages < 2 || rate.seen.ps <= 0 || !is_stronger(&rate, &port->rate, line_bps))
        return;
    port->rate = rate;
    row->is_best = true;
}

void sched_rate_ended(struct sched *s, const struct sched_wr *send, int64_t t, bool is_delivered)
{
    struct sched_port *port = port_of(s, send);
    struct sched_row *row = &port->row;

    if (!send->is_rated)
        return;
    row->under_way--;
    if (!is_delivered)
        return;
    row->last = time_max(row->last, t);
    row->there = row->last;
    row->delivered += send->length;
    if (row->is_best) {
        port->rate.delivered_bytes = row->delivered;
        port->rate.delivered = (simspan){row->there - row->start};
    }
}

struct sched_rate sched_rate_of(const struct sched *s, uint32_t rank, uint32_t device)
{
    return s->ports[rank][device].rate;
}
