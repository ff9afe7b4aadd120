/* SPDX-License-Identifier: Apache-2.0 */
/* The way of a queue pair from RESET to RTS, and what RTR refuses. */
#include <errno.h>
#include <string.h>

#include "tests/conformance/suite.h"

/* Brings a queue pair to a state; the far end's address is that of the other rank. */
static bool reach(struct test *t, struct ibv_qp *qp, enum ibv_qp_state state, struct far_end *ret)
{
    bool ok = swap_ends(t, qp, ret);

    if (ok && (state == IBV_QPS_RTR || state == IBV_QPS_RTS))
        ok = test_expect(t, to_rtr(qp, ret) == 0, __LINE__, "to RTR failed");
    if (ok && state == IBV_QPS_RTS)
        ok = test_expect(t, to_rts(qp) == 0, __LINE__, "to RTS failed");
    if (ok && (state == IBV_QPS_RESET || state == IBV_QPS_ERR))
        ok = test_expect(t, to_state(qp, state) == 0, __LINE__, "to RESET or ERR failed");
    return ok && test_expect(t, qp->state == state, __LINE__, "state is %d", (int)qp->state);
}

/* a: from, b: to, which must be refused and leave the state alone. */
static void wrong_way(struct test *t)
{
    struct line line;
    struct far_end far_end;
    int code;

    NEED(make_line(t, 32, &line) && reach(t, line.qp, (enum ibv_qp_state)t->row->a, &far_end));
    if (t->row->b == IBV_QPS_INIT)
        code = to_init(line.qp);
    else if (t->row->b == IBV_QPS_RTR)
        code = to_rtr(line.qp, &far_end);
    else if (t->row->b == IBV_QPS_RTS)
        code = to_rts(line.qp);
    else
        code = to_state(line.qp, (enum ibv_qp_state)t->row->b);
    CHECK(t, code != 0);
    CHECK_EQ(t, line.qp->state, t->row->a);
}

static void right_way(struct test *t)
{
    struct line line;
    struct far_end far_end;
    struct ibv_qp_attr attr;
    struct ibv_qp_init_attr init;

    NEED(make_line(t, 32, &line) && reach(t, line.qp, (enum ibv_qp_state)t->row->a, &far_end));
    CHECK_EQ(t, ibv_query_qp(line.qp, &attr, IBV_QP_STATE, &init), 0);
    CHECK_EQ(t, attr.qp_state, t->row->a);
}

/* To INIT without the bits of a. */
static void init_mask(struct test *t)
{
    struct line line;
    struct ibv_qp_attr attr = {
        .qp_state = IBV_QPS_INIT, .port_num = 1, .qp_access_flags = SUITE_ACCESS};

    NEED(make_line(t, 32, &line));
    CHECK(t, ibv_modify_qp(line.qp, &attr, INIT_MASK & ~(int)t->row->a) != 0);
}

static void init_values(struct test *t)
{
    struct line line;
    struct ibv_qp_attr attr = {.qp_state = IBV_QPS_INIT,
                               .port_num = (uint8_t)t->row->a,
                               .qp_access_flags = (unsigned)t->row->b};

    NEED(make_line(t, 32, &line));
    CHECK(t, (ibv_modify_qp(line.qp, &attr, INIT_MASK) == 0) == (t->row->a == 1));
}

static void later_mask(struct test *t)
{
    struct line line;
    struct far_end far_end;
    struct ibv_qp_attr attr;
    bool is_rts = t->row->b == IBV_QPS_RTS;

    NEED(make_line(t, 32, &line) &&
         reach(t, line.qp, is_rts ? IBV_QPS_RTR : IBV_QPS_INIT, &far_end));
    attr = rtr_attr(&far_end);
    if (is_rts)
        attr = (struct ibv_qp_attr){.qp_state = IBV_QPS_RTS};
    CHECK(t,
          ibv_modify_qp(line.qp, &attr,
                        (is_rts ? IBV_QP_STATE | IBV_QP_SQ_PSN : RTR_MASK) & ~(int)t->row->a) != 0);
}

