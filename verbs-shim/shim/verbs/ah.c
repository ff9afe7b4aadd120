/* SPDX-License-Identifier: Apache-2.0 */
/*
 * DOC: Address handles
 *
 * A handle names a port by its GID, as on RoCE, where an address without one leads nowhere; on
 * InfiniBand the LID will do, and then datagrams have no header (what is in its place means
 * nothing), and completions the sender's LID. Whether the device's cable leads to that port is
 * asked when the handle is made; if not, there is none, with the errno of a kernel that finds no
 * such neighbour.
 *
 * Every datagram brings a header of 40 bytes. It is what RoCE v2 has in front: between two
 * IPv4-mapped GIDs an IPv4 header in the last 20 bytes, else an IPv6 header, which is laid out as a
 * global route header (InfiniBand specification, volume 1, annex A17). A completion says which.
 */
#include "verbs-shim/shim/verbs/ah.h"

#include <arpa/inet.h>
#include <errno.h>
#include <stdbool.h>
#include <string.h>

#include "verbs-shim/shim/guest.h"
#include "verbs-shim/shim/verbs/objects.h"
#include "verbs-shim/shim/verbs/port.h"

#define IPV4_AT     20 /* in the 40 bytes */
#define IPV4_BYTES  20U
#define IPV4_FIRST  0x45 /* version 4, five words */
#define IPV4_TTL    8
#define IPV4_PROTO  9
#define IPV4_SOURCE 12
#define IPV4_DEST   16
#define VERSION_6   6
#define PROTO_UDP   17
#define BTH_BYTES   32U /* UDP, base and datagram headers, checksum */
#define GID_SOURCE  8
#define GID_DEST    24

static void put_u16(unsigned char *to, uint32_t value)
{
    to[0] = (unsigned char)(value >> 8);
    to[1] = (unsigned char)value;
}

static void make_header(uint8_t *to, const uint8_t *source, const struct ibv_global_route *grh)
{
    const uint8_t *dest = grh->dgid.raw;

    memset(to, 0, PROTO_GRH_BYTES);
    if (proto_gid_is_ipv4(source) && proto_gid_is_ipv4(dest)) {
        to[IPV4_AT] = IPV4_FIRST;
        to[IPV4_AT + 1] = grh->traffic_class;
        to[IPV4_AT + IPV4_TTL] = grh->hop_limit;
        to[IPV4_AT + IPV4_PROTO] = PROTO_UDP;
        memcpy(to + IPV4_AT + IPV4_SOURCE, source + 12, 4);
        memcpy(to + IPV4_AT + IPV4_DEST, dest + 12, 4);
        return;
    }
    to[0] = (uint8_t)(VERSION_6 << 4 | grh->traffic_class >> 4);
    to[1] = (uint8_t)((grh->traffic_class & 15U) << 4 | (grh->flow_label >> 16 & 15U));
    put_u16(to + 2, grh->flow_label);
    to[6] = PROTO_UDP;
    to[7] = grh->hop_limit;
    memcpy(to + GID_SOURCE, source, 16);
    memcpy(to + GID_DEST, dest, 16);
}

/* Bit 3: there is an UDP header; the rest: 1 IPv6, 2 IPv4. So do Mellanox's adapters, and UCX takes
 * all for such (uct_ud_iface_check_grh in UCX 1.13, src/uct/ib/ud/base/ud_iface.h). */
uint8_t ah_header_kind(const unsigned char *header)
{
    if (header[0] == 0 && header[IPV4_AT] == 0)
        return 0; /* none */
    return header[0] >> 4 == VERSION_6 ? 9 : 10;
}

void ah_put_header(const struct ah *ah, uint32_t length, unsigned char *ret)
{
    memcpy(ret, ah->header, PROTO_GRH_BYTES);
    if (ah_header_kind(ah->header) == 0)
        return;
    if (ah->header[0] == 0)
        put_u16(ret + IPV4_AT + 2, length + BTH_BYTES + IPV4_BYTES);
    else
        put_u16(ret + 4, length + BTH_BYTES);
}

static struct ibv_ah *build(struct pd *pd, const struct ibv_ah_attr *attr, int64_t place)
{
    struct ah *ah = shim_alloc(sizeof *ah);

    if (ah == NULL)
        return NULL;
    if (!live_add(&library_now()->live, ah, LIVE_AH)) {
        shim_free(ah);
        return library_fail(ENOMEM);
    }
    ah->ibv.context = pd->ibv.context;
    ah->ibv.pd = &pd->ibv;
    ah->ibv.handle = library_now()->next_handle++;
    ah->pd = pd;
    ah->place = (uint32_t)place;
    if (attr->is_global)
        make_header(ah->header, pd->context->device->port->gid[attr->grh.sgid_index], &attr->grh);
    pd->uses++;
    pd->context->uses++;
    return &ah->ibv;
}

