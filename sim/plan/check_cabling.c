/* SPDX-License-Identifier: Apache-2.0 */
/*
 * DOC: Is every cable there?
 *
 * JACCL's mesh needs a device for every pair and its ring the same number of devices towards both
 * neighbours (ml-explore/mlx at 846d176, jaccl.cpp, 2026-08-22). Macs do not route RDMA, so a pair
 * without a cable or hub between them has no link. A cable that exists but carries no RDMA is the
 * business of check_rdma.c: here only Thunderbolt or not counts.
 *
 * Several cables between two neighbours are wires of a ring, wire k being one cable at both ends;
 * pairs with unequal counts use the common minimum (exo PR 2195).
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sim/base/arena.h"
#include "sim/base/ids.h"
#include "sim/base/text.h"
#include "sim/base/units.h"
#include "sim/fabric/cluster.h"
#include "sim/fabric/model.h"
#include "sim/plan/check.h"
#include "sim/plan/check_ring.h"
#include "sim/plan/check_rules.h"

#define PATHS_MAX       16U
#define PAIRS_SHOWN_MAX 12U

bool check_is_thunderbolt(const struct check_state *s, cable_id cable)
{
    const struct cluster_cable *c = &s->cluster->cables[cable.ix];
    const struct cluster_host *a = check_host(s, c->a.host);
    const struct cluster_host *b = check_host(s, c->b.host);

    return a->ports[c->a.port].model->kind == PORT_THUNDERBOLT &&
           b->ports[c->b.port].model->kind == PORT_THUNDERBOLT;
}

/* Paths between two computers that count: all for IP, else those of Thunderbolt only. */
static size_t count_links(const struct check_state *s, host_id a, host_id b, bool is_ip)
{
    struct cluster_path paths[PATHS_MAX];
    size_t found = cluster_find_paths(s->cluster, a, b, paths, PATHS_MAX);
    size_t count = 0;

    for (size_t i = 0; i < found && i < PATHS_MAX; i++) {
        bool counts = true;

        for (uint32_t hop = 0; hop < paths[i].hops && !is_ip; hop++)
            counts = counts && check_is_thunderbolt(s, paths[i].cables[hop]);
        count += counts;
    }
    return count;
}

bool check_has_link(const struct check_state *s, host_id a, host_id b, bool is_ip)
{
    return count_links(s, a, b, is_ip) > 0;
}

bool check_has_hub(const struct check_state *s)
{
    for (size_t i = 0; i < s->cluster->host_count; i++) {
        if (s->cluster->hosts[i].model->kind == MACHINE_HUB)
            return true;
    }
    return false;
}

bool check_has_all_links(const struct check_state *s, const struct check_group *group)
{
    for (size_t i = 0; i < group->count; i++) {
        for (size_t k = i + 1; k < group->count; k++) {
            if (!check_has_link(s, group->hosts[i], group->hosts[k], group->is_ip))
                return false;
        }
    }
    return true;
}

bool check_find_ring(const struct check_state *s, const struct check_group *group, host_id *ret)
{
    size_t n = group->count;
    size_t order[RING_MACHINES_MAX];

    if (n > RING_MACHINES_MAX)
        return false;

    bool *linked = arena_alloc_array(s->arena, n * n, sizeof *linked);

    for (size_t i = 0; i < n; i++) {
        for (size_t k = i + 1; k < n; k++) {
            linked[i * n + k] = check_has_link(s, group->hosts[i], group->hosts[k], group->is_ip);
            linked[k * n + i] = linked[i * n + k];
        }
    }
    if (!ring_find(linked, n, order))
        return false;
    for (size_t i = 0; i < n; i++)
        ret[i] = group->hosts[order[i]];
    return true;
}

/* Ports that the fix of this finding has already promised to a cable. */
struct plug_plan {
    const struct check_state *s;
    bool **taken; /* [host][port] */
};

static struct plug_plan plan_init(const struct check_state *s)
{
    struct plug_plan plan = {
        .s = s, .taken = arena_alloc_array(s->arena, s->cluster->host_count, sizeof(bool *))};

    for (size_t h = 0; h < s->cluster->host_count; h++)
        plan.taken[h] =
            arena_alloc_array(s->arena, s->cluster->hosts[h].port_count + 1, sizeof(bool));
    return plan;
}

