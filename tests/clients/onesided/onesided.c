/* SPDX-License-Identifier: Apache-2.0 */
/*
 * DOC: onesided
 *
 * One-sided verbs with checked data, over plain verbs: `onesided WHAT [DEVICE [ROUNDS]]`. Two ranks
 * that meet at JACCL_COORDINATOR, JACCL_RANK says which one this is; rank 0 acts on rank 1's
 * memory.
 *
 *   data     writes, reads, atomics, with immediate data, gathered, inline, unsignaled, fenced,
 *            by work requests and by the builder's calls; bytes, order and counts are checked
 *   errors   a key that is none, a range beyond the region, access that was not given, on the
 *            region and on the queue pair, a crooked atomic, a peer that goes away
 *   uc       writes on UC, with immediate data
 *   spin     each rank waits for the other's writes in a loop over its own memory, ROUNDS times
 *   nothing  rank 1 waits so for a write that never comes
 *   look     the same exchange, but whoever waits polls between two looks at its memory
 *
 * Every check is a line "ok NAME" or "not ok NAME"; exit code 1 after one that failed, 3 if it
 * could not begin.
 */
#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <infiniband/verbs.h>

#include "tests/clients/uc_mesh/fault.h"
#include "tests/clients/uc_mesh/side.h"

#define BYTES (256U * 1024)
#define DEPTH 64U
#define READS 2U
#define ACCESS                                                                   \
    (IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_WRITE | \
     IBV_ACCESS_REMOTE_ATOMIC)

/* What a rank tells the other. */
struct far_end {
    uint32_t qp_num;
    uint32_t rkey, closed_rkey;
    uint64_t addr, closed_addr;
    uint8_t gid[16];
};

struct pair {
    struct ibv_context *context;
    struct ibv_pd *pd;
    struct ibv_mr *mr, *closed_mr; /* the second without remote access */
    struct ibv_cq *cq;
    struct ibv_qp *qp;
    struct far_end far_end;
    char *memory, *closed;
    struct side side;
    struct fault fault;
    unsigned rank;
    bool is_alone; /* the queue pair is its own peer */
    enum ibv_qp_type type;
    unsigned int qp_access;
    uint64_t next_id;
    int failures;
};

static void check(struct pair *p, const char *name, bool is_right)
{
    printf("%s %s\n", is_right ? "ok" : "not ok", name);
    p->failures += !is_right;
}

static void fill(char *to, size_t length, unsigned seed)
{
    for (size_t i = 0; i < length; i++)
        to[i] = (char)((i * 131 + seed * 17 + (i >> 8)) & 0xff);
}

static bool holds(const char *at, size_t length, unsigned seed)
{
    for (size_t i = 0; i < length; i++) {
        if (at[i] != (char)((i * 131 + seed * 17 + (i >> 8)) & 0xff))
            return false;
    }
    return true;
}

static struct ibv_qp *make_qp(struct pair *p, bool has_builder)
{
    struct ibv_qp_init_attr_ex init = {
        .send_cq = p->cq,
        .recv_cq = p->cq,
        .qp_type = p->type,
        .cap = {.max_send_wr = DEPTH,
                .max_recv_wr = DEPTH,
                .max_send_sge = 4,
                .max_recv_sge = 1,
                .max_inline_data = 64},
        .comp_mask = IBV_QP_INIT_ATTR_PD | (has_builder ? IBV_QP_INIT_ATTR_SEND_OPS_FLAGS : 0),
        .pd = p->pd,
        .send_ops_flags = IBV_QP_EX_WITH_RDMA_WRITE | IBV_QP_EX_WITH_RDMA_WRITE_WITH_IMM |
                          IBV_QP_EX_WITH_RDMA_READ | IBV_QP_EX_WITH_ATOMIC_CMP_AND_SWP |
                          IBV_QP_EX_WITH_ATOMIC_FETCH_AND_ADD};

    return ibv_create_qp_ex(p->context, &init);
}