bool ah_is_named(const struct ibv_ah_attr *attr)
{
    return attr->is_global || (library_now()->agreed->has_lids && attr->dlid != 0);
}

struct ibv_ah *ibv_create_ah(struct ibv_pd *ibv, struct ibv_ah_attr *attr)
{
    struct pd *pd = (struct pd *)ibv;
    struct actor *a = library_enter(PROTO_CHARGE_OBJECT);
    union proto_call_args args = {.raw = {0}};
    int64_t reply[4] = {0};
    int error;

    if (a == NULL)
        return NULL;
    if (!object_is(ibv, LIVE_PD) || attr == NULL || attr->port_num != PORT_NUMBER ||
        !ah_is_named(attr) ||
        (attr->is_global && attr->grh.sgid_index >= pd->context->device->port->gid_count))
        return library_fail(EINVAL);
    if (!(library_now()->profile->qp_types >> IBV_QPT_UD & 1))
        return library_fail(EOPNOTSUPP);
    args.connect.qp = pd->context->device->index;
    memcpy(args.connect.dgid, attr->grh.dgid.raw, sizeof args.connect.dgid);
    if (!attr->is_global)
        args.connect.dlid = attr->dlid;
    error = actor_call(a, PROTO_CALL_FIND_GID, &args, reply);
    /* Another thread may have taken the domain away while this one was parked. */
    if (!error && !object_is(ibv, LIVE_PD))
        error = EINVAL;
    return error ? library_fail(error) : build(pd, attr, reply[0]);
}

int ibv_destroy_ah(struct ibv_ah *ibv)
{
    struct ah *ah = (struct ah *)ibv;

    if (library_enter(PROTO_CHARGE_OBJECT) == NULL)
        return ENOSYS;
    if (!object_is(ibv, LIVE_AH))
        return EINVAL;
    live_remove(&library_now()->live, ah);
    ah->pd->uses--;
    ah->pd->context->uses--;
    shim_free(ah);
    return 0;
}

/* Our GID of this value; false: none. */
static bool find_own(const struct context *context, const uint8_t *gid, uint8_t *ret)
{
    const struct proto_device *port = context->device->port;

    for (uint32_t i = 0; i < port->gid_count && i < PROTO_GIDS; i++) {
        if (memcmp(port->gid[i], gid, 16) != 0)
            continue;
        *ret = (uint8_t)i;
        return true;
    }
    return false;
}

static void map_ipv4(uint8_t *gid, const uint8_t *address)
{
    memset(gid, 0, 16);
    gid[10] = gid[11] = 0xff;
    memcpy(gid + 12, address, 4);
}

int ibv_init_ah_from_wc(struct ibv_context *ibv, uint8_t port_num, struct ibv_wc *wc,
                        struct ibv_grh *grh, struct ibv_ah_attr *attr)
{
    const uint8_t *header = (const uint8_t *)grh;
    uint8_t own[16];

    if (!object_is(ibv, LIVE_CONTEXT) || port_num != PORT_NUMBER || wc == NULL || attr == NULL ||
        ((wc->wc_flags & IBV_WC_GRH) ? grh == NULL : wc->slid == 0)) {
        errno = EINVAL;
        return -1;
    }
    *attr = (struct ibv_ah_attr){
        .is_global = (wc->wc_flags & IBV_WC_GRH) != 0,
        .port_num = port_num,
        .sl = wc->sl,
        .dlid = wc->slid,
    };
    if (!attr->is_global)
        return 0;
    if (header[0] >> 4 == VERSION_6) {
        memcpy(attr->grh.dgid.raw, header + GID_SOURCE, 16);
        memcpy(own, header + GID_DEST, 16);
        attr->grh.traffic_class = (uint8_t)(header[0] << 4 | header[1] >> 4);
        attr->grh.flow_label =
            (uint32_t)(header[1] & 15U) << 16 | (uint32_t)header[2] << 8 | header[3];
    } else {
        map_ipv4(attr->grh.dgid.raw, header + IPV4_AT + IPV4_SOURCE);
        map_ipv4(own, header + IPV4_AT + IPV4_DEST);
        attr->grh.traffic_class = header[IPV4_AT + 1];
    }
    attr->grh.hop_limit = UINT8_MAX;
    if (find_own(context_of(ibv), own, &attr->grh.sgid_index))
        return 0;
    errno = ENOENT;
    return -1;
}

struct ibv_ah *ibv_create_ah_from_wc(struct ibv_pd *pd, struct ibv_wc *wc, struct ibv_grh *grh,
                                     uint8_t port_num)
{
    struct ibv_ah_attr attr;

    if (!object_is(pd, LIVE_PD))
        return library_fail(EINVAL);
    return ibv_init_ah_from_wc(pd->context, port_num, wc, grh, &attr) == 0
               ? ibv_create_ah(pd, &attr)
               : NULL;
}
