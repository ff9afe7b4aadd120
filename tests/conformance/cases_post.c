/* SPDX-License-Identifier: Apache-2.0 */
/* Opcodes, frame budgets, held sends, order of completions. */
#include <errno.h>
#include <string.h>

#include "tests/conformance/suite.h"

static void opcode(struct test *t)
{
    struct line line;
    struct ibv_sge sge = lab_sge(t, 0, 8);
    struct ibv_send_wr wr = {.wr_id = 1,
                             .sg_list = &sge,
                             .num_sge = 1,
                             .opcode = (enum ibv_wr_opcode)t->row->a,
                             .send_flags = IBV_SEND_SIGNALED};
    struct ibv_send_wr *bad = NULL;

    NEED(make_pair(t, 32, &line));
    CHECK(t, ibv_post_send(line.qp, &wr, &bad) != 0);
}

/* a: bytes a request, b: 1 send, 0 receive. Nobody answers. */
static void budget(struct test *t)
{
    struct line line;
    uint32_t bytes = (uint32_t)t->row->a;
    uint32_t fits;
    int code = 0;

    NEED(make_pair(t, 256, &line));
    fits = line.frames / ((bytes + SUITE_FRAME - 1) / SUITE_FRAME);
    for (uint32_t i = 0; i < fits && !code; i++)
        code = t->row->b && t->rank == 0 ? post_send(t, line.qp, i, 0, bytes)
               : t->row->b               ? 0
                                         : post_recv(t, line.qp, i, 0, bytes);
    CHECK_EQ(t, code, 0);
    if (!t->row->b || t->rank == 0)
        CHECK_EQ(t,
                 t->row->b ? post_send(t, line.qp, fits, 0, bytes)
                           : post_recv(t, line.qp, fits, 0, bytes),
                 ENOMEM);
    (void)test_meet(t, NULL, NULL, 0);
}

/* a: how many sends wait; they come in order once receives are there, and not before. */
static void held(struct test *t)
{
    struct line line;
    uint32_t count = (uint32_t)t->row->a;
    struct ibv_wc wc;

    NEED(make_pair(t, 32, &line));
    for (uint32_t i = 0; i < count && t->rank == 0; i++) {
        fill(t->lab->memory + 4096 * i, 4096, i);
        CHECK_EQ(t, post_send(t, line.qp, i, 4096 * i, 4096), 0);
    }
    if (t->rank == 0)
        NEED(stay_quiet(t, line.send_cq));
    NEED(test_meet(t, NULL, NULL, 0));
    for (uint32_t i = 0; i < count && t->rank == 1; i++)
        CHECK_EQ(t, post_recv(t, line.qp, 100 + i, 4096 * i, 4096), 0);
    for (uint32_t i = 0; i < count; i++) {
        NEED(take_ok(t, t->rank ? line.recv_cq : line.send_cq, &wc));
        CHECK_EQ(t, wc.wr_id, t->rank ? 100 + i : i);
        CHECK_EQ(t, wc.opcode, t->rank ? IBV_WC_RECV : IBV_WC_SEND);
        CHECK_EQ(t, wc.qp_num, line.qp->qp_num);
        CHECK(t, !t->rank || is_filled(t->lab->memory + 4096 * i, 4096, i));
    }
    (void)test_meet(t, NULL, NULL, 0);
}

/* One receive for two sends: one completion. */
static void one_of_two(struct test *t)
{
    struct line line;
    struct ibv_wc wc;

    NEED(make_pair(t, 32, &line));
    if (t->rank == 1)
        CHECK_EQ(t, post_recv(t, line.qp, 1, 0, 4096), 0);
    NEED(test_meet(t, NULL, NULL, 0));
    for (uint64_t i = 0; i < 2 && t->rank == 0; i++)
        CHECK_EQ(t, post_send(t, line.qp, i, 0, 4096), 0);
    NEED(take_ok(t, t->rank ? line.recv_cq : line.send_cq, &wc));
    NEED(stay_quiet(t, t->rank ? line.recv_cq : line.send_cq));
    (void)test_meet(t, NULL, NULL, 0);
}

/* The sender's queue pair is gone, or its buffer new, before the receiver looks. */
static void outlives(struct test *t)
{
    struct line line;
    struct ibv_wc wc;

    NEED(make_pair(t, 32, &line));
    if (t->rank == 1)
        CHECK_EQ(t, post_recv(t, line.qp, 1, 0, 65536), 0);
    NEED(test_meet(t, NULL, NULL, 0));
    if (t->rank == 0) {
        fill(t->lab->memory, 65536, 5);
        CHECK_EQ(t, post_send(t, line.qp, 1, 0, 65536), 0);
        NEED(take_ok(t, line.send_cq, &wc));
        memset(t->lab->memory, 0, 65536);
        if (t->row->a) {
            test_disown(t, line.qp);
            CHECK_EQ(t, ibv_destroy_qp(line.qp), 0);
        }
    }
    NEED(test_meet(t, NULL, NULL, 0));
    if (t->rank == 1) {
        NEED(take_ok(t, line.recv_cq, &wc));
        CHECK(t, is_filled(t->lab->memory, 65536, 5));
    }
    (void)test_meet(t, NULL, NULL, 0);
}

/* A send that waits on one queue pair does not stop another one on the same cable. */
static void independent(struct test *t)
{
    struct line stuck;
    struct line line;
    struct ibv_wc wc;

    NEED(make_pair(t, 32, &stuck) && make_pair(t, 32, &line));
    if (t->rank == 1)
        CHECK_EQ(t, post_recv(t, line.qp, 1, 0, 4096), 0);
    NEED(test_meet(t, NULL, NULL, 0));
    if (t->rank == 0) {
        CHECK_EQ(t, post_send(t, stuck.qp, 1, 0, 4096), 0);
        CHECK_EQ(t, post_send(t, line.qp, 2, 0, 4096), 0);
    }
    NEED(take_ok(t, t->rank ? line.recv_cq : line.send_cq, &wc));
    (void)test_meet(t, NULL, NULL, 0);
}

