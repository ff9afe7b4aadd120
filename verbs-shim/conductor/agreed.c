/* SPDX-License-Identifier: Apache-2.0 */
/*
 * DOC: A rank's devices
 *
 * One device rdma_enN for each Thunderbolt 5 port of a Mac that can do RDMA, has it enabled and
 * runs a macOS that has it; otherwise none, as on hardware. A port's GIDs follow its interface:
 * GID 0 is the link-local address made of its MAC address, GID 1 the IPv4 address, if one is on
 * the port itself, and the last a second link-local one. GUIDs of one Mac differ in the first byte
 * (Apple TN3205, MLX's documentation). MAC addresses and GUIDs are a hash of the Mac's number in
 * the scenario, so that nothing of this computer gets into a result.
 *
 * IPv4 addresses are those that `tbmesh check` and `export` name: a /30 a cable.
 *
 * Limits: with the profile `apple` those of the Mac's macOS; before 26.3 a message is one frame.
 * With `verbs` they are what the emulator itself can hold.
 */
#include "verbs-shim/conductor/agreed.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "sim/base/arena.h"
#include "sim/base/err.h"
#include "sim/base/rng.h"
#include "sim/base/units.h"
#include "sim/fabric/cluster.h"
#include "sim/fabric/model.h"
#include "sim/fabric/param.h"
#include "sim/fabric/quirk.h"
#include "sim/plan/check_address.h"
#include "sim/scenario/quirk.h"
#include "sim/workload/run.h"

/* 2026-01-01T00:00:00Z: programs print dates, and they had better not be those of the run. */
#define EPOCH_NS INT64_C(1767225600000000000)

#define GUID_FIRST    0x80U /* mac-studio-m3-ultra shows 80 to 85: MLX's documentation */
#define MAC_FIRST     0x36U /* Thunderbolt interfaces have locally administered addresses */
#define MAC_STREAM    101U
#define SECOND_STREAM 102U

#define DEVICE_PREFIX "rdma_"

#define FOLD_AFTER       20U   /* cheap from 8 on; UCX counts 16 empty polls, then does more */
#define FRAMES_MAX       4095U /* of a message and of a queue: sim/fabric/fabric.h */
#define LINE_NOMINAL_BPS UINT64_C(80000000000)

/* What the variant `observed` stands for. */
#define OBSERVED                                                                  \
    (QUIRK_BIT(REMOTE_ACCESS) | QUIRK_BIT(RECV_AFTER_RTS) | QUIRK_BIT(ERR_PINS) | \
     QUIRK_BIT(NO_BAD_WR))

/* What the emulator can hold, for programs that expect a data centre's adapter. */
#define VERBS_QPS  1024U
#define VERBS_CQS  1024U
#define VERBS_PDS  1024U
#define VERBS_MRS  65536U
#define VERBS_WRS  16384U
#define VERBS_CQES 65535U
#define VERBS_PAGE 4096U

static bool has_devices(const struct cluster_host *host, const struct quirks *quirks)
{
    bool is_capable = host->model->is_rdma_capable || quirk_is_on(quirks, QUIRK_TB4_DEVICES);

    if (!is_capable || !host->is_rdma_enabled)
        return false;
    return host->model->kind != MACHINE_MAC ||
           (host->macos_profile && host->macos_profile->has_rdma);
}

const char *agreed_why_no_device(const struct cluster_host *host, const struct quirks *quirks,
                                 struct arena *arena)
{
    if (has_devices(host, quirks))
        return NULL;
    if (!host->model->is_rdma_capable && !quirk_is_on(quirks, QUIRK_TB4_DEVICES))
        return arena_format(arena, "%s has no port of Thunderbolt 5", host->model->name);
    if (!host->is_rdma_enabled)
        return "RDMA is disabled there (rdma_ctl enable; in the scenario: rdma)";
    return arena_format(arena, "macOS %s has no RDMA, which comes with 26.2",
                        host->macos ? host->macos : "of this Mac");
}

static bool is_device(const struct cluster_host *host, size_t port, const struct quirks *quirks)
{
    const struct port_model *model = host->ports[port].model;

    return model->kind == PORT_THUNDERBOLT &&
           (model->generation >= 5 || host->model->kind == MACHINE_OTHER ||
            quirk_is_on(quirks, QUIRK_TB4_DEVICES));
}

static void fill_link_local(uint8_t gid[16], const uint8_t mac[6])
{
    memset(gid, 0, 16);
    gid[0] = 0xfe;
    gid[1] = 0x80;
    memcpy(gid + 8, mac, 3);
    gid[8] ^= 0x02U;
    gid[11] = 0xff;
    gid[12] = 0xfe;
    memcpy(gid + 13, mac + 3, 3);
}