static bool to_rts(struct pair *p)
{
    bool is_rc = p->type == IBV_QPT_RC;
    struct ibv_qp_attr attr = {
        .qp_state = IBV_QPS_INIT, .port_num = 1, .qp_access_flags = p->qp_access};
    struct ibv_qp_attr rtr = {
        .qp_state = IBV_QPS_RTR,
        .path_mtu = IBV_MTU_4096,
        .dest_qp_num = p->far_end.qp_num,
        .max_dest_rd_atomic = READS,
        .min_rnr_timer = 12,
        .ah_attr = {.is_global = 1, .port_num = 1, .grh = {.sgid_index = 1, .hop_limit = 1}}};
    struct ibv_qp_attr rts = {.qp_state = IBV_QPS_RTS,
                              .timeout = 10, /* 4.2 ms */
                              .retry_cnt = 1,
                              .rnr_retry = 7,
                              .max_rd_atomic = READS};

    memcpy(rtr.ah_attr.grh.dgid.raw, p->far_end.gid, sizeof p->far_end.gid);
    return ibv_modify_qp(p->qp, &attr,
                         IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS) ==
               0 &&
           ibv_modify_qp(p->qp, &rtr,
                         IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN |
                             IBV_QP_RQ_PSN |
                             (is_rc ? IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER : 0)) == 0 &&
           ibv_modify_qp(p->qp, &rts,
                         IBV_QP_STATE | IBV_QP_SQ_PSN |
                             (is_rc ? IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY |
                                          IBV_QP_MAX_QP_RD_ATOMIC
                                    : 0)) == 0;
}

static bool meet(struct pair *p)
{
    struct far_end mine = {.qp_num = p->qp->qp_num,
                           .rkey = p->mr->rkey,
                           .closed_rkey = p->closed_mr->rkey,
                           .addr = (uintptr_t)p->memory,
                           .closed_addr = (uintptr_t)p->closed};
    struct far_end all[2];
    union ibv_gid gid;

    if (ibv_query_gid(p->context, 1, 1, &gid) != 0)
        return false;
    memcpy(mine.gid, gid.raw, sizeof mine.gid);
    if (!side_all_gather(&p->side, &mine, all, sizeof mine, &p->fault))
        return false;
    p->far_end = all[p->is_alone ? p->rank : 1 - p->rank];
    return to_rts(p) && side_barrier(&p->side, &p->fault);
}

/* A fresh queue pair to the other rank; both have to call it. */
static bool reconnect(struct pair *p, bool has_builder)
{
    if (p->qp && ibv_destroy_qp(p->qp) != 0)
        return false;
    p->qp = make_qp(p, has_builder);
    return p->qp && meet(p);
}

static bool begin(struct pair *p, const char *device)
{
    const char *coordinator = getenv("JACCL_COORDINATOR");
    struct ibv_device **list = ibv_get_device_list(NULL);
    void *memory = NULL;
    void *closed = NULL;

    for (size_t i = 0; list && list[i] && !p->context; i++) {
        if (strcmp(ibv_get_device_name(list[i]), device) == 0)
            p->context = ibv_open_device(list[i]);
    }
    if (list)
        ibv_free_device_list(list);
    if (!p->context || !coordinator || posix_memalign(&memory, 16384, BYTES) ||
        posix_memalign(&closed, 16384, BYTES))
        return false;
    p->memory = memset(memory, 0, BYTES);
    p->closed = memset(closed, 0, BYTES);
    p->pd = ibv_alloc_pd(p->context);
    p->mr = p->pd ? ibv_reg_mr(p->pd, memory, BYTES, ACCESS) : NULL;
    p->closed_mr = p->pd ? ibv_reg_mr(p->pd, closed, BYTES, IBV_ACCESS_LOCAL_WRITE) : NULL;
    p->cq = ibv_create_cq(p->context, 4 * DEPTH, NULL, NULL, 0);
    return p->mr && p->closed_mr && p->cq &&
           side_open(&p->side, p->rank, 2, coordinator, &p->fault);
}

static struct ibv_wc wait_one(struct pair *p)
{
    struct ibv_wc wc;

    while (ibv_poll_cq(p->cq, 1, &wc) == 0) {
    }
    return wc;
}

/* A work request on `length` bytes at `from` of our memory and `to` of the other's. */
struct request {
    struct ibv_sge sge;
    struct ibv_send_wr wr;
};

