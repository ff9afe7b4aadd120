/* SPDX-License-Identifier: Apache-2.0 */
/*
 * DOC: Posting
 *
 * A send's bytes are gathered into a slot of our arena at the post, and a receive's scatter list
 * stays in our own memory: the scheduler moves descriptors only. Fields of a work request that its
 * opcode does not use are never read; JACCL leaves them as they were on the stack.
 *
 * A list is posted one by one, each at its own time, and stops at the first that fails.
 */
#include "verbs-shim/shim/verbs/post.h"

#include <errno.h>
#include <signal.h>
#include <stdint.h>
#include <string.h>

#include "verbs-shim/shim/actor.h"
#include "verbs-shim/shim/verbs/ah.h"
#include "verbs-shim/shim/verbs/cq.h"
#include "verbs-shim/shim/verbs/memory.h"
#include "verbs-shim/shim/verbs/objects.h"
#include "verbs-shim/shim/verbs/poll.h"
#include "verbs-shim/shim/verbs/queue.h"
#include "verbs-shim/shim/verbs/rdma.h"

#define QKEY_IS_OWN (1U << 31)

/* Bytes of a list; false: an element is not ours to use. */
static bool measure(const struct pd *pd, const struct ibv_sge *sges, int count, unsigned int access,
                    uint64_t *ret)
{
    *ret = 0;
    for (int i = 0; i < count; i++) {
        if (sges[i].length > 0 && memory_at(pd, &sges[i], access) == NULL)
            return false;
        *ret += sges[i].length;
    }
    return true;
}

static uint64_t sum(const struct ibv_sge *sges, int count)
{
    uint64_t bytes = 0;

    for (int i = 0; i < count; i++)
        bytes += sges[i].length;
    return bytes;
}

/* The same of a receive. Linux adapters look at its keys when a message comes, and Open MPI posts
 * one without any to see whether a shared queue has limits. */
static bool measure_receive(const struct pd *pd, const struct ibv_recv_wr *wr, uint64_t *ret)
{
    if (!library_now()->profile->has_one_sided)
        return measure(pd, wr->sg_list, wr->num_sge, IBV_ACCESS_LOCAL_WRITE, ret);
    *ret = sum(wr->sg_list, wr->num_sge);
    return true;
}

static uint32_t frames_of(uint64_t length)
{
    const struct library *library = library_now();
    uint64_t frames;

    if (!library->profile->has_frames)
        return 0;
    frames = u64_div_ceil(length, library->agreed->frame_bytes);
    return frames == 0 ? 1 : (uint32_t)frames;
}

/* A queue pair in ERR completes what is posted at once, with a flush error. */
static void flush(struct actor *a, struct qp *qp, uint32_t wqe)
{
    bool is_recv = queue_wqe_is_recv(wqe);
    const struct proto_event event = {
        .t = actor_now(a).ps,
        .kind = PROTO_EVENT_COMPLETION,
        .qp = qp->number,
        .wqe = wqe,
        .status = IBV_WC_WR_FLUSH_ERR,
        .opcode = is_recv ? IBV_WC_RECV : IBV_WC_SEND,
        .slot = PROTO_NO_SLOT,
    };

    cq_insert(is_recv ? qp->recv_cq : qp->send_cq, &event);
}

/* Where an element of a list lies; inline ones need no region. */
static const void *source_of(const struct pd *pd, const struct ibv_sge *sge, bool is_inline)
{
    // NOLINTNEXTLINE(performance-no-int-to-ptr): what the program gave as an address
    return is_inline ? (const void *)(uintptr_t)sge->addr : memory_at(pd, sge, 0);
}

/* The bytes of the list in a slot of the arena; false: it is full. */
static bool gather(const struct pd *pd, const struct ibv_send_wr *wr, const struct ah *ah,
                   uint64_t length, uint64_t *ret_slot)
{
    const struct ibv_sge *sges = wr->sg_list;
    uint64_t bytes = length + (ah != NULL ? PROTO_GRH_BYTES : 0);
    unsigned char *to;

    *ret_slot = PROTO_NO_SLOT;
    if (bytes == 0)
        return true;
    to = poll_take_slot(bytes, ret_slot);
    if (to == NULL)
        return false;
    if (ah != NULL) {
        ah_put_header(ah, (uint32_t)length, to);
        to += PROTO_GRH_BYTES;
    }
    for (int i = 0; i < wr->num_sge; i++) {
        if (sges[i].length > 0)
            memcpy(to, source_of(pd, &sges[i], (wr->send_flags & IBV_SEND_INLINE) != 0),
                   sges[i].length);
        to += sges[i].length;
    }
    return true;
}

