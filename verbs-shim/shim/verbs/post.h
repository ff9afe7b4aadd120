/* SPDX-License-Identifier: Apache-2.0 */
#ifndef VERBS_SHIM_SHIM_VERBS_POST_H
#define VERBS_SHIM_SHIM_VERBS_POST_H

#include <infiniband/verbs.h>

int post_send(struct ibv_qp *ibv, struct ibv_send_wr *wr, struct ibv_send_wr **bad_wr);
int post_recv(struct ibv_qp *ibv, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad_wr);

#endif
