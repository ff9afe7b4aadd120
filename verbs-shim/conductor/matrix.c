/* SPDX-License-Identifier: Apache-2.0 */
#include "verbs-shim/conductor/matrix.h"

#include <string.h>

#include "sim/base/text.h"
#include "sim/fabric/cluster.h"
#include "sim/fabric/model.h"
#include "sim/plan/check.h"
#include "sim/report/export_mlx.h"
#include "verbs-shim/proto/proto.h"

static bool is_computer(const struct cluster_host *host)
{
    return host->model->kind == MACHINE_MAC || host->model->kind == MACHINE_OTHER;
}

static const char *print(const struct check_matrix *matrix, struct arena *arena)
{
    struct text text;

    text_init(&text, arena);
    export_matrix_json(matrix, &text);
    return text.bytes;
}

/* The cluster with only its first `count` computers; hubs behind them stay reachable by number. */
static struct cluster first_computers(const struct cluster *cluster, uint32_t count)
{
    struct cluster part = *cluster;
    uint32_t seen = 0;

    for (size_t i = 0; i < cluster->host_count && seen < count; i++) {
        seen += is_computer(&cluster->hosts[i]);
        part.host_count = i + 1;
    }
    return part;
}

static void make_matrix(const struct scenario *scenario, uint32_t count, struct arena *arena,
                        struct matrix *ret)
{
    const struct cluster part = first_computers(&scenario->cluster, count);
    const struct export_request request = {.shape = EXPORT_AUTO};
    const struct export_request wires = {.shape = EXPORT_RING};
    struct check_matrix matrix;
    struct err none = {0};

    if (!export_matrix(&part, &request, arena, &matrix, &none))
        return; /* programs that need no matrix run all the same */
    memcpy(ret->hosts, matrix.hosts, count * sizeof *ret->hosts);
    ret->json = print(&matrix, arena);
    ret->is_ring = matrix.prefers_ring;
    /* In a ring of two or three, neighbours are all that there is: a list of wires in each cell
     * serves a mesh as well, which takes the first one. */
    if (!matrix.prefers_ring && count <= 3 && export_matrix(&part, &wires, arena, &matrix, &none) &&
        memcmp(ret->hosts, matrix.hosts, count * sizeof *ret->hosts) == 0)
        ret->json = print(&matrix, arena);
}

bool matrix_place_ranks(const struct scenario *scenario, uint32_t count, struct arena *arena,
                        struct matrix *ret, struct err *reterr)
{
    const struct cluster *cluster = &scenario->cluster;
    host_id *hosts = arena_alloc_array(arena, cluster->host_count + 1, sizeof *hosts);
    uint32_t found = 0;

    *ret = (struct matrix){.hosts = hosts};
    for (uint32_t i = 0; i < cluster->host_count; i++) {
        if (is_computer(&cluster->hosts[i]))
            hosts[found++] = (host_id){i};
    }
    count = count > 0 ? count : found;
    if (count > found)
        return err_set(reterr, ERR_LIMIT, (struct src_pos){0},
                       "%u ranks, but '%.80s' has %u computer%s", count, scenario->name, found,
                       found == 1 ? "" : "s");
    if (count == 0)
        return err_set(reterr, ERR_LIMIT, (struct src_pos){0}, "'%.80s' has no computer to run on",
                       scenario->name);
    if (count > PROTO_RANKS_MAX)
        return err_set(reterr, ERR_LIMIT, (struct src_pos){0},
                       "%u ranks; the emulator runs up to %u (--ranks N takes the first N)", count,
                       PROTO_RANKS_MAX);
    if (scenario->matrix.size == count) {
        memcpy(hosts, scenario->matrix.hosts, count * sizeof *hosts);
        ret->json = print(&scenario->matrix, arena);
        ret->is_ring = scenario->matrix.prefers_ring;
    } else {
        make_matrix(scenario, count, arena, ret);
    }
    ret->rank_count = count;
    return true;
}
