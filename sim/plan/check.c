/* SPDX-License-Identifier: Apache-2.0 */
/*
 * DOC: Static check of a cluster
 *
 * A table of rules looks at one cluster and at what is asked of it (goals, runs, a device matrix)
 * and reports findings. docs/check.md lists every id with its meaning, source and fix.
 *
 * What is asked becomes a list of groups: hosts that need a link a pair (mesh), a link between
 * neighbours (ring) or one link (pair). When nothing at all is asked, the question is taken to be
 * "can these Macs run RDMA as cabled", and without cables "can they be meshed".
 *
 * The binding constraint: each error carries the number of computers up to which it does not bind
 * (3 ports: 4 Macs; JACCL's mesh: 8). The least limit binds first as a cluster grows; among equal
 * limits the order of the table decides, which goes from what money buys to what a command cures.
 *
 * Invariants: findings are in order of severity, then of the table, then of hosts or cables; no
 * finding depends on anything but the input.
 */
#include "sim/plan/check.h"

#include <string.h>

#include "sim/fabric/cluster.h"
#include "sim/plan/check_rules.h"
#include "sim/workload/run.h"

static void (*const rules[])(struct check_state *) = {
    check_hardware,     check_macos,   check_port_count,     check_mesh_cap,    check_fit,
    check_cabling,      check_wires,   check_links,          check_enabled,     check_addresses,
    check_matrix_cells, check_bridge,  check_bridge_members, check_multi_path,  check_hubs,
    check_speeds,       check_buffers, check_doubtful_ports, check_unconfirmed,
};

void check_add_limited(struct check_state *s, const struct finding *finding, uint32_t limit)
{
    if (s->entry_count == s->entry_capacity) {
        size_t capacity = s->entry_capacity ? 2 * s->entry_capacity : 16;
        struct check_entry *entries = arena_alloc_array(s->arena, capacity, sizeof *entries);

        if (s->entry_count)
            memcpy(entries, s->entries, s->entry_count * sizeof *entries);
        s->entries = entries;
        s->entry_capacity = capacity;
    }
    s->entries[s->entry_count++] = (struct check_entry){.finding = *finding, .limit = limit};
}

void check_add(struct check_state *s, const struct finding *finding)
{
    check_add_limited(s, finding, UINT32_MAX);
}

static void find_computers(struct check_state *s)
{
    const struct cluster *cluster = s->cluster;

    s->computers = arena_alloc_array(s->arena, cluster->host_count, sizeof *s->computers);
    for (size_t i = 0; i < cluster->host_count; i++) {
        if (check_is_computer(&cluster->hosts[i]))
            s->computers[s->computer_count++] = (host_id){(uint32_t)i};
    }
}

static bool same_group(const struct check_group *a, const struct check_group *b)
{
    if (a->kind != b->kind || a->count != b->count || a->is_ip != b->is_ip ||
        a->is_jaccl != b->is_jaccl || a->wires != b->wires)
        return false;
    for (size_t i = 0; i < a->count; i++) {
        if (a->hosts[i].ix != b->hosts[i].ix)
            return false;
    }
    return true;
}

/* Adds a group unless an equal one is there: a run of ten sizes asks for its cables once. */
static void add_group(struct check_state *s, const struct check_group *group)
{
    if (group->count < 2)
        return;
    for (size_t i = 0; i < s->group_count; i++) {
        if (same_group(&s->groups[i], group))
            return;
    }
    s->groups[s->group_count++] = *group;
    for (size_t i = 0; i < group->count && !group->is_ip; i++)
        s->wants_rdma[group->hosts[i].ix] = true;
}

static void add_goal_groups(struct check_state *s)
{
    for (size_t i = 0; i < s->input->goal_count; i++) {
        if (!s->input->goals[i].wants_mesh)
            continue;
        add_group(s, &(struct check_group){.kind = GROUP_MESH,
                                           .hosts = s->computers,
                                           .count = s->computer_count,
                                           .is_jaccl = true,
                                           .who = "the goal of a full mesh",
                                           .pos = s->input->goals[i].pos});
    }
}

/* What a library's messages need. Textbook algorithms other than mesh and ring, and a single
 * message, are forwarded by the application where two machines share no cable. */
static bool library_needs_links(const struct run_item *item, enum group_kind *ret)
{
    switch (item->library) {
    case LIBRARY_JACCL_MESH:
    case LIBRARY_MESH:
        *ret = GROUP_MESH;
        return true;
    case LIBRARY_JACCL_RING:
    case LIBRARY_TCP_RING:
    case LIBRARY_RING:
        *ret = GROUP_RING;
        return true;
    case LIBRARY_VERBS:
    case LIBRARY_TCP:
        *ret = GROUP_PAIR;
        return item->op == RUN_PING_PONG || item->op == RUN_STREAM;
    case LIBRARY_RECURSIVE_DOUBLING:
    case LIBRARY_HALVING_DOUBLING:
    case LIBRARY_BINOMIAL_TREE:
    case LIBRARY_COUNT:
        break;
    }
    return false;
}