static void fill_second_link_local(uint8_t gid[16], uint64_t bits)
{
    memset(gid, 0, 16);
    gid[0] = 0xfe;
    gid[1] = 0x80;
    for (size_t i = 0; i < 8; i++)
        gid[8 + i] = (uint8_t)(bits >> (8 * i));
    gid[8] &= (uint8_t)~0x02U;
}

/* "192.168.0.1" */
static void fill_mapped(uint8_t gid[16], const char *address)
{
    const char *at = address;

    memset(gid, 0, 16);
    gid[10] = gid[11] = 0xff;
    for (size_t i = 0; i < 4; i++) {
        unsigned byte = 0;

        for (; *at >= '0' && *at <= '9'; at++)
            byte = byte * 10 + (unsigned)(*at - '0');
        at += *at == '.';
        gid[12 + i] = (uint8_t)byte;
    }
}

/* Is there an IPv4 address that makes a GID of the port? */
static bool has_address(const struct cluster_port *port, const struct quirks *quirks)
{
    return port->cable.ix != ID_NONE &&
           (port->ip == PORT_IP_CABLE ||
            (port->ip == PORT_IP_BRIDGE && quirk_is_on(quirks, QUIRK_BRIDGE_GID)));
}

static void fill_gids(const struct cluster *cluster, struct cluster_end end,
                      const struct quirks *quirks, struct proto_device *ret)
{
    uint64_t host_bits = rng_hash(0, MAC_STREAM, end.host.ix);
    const struct cluster_port *port = &cluster->hosts[end.host.ix].ports[end.port];
    uint8_t mac[6] = {MAC_FIRST};
    uint32_t next = 0;

    for (size_t i = 1; i < 5; i++)
        mac[i] = (uint8_t)(host_bits >> (8 * i));
    mac[5] = (uint8_t)(0x40U + 4 * end.port);
    fill_link_local(ret->gid[next++], mac);
    if (has_address(port, quirks)) {
        struct arena arena;

        arena_init(&arena);
        fill_mapped(ret->gid[next++], port_address_of(cluster, end, &arena).address);
        arena_done(&arena);
        ret->has_ipv4 = 1;
    }
    fill_second_link_local(ret->gid[next++],
                           rng_hash(end.host.ix, SECOND_STREAM, (uint64_t)end.port));
    ret->gid_count = next;
}

/* When the cable is cut for the first time; never. */
static int64_t first_cut(const struct scenario *scenario, cable_id cable)
{
    int64_t first = PROTO_NEVER;

    for (size_t i = 0; i < scenario->fault_count; i++) {
        const struct fault *fault = &scenario->faults[i];

        if (fault->kind == FAULT_RATE && fault->cable.ix == cable.ix &&
            (fault->rate_forward.bps == 0 || fault->rate_reverse.bps == 0) && fault->at.ps < first)
            first = fault->at.ps;
    }
    return first;
}

static void fill_device(const struct scenario *scenario, struct cluster_end end,
                        const struct quirks *quirks, struct proto_device *ret)
{
    const struct cluster *cluster = &scenario->cluster;
    const struct cluster_port *port = &cluster->hosts[end.host.ix].ports[end.port];
    uint64_t host_bits = rng_hash(0, MAC_STREAM, end.host.ix);
    bool is_cabled = port->cable.ix != ID_NONE;
    bool is_dead = port->model->is_doubtful && quirk_is_on(quirks, QUIRK_ETHERNET_PORT);

    (void)snprintf(ret->name, sizeof ret->name, DEVICE_PREFIX "%.58s", port->model->ifname);
    ret->guid[0] = (uint8_t)(GUID_FIRST + end.port);
    for (size_t i = 1; i < 6; i++)
        ret->guid[i] = (uint8_t)(host_bits >> (8 * i));
    ret->guid[6] = 0xac;
    ret->guid[7] = 0x05;
    fill_gids(cluster, end, quirks, ret);
    ret->cable = port->cable.ix;
    ret->has_rdma = is_cabled && !is_dead && cluster_cable_has_rdma(cluster, port->cable);
    ret->rate_bps = port->model->rate.bps;
    ret->cut_at = PROTO_NEVER;
    if (is_cabled) {
        const struct cluster_cable *cable = &cluster->cables[port->cable.ix];

        ret->cut_at = first_cut(scenario, port->cable);
        ret->rate_bps = cable->a.host.ix == end.host.ix && cable->a.port == end.port
                            ? cable->rate_ab.bps
                            : cable->rate_ba.bps;
    }
}

