/* SPDX-License-Identifier: Apache-2.0 */
/* The IPv4 addresses that the fixes of the check and the exported host files agree on. */
#ifndef SIM_PLAN_CHECK_ADDRESS_H
#define SIM_PLAN_CHECK_ADDRESS_H

#include "sim/base/arena.h"
#include "sim/fabric/cluster.h"

struct port_address {
    const char *address; /* "192.168.0.1", in the arena */
    const char *netmask;
};

/*
 * The address of a cabled port: cable k is 192.168.(k / 64).(4 (k % 64))/30 with its first end at
 * .1 and its second at .2, as mlx.distributed_config numbers them; ports on one hub or switch share
 * 10.200.(machine).0/24 instead.
 *
 * Source: ml-explore/mlx python/mlx/_distributed_utils/config.py at 846d176 (2026-08-22).
 */
struct port_address port_address_of(const struct cluster *cluster, struct cluster_end end,
                                    struct arena *arena);

#endif
