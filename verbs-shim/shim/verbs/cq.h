/* SPDX-License-Identifier: Apache-2.0 */
/* The sorted list of known completions in a completion queue. */
#ifndef VERBS_SHIM_SHIM_VERBS_CQ_H
#define VERBS_SHIM_SHIM_VERBS_CQ_H

#include <stdbool.h>
#include <stdint.h>

#include "sim/base/units.h"
#include "verbs-shim/proto/proto.h"
#include "verbs-shim/shim/verbs/objects.h"

/* Makes room for `more` completions that may be under way. False: no memory. */
bool cq_reserve(struct cq *cq, uint32_t more);
void cq_unreserve(struct cq *cq, uint32_t fewer);

/* In order of time, behind those of the same time. */
void cq_insert(struct cq *cq, const struct proto_event *event);

static inline struct proto_event *cq_at(const struct cq *cq, uint32_t n)
{
    uint32_t at = cq->head + n;

    return &cq->ring[at < cq->ring_capacity ? at : at - cq->ring_capacity];
}

/* When the first known completion is due; never: none is known. */
static inline simtime cq_first(const struct cq *cq)
{
    return cq->count > 0 ? (simtime){cq_at(cq, 0)->t} : simtime_never();
}

/* How many are due at `now`. */
uint32_t cq_visible(const struct cq *cq, simtime now);
void cq_pop(struct cq *cq, uint32_t n);
/* Forgets the completions of a queue pair; the caller has given their slots back. */
void cq_drop_qp(struct cq *cq, uint32_t qp);

/* cq_ex.c */
struct ibv_cq_ex *cq_create_ex(struct ibv_context *ibv, struct ibv_cq_init_attr_ex *init);

#endif
