/* SPDX-License-Identifier: Apache-2.0 */
/*
 * DOC: Loops through bridge0
 *
 * macOS puts every Thunderbolt port into bridge0, a bridge without spanning tree (flags LEARNING
 * and DISCOVER only; Apple TN3205, 2026-04-13), so a cycle of cables between bridging Macs passes a
 * broadcast round for ever. The graph has machines as vertices (a hub joins what is plugged into
 * it) and as edges the cables whose ends that are Macs are bridge members.
 *
 * Cycles: a breadth-first tree of each component leaves E - V + 1 edges over, and each closes one
 * independent cycle; second cables of a pair are cycles of two machines and are told apart,
 * because sources disagree about them (exo PR 1222 against exo's later code).
 *
 * Cheapest cure: taking bridge0 off a Mac cuts all its cables at once, so the least number of
 * actions is a minimum feedback vertex set over the Macs. It is found exactly up to
 * CUT_EXACT_MAX machines by trying all sets in order of size, and greedily (most cables first)
 * above, where the answer may be larger than the least.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sim/base/arena.h"
#include "sim/base/ids.h"
#include "sim/base/text.h"
#include "sim/fabric/cluster.h"
#include "sim/fabric/model.h"
#include "sim/plan/check.h"
#include "sim/plan/check_rules.h"

#define CUT_EXACT_MAX    14U
#define CYCLES_SHOWN_MAX 6U
#define MULTI_PATH_MIN   4U

/* One component of the bridge graph, and room for the searches on it. */
struct component {
    const struct check_state *s;
    uint32_t *hosts; /* ascending */
    size_t host_count;
    uint32_t *cables; /* ascending */
    size_t cable_count;
    uint32_t *label; /* [all hosts]: union-find */
    bool *is_cut;    /* [all hosts]: bridge0 taken off */
};

static bool is_bridge_end(const struct check_state *s, struct cluster_end end)
{
    const struct cluster_host *host = check_host(s, end.host);

    if (host->ports[end.port].model->kind != PORT_THUNDERBOLT)
        return false;
    return host->model->kind == MACHINE_HUB || host->ports[end.port].is_bridge_member;
}

static bool is_bridge_edge(const struct check_state *s, uint32_t cable)
{
    const struct cluster_cable *c = &s->cluster->cables[cable];

    return is_bridge_end(s, c->a) && is_bridge_end(s, c->b);
}

static uint32_t find_root(uint32_t *label, uint32_t v)
{
    while (label[v] != v) {
        label[v] = label[label[v]];
        v = label[v];
    }
    return v;
}

/* Joins the ends of a cable; false when they were joined already, so the cable closes a cycle. */
static bool join_ends(const struct check_state *s, uint32_t *label, uint32_t cable)
{
    uint32_t a = find_root(label, s->cluster->cables[cable].a.host.ix);
    uint32_t b = find_root(label, s->cluster->cables[cable].b.host.ix);

    if (a == b)
        return false;
    label[a > b ? a : b] = a > b ? b : a; /* the lowest host stands for the component */
    return true;
}

static bool is_acyclic(struct component *c)
{
    for (size_t i = 0; i < c->host_count; i++)
        c->label[c->hosts[i]] = c->hosts[i];
    for (size_t i = 0; i < c->cable_count; i++) {
        const struct cluster_cable *cable = &c->s->cluster->cables[c->cables[i]];

        if (!c->is_cut[cable->a.host.ix] && !c->is_cut[cable->b.host.ix] &&
            !join_ends(c->s, c->label, c->cables[i]))
            return false;
    }
    return true;
}

static size_t count_bits(uint32_t mask)
{
    size_t count = 0;

    for (; mask; mask &= mask - 1)
        count++;
    return count;
}

static void cut_mask(struct component *c, const uint32_t *macs, size_t count, uint32_t mask)
{
    for (size_t i = 0; i < count; i++)
        c->is_cut[macs[i]] = mask >> i & 1;
}