/* a: wr_id of both sides; unused fields of the request are garbage. */
static void wr_id(struct test *t)
{
    struct line line;
    struct ibv_sge sge = lab_sge(t, 0, 4096);
    struct ibv_send_wr wr;
    struct ibv_send_wr *bad;
    struct ibv_wc wc;

    NEED(make_pair(t, 32, &line));
    memset(&wr, 0xa5, sizeof wr);
    wr.wr_id = t->row->a;
    wr.next = NULL;
    wr.sg_list = &sge;
    wr.num_sge = 1;
    wr.opcode = IBV_WR_SEND;
    wr.send_flags = IBV_SEND_SIGNALED;
    CHECK_EQ(t, post_recv(t, line.qp, t->row->a, 4096, 4096), 0);
    CHECK_EQ(t, ibv_post_send(line.qp, &wr, &bad), 0);
    NEED(take_ok(t, line.recv_cq, &wc));
    CHECK(t, wc.wr_id == t->row->a);
    NEED(take_ok(t, line.send_cq, &wc));
    CHECK(t, wc.wr_id == t->row->a);
    (void)test_meet(t, NULL, NULL, 0);
}

/* Only the second send asks for a completion. */
static void unsignaled(struct test *t)
{
    struct line line;
    struct ibv_sge sge = lab_sge(t, 0, 4096);
    struct ibv_send_wr wr = {.wr_id = 1, .sg_list = &sge, .num_sge = 1, .opcode = IBV_WR_SEND};
    struct ibv_send_wr *bad;
    struct ibv_wc wc;

    NEED(make_pair(t, 32, &line));
    CHECK_EQ(t, post_recv(t, line.qp, 1, 4096, 4096), 0);
    CHECK_EQ(t, post_recv(t, line.qp, 2, 4096, 4096), 0);
    CHECK_EQ(t, ibv_post_send(line.qp, &wr, &bad), 0);
    CHECK_EQ(t, post_send(t, line.qp, 2, 0, 4096), 0);
    NEED(take_ok(t, line.send_cq, &wc));
    CHECK_EQ(t, wc.wr_id, 2);
    NEED(stay_quiet(t, line.send_cq));
    (void)test_meet(t, NULL, NULL, 0);
}

#define OPCODE(op)                                                                              \
    {                                                                                           \
        "opcode/" #op "_is_refused", "SEND and RECV only", "TN3205", opcode, IBV_WR_##op, 0, 2, \
            VARIANT_BOTH, false                                                                 \
    }
#define BUDGET(name, bytes)                                                                        \
    {"budget/receives_of_" name,                                                                   \
     "queues are counted in 4 KiB frames",                                                         \
     "hellas#41",                                                                                  \
     budget,                                                                                       \
     bytes,                                                                                        \
     0,                                                                                            \
     2,                                                                                            \
     VARIANT_BOTH,                                                                                 \
     false},                                                                                       \
    {                                                                                              \
        "budget/sends_of_" name, "queues are counted in 4 KiB frames", "TN3205", budget, bytes, 1, \
            2, VARIANT_BOTH, false                                                                 \
    }
#define HELD(n)                                                                                  \
    {                                                                                            \
        "hold/" #n "_sends_wait_in_order", "a SEND waits for its RECV; FIFO", "TN3205", held, n, \
            0, 2, VARIANT_BOTH, false                                                            \
    }

static const struct row rows[] = {
    OPCODE(RDMA_WRITE),
    OPCODE(RDMA_WRITE_WITH_IMM),
    OPCODE(SEND_WITH_IMM),
    OPCODE(RDMA_READ),
    OPCODE(ATOMIC_CMP_AND_SWP),
    OPCODE(ATOMIC_FETCH_AND_ADD),
    BUDGET("1_B", 1),
    BUDGET("4_KiB", 4096),
    BUDGET("4097_B", 4097),
    BUDGET("8_KiB", 8192),
    BUDGET("16_KiB", 16384),
    BUDGET("32_KiB", 32768),
    BUDGET("64_KiB", 65536),
    BUDGET("128_KiB", 131072),
    BUDGET("256_KiB", 262144),
    BUDGET("512_KiB", 524288),
    HELD(1),
    HELD(2),
    HELD(30),
    {"hold/one_receive_frees_one_send", "each SEND needs a RECV of its own", "TN3205", one_of_two,
     0, 0, 2, VARIANT_BOTH, false},
    {"hold/another_qp_is_not_blocked", "credits belong to a queue pair", "hellas", independent, 0,
     0, 2, VARIANT_BOTH, false},
    {"complete/buffer_may_be_reused", "completion: the hardware has sent", "TN3205", outlives, 0, 0,
     2, VARIANT_BOTH, false},
    {"complete/sender_may_be_destroyed", "completion: the hardware has sent", "TN3205", outlives, 1,
     0, 2, VARIANT_BOTH, false},
    {"order/wr_id_0", "wr_id is opaque; unused fields are not read", "mlx rdma.cpp", wr_id, 0, 0, 2,
     VARIANT_BOTH, false},
    {"order/wr_id_of_all_ones", "wr_id is opaque and has 64 bits", "mesh-notes", wr_id, UINT64_MAX,
     0, 2, VARIANT_BOTH, false},
    {"order/unsignaled_is_silent", "no completion without SIGNALED", "ibv_post_send(3)", unsignaled,
     0, 0, 2, VARIANT_BOTH, false},
};

const struct row_table post_rows = {rows, sizeof rows / sizeof *rows};
