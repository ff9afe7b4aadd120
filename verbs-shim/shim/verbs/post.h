/* SPDX-License-Identifier: Apache-2.0 */
#ifndef VERBS_SHIM_SHIM_VERBS_POST_H
#define VERBS_SHIM_SHIM_VERBS_POST_H

#include <infiniband/verbs.h>

#include "verbs-shim/shim/actor.h"
#include "verbs-shim/shim/verbs/objects.h"

int post_send(struct ibv_qp *ibv, struct ibv_send_wr *wr, struct ibv_send_wr **bad_wr);
/* Where a receive goes. */
struct post_target {
    uint32_t number;     /* as the scheduler knows it */
    const struct pd *pd; /* borrowed */
    struct queue *queue; /* borrowed */
    uint32_t max_sge;
    uint32_t epoch;
    struct qp *flushed; /* borrowed; the queue pair is in ERR: the receive ends at once */
};

/* Posts one receive. errno */
int post_receive(struct actor *a, const struct post_target *target, const struct ibv_recv_wr *wr);

int post_recv(struct ibv_qp *ibv, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad_wr);

#endif