/* The lowest free Thunderbolt 5 port, one that nobody doubts if there is one; ID_NONE if full. */
static uint32_t find_plug(const struct plug_plan *plan, host_id host)
{
    const struct cluster_host *h = check_host(plan->s, host);
    uint32_t doubtful = ID_NONE;

    for (uint32_t p = 0; p < h->port_count; p++) {
        const struct port_model *port = h->ports[p].model;

        if (h->ports[p].cable.ix != ID_NONE || plan->taken[host.ix][p] ||
            port->kind != PORT_THUNDERBOLT || port->generation < 5)
            continue;
        if (!port->is_doubtful)
            return p;
        if (doubtful == ID_NONE)
            doubtful = p;
    }
    return doubtful;
}

static void plan_cable(const struct plug_plan *plan, struct text *fix, host_id a, host_id b)
{
    uint32_t at_a = find_plug(plan, a);
    uint32_t at_b = find_plug(plan, b);

    if (at_a == ID_NONE || at_b == ID_NONE) {
        text_add_item(fix, "\n", "# ");
        text_add(fix, "%s has no free Thunderbolt 5 port for a cable to %s",
                 check_host(plan->s, at_a == ID_NONE ? a : b)->name,
                 check_host(plan->s, at_a == ID_NONE ? b : a)->name);
        return;
    }
    plan->taken[a.ix][at_a] = true;
    plan->taken[b.ix][at_b] = true;
    text_add_item(fix, "\n", "# plug a cable: ");
    text_add(fix, "%s - %s", check_port_name(plan->s, (struct cluster_end){a, at_a}),
             check_port_name(plan->s, (struct cluster_end){b, at_b}));
}

/* Pairs of a group that lack a link, as text, with a fix for each. */
struct missing_pairs {
    struct text names;
    struct text fix;
    struct plug_plan plan;
    size_t count;
};

static void note_pair(const struct check_state *s, const struct check_group *group, size_t i,
                      size_t k, struct missing_pairs *missing)
{
    host_id a = group->hosts[i];
    host_id b = group->hosts[k];

    if (check_has_link(s, a, b, group->is_ip))
        return;
    missing->count++;
    if (missing->count > PAIRS_SHOWN_MAX)
        return;
    text_add_item(&missing->names, "; ", check_host(s, a)->name);
    text_add(&missing->names, " - %s", check_host(s, b)->name);
    plan_cable(&missing->plan, &missing->fix, a, b);
}

static struct missing_pairs find_missing(const struct check_state *s,
                                         const struct check_group *group)
{
    struct missing_pairs missing = {.plan = plan_init(s)};
    size_t n = group->count;

    text_init(&missing.names, s->arena);
    text_init(&missing.fix, s->arena);
    if (group->kind == GROUP_MESH) {
        for (size_t i = 0; i < n; i++) {
            for (size_t k = i + 1; k < n; k++)
                note_pair(s, group, i, k, &missing);
        }
    } else {
        /* Two hosts are one pair, not a ring of two; a pair group has just one too. */
        for (size_t i = 0; i < (n == 2 ? 1 : n); i++)
            note_pair(s, group, i, (i + 1) % n, &missing);
    }
    if (missing.count > PAIRS_SHOWN_MAX)
        text_add(&missing.names, "; and %zu more", missing.count - PAIRS_SHOWN_MAX);
    return missing;
}

static void report_mesh_incomplete(struct check_state *s, const struct check_group *group,
                                   struct missing_pairs *missing)
{
    size_t n = group->count;
    host_id *ring = arena_alloc_array(s->arena, n, sizeof *ring);

    if (check_find_ring(s, group, ring))
        text_add(&missing->fix,
                 "\n# or run a ring, which these cables allow in the order %s: "
                 "mlx.launch --backend jaccl-ring",
                 check_host_list(s, ring, n));
    check_add(s, &(struct finding){
                     .id = "mesh-incomplete",
                     .severity = CHECK_ERROR,
                     .where = missing->names.bytes,
                     .why = arena_format(
                         s->arena,
                         "%s of %zu computers needs a cable for each of its %zu pairs (n(n-1)/2); "
                         "%s none: %s. JACCL does not forward, so it refuses the mesh (Apple "
                         "TN3205, 2026-04-13; ml-explore/mlx at 846d176, jaccl.cpp).",
                         group->who, n, n * (n - 1) / 2,
                         missing->count == 1 ? "one has"
                                             : arena_format(s->arena, "%zu have", missing->count),
                         missing->names.bytes),
                     .fix = missing->fix.bytes,
                     .pos = group->pos,
                 });
}