static bool cut_exactly(struct component *c, const uint32_t *macs, size_t count)
{
    for (size_t size = 1; size <= count; size++) {
        for (uint32_t mask = 1; mask < (uint32_t)1 << count; mask++) {
            if (count_bits(mask) != size)
                continue;
            cut_mask(c, macs, count, mask);
            if (is_acyclic(c))
                return true;
        }
    }
    return false;
}

/* Bridge cables of a host that lead to hosts not cut yet. */
static size_t count_live_cables(const struct component *c, uint32_t host)
{
    size_t count = 0;

    for (size_t i = 0; i < c->cable_count; i++) {
        const struct cluster_cable *cable = &c->s->cluster->cables[c->cables[i]];
        bool touches = cable->a.host.ix == host || cable->b.host.ix == host;

        count += touches && !c->is_cut[cable->a.host.ix] && !c->is_cut[cable->b.host.ix];
    }
    return count;
}

/* The Mac with most live cables; `count` when none has any. */
static size_t find_busiest(const struct component *c, const uint32_t *macs, size_t count)
{
    size_t best = count;
    size_t best_cables = 0;

    for (size_t i = 0; i < count; i++) {
        size_t cables = c->is_cut[macs[i]] ? 0 : count_live_cables(c, macs[i]);

        if (cables > best_cables) {
            best = i;
            best_cables = cables;
        }
    }
    return best;
}

static bool cut_greedily(struct component *c, const uint32_t *macs, size_t count)
{
    for (size_t round = 0; round < count; round++) {
        size_t busiest = find_busiest(c, macs, count);

        if (busiest == count)
            return false;
        c->is_cut[macs[busiest]] = true;
        if (is_acyclic(c))
            return true;
    }
    return false;
}

/* Marks in is_cut the Macs whose bridge0 has to go; false when no set of Macs is enough. */
static bool find_cut(struct component *c, bool *ret_is_least)
{
    uint32_t *macs = arena_alloc_array(c->s->arena, c->host_count, sizeof *macs);
    size_t count = 0;

    for (size_t i = 0; i < c->host_count; i++) {
        if (check_is_computer(check_host(c->s, (host_id){c->hosts[i]})))
            macs[count++] = c->hosts[i];
    }
    *ret_is_least = count <= CUT_EXACT_MAX;
    return *ret_is_least ? cut_exactly(c, macs, count) : cut_greedily(c, macs, count);
}

/* Breadth-first tree: how each host was reached. */
struct bridge_tree {
    uint32_t *parent; /* [all hosts] */
    uint32_t *depth;  /* [all hosts]; ID_NONE: not reached */
    bool *is_branch;  /* [all cables] */
};

static void reach_from(const struct component *c, struct bridge_tree *tree, uint32_t host,
                       uint32_t *queue, size_t *tail)
{
    for (size_t i = 0; i < c->cable_count; i++) {
        const struct cluster_cable *cable = &c->s->cluster->cables[c->cables[i]];
        uint32_t peer = cluster_peer(cable, (host_id){host}).host.ix;

        if ((cable->a.host.ix != host && cable->b.host.ix != host) || tree->depth[peer] != ID_NONE)
            continue;
        tree->parent[peer] = host;
        tree->depth[peer] = tree->depth[host] + 1;
        tree->is_branch[c->cables[i]] = true;
        queue[(*tail)++] = peer;
    }
}

static struct bridge_tree grow_tree(const struct component *c)
{
    const struct cluster *cluster = c->s->cluster;
    struct bridge_tree tree = {
        .parent = arena_alloc_array(c->s->arena, cluster->host_count, sizeof(uint32_t)),
        .depth = arena_alloc_array(c->s->arena, cluster->host_count, sizeof(uint32_t)),
        .is_branch = arena_alloc_array(c->s->arena, cluster->cable_count, sizeof(bool)),
    };
    uint32_t *queue = arena_alloc_array(c->s->arena, c->host_count, sizeof *queue);
    size_t tail = 1;