/* a: source GID index, b: the errno. */
static void source_index(struct test *t)
{
    struct line line;
    struct far_end far_end;
    struct ibv_qp_attr attr;

    NEED(make_line(t, 32, &line) && reach(t, line.qp, IBV_QPS_INIT, &far_end));
    attr = rtr_attr(&far_end);
    attr.ah_attr.grh.sgid_index = (uint8_t)t->row->a;
    CHECK_EQ(t, ibv_modify_qp(line.qp, &attr, RTR_MASK), t->row->b);
    CHECK_EQ(t, line.qp->state, IBV_QPS_INIT);
}

static void stranger(struct test *t)
{
    static const uint8_t nobody[16] = {[10] = 0xff, [11] = 0xff, [12] = 192, [14] = 2, [15] = 1};
    struct line line;
    struct far_end far_end;
    struct far_end right;

    NEED(make_line(t, 32, &line) && reach(t, line.qp, IBV_QPS_INIT, &right));
    far_end = right;
    memcpy(far_end.gid, t->row->a ? t->lab->gid.raw : nobody, sizeof nobody);
    if (t->row->a) {
        CHECK(t, to_rtr(line.qp, &far_end) != 0);
    } else {
        CHECK_EQ(t, to_rtr(line.qp, &far_end), ETIMEDOUT);
        CHECK_EQ(t, to_rtr(line.qp, &right), 0);
    }
}

static void mtu(struct test *t)
{
    struct line line;
    struct far_end far_end;
    struct ibv_qp_attr attr;

    NEED(make_line(t, 32, &line) && reach(t, line.qp, IBV_QPS_INIT, &far_end));
    attr = rtr_attr(&far_end);
    attr.path_mtu = (enum ibv_mtu)t->row->a;
    CHECK_EQ(t, ibv_modify_qp(line.qp, &attr, RTR_MASK), 0);
}

/* A post in state a; b: 1 send, 0 receive. */
static void early_post(struct test *t)
{
    struct line line;
    struct far_end far_end;
    bool is_accepted = !t->row->b && t->row->variants == VARIANT_TECHNOTE;
    int code;

    NEED(make_line(t, 32, &line) && reach(t, line.qp, (enum ibv_qp_state)t->row->a, &far_end));
    code = t->row->b ? post_send(t, line.qp, 1, 0, 4096) : post_recv(t, line.qp, 1, 0, 4096);
    CHECK(t, (code == 0) == is_accepted);
}

/* Receives of state a, before there is a peer, come back when the queue pair goes to ERR. */
static void error_flushes(struct test *t)
{
    struct line line;
    struct far_end far_end;
    struct ibv_wc wc;

    NEED(make_line(t, 32, &line) && reach(t, line.qp, (enum ibv_qp_state)t->row->a, &far_end));
    for (uint64_t id = 1; id <= 3; id++)
        CHECK_EQ(t, post_recv(t, line.qp, id, 0, 4096), 0);
    CHECK_EQ(t, to_state(line.qp, IBV_QPS_ERR), 0);
    for (uint64_t id = 1; id <= 3; id++) {
        NEED(take_any(t, line.recv_cq, &wc));
        CHECK_EQ(t, wc.status, IBV_WC_WR_FLUSH_ERR);
        CHECK_EQ(t, wc.wr_id, id);
    }
    NEED(stay_quiet(t, line.recv_cq));
}

/* One message from rank 0 to rank 1. */
static bool passes(struct test *t, const struct line *line, uint32_t seed)
{
    struct ibv_wc wc;

    if (t->rank == 0) {
        fill(t->lab->memory, 4096, seed);
        return test_expect(t, post_send(t, line->qp, seed, 0, 4096) == 0, __LINE__, "no send") &&
               take_ok(t, line->send_cq, &wc) && test_meet(t, NULL, NULL, 0);
    }
    return test_expect(t, post_recv(t, line->qp, seed, 8192, 4096) == 0, __LINE__, "no receive") &&
           take_ok(t, line->recv_cq, &wc) &&
           test_expect(t, wc.wr_id == seed, __LINE__, "an older receive came back") &&
           test_expect(t, is_filled(t->lab->memory + 8192, 4096, seed), __LINE__, "wrong bytes") &&
           test_meet(t, NULL, NULL, 0);
}

