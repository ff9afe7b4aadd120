/* SPDX-License-Identifier: Apache-2.0 */
/*
 * DOC: A case on two ranks
 *
 * Both ranks run the same function and branch on t->rank. They meet on the TCP side channel; every
 * message on it says whether its sender is in the case or at its end, so a rank that fails early
 * never leaves the other one waiting: a meeting that meets an end returns false, and who has ended
 * repeats that until the other one has as well. Waits for completions are bounded by the clock and
 * read it after every poll, so that on a simulated clock, too, time passes.
 */
#include "tests/conformance/suite.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum note_kind {
    NOTE_MEET,
    NOTE_END
};

struct note {
    uint32_t kind;
    uint32_t is_failed;
    uint32_t is_skipped;
    char text[200];
    char payload[64];
};

bool test_expect(struct test *t, bool ok, int line, const char *format, ...)
{
    va_list args;
    size_t used;

    if (ok || t->is_over)
        return ok && !t->is_over;
    t->is_over = true;
    (void)snprintf(t->text, sizeof t->text, "rank %u, line %d: ", t->rank, line);
    used = strlen(t->text);
    va_start(args, format);
    (void)vsnprintf(t->text + used, sizeof t->text - used, format, args);
    va_end(args);
    return false;
}

void test_skip(struct test *t, const char *why)
{
    t->is_over = true;
    t->is_skipped = true;
    (void)snprintf(t->text, sizeof t->text, "%s", why);
}

static bool exchange(struct test *t, const struct note *mine, struct note *ret, struct fault *fault)
{
    struct note both[2];

    if (!side_all_gather(t->side, mine, both, sizeof *mine, fault))
        return false;
    *ret = both[1 - t->rank];
    return true;
}

bool test_meet(struct test *t, const void *mine, void *theirs, size_t bytes)
{
    struct note note = {.kind = NOTE_MEET};
    struct note other;
    struct fault fault = {""};

    if (t->is_over)
        return false;
    if (bytes)
        memcpy(note.payload, mine, bytes);
    if (!exchange(t, &note, &other, &fault))
        return test_expect(t, false, __LINE__, "%s", fault.text);
    if (other.kind == NOTE_END) {
        t->is_over = true;
        return false;
    }
    if (bytes)
        memcpy(theirs, other.payload, bytes);
    return true;
}

bool test_end(struct test *t, struct fault *fault)
{
    struct note note = {
        .kind = NOTE_END, .is_failed = t->text[0] && !t->is_skipped, .is_skipped = t->is_skipped};
    struct note other = {0};

    if (!t->side)
        return true;
    memcpy(note.text, t->text, sizeof note.text);
    do {
        if (!exchange(t, &note, &other, fault))
            return false;
    } while (other.kind != NOTE_END);
    if (!note.is_failed && (other.is_failed || other.is_skipped)) {
        memcpy(t->text, other.text, sizeof t->text);
        t->is_skipped = !other.is_failed;
    }
    return true;
}

void test_own(struct test *t, int kind, void *at)
{
    if (!test_expect(t, t->object_count < 2 * SUITE_OBJECTS, __LINE__, "too many objects"))
        return;
    t->objects[t->object_count].kind = (enum object_kind)kind;
    t->objects[t->object_count].at = at;
    t->object_count++;
}

void test_disown(struct test *t, const void *at)
{
    for (size_t i = 0; i < t->object_count; i++) {
        if (t->objects[i].at == at)
            t->objects[i].at = NULL;
    }
}

static int destroy(int kind, void *at)
{
    switch (kind) {
    case OBJECT_CONTEXT:
        return ibv_close_device(at);
    case OBJECT_PD:
        return ibv_dealloc_pd(at);
    case OBJECT_MR:
        return ibv_dereg_mr(at);
    case OBJECT_CQ:
        return ibv_destroy_cq(at);
    case OBJECT_QP:
        return ibv_destroy_qp(at);
    default:
        free(at);
        return 0;
    }
}

void test_clean(struct test *t)
{
    while (t->object_count > 0) {
        int kind = (int)t->objects[--t->object_count].kind;
        void *at = t->objects[t->object_count].at;
        int code = at ? destroy(kind, at) : 0;

        (void)test_expect(t, code == 0, __LINE__, "destroying an object of kind %d gave %d", kind,
                          code);
    }
}

struct ibv_context *make_context(struct test *t)
{
    struct ibv_context *context = ibv_open_device(t->lab->context->device);

    if (test_expect(t, context != NULL, __LINE__, "ibv_open_device: errno %d", errno))
        test_own(t, OBJECT_CONTEXT, context);
    return context;
}

