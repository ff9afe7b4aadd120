/* SPDX-License-Identifier: Apache-2.0 */
/*
 * DOC: Files for MLX
 *
 * A device matrix is an array of n arrays of n cells; a cell is null, a device name or an array of
 * names. mlx.launch takes a host file, a list of {ssh, ips, rdma}, and hands its "rdma" rows to
 * JACCL as the matrix; "ips" of rank 0 is where the side channel listens. With the TCP ring back
 * end "ips" are the addresses to use and "rdma" is empty.
 *
 * Invariants: in a mesh both ends of a pair name their lowest-numbered common cable; in a ring
 * wire k of cell (r, c) and of cell (c, r) are the k-th cable of the pair, because JACCL pairs its
 * queue pairs by index (exo PR 2160).
 * Source: ml-explore/mlx at 846d176 (2026-08-22): python/mlx/_distributed_utils/common.py,
 * config.py, launch.py and mlx/distributed/jaccl/lib/jaccl/jaccl.cpp.
 */
#include "sim/report/export_mlx.h"

#include <stdio.h>

#include "sim/base/ids.h"
#include "sim/base/units.h"
#include "sim/fabric/model.h"
#include "sim/plan/check_address.h"
#include "sim/plan/check_ring.h"

#define WIRES_MAX     4U
#define PATHS_MAX     16U
#define RDMA_OVER_BPS UINT64_C(40000000000)

/* Could this cable carry RDMA, whatever the settings of the Macs? */
static bool is_rdma_cable(const struct cluster *cluster, cable_id cable)
{
    const struct cluster_cable *c = &cluster->cables[cable.ix];
    const struct port_model *a = cluster->hosts[c->a.host.ix].ports[c->a.port].model;
    const struct port_model *b = cluster->hosts[c->b.host.ix].ports[c->b.port].model;

    return a->kind == PORT_THUNDERBOLT && b->kind == PORT_THUNDERBOLT && a->generation >= 5 &&
           b->generation >= 5 && (c->rate_ab.bps > RDMA_OVER_BPS || c->rate_ba.bps > RDMA_OVER_BPS);
}

/* Which cables count between two ranks. */
enum link_kind {
    LINK_RDMA,
    LINK_IP,
};

/* The ports of `a` on its paths to `b`, by cable number; at most `max`. Returns how many. */
static size_t find_ports(const struct cluster *cluster, host_id a, host_id b, enum link_kind kind,
                         struct cluster_end *ret, size_t max)
{
    struct cluster_path paths[PATHS_MAX];
    size_t found = cluster_find_paths(cluster, a, b, paths, PATHS_MAX);
    size_t count = 0;

    for (size_t i = 0; i < found && i < PATHS_MAX && count < max; i++) {
        const struct cluster_cable *first = &cluster->cables[paths[i].cables[0].ix];
        bool counts = true;

        for (uint32_t hop = 0; hop < paths[i].hops && kind == LINK_RDMA; hop++)
            counts = counts && is_rdma_cable(cluster, paths[i].cables[hop]);
        if (counts)
            ret[count++] = first->a.host.ix == a.ix ? first->a : first->b;
    }
    return count;
}

static size_t count_wires(const struct cluster *cluster, host_id a, host_id b, enum link_kind kind)
{
    struct cluster_end ports[PATHS_MAX];

    return find_ports(cluster, a, b, kind, ports, PATHS_MAX);
}

/* The ranks of an export and what joins them. */
struct rank_list {
    const struct cluster *cluster;
    struct arena *arena;
    enum link_kind kind;
    host_id *hosts;
    size_t count;
};

static bool list_ranks(const struct cluster *cluster, struct arena *arena, enum link_kind kind,
                       struct rank_list *ret, struct err *reterr)
{
    *ret = (struct rank_list){.cluster = cluster, .arena = arena, .kind = kind};
    ret->hosts = arena_alloc_array(arena, cluster->host_count, sizeof *ret->hosts);
    for (uint32_t i = 0; i < cluster->host_count; i++) {
        const struct cluster_host *host = &cluster->hosts[i];

        if (machine_forwards(host->model))
            continue;
        if (kind == LINK_RDMA && machine_count_rdma_ports(host->model, false) == 0)
            return err_set(reterr, ERR_CONFLICT, host->pos,
                           "%s (%s) has no Thunderbolt 5 port, so it has no RDMA devices; export "
                           "the TCP ring instead",
                           host->name, host->model->name);
        ret->hosts[ret->count++] = (host_id){i};
    }
    if (ret->count < 2)
        return err_set(reterr, ERR_CONFLICT, (struct src_pos){0},
                       "a host file needs two computers or more; there %s %zu",
                       ret->count == 1 ? "is" : "are", ret->count);
    return true;
}

