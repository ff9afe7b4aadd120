/* SPDX-License-Identifier: Apache-2.0 */
/*
 * DOC: probe
 *
 * One question about an RDMA device for each name below; the answer is a line on stdout. Plain
 * verbs, for tests of reports. `probe QUESTION [DEVICE [NUMBER]]`; DEVICE is a name, and rdma_en2
 * unless given.
 *
 *   devices    how many there are
 *   pd         a protection domain: "pd ok", or "pd NULL ERRNO"
 *   limits     how many queue pairs, completion queues, domains and regions, and the errno behind
 *   share      limits of a second process of this Mac while the first one has one of each
 *   teardown   a region's end with the queue pair in ERR, and with it gone: "unmap ERRNO ERRNO"
 *   port       state of the port and a protection domain: "port 4 pd ok", "port 1 pd NULL ERRNO"
 *   rkey       the remote key of a region with all access
 *   gids       of the port, and whether the second is made of an IPv4 address: "gids 3 ipv4"
 *   local      a region with LOCAL_WRITE alone: "local ERRNO"
 *   before     a receive that is posted in INIT: "before ERRNO"
 *   bad        does a list of receives, the second of which is bad, say so? "bad ERRNO named"
 *
 * Two ranks, each with its DEVICE, connected over JACCL_COORDINATOR:
 *   rtr        to RTR with source GID index NUMBER: "rtr ERRNO"
 *   wrong      rank 0 to RTR with a GID that is nobody's, NUMBER times, then with the right one
 *   early      rank 0 sends 4 KiB, rank 1 posts its receive 1 ms later: "arrived" or "lost";
 *              status of the send
 *   tardy      rank 0 sends to rank 1, which is in RTR NUMBER ms later: how long after that the
 *              message is there, in ns
 *   idle       rank 0 sends after NUMBER ms of silence; rank 1 says how long the message took
 *   alive      the same, with a message every second meanwhile
 *   minutely   the same, with a message every minute
 *   neighbour  the same on one queue pair, while a second one has a message every minute
 *   renew      rank 0 sends after NUMBER ms, flushes what did not leave within 10 ms, and both
 *              connect anew: "flushed COUNT", "arrived"
 *   survive    rank 1 aborts while rank 0 has a receive and a send posted, and polls for ever
 *   unplugged  state of the port and a protection domain, at once and after NUMBER ms
 *   leave      rank 0 posts NUMBER messages and ends at once; rank 1 counts those that came
 *   vanish     the same without what a program does at its end
 *   rounds     both send and receive a message each ms, NUMBER times
 *   wait       rank 1 waits for ever for a message that rank 0, which sleeps NUMBER ms, sends
 *   pace       rank 0 sends NUMBER messages of 4 KiB and computes Gb/s from its completions; rank
 *              1 does from its own
 *   strides    rank 0 sends a request of NUMBER bytes in whole strides of 32 to 256 KiB, and rank 1
 *              answers with one; "stride BYTES took NS", and "stride BYTES at GBPS" what arrived
 *   ping       messages of NUMBER bytes to and fro: least, median and greatest half of a round
 *              trip in ps, and how many round trips
 *
 * Exit code: 0 there is an answer, 2 bad use, 3 it could not be asked.
 */
#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <infiniband/verbs.h>

#include "tests/clients/uc_mesh/fault.h"
#include "tests/clients/uc_mesh/side.h"

#define BYTES  4096U /* of every message but those of `ping` */
#define PINGS  501   /* round trips */
#define ACCESS (IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_WRITE)
#define MOST   256
#define DEPTH  200U

#define STRIDE_MOST (256U << 10)
#define RING        8 /* strides outstanding */

struct probe {
    struct ibv_context *context;
    struct ibv_pd *pd;
    struct ibv_mr *mr;
    struct ibv_cq *cq;
    struct ibv_qp *qp;
    char *memory;
    uint32_t bytes; /* of memory and of a message */
    struct side side;
    unsigned rank;
    long number;
    int status; /* of the last completion */
    const char *program, *device;
};

