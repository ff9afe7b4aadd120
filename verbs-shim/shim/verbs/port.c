/* SPDX-License-Identifier: Apache-2.0 */
/*
 * DOC: What a device says of itself
 *
 * Numbers of Apple's devices are in the agreement (models/); what is fixed by TN3205's transcripts
 * of ibv_devinfo is here: one port, width 8X, speed 10 Gb/s a lane, MTU 4096. Vendor, part and
 * hardware version are 0, there is no firmware version, LIDs count the Mac's devices from 1, and
 * its devices share a system image GUID that is none of theirs: a transcript of two MacBook Pro,
 * 2026-09-26, in the tests of osaurus-ai/osaurus. The link layer is Ethernet, since Linux tools
 * know no other with GIDs. A Mac prints "Thunderbolt" for it, and for the transport of number 100,
 * which Debian's ibv_devinfo calls invalid.
 *
 * Newer programs pass larger structures than we know and older ones smaller: their size rules.
 */
#include "verbs-shim/shim/verbs/port.h"

#include <errno.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <infiniband/verbs.h>

#include "verbs-shim/shim/verbs/objects.h"

#define WIDTH_8X       4
#define SPEED_10_GBPS  4
#define PHYS_DISABLED  3
#define PHYS_LINK_UP   5
#define MAX_MR_SIZE    UINT64_C(0xfa0000) /* as advertised; larger regions succeed */
#define OLD_PORT_BYTES 48U                /* of programs that call the exported ibv_query_port */
#define DEFAULT_PKEY   0xffffU
#define CLOCK_KHZ      1000000U /* completions are stamped in nanoseconds */

#undef ibv_query_port

static void describe(const struct context *context, struct ibv_device_attr *attr)
{
    const struct proto_agreed *agreed = library_now()->agreed;
    const struct profile *profile = library_now()->profile;

    *attr = (struct ibv_device_attr){
        .max_mr_size = profile->has_frames ? MAX_MR_SIZE : UINT64_MAX,
        .page_size_cap = agreed->page_bytes,
        .max_qp = (int)agreed->devinfo_qp,
        .max_qp_wr = (int)agreed->max_wr,
        .max_sge = (int)profile->max_sge,
        .max_cq = (int)agreed->devinfo_cq,
        .max_cqe = (int)agreed->max_cqe,
        .max_mr = (int)agreed->max_mr,
        .max_pd = (int)agreed->devinfo_pd,
        .atomic_cap = profile->has_one_sided ? IBV_ATOMIC_HCA : IBV_ATOMIC_NONE,
        .max_pkeys = 1,
        .phys_port_cnt = 1,
    };
    if (profile->has_one_sided) {
        attr->max_sge_rd = (int)profile->max_sge;
        attr->max_qp_rd_atom = PORT_RD_ATOMIC;
        attr->max_qp_init_rd_atom = PORT_RD_ATOMIC;
        attr->max_res_rd_atom = PORT_RD_ATOMIC * attr->max_qp;
        attr->max_ah = attr->max_qp;
        attr->max_srq = attr->max_qp;
        attr->max_srq_wr = attr->max_qp_wr;
        attr->max_srq_sge = attr->max_sge;
    }
    memcpy(&attr->node_guid, context->device->port->guid, sizeof attr->node_guid);
    attr->sys_image_guid = attr->node_guid;
    if (profile->has_frames)
        memset(&attr->sys_image_guid, 0, 1); /* the byte that tells the Mac's devices apart */
}

int ibv_query_device(struct ibv_context *ibv, struct ibv_device_attr *attr)
{
    if (library_enter(PROTO_CHARGE_VERB) == NULL)
        return ENOSYS;
    if (!object_is(ibv, LIVE_CONTEXT) || attr == NULL)
        return EINVAL;
    describe(context_of(ibv), attr);
    return 0;
}

int port_query_device_ex(struct ibv_context *ibv, const struct ibv_query_device_ex_input *input,
                         struct ibv_device_attr_ex *attr, size_t attr_size)
{
    struct ibv_device_attr_ex own = {.comp_mask = 0};

