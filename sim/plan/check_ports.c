/* SPDX-License-Identifier: Apache-2.0 */
/*
 * DOC: Ports and machines
 *
 * A full mesh of n computers takes n - 1 ports of each and n(n-1)/2 cables, so a Mac with p ports
 * reaches meshes of p + 1. Which ports count is in the catalogue; a port that sources disagree
 * about counts, and everything that rests on it is a warning with the limit recomputed without it.
 *
 * Sources: Apple TN3205 (rev. 2026-04-13) for the gate "Apple silicon with Thunderbolt 5"; exo
 * README and PR 1543 against J. Geerling and the MLX documentation for the port beside Ethernet;
 * ml-explore/mlx at 846d176 for JACCL's cap of 8.
 */
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "sim/base/arena.h"
#include "sim/base/ids.h"
#include "sim/base/text.h"
#include "sim/fabric/cluster.h"
#include "sim/fabric/model.h"
#include "sim/plan/check.h"
#include "sim/plan/check_rules.h"

/* A machine that cannot do RDMA at all, where RDMA is asked for. */
void check_hardware(struct check_state *s)
{
    for (size_t i = 0; i < s->computer_count; i++) {
        const struct cluster_host *host = check_host(s, s->computers[i]);
        bool is_mac = host->model->kind == MACHINE_MAC;

        /* A model that is no Mac says itself whether its driver does RDMA. */
        if (!s->wants_rdma[s->computers[i].ix] || host->model->is_rdma_capable)
            continue;

        const char *why = arena_format(
            s->arena,
            is_mac ? "%s is Thunderbolt 4 hardware: RDMA over Thunderbolt needs Apple silicon with "
                     "Thunderbolt 5 (Apple TN3205, 2026-04-13). Such a Mac shows no RDMA devices "
                     "(mlx issue 3777), or devices that fail when opened (mlx issue 4485, exo PR "
                     "1813); no setting changes that."
                   : "%s is not a Mac with Thunderbolt 5, the only machines that macOS's RDMA over "
                     "Thunderbolt runs on (Apple TN3205, 2026-04-13).",
            host->model->title ? host->model->title : host->model->name);
        struct text fix;

        text_init(&fix, s->arena);
        text_add_item(&fix, "\n",
                      "# leave RDMA out: MLX's ring back end over TCP runs on this hardware");
        check_command(&fix, host, "mlx.launch --backend ring --hostfile hosts.json script.py");
        check_add_limited(s,
                          &(struct finding){.id = is_mac ? "tb4-host" : "not-a-mac",
                                            .severity = CHECK_ERROR,
                                            .where = host->name,
                                            .why = why,
                                            .fix = fix.bytes,
                                            .pos = host->pos},
                          1);
    }
}

/* Ports that a host offers to a mesh, and the same without the doubtful ones. */
static size_t mesh_ports(const struct cluster_host *host, bool without_doubtful)
{
    return machine_count_rdma_ports(host->model, without_doubtful);
}

/* Names the models of a group that have fewer than `need` ports, each once. */
static const char *list_short_models(const struct check_state *s, const struct check_group *group,
                                     bool cautious, size_t need)
{
    struct text list;

    text_init(&list, s->arena);
    for (size_t i = 0; i < group->count; i++) {
        const struct cluster_host *host = check_host(s, group->hosts[i]);
        bool is_new = true;

        for (size_t k = 0; k < i; k++)
            is_new = is_new && check_host(s, group->hosts[k])->model != host->model;
        if (!is_new || !check_is_capable(host) || mesh_ports(host, cautious) >= need)
            continue;
        text_add_item(&list, "; ", host->model->name);
        text_add(&list, " has %s", check_plural(s, mesh_ports(host, cautious), "port"));
    }
    return list.bytes;
}

static size_t scarcest_ports(const struct check_state *s, const struct check_group *group,
                             bool cautious)
{
    size_t least = SIZE_MAX;

    for (size_t i = 0; i < group->count; i++) {
        const struct cluster_host *host = check_host(s, group->hosts[i]);
        size_t ports = mesh_ports(host, cautious);

        if (check_is_capable(host) && ports < least)
            least = ports;
    }
    return least;
}