/* The first pair without a link; false when every pair has one. */
static bool find_gap(const struct rank_list *ranks, size_t *ret_a, size_t *ret_b)
{
    for (size_t a = 0; a < ranks->count; a++) {
        for (size_t b = a + 1; b < ranks->count; b++) {
            if (count_wires(ranks->cluster, ranks->hosts[a], ranks->hosts[b], ranks->kind))
                continue;
            *ret_a = a;
            *ret_b = b;
            return true;
        }
    }
    return false;
}

/* Puts the ranks into an order in which neighbours are linked. */
static bool order_as_ring(struct rank_list *ranks)
{
    size_t n = ranks->count;
    size_t order[RING_MACHINES_MAX];
    host_id *hosts = arena_alloc_array(ranks->arena, n, sizeof *hosts);
    bool *linked;

    if (n > RING_MACHINES_MAX)
        return false;
    linked = arena_alloc_array(ranks->arena, n * n, sizeof *linked);
    for (size_t a = 0; a < n; a++) {
        for (size_t b = a + 1; b < n; b++) {
            linked[a * n + b] =
                count_wires(ranks->cluster, ranks->hosts[a], ranks->hosts[b], ranks->kind) > 0;
            linked[b * n + a] = linked[a * n + b];
        }
    }
    if (!ring_find(linked, n, order))
        return false;
    for (size_t i = 0; i < n; i++)
        hosts[i] = ranks->hosts[order[i]];
    ranks->hosts = hosts;
    return true;
}

static size_t least_wires(const struct rank_list *ranks)
{
    size_t least = WIRES_MAX;

    for (size_t i = 0; i < ranks->count; i++) {
        size_t wires = count_wires(ranks->cluster, ranks->hosts[i],
                                   ranks->hosts[(i + 1) % ranks->count], ranks->kind);

        least = wires < least ? wires : least;
    }
    return least;
}

/* The cell of one rank towards another: NULL, or its devices and a NULL. */
static const char *const *make_cell(const struct rank_list *ranks, host_id from, host_id to,
                                    size_t wires)
{
    struct cluster_end ports[PATHS_MAX];
    size_t count = find_ports(ranks->cluster, from, to, ranks->kind, ports, wires);
    const char **names = arena_alloc_array(ranks->arena, count + 1, sizeof *names);

    if (count == 0)
        return NULL;
    for (size_t k = 0; k < count; k++)
        names[k] = arena_format(ranks->arena, "rdma_%s",
                                ranks->cluster->hosts[from.ix].ports[ports[k].port].model->ifname);
    return (const char *const *)names;
}

static void fill_matrix(const struct rank_list *ranks, bool is_ring, size_t wires,
                        struct check_matrix *ret)
{
    size_t n = ranks->count;
    const char *const **cells = arena_alloc_array(ranks->arena, n * n, sizeof *cells);

    for (size_t r = 0; r < n; r++) {
        for (size_t c = 0; c < n; c++) {
            bool is_neighbour = c == (r + 1) % n || r == (c + 1) % n;

            if (r != c && (is_neighbour || !is_ring))
                cells[r * n + c] = make_cell(ranks, ranks->hosts[r], ranks->hosts[c], wires);
        }
    }
    *ret = (struct check_matrix){.size = n,
                                 .hosts = ranks->hosts,
                                 .cells = (const char *const *const *)cells,
                                 .prefers_ring = is_ring};
}

static bool build_ring(struct rank_list *ranks, const struct export_request *request,
                       struct check_matrix *ret, struct err *reterr)
{
    size_t least;

    if (!order_as_ring(ranks))
        return err_set(reterr, ERR_CONFLICT, (struct src_pos){0},
                       "no ring: the cables that carry RDMA join the %zu computers in no order "
                       "that comes back to the first",
                       ranks->count);
    least = least_wires(ranks);
    if (request->wires > least)
        return err_set(reterr, ERR_CONFLICT, (struct src_pos){0},
                       "a ring of %u wires needs as many cables between all neighbours; %zu is "
                       "what every pair has (JACCL takes up to %u)",
                       request->wires, least, WIRES_MAX);
    fill_matrix(ranks, true, request->wires ? request->wires : least, ret);
    return true;
}

bool export_matrix(const struct cluster *cluster, const struct export_request *request,
                   struct arena *arena, struct check_matrix *ret, struct err *reterr)
{
    struct rank_list ranks;
    struct err no_ring = {0};
    size_t a;
    size_t b;