    if (library_enter(PROTO_CHARGE_VERB) == NULL)
        return ENOSYS;
    if (!object_is(ibv, LIVE_CONTEXT) || attr == NULL || (input != NULL && input->comp_mask) ||
        attr_size < sizeof own.orig_attr)
        return EINVAL;
    describe(context_of(ibv), &own.orig_attr);
    own.phys_port_cnt_ex = own.orig_attr.phys_port_cnt;
    if (library_now()->profile->has_one_sided) {
        own.completion_timestamp_mask = UINT64_MAX;
        own.hca_core_clock = CLOCK_KHZ;
    }
    memset(attr, 0, attr_size);
    memcpy(attr, &own, attr_size < sizeof own ? attr_size : sizeof own);
    return 0;
}

bool port_is_active(struct actor *a, const struct device *device)
{
    const union proto_call_args args = {.device = device->index};
    int64_t reply[4] = {0};

    return actor_call(a, PROTO_CALL_QUERY_PORT, &args, reply) == 0 && reply[0] == PROTO_PORT_ACTIVE;
}

static uint16_t lid_of(const struct proto_agreed *agreed, const struct device *device)
{
    if (library_now()->profile->has_frames)
        return (uint16_t)(device->index + 1);
    return agreed->has_lids ? (uint16_t)PROTO_LID(PROTO_PLACE(agreed->rank, device->index)) : 0;
}

static int query_port(struct ibv_context *ibv, uint8_t port_num, struct ibv_port_attr *attr)
{
    const struct proto_agreed *agreed;
    const struct device *device;
    struct actor *a = library_enter(PROTO_CHARGE_VERB);
    bool is_active;

    if (a == NULL)
        return ENOSYS;
    if (!object_is(ibv, LIVE_CONTEXT) || port_num != PORT_NUMBER)
        return EINVAL;
    agreed = library_now()->agreed;
    device = context_of(ibv)->device;
    is_active = port_is_active(a, device);
    *attr = (struct ibv_port_attr){
        .state = is_active ? IBV_PORT_ACTIVE : IBV_PORT_DOWN,
        .max_mtu = IBV_MTU_4096,
        .active_mtu = IBV_MTU_4096,
        .gid_tbl_len = (int)device->port->gid_count,
        .lid = lid_of(agreed, device),
        .sm_lid = agreed->has_lids ? 1 : lid_of(agreed, device),
        .max_msg_sz = agreed->max_message > UINT32_MAX ? UINT32_MAX : (uint32_t)agreed->max_message,
        .pkey_tbl_len = 1,
        .max_vl_num = 1,
        .active_width = WIDTH_8X,
        .active_speed = SPEED_10_GBPS,
        .phys_state = is_active ? PHYS_LINK_UP : PHYS_DISABLED,
        .link_layer = agreed->has_lids ? IBV_LINK_LAYER_INFINIBAND : IBV_LINK_LAYER_ETHERNET,
    };
    return 0;
}

int port_query(struct ibv_context *ibv, uint8_t port_num, struct ibv_port_attr *attr,
               size_t attr_size)
{
    struct ibv_port_attr own;
    int error;

    if (attr == NULL)
        return EINVAL;
    error = query_port(ibv, port_num, &own);
    if (error)
        return error;
    memset(attr, 0, attr_size);
    memcpy(attr, &own, attr_size < sizeof own ? attr_size : sizeof own);
    return 0;
}

int ibv_query_port(struct ibv_context *ibv, uint8_t port_num, struct _compat_ibv_port_attr *attr)
{
    return port_query(ibv, port_num, (struct ibv_port_attr *)(void *)attr, OLD_PORT_BYTES);
}

/* The GID, or NULL. */
static const uint8_t *gid_at(const struct context *context, uint32_t index)
{
    const struct proto_device *port = context->device->port;

    return index < port->gid_count && index < PROTO_GIDS ? port->gid[index] : NULL;
}

