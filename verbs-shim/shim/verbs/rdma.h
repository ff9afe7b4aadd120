/* SPDX-License-Identifier: Apache-2.0 */
/* One-sided operations: those of this process, and those of peers on its memory. */
#ifndef VERBS_SHIM_SHIM_VERBS_RDMA_H
#define VERBS_SHIM_SHIM_VERBS_RDMA_H

#include <stdbool.h>
#include <stdint.h>

#include <infiniband/verbs.h>

#include "verbs-shim/proto/proto.h"
#include "verbs-shim/shim/verbs/objects.h"

static inline bool rdma_is_atomic(enum ibv_wr_opcode opcode)
{
    return opcode == IBV_WR_ATOMIC_CMP_AND_SWP || opcode == IBV_WR_ATOMIC_FETCH_AND_ADD;
}

/* Does it bring bytes into the poster's own memory? */
static inline bool rdma_is_read(enum ibv_wr_opcode opcode)
{
    return opcode == IBV_WR_RDMA_READ || rdma_is_atomic(opcode);
}

/* From here on the process applies what peers ask for. */
void rdma_begin(void);
/* errno of a work request that the queue pair cannot serve, of `length` bytes. */
int rdma_refuse(const struct qp *qp, const struct ibv_send_wr *wr, uint64_t length);
/* What the command of a send says besides bytes, and what is kept of it. */
void rdma_describe(struct qp *qp, const struct ibv_send_wr *wr, struct work *work,
                   struct proto_command *command);
/* An atomic's operands in a slot. False: the arena is full. */
bool rdma_take_operands(const struct ibv_send_wr *wr, uint64_t *ret_slot);
/* Keeps what the scheduler tells. */
void rdma_book(const struct proto_event *event);
/* How often peers and answers to our own requests have changed the process's memory. */
uint64_t rdma_changes(void);
/* A completion with an error was seen, or something was refused: the queue pair is in ERR. */
void rdma_fail(struct qp *qp);

#endif