static void add_item_group(struct check_state *s, const struct run_item *item)
{
    bool is_ip = item->library == LIBRARY_TCP_RING || item->library == LIBRARY_TCP;
    struct check_group group = {
        .hosts = item->nodes,
        .count = item->node_count,
        .is_ip = is_ip,
        .is_jaccl = item->library == LIBRARY_JACCL_MESH || item->library == LIBRARY_JACCL_RING,
        .wires = item->library == LIBRARY_JACCL_RING ? item->wires : 1,
        .pos = item->pos,
    };

    for (size_t i = 0; i < item->node_count && !is_ip; i++)
        s->wants_rdma[item->nodes[i].ix] = true;
    if (!library_needs_links(item, &group.kind))
        return;
    group.who =
        arena_format(s->arena, "%s by %s", run_op_name(item->op), run_library_name(item->library));
    if (group.kind == GROUP_PAIR) {
        host_id *pair = arena_alloc_array(s->arena, 2, sizeof *pair);

        if (item->from >= item->node_count || item->to >= item->node_count)
            return;
        pair[0] = item->nodes[item->from];
        pair[1] = item->nodes[item->to];
        group.hosts = pair;
        group.count = pair[0].ix == pair[1].ix ? 0 : 2;
    }
    add_group(s, &group);
}

/* Nothing is asked: RDMA among all, unless it is switched off everywhere on purpose. */
static void add_bare_group(struct check_state *s)
{
    bool any = s->cluster->cable_count == 0;

    for (size_t i = 0; i < s->computer_count; i++)
        any = any || check_host(s, s->computers[i])->is_rdma_enabled ||
              !check_is_capable(check_host(s, s->computers[i]));
    for (size_t i = 0; i < s->computer_count; i++)
        s->wants_rdma[s->computers[i].ix] = any;
    if (s->cluster->cable_count == 0)
        add_group(s, &(struct check_group){.kind = GROUP_MESH,
                                           .hosts = s->computers,
                                           .count = s->computer_count,
                                           .is_jaccl = true,
                                           .who = "a full mesh (nothing else is asked)"});
}

static void find_groups(struct check_state *s)
{
    const struct check_input *input = s->input;
    const struct check_matrix *matrix = input->matrix;
    size_t matrix_size = matrix ? matrix->size : 0;

    s->wants_rdma = arena_alloc_array(s->arena, s->cluster->host_count, sizeof *s->wants_rdma);
    s->groups =
        arena_alloc_array(s->arena, input->goal_count + input->item_count + 1, sizeof *s->groups);
    s->is_bare = input->goal_count == 0 && input->item_count == 0 && matrix_size == 0;
    add_goal_groups(s);
    for (size_t i = 0; i < input->item_count; i++)
        add_item_group(s, &input->items[i]);
    for (size_t i = 0; i < matrix_size; i++)
        s->wants_rdma[matrix->hosts[i].ix] = true;
    if (s->is_bare)
        add_bare_group(s);
}

/* Sorts by severity; the order within one severity is the rules' own. */
static void hand_over_findings(const struct check_state *s, struct check_result *ret)
{
    const enum check_severity order[] = {CHECK_ERROR, CHECK_WARNING, CHECK_NOTE};

    ret->findings = arena_alloc_array(s->arena, s->entry_count, sizeof *ret->findings);
    for (size_t k = 0; k < sizeof order / sizeof order[0]; k++) {
        for (size_t i = 0; i < s->entry_count; i++) {
            if (s->entries[i].finding.severity == order[k])
                ret->findings[ret->finding_count++] = s->entries[i].finding;
        }
    }
}

static void find_binding(const struct check_state *s, struct check_result *ret)
{
    const struct check_entry *binding = NULL;

    for (size_t i = 0; i < s->entry_count; i++) {
        const struct check_entry *entry = &s->entries[i];

        if (entry->finding.severity == CHECK_ERROR && (!binding || entry->limit < binding->limit))
            binding = entry;
    }
    ret->is_feasible = !binding;
    ret->binding = binding ? binding->finding.id : "";
}

static void count_for_result(const struct check_state *s, struct check_result *ret)
{
    uint32_t n = (uint32_t)s->computer_count;
    size_t all = SIZE_MAX;
    size_t cautious = SIZE_MAX;

    for (size_t i = 0; i < s->computer_count; i++) {
        const struct machine_model *model = check_host(s, s->computers[i])->model;
        size_t ports = machine_count_rdma_ports(model, false);
        size_t sure = machine_count_rdma_ports(model, true);

        all = ports < all ? ports : all;
        cautious = sure < cautious ? sure : cautious;
    }
    ret->cables = (uint32_t)s->cluster->cable_count;
    ret->mesh_cables = n > 1 ? n * (n - 1) / 2 : 0;
    ret->max_full_mesh = n ? (uint32_t)all + 1 : 0;
    ret->max_full_mesh_cautious = n ? (uint32_t)cautious + 1 : 0;
}

/*
 * Runs every rule.
 *
 * Requires: each port names its cable and each cable its ports; hosts of items, goals and matrix
 *           are hosts of the cluster.
 * Cost:     O(hosts * (hosts + cables)) apart from two searches with a stated bound: rings
 *           (RING_STEPS_MAX in check_ring.c) and bridge cuts (CUT_EXACT_MAX in check_bridge.c).
 */
void check_cluster(const struct check_input *input, struct check_result *ret)
{
    *ret = (struct check_result){0};
    arena_init(&ret->arena);

    struct check_state s = {.input = input, .cluster = input->cluster, .arena = &ret->arena};

    find_computers(&s);
    find_groups(&s);
    for (size_t i = 0; i < sizeof rules / sizeof rules[0]; i++)
        rules[i](&s);
    hand_over_findings(&s, ret);
    find_binding(&s, ret);
    count_for_result(&s, ret);
}

void check_result_done(struct check_result *result)
{
    arena_done(&result->arena);
    *result = (struct check_result){0};
}
