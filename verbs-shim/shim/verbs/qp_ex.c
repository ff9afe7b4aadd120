/* SPDX-License-Identifier: Apache-2.0 */
/*
 * DOC: The builder of work requests
 *
 * Queue pairs made with send_ops_flags are posted to by calls that build requests one after the
 * other between wr_start and wr_complete. What they build are ordinary requests, which wr_complete
 * posts as a list: all cost and all checks are those of ibv_post_send. An error on the way is kept
 * for wr_complete.
 */
#include <errno.h>
#include <stdint.h>
#include <string.h>

#include <infiniband/verbs.h>

#include "verbs-shim/shim/guest.h"
#include "verbs-shim/shim/verbs/objects.h"
#include "verbs-shim/shim/verbs/post.h"
#include "verbs-shim/shim/verbs/qp.h"

#define SEND_OPS                                                                      \
    (IBV_QP_EX_WITH_SEND | IBV_QP_EX_WITH_SEND_WITH_IMM | IBV_QP_EX_WITH_RDMA_WRITE | \
     IBV_QP_EX_WITH_RDMA_WRITE_WITH_IMM | IBV_QP_EX_WITH_RDMA_READ |                  \
     IBV_QP_EX_WITH_ATOMIC_CMP_AND_SWP | IBV_QP_EX_WITH_ATOMIC_FETCH_AND_ADD)

struct builder {
    struct ibv_send_wr *wrs; /* owned; one for each place of the send queue */
    struct ibv_sge *sges;    /* owned; max_sge for each */
    char *bytes;             /* owned; max_inline for each */
    uint32_t count;
    int error;
};

static struct qp *qp_of(struct ibv_qp_ex *ibv)
{
    return (struct qp *)(void *)ibv;
}

static void start(struct ibv_qp_ex *ibv)
{
    struct builder *b = qp_of(ibv)->builder;

    b->count = 0;
    b->error = 0;
}

static void begin(struct ibv_qp_ex *ibv, enum ibv_wr_opcode opcode, __be32 imm)
{
    struct builder *b = qp_of(ibv)->builder;
    struct ibv_send_wr *wr;

    if (b->count == qp_of(ibv)->send.depth) {
        b->error = ENOMEM;
        return;
    }
    wr = &b->wrs[b->count++];
    *wr = (struct ibv_send_wr){
        .wr_id = ibv->wr_id,
        .opcode = opcode,
        .send_flags = ibv->wr_flags,
        .imm_data = imm,
    };
}

static void wr_send(struct ibv_qp_ex *ibv)
{
    begin(ibv, IBV_WR_SEND, 0);
}

static void wr_send_imm(struct ibv_qp_ex *ibv, __be32 imm)
{
    begin(ibv, IBV_WR_SEND_WITH_IMM, imm);
}

/* The request that is being built; NULL: none, or an error already. */
static struct ibv_send_wr *current(struct builder *b)
{
    if (b->count == 0 && b->error == 0)
        b->error = EINVAL;
    return b->error ? NULL : &b->wrs[b->count - 1];
}

static void begin_rdma(struct ibv_qp_ex *ibv, enum ibv_wr_opcode opcode, uint32_t rkey,
                       uint64_t remote_addr)
{
    struct ibv_send_wr *wr;

    begin(ibv, opcode, 0);
    wr = current(qp_of(ibv)->builder);
    if (wr == NULL)
        return;
    wr->wr.rdma.rkey = rkey;
    wr->wr.rdma.remote_addr = remote_addr;
}

static void wr_rdma_write(struct ibv_qp_ex *ibv, uint32_t rkey, uint64_t remote_addr)
{
    begin_rdma(ibv, IBV_WR_RDMA_WRITE, rkey, remote_addr);
}

static void wr_rdma_write_imm(struct ibv_qp_ex *ibv, uint32_t rkey, uint64_t remote_addr,
                              __be32 imm)
{
    struct ibv_send_wr *wr;

    begin_rdma(ibv, IBV_WR_RDMA_WRITE_WITH_IMM, rkey, remote_addr);
    wr = current(qp_of(ibv)->builder);
    if (wr != NULL)
        wr->imm_data = imm;
}