    for (size_t i = 0; i < c->host_count; i++)
        tree.depth[c->hosts[i]] = ID_NONE;
    queue[0] = c->hosts[0];
    tree.depth[queue[0]] = 0;
    for (size_t head = 0; head < tail; head++)
        reach_from(c, &tree, queue[head], queue, &tail);
    return tree;
}

/* Is there a cable of a lower number between the same two machines? */
static bool is_parallel(const struct component *c, size_t at)
{
    const struct cluster_cable *cable = &c->s->cluster->cables[c->cables[at]];

    for (size_t i = 0; i < at; i++) {
        const struct cluster_cable *other = &c->s->cluster->cables[c->cables[i]];

        if ((other->a.host.ix == cable->a.host.ix && other->b.host.ix == cable->b.host.ix) ||
            (other->a.host.ix == cable->b.host.ix && other->b.host.ix == cable->a.host.ix))
            return true;
    }
    return false;
}

/* "a - b - c - a": up from both ends of a cable to where the branches meet. */
static const char *name_cycle(const struct component *c, const struct bridge_tree *tree,
                              uint32_t cable)
{
    const struct check_state *s = c->s;
    uint32_t left = s->cluster->cables[cable].a.host.ix;
    uint32_t right = s->cluster->cables[cable].b.host.ix;
    const char *first = check_host(s, (host_id){left})->name;
    const char *back = "";
    struct text cycle;

    text_init(&cycle, s->arena);
    text_add(&cycle, "%s", first);
    while (left != right) {
        if (tree->depth[left] >= tree->depth[right]) {
            left = tree->parent[left];
            text_add(&cycle, " - %s", check_host(s, (host_id){left})->name);
        } else {
            back = arena_format(s->arena, " - %s%s", check_host(s, (host_id){right})->name, back);
            right = tree->parent[right];
        }
    }
    text_add(&cycle, "%s - %s", back, first);
    return cycle.bytes;
}

/* The number before the first dot of a version; 0 when there is none. */
static uint32_t major_version(const char *version)
{
    uint32_t major = 0;

    for (; version && *version >= '0' && *version <= '9' && major < 1000; version++)
        major = 10 * major + (uint32_t)(*version - '0');
    return major;
}

/* macOS 15 is where the storm was captured; later ones were called milder, without figures. */
static bool has_storm_macos(const struct component *c)
{
    for (size_t i = 0; i < c->host_count; i++) {
        const struct cluster_host *host = check_host(c->s, (host_id){c->hosts[i]});

        if (host->model->kind == MACHINE_MAC && major_version(host->macos) < 26)
            return true;
    }
    return false;
}

/* The fix that all loops of one component share. */
static const char *write_cut(struct component *c, const struct bridge_tree *tree)
{
    bool is_least;
    bool is_enough = find_cut(c, &is_least);
    struct text fix;
    struct text cables;
    size_t cuts = 0;

    text_init(&fix, c->s->arena);
    text_init(&cables, c->s->arena);
    for (size_t i = 0; i < c->host_count; i++)
        cuts += c->is_cut[c->hosts[i]];
    text_add(&fix, "# %s: take bridge0 off %s%s",
             is_least ? "the cheapest cure of all loops here" : "a cure of all loops here",
             check_plural(c->s, cuts, "Mac"), is_enough ? "" : " and unplug a hub cable");
    for (size_t i = 0; i < c->host_count; i++) {
        if (c->is_cut[c->hosts[i]])
            check_bridge_commands(&fix, check_host(c->s, (host_id){c->hosts[i]}));
    }
    check_bridge_reboot(&fix);
    for (size_t i = 0; i < c->cable_count; i++) {
        if (!tree->is_branch[c->cables[i]])
            text_add_item(&cables, "; ", check_cable_name(c->s, (cable_id){c->cables[i]}));
    }
    text_add(&fix,
             "\n# at once, without a command: unplug %s\n# for RDMA take it off every Mac (MLX "
             "documentation, launching_distributed)",
             cables.bytes);
    return fix.bytes;
}

