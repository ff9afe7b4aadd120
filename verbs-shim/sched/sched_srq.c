/* SPDX-License-Identifier: Apache-2.0 */
/*
 * DOC: Shared receive queues
 *
 * One is kept as a queue pair is, with a number of the same kind and no wire: it has the list of
 * posted receives, and the list of messages that have arrived for any of its queue pairs and met
 * none. Receives are taken in the order of posting, by messages in the order of arrival.
 */
#include <errno.h>
#include <stdint.h>

#include "sim/base/ids.h"
#include "verbs-shim/proto/proto.h"
#include "verbs-shim/sched/sched.h"
#include "verbs-shim/sched/sched_state.h"

int sched_create_srq(const struct sched_view *view, uint32_t client, uint32_t device,
                     int64_t *reply)
{
    struct sched *s = view->sched;
    const struct proto_agreed *agreed = sched_agreed(s, sched_client_at(s, client)->rank);
    uint32_t ix;

    if (device >= agreed->device_count || agreed->profile != PROTO_VERBS)
        return EINVAL;
    ix = sched_add_qp(s, client, device);
    if (ix == ID_NONE)
        return ENOMEM;
    sched_qp_at(s, ix)->qp_type = SCHED_QPT_SRQ;
    reply[0] = ix;
    return 0;
}

int sched_limit_srq(const struct sched_view *view, uint32_t client, const int64_t *raw,
                    int64_t *reply)
{
    struct sched_qp *srq = sched_named_qp(view->sched, client, raw[0]);

    if (!srq || srq->qp_type != SCHED_QPT_SRQ || raw[1] < 0 || raw[1] > UINT32_MAX)
        return EINVAL;
    srq->limit = (uint32_t)raw[1];
    reply[0] = srq->recvs_open < srq->limit;
    if (reply[0])
        srq->limit = 0;
    return 0;
}

void sched_leave_srq(const struct sched_view *view, uint32_t qp)
{
    struct sched *s = view->sched;
    struct sched_qp *srq = sched_receives_of(s, sched_qp_at(s, qp));
    uint32_t rest = srq->held_head;

    srq->held_head = ID_NONE;
    while (rest != ID_NONE) {
        uint32_t send = sched_pop(s, &rest);

        if (sched_wr_at(s, send)->to == qp)
            sched_lose(view, send);
        else
            sched_append(s, &srq->held_head, &srq->held_tail, send);
    }
}
