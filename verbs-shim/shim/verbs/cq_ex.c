/* SPDX-License-Identifier: Apache-2.0 */
/*
 * DOC: Completion queues with calls
 *
 * start_poll and next_poll take one completion each, at the cost of a poll that returns one; what
 * the read calls say is in the object. Of the time stamps, completion times are those of the poll,
 * in nanoseconds of virtual time.
 */
#include <errno.h>
#include <stdint.h>

#include <infiniband/verbs.h>

#include "verbs-shim/shim/verbs/cq.h"
#include "verbs-shim/shim/verbs/objects.h"
#include "verbs-shim/shim/verbs/poll.h"

#define NS_PS 1000

static struct cq *cq_of(struct ibv_cq_ex *ibv)
{
    return (struct cq *)(void *)ibv;
}

/* errno; ENOENT: the queue is empty. */
static int take_one(struct ibv_cq_ex *ibv)
{
    struct cq *cq = cq_of(ibv);
    int n = poll_cq(ibv_cq_ex_to_cq(ibv), 1, &cq->wc);

    if (n < 0)
        return -n;
    if (n == 0)
        return ENOENT;
    ibv->wr_id = cq->wc.wr_id;
    ibv->status = cq->wc.status;
    return 0;
}

static int start_poll(struct ibv_cq_ex *ibv, struct ibv_poll_cq_attr *attr)
{
    return attr != NULL && attr->comp_mask ? EINVAL : take_one(ibv);
}

static void end_poll(struct ibv_cq_ex *ibv)
{
    (void)ibv; /* what was read stays until the next poll */
}

static enum ibv_wc_opcode read_opcode(struct ibv_cq_ex *ibv)
{
    return cq_of(ibv)->wc.opcode;
}

static uint32_t read_vendor_err(struct ibv_cq_ex *ibv)
{
    return cq_of(ibv)->wc.vendor_err;
}

static uint32_t read_byte_len(struct ibv_cq_ex *ibv)
{
    return cq_of(ibv)->wc.byte_len;
}

static __be32 read_imm_data(struct ibv_cq_ex *ibv)
{
    return cq_of(ibv)->wc.imm_data;
}

static uint32_t read_qp_num(struct ibv_cq_ex *ibv)
{
    return cq_of(ibv)->wc.qp_num;
}

static uint32_t read_src_qp(struct ibv_cq_ex *ibv)
{
    return cq_of(ibv)->wc.src_qp;
}

static unsigned int read_wc_flags(struct ibv_cq_ex *ibv)
{
    return cq_of(ibv)->wc.wc_flags;
}

static uint32_t read_slid(struct ibv_cq_ex *ibv)
{
    return cq_of(ibv)->wc.slid;
}

static uint8_t read_sl(struct ibv_cq_ex *ibv)
{
    return cq_of(ibv)->wc.sl;
}

static uint8_t read_dlid_path_bits(struct ibv_cq_ex *ibv)
{
    return cq_of(ibv)->wc.dlid_path_bits;
}

static uint64_t read_completion_ts(struct ibv_cq_ex *ibv)
{
    struct actor *a = actor_self();

    (void)ibv;
    return a != NULL ? (uint64_t)(actor_now(a).ps / NS_PS) : 0;
}

static uint64_t read_wallclock_ns(struct ibv_cq_ex *ibv)
{
    return (uint64_t)library_now()->agreed->epoch_ns + read_completion_ts(ibv);
}

static void set_calls(struct ibv_cq_ex *ibv)
{
    ibv->start_poll = start_poll;
    ibv->next_poll = take_one;
    ibv->end_poll = end_poll;
    ibv->read_opcode = read_opcode;
    ibv->read_vendor_err = read_vendor_err;
    ibv->read_byte_len = read_byte_len;
    ibv->read_imm_data = read_imm_data;
    ibv->read_qp_num = read_qp_num;
    ibv->read_src_qp = read_src_qp;
    ibv->read_wc_flags = read_wc_flags;
    ibv->read_slid = read_slid;
    ibv->read_sl = read_sl;
    ibv->read_dlid_path_bits = read_dlid_path_bits;
    ibv->read_completion_ts = read_completion_ts;
    ibv->read_completion_wallclock_ns = read_wallclock_ns;
}

struct ibv_cq_ex *cq_create_ex(struct ibv_context *ibv, struct ibv_cq_init_attr_ex *init)
{
    const uint64_t readable = IBV_WC_STANDARD_FLAGS | IBV_WC_EX_WITH_COMPLETION_TIMESTAMP |
                              IBV_WC_EX_WITH_COMPLETION_TIMESTAMP_WALLCLOCK;
    const uint32_t flags = IBV_CREATE_CQ_ATTR_SINGLE_THREADED | IBV_CREATE_CQ_ATTR_IGNORE_OVERRUN;
    struct ibv_cq *cq;

    if (init == NULL)
        return library_fail(EINVAL);
    if (init->wc_flags & ~readable || init->comp_mask & ~(uint32_t)IBV_CQ_INIT_ATTR_MASK_FLAGS ||
        (init->comp_mask & IBV_CQ_INIT_ATTR_MASK_FLAGS && init->flags & ~flags))
        return library_fail(EOPNOTSUPP);
    cq =
        ibv_create_cq(ibv, (int)init->cqe, init->cq_context, init->channel, (int)init->comp_vector);
    if (cq == NULL)
        return NULL;
    ((struct cq *)(void *)cq)->ignores_overrun = init->comp_mask & IBV_CQ_INIT_ATTR_MASK_FLAGS &&
                                                 init->flags & IBV_CREATE_CQ_ATTR_IGNORE_OVERRUN;
    set_calls((struct ibv_cq_ex *)(void *)cq);
    return (struct ibv_cq_ex *)(void *)cq;
}