static void wr_rdma_read(struct ibv_qp_ex *ibv, uint32_t rkey, uint64_t remote_addr)
{
    begin_rdma(ibv, IBV_WR_RDMA_READ, rkey, remote_addr);
}

static void begin_atomic(struct ibv_qp_ex *ibv, enum ibv_wr_opcode opcode, uint32_t rkey,
                         uint64_t remote_addr, const uint64_t operands[2])
{
    struct ibv_send_wr *wr;

    begin(ibv, opcode, 0);
    wr = current(qp_of(ibv)->builder);
    if (wr == NULL)
        return;
    wr->wr.atomic.rkey = rkey;
    wr->wr.atomic.remote_addr = remote_addr;
    wr->wr.atomic.compare_add = operands[0];
    wr->wr.atomic.swap = operands[1];
}

static void wr_atomic_cmp_swp(struct ibv_qp_ex *ibv, uint32_t rkey, uint64_t remote_addr,
                              uint64_t compare, uint64_t swap)
{
    const uint64_t operands[2] = {compare, swap};

    begin_atomic(ibv, IBV_WR_ATOMIC_CMP_AND_SWP, rkey, remote_addr, operands);
}

static void wr_atomic_fetch_add(struct ibv_qp_ex *ibv, uint32_t rkey, uint64_t remote_addr,
                                uint64_t add)
{
    const uint64_t operands[2] = {add, 0};

    begin_atomic(ibv, IBV_WR_ATOMIC_FETCH_AND_ADD, rkey, remote_addr, operands);
}

static void set_sge_list(struct ibv_qp_ex *ibv, size_t count, const struct ibv_sge *sges)
{
    const struct qp *qp = qp_of(ibv);
    struct ibv_send_wr *wr = current(qp->builder);

    if (wr == NULL)
        return;
    if (count > qp->cap.max_send_sge || (count > 0 && sges == NULL)) {
        qp->builder->error = EINVAL;
        return;
    }
    wr->sg_list = &qp->builder->sges[(size_t)(qp->builder->count - 1) * qp->cap.max_send_sge];
    wr->num_sge = (int)count;
    if (count > 0)
        memcpy(wr->sg_list, sges, count * sizeof *sges);
}

static void set_sge(struct ibv_qp_ex *ibv, uint32_t lkey, uint64_t addr, uint32_t length)
{
    const struct ibv_sge sge = {.addr = addr, .length = length, .lkey = lkey};

    set_sge_list(ibv, 1, &sge);
}

static void set_inline_data_list(struct ibv_qp_ex *ibv, size_t count,
                                 const struct ibv_data_buf *bufs)
{
    const struct qp *qp = qp_of(ibv);
    struct builder *b = qp->builder;
    struct ibv_send_wr *wr = current(b);
    size_t used = 0;
    char *to;

    if (wr == NULL)
        return;
    if (count > 0 && bufs == NULL)
        b->error = EINVAL;
    to = b->bytes + (size_t)(b->count - 1) * qp->cap.max_inline_data;
    for (size_t i = 0; i < count && b->error == 0; i++) {
        if (bufs[i].length > qp->cap.max_inline_data - used ||
            (bufs[i].length > 0 && bufs[i].addr == NULL)) {
            b->error = EINVAL;
            return;
        }
        if (bufs[i].length > 0)
            memcpy(to + used, bufs[i].addr, bufs[i].length);
        used += bufs[i].length;
    }
    set_sge(ibv, 0, (uintptr_t)to, (uint32_t)used);
    wr->send_flags |= IBV_SEND_INLINE;
}

static void set_inline_data(struct ibv_qp_ex *ibv, void *addr, size_t length)
{
    const struct ibv_data_buf buf = {.addr = addr, .length = length};

    set_inline_data_list(ibv, 1, &buf);
}

