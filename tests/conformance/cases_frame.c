/* SPDX-License-Identifier: Apache-2.0 */
/* A SEND and its RECV cover the same number of frames, or the receive fails. */
#include "tests/conformance/suite.h"

/* a: bytes sent, b: bytes received; by rank 0 where the name says forward. */
static void frames(struct test *t, unsigned sender)
{
    uint32_t sent = (uint32_t)t->row->a;
    uint32_t room = (uint32_t)t->row->b;
    bool fits = (sent + SUITE_FRAME - 1) / SUITE_FRAME == (room + SUITE_FRAME - 1) / SUITE_FRAME;
    struct line line;
    struct ibv_wc wc;

    NEED(make_pair(t, 256, &line));
    if (t->rank != sender)
        CHECK_EQ(t, post_recv(t, line.qp, 7, 0, room), 0);
    NEED(test_meet(t, NULL, NULL, 0));
    if (t->rank == sender) {
        fill(t->lab->memory, sent, 9);
        CHECK_EQ(t, post_send(t, line.qp, 8, 0, sent), 0);
    } else {
        NEED(take_any(t, line.recv_cq, &wc));
        CHECK_EQ(t, wc.status, fits ? IBV_WC_SUCCESS : IBV_WC_LOC_LEN_ERR);
        CHECK_EQ(t, wc.wr_id, 7);
        if (fits) {
            CHECK_EQ(t, wc.byte_len, sent);
            CHECK(t, is_filled(t->lab->memory, sent, 9));
        }
    }
    (void)test_meet(t, NULL, NULL, 0);
}

static void forward(struct test *t)
{
    frames(t, 0);
}

static void backward(struct test *t)
{
    frames(t, 1);
}

#define PAIR(sent, room)                                                                  \
    {"frames/forward_" #sent "_into_" #room,                                              \
     "equal frame counts, or a length error",                                             \
     "TN3205",                                                                            \
     forward,                                                                             \
     sent,                                                                                \
     room,                                                                                \
     2,                                                                                   \
     VARIANT_BOTH,                                                                        \
     false},                                                                              \
    {                                                                                     \
        "frames/backward_" #sent "_into_" #room, "equal frame counts, or a length error", \
            "TN3205", backward, sent, room, 2, VARIANT_BOTH, false                        \
    }

static const struct row rows[] = {
    PAIR(1, 1),           PAIR(3, 4096),        PAIR(4095, 4096),       PAIR(4096, 4096),
    PAIR(4097, 8192),     PAIR(8191, 8192),     PAIR(8192, 8192),       PAIR(65535, 65536),
    PAIR(131072, 131072), PAIR(524288, 524288), PAIR(1000003, 1000003), PAIR(16384, 4096),
    PAIR(16384, 32768),   PAIR(4096, 8192),     PAIR(4097, 4096),       PAIR(4096, 4097),
    PAIR(1, 8192),        PAIR(524288, 262144),
};

const struct row_table frame_rows = {rows, sizeof rows / sizeof *rows};