/* The handle of a datagram; NULL: no datagram, or no handle. */
static const struct ah *handle_of(const struct qp *qp, const struct ibv_send_wr *wr)
{
    if (qp->ibv.qp_base.qp_type != IBV_QPT_UD || !object_is(wr->wr.ud.ah, LIVE_AH))
        return NULL;
    return (const struct ah *)(void *)wr->wr.ud.ah;
}

/* Can it be sent as a datagram? */
static bool is_datagram(const struct qp *qp, const struct ibv_send_wr *wr, uint64_t length)
{
    const struct ah *ah = handle_of(qp, wr);

    return (wr->opcode == IBV_WR_SEND || wr->opcode == IBV_WR_SEND_WITH_IMM) && length <= AH_MTU &&
           ah != NULL && ah->pd == qp->pd && wr->wr.ud.remote_qpn < 1U << 24;
}

/* Where it goes. A Q key with the highest bit stands for the queue pair's own. */
static void address(const struct qp *qp, const struct ibv_send_wr *wr,
                    struct proto_command *command)
{
    const struct ah *ah = handle_of(qp, wr);

    if (ah == NULL)
        return;
    command->dest = wr->wr.ud.remote_qpn;
    command->remote_addr = ah->place;
    command->rkey = wr->wr.ud.remote_qkey & QKEY_IS_OWN ? qp->attr.qkey : wr->wr.ud.remote_qkey;
}

/* What of a send goes into the arena. False: it is full. */
static bool stage(const struct qp *qp, const struct ibv_send_wr *wr, uint64_t length,
                  uint64_t *ret_slot)
{
    *ret_slot = PROTO_NO_SLOT;
    if (wr->opcode == IBV_WR_RDMA_READ)
        return true;
    if (rdma_is_atomic(wr->opcode))
        return rdma_take_operands(wr, ret_slot);
    return gather(qp->pd, wr, handle_of(qp, wr), length, ret_slot);
}

/* errno of a send that cannot be; 0: *length is filled. */
static int refuse_send(const struct qp *qp, const struct ibv_send_wr *wr, uint64_t *length)
{
    const struct library *library = library_now();
    enum ibv_qp_state state = qp->ibv.qp_base.state;

    if (state != IBV_QPS_RTS && state != IBV_QPS_ERR)
        return EINVAL;
    if ((unsigned int)wr->opcode >= 32 || !(library->profile->opcodes >> wr->opcode & 1) ||
        wr->num_sge < 0 || (uint32_t)wr->num_sge > qp->cap.max_send_sge ||
        (wr->num_sge > 0 && wr->sg_list == NULL))
        return EINVAL;
    if (wr->send_flags & IBV_SEND_INLINE) {
        *length = sum(wr->sg_list, wr->num_sge);
        if (library->profile->max_inline == 0 || *length > qp->cap.max_inline_data)
            return EINVAL;
    } else if (!measure(qp->pd, wr->sg_list, wr->num_sge,
                        rdma_is_read(wr->opcode) ? IBV_ACCESS_LOCAL_WRITE : 0, length) ||
               *length > library->agreed->max_message) {
        return EINVAL;
    }
    if (qp->ibv.qp_base.qp_type == IBV_QPT_UD)
        return is_datagram(qp, wr, *length) ? 0 : EINVAL;
    return rdma_refuse(qp, wr, *length);
}

static int send_one(struct actor *a, struct qp *qp, const struct ibv_send_wr *wr)
{
    struct proto_command command = {.kind = PROTO_COMMAND_SEND};
    struct work *work;
    uint64_t length;
    int error = refuse_send(qp, wr, &length);

    if (error)
        return error;
    work = queue_take(&qp->send, false, frames_of(length));
    if (work == NULL)
        return ENOMEM;
    work->wr_id = wr->wr_id;
    command.wqe = queue_wqe(queue_place_of(&qp->send, work), false, qp->epoch);
    if (qp->ibv.qp_base.state == IBV_QPS_ERR && !qp->has_failed) {
        flush(a, qp, command.wqe);
        return 0;
    }
    if (!stage(qp, wr, length, &command.slot)) {
        queue_untake(&qp->send, work);
        return ENOMEM;
    }
    command.qp = qp->number;
    command.length = length;
    command.opcode = (uint32_t)wr->opcode;
    address(qp, wr, &command);
    if (qp->signals_all || wr->send_flags & IBV_SEND_SIGNALED)
        command.flags |= PROTO_SIGNALED;
    if (wr->send_flags & IBV_SEND_SOLICITED)
        command.flags |= PROTO_SOLICITED;
    rdma_describe(qp, wr, work, &command);
    if (wr->opcode == IBV_WR_SEND_WITH_IMM || wr->opcode == IBV_WR_RDMA_WRITE_WITH_IMM) {
        command.flags |= PROTO_HAS_IMM;
        command.imm = wr->imm_data;
    }
    actor_trace(a, PROTO_CHARGE_POST_SEND, command.wqe, length);
    actor_post(a, &command);
    return 0;
}

