/* SPDX-License-Identifier: Apache-2.0 */
#ifndef VERBS_SHIM_SHIM_VERBS_QP_H
#define VERBS_SHIM_SHIM_VERBS_QP_H

#include "verbs-shim/shim/actor.h"
#include "verbs-shim/shim/verbs/objects.h"

/* Moves the bytes that have arrived, then forgets what the queue pair has in its completion
 * queues. */
void qp_forget_completions(struct actor *a, struct qp *qp);

#endif