static void prepare(struct pair *p, struct request *r, enum ibv_wr_opcode opcode, size_t from,
                    size_t to)
{
    *r = (struct request){.sge = {(uintptr_t)p->memory + from, 8, p->mr->lkey}};
    r->wr = (struct ibv_send_wr){.wr_id = ++p->next_id,
                                 .sg_list = &r->sge,
                                 .num_sge = 1,
                                 .opcode = opcode,
                                 .send_flags = IBV_SEND_SIGNALED};
    if (opcode == IBV_WR_ATOMIC_CMP_AND_SWP || opcode == IBV_WR_ATOMIC_FETCH_AND_ADD) {
        r->wr.wr.atomic.remote_addr = p->far_end.addr + to;
        r->wr.wr.atomic.rkey = p->far_end.rkey;
    } else {
        r->wr.wr.rdma.remote_addr = p->far_end.addr + to;
        r->wr.wr.rdma.rkey = p->far_end.rkey;
    }
}

static bool post(struct pair *p, struct request *r)
{
    struct ibv_send_wr *bad;

    return ibv_post_send(p->qp, &r->wr, &bad) == 0;
}

/* Posts, and waits for its completion, which has to be the next one. */
static enum ibv_wc_status act(struct pair *p, struct request *r)
{
    struct ibv_wc wc;

    if (!post(p, r))
        return IBV_WC_FATAL_ERR;
    wc = wait_one(p);
    return wc.wr_id == r->wr.wr_id ? wc.status : IBV_WC_GENERAL_ERR;
}

/* Writes our bytes at `from` and reads them back to `back`. */
static bool there_and_back(struct pair *p, size_t from, size_t to, size_t back, uint32_t length)
{
    struct request r;

    prepare(p, &r, IBV_WR_RDMA_WRITE, from, to);
    r.sge.length = length;
    r.wr.num_sge = length > 0;
    if (act(p, &r) != IBV_WC_SUCCESS)
        return false;
    prepare(p, &r, IBV_WR_RDMA_READ, back, to);
    r.sge.length = length;
    r.wr.num_sge = length > 0;
    return act(p, &r) == IBV_WC_SUCCESS;
}

static void check_lengths(struct pair *p)
{
    static const uint32_t lengths[] = {0, 1, 7, 64, 4095, 4096, 4097, 65536};

    for (unsigned i = 0; i < sizeof lengths / sizeof lengths[0]; i++) {
        char name[64];

        fill(p->memory, lengths[i], i);
        memset(p->memory + 65536, 0, 65537);
        (void)snprintf(name, sizeof name, "write and read %u bytes", lengths[i]);
        check(p, name,
              there_and_back(p, 0, 8192 + 3 * i, 65536, lengths[i]) &&
                  holds(p->memory + 65536, lengths[i], i) && p->memory[65536 + lengths[i]] == 0);
    }
}

static void check_shapes(struct pair *p)
{
    struct ibv_sge list[3] = {{(uintptr_t)p->memory, 100, p->mr->lkey},
                              {(uintptr_t)p->memory + 200, 0, 0},
                              {(uintptr_t)p->closed + 100, 50, p->closed_mr->lkey}};
    struct request r;

    fill(p->memory, 150, 5);
    memcpy(p->closed + 100, p->memory + 100, 50);
    memset(p->memory + 100, 0, 50);
    prepare(p, &r, IBV_WR_RDMA_WRITE, 0, 128);
    r.wr.sg_list = list;
    r.wr.num_sge = 3;
    check(p, "gathered write", act(p, &r) == IBV_WC_SUCCESS);
    memset(p->memory, 0, 100);
    memset(p->closed, 0, 200);
    prepare(p, &r, IBV_WR_RDMA_READ, 0, 128);
    r.wr.sg_list = list;
    r.wr.num_sge = 3;
    check(p, "scattered read", act(p, &r) == IBV_WC_SUCCESS);
    memcpy(p->memory + 100, p->closed + 100, 50);
    check(p, "gathered and scattered bytes", holds(p->memory, 150, 5));

    prepare(p, &r, IBV_WR_RDMA_WRITE, 0, 512);
    r.sge.length = 64;
    r.sge.lkey = 0;
    r.wr.send_flags |= IBV_SEND_INLINE;
    fill(p->memory, 64, 6);
    if (!post(p, &r))
        p->failures++;
    memset(p->memory, 0, 64); /* inline: ours again at once */
    check(p, "inline write", wait_one(p).status == IBV_WC_SUCCESS);
    prepare(p, &r, IBV_WR_RDMA_READ, 0, 512);
    r.sge.length = 64;
    check(p, "inline bytes", act(p, &r) == IBV_WC_SUCCESS && holds(p->memory, 64, 6));
}