static void report_ring_incomplete(struct check_state *s, const struct check_group *group,
                                   struct missing_pairs *missing)
{
    size_t n = group->count;
    host_id *ring = arena_alloc_array(s->arena, n, sizeof *ring);

    if (check_find_ring(s, group, ring))
        text_add(&missing->fix, "\n# or list the ranks in the order in which they are cabled: %s",
                 check_host_list(s, ring, n));
    check_add(s, &(struct finding){
                     .id = "ring-incomplete",
                     .severity = CHECK_ERROR,
                     .where = missing->names.bytes,
                     .why = arena_format(
                         s->arena,
                         "%s in the order %s needs a link between neighbours, the last and the "
                         "first included; missing: %s (ml-explore/mlx at 846d176, jaccl.cpp, "
                         "2026-08-22).",
                         group->who, check_host_list(s, group->hosts, n), missing->names.bytes),
                     .fix = missing->fix.bytes,
                     .pos = group->pos,
                 });
}

static void report_no_path(struct check_state *s, const struct check_group *group,
                           struct missing_pairs *missing)
{
    check_add(s, &(struct finding){
                     .id = "no-path",
                     .severity = CHECK_ERROR,
                     .where = missing->names.bytes,
                     .why = arena_format(s->arena,
                                         "%s needs a cable, or one hub or switch, between %s; Macs "
                                         "do not route for each other (Apple TN3205, 2026-04-13).",
                                         group->who, missing->names.bytes),
                     .fix = missing->fix.bytes,
                     .pos = group->pos,
                 });
}

static void report_shape(struct check_state *s, const char *id, enum check_severity severity,
                         const char *why, const char *fix)
{
    check_add(s, &(struct finding){.id = id,
                                   .severity = severity,
                                   .where = check_host_list(s, s->computers, s->computer_count),
                                   .why = why,
                                   .fix = fix});
}

/* Nothing is asked of these cables: which of JACCL's two shapes are they? */
static void check_bare_shape(struct check_state *s)
{
    struct check_group all = {
        .kind = GROUP_MESH, .hosts = s->computers, .count = s->computer_count};
    size_t n = s->computer_count;

    if (n < 2 || n > RING_MACHINES_MAX || s->cluster->cable_count == 0 ||
        !s->wants_rdma[s->computers[0].ix] || check_has_all_links(s, &all))
        return;

    struct missing_pairs missing = find_missing(s, &all);
    host_id *ring = arena_alloc_array(s->arena, n, sizeof *ring);

    if (check_find_ring(s, &all, ring))
        report_shape(s, "ring-only", CHECK_NOTE,
                     arena_format(s->arena,
                                  "These cables form a ring, not a full mesh (without a cable: "
                                  "%s), so JACCL runs its ring in the order %s.",
                                  missing.names.bytes, check_host_list(s, ring, n)),
                     missing.fix.bytes);
    else
        report_shape(s, "not-mesh-nor-ring", CHECK_WARNING,
                     arena_format(s->arena,
                                  "These cables form neither a full mesh nor a ring through all "
                                  "computers (without a cable: %s); JACCL accepts no other shape, "
                                  "a program of your own has to forward.",
                                  missing.names.bytes),
                     missing.fix.bytes);
}

/* Do other findings already say that this mesh cannot be built at all? Then a list of the cables
 * that it lacks would only send people to plug them. */
static bool is_beyond_ports(const struct check_state *s, const struct check_group *group)
{
    if (group->kind != GROUP_MESH || group->is_ip)
        return false;
    for (size_t i = 0; i < group->count; i++) {
        const struct machine_model *model = check_host(s, group->hosts[i])->model;

        if (!model->is_rdma_capable)
            return true;
        if (machine_count_rdma_ports(model, false) < group->count - 1 && !check_has_hub(s))
            return true;
    }
    return false;
}

