/* SPDX-License-Identifier: Apache-2.0 */
/* Numbers of objects, depths, types. */
#include <errno.h>

#include "tests/conformance/suite.h"

static void eleventh_qp(struct test *t)
{
    struct ibv_cq *cq = make_cq(t, t->lab->context, 64);
    struct ibv_context *other = t->row->a ? make_context(t) : t->lab->context;
    struct ibv_pd *pd = !t->is_over && t->row->a ? make_pd(t, other) : t->lab->pd;
    struct ibv_cq *other_cq = !t->is_over && t->row->a ? make_cq(t, other, 64) : cq;
    struct ibv_qp_init_attr init;
    struct ibv_qp *qp;

    NEED(!t->is_over);
    for (int i = 0; i < 10; i++) {
        init = line_init(cq, cq, 32);
        qp = ibv_create_qp(t->lab->pd, &init);
        CHECK(t, qp != NULL);
        test_own(t, OBJECT_QP, qp);
    }
    errno = 0;
    init = line_init(other_cq, other_cq, 32);
    qp = ibv_create_qp(pd, &init);
    if (qp)
        test_own(t, OBJECT_QP, qp);
    CHECK(t, qp == NULL);
    CHECK_EQ(t, errno, EBUSY);
}

/* Asking again changes nothing, until one is given back. */
static void eleventh_stays_refused(struct test *t)
{
    struct ibv_cq *cq = make_cq(t, t->lab->context, 64);
    struct ibv_qp *qps[10];
    struct ibv_qp_init_attr init;
    struct ibv_qp *qp;

    NEED(!t->is_over);
    for (int i = 0; i < 10; i++) {
        init = line_init(cq, cq, 32);
        qps[i] = ibv_create_qp(t->lab->pd, &init);
        CHECK(t, qps[i] != NULL);
        test_own(t, OBJECT_QP, qps[i]);
    }
    for (int i = 0; i < 5; i++) {
        errno = 0;
        init = line_init(cq, cq, 32);
        qp = ibv_create_qp(t->lab->pd, &init);
        if (qp)
            test_own(t, OBJECT_QP, qp);
        CHECK(t, qp == NULL);
        CHECK_EQ(t, errno, EBUSY);
    }
    test_disown(t, qps[0]);
    CHECK_EQ(t, ibv_destroy_qp(qps[0]), 0);
    init = line_init(cq, cq, 32);
    qp = ibv_create_qp(t->lab->pd, &init);
    CHECK(t, qp != NULL);
    test_own(t, OBJECT_QP, qp);
}

static void qp_comes_back(struct test *t)
{
    struct ibv_cq *cq = make_cq(t, t->lab->context, 64);

    NEED(!t->is_over);
    for (int i = 0; i < 20; i++) {
        struct ibv_qp_init_attr init = line_init(cq, cq, 32);
        struct ibv_qp *qp = ibv_create_qp(t->lab->pd, &init);

        CHECK(t, qp != NULL);
        CHECK_EQ(t, ibv_destroy_qp(qp), 0);
    }
}

static void hundred_regions(struct test *t)
{
    struct ibv_mr *mr;

    /* The lab has one. */
    for (int i = 0; i < 99; i++)
        NEED(make_mr(t, t->lab->pd, t->lab->memory + 4096 * i, 4096));
    errno = 0;
    mr = ibv_reg_mr(t->lab->pd, t->lab->memory, 4096, SUITE_ACCESS);
    if (mr)
        test_own(t, OBJECT_MR, mr);
    CHECK(t, mr == NULL);
    CHECK_EQ(t, errno, ENOMEM);
}