/* Many requests, of which only the last has a completion; then reads beyond the limit. */
static void check_queue(struct pair *p)
{
    struct request r;
    struct ibv_wc wc;
    bool is_right = true;

    for (unsigned i = 0; i < DEPTH; i++) {
        fill(p->memory, 16, i);
        prepare(p, &r, IBV_WR_RDMA_WRITE, 0, 1024 + 16 * i);
        r.sge.length = 16;
        r.wr.send_flags = i == DEPTH - 1 ? IBV_SEND_SIGNALED : 0;
        is_right = post(p, &r) && is_right;
    }
    is_right = !post(p, &r) && is_right; /* full */
    wc = wait_one(p);
    check(p, "unsignaled writes",
          is_right && wc.wr_id == r.wr.wr_id && wc.status == 0 && wc.opcode == IBV_WC_RDMA_WRITE);
    is_right = true;
    for (unsigned i = 0; i < DEPTH; i++) {
        prepare(p, &r, IBV_WR_RDMA_READ, 8192 + 16 * i, 1024 + 16 * i);
        r.sge.length = 16;
        is_right = post(p, &r) && is_right;
    }
    for (unsigned i = 0; i < DEPTH; i++) {
        wc = wait_one(p);
        is_right = wc.wr_id == r.wr.wr_id - DEPTH + 1 + i && wc.status == 0 && wc.byte_len == 16 &&
                   wc.opcode == IBV_WC_RDMA_READ && holds(p->memory + 8192 + 16 * i, 16, i) &&
                   is_right;
    }
    check(p, "more reads than may be under way", is_right);
}

/* A write behind a read ends behind it; a fenced one sends what the read brought. */
static void check_order(struct pair *p)
{
    struct request read;
    struct request write;

    fill(p->memory, 65536, 9);
    check(p, "something to read", there_and_back(p, 0, 65536, 0, 65536));
    memset(p->memory, 0, 65536);
    prepare(p, &read, IBV_WR_RDMA_READ, 0, 65536);
    read.sge.length = 65536;
    prepare(p, &write, IBV_WR_RDMA_WRITE, 0, 200000);
    write.sge.length = 4096;
    write.wr.send_flags |= IBV_SEND_FENCE;
    read.wr.next = &write.wr;
    check(p, "read with a fenced write behind",
          post(p, &read) && wait_one(p).wr_id == read.wr.wr_id &&
              wait_one(p).wr_id == write.wr.wr_id && holds(p->memory, 65536, 9));
    prepare(p, &read, IBV_WR_RDMA_READ, 131072, 200000);
    read.sge.length = 4096;
    check(p, "fenced write", act(p, &read) == IBV_WC_SUCCESS && holds(p->memory + 131072, 4096, 9));
}

static void check_atomics(struct pair *p)
{
    uint64_t *value = (uint64_t *)(void *)p->memory;
    struct request r;
    bool is_right = true;

    *value = 0;
    prepare(p, &r, IBV_WR_RDMA_WRITE, 0, 4096);
    is_right = act(p, &r) == IBV_WC_SUCCESS;
    for (uint64_t i = 0; i < 10; i++) {
        prepare(p, &r, IBV_WR_ATOMIC_FETCH_AND_ADD, 0, 4096);
        r.wr.wr.atomic.compare_add = 3;
        is_right = act(p, &r) == IBV_WC_SUCCESS && *value == 3 * i && is_right;
    }
    check(p, "fetch and add", is_right);
    prepare(p, &r, IBV_WR_ATOMIC_CMP_AND_SWP, 0, 4096);
    r.wr.wr.atomic.compare_add = 30;
    r.wr.wr.atomic.swap = UINT64_C(0x123456789abcdef0);
    check(p, "compare and swap", act(p, &r) == IBV_WC_SUCCESS && *value == 30);
    r.wr.wr_id = ++p->next_id;
    check(p, "compare and swap that does not",
          act(p, &r) == IBV_WC_SUCCESS && *value == UINT64_C(0x123456789abcdef0));
    r.sge.length = 4;
    check(p, "an atomic has 8 bytes", !post(p, &r));
}

/* A write with immediate data takes a receive of the other side, which sees bytes and number. */
static void send_immediate(struct pair *p)
{
    struct request r;

    fill(p->memory, 1000, 3);
    prepare(p, &r, IBV_WR_RDMA_WRITE_WITH_IMM, 0, 100000);
    r.sge.length = 1000;
    r.wr.imm_data = 0x01020304;
    check(p, "write with immediate data", act(p, &r) == IBV_WC_SUCCESS);
}

