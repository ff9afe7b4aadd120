/* SPDX-License-Identifier: Apache-2.0 */
/*
 * DOC: verbs_cases
 *
 * What verbs promise beyond Apple's part of them, in cases that two ranks run together over one
 * cable: `verbs_cases DEVICE`, with JACCL_RANK and JACCL_COORDINATOR in the environment. Plain
 * verbs. A line for each case that fails; the exit code is 0 if none did, 3 if the cases could not
 * be run.
 *
 * Between cases the ranks meet on the side channel, so that what one expects the other has done.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <infiniband/verbs.h>

#include "tests/clients/uc_mesh/fault.h"
#include "tests/clients/uc_mesh/side.h"

#define GRH      40U
#define MTU      4096U
#define SLOT     8192U /* of memory, for each request */
#define SLOTS    64U
#define DEPTH    32U
#define QKEY     0x1234U
#define PATIENCE 10000000 /* ns: long after anything that may come has come */
#define ACCESS   (IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_WRITE)

struct end {
    uint32_t ud, rc[2];
    uint8_t gid[16];
};

struct rank {
    unsigned number;
    struct side side;
    struct ibv_context *context;
    struct ibv_pd *pd;
    struct ibv_mr *mr;
    struct ibv_comp_channel *channel;
    struct ibv_cq *cq;
    struct ibv_cq_ex *cq_ex; /* of ud's sends */
    struct ibv_srq *srq;
    struct ibv_qp *ud, *rc[2];
    struct ibv_ah *ah;
    struct end mine, other;
    unsigned char *memory;
    int failures;
};