static void depth(struct test *t)
{
    struct ibv_cq *cq = make_cq(t, t->lab->context, 4096);
    struct ibv_qp_init_attr init;
    struct ibv_qp_init_attr read;
    struct ibv_qp_attr attr;
    struct ibv_qp *qp;

    NEED(!t->is_over);
    init = line_init(cq, cq, (uint32_t)t->row->a);
    qp = ibv_create_qp(t->lab->pd, &init);
    if (qp)
        test_own(t, OBJECT_QP, qp);
    CHECK(t, (qp != NULL) == (t->row->b != 0));
    if (!qp)
        return;
    CHECK_EQ(t, init.cap.max_send_wr, t->row->b);
    CHECK_EQ(t, init.cap.max_recv_wr, t->row->b);
    CHECK_EQ(t, ibv_query_qp(qp, &attr, IBV_QP_CAP, &read), 0);
    CHECK_EQ(t, attr.cap.max_recv_wr, t->row->b);
}

static void qp_type(struct test *t)
{
    struct ibv_cq *cq = make_cq(t, t->lab->context, 64);
    struct ibv_qp_init_attr init;
    struct ibv_qp *qp;

    NEED(!t->is_over);
    init = line_init(cq, cq, 32);
    init.qp_type = (enum ibv_qp_type)t->row->a;
    errno = 0;
    qp = ibv_create_qp(t->lab->pd, &init);
    if (qp)
        test_own(t, OBJECT_QP, qp);
    CHECK(t, qp == NULL);
    if (t->row->b)
        CHECK_EQ(t, errno, t->row->b);
}

static void two_elements(struct test *t)
{
    struct ibv_cq *cq = make_cq(t, t->lab->context, 64);
    struct ibv_qp_init_attr init;
    struct ibv_qp *qp;

    NEED(!t->is_over);
    init = line_init(cq, cq, 32);
    if (t->row->a)
        init.cap.max_send_sge = 2;
    else
        init.cap.max_recv_sge = 2;
    qp = ibv_create_qp(t->lab->pd, &init);
    if (qp)
        test_own(t, OBJECT_QP, qp);
    CHECK(t, qp == NULL);
}

static void new_qp(struct test *t)
{
    struct line line;
    struct line other;

    NEED(make_line(t, 32, &line) && make_line(t, 32, &other));
    CHECK_EQ(t, line.qp->state, IBV_QPS_RESET);
    CHECK_EQ(t, line.qp->qp_type, IBV_QPT_UC);
    CHECK(t, line.qp->context == t->lab->context && line.qp->pd == t->lab->pd);
    CHECK(t, line.qp->send_cq == line.send_cq && line.qp->recv_cq == line.recv_cq);
    CHECK(t, line.qp->qp_num != other.qp->qp_num);
}

static void region_keys(struct test *t)
{
    struct ibv_pd *pd = make_pd(t, t->lab->context);
    struct ibv_mr *one = t->is_over ? NULL : make_mr(t, pd, t->lab->memory, 65536);

    NEED(one);
    CHECK(t, one->lkey != t->lab->mr->lkey);
    CHECK_EQ(t, one->rkey, 0);
    CHECK(t, one->addr == t->lab->memory && one->length == 65536 && one->pd == pd);
}

static void region_access(struct test *t)
{
    struct ibv_mr *mr = ibv_reg_mr(t->lab->pd, t->lab->memory, 4096, (unsigned)t->row->a);

    if (mr)
        test_own(t, OBJECT_MR, mr);
    CHECK(t, (mr != NULL) == (t->row->b != 0));
}

static void region_large(struct test *t)
{
    size_t bytes = (size_t)64 << 20;
    char *at = make_memory(t, bytes);

    NEED(at && make_mr(t, t->lab->pd, at, bytes));
}

static void cq_depth(struct test *t)
{
    struct ibv_cq *cq = make_cq(t, t->lab->context, (int)t->row->a);
    struct ibv_wc wc;

    NEED(cq);
    CHECK(t, cq->cqe >= (int)t->row->a);
    CHECK_EQ(t, ibv_poll_cq(cq, 1, &wc), 0);
    CHECK_EQ(t, ibv_poll_cq(cq, 0, &wc), 0);
}

