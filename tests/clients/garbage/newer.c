/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The newer verbs are inline calls through the objects, so what can be nonsense are their
 * arguments: attributes, lists, handles of another kind, work requests of random fields. Buffers
 * are real: a library has to believe in those.
 */
#include "tests/clients/garbage/newer.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#define WILD   UINT64_C(0x5ead00000000)
#define DEPTH  16U
#define ROUNDS 3000

static int accepted;

/* What has to be refused. */
#define REFUSED(call)                        \
    do {                                     \
        errno = 0;                           \
        if (call) {                          \
            accepted++;                      \
            printf("accepted: %s\n", #call); \
        }                                    \
    } while (0)

static void *wild(void)
{
    return (void *)(uintptr_t)WILD;
}

static bool is_moved(struct ibv_qp *qp, struct ibv_qp_attr *attr, int mask)
{
    return ibv_modify_qp(qp, attr, mask) == 0;
}

static void bring_up(struct newer *n, const union ibv_gid *gid)
{
    struct ibv_qp_attr attr = {.qp_state = IBV_QPS_INIT, .port_num = 1, .qkey = 7};
    const int common = IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT;

    if (!is_moved(n->ud, &attr, common | IBV_QP_QKEY))
        return;
    attr.qp_state = IBV_QPS_RTR;
    (void)is_moved(n->ud, &attr, IBV_QP_STATE);
    attr.qp_state = IBV_QPS_RTS;
    (void)is_moved(n->ud, &attr, IBV_QP_STATE | IBV_QP_SQ_PSN);
    if (!n->rc)
        return;
    attr = (struct ibv_qp_attr){.qp_state = IBV_QPS_INIT, .port_num = 1, .qp_access_flags = 15};
    (void)is_moved(n->rc, &attr, common | IBV_QP_ACCESS_FLAGS);
    attr = (struct ibv_qp_attr){.qp_state = IBV_QPS_RTR,
                                .path_mtu = IBV_MTU_4096,
                                .dest_qp_num = n->rc->qp_num,
                                .max_dest_rd_atomic = 1,
                                .ah_attr = {.is_global = 1, .port_num = 1}};
    attr.ah_attr.grh.dgid = *gid;
    attr.ah_attr.grh.sgid_index = 1;
    (void)is_moved(n->rc, &attr,
                   IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN |
                       IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER);
    attr = (struct ibv_qp_attr){.qp_state = IBV_QPS_RTS, .max_rd_atomic = 1, .timeout = 14};
    (void)is_moved(n->rc, &attr,
                   IBV_QP_STATE | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY |
                       IBV_QP_SQ_PSN | IBV_QP_MAX_QP_RD_ATOMIC);
}

void newer_make(struct newer *ret, struct ibv_context *context, struct ibv_pd *pd,
                struct ibv_cq *cq, struct ibv_mr *mr, struct ibv_comp_channel *channel)
{
    struct ibv_cq_init_attr_ex cq_attr = {.cqe = 16};
    struct ibv_srq_init_attr srq_attr = {.attr = {.max_wr = DEPTH, .max_sge = 2}};
    struct ibv_qp_init_attr rc_attr = {
        .send_cq = cq, .recv_cq = cq, .qp_type = IBV_QPT_RC, .cap = {DEPTH, DEPTH, 2, 2, 64}};
    struct ibv_qp_init_attr_ex ud_attr = {
        .send_cq = cq,
        .recv_cq = cq,
        .qp_type = IBV_QPT_UD,
        .cap = {DEPTH, DEPTH, 2, 2, 64},
        .comp_mask = IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_SEND_OPS_FLAGS,
        .pd = pd,
        .send_ops_flags = IBV_QP_EX_WITH_SEND | IBV_QP_EX_WITH_SEND_WITH_IMM};
    struct ibv_ah_attr ah_attr = {.is_global = 1, .port_num = 1, .grh.sgid_index = 1};

    *ret = (struct newer){.context = context, .pd = pd, .cq = cq, .mr = mr, .channel = channel};
    ret->ud = ibv_create_qp_ex(context, &ud_attr);
    ret->srq = ibv_create_srq(pd, &srq_attr);
    ret->cq_ex = ibv_create_cq_ex(context, &cq_attr);
    rc_attr.srq = ret->srq;
    ret->rc = ibv_create_qp(pd, &rc_attr);
    (void)ibv_query_gid(context, 1, 1, &ah_attr.grh.dgid);
    ret->ah = ibv_create_ah(pd, &ah_attr);
    if (ret->ud)
        bring_up(ret, &ah_attr.grh.dgid);
}

static uint32_t draw(uint64_t *state)
{
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    return (uint32_t)(*state >> 32);
}

/* Elements of which one in four makes no sense. */
static void draw_sges(const struct newer *n, uint64_t *state, struct ibv_sge sges[2])
{
    for (int i = 0; i < 2; i++) {
        bool is_right = draw(state) % 4 != 0;

        sges[i] = (struct ibv_sge){.addr = (uintptr_t)n->mr->addr + draw(state) % 4096,
                                   .length = draw(state) % 32,
                                   .lkey = is_right ? n->mr->lkey : draw(state)};
        if (draw(state) % 8 == 0)
            sges[i].length = UINT32_MAX - draw(state) % 4;
    }
}

/* Work requests of random fields, on a queue pair that takes them; none may crash. */
static void post_random(const struct newer *n, struct ibv_qp *qp, uint64_t seed)
{
    static const int counts[] = {0, 1, 2, 2, 1, -1, 3, INT32_MAX, INT32_MIN};
    struct ibv_ah *const handles[] = {n->ah, NULL, wild(), (struct ibv_ah *)(void *)n->pd, n->ah};
    uint64_t state = seed;

    for (int i = 0; i < ROUNDS; i++) {
        struct ibv_sge sges[2];
        struct ibv_send_wr wr = {.wr_id = draw(&state)};
        struct ibv_recv_wr recv = {.wr_id = draw(&state)};
        struct ibv_send_wr *bad;
        struct ibv_recv_wr *bad_recv;
        struct ibv_wc wc;

        draw_sges(n, &state, sges);
        recv.sg_list = wr.sg_list = draw(&state) % 16 ? sges : NULL;
        recv.num_sge = wr.num_sge = counts[draw(&state) % (sizeof counts / sizeof counts[0])];
        wr.opcode = (enum ibv_wr_opcode)(draw(&state) % 4 ? draw(&state) % 12 : draw(&state));
        wr.send_flags = draw(&state);
        wr.wr.atomic.remote_addr = draw(&state) % 2 ? (uintptr_t)n->mr->addr : draw(&state);
        wr.wr.atomic.rkey = draw(&state) % 2 ? n->mr->rkey : draw(&state);
        if (qp == n->ud) {
            wr.wr.ud.ah = handles[draw(&state) % 5];
            wr.wr.ud.remote_qpn = draw(&state) % 2 ? qp->qp_num : draw(&state);
            wr.wr.ud.remote_qkey = draw(&state);
        }
        wr.next = draw(&state) % 32 ? NULL : &wr; /* in a circle until the queue is full */
        (void)ibv_post_send(qp, &wr, &bad);
        (void)ibv_post_recv(qp, &recv, &bad_recv);
        if (n->srq)
            (void)ibv_post_srq_recv(n->srq, &recv, &bad_recv);
        (void)ibv_poll_cq(n->cq, 1, &wc);
    }
}

/* The builder's calls in an order, with counts and in numbers that make no sense. */
static void build(const struct newer *n)
{
    struct ibv_qp_ex *qp = ibv_qp_to_qp_ex(n->ud);
    char bytes[256] = {0};

    if (!qp)
        return;
    ibv_wr_set_sge(qp, 1, 2, 3);
    ibv_wr_set_ud_addr(qp, wild(), 1, 2);
    ibv_wr_set_inline_data(qp, bytes, sizeof bytes);
    REFUSED(ibv_wr_complete(qp) == 0);
    ibv_wr_start(qp);
    for (unsigned i = 0; i < 3 * DEPTH; i++)
        ibv_wr_send(qp);
    REFUSED(ibv_wr_complete(qp) == 0);
    ibv_wr_start(qp);
    ibv_wr_send(qp);
    ibv_wr_set_sge_list(qp, SIZE_MAX / 2, NULL);
    REFUSED(ibv_wr_complete(qp) == 0);
    ibv_wr_start(qp);
    ibv_wr_send(qp);
    ibv_wr_set_sge_list(qp, 1, NULL);
    REFUSED(ibv_wr_complete(qp) == 0);
    ibv_wr_start(qp);
    ibv_wr_send(qp);
    ibv_wr_set_inline_data_list(qp, 1, NULL);
    REFUSED(ibv_wr_complete(qp) == 0);
    ibv_wr_start(qp);
    ibv_wr_send(qp);
    ibv_wr_set_inline_data(qp, NULL, 8);
    REFUSED(ibv_wr_complete(qp) == 0);
    ibv_wr_start(qp);
    ibv_wr_send(qp);
    ibv_wr_set_ud_addr(qp, wild(), UINT32_MAX, UINT32_MAX);
    REFUSED(ibv_wr_complete(qp) == 0);
    ibv_wr_start(qp);
    ibv_wr_rdma_write(qp, 1, 2); /* not on datagrams */
    REFUSED(ibv_wr_complete(qp) == 0);
    ibv_wr_abort(qp);
    (void)ibv_wr_complete(qp);
}

static void make_handles(const struct newer *n)
{
    struct ibv_ah_attr attr = {.is_global = 1, .port_num = 1, .grh.sgid_index = UINT8_MAX};
    struct ibv_wc wc;
    struct ibv_grh grh;

    REFUSED(ibv_create_ah(n->pd, &attr));
    attr.grh.sgid_index = 1;
    REFUSED(ibv_create_ah(n->pd, &attr)); /* to nobody */
    attr.port_num = 0;
    REFUSED(ibv_create_ah(n->pd, &attr));
    attr.port_num = UINT8_MAX;
    REFUSED(ibv_create_ah(n->pd, &attr));
    memset(&wc, UINT8_MAX, sizeof wc);
    memset(&grh, UINT8_MAX, sizeof grh);
    REFUSED(ibv_create_ah_from_wc(n->pd, &wc, &grh, 1));
    REFUSED(ibv_create_ah_from_wc(n->pd, &wc, NULL, 1));
    REFUSED(ibv_create_ah_from_wc(n->pd, NULL, &grh, 1));
    REFUSED(ibv_init_ah_from_wc(n->context, 1, &wc, NULL, &attr) == 0);
    REFUSED(ibv_init_ah_from_wc(n->context, 1, &wc, &grh, NULL) == 0);
}

static void make_queues(const struct newer *n)
{
    struct ibv_srq_init_attr srq = {.attr = {.max_wr = UINT32_MAX, .max_sge = 1}};
    struct ibv_srq_init_attr_ex srq_ex = {.comp_mask = UINT32_MAX, .pd = wild()};
    struct ibv_srq_attr limit = {.srq_limit = UINT32_MAX};
    struct ibv_cq_init_attr_ex cq = {.cqe = UINT32_MAX};
    struct ibv_qp_init_attr_ex qp = {.comp_mask = IBV_QP_INIT_ATTR_PD, .pd = wild()};
    uint32_t number;

    REFUSED(ibv_create_srq(n->pd, &srq));
    srq.attr = (struct ibv_srq_attr){.max_wr = 1, .max_sge = UINT32_MAX};
    REFUSED(ibv_create_srq(n->pd, &srq));
    REFUSED(ibv_create_srq_ex(n->context, &srq_ex));
    REFUSED(n->srq && ibv_modify_srq(n->srq, &limit, IBV_SRQ_LIMIT) == 0);
    REFUSED(n->srq && ibv_modify_srq(n->srq, &limit, -1) == 0);
    REFUSED(n->srq && ibv_get_srq_num(n->srq, NULL) == 0);
    (void)ibv_get_srq_num(n->srq, &number);
    REFUSED(ibv_create_cq_ex(n->context, &cq));
    cq = (struct ibv_cq_init_attr_ex){.cqe = 1, .channel = wild()};
    REFUSED(ibv_create_cq_ex(n->context, &cq));
    cq = (struct ibv_cq_init_attr_ex){.cqe = 1, .comp_mask = UINT32_MAX};
    REFUSED(ibv_create_cq_ex(n->context, &cq));
    REFUSED(ibv_create_qp_ex(n->context, &qp));
    qp.pd = n->pd;
    qp.send_cq = wild();
    REFUSED(ibv_create_qp_ex(n->context, &qp));
    qp.send_cq = qp.recv_cq = n->cq;
    qp.qp_type = IBV_QPT_RC;
    qp.srq = wild();
    REFUSED(ibv_create_qp_ex(n->context, &qp));
    qp.srq = NULL;
    qp.comp_mask = UINT32_MAX;
    REFUSED(ibv_create_qp_ex(n->context, &qp));
    qp.comp_mask = IBV_QP_INIT_ATTR_PD;
    qp.cap.max_inline_data = UINT32_MAX;
    REFUSED(ibv_create_qp_ex(n->context, &qp));
}

static void take_events(const struct newer *n)
{
    struct ibv_async_event event;
    struct ibv_poll_cq_attr attr = {.comp_mask = UINT32_MAX};
    struct ibv_cq *cq;
    void *context;

    (void)fcntl(n->context->async_fd, F_SETFL, O_NONBLOCK);
    (void)fcntl(n->channel->fd, F_SETFL, O_NONBLOCK);
    while (ibv_get_async_event(n->context, &event) == 0)
        ibv_ack_async_event(&event);
    REFUSED(ibv_get_async_event(n->context, NULL) == 0);
    REFUSED(ibv_get_cq_event(n->channel, &cq, &context) == 0);
    REFUSED(ibv_get_cq_event(n->channel, NULL, NULL) == 0);
    ibv_ack_cq_events(n->cq, UINT32_MAX);
    if (!n->cq_ex)
        return;
    /* Before anything was polled. */
    (void)ibv_wc_read_opcode(n->cq_ex);
    (void)ibv_wc_read_completion_wallclock_ns(n->cq_ex);
    ibv_end_poll(n->cq_ex);
    REFUSED(ibv_start_poll(n->cq_ex, &attr) == 0);
    REFUSED(ibv_start_poll(n->cq_ex, NULL) == 0);
    REFUSED(ibv_next_poll(n->cq_ex) == 0);
}

int newer_call(struct newer *n)
{
    make_queues(n);
    make_handles(n);
    build(n);
    take_events(n);
    if (n->ud)
        post_random(n, n->ud, 1);
    if (n->rc)
        post_random(n, n->rc, 2);
    return accepted;
}