    if (!list_ranks(cluster, arena, LINK_RDMA, &ranks, reterr))
        return false;
    if (request->shape == EXPORT_RING)
        return build_ring(&ranks, request, ret, reterr);
    if (!find_gap(&ranks, &a, &b)) {
        fill_matrix(&ranks, false, 1, ret);
        return true;
    }
    if (request->shape == EXPORT_AUTO && build_ring(&ranks, request, ret, &no_ring))
        return true;
    return err_set(reterr, ERR_CONFLICT, (struct src_pos){0},
                   "no mesh: %s and %s share no cable that carries RDMA%s%s",
                   cluster->hosts[ranks.hosts[a].ix].name, cluster->hosts[ranks.hosts[b].ix].name,
                   no_ring.code ? "; and " : "", no_ring.text);
}

void export_json_text(struct text *ret, const char *text)
{
    text_add(ret, "\"");
    for (; *text; text++) {
        unsigned char c = (unsigned char)*text;

        if (c == '"' || c == '\\')
            text_add(ret, "\\%c", c);
        else if (c < 0x20)
            text_add(ret, "\\u%04x", c);
        else
            text_add(ret, "%c", c);
    }
    text_add(ret, "\"");
}

static void add_cell(struct text *ret, const char *const *cell)
{
    if (!cell) {
        text_add(ret, "null");
        return;
    }
    if (!cell[1]) {
        export_json_text(ret, cell[0]);
        return;
    }
    text_add(ret, "[");
    for (size_t k = 0; cell[k]; k++) {
        text_add(ret, "%s", k ? ", " : "");
        export_json_text(ret, cell[k]);
    }
    text_add(ret, "]");
}

static void add_row(struct text *ret, const struct check_matrix *matrix, size_t row)
{
    text_add(ret, "[");
    for (size_t c = 0; c < matrix->size; c++) {
        text_add(ret, "%s", c ? ", " : "");
        add_cell(ret, matrix->cells[row * matrix->size + c]);
    }
    text_add(ret, "]");
}

void export_matrix_json(const struct check_matrix *matrix, struct text *ret)
{
    text_add(ret, "[\n");
    for (size_t r = 0; r < matrix->size; r++) {
        text_add(ret, "    ");
        add_row(ret, matrix, r);
        text_add(ret, "%s\n", r + 1 < matrix->size ? "," : "");
    }
    text_add(ret, "]\n");
}

static void add_host_start(struct text *ret, const char *name)
{
    text_add(ret, "    {\n        \"ssh\": ");
    export_json_text(ret, name);
    text_add(ret, ",\n        \"ips\": [");
}

void export_hosts_json(const struct check_matrix *matrix, const struct cluster *cluster,
                       const char *const *ips, struct text *ret)
{
    text_add(ret, "[\n");
    for (size_t r = 0; r < matrix->size; r++) {
        uint32_t host = matrix->hosts[r].ix;
        char stand_in[32];

        (void)snprintf(stand_in, sizeof stand_in, "192.0.2.%zu", r % 254 + 1);
        add_host_start(ret, cluster->hosts[host].name);
        export_json_text(ret, ips && ips[host] ? ips[host] : stand_in);
        text_add(ret, "],\n        \"rdma\": ");
        add_row(ret, matrix, r);
        text_add(ret, "\n    }%s\n", r + 1 < matrix->size ? "," : "");
    }
    text_add(ret, "]\n");
}

bool export_tcp_ring_json(const struct cluster *cluster, struct arena *arena, struct text *ret,
                          struct err *reterr)
{
    struct rank_list ranks;

    if (!list_ranks(cluster, arena, LINK_IP, &ranks, reterr))
        return false;
    if (!order_as_ring(&ranks))
        return err_set(reterr, ERR_CONFLICT, (struct src_pos){0},
                       "the cables form no ring through all %zu computers", ranks.count);

    size_t wires = least_wires(&ranks);

    text_add(ret, "[\n");
    for (size_t r = 0; r < ranks.count; r++) {
        struct cluster_end ports[PATHS_MAX];
        host_id before = ranks.hosts[(r + ranks.count - 1) % ranks.count];
        size_t count = find_ports(cluster, ranks.hosts[r], before, LINK_IP, ports, wires);

        add_host_start(ret, cluster->hosts[ranks.hosts[r].ix].name);
        for (size_t k = 0; k < count; k++) {
            text_add(ret, "%s", k ? ", " : "");
            export_json_text(ret, port_address_of(cluster, ports[k], arena).address);
        }
        text_add(ret, "],\n        \"rdma\": []\n    }%s\n", r + 1 < ranks.count ? "," : "");
    }
    text_add(ret, "]\n");
    return true;
}
