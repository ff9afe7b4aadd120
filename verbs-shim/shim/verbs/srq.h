/* SPDX-License-Identifier: Apache-2.0 */
#ifndef VERBS_SHIM_SHIM_VERBS_SRQ_H
#define VERBS_SHIM_SHIM_VERBS_SRQ_H

#include <infiniband/verbs.h>

#include "verbs-shim/shim/verbs/objects.h"

struct ibv_srq *srq_create_ex(struct ibv_context *ibv, struct ibv_srq_init_attr_ex *init);
int srq_number(struct ibv_srq *ibv, uint32_t *ret);
int srq_post_recv(struct ibv_srq *ibv, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad_wr);
/* Receives that have completed for the queue pair and will never be polled go back to the queue. */
void srq_forget_qp(const struct qp *qp);

#endif
