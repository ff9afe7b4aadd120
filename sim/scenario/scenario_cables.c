/* SPDX-License-Identifier: Apache-2.0 */
/*
 * DOC: Cables
 *
 * Cables one by one, port by port, or by a generator (pair, chain, ring, mesh, star, torus). A
 * generator takes the lowest free port of the cable's kind on each machine, in the order of its
 * list: for a mesh of a, b, c that is a-b, a-c, b-c. A direction's rate is the least of the two
 * ports and the cable. A Thunderbolt 5 port has four lanes of 40 Gb/s, two each way; on an
 * asymmetric cable three run one way and one the other, so the port's limit is 120 Gb/s there
 * (Synopsys bulletin on USB4v2; Ars Technica citing Apple, 2024).
 *
 * A mesh of all computers that has too few ports is no error here: how far it falls short is what
 * `check` answers. The cables that fit are laid, the goal is noted, and a warning says how many
 * are missing. Any other generator that runs out of ports is an error.
 */
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "sim/base/arena.h"
#include "sim/base/err.h"
#include "sim/base/ids.h"
#include "sim/base/units.h"
#include "sim/fabric/cluster.h"
#include "sim/fabric/model.h"
#include "sim/plan/check.h"
#include "sim/scenario/build.h"
#include "sim/scenario/quantity.h"
#include "sim/scenario/scenario.h"
#include "sim/scenario/schema.h"
#include "sim/scenario/suggest.h"
#include "sim/scenario/yaml.h"

#define TORUS_DIMENSIONS_MAX 3

enum cable_key {
    CABLE_FROM,
    CABLE_TO,
    CABLE_PAIR,
    CABLE_CHAIN,
    CABLE_RING,
    CABLE_MESH,
    CABLE_STAR,
    CABLE_TORUS,
    CABLE_SIZE,
    CABLE_KIND,
    CABLE_COUNT,
    CABLE_RATE,
    CABLE_KEY_COUNT,
};

static const struct schema_key cable_keys[CABLE_KEY_COUNT] = {
    [CABLE_FROM] = {.key = "from", .type = SCHEMA_TEXT},
    [CABLE_TO] = {.key = "to", .type = SCHEMA_TEXT},
    [CABLE_PAIR] = {.key = "pair", .type = SCHEMA_ANY},
    [CABLE_CHAIN] = {.key = "chain", .type = SCHEMA_ANY},
    [CABLE_RING] = {.key = "ring", .type = SCHEMA_ANY},
    [CABLE_MESH] = {.key = "mesh", .type = SCHEMA_ANY},
    [CABLE_STAR] = {.key = "star", .type = SCHEMA_ANY},
    [CABLE_TORUS] = {.key = "torus", .type = SCHEMA_ANY},
    [CABLE_SIZE] = {.key = "size", .type = SCHEMA_LIST},
    [CABLE_KIND] = {.key = "kind", .type = SCHEMA_TEXT, .is_required = true},
    [CABLE_COUNT] = {.key = "cables", .type = SCHEMA_COUNT, .min = 1, .max = 64},
    [CABLE_RATE] = {.key = "rate",
                    .type = SCHEMA_RATE,
                    .min = 1000,
                    .max = INT64_C(100000000000000)},
};

static const struct schema cable_schema = {"a cable", cable_keys, CABLE_KEY_COUNT};

/* One entry of `cables:` while its cables are laid. */
struct cabling {
    struct build *build;
    const struct cable_model *model;
    uint32_t per_pair;
    bitrate rate; /* zero: as negotiated */
    struct src_pos pos;
    bool is_short_allowed;   /* a mesh of all computers */
    size_t missing;          /* cables that found no port */
    struct cluster_end full; /* a machine without a free port, of the first that is missing */
};

static const char *port_kind_text(enum port_kind kind)
{
    return kind == PORT_THUNDERBOLT ? "Thunderbolt" : "Ethernet";
}

static struct cluster_host *host_at(struct cabling *cabling, host_id host)
{
    return &cabling->build->scenario->cluster.hosts[host.ix];
}

/* The lowest free port of the cable's kind; ID_NONE when all are in use. */
static uint32_t free_port(struct cabling *cabling, host_id id)
{
    const struct cluster_host *host = host_at(cabling, id);

    for (size_t i = 0; i < host->port_count; i++) {
        if (host->ports[i].cable.ix == ID_NONE &&
            host->ports[i].model->kind == cabling->model->kind)
            return (uint32_t)i;
    }
    return ID_NONE;
}

static size_t count_ports(const struct cluster_host *host, enum port_kind kind)
{
    size_t count = 0;

    for (size_t i = 0; i < host->port_count; i++)
        count += host->ports[i].model->kind == kind;
    return count;
}

