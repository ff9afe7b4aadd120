/* SPDX-License-Identifier: Apache-2.0 */
#include "sim/plan/check_address.h"

#include <stdbool.h>
#include <stdint.h>

#include "sim/base/ids.h"
#include "sim/fabric/model.h"

struct port_address port_address_of(const struct cluster *cluster, struct cluster_end end,
                                    struct arena *arena)
{
    uint32_t k = cluster->hosts[end.host.ix].ports[end.port].cable.ix;
    const struct cluster_cable *cable = &cluster->cables[k];
    struct cluster_end peer = cluster_peer(cable, end.host);
    bool is_a = cable->a.host.ix == end.host.ix;

    if (machine_forwards(cluster->hosts[peer.host.ix].model))
        return (struct port_address){arena_format(arena, "10.200.%u.%u", peer.host.ix % 256,
                                                  peer.port % 254 + 1),
                                     "255.255.255.0"};
    return (struct port_address){arena_format(arena, "192.168.%u.%u", k / 64 % 256,
                                              4 * (k % 64) + (is_a ? 1 : 2)),
                                 "255.255.255.252"};
}