#define DEPTH(name, asked, granted, fact, source)                                  \
    {                                                                              \
        "depth/" name, fact, source, depth, asked, granted, 1, VARIANT_BOTH, false \
    }

static const struct row rows[] = {
    {"limit/eleventh_qp_is_busy", "ten queue pairs a device; the 11th gives EBUSY", "mlx#4209",
     eleventh_qp, 0, 0, 1, VARIANT_BOTH, false},
    {"limit/eleventh_qp_in_another_context", "the limit is the device's, not the context's",
     "mlx#4209", eleventh_qp, 1, 0, 1, VARIANT_BOTH, false},
    {"limit/eleventh_qp_stays_refused", "retries give EBUSY as well, until one is destroyed",
     "mlx#4209", eleventh_stays_refused, 0, 0, 1, VARIANT_BOTH, false},
    {"limit/destroyed_qp_comes_back", "a destroyed queue pair can be made again", "mlx#4209",
     qp_comes_back, 0, 0, 1, VARIANT_BOTH, false},
    {"limit/region_101_is_refused", "100 regions; the next gives NULL and ENOMEM", "mlx#3162",
     hundred_regions, 0, 0, 1, VARIANT_BOTH, false},
    DEPTH("32_gives_1023", 32, 1023, "small requests are granted 1023 frames", "mesh-notes"),
    DEPTH("256_gives_1023", 256, 1023, "256 asked, 1023 granted", "mesh-notes"),
    DEPTH("4095_gives_4095", 4095, 4095, "the most is 4095", "TN3205"),
    DEPTH("4096_is_refused", 4096, 0, "the most is 4095", "TN3205"),
    {"type/rc_is_refused", "RC gives EOPNOTSUPP", "mlx#4530", qp_type, IBV_QPT_RC, EOPNOTSUPP, 1,
     VARIANT_BOTH, false},
    {"type/ud_is_refused", "UD gives EOPNOTSUPP", "hellas", qp_type, IBV_QPT_UD, EOPNOTSUPP, 1,
     VARIANT_BOTH, false},
    {"type/99_is_refused", "no such type", "ibv_create_qp(3)", qp_type, 99, 0, 1, VARIANT_BOTH,
     false},
    {"limit/two_send_elements", "max_sge is 1", "TN3205", two_elements, 1, 0, 1, VARIANT_BOTH,
     false},
    {"limit/two_receive_elements", "max_sge is 1", "TN3205", two_elements, 0, 0, 1, VARIANT_BOTH,
     false},
    {"qp/is_new", "a new queue pair is in RESET and names its parts", "ibv_create_qp(3)", new_qp, 0,
     0, 1, VARIANT_BOTH, false},
    {"region/has_its_keys", "one buffer in two domains has two lkeys; rkey is 0", "gojaccl",
     region_keys, 0, 0, 1, VARIANT_BOTH, false},
    {"region/takes_access_7", "local and remote access is accepted", "mlx rdma.cpp", region_access,
     7, 1, 1, VARIANT_BOTH, false},
    {"region/refuses_local_write_alone", "LOCAL_WRITE alone is refused", "llama#26421",
     region_access, IBV_ACCESS_LOCAL_WRITE, 0, 1, VARIANT_OBSERVED, false},
    {"region/takes_local_write_alone", "LOCAL_WRITE alone is enough", "TN3205", region_access,
     IBV_ACCESS_LOCAL_WRITE, 1, 1, VARIANT_TECHNOTE, false},
    {"region/exceeds_max_mr_size", "regions above max_mr_size succeed", "mesh-notes", region_large,
     0, 0, 1, VARIANT_BOTH, false},
    {"cq/holds_4096", "4095 + 1 entries", "TN3205", cq_depth, 4096, 0, 1, VARIANT_BOTH, false},
    {"cq/holds_1", "a queue of one", "ibv_create_cq(3)", cq_depth, 1, 0, 1, VARIANT_BOTH, false},
};

const struct row_table limit_rows = {rows, sizeof rows / sizeof *rows};