void check_cabling(struct check_state *s)
{
    for (size_t i = 0; i < s->group_count; i++) {
        const struct check_group *group = &s->groups[i];

        /* A goal without any cable asks what could be built; there is nothing to miss yet. */
        if (group->kind == GROUP_MESH && s->cluster->cable_count == 0 && s->input->item_count == 0)
            continue;
        if (is_beyond_ports(s, group))
            continue;

        struct missing_pairs missing = find_missing(s, group);

        if (missing.count == 0)
            continue;
        switch (group->kind) {
        case GROUP_MESH:
            report_mesh_incomplete(s, group, &missing);
            break;
        case GROUP_RING:
            report_ring_incomplete(s, group, &missing);
            break;
        case GROUP_PAIR:
            report_no_path(s, group, &missing);
            break;
        }
    }
    if (s->is_bare)
        check_bare_shape(s);
}

/* Cables between the neighbours of a ring: least and most. */
struct rail_count {
    size_t least, most;
    size_t at_least, at_most; /* which neighbour pair */
};

static struct rail_count count_rails(const struct check_state *s, const struct check_group *group)
{
    struct rail_count rails = {.least = SIZE_MAX};
    size_t n = group->count;

    for (size_t i = 0; i < (n == 2 ? 1 : n); i++) {
        size_t count = count_links(s, group->hosts[i], group->hosts[(i + 1) % n], group->is_ip);

        if (count < rails.least) {
            rails.least = count;
            rails.at_least = i;
        }
        if (count > rails.most) {
            rails.most = count;
            rails.at_most = i;
        }
    }
    return rails;
}

static const char *pair_name(const struct check_state *s, const struct check_group *group, size_t i)
{
    return arena_format(s->arena, "%s - %s", check_host(s, group->hosts[i])->name,
                        check_host(s, group->hosts[(i + 1) % group->count])->name);
}

static void report_wires_cap(struct check_state *s, const struct check_group *group, size_t wires)
{
    bool is_asked = group->wires > 0;

    check_add(s,
              &(struct finding){
                  .id = "jaccl-wires-cap",
                  .severity = is_asked ? CHECK_ERROR : CHECK_WARNING,
                  .where = check_host_list(s, group->hosts, group->count),
                  .why = arena_format(
                      s->arena,
                      "%s would use %zu cables a pair; JACCL takes up to %u a direction (\"Up to "
                      "4 per direction\"; ml-explore/mlx at 846d176, 2026-08-22).",
                      group->who, wires, JACCL_WIRES_MAX),
                  .fix = arena_format(s->arena, "# name %u devices a cell: wires: %u",
                                      JACCL_WIRES_MAX, JACCL_WIRES_MAX),
                  .pos = group->pos,
              });
}

static void report_unequal_rails(struct check_state *s, const struct check_group *group,
                                 const struct rail_count *rails)
{
    bool is_short = group->wires > rails->least;

    check_add(
        s, &(struct finding){
               .id = "unequal-rails",
               .severity = is_short ? CHECK_ERROR : CHECK_WARNING,
               .where = pair_name(s, group, rails->at_least),
               .why = arena_format(
                   s->arena,
                   "%s has %s and %s has %s; a ring stripes over the same number of cables "
                   "everywhere, so only %zu of them can be used (exo PR 2195; jaccl.cpp "
                   "refuses cells of unequal length).",
                   pair_name(s, group, rails->at_least), check_plural(s, rails->least, "cable"),
                   pair_name(s, group, rails->at_most), check_plural(s, rails->most, "cable"),
                   rails->least),
               .fix = arena_format(s->arena,
                                   "# name %s in every cell (wires: %zu)\n# or give every "
                                   "pair of neighbours %s",
                                   check_plural(s, rails->least, "device"), rails->least,
                                   check_plural(s, is_short ? group->wires : rails->most, "cable")),
               .pos = group->pos,
           });
}

