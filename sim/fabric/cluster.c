/* SPDX-License-Identifier: Apache-2.0 */
/*
 * DOC: Cluster
 *
 * A graph whose vertices are machines and whose edges are cables between numbered ports. Macs do
 * not forward RDMA (Apple TN3205, 2026-04-13: "point-to-point, no routing"), hubs and switches
 * forward and run nothing; so two computers reach each other over one cable, or over two with
 * exactly one hub or switch between.
 *
 * When a cable's RDMA devices are ACTIVE (sources: Apple TN3205; exo PR 1813 and mlx issue 4485 for
 * the rule on the trained rate): Thunderbolt 5 ports at both ends, more than 40 Gb/s in at least
 * one direction (a 120/40 link is a Thunderbolt 5 link too, a 40/40 link is not), and, on each end
 * that is a computer: capable hardware, a macOS with RDMA, and RDMA enabled. A name in the list of
 * devices proves none of it. A hub only has to keep the link at Thunderbolt 5. The rules on rate
 * and generation are Apple's among Macs: a Linux computer with the out-of-tree driver does RDMA
 * with a Mac over a USB4 link of 40 Gb/s (hellas-ai/thunderbolt-ibverbs, bench of 2026-07).
 *
 * Invariant used throughout: cables[k] is named by exactly the two ports at its ends.
 * Cost: a search looks at the ports of two machines, never at all cables.
 */
#include "sim/fabric/cluster.h"

#include <string.h>

#define RDMA_ABOVE_BPS UINT64_C(40000000000)

host_id cluster_find_host(const struct cluster *cluster, const char *name)
{
    for (size_t i = 0; i < cluster->host_count; i++) {
        if (strcmp(cluster->hosts[i].name, name) == 0)
            return (host_id){(uint32_t)i};
    }
    return (host_id){ID_NONE};
}

struct cluster_end cluster_peer(const struct cluster_cable *cable, host_id from)
{
    return cable->a.host.ix == from.ix ? cable->b : cable->a;
}

/* The cable of least number at `host` above `last`; pass ID_NONE to begin. ID_NONE ends. */
static cable_id next_cable(const struct cluster_host *host, cable_id last)
{
    uint32_t best = ID_NONE;

    for (size_t i = 0; i < host->port_count; i++) {
        uint32_t ix = host->ports[i].cable.ix;

        if (ix < best && (last.ix == ID_NONE || ix > last.ix))
            best = ix;
    }
    return (cable_id){best};
}

size_t cluster_count_cables(const struct cluster *cluster, host_id a, host_id b)
{
    const struct cluster_host *host = &cluster->hosts[a.ix];
    size_t count = 0;

    for (size_t i = 0; i < host->port_count; i++) {
        cable_id cable = host->ports[i].cable;

        if (cable.ix != ID_NONE && cluster_peer(&cluster->cables[cable.ix], a).host.ix == b.ix)
            count++;
    }
    return count;
}

size_t machine_count_rdma_ports(const struct machine_model *machine, bool without_doubtful)
{
    size_t count = 0;

    if (!machine->is_rdma_capable)
        return 0;
    for (size_t i = 0; i < machine->port_count; i++) {
        const struct port_model *port = &machine->ports[i];

        if (port->kind != PORT_THUNDERBOLT || port->generation < 5)
            continue;
        if (without_doubtful && port->is_doubtful)
            continue;
        count++;
    }
    return count;
}

static bool is_foreign(const struct cluster *cluster, struct cluster_end end)
{
    return cluster->hosts[end.host.ix].model->kind == MACHINE_OTHER;
}

/* Does this end of a cable do its part? A hub only has to offer a Thunderbolt 5 port. */
static bool end_has_rdma(const struct cluster *cluster, struct cluster_end end)
{
    const struct cluster_host *host = &cluster->hosts[end.host.ix];
    const struct port_model *port = host->ports[end.port].model;

    if (port->kind != PORT_THUNDERBOLT)
        return false;
    if (is_foreign(cluster, end))
        return host->model->is_rdma_capable && host->is_rdma_enabled;
    if (port->generation < 5)
        return false;
    if (host->model->kind == MACHINE_HUB)
        return true;
    return host->model->is_rdma_capable && host->is_rdma_enabled && host->macos_profile &&
           host->macos_profile->has_rdma;
}

bool cluster_cable_has_rdma(const struct cluster *cluster, cable_id cable)
{
    const struct cluster_cable *c = &cluster->cables[cable.ix];

    bool is_slow = c->rate_ab.bps <= RDMA_ABOVE_BPS && c->rate_ba.bps <= RDMA_ABOVE_BPS;

    if (is_slow && !is_foreign(cluster, c->a) && !is_foreign(cluster, c->b))
        return false;
    return end_has_rdma(cluster, c->a) && end_has_rdma(cluster, c->b);
}

/* A growing answer of which only the first `max` are kept. */
struct path_list {
    struct cluster_path *items;
    size_t max;
    size_t count;
};

static void add_path(struct path_list *list, struct cluster_path path)
{
    if (list->count < list->max)
        list->items[list->count] = path;
    list->count++;
}

static void add_direct_paths(const struct cluster *cluster, host_id a, host_id b,
                             struct path_list *list)
{
    cable_id cable = {ID_NONE};

    while ((cable = next_cable(&cluster->hosts[a.ix], cable)).ix != ID_NONE) {
        if (cluster_peer(&cluster->cables[cable.ix], a).host.ix == b.ix)
            add_path(list, (struct cluster_path){.cables = {cable, {ID_NONE}}, .hops = 1});
    }
}

/* Paths that leave a on `first` and reach b over the machine at its other end. */
static void add_paths_over(const struct cluster *cluster, host_id a, host_id b, cable_id first,
                           struct path_list *list)
{
    host_id middle = cluster_peer(&cluster->cables[first.ix], a).host;
    cable_id second = {ID_NONE};

    if (middle.ix == b.ix || !machine_forwards(cluster->hosts[middle.ix].model))
        return;
    while ((second = next_cable(&cluster->hosts[b.ix], second)).ix != ID_NONE) {
        if (cluster_peer(&cluster->cables[second.ix], b).host.ix == middle.ix)
            add_path(list, (struct cluster_path){.cables = {first, second}, .hops = 2});
    }
}

/*
 * Requires: a and b are computers; every port names its cable and every cable its ports.
 * Order:    direct cables by number, then pairs of cables by (number at a, number at b).
 */
size_t cluster_find_paths(const struct cluster *cluster, host_id a, host_id b,
                          struct cluster_path *ret, size_t max)
{
    struct path_list list = {.items = ret, .max = max};
    cable_id first = {ID_NONE};

    if (a.ix == b.ix)
        return 0;
    add_direct_paths(cluster, a, b, &list);
    while ((first = next_cable(&cluster->hosts[a.ix], first)).ix != ID_NONE)
        add_paths_over(cluster, a, b, first, &list);
    return list.count;
}