bool agreed_check_names(const struct cluster_host *host, struct err *reterr)
{
    const size_t most = PROTO_NAME_BYTES - sizeof DEVICE_PREFIX;

    for (size_t i = 0; i < host->port_count; i++) {
        const struct port_model *model = host->ports[i].model;

        if (model->kind == PORT_THUNDERBOLT && strlen(model->ifname) > most)
            return err_set(reterr, ERR_LIMIT, (struct src_pos){0},
                           "%s: the interface name '%s' is too long for the RDMA device of a port: "
                           "at most %zu characters",
                           host->model->name, model->ifname, most);
    }
    return true;
}

static void fill_devices(const struct scenario *scenario, host_id host_ix,
                         const struct quirks *quirks, struct proto_agreed *ret)
{
    const struct cluster_host *host = &scenario->cluster.hosts[host_ix.ix];

    for (uint32_t i = 0; has_devices(host, quirks) && i < host->port_count; i++) {
        if (is_device(host, i, quirks) && ret->device_count < PROTO_DEVICES_MAX)
            fill_device(scenario, (struct cluster_end){host_ix, i}, quirks,
                        &ret->device[ret->device_count++]);
    }
}

static uint32_t known_or(uint32_t value, uint32_t other)
{
    return value > 0 ? value : other;
}

/* What a Mac's device grants and says, where its macOS is known. */
static void fill_limits(const struct cluster_host *host, const struct param_set *params,
                        struct proto_agreed *ret)
{
    const struct macos_model *macos = host->macos_profile;
    bool is_apple = ret->profile == PROTO_APPLE && macos != NULL;

    ret->max_qp = is_apple ? macos->qp_limit : VERBS_QPS;
    ret->max_mr = is_apple ? macos->mr_limit : VERBS_MRS;
    ret->max_cq = is_apple ? known_or(macos->cq_shown, VERBS_CQS) : VERBS_CQS;
    ret->max_pd = is_apple ? known_or(macos->pd_shown, VERBS_PDS) : VERBS_PDS;
    ret->max_wr = ret->profile == PROTO_VERBS
                      ? VERBS_WRS
                      : known_or(is_apple ? macos->wr_limit : 0, FRAMES_MAX);
    ret->max_cqe = is_apple ? known_or(macos->cqe_limit, VERBS_CQES) : VERBS_CQES;
    ret->devinfo_qp = is_apple ? known_or(macos->qp_shown, ret->max_qp) : ret->max_qp;
    ret->devinfo_cq = ret->max_cq;
    ret->devinfo_pd = ret->max_pd;
    ret->page_bytes = is_apple && macos->page.bytes > 0 ? (uint32_t)macos->page.bytes : VERBS_PAGE;
    ret->frame_bytes = (uint32_t)param_size(params, PARAM_RDMA_FRAME).bytes;
    ret->queue_frames_small = (uint32_t)params->v[PARAM_RDMA_QUEUE_FRAMES].value;
    ret->queue_frames_max =
        ret->queue_frames_small > FRAMES_MAX ? ret->queue_frames_small : FRAMES_MAX;
    ret->max_message = (uint64_t)FRAMES_MAX * ret->frame_bytes;
    /* Nobody says how an older macOS refuses what only a newer one carries: as too long. */
    if (is_apple && !macos->has_large_buffers)
        ret->max_message = ret->frame_bytes;
}

/* As one report has it, in place of what the macOS is known for. */
static void fill_limits_of_quirk(const struct quirks *quirks, struct proto_agreed *ret)
{
    if (!quirk_is_on(quirks, QUIRK_LIMITS))
        return;
    ret->max_qp = ret->devinfo_qp = quirks->max_qp;
    ret->max_cq = ret->devinfo_cq = quirks->max_cq;
    ret->max_pd = ret->devinfo_pd = quirks->max_pd;
}

enum param_id agreed_charge_source(enum proto_charge charge)
{
    static const enum param_id sources[PROTO_CHARGE_COUNT] = {
        [PROTO_CHARGE_POLL_EMPTY] = PARAM_CPU_POLL_EMPTY,
        [PROTO_CHARGE_POLL_ENTRY] = PARAM_RDMA_POLL,
        [PROTO_CHARGE_POST_SEND] = PARAM_RDMA_POST_SEND,
        [PROTO_CHARGE_POST_MORE] = PARAM_CPU_POST_MORE,
        [PROTO_CHARGE_POST_RECV] = PARAM_RDMA_POST_RECV,
        [PROTO_CHARGE_CLOCK] = PARAM_CPU_CLOCK,
        [PROTO_CHARGE_REG_MR] = PARAM_CPU_REG_MR,
        [PROTO_CHARGE_REG_PAGE] = PARAM_CPU_REG_PAGE,
        [PROTO_CHARGE_OBJECT] = PARAM_CPU_OBJECT,
        [PROTO_CHARGE_VERB] = PARAM_CPU_VERB,
        [PROTO_CHARGE_SOCKET] = PARAM_CPU_SOCKET,
        [PROTO_CHARGE_SYNC] = PARAM_CPU_SYNC,
    };

