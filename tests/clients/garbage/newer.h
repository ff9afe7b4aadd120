/* SPDX-License-Identifier: Apache-2.0 */
/* Nonsense for the verbs that Apple's devices do not have. */
#ifndef TESTS_CLIENTS_GARBAGE_NEWER_H
#define TESTS_CLIENTS_GARBAGE_NEWER_H

#include <infiniband/verbs.h>

/* One of each kind; NULL where the device has none. */
struct newer {
    struct ibv_context *context;
    struct ibv_pd *pd;
    struct ibv_cq *cq;
    struct ibv_mr *mr;
    struct ibv_comp_channel *channel;
    struct ibv_ah *ah;
    struct ibv_srq *srq;
    struct ibv_qp *ud; /* with wr_ calls, in RTS */
    struct ibv_cq_ex *cq_ex;
    struct ibv_qp *rc; /* in RTS, its own peer, if that can be */
};

void newer_make(struct newer *ret, struct ibv_context *context, struct ibv_pd *pd,
                struct ibv_cq *cq, struct ibv_mr *mr, struct ibv_comp_channel *channel);
/* Every call must come back. Returns how many that make no sense were accepted. */
int newer_call(struct newer *n);

#endif