static void take_immediate(struct pair *p)
{
    struct ibv_recv_wr wr = {.wr_id = 77};
    struct ibv_recv_wr *bad;
    struct ibv_wc wc = {0};

    memset(p->memory + 100000, 0, 1000);
    if (ibv_post_recv(p->qp, &wr, &bad) == 0 && side_barrier(&p->side, &p->fault))
        wc = wait_one(p);
    check(p, "immediate data arrives",
          wc.wr_id == 77 && wc.status == IBV_WC_SUCCESS && wc.opcode == IBV_WC_RECV_RDMA_WITH_IMM &&
              wc.byte_len == 1000 && wc.wc_flags & IBV_WC_WITH_IMM && wc.imm_data == 0x01020304 &&
              holds(p->memory + 100000, 1000, 3));
}

/* The builder's calls, all in one go. */
static void check_builder(struct pair *p)
{
    struct ibv_qp_ex *qp = ibv_qp_to_qp_ex(p->qp);
    uint64_t *value = (uint64_t *)(void *)p->memory;
    const struct far_end *to = &p->far_end;
    bool is_right = qp != NULL;

    if (!qp) {
        check(p, "builder", false);
        return;
    }
    value[0] = 40;
    qp->wr_flags = IBV_SEND_SIGNALED;
    ibv_wr_start(qp);
    qp->wr_id = 1;
    ibv_wr_rdma_write(qp, to->rkey, to->addr + 4096);
    ibv_wr_set_sge(qp, p->mr->lkey, (uintptr_t)&value[0], 8);
    qp->wr_id = 2;
    ibv_wr_atomic_fetch_add(qp, to->rkey, to->addr + 4096, 2);
    ibv_wr_set_sge(qp, p->mr->lkey, (uintptr_t)&value[1], 8);
    qp->wr_id = 3;
    ibv_wr_atomic_cmp_swp(qp, to->rkey, to->addr + 4096, 42, 7);
    ibv_wr_set_sge(qp, p->mr->lkey, (uintptr_t)&value[2], 8);
    qp->wr_id = 4;
    ibv_wr_rdma_read(qp, to->rkey, to->addr + 4096);
    ibv_wr_set_sge(qp, p->mr->lkey, (uintptr_t)&value[3], 8);
    is_right = ibv_wr_complete(qp) == 0;
    for (uint64_t i = 1; i <= 4; i++) {
        struct ibv_wc wc = wait_one(p);

        is_right = wc.wr_id == i && wc.status == IBV_WC_SUCCESS && is_right;
    }
    check(p, "builder", is_right && value[1] == 40 && value[2] == 42 && value[3] == 7);
}

static bool run_data(struct pair *p)
{
    if (!reconnect(p, false))
        return false;
    if (p->rank == 0) {
        check_lengths(p);
        check_shapes(p);
        check_queue(p);
        check_order(p);
        check_atomics(p);
    }
    if (p->rank == 1)
        take_immediate(p);
    else if (side_barrier(&p->side, &p->fault))
        send_immediate(p);
    if (!side_barrier(&p->side, &p->fault) || !reconnect(p, true))
        return false;
    if (p->rank == 0)
        check_builder(p);
    /* A program that sends to itself may connect a queue pair to itself, as UCX does. */
    p->is_alone = true;
    if (!reconnect(p, false))
        return false;
    check_lengths(p);
    check_atomics(p);
    return side_barrier(&p->side, &p->fault);
}

static enum ibv_qp_state state_of(struct pair *p)
{
    struct ibv_qp_attr attr = {0};
    struct ibv_qp_init_attr init;

    return ibv_query_qp(p->qp, &attr, IBV_QP_STATE, &init) == 0 ? attr.qp_state : IBV_QPS_UNKNOWN;
}

/* The request fails so, what is posted behind it and later is flushed, and both ends are in ERR. */
static bool refused(struct pair *p, const char *name, struct request *r,
                    enum ibv_wc_status expected)
{
    struct request behind;
    struct ibv_recv_wr recv = {.wr_id = 99};
    struct ibv_recv_wr *bad;
    bool is_right = true;

