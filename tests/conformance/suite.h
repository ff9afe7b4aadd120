/* SPDX-License-Identifier: Apache-2.0 */
/* What a case of the conformance suite is made of. */
#ifndef TESTS_CONFORMANCE_SUITE_H
#define TESTS_CONFORMANCE_SUITE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tests/clients/uc_mesh/fault.h"
#include "tests/clients/uc_mesh/platform.h"
#include "tests/clients/uc_mesh/side.h"

#define SUITE_MEMORY   (UINT32_C(8) << 20) /* bytes of the lab's region */
#define SUITE_FRAME    4096U
#define SUITE_OBJECTS  128U
#define SUITE_PSN      7U
#define SUITE_ACCESS   (IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_WRITE)
#define SUITE_QUIET_NS UINT64_C(2000000)    /* long against a latency of 5 us */
#define SUITE_LIMIT_NS UINT64_C(2000000000) /* what has not come by now never does */

enum variant {
    VARIANT_OBSERVED = 1, /* what users found */
    VARIANT_TECHNOTE = 2, /* what Apple wrote, where the two differ */
    VARIANT_BOTH = 3
};

/* Opened once: on hardware a leaked protection domain is gone until reboot. */
struct lab {
    char device[64];
    struct ibv_context *context; /* owned */
    struct ibv_pd *pd;           /* owned */
    struct ibv_mr *mr;           /* owned; all of memory, SUITE_ACCESS */
    char *memory;                /* owned; SUITE_MEMORY bytes, page-aligned */
    bool is_active;
    bool has_gid;
    union ibv_gid gid; /* the first IPv4-mapped one */
    uint16_t lid;
};

/* A queue pair with a queue for each kind of completion. */
struct line {
    struct ibv_qp *qp;
    struct ibv_cq *send_cq;
    struct ibv_cq *recv_cq;
    uint32_t frames; /* granted, of the receive queue */
};

/* One case as it runs. Objects that it makes are destroyed behind it, last made first. */
struct test {
    struct lab *lab;   /* borrowed */
    struct side *side; /* borrowed; NULL: alone */
    unsigned rank;
    enum variant variant;
    const struct row *row;
    bool is_over; /* failed, skipped, or the other rank has ended the case */
    bool is_skipped;
    bool is_leaving; /* this process ends after the case */
    char text[200];  /* why */
    struct {
        enum object_kind {
            OBJECT_CONTEXT,
            OBJECT_PD,
            OBJECT_MR,
            OBJECT_CQ,
            OBJECT_QP,
            OBJECT_MEMORY
        } kind;
        void *at;
    } objects[2 * SUITE_OBJECTS];
    size_t object_count;
};

typedef void case_fn(struct test *t);

struct row {
    const char *name;   /* group/a_sentence_that_can_be_false */
    const char *fact;   /* what is checked */
    const char *source; /* who says so */
    case_fn *fn;
    uint64_t a; /* of the function */
    uint64_t b;
    unsigned ranks;        /* 1: each rank for itself */
    enum variant variants; /* 0: both */
    bool is_hostile;       /* may crash a provider that does not check; no row is yet */
};

struct row_table {
    const struct row *rows;
    size_t count;
};

extern const struct row_table device_rows;
extern const struct row_table limit_rows;
extern const struct row_table state_rows;
extern const struct row_table post_rows;
extern const struct row_table frame_rows;

/* Ends the case with a failure unless `ok`. Returns ok. */
bool test_expect(struct test *t, bool ok, int line, const char *format, ...)
    __attribute__((format(printf, 4, 5)));
void test_skip(struct test *t, const char *why);

