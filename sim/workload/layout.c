/* SPDX-License-Identifier: Apache-2.0 */
/*
 * DOC: Layouts
 *
 * A library decides which ranks are connected, over which cables and by how many threads:
 *
 * - JACCL's mesh and the textbook mesh connect every pair over its first cable (JACCL looks only at
 *   the first device of a cell of its matrix). JACCL's mesh holds at most 8 ranks.
 * - Rings connect each rank with the next over W wires; wire k is the same cable at both ends. With
 *   two ranks, left and right are the same machine, so each cable carries two queue pairs. JACCL
 *   runs one thread a wire from 2026-08 on and one thread for all before; MLX's TCP ring runs a
 *   thread for each wire and direction.
 * - Recursive doubling, halving-doubling and the binomial tree meet partner v xor 2^k.
 * - Point-to-point operations use a chain of two ranks. Macs do not forward (Apple TN3205,
 *   2026-04-13), so where two machines share no cable the application does, along the path with the
 *   fewest machines; among equals the one through the machines named first in the scenario.
 *
 * A path over a hub or a switch counts as a cable.
 */
#include "sim/workload/layout.h"

#include <stddef.h>

#include "sim/base/text.h"
#include "sim/fabric/model.h"

#define PATHS_MAX 16U

/* What layout_make hands down. */
struct maker {
    const struct run_item *item;
    const struct cluster *cluster;
    struct arena *arena;
    struct err *reterr;
};

static const char *host_name(const struct maker *m, host_id host)
{
    return m->cluster->hosts[host.ix].name;
}

static bool is_usable(const struct maker *m, enum fabric_qp_kind kind,
                      const struct cluster_path *path)
{
    for (uint32_t hop = 0; kind == FABRIC_QP_RDMA && hop < path->hops; hop++) {
        if (!cluster_cable_has_rdma(m->cluster, path->cables[hop]))
            return false;
    }
    return true;
}

/* The usable paths from a to b; ret[PATHS_MAX]. */
static uint32_t find_paths(const struct maker *m, enum fabric_qp_kind kind, host_id a, host_id b,
                           struct cluster_path *ret)
{
    struct cluster_path all[PATHS_MAX];
    size_t found = cluster_find_paths(m->cluster, a, b, all, PATHS_MAX);
    uint32_t count = 0;

    for (size_t i = 0; i < found && i < PATHS_MAX; i++) {
        if (is_usable(m, kind, &all[i]))
            ret[count++] = all[i];
    }
    return count;
}

/* Says why a pair cannot be connected. */
static bool refuse_pair(const struct maker *m, enum fabric_qp_kind kind, host_id a, host_id b)
{
    const char *library = run_library_name(m->item->library);

    if (kind == FABRIC_QP_RDMA && cluster_find_paths(m->cluster, a, b, NULL, 0) > 0)
        return err_set(
            m->reterr, ERR_CONFLICT, m->item->pos,
            "%s needs RDMA between %s and %s, and no cable between them has it: both ends "
            "must be Thunderbolt 5 with RDMA enabled",
            library, host_name(m, a), host_name(m, b));
    return err_set(m->reterr, ERR_CONFLICT, m->item->pos,
                   "%s needs a cable between %s and %s, and there is none", library,
                   host_name(m, a), host_name(m, b));
}

static void alloc_lanes(const struct maker *m, struct layout *l)
{
    uint64_t count = (uint64_t)l->ranks * l->threads * l->lanes;

    l->lane = arena_alloc_array(m->arena, count, sizeof *l->lane);
    for (uint64_t i = 0; i < count; i++) {
        l->lane[i].peer = ID_NONE;
        l->lane[i].qp.ix = ID_NONE;
    }
}

/* One end of a lane: thread and lane number. */
struct lane_end {
    uint32_t thread;
    uint32_t lane;
};

static void connect_lanes(struct layout *l, struct lane_end a, struct lane_end b,
                          const struct cluster_path *path)
{
    struct cluster_path back = *path;

    if (path->hops == 2) {
        back.cables[0] = path->cables[1];
        back.cables[1] = path->cables[0];
    }
    *layout_lane(l, a.thread, a.lane) =
        (struct lane){.peer = b.thread, .peer_lane = b.lane, .path = *path, .qp = {ID_NONE}};
    *layout_lane(l, b.thread, b.lane) =
        (struct lane){.peer = a.thread, .peer_lane = a.lane, .path = back, .qp = {ID_NONE}};
    l->lane_ends += 2;
}