/* A region's end with the queue pair in ERR; a is 1 where that fails until it is destroyed. */
static void unmap_in_error(struct test *t)
{
    struct ibv_mr *mr = make_mr(t, t->lab->pd, t->lab->memory, SUITE_FRAME);
    struct line line;

    NEED(mr && make_pair(t, 32, &line));
    CHECK_EQ(t, to_state(line.qp, IBV_QPS_ERR), 0);
    if (t->row->a) {
        CHECK(t, ibv_dereg_mr(mr) != 0);
        test_disown(t, line.qp);
        CHECK_EQ(t, ibv_destroy_qp(line.qp), 0);
    }
    test_disown(t, mr);
    CHECK_EQ(t, ibv_dereg_mr(mr), 0);
}

static void unmap_after_destroy(struct test *t)
{
    struct ibv_mr *mr = make_mr(t, t->lab->pd, t->lab->memory, SUITE_FRAME);
    struct line line;

    NEED(mr && make_pair(t, 32, &line));
    CHECK_EQ(t, post_recv(t, line.qp, 1, 0, SUITE_FRAME), 0);
    test_disown(t, line.qp);
    CHECK_EQ(t, ibv_destroy_qp(line.qp), 0);
    test_disown(t, mr);
    CHECK_EQ(t, ibv_dereg_mr(mr), 0);
}

/* a: the state before RESET; b: with a send and a receive that wait and must be forgotten. */
static void reconnects(struct test *t)
{
    struct line line;

    NEED(make_pair(t, 32, &line) && passes(t, &line, 1));
    for (uint32_t round = 2; round <= 4; round++) {
        if (t->row->b)
            CHECK_EQ(t,
                     t->rank == 0 ? post_send(t, line.qp, 99, 0, 4096)
                                  : post_recv(t, line.qp, 98, 8192, 8192 * 4),
                     0);
        NEED(test_meet(t, NULL, NULL, 0));
        if (t->row->a == IBV_QPS_ERR)
            CHECK_EQ(t, to_state(line.qp, IBV_QPS_ERR), 0);
        CHECK_EQ(t, to_state(line.qp, IBV_QPS_RESET), 0);
        NEED(test_meet(t, NULL, NULL, 0) && connect_line(t, &line) && passes(t, &line, round));
    }
}

#define TN  "TN3205"
#define MAN "ibv_modify_qp(3)"
#define WRONG(from, to)                                                                       \
    {                                                                                         \
        "state/" #from "_to_" #to "_is_refused", "RESET, INIT, RTR, RTS is the only way", TN, \
            wrong_way, IBV_QPS_##from, IBV_QPS_##to, 2, VARIANT_BOTH, false                   \
    }
#define RIGHT(state)                                                                   \
    {                                                                                  \
        "state/" #state "_is_reached", "query_qp reads the state back", TN, right_way, \
            IBV_QPS_##state, 0, 2, VARIANT_BOTH, false                                 \
    }
#define MASK(state, bit)                                                                   \
    {                                                                                      \
        "state/" #state "_needs_" #bit, "a missing attribute is refused", MAN, later_mask, \
            IBV_QP_##bit, IBV_QPS_##state, 2, VARIANT_BOTH, false                          \
    }
#define INIT_NEEDS(bit)                                                                           \
    {                                                                                             \
        "state/INIT_needs_" #bit, "a missing attribute is refused", MAN, init_mask, IBV_QP_##bit, \
            0, 1, VARIANT_BOTH, false                                                             \
    }
#define EARLY(state, what, is_send)                                                        \
    {                                                                                      \
        "post/" what "_in_" #state "_is_refused", "no " what " before RTS", "llama#26421", \
            early_post, IBV_QPS_##state, is_send, 2, VARIANT_OBSERVED, false               \
    }

