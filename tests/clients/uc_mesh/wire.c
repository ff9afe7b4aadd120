/* SPDX-License-Identifier: Apache-2.0 */
/*
 * DOC: A wire
 *
 * The calls and their arguments are those that MLX's JACCL makes on a Mac: a context, a protection
 * domain and a completion queue for each connection, not for each device; 32 + 32 requests of one
 * element; every buffer a region of its own with all access flags; the first IPv4-mapped GID of
 * the port as address, but always GID index 1 as source; MTU 1024, though the wire's frame is
 * 4 KiB; a constant PSN. Regions go before their queue pair, which is destroyed from RTS.
 *
 * Two buffers of a class, always sent whole: a SEND and its RECV must cover the same number of
 * frames, and 2 * 512 KiB are 256 frames of the 1023 that a queue of 32 is granted.
 */
#include "tests/clients/uc_mesh/wire.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define QUEUE_DEPTH   32U
#define PORT          1U
#define SOURCE_INDEX  1U
#define CONSTANT_PSN  7U
#define REGION_ACCESS (IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_WRITE)

bool wire_buffers_make(struct wire_buffers *buffers, struct fault *fault)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE);

    for (unsigned size_class = 0; size_class < WIRE_CLASSES; size_class++) {
        for (unsigned slot = 0; slot < WIRE_DEPTH; slot++) {
            size_t bytes = (size_t)wire_class_bytes(size_class);
            void *at;
            int code = posix_memalign(&at, page, bytes > page ? bytes : page);

            if (code)
                return fault_errno(fault, code, "cannot allocate %zu B", bytes);
            memset(at, 0, bytes);
            buffers->at[size_class][slot] = at;
        }
    }
    return true;
}

void wire_buffers_free(struct wire_buffers *buffers)
{
    for (unsigned size_class = 0; size_class < WIRE_CLASSES; size_class++) {
        for (unsigned slot = 0; slot < WIRE_DEPTH; slot++) {
            free(buffers->at[size_class][slot]);
            buffers->at[size_class][slot] = NULL;
        }
    }
}

static bool open_device(struct wire *wire, struct fault *fault)
{
    int count = 0;
    struct ibv_device **list = ibv_get_device_list(&count);
    struct ibv_device *found = NULL;

    if (!list)
        return fault_errno(fault, errno, "ibv_get_device_list");
    for (int i = 0; i < count && !found; i++) {
        if (!strcmp(ibv_get_device_name(list[i]), wire->device))
            found = list[i];
    }
    errno = 0;
    wire->context = found ? ibv_open_device(found) : NULL;
    if (!found)
        (void)fault_set(fault, "no device %s (%d devices)", wire->device, count);
    else if (!wire->context)
        (void)fault_errno(fault, errno, "ibv_open_device of %s", wire->device);
    ibv_free_device_list(list);
    return wire->context != NULL;
}

static bool make_queues(struct wire *wire, struct fault *fault)
{
    struct ibv_qp_init_attr init = {
        .cap = {.max_send_wr = QUEUE_DEPTH,
                .max_recv_wr = QUEUE_DEPTH,
                .max_send_sge = 1,
                .max_recv_sge = 1},
        .qp_type = IBV_QPT_UC,
    };

    wire->pd = ibv_alloc_pd(wire->context);
    if (!wire->pd)
        return fault_errno(fault, errno, "ibv_alloc_pd on %s", wire->device);
    wire->cq = ibv_create_cq(wire->context, 2 * (int)QUEUE_DEPTH, NULL, NULL, 0);
    if (!wire->cq)
        return fault_errno(fault, errno, "ibv_create_cq on %s", wire->device);
    init.qp_context = wire->context;
    init.send_cq = wire->cq;
    init.recv_cq = wire->cq;
    wire->qp = ibv_create_qp(wire->pd, &init);
    if (!wire->qp)
        return fault_errno(fault, errno, "ibv_create_qp of UC on %s", wire->device);
    return true;
}

static bool register_buffers(struct wire *wire, enum wire_use use, struct fault *fault)
{
    for (unsigned size_class = 0; size_class < WIRE_CLASSES; size_class++) {
        for (unsigned slot = 0; slot < WIRE_DEPTH; slot++) {
            size_t bytes = (size_t)wire_class_bytes(size_class);

            wire->mrs[use][size_class][slot] = ibv_reg_mr(
                wire->pd, wire_buffer(wire, use, size_class, slot), bytes, REGION_ACCESS);
            if (!wire->mrs[use][size_class][slot])
                return fault_errno(fault, errno, "ibv_reg_mr of %zu B on %s", bytes, wire->device);
        }
    }
    return true;
}

static bool go_to_init(struct wire *wire, struct fault *fault)
{
    struct ibv_qp_attr attr = {
        .qp_state = IBV_QPS_INIT, .port_num = PORT, .qp_access_flags = REGION_ACCESS};
    int code = ibv_modify_qp(wire->qp, &attr,
                             IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS);

    if (code)
        return fault_errno(fault, code, "ibv_modify_qp to INIT on %s", wire->device);
    return true;
}

/* ::ffff:a.b.c.d */
static bool is_ipv4_mapped(const union ibv_gid *gid)
{
    static const uint8_t prefix[12] = {[10] = 0xff, [11] = 0xff};

    return !memcmp(gid->raw, prefix, sizeof prefix);
}

