/* SPDX-License-Identifier: Apache-2.0 */
/*
 * DOC: Verdict on a deadlock
 *
 * When no event is left and threads still wait, nothing can ever move again. What each of them
 * waits for is known exactly: a send that found no receive, a cable that is cut, or a message that
 * nobody sent.
 */
#include <stddef.h>
#include <stdint.h>

#include "sim/base/arena.h"
#include "sim/base/ids.h"
#include "sim/base/text.h"
#include "sim/fabric/cluster.h"
#include "sim/fabric/fabric.h"
#include "sim/workload/exchange.h"
#include "sim/workload/layout.h"
#include "sim/workload/plan.h"

#define LINES_MAX 8U

static const char *rank_name(const struct exchange *x, uint32_t rank)
{
    return x->cluster->hosts[x->ranks[rank].host.ix].name;
}

/* Why a posted send has not left. */
static const char *send_reason(const struct exchange *x, const struct lane *lane)
{
    switch (fabric_qp_wait(x->fabric, lane->qp)) {
    case FABRIC_WAIT_RECV:
        return "whose machine has posted no receive for it";
    case FABRIC_WAIT_CABLE:
        return "and the cable is cut";
    case FABRIC_WAIT_LINK:
        return "and it is still on its way";
    case FABRIC_WAIT_NOTHING:
        break;
    }
    return "and it was lost";
}

static void add_flow(const struct exchange *x, const struct worker *w, uint32_t f,
                     struct text *text)
{
    const struct layout *l = x->plan->layout;
    const struct stream *s = &w->phase.streams[f];
    const struct flow *flow = &w->flows[f];
    const struct lane *lane = layout_lane(l, (uint32_t)(w - x->workers), s->lane);
    const char *me = rank_name(x, w->rank);
    const char *peer = rank_name(x, lane->peer / l->threads);
    const char *separator = text->length ? "; " : "";

    if (s->is_send && flow->arrived < flow->post.index)
        text_add(text, "%s%s waits to send message %llu of %llu to %s, %s", separator, me,
                 (unsigned long long)flow->arrived + 1, (unsigned long long)flow->count, peer,
                 send_reason(x, lane));
    else if (!s->is_send && flow->arrived < flow->count)
        text_add(text, "%s%s waits for message %llu of %llu from %s", separator, me,
                 (unsigned long long)flow->arrived + 1, (unsigned long long)flow->count, peer);
}

// NOLINTNEXTLINE(readability-function-size): workers, their flows, and the line too many
const char *exchange_explain(const struct exchange *x, struct arena *arena)
{
    struct text text;
    uint32_t lines = 0;

    text_init(&text, arena);
    for (uint32_t i = 0; i < x->worker_count; i++) {
        const struct worker *w = &x->workers[i];

        for (uint32_t f = 0; !w->is_done && f < w->phase.stream_count; f++) {
            size_t before = text.length;

            if (lines == LINES_MAX) {
                text_add(&text, "; and others");
                return text.bytes;
            }
            add_flow(x, w, f, &text);
            lines += text.length > before;
        }
    }
    return text.bytes;
}