static const char *list_hosts(const struct component *c)
{
    struct text list;

    text_init(&list, c->s->arena);
    for (size_t i = 0; i < c->host_count; i++)
        text_add_item(&list, ", ", check_host(c->s, (host_id){c->hosts[i]})->name);
    return list.bytes;
}

/* Cycles of three machines and more, as one finding that names each. */
static void report_cycles(struct check_state *s, const struct component *c,
                          const struct bridge_tree *tree, const char *fix)
{
    bool is_storm = has_storm_macos(c);
    struct text cycles;
    size_t count = 0;

    text_init(&cycles, s->arena);
    for (size_t i = 0; i < c->cable_count; i++) {
        if (tree->is_branch[c->cables[i]] || is_parallel(c, i))
            continue;
        if (count++ < CYCLES_SHOWN_MAX)
            text_add_item(&cycles, "; ", name_cycle(c, tree, c->cables[i]));
    }
    if (count == 0)
        return;
    if (count > CYCLES_SHOWN_MAX)
        text_add(&cycles, "; and %zu more", count - CYCLES_SHOWN_MAX);
    check_add(
        s, &(struct finding){
               .id = "bridge-loop",
               .severity = is_storm ? CHECK_ERROR : CHECK_WARNING,
               .where = list_hosts(c),
               .why = arena_format(
                   s->arena,
                   "bridge0 closes %s of three machines or more: %s. It has no spanning tree "
                   "(Apple TN3205, 2026-04-13), so %s. %s Once, with minis in 2024, one cable "
                   "of a ring stayed inactive instead and its traffic went the other way "
                   "round, slower (exo issue 525): both outcomes are on record.",
                   check_plural(s, count, "independent loop"), cycles.bytes,
                   count > 1 ? "a broadcast circulates and multiplies at every fork"
                             : "every broadcast circulates and each new one adds to it",
                   is_storm ? "On macOS 15.3.1 that took LAN and internet down, at 80,000 packets "
                              "a second and rising, until one cable was pulled (dnet issue 69)."
                            : "On macOS 15.3.1 that took LAN and internet down (80,000 packets a "
                              "second and rising, dnet issue 69); on later macOS the reporter "
                              "calls it milder, without figures."),
               .fix = fix,
               .pos = s->cluster->cables[c->cables[c->cable_count - 1]].pos,
           });
}

/* Second cables of a pair: sources disagree, so the finding says so and stays a warning. */
static void report_parallel(struct check_state *s, const struct component *c, const char *fix)
{
    for (size_t i = 0; i < c->cable_count; i++) {
        const struct cluster_cable *cable = &s->cluster->cables[c->cables[i]];

        if (!is_parallel(c, i))
            continue;
        check_add(s,
                  &(struct finding){
                      .id = "bridge-loop",
                      .severity = CHECK_WARNING,
                      .where = arena_format(s->arena, "cable %s",
                                            check_cable_name(s, (cable_id){c->cables[i]})),
                      .why = arena_format(
                          s->arena,
                          "%s and %s bridge over more than one cable, and sources disagree "
                          "whether that storms: the author of exo's loop detector saw none and "
                          "flagged cycles of more than two Macs only (exo PR 1222), exo's later "
                          "code flags two as well, and by plain bridging theory two links "
                          "between two bridges without spanning tree are a loop. No capture is "
                          "published for any macOS version.",
                          check_host(s, cable->a.host)->name, check_host(s, cable->b.host)->name),
                      .fix = fix,
                      .pos = cable->pos,
                  });
    }
}