/* As the driver of a Mac does when the memory of the port's rings has gone with the cable. */
static void crash_if_cut(const struct actor *a, const struct qp *qp)
{
    if (!rule_holds(library_now()->agreed, RULE_SURVIVES_CUT) &&
        actor_now(a).ps >= qp->context->device->port->cut_at)
        (void)raise(SIGSEGV);
}

int post_receive(struct actor *a, const struct post_target *target, const struct ibv_recv_wr *wr)
{
    struct proto_command command = {.kind = PROTO_COMMAND_RECV, .slot = PROTO_NO_SLOT};
    struct work *work;
    uint64_t length;

    if (wr->num_sge < 0 || (uint32_t)wr->num_sge > target->max_sge ||
        (wr->num_sge > 0 && wr->sg_list == NULL) || !measure_receive(target->pd, wr, &length) ||
        length > library_now()->agreed->max_message)
        return EINVAL;
    work = queue_take(target->queue, true, frames_of(length));
    if (work == NULL)
        return ENOMEM;
    work->wr_id = wr->wr_id;
    queue_keep_sges(work, wr->sg_list, (uint32_t)wr->num_sge);
    command.wqe = queue_wqe(queue_place_of(target->queue, work), true, target->epoch);
    if (target->flushed != NULL) {
        flush(a, target->flushed, command.wqe);
        return 0;
    }
    command.qp = target->number;
    command.length = length;
    actor_trace(a, PROTO_CHARGE_POST_RECV, command.wqe, length);
    actor_post(a, &command);
    return 0;
}

static int recv_one(struct actor *a, struct qp *qp, const struct ibv_recv_wr *wr)
{
    enum ibv_qp_state state = qp->ibv.qp_base.state;
    const struct post_target target = {
        .number = qp->number,
        .pd = qp->pd,
        .queue = &qp->recv,
        .max_sge = qp->cap.max_recv_sge,
        .epoch = qp->epoch,
        .flushed = state == IBV_QPS_ERR ? qp : NULL,
    };

    crash_if_cut(a, qp);
    if (state == IBV_QPS_RESET || qp->srq != NULL ||
        (state != IBV_QPS_RTS && state != IBV_QPS_ERR &&
         !rule_holds(library_now()->agreed, RULE_RECV_BEFORE_RTS)))
        return EINVAL;
    return post_receive(a, &target, wr);
}

int post_send(struct ibv_qp *ibv, struct ibv_send_wr *wr, struct ibv_send_wr **bad_wr)
{
    struct actor *a = library_enter(PROTO_CHARGE_POST_SEND);
    int error;

    if (a == NULL)
        return ENOSYS;
    if (wr == NULL)
        return EINVAL;
    for (;;) {
        /* Another thread may have destroyed it while this one was parked. */
        error = object_is(ibv, LIVE_QP) ? send_one(a, (struct qp *)(void *)ibv, wr) : EINVAL;
        if (error)
            break;
        wr = wr->next;
        if (wr == NULL) {
            actor_leave(a);
            return 0;
        }
        actor_charge(a, PROTO_CHARGE_POST_MORE, 1);
    }
    if (bad_wr != NULL && rule_holds(library_now()->agreed, RULE_BAD_WR_IS_FILLED))
        *bad_wr = wr;
    return error;
}

int post_recv(struct ibv_qp *ibv, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad_wr)
{
    struct actor *a;
    int error;

    if (wr == NULL)
        return EINVAL;
    for (;;) {
        a = library_enter(PROTO_CHARGE_POST_RECV);
        if (a == NULL)
            return ENOSYS;
        error = object_is(ibv, LIVE_QP) ? recv_one(a, (struct qp *)(void *)ibv, wr) : EINVAL;
        if (error)
            break;
        wr = wr->next;
        if (wr == NULL)
            return 0;
    }
    if (bad_wr != NULL && rule_holds(library_now()->agreed, RULE_BAD_WR_IS_FILLED))
        *bad_wr = wr;
    return error;
}