int ibv_query_gid(struct ibv_context *ibv, uint8_t port_num, int index, union ibv_gid *gid)
{
    const uint8_t *own;

    if (library_enter(PROTO_CHARGE_VERB) == NULL)
        return -1;
    own = object_is(ibv, LIVE_CONTEXT) && port_num == PORT_NUMBER && index >= 0
              ? gid_at(context_of(ibv), (uint32_t)index)
              : NULL;
    if (own == NULL || gid == NULL) {
        errno = EINVAL;
        return -1;
    }
    memcpy(gid->raw, own, sizeof gid->raw);
    return 0;
}

static void fill_entry(const uint8_t *gid, uint32_t index, void *entry, size_t entry_size)
{
    struct ibv_gid_entry own = {
        .gid_index = index,
        .port_num = PORT_NUMBER,
        .gid_type = library_now()->agreed->has_lids ? IBV_GID_TYPE_IB : IBV_GID_TYPE_ROCE_V2,
    };

    memcpy(own.gid.raw, gid, sizeof own.gid.raw);
    memset(entry, 0, entry_size);
    memcpy(entry, &own, entry_size < sizeof own ? entry_size : sizeof own);
}

int _ibv_query_gid_ex(struct ibv_context *ibv, uint32_t port_num, uint32_t gid_index,
                      struct ibv_gid_entry *entry, uint32_t flags, size_t entry_size)
{
    const uint8_t *own;

    if (library_enter(PROTO_CHARGE_VERB) == NULL)
        return ENOSYS;
    if (!object_is(ibv, LIVE_CONTEXT) || port_num != PORT_NUMBER || entry == NULL || flags != 0)
        return EINVAL;
    own = gid_at(context_of(ibv), gid_index);
    if (own == NULL)
        return ENODATA;
    fill_entry(own, gid_index, entry, entry_size);
    return 0;
}

ssize_t _ibv_query_gid_table(struct ibv_context *ibv, struct ibv_gid_entry *entries,
                             size_t max_entries, uint32_t flags, size_t entry_size)
{
    const uint8_t *own;
    uint32_t count = 0;

    if (library_enter(PROTO_CHARGE_VERB) == NULL)
        return -ENOSYS;
    if (!object_is(ibv, LIVE_CONTEXT) || entries == NULL || flags != 0 || entry_size == 0)
        return -EINVAL;
    while (count < max_entries && (own = gid_at(context_of(ibv), count)) != NULL) {
        fill_entry(own, count, (char *)entries + count * entry_size, entry_size);
        count++;
    }
    return (ssize_t)count;
}

/* Private to rdma-core, used by ibv_devinfo. Sysfs knows two types: 0 InfiniBand and RoCE v1, 1
 * RoCE v2. */
int ibv_query_gid_type(struct ibv_context *ibv, uint8_t port_num, unsigned int index,
                       unsigned int *type);
int ibv_query_gid_type(struct ibv_context *ibv, uint8_t port_num, unsigned int index,
                       unsigned int *type)
{
    if (library_enter(PROTO_CHARGE_VERB) == NULL)
        return -1;
    if (!object_is(ibv, LIVE_CONTEXT) || port_num != PORT_NUMBER || type == NULL ||
        gid_at(context_of(ibv), index) == NULL) {
        errno = EINVAL;
        return -1;
    }
    *type = library_now()->agreed->has_lids ? 0 : 1;
    return 0;
}

int ibv_query_pkey(struct ibv_context *ibv, uint8_t port_num, int index, __be16 *pkey)
{
    if (library_enter(PROTO_CHARGE_VERB) == NULL)
        return -1;
    if (!object_is(ibv, LIVE_CONTEXT) || port_num != PORT_NUMBER || index != 0 || pkey == NULL) {
        errno = EINVAL;
        return -1;
    }
    *pkey = DEFAULT_PKEY;
    return 0;
}

int ibv_get_pkey_index(struct ibv_context *ibv, uint8_t port_num, __be16 pkey)
{
    if (!object_is(ibv, LIVE_CONTEXT) || port_num != PORT_NUMBER || pkey != DEFAULT_PKEY) {
        errno = EINVAL;
        return -1;
    }
    return 0;
}