/* In a case: leaves the function when the condition is false, or when a helper ended the case. */
#define CHECK(t, condition)                                         \
    do {                                                            \
        if (!test_expect(t, condition, __LINE__, "%s", #condition)) \
            return;                                                 \
    } while (0)
#define CHECK_EQ(t, value, wanted)                                                               \
    do {                                                                                         \
        long long found_ = (long long)(value);                                                   \
        long long wanted_ = (long long)(wanted);                                                 \
        if (!test_expect(t, found_ == wanted_, __LINE__, "%s is %lld, not %lld", #value, found_, \
                         wanted_))                                                               \
            return;                                                                              \
    } while (0)
/* For helpers, which have set t->is_over when they return false. */
#define NEED(condition)   \
    do {                  \
        if (!(condition)) \
            return;       \
    } while (0)

/* Objects; NULL or false and the case is over if they cannot be made. */
struct ibv_context *make_context(struct test *t);
struct ibv_pd *make_pd(struct test *t, struct ibv_context *context);
struct ibv_mr *make_mr(struct test *t, struct ibv_pd *pd, void *at, size_t bytes);
struct ibv_cq *make_cq(struct test *t, struct ibv_context *context, int depth);
char *make_memory(struct test *t, size_t bytes);
/* A UC queue pair in the lab's domain with queues of `depth` requests. */
bool make_line(struct test *t, uint32_t depth, struct line *ret);
bool make_line_in(struct test *t, struct ibv_pd *pd, uint32_t depth, struct line *ret);
/* Files an object that the case made itself, so that it is destroyed; or forgets one. */
void test_own(struct test *t, int kind, void *at);
void test_disown(struct test *t, const void *at);
void test_clean(struct test *t);
struct ibv_qp_init_attr line_init(struct ibv_cq *send_cq, struct ibv_cq *recv_cq, uint32_t depth);

/* Meets the other rank and exchanges up to 64 bytes (both NULL: none). False: it has left. */
bool test_meet(struct test *t, const void *mine, void *theirs, size_t bytes);
/* At the end of a case: waits for the other rank's end and merges what it says. */
bool test_end(struct test *t, struct fault *fault);

/* Connection. */
struct far_end {
    uint32_t qpn;
    uint32_t psn;
    uint16_t lid;
    uint8_t gid[16];
};
int to_init(struct ibv_qp *qp);
struct ibv_qp_attr rtr_attr(const struct far_end *far_end);
#define RTR_MASK  (IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN)
#define INIT_MASK (IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS)
int to_rtr(struct ibv_qp *qp, const struct far_end *far_end);
int to_rts(struct ibv_qp *qp);
int to_state(struct ibv_qp *qp, enum ibv_qp_state state);
/* Goes to INIT and tells the other rank; collective. */
bool swap_ends(struct test *t, struct ibv_qp *qp, struct far_end *ret);
/* INIT, RTR, RTS and a meeting; collective. */
bool connect_line(struct test *t, struct line *line);
/* make_line and connect_line. */
bool make_pair(struct test *t, uint32_t depth, struct line *ret);

/* Requests on the lab's memory. Both return what the post returned, made positive. */
int post_recv(struct test *t, struct ibv_qp *qp, uint64_t id, uint32_t offset, uint32_t bytes);
int post_send(struct test *t, struct ibv_qp *qp, uint64_t id, uint32_t offset, uint32_t bytes);
int post_recv_sge(struct ibv_qp *qp, uint64_t id, struct ibv_sge *sge, int count);
int post_send_sge(struct ibv_qp *qp, uint64_t id, struct ibv_sge *sge, int count);
struct ibv_sge lab_sge(const struct test *t, uint32_t offset, uint32_t bytes);

/* One completion, with status success; else the case is over. */
bool take_ok(struct test *t, struct ibv_cq *cq, struct ibv_wc *ret);
/* One completion of any status. */
bool take_any(struct test *t, struct ibv_cq *cq, struct ibv_wc *ret);
/* None comes within SUITE_QUIET_NS. */
bool stay_quiet(struct test *t, struct ibv_cq *cq);
/* One if it comes within SUITE_QUIET_NS. */
bool take_maybe(struct ibv_cq *cq, struct ibv_wc *ret);

/* A pattern of a seed, and whether it is there. */
void fill(char *at, size_t bytes, uint32_t seed);
bool is_filled(const char *at, size_t bytes, uint32_t seed);

#endif
