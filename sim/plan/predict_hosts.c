/* SPDX-License-Identifier: Apache-2.0 */
/*
 * DOC: Machines and cables of a measurement
 *
 * hosts: machine models of the catalogue or names from models/aliases.csv, joined by " - ", " + ",
 * "<->" or " and "; "4 x NAME" stands for four, and a single name for all nodes. Each Mac runs the
 * newest macOS of the catalogue, set up as MLX's documentation asks: RDMA on, no bridge, an address
 * on each cable. Rings are cabled as rings, everything else as a full mesh, on the lowest free
 * ports, with the number of cables that the row states or one.
 */
#include <assert.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "sim/base/arena.h"
#include "sim/base/ids.h"
#include "sim/base/units.h"
#include "sim/fabric/cluster.h"
#include "sim/fabric/model.h"
#include "sim/plan/measurement.h"
#include "sim/plan/predict.h"
#include "sim/plan/predict_parts.h"
#include "sim/plan/words.h"
#include "sim/workload/run.h"

#define HOSTS_MAX UINT32_C(64)
/* Cables of the catalogue that a row without any word about them stands for. */
#define TB5_CABLE "tb5-1m"
#define TB4_CABLE "tb4-1m"

bool predict_refuse(const struct predict_maker *p, const char *format, ...)
{
    va_list args;

    va_start(args, format);
    (void)vsnprintf(p->reason, PREDICT_REASON_MAX, format, args);
    va_end(args);
    return false;
}

static const char *trim(struct arena *arena, const char *begin, size_t length)
{
    while (length > 0 && begin[0] == ' ') {
        begin++;
        length--;
    }
    while (length > 0 && begin[length - 1] == ' ')
        length--;
    return arena_copy_text(arena, begin, length);
}

/* "4 x M3 Ultra" or "4x M3 Ultra" or "4× M3 Ultra": the count, and the text moves behind it. */
static uint32_t take_count(const char **text)
{
    const char *at = *text;
    uint32_t count = 0;

    while (*at >= '0' && *at <= '9' && count < 1000)
        count = count * 10 + (uint32_t)(*at++ - '0');
    if (count == 0)
        return 1;
    while (*at == ' ')
        at++;
    if (strncmp(at, "\xc3\x97", 2) == 0)
        at += 2;
    else if ((*at == 'x' || *at == 'X') && at[1] == ' ')
        at++;
    else
        return 1;
    while (*at == ' ')
        at++;
    *text = at;
    return count;
}

/* Where the next joint of a list of hosts is; its length, or 0 at the end of the text. */
static size_t find_joint(const char *text, size_t *ret_at)
{
    static const char *const joints[] = {" - ", " + ", " <-> ", "<->", " and "};

    for (*ret_at = 0; text[*ret_at] != '\0'; (*ret_at)++) {
        for (size_t i = 0; i < sizeof joints / sizeof joints[0]; i++) {
            size_t length = words_match(text + *ret_at, joints[i]);

            if (length > 0)
                return length;
        }
    }
    return 0;
}

static const struct machine_model *find_model(const struct predict_maker *p, const char *name)
{
    const struct predict_source *source = p->source;
    const struct machine_model *model = catalog_find_machine(source->catalog, name);

    for (size_t i = 0; !model && i < source->alias_count; i++) {
        const char *alias = source->aliases[i].name;

        if (strlen(alias) == strlen(name) && words_match(alias, name) == strlen(name))
            model = catalog_find_machine(source->catalog, source->aliases[i].model);
    }
    return model;
}

/* Reads the column `hosts` into models[HOSTS_MAX], one for each node. */
static bool find_models(const struct predict_maker *p, const struct machine_model **models)
{
    const char *text = p->row->hosts;
    uint32_t found = 0;
    size_t joint;

    if (p->row->nodes > HOSTS_MAX)
        return predict_refuse(p, "more than %u machines", HOSTS_MAX);
    do {
        size_t at;
        const char *word;
        uint32_t count;
        const struct machine_model *model;

        joint = find_joint(text, &at);
        word = trim(p->arena, text, at);
        count = take_count(&word);
        model = find_model(p, word);
        if (!model)
            return predict_refuse(
                p,
                "'%s' is neither a machine of the catalogue (tbmesh models) nor a name in "
                "models/aliases.csv",
                word);
        for (uint32_t i = 0; i < count && found < HOSTS_MAX; i++)
            models[found++] = model;
        text += at + joint;
    } while (joint > 0);
    for (uint32_t i = 1; found == 1 && i < p->row->nodes; i++)
        models[i] = models[0];
    if (found != 1 && found != p->row->nodes)
        return predict_refuse(p, "hosts '%s' are not as many as the column nodes says",
                              p->row->hosts);
    return true;
}