/* What a port allows in one direction on this cable. */
static uint64_t port_limit(const struct port_model *port, const struct cable_model *cable)
{
    bool is_asymmetric = cable->rate_forward.bps != cable->rate_reverse.bps;

    return is_asymmetric && port->generation >= 5 ? port->rate.bps / 2 * 3 : port->rate.bps;
}

static bitrate least_rate(uint64_t a, uint64_t b, uint64_t c)
{
    uint64_t least = a < b ? a : b;

    return (bitrate){least < c ? least : c};
}

static bool report_no_port(struct cabling *cabling, host_id id)
{
    const struct cluster_host *host = host_at(cabling, id);
    size_t ports = count_ports(host, cabling->model->kind);
    const char *kind = port_kind_text(cabling->model->kind);

    if (ports == 0)
        return err_list_add(cabling->build->errs, ERR_CONFLICT, cabling->pos,
                            "%s has no %s port for '%s': a %s has none", host->name, kind,
                            cabling->model->name, host->model->name);
    return err_list_add(cabling->build->errs, ERR_CONFLICT, cabling->pos,
                        "%s has no free %s port for this cable: all %zu of a %s are in use",
                        host->name, kind, ports, host->model->name);
}

/* An end that the user named: the port must be free and of the cable's kind. */
static bool check_end(struct cabling *cabling, struct cluster_end end)
{
    const struct cluster_host *host = host_at(cabling, end.host);
    const struct cluster_port *port = &host->ports[end.port];
    const struct cluster *cluster = &cabling->build->scenario->cluster;

    if (port->model->kind != cabling->model->kind)
        return err_list_add(cabling->build->errs, ERR_CONFLICT, cabling->pos,
                            "%s port %u (%s) is %s; '%s' is a%s %s cable", host->name,
                            port->model->number, port->model->ifname,
                            port_kind_text(port->model->kind), cabling->model->name,
                            cabling->model->kind == PORT_ETHERNET ? "n" : "",
                            port_kind_text(cabling->model->kind));
    if (port->cable.ix != ID_NONE)
        return err_list_add(cabling->build->errs, ERR_CONFLICT, cabling->pos,
                            "%s port %u (%s) is used twice: the cable at %u:%u is in it already",
                            host->name, port->model->number, port->model->ifname,
                            cluster->cables[port->cable.ix].pos.line,
                            cluster->cables[port->cable.ix].pos.col);
    return true;
}

static struct cluster_cable *append_cable(struct build *build)
{
    struct cluster *cluster = &build->scenario->cluster;

    if (cluster->cable_count == build->cable_capacity) {
        size_t capacity = build->cable_capacity ? 2 * build->cable_capacity : 64;
        struct cluster_cable *cables =
            arena_alloc_array(build->arena, capacity, sizeof *cluster->cables);

        if (cluster->cable_count > 0)
            memcpy(cables, cluster->cables, cluster->cable_count * sizeof *cables);
        cluster->cables = cables;
        build->cable_capacity = capacity;
    }
    return &cluster->cables[cluster->cable_count++];
}

/* Applies `rate:`, which may slow a cable down and not speed it up. */
static bool limit_rate(struct cabling *cabling, struct cluster_cable *cable)
{
    char most[QUANTITY_TEXT_MAX];
    uint64_t fastest =
        cable->rate_ab.bps > cable->rate_ba.bps ? cable->rate_ab.bps : cable->rate_ba.bps;

    if (cabling->rate.bps == 0)
        return true;
    if (cabling->rate.bps > fastest) {
        quantity_format(most, QUANTITY_RATE, (int64_t)fastest);
        return err_list_add(cabling->build->errs, ERR_RANGE, cabling->pos,
                            "rate: '%s' between these two ports runs at %s at most",
                            cabling->model->name, most);
    }
    if (cable->rate_ab.bps > cabling->rate.bps)
        cable->rate_ab = cabling->rate;
    if (cable->rate_ba.bps > cabling->rate.bps)
        cable->rate_ba = cabling->rate;
    return true;
}

