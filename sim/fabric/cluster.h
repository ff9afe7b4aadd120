/* SPDX-License-Identifier: Apache-2.0 */
/* A cluster as the user described it: machines, ports in use, cables; every reference resolved. */
#ifndef SIM_FABRIC_CLUSTER_H
#define SIM_FABRIC_CLUSTER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sim/base/err.h"
#include "sim/base/ids.h"
#include "sim/base/units.h"
#include "sim/fabric/model.h"

/* Where a port's IPv4 address sits. */
enum port_ip {
    PORT_IP_CABLE,  /* a /30 for each cable on the physical interface: GID 1 exists */
    PORT_IP_BRIDGE, /* on bridge0, so the port has no GID 1 */
    PORT_IP_NONE,
};

struct cluster_port {
    const struct port_model *model; /* borrowed from the catalogue */
    cable_id cable;                 /* ID_NONE when nothing is plugged in */
    enum port_ip ip;
    bool is_bridge_member; /* of bridge0 */
};

struct cluster_host {
    const char *name;
    const struct machine_model *model;       /* borrowed */
    const char *variant;                     /* NULL: the model's first */
    bytecount memory;                        /* zero: the model's smallest option, not stated */
    const char *macos;                       /* version text; "" for other machines */
    const struct macos_model *macos_profile; /* NULL for machines without macOS */
    bool is_rdma_enabled;
    struct cluster_port *ports; /* port_count entries; ports[i].model->number == i + 1 */
    size_t port_count;
    struct src_pos pos;
};

struct cluster_end {
    host_id host;
    uint32_t port; /* index into ports, so number - 1 */
};

struct cluster_cable {
    struct cluster_end a, b;
    const struct cable_model *model; /* borrowed */
    bitrate rate_ab;                 /* after negotiation: the least of both ports and the cable */
    bitrate rate_ba;
    struct src_pos pos;
};

struct cluster {
    struct cluster_host *hosts;
    size_t host_count;
    struct cluster_cable *cables;
    size_t cable_count;
};

/* The host of that name; ID_NONE when there is none. */
host_id cluster_find_host(const struct cluster *cluster, const char *name);
/* The other end of a cable seen from host `from`. */
struct cluster_end cluster_peer(const struct cluster_cable *cable, host_id from);
/* Number of cables whose ends are a and b themselves (no hub between). */
size_t cluster_count_cables(const struct cluster *cluster, host_id a, host_id b);
/* Thunderbolt ports of a machine that could carry RDMA; with without_doubtful, less the ports that
 * sources disagree about. */
size_t machine_count_rdma_ports(const struct machine_model *machine, bool without_doubtful);
/* True when both ends of the cable are RDMA devices in state ACTIVE: Thunderbolt 5 trained above
 * 40 Gb/s and RDMA enabled on both machines. */
bool cluster_cable_has_rdma(const struct cluster *cluster, cable_id cable);

/* A path between two computers: one cable, or two with a hub or switch between. */
struct cluster_path {
    cable_id cables[2];
    uint32_t hops; /* 1 or 2 */
};

/* Lists the paths from a to b, lowest cable numbers first; returns how many there are (which may
 * be more than `max`, the number written). */
size_t cluster_find_paths(const struct cluster *cluster, host_id a, host_id b,
                          struct cluster_path *ret, size_t max);

#endif