static const struct row rows[] = {
    RIGHT(RESET),
    RIGHT(INIT),
    RIGHT(RTR),
    RIGHT(RTS),
    RIGHT(ERR),
    WRONG(RESET, RTR),
    WRONG(RESET, RTS),
    WRONG(INIT, RTS),
    WRONG(RTR, INIT),
    WRONG(RTR, RTR),
    WRONG(RTS, INIT),
    WRONG(RTS, RTR),
    WRONG(ERR, INIT),
    WRONG(ERR, RTR),
    WRONG(ERR, RTS),
    INIT_NEEDS(PKEY_INDEX),
    INIT_NEEDS(PORT),
    INIT_NEEDS(ACCESS_FLAGS),
    MASK(RTR, AV),
    MASK(RTR, PATH_MTU),
    MASK(RTR, DEST_QPN),
    MASK(RTR, RQ_PSN),
    MASK(RTS, SQ_PSN),
    {"state/INIT_of_port_0_is_refused", "the port is 1", TN, init_values, 0, 7, 1, VARIANT_BOTH,
     false},
    {"state/INIT_of_port_2_is_refused", "the port is 1", TN, init_values, 2, 7, 1, VARIANT_BOTH,
     false},
    {"state/INIT_with_access_0", "the sample's access flags", TN, init_values, 1, 0, 1,
     VARIANT_BOTH, false},
    {"state/INIT_with_access_7", "JACCL's access flags", "mlx rdma.cpp", init_values, 1, 7, 1,
     VARIANT_BOTH, false},
    {"rtr/link_local_source_times_out", "source index 0 gives ETIMEDOUT", "mlx#3467", source_index,
     0, ETIMEDOUT, 2, VARIANT_BOTH, false},
    {"rtr/source_outside_the_table", "a wrong source index gives EINVAL", "mlx#3389", source_index,
     100, EINVAL, 2, VARIANT_BOTH, false},
    {"rtr/stranger_times_out", "a GID not on this cable gives ETIMEDOUT; the right one then works",
     "mlx#4530", stranger, 0, 0, 2, VARIANT_BOTH, false},
    {"rtr/own_host_is_refused", "there is no loopback", "gojaccl", stranger, 1, 0, 2, VARIANT_BOTH,
     false},
    {"rtr/takes_mtu_1024", "JACCL's MTU", "mlx rdma.cpp", mtu, IBV_MTU_1024, 0, 2, VARIANT_BOTH,
     false},
    {"rtr/takes_mtu_4096", "the sample's MTU", TN, mtu, IBV_MTU_4096, 0, 2, VARIANT_BOTH, false},
    EARLY(RESET, "send", 1),
    EARLY(INIT, "send", 1),
    EARLY(RTR, "send", 1),
    EARLY(RESET, "receive", 0),
    EARLY(INIT, "receive", 0),
    EARLY(RTR, "receive", 0),
    {"post/receive_in_RTR_is_taken", "receives live from RTR", TN, early_post, IBV_QPS_RTR, 0, 2,
     VARIANT_TECHNOTE, false},
    {"state/ERR_flushes_receives_of_INIT", "what is posted completes with a flush error", MAN,
     error_flushes, IBV_QPS_INIT, 0, 2, VARIANT_TECHNOTE, false},
    {"state/ERR_flushes_receives_of_RTR", "what is posted completes with a flush error", MAN,
     error_flushes, IBV_QPS_RTR, 0, 2, VARIANT_TECHNOTE, false},
    {"state/ERR_flushes_receives_of_RTS", "what is posted completes with a flush error", MAN,
     error_flushes, IBV_QPS_RTS, 0, 2, VARIANT_BOTH, false},
    {"state/ERR_pins_regions", "no unmap in ERR, but after the destroy", "llama#27908",
     unmap_in_error, 1, 0, 2, VARIANT_OBSERVED, false},
    {"state/ERR_pins_no_regions", "a region can be unmapped in ERR", MAN, unmap_in_error, 0, 0, 2,
     VARIANT_TECHNOTE, false},
    {"state/RTS_destroyed_then_unmapped", "destroyed from RTS, a queue pair pins no region",
     "llama#27908", unmap_after_destroy, 0, 0, 2, VARIANT_BOTH, false},
    {"state/RESET_and_connected_anew", "RESET forgets the peer", MAN, reconnects, IBV_QPS_RTS, 0, 2,
     VARIANT_BOTH, false},
    {"state/ERR_RESET_and_connected_anew", "RESET leads out of ERR", MAN, reconnects, IBV_QPS_ERR,
     0, 2, VARIANT_BOTH, false},
    {"state/RESET_forgets_requests", "what waits is dropped without a completion", MAN, reconnects,
     IBV_QPS_RTS, 1, 2, VARIANT_BOTH, false},
};

const struct row_table state_rows = {rows, sizeof rows / sizeof *rows};