/* A host as MLX's set-up documentation asks: RDMA on, no bridge, an address on each cable. */
static void add_host(const struct predict_maker *p, struct predict_case *c,
                     const struct machine_model *model)
{
    const struct catalog *catalog = p->source->catalog;
    const struct macos_model *macos = &catalog->macos[catalog->macos_count - 1];
    size_t ix = c->cluster.host_count++;
    struct cluster_host *host = &c->cluster.hosts[ix];
    struct machine_model *own = arena_alloc(p->arena, sizeof *own);
    bool is_mac = model->kind == MACHINE_MAC;

    *own = *model;
    c->chips[ix] = *model->chip;
    own->chip = &c->chips[ix];
    *host = (struct cluster_host){
        .name = arena_format(p->arena, "node%zu", ix + 1),
        .model = own,
        .macos = is_mac ? macos->version : "",
        .macos_profile = is_mac ? macos : NULL,
        .is_rdma_enabled = model->is_rdma_capable,
        .ports = arena_alloc_array(p->arena, model->port_count, sizeof *host->ports),
        .port_count = model->port_count,
        .pos = p->row->pos,
    };
    for (size_t i = 0; i < model->port_count; i++)
        host->ports[i] = (struct cluster_port){.model = &model->ports[i], .cable = {ID_NONE}};
}

static struct cluster_port *free_port(struct cluster_host *host, uint32_t *ret)
{
    for (uint32_t i = 0; i < host->port_count; i++) {
        if (host->ports[i].cable.ix == ID_NONE && host->ports[i].model->kind == PORT_THUNDERBOLT) {
            *ret = i;
            return &host->ports[i];
        }
    }
    return NULL;
}

static bitrate least_rate(bitrate a, bitrate b, bitrate c)
{
    bitrate least = a.bps < b.bps ? a : b;

    return least.bps < c.bps ? least : c;
}

/* Joins two hosts on their lowest free ports. */
static bool add_cable(const struct predict_maker *p, struct predict_case *c, uint32_t a, uint32_t b)
{
    struct cluster *cluster = &c->cluster;
    uint32_t ix = (uint32_t)cluster->cable_count;
    struct cluster_cable *cable = &cluster->cables[ix];
    uint32_t at_a = 0;
    uint32_t at_b = 0;
    struct cluster_port *port_a = free_port(&cluster->hosts[a], &at_a);
    struct cluster_port *port_b = free_port(&cluster->hosts[b], &at_b);
    const struct cable_model *model;

    if (!port_a || !port_b)
        return predict_refuse(p, "%s has too few Thunderbolt ports for these cables",
                              cluster->hosts[port_a ? b : a].model->name);
    model = catalog_find_cable(
        p->source->catalog,
        port_a->model->generation >= 5 && port_b->model->generation >= 5 ? TB5_CABLE : TB4_CABLE);
    if (!model)
        return predict_refuse(p, "the catalogue has no cable " TB5_CABLE " or " TB4_CABLE);
    port_a->cable = port_b->cable = (cable_id){ix};
    *cable = (struct cluster_cable){
        .a = {{a}, at_a},
        .b = {{b}, at_b},
        .model = model,
        .rate_ab = least_rate(port_a->model->rate, port_b->model->rate, model->rate_forward),
        .rate_ba = least_rate(port_a->model->rate, port_b->model->rate, model->rate_reverse),
        .pos = p->row->pos,
    };
    cluster->cable_count++;
    return true;
}

static bool is_ring_library(enum run_library library)
{
    return library == LIBRARY_JACCL_RING || library == LIBRARY_TCP_RING || library == LIBRARY_RING;
}

/* Cables every pair, or every pair of neighbours of a ring. */
// NOLINTNEXTLINE(readability-function-size): pairs and their cables are three plain loops
static bool add_cables(const struct predict_maker *p, struct predict_case *c)
{
    uint32_t n = p->row->nodes;
    uint32_t each = p->row->cables_per_pair > 0 ? p->row->cables_per_pair : 1;
    bool is_ring = is_ring_library(c->item.library);

    c->cluster.cables =
        arena_alloc_array(p->arena, (size_t)n * n / 2 * each + each, sizeof *c->cluster.cables);
    for (uint32_t a = 0; a < n; a++) {
        for (uint32_t b = a + 1; b < n; b++) {
            bool is_wanted = !is_ring || b == a + 1 || (a == 0 && b == n - 1);

            for (uint32_t k = 0; is_wanted && k < each; k++) {
                if (!add_cable(p, c, a, b))
                    return false;
            }
        }
    }
    return true;
}

bool predict_make_cluster(const struct predict_maker *p, struct predict_case *c)
{
    const struct machine_model *models[HOSTS_MAX] = {NULL};
    host_id *nodes;

    if (p->source->catalog->macos_count == 0 || p->row->nodes < 2)
        return predict_refuse(p, "traffic needs two machines, not %u", p->row->nodes);
    if (!find_models(p, models))
        return false;
    c->cluster.hosts = arena_alloc_array(p->arena, p->row->nodes, sizeof *c->cluster.hosts);
    c->chips = arena_alloc_array(p->arena, p->row->nodes, sizeof *c->chips);
    nodes = arena_alloc_array(p->arena, p->row->nodes, sizeof *nodes);
    for (uint32_t i = 0; i < p->row->nodes; i++) {
        assert(models[i]); /* find_models filled that many */
        if (!models[i]->chip)
            return predict_refuse(p, "%s is no computer", models[i]->name);
        add_host(p, c, models[i]);
        nodes[i].ix = i;
    }
    c->item.nodes = nodes;
    c->item.node_count = p->row->nodes;
    return add_cables(p, c);
}