struct far_end {
    uint32_t qp_num;
    uint8_t gid[16];
};

static int64_t now_ns(void)
{
    struct timespec now;

    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

static void rest(long ms)
{
    const struct timespec span = {ms / 1000, ms % 1000 * 1000000};

    (void)nanosleep(&span, NULL);
}

static struct ibv_context *open_named(const char *name)
{
    struct ibv_device **list = ibv_get_device_list(NULL);
    struct ibv_context *context = NULL;

    for (size_t i = 0; list && list[i] && !context; i++) {
        if (strcmp(ibv_get_device_name(list[i]), name) == 0)
            context = ibv_open_device(list[i]);
    }
    if (list)
        ibv_free_device_list(list);
    return context;
}

static bool make_qp(struct probe *p)
{
    struct ibv_qp_init_attr init = {
        .send_cq = p->cq,
        .recv_cq = p->cq,
        .qp_type = IBV_QPT_UC,
        .cap = {.max_send_wr = DEPTH, .max_recv_wr = DEPTH, .max_send_sge = 1, .max_recv_sge = 1},
        .sq_sig_all = 1};

    p->qp = ibv_create_qp(p->pd, &init);
    return p->qp != NULL;
}

static bool make_objects(struct probe *p)
{
    void *memory = NULL;

    p->pd = ibv_alloc_pd(p->context);
    if (!p->pd || posix_memalign(&memory, 16384, p->bytes))
        return false;
    p->memory = memory;
    memset(memory, 0, p->bytes);
    p->mr = ibv_reg_mr(p->pd, memory, p->bytes, ACCESS);
    p->cq = ibv_create_cq(p->context, 2 * MOST, NULL, NULL, 0);
    return p->mr && p->cq && make_qp(p);
}

static int to_init(struct ibv_qp *qp)
{
    struct ibv_qp_attr attr = {.qp_state = IBV_QPS_INIT, .port_num = 1, .qp_access_flags = ACCESS};

    return ibv_modify_qp(qp, &attr,
                         IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS);
}

static int to_rtr(struct ibv_qp *qp, const struct far_end *far_end, int sgid_index)
{
    struct ibv_qp_attr attr = {
        .qp_state = IBV_QPS_RTR,
        .path_mtu = IBV_MTU_1024,
        .dest_qp_num = far_end->qp_num,
        .rq_psn = 7,
        .ah_attr = {.is_global = 1,
                    .port_num = 1,
                    .grh = {.sgid_index = (uint8_t)sgid_index, .hop_limit = 1}}};

    memcpy(attr.ah_attr.grh.dgid.raw, far_end->gid, sizeof far_end->gid);
    return ibv_modify_qp(
        qp, &attr, IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN);
}

static int to_rts(struct ibv_qp *qp)
{
    struct ibv_qp_attr attr = {.qp_state = IBV_QPS_RTS, .sq_psn = 7};

    return ibv_modify_qp(qp, &attr, IBV_QP_STATE | IBV_QP_SQ_PSN);
}

/* What the other rank says of its end. */
static bool exchange(struct probe *p, struct far_end *ret)
{
    struct fault fault = {0};
    struct far_end mine = {0};
    struct far_end all[2];
    union ibv_gid gid;

    mine.qp_num = p->qp->qp_num;
    if (ibv_query_gid(p->context, 1, 1, &gid) == 0)
        memcpy(mine.gid, gid.raw, sizeof mine.gid);
    if (!side_all_gather(&p->side, &mine, all, sizeof mine, &fault))
        return false;
    *ret = all[1 - p->rank];
    return true;
}

/* Everything up to INIT, and what the other rank says. */
static bool meet(struct probe *p, struct far_end *ret)
{
    const char *coordinator = getenv("JACCL_COORDINATOR");
    struct fault fault = {0};

    return make_objects(p) && to_init(p->qp) == 0 && coordinator &&
           side_open(&p->side, p->rank, 2, coordinator, &fault) && exchange(p, ret);
}

static bool connect_pair(struct probe *p)
{
    struct fault fault = {0};
    struct far_end far_end;

    return meet(p, &far_end) && to_rtr(p->qp, &far_end, 1) == 0 && to_rts(p->qp) == 0 &&
           side_barrier(&p->side, &fault);
}

static int recv_part(struct probe *p, uint32_t bytes)
{
    struct ibv_sge sge = {(uintptr_t)p->memory, bytes, p->mr->lkey};
    struct ibv_recv_wr wr = {.wr_id = 1, .sg_list = &sge, .num_sge = 1};
    struct ibv_recv_wr *bad;

    return ibv_post_recv(p->qp, &wr, &bad);
}

static int send_part(struct probe *p, uint32_t bytes)
{
    struct ibv_sge sge = {(uintptr_t)p->memory, bytes, p->mr->lkey};
    struct ibv_send_wr wr = {.wr_id = 2,
                             .sg_list = &sge,
                             .num_sge = 1,
                             .opcode = IBV_WR_SEND,
                             .send_flags = IBV_SEND_SIGNALED};
    struct ibv_send_wr *bad;

    return ibv_post_send(p->qp, &wr, &bad);
}

static int recv_one(struct probe *p)
{
    return recv_part(p, p->bytes);
}

static int send_one(struct probe *p)
{
    return send_part(p, p->bytes);
}

/* Polls until `count` completions have come; 0 ns: for ever. */
static bool take(struct probe *p, long count, int64_t limit_ns)
{
    int64_t start = now_ns();
    struct ibv_wc wc[16];

    while (count > 0) {
        int n = ibv_poll_cq(p->cq, count < 16 ? (int)count : 16, wc);

        if (n < 0 || (n == 0 && limit_ns > 0 && now_ns() - start > limit_ns))
            return false;
        count -= n;
        if (n > 0)
            p->status = (int)wc[n - 1].status;
    }
    return true;
}

static bool ask_devices(struct probe *p)
{
    int count = 0;
    struct ibv_device **list = ibv_get_device_list(&count);

    (void)p;
    if (list)
        ibv_free_device_list(list);
    return printf("devices %d\n", count) > 0;
}

static bool ask_pd(struct probe *p)
{
    if (ibv_alloc_pd(p->context))
        return puts("pd ok") >= 0;
    return printf("pd NULL %d\n", errno) > 0;
}

static bool ask_port(struct probe *p)
{
    struct ibv_port_attr port;
    struct ibv_pd *pd;

    if (ibv_query_port(p->context, 1, &port))
        return false;
    pd = ibv_alloc_pd(p->context);
    if (pd)
        return printf("port %d pd ok\n", (int)port.state) > 0 && ibv_dealloc_pd(pd) == 0;
    return printf("port %d pd NULL %d\n", (int)port.state, errno) > 0;
}

static bool ask_unplugged(struct probe *p)
{
    if (!ask_port(p))
        return false;
    rest(p->number);
    return ask_port(p);
}

static bool ask_rkey(struct probe *p)
{
    return make_objects(p) && printf("rkey %u\n", p->mr->rkey) > 0;
}

static bool ask_teardown(struct probe *p)
{
    struct ibv_qp_attr attr = {.qp_state = IBV_QPS_ERR};
    int in_error;
    int gone = 0;

    if (!make_objects(p) || to_init(p->qp) || ibv_modify_qp(p->qp, &attr, IBV_QP_STATE))
        return false;
    in_error = ibv_dereg_mr(p->mr);
    if (ibv_destroy_qp(p->qp))
        return false;
    if (in_error)
        gone = ibv_dereg_mr(p->mr);
    return printf("unmap %d %d\n", in_error, gone) > 0;
}

static bool ask_gids(struct probe *p)
{
    static const uint8_t mapped[12] = {[10] = 0xff, [11] = 0xff};
    struct ibv_port_attr port;
    union ibv_gid gid;

    if (ibv_query_port(p->context, 1, &port) || ibv_query_gid(p->context, 1, 1, &gid))
        return false;
    return printf("gids %d %s\n", port.gid_tbl_len,
                  memcmp(gid.raw, mapped, sizeof mapped) == 0 ? "ipv4" : "fe80") > 0;
}

static bool ask_local(struct probe *p)
{
    if (!make_objects(p))
        return false;
    errno = 0;
    return printf("local %d\n",
                  ibv_reg_mr(p->pd, p->memory, BYTES, IBV_ACCESS_LOCAL_WRITE) ? 0 : errno) > 0;
}

static bool ask_before(struct probe *p)
{
    return make_objects(p) && to_init(p->qp) == 0 && printf("before %d\n", recv_one(p)) > 0;
}

static bool ask_bad(struct probe *p)
{
    struct ibv_recv_wr *bad = NULL;
    struct ibv_recv_wr second = {.wr_id = 2, .num_sge = 1000};
    struct ibv_recv_wr first = {.wr_id = 1, .next = &second};
    int error;

    if (!connect_pair(p))
        return false;
    error = ibv_post_recv(p->qp, &first, &bad);
    return printf("bad %d %s\n", error, bad == &second ? "named" : "not named") > 0;
}

static bool ask_limits(struct probe *p)
{
    const struct ibv_qp_init_attr init = {
        .qp_type = IBV_QPT_UC,
        .cap = {.max_send_wr = 32, .max_recv_wr = 32, .max_send_sge = 1, .max_recv_sge = 1}};
    struct ibv_device_attr attr;
    int n = 1; /* make_objects made the first */

    if (!make_objects(p) || ibv_query_device(p->context, &attr))
        return false;
    printf("shown max_qp %d max_cq %d max_pd %d\n", attr.max_qp, attr.max_cq, attr.max_pd);
    for (struct ibv_qp_init_attr one = init; n < MOST; n++, one = init) {
        one.send_cq = one.recv_cq = p->cq;
        if (!ibv_create_qp(p->pd, &one))
            break;
    }
    printf("qp %d then %d\n", n, errno);
    for (n = 1; n < MOST && ibv_reg_mr(p->pd, p->memory, BYTES, ACCESS); n++)
        ;
    printf("mr %d then %d\n", n, errno);
    for (n = 1; n < MOST && ibv_create_cq(p->context, 16, NULL, NULL, 0); n++)
        ;
    printf("cq %d then %d\n", n, errno);
    for (n = 1; n < MOST && ibv_alloc_pd(p->context); n++)
        ;
    return printf("pd %d then %d\n", n, errno) > 0;
}

static bool ask_share(struct probe *p)
{
    char command[512];
    int n = snprintf(command, sizeof command, "'%s' limits %s", p->program, p->device);

    (void)fflush(stdout);
    return make_objects(p) && n > 0 && (size_t)n < sizeof command && system(command) == 0 &&
           ask_limits(p);
}

static bool ask_rtr(struct probe *p)
{
    struct far_end far_end;

    return meet(p, &far_end) && printf("rtr %d\n", to_rtr(p->qp, &far_end, (int)p->number)) > 0;
}

static bool ask_wrong(struct probe *p)
{
    struct far_end far_end;
    struct far_end nobody;

    if (!meet(p, &far_end))
        return false;
    nobody = far_end;
    nobody.gid[13] ^= 1;
    for (long i = 0; p->rank == 0 && i < p->number; i++)
        printf("wrong %d\n", to_rtr(p->qp, &nobody, 1));
    return printf("right %d\n", to_rtr(p->qp, &far_end, 1)) > 0;
}

static bool ask_early(struct probe *p)
{
    if (!connect_pair(p))
        return false;
    if (p->rank == 0)
        return send_one(p) == 0 && take(p, 1, 10000000) &&
               printf("send status %d\n", p->status) > 0;
    rest(1);
    return recv_one(p) == 0 && puts(take(p, 1, 10000000) ? "arrived" : "lost") >= 0;
}

static bool send_and_go(struct probe *p, bool at_once)
{
    rest(1);
    for (long i = 0; i < p->number; i++) {
        if (send_one(p))
            return false;
    }
    (void)puts("gone");
    (void)fflush(stdout);
    if (at_once)
        _exit(0);
    exit(0);
}

static bool ask_leave(struct probe *p, bool at_once)
{
    long came = 0;

    if (!connect_pair(p))
        return false;
    if (p->rank == 0)
        return send_and_go(p, at_once);
    for (long i = 0; i < p->number; i++) {
        if (recv_one(p))
            return false;
    }
    while (came < p->number && take(p, 1, 10000000))
        came++;
    return printf("came %ld\n", came) > 0;
}

static bool ask_tardy(struct probe *p)
{
    struct far_end far_end;
    int64_t start;

    if (!meet(p, &far_end) || recv_one(p))
        return false;
    if (p->rank == 0)
        return to_rtr(p->qp, &far_end, 1) == 0 && to_rts(p->qp) == 0 && send_one(p) == 0 &&
               take(p, 1, 0);
    rest(p->number);
    if (to_rtr(p->qp, &far_end, 1))
        return false;
    start = now_ns();
    return take(p, 1, 0) && printf("took %lld ns\n", (long long)(now_ns() - start)) > 0;
}

/* A message at once, one after the silence; rank 1 says when each came. */
static bool ask_idle(struct probe *p, long pings)
{
    int64_t start;

    if (!connect_pair(p))
        return false;
    for (long i = 0; i < pings + 2; i++) {
        if (i > 0)
            rest(p->number / (pings + 1));
        start = now_ns();
        if (p->rank == 0) {
            if (send_one(p) || !take(p, 1, 0))
                return false;
        } else if (recv_one(p) || !take(p, 1, 0)) {
            return false;
        }
        printf("message %ld took %.1f ms\n", i, (double)(now_ns() - start) / 1e6);
    }
    return true;
}

/* A message at either end of one queue pair. */
static bool pass_one(struct probe *p)
{
    return (p->rank == 0 ? send_one(p) : recv_one(p)) == 0 && take(p, 1, 0);
}

static bool ask_neighbour(struct probe *p)
{
    struct fault fault = {0};
    struct far_end far_end;
    struct ibv_qp *first;

    if (!connect_pair(p) || !pass_one(p))
        return false;
    first = p->qp;
    if (!make_qp(p) || to_init(p->qp) || !exchange(p, &far_end) || to_rtr(p->qp, &far_end, 1) ||
        to_rts(p->qp) || !side_barrier(&p->side, &fault))
        return false;
    for (long i = 0; i < p->number / 60000; i++) {
        rest(60000);
        if (!pass_one(p))
            return false;
    }
    puts("the second one works");
    p->qp = first;
    return pass_one(p) && puts("and the first one") >= 0;
}

/* What a queue pair still holds ends with a flush error. */
static long flush(struct probe *p)
{
    struct ibv_qp_attr attr = {.qp_state = IBV_QPS_ERR};
    long count = 0;

    if (ibv_modify_qp(p->qp, &attr, IBV_QP_STATE))
        return -1;
    while (take(p, 1, 1000000) && p->status == IBV_WC_WR_FLUSH_ERR)
        count++;
    return count;
}

static bool ask_renew(struct probe *p)
{
    struct ibv_qp_attr reset = {.qp_state = IBV_QPS_RESET};
    struct fault fault = {0};
    struct far_end far_end;

    if (!meet(p, &far_end) || to_rtr(p->qp, &far_end, 1) || to_rts(p->qp) ||
        !side_barrier(&p->side, &fault))
        return false;
    rest(p->number);
    if (p->rank == 0 && (send_one(p) || take(p, 1, 10000000)))
        return false;
    printf("flushed %ld\n", flush(p));
    if (!side_barrier(&p->side, &fault) || ibv_modify_qp(p->qp, &reset, IBV_QP_STATE) ||
        to_init(p->qp) || !side_barrier(&p->side, &fault) || to_rtr(p->qp, &far_end, 1) ||
        to_rts(p->qp) || !side_barrier(&p->side, &fault))
        return false;
    return pass_one(p) && p->status == IBV_WC_SUCCESS && puts("arrived") >= 0;
}

static bool ask_rounds(struct probe *p)
{
    if (!connect_pair(p))
        return false;
    for (long i = 0; i < p->number; i++) {
        if (recv_one(p) || send_one(p) || !take(p, 2, 0))
            return false;
        rest(1);
    }
    return puts("rounds over") >= 0;
}

static bool ask_survive(struct probe *p)
{
    if (!connect_pair(p))
        return false;
    if (p->rank == 1)
        abort();
    rest(1);
    if (recv_one(p) || send_one(p))
        return false;
    puts("posted");
    return take(p, 1, 0) && printf("completion status %d\n", p->status) > 0;
}

static bool ask_wait(struct probe *p)
{
    if (!connect_pair(p))
        return false;
    if (p->rank == 1)
        return recv_one(p) == 0 && take(p, 1, 0) && puts("received") >= 0;
    rest(p->number);
    return send_one(p) == 0 && puts("sent") >= 0 && take(p, 1, 0);
}

/* Gb/s from the first post, or at the receiver from the first arrival, to the last completion. */
static bool ask_pace(struct probe *p)
{
    struct fault fault = {0};
    long counted = p->rank == 0 ? p->number : p->number - 1;
    int64_t start;
    int64_t span;

    if (p->number < 2 || p->number > (long)DEPTH || !connect_pair(p))
        return false;
    for (long i = 0; p->rank == 1 && i < p->number; i++) {
        if (recv_one(p))
            return false;
    }
    if (!side_barrier(&p->side, &fault))
        return false;
    if (p->rank == 0)
        rest(1); /* until the receiver looks */
    else if (!take(p, 1, 0))
        return false;
    start = now_ns();
    for (long i = 0; p->rank == 0 && i < p->number; i++) {
        if (send_one(p))
            return false;
    }
    if (!take(p, counted, 0))
        return false;
    span = now_ns() - start;
    return side_barrier(&p->side, &fault) &&
           printf("%s %.1f Gb/s\n", p->rank == 0 ? "sender" : "receiver",
                  (double)counted * BYTES * 8 / (double)span) > 0;
}

/* A request of `count` strides and its answer, as rank 0 sees it; negative: failed. */
static int64_t request(struct probe *p, uint32_t stride, long count)
{
    int64_t start = now_ns();
    long sent = 0;

    for (long done = 0; done < count + 1; done++) { /* the last completion is the answer's */
        for (; sent < count && sent - done < RING; sent++) {
            if (send_part(p, stride))
                return -1;
        }
        if (!take(p, 1, 0))
            return -1;
    }
    return now_ns() - start;
}

/* The same at rank 1: from the first stride to the last. The first RING receives are posted. */
static int64_t serve(struct probe *p, uint32_t stride, long count)
{
    int64_t first = 0;
    int64_t last = 0;

    for (long got = 0; got < count; got++) {
        if (!take(p, 1, 0) || (got + RING < count && recv_part(p, stride)))
            return -1;
        last = now_ns();
        if (got == 0)
            first = last;
    }
    return send_part(p, stride) || !take(p, 1, 0) ? -1 : last - first;
}

static bool ask_stride(struct probe *p, uint32_t stride)
{
    long count = (p->number + stride - 1) / stride;
    long receives = p->rank == 0 ? 1 : count < RING ? count : RING;
    struct fault fault = {0};
    int64_t span;

    for (long i = 0; i < receives; i++) {
        if (recv_part(p, stride))
            return false;
    }
    if (!side_barrier(&p->side, &fault))
        return false;
    if (p->rank == 0)
        rest(1); /* until rank 1 looks */
    span = p->rank == 0 ? request(p, stride, count) : serve(p, stride, count);
    if (span < 0)
        return false;
    if (p->rank == 0)
        printf("stride %u took %lld\n", stride, (long long)span);
    else if (span > 0)
        printf("stride %u at %.2f\n", stride, (double)(count - 1) * stride * 8 / (double)span);
    return side_barrier(&p->side, &fault);
}

static bool ask_strides(struct probe *p)
{
    p->bytes = STRIDE_MOST;
    if (p->number < 1 || !connect_pair(p))
        return false;
    for (uint32_t stride = 32U << 10; stride <= STRIDE_MOST; stride *= 2) {
        if (!ask_stride(p, stride))
            return false;
    }
    return true;
}

static int compare(const void *a, const void *b)
{
    const int64_t x = *(const int64_t *)a;
    const int64_t y = *(const int64_t *)b;

    return (x > y) - (x < y);
}

/* Receives are there before their message, and nothing but the message is timed. */
static bool ask_ping(struct probe *p)
{
    int64_t spans[PINGS];
    struct fault fault = {0};

    p->bytes = (uint32_t)p->number;
    if (!connect_pair(p) || recv_one(p) || !side_barrier(&p->side, &fault))
        return false;
    for (int i = 0; i < PINGS; i++) {
        int64_t start;

        if (p->rank == 0)
            rest(20); /* until the other rank is ready as well */
        start = now_ns();

        /* A round is a send and a receive at either end; the answer waits for the question. */
        if (p->rank == 0 && (send_one(p) || !take(p, 2, 0)))
            return false;
        spans[i] = now_ns() - start;
        if (p->rank == 1 && (!take(p, 1, 0) || send_one(p)))
            return false;
        if (recv_one(p) || (p->rank == 1 && !take(p, 1, 0)))
            return false;
    }
    qsort(spans, PINGS, sizeof spans[0], compare);
    return p->rank == 1 ||
           printf("ping %lld %lld %lld %d\n", (long long)spans[0] * 500,
                  (long long)spans[PINGS / 2] * 500, (long long)spans[PINGS - 1] * 500, PINGS) > 0;
}

static bool ask(struct probe *p, const char *question)
{
    static const struct {
        const char *name;
        bool (*fn)(struct probe *p);
    } questions[] = {{"devices", ask_devices},   {"pd", ask_pd},
                     {"rkey", ask_rkey},         {"limits", ask_limits},
                     {"teardown", ask_teardown}, {"rtr", ask_rtr},
                     {"wrong", ask_wrong},       {"early", ask_early},
                     {"ping", ask_ping},         {"wait", ask_wait},
                     {"pace", ask_pace},         {"share", ask_share},
                     {"gids", ask_gids},         {"local", ask_local},
                     {"before", ask_before},     {"bad", ask_bad},
                     {"renew", ask_renew},       {"neighbour", ask_neighbour},
                     {"rounds", ask_rounds},     {"port", ask_port},
                     {"survive", ask_survive},   {"unplugged", ask_unplugged},
                     {"strides", ask_strides},   {"tardy", ask_tardy}};

    if (strcmp(question, "idle") == 0)
        return ask_idle(p, 0);
    if (strcmp(question, "alive") == 0)
        return ask_idle(p, p->number / 1000);
    if (strcmp(question, "minutely") == 0)
        return ask_idle(p, p->number / 60000);
    if (strcmp(question, "leave") == 0 || strcmp(question, "vanish") == 0)
        return ask_leave(p, question[0] == 'v');
    for (size_t i = 0; i < sizeof questions / sizeof questions[0]; i++) {
        if (strcmp(question, questions[i].name) == 0)
            return questions[i].fn(p);
    }
    fprintf(stderr, "probe: no question '%s'\n", question);
    exit(2);
}

int main(int argc, char **argv)
{
    const char *rank = getenv("JACCL_RANK");
    struct probe p = {.rank = rank ? (unsigned)strtoul(rank, NULL, 10) : 0,
                      .number = argc > 3 ? strtol(argv[3], NULL, 10) : 0,
                      .bytes = BYTES,
                      .program = argv[0],
                      .device = argc > 2 ? argv[2] : "rdma_en2"};

    if (argc < 2 || setvbuf(stdout, NULL, _IOLBF, 0)) /* what was said before a deadlock counts */
        return 2;
    p.context = open_named(p.device);
    if (!p.context && strcmp(argv[1], "devices") != 0) {
        fprintf(stderr, "probe: no device %s\n", p.device);
        return 3;
    }
    if (!ask(&p, argv[1])) {
        fprintf(stderr, "probe: %s: errno %d\n", argv[1], errno);
        return 3;
    }
    return 0;
}