    if (p->rank == 0) {
        prepare(p, &behind, IBV_WR_RDMA_WRITE, 0, 0);
        is_right = ibv_post_recv(p->qp, &recv, &bad) == 0;
        is_right = post(p, r) && post(p, &behind) && is_right;
        is_right = wait_one(p).status == expected && is_right;
        for (int i = 0; i < 2; i++)
            is_right = wait_one(p).status == IBV_WC_WR_FLUSH_ERR && is_right;
        is_right = state_of(p) == IBV_QPS_ERR && is_right;
        is_right = act(p, &behind) == IBV_WC_WR_FLUSH_ERR && is_right;
    }
    if (!side_barrier(&p->side, &p->fault))
        return false;
    if (p->rank == 1) {
        struct ibv_async_event event;

        is_right = state_of(p) == IBV_QPS_ERR && ibv_get_async_event(p->context, &event) == 0 &&
                   event.event_type == IBV_EVENT_QP_ACCESS_ERR && event.element.qp == p->qp;
        if (is_right)
            ibv_ack_async_event(&event);
    }
    check(p, name, is_right);
    return reconnect(p, false);
}

static bool run_refusals(struct pair *p)
{
    struct request r;

    prepare(p, &r, IBV_WR_RDMA_WRITE, 0, 0);
    r.wr.wr.rdma.rkey += 1;
    if (!refused(p, "a key that is none", &r, IBV_WC_REM_ACCESS_ERR))
        return false;
    prepare(p, &r, IBV_WR_RDMA_READ, 0, BYTES - 7);
    if (!refused(p, "beyond the region", &r, IBV_WC_REM_ACCESS_ERR))
        return false;
    prepare(p, &r, IBV_WR_RDMA_WRITE, 0, 0);
    r.wr.wr.rdma.rkey = p->far_end.closed_rkey;
    r.wr.wr.rdma.remote_addr = p->far_end.closed_addr;
    if (!refused(p, "a region without access", &r, IBV_WC_REM_ACCESS_ERR))
        return false;
    p->qp_access = IBV_ACCESS_REMOTE_READ;
    prepare(p, &r, IBV_WR_ATOMIC_FETCH_AND_ADD, 0, 4);
    if (!refused(p, "a crooked atomic", &r, IBV_WC_REM_INV_REQ_ERR))
        return false;
    prepare(p, &r, IBV_WR_RDMA_WRITE, 0, 0);
    if (!refused(p, "a queue pair without access", &r, IBV_WC_REM_INV_REQ_ERR))
        return false;
    p->qp_access = ACCESS;
    return true;
}

static bool run_errors(struct pair *p)
{
    struct timespec start;
    struct timespec end;
    struct request r;

    if (!reconnect(p, false) || !run_refusals(p))
        return false;
    if (p->rank == 1)
        return side_barrier(&p->side, &p->fault) && ibv_destroy_qp(p->qp) == 0 &&
               side_barrier(&p->side, &p->fault);
    if (!side_barrier(&p->side, &p->fault) || !side_barrier(&p->side, &p->fault))
        return false;
    prepare(p, &r, IBV_WR_RDMA_WRITE, 0, 0);
    (void)clock_gettime(CLOCK_MONOTONIC, &start);
    check(p, "nobody answers", act(p, &r) == IBV_WC_RETRY_EXC_ERR);
    (void)clock_gettime(CLOCK_MONOTONIC, &end);
    /* Twice 4.096 us * 2^10. */
    check(p, "after the time-out",
          end.tv_sec == start.tv_sec
              ? end.tv_nsec - start.tv_nsec >= 8388000 && end.tv_nsec - start.tv_nsec < 8500000
              : end.tv_sec == start.tv_sec + 1);
    return true;
}

static bool run_uc(struct pair *p)
{
    struct request r;

    p->type = IBV_QPT_UC;
    if (!reconnect(p, false))
        return false;
    if (p->rank == 1) {
        take_immediate(p);
        return true;
    }
    if (!side_barrier(&p->side, &p->fault))
        return false;
    prepare(p, &r, IBV_WR_RDMA_READ, 0, 0);
    check(p, "no reads on UC", !post(p, &r));
    prepare(p, &r, IBV_WR_RDMA_WRITE, 0, 0);
    r.wr.wr.rdma.rkey += 1;
    check(p, "a refused write on UC looks well", act(p, &r) == IBV_WC_SUCCESS);
    send_immediate(p);
    return true;
}

/* The bytes that a round's write brings last. */
static volatile char *watched(struct pair *p)
{
    return p->memory + 8192 + 63;
}