    return sources[charge];
}

/* Is it charged once for a call, and not for each part of one? */
static bool is_of_call(enum proto_charge charge)
{
    return charge != PROTO_CHARGE_POST_MORE && charge != PROTO_CHARGE_REG_PAGE;
}

static void fill_charges(const struct param_set *params, const struct conductor_options *options,
                         struct proto_agreed *ret)
{
    for (uint32_t i = 0; i < PROTO_CHARGE_COUNT; i++) {
        enum proto_charge charge = (enum proto_charge)i;

        ret->charge[i] = params->v[agreed_charge_source(charge)].value;
        if (options->compute == CONDUCTOR_COMPUTE_FIXED && is_of_call(charge))
            ret->charge[i] += options->compute_fixed.ps;
    }
    if (options->compute == CONDUCTOR_COMPUTE_MEASURED)
        ret->compute_permille = options->compute_permille;
    ret->side_latency = params->v[PARAM_SIDE_LATENCY].value;
    ret->receive_after = params->v[PARAM_RDMA_LATENCY].value;
}

/* The fastest that any cable is at any time of the run. */
static uint64_t fastest_line(const struct scenario *scenario)
{
    const struct cluster *cluster = &scenario->cluster;
    uint64_t best = LINE_NOMINAL_BPS;

    for (size_t i = 0; i < cluster->cable_count; i++) {
        best = cluster->cables[i].rate_ab.bps > best ? cluster->cables[i].rate_ab.bps : best;
        best = cluster->cables[i].rate_ba.bps > best ? cluster->cables[i].rate_ba.bps : best;
    }
    for (size_t i = 0; i < scenario->fault_count; i++) {
        const struct fault *fault = &scenario->faults[i];

        best = fault->rate_forward.bps > best ? fault->rate_forward.bps : best;
        best = fault->rate_reverse.bps > best ? fault->rate_reverse.bps : best;
    }
    return best;
}

/* Rounded down: it bounds what may happen, so it must not be too long. */
static int64_t least_wire_of_kib(const struct scenario *scenario)
{
    u128 goodput = (u128)param_rate(&scenario->params, PARAM_RDMA_GOODPUT).bps *
                       fastest_line(scenario) / LINE_NOMINAL_BPS +
                   1;

    return (int64_t)((u128)1024 * 8 * (u128)PS_PER_S / goodput);
}

/* Over InfiniBand each cable is a subnet of its own, which its ports' first GID names: that tells
 * programs which ports see each other. */
static void name_subnets(struct proto_agreed *ret)
{
    for (uint32_t i = 0; i < ret->device_count; i++) {
        uint32_t subnet = ret->device[i].cable == ID_NONE ? 0 : ret->device[i].cable + 1;

        ret->device[i].gid[0][6] = (uint8_t)(subnet >> 8);
        ret->device[i].gid[0][7] = (uint8_t)subnet;
    }
}

void agreed_fill(const struct scenario *scenario, const struct conductor_options *options,
                 const host_id *hosts, uint32_t rank, struct proto_agreed *ret)
{
    const struct cluster_host *host = &scenario->cluster.hosts[hosts[rank].ix];

    memset(ret, 0, sizeof *ret);
    ret->magic = PROTO_MAGIC;
    ret->version = PROTO_VERSION;
    ret->rank = rank;
    ret->rank_count = options->ranks;
    ret->profile = (uint32_t)options->profile;
    ret->quirks = options->quirks.on;
    if (options->variant == PROTO_OBSERVED)
        ret->quirks |= OBSERVED;
    ret->has_launcher = options->is_launcher;
    ret->has_lids = options->has_lids;
    ret->is_inline = options->driver == CONDUCTOR_INLINE;
    ret->cpu = options->cpu >= 0 ? (uint32_t)options->cpu : PROTO_ANY_CPU;
    ret->spin = options->spin >= 0 ? (uint32_t)options->spin : 0;
    ret->fold_after = options->fold_after >= 0 ? (uint32_t)options->fold_after : FOLD_AFTER;
    ret->epoch_ns = EPOCH_NS;
    fill_limits(host, &scenario->params, ret);
    fill_limits_of_quirk(&options->quirks, ret);
    fill_charges(&scenario->params, options, ret);
    /* A send that completes when it is queued does so at once. */
    ret->wire_ps_per_kib =
        quirk_is_on(&options->quirks, QUIRK_EARLY) ? 0 : least_wire_of_kib(scenario);
    fill_devices(scenario, hosts[rank], &options->quirks, ret);
    if (options->has_lids)
        name_subnets(ret);
    (void)snprintf(ret->host, sizeof ret->host, "%.60s", host->name);
    (void)snprintf(ret->machine, sizeof ret->machine, "%.60s", host->model->name);
}