/* Plugs one cable into two ports that are known to be free and right. */
static bool plug(struct cabling *cabling, struct cluster_end a, struct cluster_end b)
{
    struct cluster *cluster = &cabling->build->scenario->cluster;
    const struct cable_model *model = cabling->model;
    struct cluster_port *port_a = &host_at(cabling, a.host)->ports[a.port];
    struct cluster_port *port_b = &host_at(cabling, b.host)->ports[b.port];
    struct cluster_cable cable = {
        .a = a,
        .b = b,
        .model = model,
        .rate_ab = least_rate(port_limit(port_a->model, model), port_limit(port_b->model, model),
                              model->rate_forward.bps),
        .rate_ba = least_rate(port_limit(port_a->model, model), port_limit(port_b->model, model),
                              model->rate_reverse.bps),
        .pos = cabling->pos,
    };

    if (!limit_rate(cabling, &cable))
        return false;
    if (cluster->cable_count == BUILD_CABLES_MAX)
        return err_list_add(cabling->build->errs, ERR_LIMIT, cabling->pos,
                            "more than %u cables: this program simulates at most that many",
                            BUILD_CABLES_MAX);
    port_a->cable = port_b->cable = (cable_id){(uint32_t)cluster->cable_count};
    *append_cable(cabling->build) = cable;
    return true;
}

/* Lays the cables between two machines of a generator; false stops the generator. */
static bool join(struct cabling *cabling, host_id a, host_id b)
{
    for (uint32_t i = 0; i < cabling->per_pair; i++) {
        struct cluster_end end_a = {a, free_port(cabling, a)};
        struct cluster_end end_b = {b, free_port(cabling, b)};

        if (end_a.port != ID_NONE && end_b.port != ID_NONE) {
            if (!plug(cabling, end_a, end_b))
                return false;
            continue;
        }

        struct cluster_end full = end_a.port == ID_NONE ? end_a : end_b;

        if (!cabling->is_short_allowed)
            return report_no_port(cabling, full.host);
        if (cabling->missing++ == 0)
            cabling->full = full;
    }
    return true;
}

static bool lay_chain(struct cabling *cabling, const struct build_hosts *hosts)
{
    for (size_t i = 1; i < hosts->count; i++) {
        if (!join(cabling, hosts->items[i - 1], hosts->items[i]))
            return false;
    }
    return true;
}

/* Two machines make a ring of one cable. */
static bool lay_ring(struct cabling *cabling, const struct build_hosts *hosts)
{
    return lay_chain(cabling, hosts) &&
           (hosts->count == 2 || join(cabling, hosts->items[hosts->count - 1], hosts->items[0]));
}

static bool lay_star(struct cabling *cabling, const struct build_hosts *hosts)
{
    for (size_t i = 1; i < hosts->count; i++) {
        if (!join(cabling, hosts->items[0], hosts->items[i]))
            return false;
    }
    return true;
}

/* True when the list holds every computer of the scenario. */
static bool holds_all_computers(const struct build *build, const struct build_hosts *hosts)
{
    const struct cluster *cluster = &build->scenario->cluster;
    size_t computers = 0;
    size_t listed = 0;

    for (size_t i = 0; i < cluster->host_count; i++)
        computers += build_is_computer(&cluster->hosts[i]);
    for (size_t i = 0; i < hosts->count; i++)
        listed += build_is_computer(&cluster->hosts[hosts->items[i].ix]);
    return listed == computers && listed == hosts->count;
}

static bool lay_mesh(struct cabling *cabling, const struct build_hosts *hosts)
{
    struct build *build = cabling->build;
    size_t wanted = hosts->count * (hosts->count - 1) / 2 * cabling->per_pair;

    if (wanted > BUILD_CABLES_MAX)
        return err_list_add(build->errs, ERR_LIMIT, cabling->pos,
                            "a mesh of %zu machines has %zu cables; at most %u are simulated",
                            hosts->count, wanted, BUILD_CABLES_MAX);
    cabling->is_short_allowed = holds_all_computers(build, hosts);
    for (size_t i = 0; i < hosts->count; i++) {
        for (size_t k = i + 1; k < hosts->count; k++) {
            if (!join(cabling, hosts->items[i], hosts->items[k]))
                return false;
        }
    }
    if (cabling->missing > 0) {
        const struct cluster_host *host = host_at(cabling, cabling->full.host);
        struct check_goal *goal = build_add_goal(build);

        goal->wants_mesh = true;
        goal->pos = cabling->pos;
        err_list_add(&build->scenario->warnings, ERR_CONFLICT, cabling->pos,
                     "this mesh has %zu cables, of which %zu find no port and are left out: %s has "
                     "%zu %s ports and would need %zu",
                     wanted, cabling->missing, host->name, count_ports(host, cabling->model->kind),
                     port_kind_text(cabling->model->kind), (hosts->count - 1) * cabling->per_pair);
    }
    return true;
}

