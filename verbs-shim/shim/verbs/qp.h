/* SPDX-License-Identifier: Apache-2.0 */
#ifndef VERBS_SHIM_SHIM_VERBS_QP_H
#define VERBS_SHIM_SHIM_VERBS_QP_H

#include "verbs-shim/shim/actor.h"
#include "verbs-shim/shim/verbs/objects.h"

/* Moves the bytes that have arrived, then forgets what the queue pair has in its completion
 * queues. */
void qp_forget_completions(struct actor *a, struct qp *qp);

/* qp_ex.c: a queue pair that may have calls which build work requests. */
struct ibv_qp *qp_ex_create(struct ibv_context *ibv, struct ibv_qp_init_attr_ex *init);
/* Frees what builds them; it may have none. */
void qp_ex_done(struct qp *qp);

#endif