struct ibv_pd *make_pd(struct test *t, struct ibv_context *context)
{
    struct ibv_pd *pd = ibv_alloc_pd(context);

    if (test_expect(t, pd != NULL, __LINE__, "ibv_alloc_pd: errno %d", errno))
        test_own(t, OBJECT_PD, pd);
    return pd;
}

struct ibv_mr *make_mr(struct test *t, struct ibv_pd *pd, void *at, size_t bytes)
{
    struct ibv_mr *mr = ibv_reg_mr(pd, at, bytes, SUITE_ACCESS);

    if (test_expect(t, mr != NULL, __LINE__, "ibv_reg_mr: errno %d", errno))
        test_own(t, OBJECT_MR, mr);
    return mr;
}

struct ibv_cq *make_cq(struct test *t, struct ibv_context *context, int depth)
{
    struct ibv_cq *cq = ibv_create_cq(context, depth, NULL, NULL, 0);

    if (test_expect(t, cq != NULL, __LINE__, "ibv_create_cq: errno %d", errno))
        test_own(t, OBJECT_CQ, cq);
    return cq;
}

char *make_memory(struct test *t, size_t bytes)
{
    void *at = NULL;
    int code = posix_memalign(&at, (size_t)sysconf(_SC_PAGESIZE), bytes);

    if (!test_expect(t, code == 0, __LINE__, "out of memory"))
        return NULL;
    test_own(t, OBJECT_MEMORY, at);
    return at;
}

struct ibv_qp_init_attr line_init(struct ibv_cq *send_cq, struct ibv_cq *recv_cq, uint32_t depth)
{
    return (struct ibv_qp_init_attr){
        .send_cq = send_cq,
        .recv_cq = recv_cq,
        .cap = {.max_send_wr = depth, .max_recv_wr = depth, .max_send_sge = 1, .max_recv_sge = 1},
        .qp_type = IBV_QPT_UC,
    };
}

bool make_line_in(struct test *t, struct ibv_pd *pd, uint32_t depth, struct line *ret)
{
    struct ibv_qp_init_attr init;

    ret->send_cq = make_cq(t, pd->context, 4096);
    ret->recv_cq = t->is_over ? NULL : make_cq(t, pd->context, 4096);
    if (t->is_over)
        return false;
    init = line_init(ret->send_cq, ret->recv_cq, depth);
    ret->qp = ibv_create_qp(pd, &init);
    if (!test_expect(t, ret->qp != NULL, __LINE__, "ibv_create_qp: errno %d", errno))
        return false;
    test_own(t, OBJECT_QP, ret->qp);
    ret->frames = init.cap.max_recv_wr;
    return !t->is_over;
}

bool make_line(struct test *t, uint32_t depth, struct line *ret)
{
    return make_line_in(t, t->lab->pd, depth, ret);
}

int to_init(struct ibv_qp *qp)
{
    struct ibv_qp_attr attr = {
        .qp_state = IBV_QPS_INIT, .port_num = 1, .qp_access_flags = SUITE_ACCESS};

    return ibv_modify_qp(qp, &attr, INIT_MASK);
}

struct ibv_qp_attr rtr_attr(const struct far_end *far_end)
{
    struct ibv_qp_attr attr = {
        .qp_state = IBV_QPS_RTR,
        .path_mtu = IBV_MTU_1024,
        .rq_psn = far_end->psn,
        .dest_qp_num = far_end->qpn,
        .ah_attr = {.dlid = far_end->lid,
                    .port_num = 1,
                    .is_global = 1,
                    .grh = {.hop_limit = 1, .sgid_index = 1}},
    };

    memcpy(attr.ah_attr.grh.dgid.raw, far_end->gid, sizeof far_end->gid);
    return attr;
}

int to_rtr(struct ibv_qp *qp, const struct far_end *far_end)
{
    struct ibv_qp_attr attr = rtr_attr(far_end);

    return ibv_modify_qp(qp, &attr, RTR_MASK);
}

int to_rts(struct ibv_qp *qp)
{
    struct ibv_qp_attr attr = {.qp_state = IBV_QPS_RTS, .sq_psn = SUITE_PSN};

    return ibv_modify_qp(qp, &attr, IBV_QP_STATE | IBV_QP_SQ_PSN);
}

int to_state(struct ibv_qp *qp, enum ibv_qp_state state)
{
    struct ibv_qp_attr attr = {.qp_state = state};

    return ibv_modify_qp(qp, &attr, IBV_QP_STATE);
}