static bool write_round(struct pair *p, char round)
{
    struct request r;

    memset(p->memory, round, 64);
    prepare(p, &r, IBV_WR_RDMA_WRITE, 0, 8192);
    r.sge.length = 64;
    return act(p, &r) == IBV_WC_SUCCESS;
}

static bool run_spin(struct pair *p, long rounds)
{
    struct timespec start;
    struct timespec end;

    if (!reconnect(p, false))
        return false;
    (void)clock_gettime(CLOCK_MONOTONIC, &start);
    for (long i = 1; i <= rounds; i++) {
        if (p->rank == 0 && !write_round(p, (char)(i % 100 + 1)))
            return false;
        while (*watched(p) != (char)(i % 100 + 1)) {
        }
        if (p->rank == 1 && !write_round(p, (char)(i % 100 + 1)))
            return false;
    }
    (void)clock_gettime(CLOCK_MONOTONIC, &end);
    check(p, "all rounds", true);
    printf("round trips of %lld ns\n",
           ((long long)(end.tv_sec - start.tv_sec) * 1000000000 + (end.tv_nsec - start.tv_nsec)) /
               rounds);
    return side_barrier(&p->side, &p->fault);
}

static bool run_nothing(struct pair *p)
{
    if (!reconnect(p, false))
        return false;
    while (p->rank == 1 && *watched(p) == 0) {
    }
    (void)wait_one(p); /* which does not come either */
    return true;
}

/* Polls between two looks at the memory until the round's write is there, and our own, if there is
 * one, has completed. */
static bool poll_and_look(struct pair *p, char round, bool has_posted)
{
    struct ibv_wc wc = {.status = IBV_WC_SUCCESS};

    while (*watched(p) != round || has_posted) {
        if (ibv_poll_cq(p->cq, 1, &wc) > 0)
            has_posted = false;
        if (wc.status != IBV_WC_SUCCESS)
            return false;
    }
    return true;
}

/*
 * Rank 1 answers some polls later in each round, so that its write comes at any distance from the
 * last completion of rank 0: also in the very poll after which empty polls are folded, behind which
 * rank 0 has to look. Without a clock, so that only polls are between them.
 */
static bool run_look(struct pair *p, long rounds)
{
    struct request r;
    struct ibv_wc wc;

    if (!reconnect(p, false))
        return false;
    for (long i = 1; i <= rounds; i++) {
        char round = (char)(i % 100 + 1);

        if (p->rank == 1 && !poll_and_look(p, round, i > 1))
            return false;
        for (long n = 0; p->rank == 1 && n < i % 128; n++)
            (void)ibv_poll_cq(p->cq, 0, &wc);
        memset(p->memory, round, 64);
        prepare(p, &r, IBV_WR_RDMA_WRITE, 0, 8192);
        r.sge.length = 64;
        if (!post(p, &r) || (p->rank == 0 && !poll_and_look(p, round, true)))
            return false;
    }
    check(p, "all rounds", true);
    return side_barrier(&p->side, &p->fault);
}

int main(int argc, char **argv)
{
    const char *rank = getenv("JACCL_RANK");
    struct pair p = {.rank = rank ? (unsigned)strtoul(rank, NULL, 10) : 0,
                     .type = IBV_QPT_RC,
                     .qp_access = ACCESS};
    const char *what = argc > 1 ? argv[1] : "";
    bool went = false;

    if (!begin(&p, argc > 2 ? argv[2] : "rdma_en2")) {
        fprintf(stderr, "onesided: cannot begin: errno %d, %s\n", errno, p.fault.text);
        return 3;
    }
    if (strcmp(what, "data") == 0)
        went = run_data(&p);
    else if (strcmp(what, "errors") == 0)
        went = run_errors(&p);
    else if (strcmp(what, "uc") == 0)
        went = run_uc(&p);
    else if (strcmp(what, "spin") == 0)
        went = run_spin(&p, argc > 3 ? strtol(argv[3], NULL, 10) : 10);
    else if (strcmp(what, "nothing") == 0)
        went = run_nothing(&p);
    else if (strcmp(what, "look") == 0)
        went = run_look(&p, argc > 3 ? strtol(argv[3], NULL, 10) : 300);
    if (!went)
        fprintf(stderr, "onesided: %s: errno %d, %s\n", what, errno, p.fault.text);
    return went && p.failures == 0 ? 0 : 1;
}