/* Connects two ranks of a layout with one thread a rank over their first path. */
static bool connect_first(const struct maker *m, struct layout *l, struct lane_end a,
                          struct lane_end b)
{
    struct cluster_path paths[PATHS_MAX] = {0};

    if (find_paths(m, l->kind, l->hosts[a.thread], l->hosts[b.thread], paths) == 0)
        return refuse_pair(m, l->kind, l->hosts[a.thread], l->hosts[b.thread]);
    connect_lanes(l, a, b, &paths[0]);
    return true;
}

static bool make_mesh(const struct maker *m, struct layout *l)
{
    if (m->item->library == LIBRARY_JACCL_MESH && l->ranks > JACCL_MESH_RANKS_MAX)
        return err_set(m->reterr, ERR_LIMIT, m->item->pos,
                       "the JACCL mesh supports up to %u ranks, this run has %u",
                       JACCL_MESH_RANKS_MAX, l->ranks);
    l->wires = 1;
    l->threads = 1;
    l->lanes = l->ranks - 1;
    alloc_lanes(m, l);
    for (uint32_t a = 0; a < l->ranks; a++) {
        for (uint32_t b = a + 1; b < l->ranks; b++) {
            struct lane_end end_a = {a, layout_mesh_lane(a, b)};
            struct lane_end end_b = {b, layout_mesh_lane(b, a)};

            if (!connect_first(m, l, end_a, end_b))
                return false;
        }
    }
    return true;
}

/* Wires that every neighbouring pair has, or the number that was asked for. */
static bool count_wires(const struct maker *m, const struct layout *l, uint32_t pairs,
                        uint32_t *ret)
{
    struct cluster_path paths[PATHS_MAX] = {0};
    uint32_t most = m->item->library == LIBRARY_JACCL_RING ? JACCL_WIRES_MAX : PATHS_MAX;
    uint32_t wires = m->item->wires ? m->item->wires : most;

    if (wires > most)
        return err_set(m->reterr, ERR_LIMIT, m->item->pos,
                       "%s uses at most %u wires a neighbour, %u are asked for",
                       run_library_name(m->item->library), most, wires);
    for (uint32_t i = 0; i < pairs; i++) {
        host_id a = l->hosts[i];
        host_id b = l->hosts[(i + 1) % l->ranks];
        uint32_t count = find_paths(m, l->kind, a, b, paths);

        if (count == 0)
            return refuse_pair(m, l->kind, a, b);
        if (count < wires && m->item->wires)
            return err_set(m->reterr, ERR_CONFLICT, m->item->pos,
                           "%u wires are asked for, but %s and %s share %u", wires, host_name(m, a),
                           host_name(m, b), count);
        if (count < wires)
            wires = count;
    }
    *ret = wires;
    return true;
}

/* Lanes of wire w between two neighbouring ranks, for each thread that works on it. */
static void connect_wire(struct layout *l, uint32_t a, uint32_t b, uint32_t w,
                         const struct cluster_path *path)
{
    uint32_t copies = l->threads < l->wires ? 1 : l->threads / l->wires;

    for (uint32_t i = 0; i < copies; i++) {
        uint32_t thread = l->threads == 1 ? 0 : w * copies + i;
        uint32_t lane = l->threads == 1 ? 2 * w : 0;
        struct lane_end end_a = {a * l->threads + thread, lane};
        struct lane_end end_b = {b * l->threads + thread, lane + 1};

        connect_lanes(l, end_a, end_b, path);
    }
}

static bool make_ring(const struct maker *m, struct layout *l)
{
    bool is_tcp = l->kind == FABRIC_QP_IP;
    bool is_single = m->item->library == LIBRARY_JACCL_RING && m->item->jaccl < JACCL_2026_08;
    struct cluster_path paths[PATHS_MAX] = {0};

    if (!count_wires(m, l, l->ranks, &l->wires))
        return false;
    l->threads = is_single ? 1 : l->wires * (is_tcp ? 2 : 1);
    l->lanes = l->threads == 1 ? 2 * l->wires : 2;
    alloc_lanes(m, l);
    for (uint32_t a = 0; a < l->ranks; a++) {
        uint32_t b = (a + 1) % l->ranks;

        find_paths(m, l->kind, l->hosts[a], l->hosts[b], paths);
        for (uint32_t w = 0; w < l->wires; w++)
            connect_wire(l, a, b, w, &paths[w]);
    }
    return true;
}