static void report_port_count(struct check_state *s, const struct check_group *group, size_t least)
{
    size_t n = group->count;
    struct finding finding = {
        .id = "port-count",
        .severity = CHECK_ERROR,
        .where = check_host_list(s, group->hosts, n),
        .why = arena_format(s->arena,
                            "%s of %zu computers needs %zu Thunderbolt 5 ports on each (n - 1) and "
                            "%zu cables; %s, which ends at a mesh of %zu (port counts: models/, "
                            "each with its source).",
                            group->who, n, n - 1, n * (n - 1) / 2,
                            list_short_models(s, group, false, n - 1), least + 1),
        .fix = arena_format(s->arena,
                            "# mesh at most %zu of these computers\n# or run all %zu as a ring, "
                            "which needs 2 ports on each: mlx.launch --backend jaccl-ring",
                            least + 1, n),
        .pos = group->pos,
    };

    check_add_limited(s, &finding, (uint32_t)least + 1);
}

/* The mesh fits only on ports that sources disagree about. Said once a model. */
static void report_doubtful_need(struct check_state *s, const struct check_group *group,
                                 size_t least)
{
    size_t n = group->count;
    const char *where = "";

    for (size_t i = 0; i < group->count && !*where; i++) {
        const struct cluster_host *host = check_host(s, group->hosts[i]);

        for (uint32_t p = 0; p < host->port_count; p++) {
            if (host->ports[p].model->is_doubtful && mesh_ports(host, true) < n - 1)
                where = check_port_name(s, (struct cluster_end){group->hosts[i], p});
        }
    }
    check_add(s, &(struct finding){
                     .id = "port-beside-ethernet",
                     .severity = CHECK_WARNING,
                     .where = where,
                     .why = arena_format(
                         s->arena,
                         "A mesh of %zu uses every port, also the one beside Ethernet: exo says it "
                         "cannot do RDMA (README, PR 1543), while the MLX documentation lists its "
                         "device and J. Geerling was told by Apple that all ports can. Without it "
                         "%s, which ends at a mesh of %zu instead of %zu.",
                         n, list_short_models(s, group, true, n - 1), least + 1,
                         scarcest_ports(s, group, false) + 1),
                     .fix = arena_format(s->arena,
                                         "# try that port before you buy: its device must be "
                                         "PORT_ACTIVE in ibv_devinfo\n# or plan for %zu computers",
                                         least + 1),
                     .pos = group->pos,
                 });
}

void check_port_count(struct check_state *s)
{
    for (size_t i = 0; i < s->group_count; i++) {
        const struct check_group *group = &s->groups[i];
        size_t least = scarcest_ports(s, group, false);
        size_t cautious = scarcest_ports(s, group, true);

        if (group->kind != GROUP_MESH || group->is_ip || least == SIZE_MAX)
            continue;
        if (check_has_hub(s) || check_has_all_links(s, group))
            continue; /* check_cabling.c looks at each pair */
        if (least < group->count - 1)
            report_port_count(s, group, least);
        else if (cautious < group->count - 1)
            report_doubtful_need(s, group, cautious);
    }
}

/* Does the group fit its machines? Then the arithmetic of the mesh is worth a note. */
static void note_feasible_mesh(struct check_state *s, const struct check_group *group)
{
    size_t n = group->count;
    size_t cautious = scarcest_ports(s, group, true);
    size_t least = scarcest_ports(s, group, false);

    if (least == SIZE_MAX || least < n - 1 || s->cluster->cable_count)
        return;
    check_add(s, &(struct finding){
                     .id = "mesh-plan",
                     .severity = CHECK_NOTE,
                     .where = check_host_list(s, group->hosts, n),
                     .why = arena_format(
                         s->arena,
                         "A full mesh of %zu is possible: %zu cables, %s of each computer; the "
                         "ports allow up to %zu computers, or %zu without the ports that sources "
                         "disagree about, and JACCL's mesh up to %u.",
                         n, n * (n - 1) / 2, check_plural(s, n - 1, "port"), least + 1,
                         cautious + 1, JACCL_MESH_MAX),
                     .fix = "# tbmesh export draws the cabling sheet once the cables are in the "
                            "scenario, such as: cables: [{mesh: [...], kind: tb5-1m}]",
                     .pos = group->pos,
                 });
}