bool swap_ends(struct test *t, struct ibv_qp *qp, struct far_end *ret)
{
    struct far_end mine = {.qpn = qp->qp_num, .psn = SUITE_PSN, .lid = t->lab->lid};
    int code = to_init(qp);

    if (!t->lab->has_gid) {
        test_skip(t, "the port has no IPv4-mapped GID");
        return false;
    }
    memcpy(mine.gid, t->lab->gid.raw, sizeof mine.gid);
    return test_expect(t, code == 0, __LINE__, "to INIT: %d", code) &&
           test_meet(t, &mine, ret, sizeof mine);
}

bool connect_line(struct test *t, struct line *line)
{
    struct far_end far_end;
    int code;

    if (!swap_ends(t, line->qp, &far_end))
        return false;
    code = to_rtr(line->qp, &far_end);
    if (!test_expect(t, code == 0, __LINE__, "to RTR: %d", code))
        return false;
    code = to_rts(line->qp);
    return test_expect(t, code == 0, __LINE__, "to RTS: %d", code) && test_meet(t, NULL, NULL, 0);
}

bool make_pair(struct test *t, uint32_t depth, struct line *ret)
{
    return make_line(t, depth, ret) && connect_line(t, ret);
}

struct ibv_sge lab_sge(const struct test *t, uint32_t offset, uint32_t bytes)
{
    return (struct ibv_sge){
        .addr = (uintptr_t)(t->lab->memory + offset), .length = bytes, .lkey = t->lab->mr->lkey};
}

int post_recv_sge(struct ibv_qp *qp, uint64_t id, struct ibv_sge *sge, int count)
{
    struct ibv_recv_wr wr = {.wr_id = id, .sg_list = sge, .num_sge = count};
    struct ibv_recv_wr *bad = NULL;

    return abs(ibv_post_recv(qp, &wr, &bad));
}

int post_send_sge(struct ibv_qp *qp, uint64_t id, struct ibv_sge *sge, int count)
{
    struct ibv_send_wr wr = {.wr_id = id,
                             .sg_list = sge,
                             .num_sge = count,
                             .opcode = IBV_WR_SEND,
                             .send_flags = IBV_SEND_SIGNALED};
    struct ibv_send_wr *bad = NULL;

    return abs(ibv_post_send(qp, &wr, &bad));
}

int post_recv(struct test *t, struct ibv_qp *qp, uint64_t id, uint32_t offset, uint32_t bytes)
{
    struct ibv_sge sge = lab_sge(t, offset, bytes);

    return post_recv_sge(qp, id, &sge, 1);
}

int post_send(struct test *t, struct ibv_qp *qp, uint64_t id, uint32_t offset, uint32_t bytes)
{
    struct ibv_sge sge = lab_sge(t, offset, bytes);

    return post_send_sge(qp, id, &sge, 1);
}

static uint64_t now_ns(void)
{
    struct timespec now = {0, 0};

    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000U + (uint64_t)now.tv_nsec;
}

/* The number that the poll returned: 0 after `span_ns` without a completion. */
static int wait_one(struct ibv_cq *cq, uint64_t span_ns, struct ibv_wc *ret)
{
    uint64_t end = now_ns() + span_ns;
    int count;

    do {
        count = ibv_poll_cq(cq, 1, ret);
    } while (count == 0 && now_ns() < end);
    return count;
}

bool take_any(struct test *t, struct ibv_cq *cq, struct ibv_wc *ret)
{
    int count = wait_one(cq, SUITE_LIMIT_NS, ret);

    return test_expect(t, count == 1, __LINE__,
                       count ? "ibv_poll_cq failed" : "no completion has come");
}

bool take_ok(struct test *t, struct ibv_cq *cq, struct ibv_wc *ret)
{
    return take_any(t, cq, ret) && test_expect(t, ret->status == IBV_WC_SUCCESS, __LINE__,
                                               "completion of wr_id %llu has status %d",
                                               (unsigned long long)ret->wr_id, (int)ret->status);
}

bool take_maybe(struct ibv_cq *cq, struct ibv_wc *ret)
{
    return wait_one(cq, SUITE_QUIET_NS, ret) == 1;
}

bool stay_quiet(struct test *t, struct ibv_cq *cq)
{
    struct ibv_wc wc;

    return test_expect(t, !take_maybe(cq, &wc), __LINE__, "a completion came too early");
}

void fill(char *at, size_t bytes, uint32_t seed)
{
    for (size_t i = 0; i < bytes; i++)
        at[i] = (char)((i * 31 + i / 251 + seed * 77 + 1) & 0xff);
}

bool is_filled(const char *at, size_t bytes, uint32_t seed)
{
    for (size_t i = 0; i < bytes; i++) {
        if (at[i] != (char)((i * 31 + i / 251 + seed * 77 + 1) & 0xff))
            return false;
    }
    return true;
}
