/* SPDX-License-Identifier: Apache-2.0 */
/* The table through which the inline functions of the header reach us. */
#include <errno.h>
#include <stddef.h>

#include <infiniband/verbs.h>

#include "verbs-shim/proto/proto.h"
#include "verbs-shim/shim/actor.h"
#include "verbs-shim/shim/verbs/cq.h"
#include "verbs-shim/shim/verbs/live.h"
#include "verbs-shim/shim/verbs/objects.h"
#include "verbs-shim/shim/verbs/poll.h"
#include "verbs-shim/shim/verbs/port.h"
#include "verbs-shim/shim/verbs/post.h"
#include "verbs-shim/shim/verbs/qp.h"
#include "verbs-shim/shim/verbs/srq.h"

static int req_notify_cq(struct ibv_cq *ibv, int solicited_only)
{
    struct cq *cq = (struct cq *)(void *)ibv;
    struct actor *a = library_enter(PROTO_CHARGE_VERB);

    if (a == NULL)
        return ENOSYS;
    if (!object_is(ibv, LIVE_CQ))
        return EINVAL;
    cq->is_armed = true;
    cq->is_armed_solicited = solicited_only != 0;
    cq->armed_at = actor_now(a);
    return 0;
}

void context_set_ops(struct context *context)
{
    struct ibv_context_ops *ops = &context->verbs.context.ops;

    ops->poll_cq = poll_cq;
    ops->post_send = post_send;
    ops->post_recv = post_recv;
    ops->req_notify_cq = req_notify_cq;
    ops->post_srq_recv = srq_post_recv;
    context->verbs.query_port = port_query;
    if (library_now()->profile->has_one_sided) {
        context->verbs.create_qp_ex = qp_ex_create;
        context->verbs.create_cq_ex = cq_create_ex;
        context->verbs.create_srq_ex = srq_create_ex;
        context->verbs.get_srq_num = srq_number;
    }
    context->verbs.query_device_ex = port_query_device_ex;
}