#define CHECK(r, condition)                                                             \
    do {                                                                                \
        if (!(condition)) {                                                             \
            (r)->failures++;                                                            \
            printf("FAILED rank %u, line %d: %s\n", (r)->number, __LINE__, #condition); \
        }                                                                               \
    } while (0)

static void rest(long ns)
{
    (void)nanosleep(&(struct timespec){.tv_nsec = ns}, NULL);
}

static void meet(struct rank *r)
{
    struct fault fault = {0};

    if (!side_barrier(&r->side, &fault)) {
        puts(fault.text);
        exit(3);
    }
}

static unsigned char *slot(const struct rank *r, unsigned n)
{
    return r->memory + (size_t)n * SLOT;
}

static int receive(struct rank *r, struct ibv_qp *qp, unsigned n, uint32_t bytes)
{
    struct ibv_sge sge = {(uintptr_t)slot(r, n), bytes, r->mr->lkey};
    struct ibv_recv_wr wr = {.wr_id = n, .sg_list = &sge, .num_sge = 1};
    struct ibv_recv_wr *bad;

    return qp ? ibv_post_recv(qp, &wr, &bad) : ibv_post_srq_recv(r->srq, &wr, &bad);
}

static struct ibv_send_wr make_send(const struct rank *r, struct ibv_sge *sge, unsigned n,
                                    uint32_t bytes)
{
    *sge = (struct ibv_sge){(uintptr_t)slot(r, n), bytes, r->mr->lkey};
    return (struct ibv_send_wr){.wr_id = n,
                                .sg_list = sge,
                                .num_sge = 1,
                                .opcode = IBV_WR_SEND,
                                .send_flags = IBV_SEND_SIGNALED};
}

static int send_to(struct rank *r, uint32_t qpn, uint32_t qkey, unsigned n, uint32_t bytes)
{
    struct ibv_sge sge;
    struct ibv_send_wr wr = make_send(r, &sge, n, bytes);
    struct ibv_send_wr *bad;

    wr.wr.ud.ah = r->ah;
    wr.wr.ud.remote_qpn = qpn;
    wr.wr.ud.remote_qkey = qkey;
    return ibv_post_send(r->ud, &wr, &bad);
}

/* The next completion within PATIENCE; false: none came. */
static bool take(struct ibv_cq *cq, struct ibv_wc *wc)
{
    struct timespec start;
    struct timespec now;

    (void)clock_gettime(CLOCK_MONOTONIC, &start);
    do {
        if (ibv_poll_cq(cq, 1, wc) == 1)
            return true;
        (void)clock_gettime(CLOCK_MONOTONIC, &now);
    } while ((now.tv_sec - start.tv_sec) * 1000000000 + now.tv_nsec - start.tv_nsec < PATIENCE);
    return false;
}

static bool is_sent(struct rank *r, unsigned n)
{
    struct ibv_wc wc;

    return take(ibv_cq_ex_to_cq(r->cq_ex), &wc) && wc.status == IBV_WC_SUCCESS && wc.wr_id == n;
}

static bool has_header(const struct rank *r, const unsigned char *header)
{
    static const unsigned char zero[20];

    return memcmp(header, zero, 20) == 0 && header[20] == 0x45 &&
           memcmp(header + 32, r->other.gid + 12, 4) == 0 &&
           memcmp(header + 36, r->mine.gid + 12, 4) == 0;
}

/* A datagram arrives behind a header that names its sender, who gets an answer. */
static void case_datagram(struct rank *r)
{
    struct ibv_wc wc = {0};

    CHECK(r, receive(r, r->ud, 0, SLOT) == 0);
    memset(slot(r, 1), 0x5a, 100);
    meet(r);
    if (r->number == 0) {
        CHECK(r, send_to(r, r->other.ud, QKEY, 1, 100) == 0 && is_sent(r, 1));
        CHECK(r, take(r->cq, &wc) && wc.wr_id == 0 && wc.byte_len == GRH + 7);
        CHECK(r, wc.wc_flags & IBV_WC_GRH && has_header(r, slot(r, 0)));
        return;
    }
    CHECK(r, take(r->cq, &wc) && wc.status == IBV_WC_SUCCESS && wc.opcode == IBV_WC_RECV);
    CHECK(r, wc.byte_len == GRH + 100 && wc.wc_flags == IBV_WC_GRH && wc.wr_id == 0);
    CHECK(r, wc.src_qp == r->other.ud && wc.qp_num == r->mine.ud && wc.sl == 10);
    CHECK(r, has_header(r, slot(r, 0)) && slot(r, 0)[GRH] == 0x5a && slot(r, 0)[GRH + 99] == 0x5a);

    struct ibv_grh header;
    struct ibv_ah *before = r->ah;

    memcpy(&header, slot(r, 0), sizeof header);
    r->ah = ibv_create_ah_from_wc(r->pd, &wc, &header, 1);
    CHECK(r, r->ah && send_to(r, wc.src_qp, QKEY, 1, 7) == 0 && is_sent(r, 1));
    CHECK(r, ibv_destroy_ah(r->ah) == 0);
    r->ah = before;
}

/* What nobody takes is dropped, and its sender hears nothing of it. */
static void case_dropped(struct rank *r)
{
    struct ibv_wc wc;

    if (r->number == 0) {
        CHECK(r, send_to(r, r->other.ud, QKEY, 1, 64) == 0 && is_sent(r, 1));
        rest(1000000);
        meet(r);
        meet(r);
        CHECK(r, send_to(r, r->other.ud, QKEY + 1, 1, 64) == 0 && is_sent(r, 1));
        CHECK(r, send_to(r, r->other.ud + 1, QKEY, 1, 64) == 0 && is_sent(r, 1));
        CHECK(r, send_to(r, r->other.rc[0], QKEY, 1, 64) == 0 && is_sent(r, 1));
        CHECK(r, send_to(r, r->other.ud, QKEY | 1U << 31, 2, 3) == 0 && is_sent(r, 2));
        return;
    }
    meet(r); /* no receive was posted until now */
    CHECK(r, receive(r, r->ud, 0, SLOT) == 0 && receive(r, r->ud, 3, SLOT) == 0);
    meet(r);
    CHECK(r, take(r->cq, &wc) && wc.byte_len == GRH + 3); /* the last one: the own Q key */
    CHECK(r, !take(r->cq, &wc));
    CHECK(r, send_to(r, r->other.ud, QKEY, 0, 0) == 0 && is_sent(r, 0));
}

static void case_sizes(struct rank *r)
{
    struct ibv_wc wc;

    if (r->number == 0) {
        CHECK(r, receive(r, r->ud, 0, GRH + 10) == 0);
        meet(r);
        CHECK(r, send_to(r, r->other.ud, QKEY, 1, MTU + 1) == EINVAL);
        CHECK(r, send_to(r, r->other.ud, QKEY, 1, MTU) == 0 && is_sent(r, 1));
        CHECK(r, take(r->cq, &wc) && wc.status == IBV_WC_LOC_LEN_ERR);
        return;
    }
    meet(r); /* one receive is left */
    CHECK(r, take(r->cq, &wc) && wc.byte_len == GRH + MTU && wc.status == IBV_WC_SUCCESS);
    CHECK(r, send_to(r, r->other.ud, QKEY, 1, 11) == 0 && is_sent(r, 1));
}

static void case_handles(struct rank *r)
{
    struct ibv_ah_attr attr = {.is_global = 1, .port_num = 1, .grh.sgid_index = 1};
    struct ibv_ah *ah = r->ah;

    memcpy(attr.grh.dgid.raw, r->other.gid, 16);
    attr.grh.dgid.raw[13] ^= 1; /* nobody's */
    CHECK(r, !ibv_create_ah(r->pd, &attr) && errno == ETIMEDOUT);
    attr.is_global = 0; /* no LIDs */
    CHECK(r, !ibv_create_ah(r->pd, &attr) && errno == EINVAL);
    r->ah = NULL;
    CHECK(r, send_to(r, r->other.ud, QKEY, 1, 1) == EINVAL);
    r->ah = ah;
}

/* A device reaches itself, and its datagram is not taken for anybody else's. */
static void case_self(struct rank *r)
{
    struct ibv_ah_attr attr = {.is_global = 1, .port_num = 1, .grh.sgid_index = 1};
    struct ibv_ah *ah = r->ah;
    struct ibv_wc wc;

    memcpy(attr.grh.dgid.raw, r->mine.gid, 16);
    r->ah = ibv_create_ah(r->pd, &attr);
    memset(slot(r, 1), 0x40 + (int)r->number, 8);
    CHECK(r, r->ah && receive(r, r->ud, 0, SLOT) == 0);
    rest(1000000);
    CHECK(r, send_to(r, r->mine.ud, QKEY, 1, 8) == 0 && is_sent(r, 1));
    CHECK(r, take(r->cq, &wc) && wc.byte_len == GRH + 8 && wc.src_qp == r->mine.ud);
    CHECK(r, slot(r, 0)[GRH + 7] == 0x40 + r->number);
    CHECK(r, ibv_destroy_ah(r->ah) == 0);
    r->ah = ah;
}

/* The newer calls, on both ends; numbers say that all come, and in order. */
static void case_many(struct rank *r)
{
    struct ibv_qp_ex *qp = ibv_qp_to_qp_ex(r->ud);
    struct ibv_poll_cq_attr attr = {0};
    struct ibv_wc wc;

    for (unsigned n = 0; n < DEPTH; n++)
        CHECK(r, r->number == 0 || receive(r, r->ud, n, SLOT) == 0);
    meet(r);
    for (unsigned n = 0; n < DEPTH && r->number == 0; n++) {
        ibv_wr_start(qp);
        qp->wr_id = n;
        qp->wr_flags = IBV_SEND_SIGNALED;
        ibv_wr_send_imm(qp, n);
        ibv_wr_set_ud_addr(qp, r->ah, r->other.ud, QKEY);
        ibv_wr_set_inline_data(qp, &n, sizeof n);
        CHECK(r, ibv_wr_complete(qp) == 0);
    }
    for (unsigned n = 0; n < DEPTH && r->number == 1; n++) {
        CHECK(r, take(r->cq, &wc) && wc.wr_id == n && wc.imm_data == n);
        CHECK(r, wc.wc_flags == (IBV_WC_GRH | IBV_WC_WITH_IMM) &&
                     memcmp(slot(r, n) + GRH, &n, sizeof n) == 0);
    }
    if (r->number == 1)
        return;
    rest(1000000);
    CHECK(r, ibv_start_poll(r->cq_ex, &attr) == 0);
    for (unsigned n = 0; n < DEPTH; n++) {
        CHECK(r, r->cq_ex->wr_id == n && r->cq_ex->status == IBV_WC_SUCCESS);
        CHECK(r, ibv_wc_read_opcode(r->cq_ex) == IBV_WC_SEND &&
                     ibv_wc_read_qp_num(r->cq_ex) == r->mine.ud);
        CHECK(r, ibv_next_poll(r->cq_ex) == (n + 1 < DEPTH ? 0 : ENOENT));
    }
    ibv_end_poll(r->cq_ex);
    CHECK(r, ibv_start_poll(r->cq_ex, &attr) == ENOENT);
}

static int send_on(struct rank *r, unsigned which, unsigned n)
{
    struct ibv_sge sge;
    struct ibv_send_wr wr = make_send(r, &sge, n, 8);
    struct ibv_send_wr *bad;

    return ibv_post_send(r->rc[which], &wr, &bad);
}

static bool is_readable(int fd, int ms)
{
    struct pollfd p = {.fd = fd, .events = POLLIN};

    return poll(&p, 1, ms) == 1 && p.revents == POLLIN;
}

/* Two queue pairs take from one queue; the limit tells once, when it is passed. */
static void case_shared(struct rank *r)
{
    struct ibv_srq_attr attr = {.srq_limit = 3};
    struct ibv_async_event event;
    struct ibv_wc wc;

    if (r->number == 0) {
        meet(r);
        for (unsigned n = 0; n < 5; n++)
            CHECK(r, send_on(r, n % 2, n) == 0 && take(r->cq, &wc) && wc.status == IBV_WC_SUCCESS);
        CHECK(r, send_on(r, 1, 5) == 0 && !take(r->cq, &wc));
        meet(r);
        CHECK(r, take(r->cq, &wc) && wc.status == IBV_WC_SUCCESS && wc.wr_id == 5);
        return;
    }
    CHECK(r, receive(r, r->rc[0], 0, SLOT) == EINVAL && ibv_destroy_srq(r->srq) == EBUSY);
    for (unsigned n = 0; n < 5; n++)
        CHECK(r, receive(r, NULL, n, SLOT) == 0);
    CHECK(r, ibv_modify_srq(r->srq, &attr, IBV_SRQ_LIMIT) == 0);
    CHECK(r, ibv_query_srq(r->srq, &attr) == 0 && attr.srq_limit == 3 && attr.max_wr == DEPTH);
    CHECK(r, !is_readable(r->context->async_fd, 0));
    meet(r);
    CHECK(r, is_readable(r->context->async_fd, 1000));
    CHECK(r, ibv_get_async_event(r->context, &event) == 0);
    CHECK(r, event.event_type == IBV_EVENT_SRQ_LIMIT_REACHED && event.element.srq == r->srq);
    ibv_ack_async_event(&event);
    CHECK(r, !is_readable(r->context->async_fd, 0) && ibv_query_srq(r->srq, &attr) == 0 &&
                 attr.srq_limit == 0);
    for (unsigned n = 0; n < 5; n++)
        CHECK(r, take(r->cq, &wc) && wc.wr_id == n && wc.qp_num == r->mine.rc[n % 2]);
    CHECK(r, !take(r->cq, &wc));
    meet(r);
    CHECK(r, receive(r, NULL, 5, SLOT) == 0); /* the sixth waits for it */
    CHECK(r, take(r->cq, &wc) && wc.wr_id == 5 && wc.qp_num == r->mine.rc[1]);
    attr.srq_limit = 3; /* fewer are there already */
    CHECK(r, ibv_modify_srq(r->srq, &attr, IBV_SRQ_LIMIT) == 0);
    CHECK(r, ibv_get_async_event(r->context, &event) == 0 &&
                 event.event_type == IBV_EVENT_SRQ_LIMIT_REACHED);
}

/* A descriptor becomes readable when a completion comes, and an idle one says EAGAIN. */
static void case_descriptors(struct rank *r)
{
    struct ibv_async_event event;
    struct ibv_cq *cq;
    struct ibv_wc wc;
    void *context;

    CHECK(r, fcntl(r->channel->fd, F_SETFL, O_NONBLOCK) == 0);
    CHECK(r, fcntl(r->context->async_fd, F_SETFL, O_NONBLOCK) == 0);
    CHECK(r, ibv_get_cq_event(r->channel, &cq, &context) == -1 && errno == EAGAIN);
    CHECK(r, ibv_get_async_event(r->context, &event) == -1 && errno == EAGAIN);
    if (r->number == 0) {
        meet(r);
        rest(1000000);
        CHECK(r, send_on(r, 0, 0) == 0 && take(r->cq, &wc));
        return;
    }
    CHECK(r, receive(r, NULL, 0, SLOT) == 0 && ibv_req_notify_cq(r->cq, 0) == 0);
    meet(r);
    CHECK(r, !is_readable(r->channel->fd, 0) && is_readable(r->channel->fd, 10000));
    CHECK(r, ibv_get_cq_event(r->channel, &cq, &context) == 0 && cq == r->cq);
    ibv_ack_cq_events(cq, 1);
    CHECK(r, take(r->cq, &wc) && !is_readable(r->channel->fd, 1));
}

static int64_t now_ns(void)
{
    struct timespec ts;

    (void)clock_gettime(CLOCK_MONOTONIC, &ts);
    return ts.tv_sec * INT64_C(1000000000) + ts.tv_nsec;
}

struct watcher {
    int fd;
    bool has_seen;
    int64_t at;
};

static void *watch(void *arg)
{
    struct watcher *w = arg;

    w->has_seen = is_readable(w->fd, 10000);
    w->at = now_ns();
    return NULL;
}

/* A thread that waits for the channel wakes with the completion, also if the queue was armed only
 * while it waited. */
static void case_armed_late(struct rank *r)
{
    struct watcher w = {.fd = r->channel->fd};
    pthread_t thread;
    struct ibv_cq *cq;
    struct ibv_wc wc;
    void *context;
    int64_t came;

    if (r->number == 0) {
        meet(r);
        rest(1000000);
        CHECK(r, send_on(r, 0, 0) == 0 && take(r->cq, &wc));
        return;
    }
    CHECK(r, pthread_create(&thread, NULL, watch, &w) == 0);
    rest(1000000);
    CHECK(r, receive(r, NULL, 0, SLOT) == 0 && ibv_req_notify_cq(r->cq, 0) == 0);
    meet(r);
    CHECK(r, take(r->cq, &wc));
    came = now_ns();
    CHECK(r, pthread_join(thread, NULL) == 0);
    CHECK(r, w.has_seen && w.at > came - 10000 && w.at < came + 10000);
    CHECK(r, ibv_get_cq_event(r->channel, &cq, &context) == 0 && cq == r->cq);
    ibv_ack_cq_events(cq, 1);
}

/* The end of a queue pair with a shared queue. */
static void case_last(struct rank *r)
{
    struct ibv_qp_attr attr = {.qp_state = IBV_QPS_ERR};
    struct ibv_async_event event;

    CHECK(r, ibv_modify_qp(r->rc[0], &attr, IBV_QP_STATE) == 0);
    if (r->number == 0)
        return;
    CHECK(r, ibv_get_async_event(r->context, &event) == 0);
    CHECK(r, event.event_type == IBV_EVENT_QP_LAST_WQE_REACHED && event.element.qp == r->rc[0]);
    ibv_ack_async_event(&event);
    CHECK(r, ibv_destroy_qp(r->rc[0]) == 0 && ibv_destroy_qp(r->rc[1]) == 0);
    CHECK(r, ibv_destroy_srq(r->srq) == 0);
}

static bool open_device(struct rank *r, const char *name)
{
    struct ibv_device **list = ibv_get_device_list(NULL);

    for (size_t i = 0; list && list[i] && !r->context; i++) {
        if (strcmp(ibv_get_device_name(list[i]), name) == 0)
            r->context = ibv_open_device(list[i]);
    }
    if (list)
        ibv_free_device_list(list);
    return r->context != NULL;
}

static bool make_queues(struct rank *r)
{
    struct ibv_srq_init_attr srq = {.attr = {.max_wr = DEPTH, .max_sge = 1}};
    struct ibv_cq_init_attr_ex cq = {.cqe = 2 * DEPTH, .wc_flags = IBV_WC_STANDARD_FLAGS};
    void *memory = NULL;

    r->pd = ibv_alloc_pd(r->context);
    if (!r->pd || posix_memalign(&memory, 4096, (size_t)SLOTS * SLOT))
        return false;
    r->memory = memory;
    memset(memory, 0, (size_t)SLOTS * SLOT);
    r->mr = ibv_reg_mr(r->pd, memory, (size_t)SLOTS * SLOT, ACCESS);
    r->channel = ibv_create_comp_channel(r->context);
    r->cq = ibv_create_cq(r->context, 4 * DEPTH, NULL, r->channel, 0);
    r->cq_ex = ibv_create_cq_ex(r->context, &cq);
    r->srq = ibv_create_srq(r->pd, &srq);
    return r->mr && r->channel && r->cq && r->cq_ex && r->srq;
}

static bool make_pairs(struct rank *r)
{
    struct ibv_qp_init_attr_ex ud = {
        .send_cq = ibv_cq_ex_to_cq(r->cq_ex),
        .recv_cq = r->cq,
        .cap = {DEPTH, DEPTH, 1, 1, 64},
        .qp_type = IBV_QPT_UD,
        .comp_mask = IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_SEND_OPS_FLAGS,
        .pd = r->pd,
        .send_ops_flags = IBV_QP_EX_WITH_SEND | IBV_QP_EX_WITH_SEND_WITH_IMM,
    };
    struct ibv_qp_attr init = {.qp_state = IBV_QPS_INIT, .port_num = 1, .qkey = QKEY};

    r->ud = ibv_create_qp_ex(r->context, &ud);
    if (!r->ud ||
        ibv_modify_qp(r->ud, &init, IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_QKEY))
        return false;
    init.qp_access_flags = ACCESS;
    for (int i = 0; i < 2; i++) {
        struct ibv_qp_init_attr rc = {.send_cq = r->cq,
                                      .recv_cq = r->cq,
                                      .srq = r->srq,
                                      .cap = {DEPTH, 0, 1, 0, 0},
                                      .qp_type = IBV_QPT_RC};

        r->rc[i] = ibv_create_qp(r->pd, &rc);
        if (!r->rc[i] ||
            ibv_modify_qp(r->rc[i], &init,
                          IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS))
            return false;
    }
    return true;
}

static bool exchange(struct rank *r)
{
    struct fault fault = {0};
    union ibv_gid gid;
    struct end all[2];

    if (ibv_query_gid(r->context, 1, 1, &gid))
        return false;
    memcpy(r->mine.gid, gid.raw, 16);
    r->mine.ud = r->ud->qp_num;
    r->mine.rc[0] = r->rc[0]->qp_num;
    r->mine.rc[1] = r->rc[1]->qp_num;
    if (!side_all_gather(&r->side, &r->mine, all, sizeof r->mine, &fault))
        return false;
    r->other = all[1 - r->number];
    return true;
}

static bool connect_all(struct rank *r)
{
    struct ibv_qp_attr attr = {
        .qp_state = IBV_QPS_RTR,
        .path_mtu = IBV_MTU_4096,
        .min_rnr_timer = 12,
        .ah_attr = {.is_global = 1, .port_num = 1, .grh = {.sgid_index = 1, .hop_limit = 1}}};

    memcpy(attr.ah_attr.grh.dgid.raw, r->other.gid, 16);
    r->ah = ibv_create_ah(r->pd, &attr.ah_attr);
    if (!r->ah || ibv_modify_qp(r->ud, &attr, IBV_QP_STATE))
        return false;
    for (int i = 0; i < 2; i++) {
        attr.dest_qp_num = r->other.rc[i];
        if (ibv_modify_qp(r->rc[i], &attr,
                          IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN |
                              IBV_QP_RQ_PSN | IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER))
            return false;
    }
    attr = (struct ibv_qp_attr){.qp_state = IBV_QPS_RTS, .timeout = 14, .retry_cnt = 7};
    for (int i = 0; i < 2; i++) {
        if (ibv_modify_qp(r->rc[i], &attr,
                          IBV_QP_STATE | IBV_QP_SQ_PSN | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT |
                              IBV_QP_RNR_RETRY | IBV_QP_MAX_QP_RD_ATOMIC))
            return false;
    }
    return ibv_modify_qp(r->ud, &attr, IBV_QP_STATE | IBV_QP_SQ_PSN) == 0;
}

int main(int argc, char **argv)
{
    static void (*const cases[])(struct rank * r) = {
        case_datagram, case_dropped, case_sizes,       case_handles,    case_self,
        case_many,     case_shared,  case_descriptors, case_armed_late, case_last,
    };
    const char *coordinator = getenv("JACCL_COORDINATOR");
    const char *number = getenv("JACCL_RANK");
    struct rank r = {.number = number ? (unsigned)atoi(number) : 0};
    struct fault fault = {0};

    if (argc != 2 || !coordinator || !open_device(&r, argv[1]) || !make_queues(&r) ||
        !make_pairs(&r) || !side_open(&r.side, r.number, 2, coordinator, &fault) || !exchange(&r) ||
        !connect_all(&r)) {
        printf("the cases cannot be run: %s %s\n", strerror(errno), fault.text);
        return 3;
    }
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        meet(&r);
        cases[i](&r);
        (void)fflush(stdout);
    }
    meet(&r);
    side_close(&r.side);
    return r.failures > 0;
}