/* Does the library's pattern use the edge between v and v xor 2^k? */
static bool uses_cube_edge(enum run_library library, uint32_t ranks, uint32_t v, uint32_t k)
{
    uint32_t low = v & ~(UINT32_C(1) << k);
    uint32_t high = v | UINT32_C(1) << k;
    uint32_t power = UINT32_C(1) << (layout_dimensions(ranks + 1) - 1);

    if (high >= ranks)
        return false;
    if (library == LIBRARY_BINOMIAL_TREE)
        return (low & ((UINT32_C(1) << k) - 1)) == 0;
    /* Below the largest power of two all edges; above it only the one to the partner below. */
    return high < power || (UINT32_C(1) << k) == power;
}

static bool make_cube(const struct maker *m, struct layout *l)
{
    uint32_t root = m->item->op == RUN_BROADCAST ? m->item->root : 0;

    l->wires = 1;
    l->threads = 1;
    l->lanes = layout_dimensions(l->ranks);
    alloc_lanes(m, l);
    for (uint32_t v = 0; v < l->ranks; v++) {
        for (uint32_t k = 0; k < l->lanes; k++) {
            uint32_t partner = v ^ UINT32_C(1) << k;
            struct lane_end a = {(v + root) % l->ranks, k};
            struct lane_end b = {(partner + root) % l->ranks, k};

            if (partner < v || !uses_cube_edge(m->item->library, l->ranks, v, k))
                continue;
            if (!connect_first(m, l, a, b))
                return false;
        }
    }
    return true;
}

static bool is_computer(const struct cluster_host *host)
{
    return host->model->kind == MACHINE_MAC || host->model->kind == MACHINE_OTHER;
}

/* Breadth-first search from `from`; before[h] becomes the machine before h, ID_NONE if none. */
static void search_paths(const struct maker *m, enum fabric_qp_kind kind, host_id from,
                         uint32_t *before)
{
    size_t hosts = m->cluster->host_count;
    uint32_t *queue = arena_alloc_array(m->arena, hosts, sizeof *queue);
    struct cluster_path paths[PATHS_MAX] = {0};
    size_t head = 0;
    size_t tail = 0;

    for (size_t i = 0; i < hosts; i++)
        before[i] = ID_NONE;
    before[from.ix] = from.ix;
    queue[tail++] = from.ix;
    while (head < tail) {
        host_id at = {queue[head++]};

        for (uint32_t i = 0; i < hosts; i++) {
            if (before[i] != ID_NONE || !is_computer(&m->cluster->hosts[i]) ||
                find_paths(m, kind, at, (host_id){i}, paths) == 0)
                continue;
            before[i] = at.ix;
            queue[tail++] = i;
        }
    }
}

/* Lists the machines from `from` to `to`; false when there is no way. */
static bool list_chain(const struct maker *m, struct layout *l, host_id from, host_id to)
{
    uint32_t *before = arena_alloc_array(m->arena, m->cluster->host_count, sizeof *before);
    uint32_t count = 1;

    search_paths(m, l->kind, from, before);
    if (before[to.ix] == ID_NONE)
        return err_set(m->reterr, ERR_CONFLICT, m->item->pos,
                       "%s finds no way from %s to %s, not even through other machines",
                       run_library_name(m->item->library), host_name(m, from), host_name(m, to));
    for (uint32_t at = to.ix; at != from.ix; at = before[at])
        count++;
    l->ranks = count;
    l->hosts = arena_alloc_array(m->arena, count, sizeof *l->hosts);
    for (uint32_t at = to.ix, i = count; i > 0; at = before[at])
        l->hosts[--i] = (host_id){at};
    if (count > 2)
        l->note =
            arena_format(m->arena,
                         "%s and %s share no cable: the application forwards over %u machine%s "
                         "between them, chunk by chunk",
                         host_name(m, from), host_name(m, to), count - 2, count > 3 ? "s" : "");
    return true;
}