static bool has_cabled(const struct cluster_host *host, enum port_kind kind, bool in_bridge)
{
    for (size_t i = 0; i < host->port_count; i++) {
        const struct cluster_port *port = &host->ports[i];

        if (port->cable.ix != ID_NONE && port->model->kind == kind &&
            port->is_bridge_member == in_bridge)
            return true;
    }
    return false;
}

/* Without a loop bridge0 can still take the default route of a Mac that is on a LAN. */
static void report_default_route(struct check_state *s, const struct component *c)
{
    for (size_t i = 0; i < c->host_count; i++) {
        const struct cluster_host *host = check_host(s, (host_id){c->hosts[i]});
        struct text fix;

        if (!has_cabled(host, PORT_THUNDERBOLT, true) || !has_cabled(host, PORT_ETHERNET, false))
            continue;
        text_init(&fix, s->arena);
        check_command(&fix, host,
                      "sudo networksetup -setmanual \"Thunderbolt Bridge\" 10.99.0.%zu "
                      "255.255.255.0",
                      i + 1);
        check_command(&fix, host, "networksetup -listnetworkserviceorder");
        check_command(&fix, host,
                      "sudo networksetup -ordernetworkservices \"Ethernet\" \"Wi-Fi\" "
                      "\"Thunderbolt Bridge\"");
        text_add(&fix, "\n# the last line must name every service that the one before lists");
        check_add(s, &(struct finding){
                         .id = "bridge-default-route",
                         .severity = CHECK_NOTE,
                         .where = host->name,
                         .why = arena_format(
                             s->arena,
                             "%s bridges Thunderbolt and is on a LAN: bridge0 may get a DHCP lease "
                             "and the default route, and the internet is gone although the packet "
                             "rate is normal; that is no storm (dnet issue 66). The cure has two "
                             "parts: a static subnet of its own on bridge0, and Ethernet and Wi-Fi "
                             "above it in the service order.",
                             host->name),
                         .fix = fix.bytes,
                         .pos = host->pos,
                     });
    }
}

static void check_component(struct check_state *s, struct component *c)
{
    if (c->cable_count < c->host_count) {
        report_default_route(s, c);
        return;
    }

    struct bridge_tree tree = grow_tree(c);
    const char *fix = write_cut(c, &tree);

    report_cycles(s, c, &tree, fix);
    report_parallel(s, c, fix);
}

/* Gathers the machines and bridge cables of the component that `root` stands for. */
static struct component gather_component(struct check_state *s, uint32_t *label, uint32_t root)
{
    const struct cluster *cluster = s->cluster;
    struct component c = {
        .s = s,
        .hosts = arena_alloc_array(s->arena, cluster->host_count, sizeof(uint32_t)),
        .cables = arena_alloc_array(s->arena, cluster->cable_count, sizeof(uint32_t)),
        .label = arena_alloc_array(s->arena, cluster->host_count, sizeof(uint32_t)),
        .is_cut = arena_alloc_array(s->arena, cluster->host_count, sizeof(bool)),
    };

    for (uint32_t v = 0; v < cluster->host_count; v++) {
        if (find_root(label, v) == root)
            c.hosts[c.host_count++] = v;
    }
    for (uint32_t e = 0; e < cluster->cable_count; e++) {
        if (is_bridge_edge(s, e) && find_root(label, cluster->cables[e].a.host.ix) == root)
            c.cables[c.cable_count++] = e;
    }
    return c;
}

void check_bridge(struct check_state *s)
{
    uint32_t host_count = (uint32_t)s->cluster->host_count;
    uint32_t *label = arena_alloc_array(s->arena, host_count, sizeof *label);
    bool *has_edge = arena_alloc_array(s->arena, host_count, sizeof *has_edge);

    for (uint32_t v = 0; v < host_count; v++)
        label[v] = v;
    for (uint32_t e = 0; e < s->cluster->cable_count; e++) {
        if (!is_bridge_edge(s, e))
            continue;
        (void)join_ends(s, label, e);
        has_edge[s->cluster->cables[e].a.host.ix] = true;
        has_edge[s->cluster->cables[e].b.host.ix] = true;
    }
    for (uint32_t v = 0; v < host_count; v++) {
        if (label[v] != v || !has_edge[v])
            continue;

        struct component c = gather_component(s, label, v);

        check_component(s, &c);
    }
}