static bool find_address(struct wire *wire, struct fault *fault)
{
    struct ibv_port_attr port;
    int code = ibv_query_port(wire->context, PORT, &port);

    if (code)
        return fault_errno(fault, code, "ibv_query_port of %s", wire->device);
    for (int i = 0; i < port.gid_tbl_len; i++) {
        union ibv_gid gid;

        if (ibv_query_gid(wire->context, PORT, i, &gid) || !is_ipv4_mapped(&gid))
            continue;
        wire->local =
            (struct wire_address){.qpn = wire->qp->qp_num, .psn = CONSTANT_PSN, .lid = port.lid};
        memcpy(wire->local.gid, gid.raw, sizeof gid.raw);
        return true;
    }
    return fault_set(fault,
                     "%s has no IPv4-mapped GID: give the interface of this port an IPv4 address",
                     wire->device);
}

bool wire_open(struct wire *wire, const char *device, const struct wire_buffers *shared,
               struct fault *fault)
{
    *wire = (struct wire){.shared = shared};
    (void)snprintf(wire->device, sizeof wire->device, "%s", device);
    return open_device(wire, fault) && make_queues(wire, fault) &&
           wire_buffers_make(&wire->own[WIRE_SEND], fault) &&
           wire_buffers_make(&wire->own[WIRE_RECV], fault) &&
           register_buffers(wire, WIRE_SEND, fault) && register_buffers(wire, WIRE_RECV, fault) &&
           (!shared || register_buffers(wire, WIRE_SHARED, fault)) && go_to_init(wire, fault) &&
           find_address(wire, fault);
}

bool wire_connect(struct wire *wire, const struct wire_address *remote, struct fault *fault)
{
    struct ibv_qp_attr attr = {
        .qp_state = IBV_QPS_RTR,
        .path_mtu = IBV_MTU_1024,
        .rq_psn = remote->psn,
        .dest_qp_num = remote->qpn,
        .ah_attr = {.dlid = (uint16_t)remote->lid,
                    .port_num = PORT,
                    .is_global = 1,
                    .grh = {.hop_limit = 1, .sgid_index = SOURCE_INDEX}},
    };
    int code;

    memcpy(attr.ah_attr.grh.dgid.raw, remote->gid, sizeof remote->gid);
    code =
        ibv_modify_qp(wire->qp, &attr,
                      IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN);
    if (code)
        return fault_errno(fault, code, "ibv_modify_qp to RTR on %s", wire->device);
    attr = (struct ibv_qp_attr){.qp_state = IBV_QPS_RTS, .sq_psn = wire->local.psn};
    code = ibv_modify_qp(wire->qp, &attr, IBV_QP_STATE | IBV_QP_SQ_PSN);
    if (code)
        return fault_errno(fault, code, "ibv_modify_qp to RTS on %s", wire->device);
    return true;
}

bool wire_post(struct wire *wire, enum wire_use use, unsigned size_class, unsigned slot,
               uint64_t id, struct fault *fault)
{
    struct ibv_sge element = {
        .addr = (uintptr_t)wire_buffer(wire, use, size_class, slot),
        .length = (uint32_t)wire_class_bytes(size_class),
        .lkey = wire->mrs[use][size_class][slot]->lkey,
    };
    int code;

    if (use == WIRE_RECV) {
        struct ibv_recv_wr recv = {.wr_id = id, .sg_list = &element, .num_sge = 1};
        struct ibv_recv_wr *bad;

        code = ibv_post_recv(wire->qp, &recv, &bad);
    } else {
        struct ibv_send_wr send = {.wr_id = id,
                                   .sg_list = &element,
                                   .num_sge = 1,
                                   .opcode = IBV_WR_SEND,
                                   .send_flags = IBV_SEND_SIGNALED};
        struct ibv_send_wr *bad;

        code = ibv_post_send(wire->qp, &send, &bad);
    }
    if (code)
        return fault_errno(fault, code < 0 ? -code : code, "%s of %u B on %s",
                           use == WIRE_RECV ? "ibv_post_recv" : "ibv_post_send", element.length,
                           wire->device);
    return true;
}

static void note(const struct wire *wire, int code, const char *call, struct fault *fault)
{
    if (code)
        (void)fault_errno(fault, code < 0 ? errno : code, "%s on %s", call, wire->device);
}

bool wire_close(struct wire *wire, struct fault *fault)
{
    struct fault mine = {""};

    for (unsigned i = 0; i < WIRE_USES * WIRE_CLASSES * WIRE_DEPTH; i++) {
        struct ibv_mr *mr = wire->mrs[i / (WIRE_CLASSES * WIRE_DEPTH)]
                                     [i / WIRE_DEPTH % WIRE_CLASSES][i % WIRE_DEPTH];

        if (mr)
            note(wire, ibv_dereg_mr(mr), "ibv_dereg_mr", &mine);
    }
    if (wire->qp)
        note(wire, ibv_destroy_qp(wire->qp), "ibv_destroy_qp", &mine);
    if (wire->cq)
        note(wire, ibv_destroy_cq(wire->cq), "ibv_destroy_cq", &mine);
    if (wire->pd)
        note(wire, ibv_dealloc_pd(wire->pd), "ibv_dealloc_pd", &mine);
    if (wire->context)
        note(wire, ibv_close_device(wire->context), "ibv_close_device", &mine);
    wire_buffers_free(&wire->own[WIRE_SEND]);
    wire_buffers_free(&wire->own[WIRE_RECV]);
    *wire = (struct wire){0};
    return !mine.text[0] || fault_set(fault, "%s", mine.text);
}
