/* SPDX-License-Identifier: Apache-2.0 */
/* Skips polls that would find nothing. */
#ifndef VERBS_SHIM_SHIM_VERBS_FOLD_H
#define VERBS_SHIM_SHIM_VERBS_FOLD_H

#include <stdint.h>

#include "verbs-shim/shim/actor.h"
#include "verbs-shim/shim/verbs/objects.h"

/* The calling thread has just polled `cq` and found nothing. May jump, may park. */
void fold_after_empty(struct actor *a, const struct cq *cq);
/* It found something: a new row of empty polls begins. */
void fold_after_found(struct actor *a, const struct cq *cq);
void fold_reset(void);

#endif