/* A host whose cabled ports are bridge members although their addresses are their own. */
static bool has_members_with_rdma(const struct check_state *s, host_id host)
{
    const struct cluster_host *h = check_host(s, host);

    if (!s->wants_rdma[host.ix] || !check_is_capable(h))
        return false;
    for (size_t i = 0; i < h->port_count; i++) {
        const struct cluster_port *port = &h->ports[i];

        if (port->cable.ix != ID_NONE && port->is_bridge_member && port->ip != PORT_IP_BRIDGE)
            return true;
    }
    return false;
}

void check_bridge_members(struct check_state *s)
{
    struct text names;
    struct text fix;

    text_init(&names, s->arena);
    text_init(&fix, s->arena);
    for (size_t i = 0; i < s->computer_count; i++) {
        if (!has_members_with_rdma(s, s->computers[i]))
            continue;
        text_add_item(&names, ", ", check_host(s, s->computers[i])->name);
        check_bridge_commands(&fix, check_host(s, s->computers[i]));
    }
    if (names.length == 0)
        return;
    check_bridge_reboot(&fix);
    check_add(s, &(struct finding){
                     .id = "bridge-members-with-rdma",
                     .severity = CHECK_WARNING,
                     .where = names.bytes,
                     .why = "Ports that carry RDMA are members of bridge0. The MLX documentation "
                            "asks to disable the bridge even for RDMA (launching_distributed, "
                            "846d176), and RTR failures with errno 22 were cured by it (exo issue "
                            "1390); one cluster guide reports 7.4 GB/s with bridge0 present. What "
                            "counts is probably the IPv4 address on the port itself.",
                     .fix = fix.bytes,
                 });
}

static void report_multi_path(struct check_state *s, host_id a, host_id b, size_t paths)
{
    const struct cluster_host *at_a = check_host(s, a);
    struct text fix;

    text_init(&fix, s->arena);
    text_add(&fix, "# one cable up, the others only while they are needed:");
    for (uint32_t p = 0, seen = 0; p < at_a->port_count; p++) {
        const struct cluster_port *port = &at_a->ports[p];

        if (port->cable.ix == ID_NONE || port->model->kind != PORT_THUNDERBOLT ||
            cluster_peer(&s->cluster->cables[port->cable.ix], a).host.ix != b.ix)
            continue;
        if (seen++ > 0)
            check_command(&fix, at_a, "sudo ifconfig %s down", port->model->ifname);
    }
    check_add(s, &(struct finding){
                     .id = "multi-path",
                     .severity = CHECK_WARNING,
                     .where = arena_format(s->arena, "%s - %s", at_a->name, check_host(s, b)->name),
                     .why = arena_format(
                         s->arena,
                         "%zu paths join these two, all of them open to discovery. With five, "
                         "mDNSResponder ran at 100%% CPU for twelve hours over name conflicts and "
                         "renamed the host 438 times, at a normal packet rate: a conflict of "
                         "names, not a bridge loop; it ended within a minute of taking the spare "
                         "links down (avlp12/two-macstudio-m3u, README).",
                         paths),
                     .fix = fix.bytes,
                     .pos = at_a->pos,
                 });
}

void check_multi_path(struct check_state *s)
{
    for (size_t i = 0; i < s->computer_count; i++) {
        for (size_t k = i + 1; k < s->computer_count; k++) {
            size_t paths =
                cluster_find_paths(s->cluster, s->computers[i], s->computers[k], NULL, 0);

            if (paths >= MULTI_PATH_MIN)
                report_multi_path(s, s->computers[i], s->computers[k], paths);
        }
    }
}