/* The ring libraries send over all wires of a neighbour, JACCL's only to neighbours. */
static bool check_neighbours(const struct maker *m)
{
    uint32_t n = (uint32_t)m->item->node_count;
    uint32_t distance = (m->item->to + n - m->item->from) % n;

    if (distance == 1 || distance == n - 1)
        return true;
    return err_set(m->reterr, ERR_CONFLICT, m->item->pos,
                   "%s sends only to direct neighbours in the ring; ranks %u and %u are %u apart",
                   run_library_name(m->item->library), m->item->from, m->item->to,
                   distance < n - distance ? distance : n - distance);
}

static bool check_ends(const struct maker *m)
{
    const struct run_item *item = m->item;

    if (item->from >= item->node_count || item->to >= item->node_count || item->from == item->to)
        return err_set(m->reterr, ERR_RANGE, item->pos,
                       "from %u to %u: both must be ranks below %zu, and not the same", item->from,
                       item->to, item->node_count);
    if (item->library == LIBRARY_JACCL_RING || item->library == LIBRARY_TCP_RING)
        return check_neighbours(m);
    return true;
}

/* MLX's libraries send to machines at the other end of a cable only. */
static bool forwards(enum run_library library)
{
    return library != LIBRARY_JACCL_MESH && library != LIBRARY_JACCL_RING &&
           library != LIBRARY_TCP_RING;
}

static bool make_chain(const struct maker *m, struct layout *l)
{
    const struct run_item *item = m->item;
    bool has_wires = item->library == LIBRARY_JACCL_RING || item->library == LIBRARY_TCP_RING;
    struct cluster_path paths[PATHS_MAX] = {0};
    host_id from;
    host_id to;

    if (!check_ends(m))
        return false;
    from = item->nodes[item->from];
    to = item->nodes[item->to];
    if (!forwards(item->library) && find_paths(m, l->kind, from, to, paths) == 0)
        return refuse_pair(m, l->kind, from, to);
    if (!list_chain(m, l, from, to))
        return false;
    l->wires = 1;
    if (has_wires && !count_wires(m, l, 1, &l->wires))
        return false;
    l->threads = l->wires;
    l->lanes = 2;
    alloc_lanes(m, l);
    for (uint32_t i = 0; i + 1 < l->ranks; i++) {
        find_paths(m, l->kind, l->hosts[i], l->hosts[i + 1], paths);
        for (uint32_t w = 0; w < l->wires; w++) {
            struct lane_end a = {i * l->threads + w, 1};
            struct lane_end b = {(i + 1) * l->threads + w, 0};

            connect_lanes(l, a, b, &paths[w]);
        }
    }
    return true;
}

static enum layout_shape shape_of(const struct run_item *item)
{
    if (item->op == RUN_SEND_RECV || item->op == RUN_PING_PONG || item->op == RUN_STREAM)
        return LAYOUT_CHAIN;
    switch (item->library) {
    case LIBRARY_JACCL_RING:
    case LIBRARY_TCP_RING:
    case LIBRARY_RING:
        return LAYOUT_RING;
    case LIBRARY_RECURSIVE_DOUBLING:
        return item->op == RUN_ALL_TO_ALL ? LAYOUT_MESH : LAYOUT_CUBE;
    case LIBRARY_HALVING_DOUBLING:
    case LIBRARY_BINOMIAL_TREE:
        return LAYOUT_CUBE;
    case LIBRARY_JACCL_MESH:
    case LIBRARY_MESH:
    case LIBRARY_VERBS:
    case LIBRARY_TCP:
    case LIBRARY_COUNT:
        break;
    }
    return LAYOUT_MESH;
}