/* Reads `size: [rows, columns]` of a torus; the last dimension varies fastest in the list. */
static size_t read_dimensions(struct cabling *cabling, const struct schema_value *size,
                              size_t host_count, size_t dims[TORUS_DIMENSIONS_MAX])
{
    static const struct schema_key key = {
        .key = "size", .type = SCHEMA_COUNT, .min = 1, .max = BUILD_HOSTS_MAX};
    struct err_list *errs = cabling->build->errs;
    size_t product = 1;

    if (!size->node)
        err_list_add(errs, ERR_KEY, cabling->pos,
                     "a torus needs the key 'size', such as [4, 8] for 32 machines");
    if (!size->is_set || !size->node)
        return 0;
    if (size->node->count < 1 || size->node->count > TORUS_DIMENSIONS_MAX) {
        err_list_add(errs, ERR_RANGE, size->pos, "size: a torus has 1 to %d dimensions, not %zu",
                     TORUS_DIMENSIONS_MAX, size->node->count);
        return 0;
    }
    for (size_t i = 0; i < size->node->count; i++) {
        struct schema_value item;

        if (!schema_read_value(&key, size->node->items[i], &item, errs))
            return 0;
        dims[i] = (size_t)item.number;
        product *= dims[i]; /* at most 4096^3 */
    }
    if (product != host_count) {
        err_list_add(errs, ERR_CONFLICT, size->pos,
                     "size: this torus has %zu places, and %zu machines are listed", product,
                     host_count);
        return 0;
    }
    return size->node->count;
}

static bool lay_torus(struct cabling *cabling, const struct build_hosts *hosts,
                      const struct schema_value *size)
{
    size_t dims[TORUS_DIMENSIONS_MAX];
    size_t dim_count = read_dimensions(cabling, size, hosts->count, dims);

    for (size_t i = 0; i < hosts->count && dim_count > 0; i++) {
        size_t stride = 1;

        for (size_t d = dim_count; d-- > 0; stride *= dims[d]) {
            size_t at = i / stride % dims[d];
            size_t next = i - at * stride + (at + 1) % dims[d] * stride;

            /* A dimension of two has one cable, not two: the way back is the way forth. */
            if (dims[d] == 1 || (dims[d] == 2 && at == 1))
                continue;
            if (!join(cabling, hosts->items[i], hosts->items[next]))
                return false;
        }
    }
    return dim_count > 0;
}

/* The two ends of a single cable; a port that is not named is ID_NONE. */
static bool read_ends(struct cabling *cabling, const struct schema_value *v,
                      struct cluster_end *ret_a, struct cluster_end *ret_b)
{
    struct build *build = cabling->build;
    bool is_ok;

    if (!v[CABLE_FROM].is_set || !v[CABLE_TO].is_set) {
        if (!v[CABLE_FROM].node || !v[CABLE_TO].node)
            err_list_add(build->errs, ERR_KEY, cabling->pos,
                         "a cable has two ends: the key '%s' is missing",
                         v[CABLE_FROM].node ? "to" : "from");
        return false;
    }
    is_ok = build_read_end(build, v[CABLE_FROM].text, v[CABLE_FROM].pos, ret_a);
    if (!build_read_end(build, v[CABLE_TO].text, v[CABLE_TO].pos, ret_b) || !is_ok)
        return false;
    if (ret_a->host.ix == ret_b->host.ix)
        return err_list_add(build->errs, ERR_CONFLICT, v[CABLE_TO].pos,
                            "a cable from %s to itself: the two ends are on different machines",
                            host_at(cabling, ret_a->host)->name);
    return true;
}

/* Plugs one cable of which at least one port is named. */
static void plug_named(struct cabling *cabling, const struct schema_value *v, struct cluster_end a,
                       struct cluster_end b)
{
    bool is_ok;

    cabling->pos = v[CABLE_FROM].pos;
    is_ok = a.port == ID_NONE || check_end(cabling, a);
    cabling->pos = v[CABLE_TO].pos;
    is_ok &= b.port == ID_NONE || check_end(cabling, b);
    cabling->pos = v[CABLE_FROM].pos;
    if (!is_ok)
        return;
    if (a.port == ID_NONE)
        a.port = free_port(cabling, a.host);
    if (b.port == ID_NONE)
        b.port = free_port(cabling, b.host);
    if (a.port == ID_NONE || b.port == ID_NONE)
        report_no_port(cabling, a.port == ID_NONE ? a.host : b.host);
    else
        plug(cabling, a, b);
}

/* A cable from one named place to another. */
static void lay_one(struct cabling *cabling, const struct schema_value *v)
{
    struct cluster_end a;
    struct cluster_end b;

    if (!read_ends(cabling, v, &a, &b))
        return;
    if (a.port == ID_NONE && b.port == ID_NONE)
        join(cabling, a.host, b.host);
    else if (v[CABLE_COUNT].is_set && cabling->per_pair > 1)
        err_list_add(cabling->build->errs, ERR_CONFLICT, v[CABLE_COUNT].pos,
                     "cables: %u cables cannot share a named port; leave the port out",
                     cabling->per_pair);
    else
        plug_named(cabling, v, a, b);
}