void check_mesh_cap(struct check_state *s)
{
    for (size_t i = 0; i < s->group_count; i++) {
        const struct check_group *group = &s->groups[i];

        if (group->kind != GROUP_MESH || !group->is_jaccl)
            continue;
        if (group->count <= JACCL_MESH_MAX) {
            note_feasible_mesh(s, group);
            continue;
        }
        check_add_limited(
            s,
            &(struct finding){
                .id = "jaccl-mesh-cap",
                .severity = CHECK_ERROR,
                .where = check_host_list(s, group->hosts, group->count),
                .why = arena_format(s->arena,
                                    "JACCL's mesh takes at most %u ranks and refuses %zu (\"The "
                                    "JACCL mesh supports up to 8 peers\"; ml-explore/mlx at "
                                    "846d176, 2026-08-22).",
                                    JACCL_MESH_MAX, group->count),
                .fix = arena_format(s->arena,
                                    "# mesh %u of them\n# or run all %zu as a ring: mlx.launch "
                                    "--backend jaccl-ring",
                                    JACCL_MESH_MAX, group->count),
                .pos = group->pos,
            },
            JACCL_MESH_MAX);
    }
}

/* A free port of the same Mac that nobody doubts; ID_NONE when there is none. */
static uint32_t find_sure_port(const struct cluster_host *host)
{
    for (uint32_t p = 0; p < host->port_count; p++) {
        const struct port_model *port = host->ports[p].model;

        if (host->ports[p].cable.ix == ID_NONE && port->kind == PORT_THUNDERBOLT &&
            port->generation >= 5 && !port->is_doubtful)
            return p;
    }
    return ID_NONE;
}

static void report_doubtful_port(struct check_state *s, struct cluster_end end)
{
    const struct cluster_host *host = check_host(s, end.host);
    const struct port_model *port = host->ports[end.port].model;
    size_t sure = mesh_ports(host, true);
    uint32_t free_port = find_sure_port(host);
    const char *fix;

    if (free_port != ID_NONE)
        fix = arena_format(s->arena, "# move the cable from %s to %s", check_port_name(s, end),
                           check_port_name(s, (struct cluster_end){end.host, free_port}));
    else
        fix = arena_format(s->arena,
                           "# no other port of %s is free: check that ibv_devinfo shows rdma_%s "
                           "PORT_ACTIVE, or mesh %zu computers",
                           host->name, port->ifname, sure + 1);
    check_add(
        s,
        &(struct finding){
            .id = "port-beside-ethernet",
            .severity = CHECK_WARNING,
            .where = check_port_name(s, end),
            .why = arena_format(
                s->arena,
                "Sources disagree whether this port does RDMA. %s Without it %s has %s and a full "
                "mesh ends at %zu computers instead of %zu.",
                port->doubt ? port->doubt : "", host->model->name, check_plural(s, sure, "port"),
                sure + 1, mesh_ports(host, false) + 1),
            .fix = fix,
            .pos = host->pos,
        });
}

/* Cables in ports that sources disagree about. */
void check_doubtful_ports(struct check_state *s)
{
    for (size_t i = 0; i < s->computer_count; i++) {
        const struct cluster_host *host = check_host(s, s->computers[i]);

        if (!s->wants_rdma[s->computers[i].ix] || !check_is_capable(host))
            continue;
        for (uint32_t p = 0; p < host->port_count; p++) {
            if (host->ports[p].model->is_doubtful && host->ports[p].cable.ix != ID_NONE)
                report_doubtful_port(s, (struct cluster_end){s->computers[i], p});
        }
    }
}

/* Machines whose figures nobody has confirmed; once a model. */
void check_unconfirmed(struct check_state *s)
{
    for (size_t i = 0; i < s->computer_count; i++) {
        const struct cluster_host *host = check_host(s, s->computers[i]);
        const struct provenance *from = &host->model->provenance;
        bool is_new = true;

        for (size_t k = 0; k < i; k++)
            is_new = is_new && check_host(s, s->computers[k])->model != host->model;
        if (!is_new || !from->confidence)
            continue;

        bool is_assumed = strcmp(from->confidence, "assumed") == 0;

        if (!is_assumed && strcmp(from->confidence, "secondary") != 0)
            continue;
        check_add(s, &(struct finding){
                         .id = "unconfirmed",
                         .severity = is_assumed ? CHECK_WARNING : CHECK_NOTE,
                         .where = host->model->name,
                         .why = arena_format(s->arena,
                                             "What is known about this Mac is %s, not measured or "
                                             "stated by its maker (%s, %s); limits that rest on "
                                             "its ports may move.",
                                             from->confidence, from->source ? from->source : "",
                                             from->date ? from->date : ""),
                         .fix = "# look at the port on the machine before buying cables",
                         .pos = host->pos,
                     });
    }
}