bool run_is_offered(enum run_library library, enum run_op op)
{
#define OP(id) (UINT32_C(1) << RUN_##id)
    static const uint32_t offered[LIBRARY_COUNT] = {
        [LIBRARY_JACCL_MESH] =
            OP(ALL_REDUCE) | OP(ALL_GATHER) | OP(REDUCE_SCATTER) | OP(BARRIER) | OP(SEND_RECV),
        [LIBRARY_JACCL_RING] =
            OP(ALL_REDUCE) | OP(ALL_GATHER) | OP(REDUCE_SCATTER) | OP(BARRIER) | OP(SEND_RECV),
        [LIBRARY_TCP_RING] = OP(ALL_REDUCE) | OP(ALL_GATHER) | OP(BARRIER) | OP(SEND_RECV),
        [LIBRARY_RING] = OP(ALL_REDUCE) | OP(ALL_GATHER) | OP(REDUCE_SCATTER) | OP(BROADCAST) |
                         OP(BARRIER) | OP(SEND_RECV),
        [LIBRARY_MESH] = OP(ALL_REDUCE) | OP(ALL_GATHER) | OP(REDUCE_SCATTER) | OP(ALL_TO_ALL) |
                         OP(BROADCAST) | OP(BARRIER) | OP(SEND_RECV),
        [LIBRARY_RECURSIVE_DOUBLING] =
            OP(ALL_REDUCE) | OP(ALL_GATHER) | OP(ALL_TO_ALL) | OP(BARRIER),
        [LIBRARY_HALVING_DOUBLING] =
            OP(ALL_REDUCE) | OP(ALL_GATHER) | OP(REDUCE_SCATTER) | OP(BARRIER),
        [LIBRARY_BINOMIAL_TREE] = OP(ALL_REDUCE) | OP(BROADCAST) | OP(BARRIER),
        [LIBRARY_VERBS] = OP(SEND_RECV) | OP(PING_PONG) | OP(STREAM),
        [LIBRARY_TCP] = OP(SEND_RECV) | OP(PING_PONG) | OP(STREAM),
    };
#undef OP
    return offered[library] >> op & 1;
}

/* "all_reduce, all_gather and barrier": what a library offers. */
static const char *list_offered(const struct maker *m)
{
    struct text text;

    text_init(&text, m->arena);
    for (int op = 0; op < RUN_OP_COUNT; op++) {
        if (run_is_offered(m->item->library, (enum run_op)op))
            text_add_item(&text, ", ", run_op_name((enum run_op)op));
    }
    return text.bytes;
}

static bool check_item(const struct maker *m)
{
    const struct run_item *item = m->item;

    if (!run_is_offered(item->library, item->op))
        return err_set(m->reterr, ERR_CONFLICT, item->pos, "%s has no %s; it has %s",
                       run_library_name(item->library), run_op_name(item->op), list_offered(m));
    if (item->library == LIBRARY_JACCL_RING && item->jaccl < JACCL_2026_02)
        return err_set(m->reterr, ERR_CONFLICT, item->pos, "JACCL %s has no ring; it came with %s",
                       jaccl_version_name(item->jaccl), jaccl_version_name(JACCL_2026_02));
    if (item->node_count < 2)
        return err_set(m->reterr, ERR_RANGE, item->pos, "%s needs at least 2 machines, not %zu",
                       run_op_name(item->op), item->node_count);
    if (item->op == RUN_BROADCAST && item->root >= item->node_count)
        return err_set(m->reterr, ERR_RANGE, item->pos, "root %u is not a rank below %zu",
                       item->root, item->node_count);
    for (size_t i = 0; i < item->node_count; i++) {
        const struct cluster_host *host = &m->cluster->hosts[item->nodes[i].ix];

        if (!is_computer(host))
            return err_set(m->reterr, ERR_CONFLICT, item->pos,
                           "%s is not a computer and cannot run a rank", host->name);
    }
    return true;
}

bool layout_make(const struct run_item *item, const struct cluster *cluster, struct arena *arena,
                 struct layout *ret, struct err *reterr)
{
    struct maker m = {item, cluster, arena, reterr};
    bool is_ip = item->library == LIBRARY_TCP || item->library == LIBRARY_TCP_RING;

    if (!check_item(&m))
        return false;
    *ret = (struct layout){
        .shape = shape_of(item),
        .kind = is_ip ? FABRIC_QP_IP : FABRIC_QP_RDMA,
        .ranks = (uint32_t)item->node_count,
        .hosts = arena_alloc_array(arena, item->node_count, sizeof *ret->hosts),
    };
    for (size_t i = 0; i < item->node_count; i++)
        ret->hosts[i] = item->nodes[i];
    switch (ret->shape) {
    case LAYOUT_RING:
        return make_ring(&m, ret);
    case LAYOUT_MESH:
        return make_mesh(&m, ret);
    case LAYOUT_CUBE:
        return make_cube(&m, ret);
    case LAYOUT_CHAIN:
        return make_chain(&m, ret);
    }
    return false;
}