static void set_ud_addr(struct ibv_qp_ex *ibv, struct ibv_ah *ah, uint32_t qpn, uint32_t qkey)
{
    struct ibv_send_wr *wr = current(qp_of(ibv)->builder);

    if (wr == NULL)
        return;
    wr->wr.ud.ah = ah;
    wr->wr.ud.remote_qpn = qpn;
    wr->wr.ud.remote_qkey = qkey;
}

static int complete(struct ibv_qp_ex *ibv)
{
    const struct builder *b = qp_of(ibv)->builder;
    struct ibv_send_wr *bad = NULL;

    if (b->error || b->count == 0)
        return b->error;
    for (uint32_t i = 0; i + 1 < b->count; i++)
        b->wrs[i].next = &b->wrs[i + 1];
    return post_send(&ibv->qp_base, b->wrs, &bad);
}

void qp_ex_done(struct qp *qp)
{
    if (qp->builder == NULL)
        return;
    shim_free(qp->builder->wrs);
    shim_free(qp->builder->sges);
    shim_free(qp->builder->bytes);
    shim_free(qp->builder);
    qp->builder = NULL;
}

/* Gives the queue pair a builder. False: no memory. */
static bool equip(struct qp *qp)
{
    size_t depth = qp->send.depth;
    struct builder *b = shim_alloc(sizeof *b);

    qp->builder = b;
    if (b == NULL)
        return false;
    b->wrs = shim_alloc(depth * sizeof *b->wrs);
    b->sges = shim_alloc(depth * qp->cap.max_send_sge * sizeof *b->sges);
    b->bytes = shim_alloc(depth * qp->cap.max_inline_data + 1);
    if (b->wrs == NULL || b->sges == NULL || b->bytes == NULL)
        return false;
    qp->ibv.wr_start = start;
    qp->ibv.wr_abort = start;
    qp->ibv.wr_complete = complete;
    qp->ibv.wr_send = wr_send;
    qp->ibv.wr_send_imm = wr_send_imm;
    qp->ibv.wr_rdma_write = wr_rdma_write;
    qp->ibv.wr_rdma_write_imm = wr_rdma_write_imm;
    qp->ibv.wr_rdma_read = wr_rdma_read;
    qp->ibv.wr_atomic_cmp_swp = wr_atomic_cmp_swp;
    qp->ibv.wr_atomic_fetch_add = wr_atomic_fetch_add;
    qp->ibv.wr_set_sge = set_sge;
    qp->ibv.wr_set_sge_list = set_sge_list;
    qp->ibv.wr_set_ud_addr = set_ud_addr;
    qp->ibv.wr_set_inline_data = set_inline_data;
    qp->ibv.wr_set_inline_data_list = set_inline_data_list;
    qp->has_wr_ops = true;
    return true;
}

struct ibv_qp *qp_ex_create(struct ibv_context *ibv, struct ibv_qp_init_attr_ex *init)
{
    const uint32_t known = IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_SEND_OPS_FLAGS;
    struct ibv_qp_init_attr plain;
    struct ibv_qp *qp;

    if (library_now()->agreed == NULL || !object_is(ibv, LIVE_CONTEXT) || init == NULL ||
        !(init->comp_mask & IBV_QP_INIT_ATTR_PD))
        return library_fail(EINVAL);
    if (init->comp_mask & ~known || (init->comp_mask & IBV_QP_INIT_ATTR_SEND_OPS_FLAGS &&
                                     init->send_ops_flags & ~(uint64_t)SEND_OPS))
        return library_fail(EOPNOTSUPP);
    plain = (struct ibv_qp_init_attr){
        .qp_context = init->qp_context,
        .send_cq = init->send_cq,
        .recv_cq = init->recv_cq,
        .srq = init->srq,
        .cap = init->cap,
        .qp_type = init->qp_type,
        .sq_sig_all = init->sq_sig_all,
    };
    qp = ibv_create_qp(init->pd, &plain);
    if (qp == NULL)
        return NULL;
    init->cap = plain.cap;
    if (init->comp_mask & IBV_QP_INIT_ATTR_SEND_OPS_FLAGS && !equip((struct qp *)(void *)qp)) {
        (void)ibv_destroy_qp(qp);
        return library_fail(ENOMEM);
    }
    return qp;
}