void check_wires(struct check_state *s)
{
    for (size_t i = 0; i < s->group_count; i++) {
        const struct check_group *group = &s->groups[i];

        if (group->kind != GROUP_RING || !group->is_jaccl)
            continue;

        struct rail_count rails = count_rails(s, group);
        size_t wires = group->wires ? group->wires : rails.least;

        if (rails.least == 0)
            continue; /* ring-incomplete says it */
        if (wires > JACCL_WIRES_MAX)
            report_wires_cap(s, group, wires);
        if (group->wires > rails.least || (group->wires == 0 && rails.least != rails.most))
            report_unequal_rails(s, group, &rails);
    }
}

/* Computers on one hub, as a list; returns how many. */
static size_t list_hub_peers(const struct check_state *s, host_id hub, struct text *names,
                             struct text *fix)
{
    const struct cluster_host *h = check_host(s, hub);
    size_t count = 0;

    for (uint32_t p = 0; p < h->port_count; p++) {
        cable_id cable = h->ports[p].cable;

        if (cable.ix == ID_NONE || !check_is_thunderbolt(s, cable))
            continue;

        struct cluster_end peer = cluster_peer(&s->cluster->cables[cable.ix], hub);

        if (!check_is_computer(check_host(s, peer.host)))
            continue;
        text_add_item(names, "; ", check_port_name(s, peer));
        check_command(fix, check_host(s, peer.host), "system_profiler SPThunderboltDataType");
        count++;
    }
    return count;
}

void check_hubs(struct check_state *s)
{
    for (uint32_t i = 0; i < s->cluster->host_count; i++) {
        const struct cluster_host *hub = check_host(s, (host_id){i});
        struct text names;
        struct text fix;

        if (hub->model->kind != MACHINE_HUB)
            continue;
        text_init(&names, s->arena);
        text_init(&fix, s->arena);
        text_add(&fix, "# the peer is one level deeper in: ");
        if (list_hub_peers(s, (host_id){i}, &names, &fix) < 2)
            continue;
        check_add(s, &(struct finding){
                         .id = "hub-nested",
                         .severity = CHECK_NOTE,
                         .where = names.bytes,
                         .why = arena_format(
                             s->arena,
                             "These computers are linked through %s, and the link is present: it "
                             "trains at its full rate and IP loses nothing (exo PR 2063: 60.9 to "
                             "63.6 Gb/s against 52.6 to 56.1 direct). Tools that read the system "
                             "report see the peer nested one level deeper, on one side only, and "
                             "may drop it (exo PR 1982); RDMA latency through a hub is unmeasured.",
                             hub->name),
                         .fix = fix.bytes,
                         .pos = hub->pos,
                     });
    }
}

/* Thunderbolt cables at different rates, which one collective would run at the least of. */
void check_speeds(struct check_state *s)
{
    uint32_t slowest = ID_NONE;
    uint32_t fastest = ID_NONE;

    for (uint32_t i = 0; i < s->cluster->cable_count; i++) {
        const struct cluster_cable *c = &s->cluster->cables[i];

        if (!cluster_cable_has_rdma(s->cluster, (cable_id){i}))
            continue;
        if (slowest == ID_NONE || c->rate_ab.bps < s->cluster->cables[slowest].rate_ab.bps)
            slowest = i;
        if (fastest == ID_NONE || c->rate_ab.bps > s->cluster->cables[fastest].rate_ab.bps)
            fastest = i;
    }
    if (slowest == ID_NONE ||
        s->cluster->cables[slowest].rate_ab.bps == s->cluster->cables[fastest].rate_ab.bps)
        return;
    check_add(
        s,
        &(struct finding){
            .id = "mixed-speed",
            .severity = CHECK_NOTE,
            .where = arena_format(s->arena, "cable %s", check_cable_name(s, (cable_id){slowest})),
            .why = arena_format(s->arena,
                                "Cable %s runs at %s Gb/s from its first end and %s at %s Gb/s; a "
                                "collective waits for its slowest cable.",
                                check_cable_name(s, (cable_id){slowest}),
                                check_gbps(s, s->cluster->cables[slowest].rate_ab),
                                check_cable_name(s, (cable_id){fastest}),
                                check_gbps(s, s->cluster->cables[fastest].rate_ab)),
            .fix = "# use the same cables and the same direction everywhere",
            .pos = s->cluster->cables[slowest].pos,
        });
}