/* The generator that the entry names: its key, or CABLE_FROM for a single cable; CABLE_KEY_COUNT
 * and an error for none or several. */
static enum cable_key find_form(struct build *build, const struct yaml_value *node,
                                const struct schema_value *v)
{
    enum cable_key found = CABLE_KEY_COUNT;

    for (int i = CABLE_FROM; i <= CABLE_TORUS; i++) {
        enum cable_key form = i == CABLE_TO ? CABLE_FROM : (enum cable_key)i;

        if (!v[i].node || form == found)
            continue;
        if (found != CABLE_KEY_COUNT) {
            err_list_add(build->errs, ERR_CONFLICT, v[i].pos,
                         "'%s' and '%s' in one entry: an entry has one form", cable_keys[found].key,
                         cable_keys[i].key);
            return CABLE_KEY_COUNT;
        }
        found = form;
    }
    if (found == CABLE_KEY_COUNT)
        err_list_add(
            build->errs, ERR_KEY, node->pos,
            "a cable needs 'from' and 'to', or one of pair, chain, ring, mesh, star, torus");
    return found;
}

static void generate(struct cabling *cabling, enum cable_key form, const struct schema_value *v)
{
    struct build *build = cabling->build;
    struct build_hosts hosts;

    if (!build_read_hosts(build, v[form].node, cable_keys[form].key, &hosts))
        return;
    if (hosts.count < 2 || (form == CABLE_PAIR && hosts.count != 2)) {
        err_list_add(build->errs, ERR_RANGE, v[form].pos, "%s takes %s machines, not %zu",
                     cable_keys[form].key, form == CABLE_PAIR ? "two" : "two or more", hosts.count);
        return;
    }
    if (v[CABLE_SIZE].node && form != CABLE_TORUS)
        err_list_add(build->errs, ERR_CONFLICT, v[CABLE_SIZE].pos,
                     "size belongs to a torus, not to a %s", cable_keys[form].key);
    if (form == CABLE_RING)
        lay_ring(cabling, &hosts);
    else if (form == CABLE_MESH)
        lay_mesh(cabling, &hosts);
    else if (form == CABLE_STAR)
        lay_star(cabling, &hosts);
    else if (form == CABLE_TORUS)
        lay_torus(cabling, &hosts, &v[CABLE_SIZE]);
    else
        lay_chain(cabling, &hosts);
}

static const struct cable_model *find_kind(struct build *build, const struct schema_value *kind)
{
    const struct catalog *catalog = &build->catalog;
    const struct cable_model *model = catalog_find_cable(catalog, kind->text);
    const char **names;
    char suggestion[SUGGEST_TEXT_MAX];

    if (model)
        return model;
    names = arena_alloc_array(build->arena, catalog->cable_count, sizeof(const char *));
    for (size_t i = 0; i < catalog->cable_count; i++)
        names[i] = catalog->cables[i].name;
    suggest_text(suggestion, kind->text, names, catalog->cable_count);
    err_list_add(build->errs, ERR_REFERENCE, kind->pos, "unknown cable '%.60s'%s", kind->text,
                 *suggestion ? suggestion : "; `tbmesh models` lists them");
    return NULL;
}

static void read_entry(struct build *build, const struct yaml_value *node)
{
    struct schema_value v[CABLE_KEY_COUNT];
    struct cabling cabling = {.build = build, .per_pair = 1, .pos = node->pos};
    bool is_ok = schema_read(&cable_schema, node, v, build->errs);
    enum cable_key form;

    if (node->kind != YAML_MAP)
        return;
    form = find_form(build, node, v);
    if (v[CABLE_KIND].is_set)
        cabling.model = find_kind(build, &v[CABLE_KIND]);
    if (!is_ok || form == CABLE_KEY_COUNT || !cabling.model)
        return;
    if (v[CABLE_COUNT].is_set)
        cabling.per_pair = (uint32_t)v[CABLE_COUNT].number;
    cabling.rate.bps = (uint64_t)v[CABLE_RATE].number;
    if (form == CABLE_FROM)
        lay_one(&cabling, v);
    else
        generate(&cabling, form, v);
}

void build_cables(struct build *build, const struct schema_value *cables)
{
    for (size_t i = 0; cables->is_set && i < cables->node->count; i++)
        read_entry(build, cables->node->items[i]);
}
