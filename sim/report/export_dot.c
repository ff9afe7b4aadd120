/* SPDX-License-Identifier: Apache-2.0 */
/*
 * DOC: Graphviz
 *
 * One node a machine, named by its index so that no name of a user can clash with the language;
 * what users named is in quoted labels. Ends of edges carry "port ifname", edges the kind of cable
 * and the rate.
 */
#include "sim/report/export_dot.h"

#include <stddef.h>

#include "sim/base/ids.h"
#include "sim/fabric/model.h"

static void add_quoted(struct text *ret, const char *text)
{
    for (; *text; text++)
        text_add(ret, *text == '"' || *text == '\\' ? "\\%c" : "%c", *text);
}

static const char *shape_of(enum machine_kind kind)
{
    switch (kind) {
    case MACHINE_MAC:
        return "box";
    case MACHINE_HUB:
        return "diamond";
    case MACHINE_SWITCH:
        return "hexagon";
    case MACHINE_OTHER:
        return "ellipse";
    }
    return "box";
}

static void add_end(struct text *ret, const struct cluster *cluster, const char *name,
                    struct cluster_end end)
{
    const struct port_model *port = cluster->hosts[end.host.ix].ports[end.port].model;

    text_add(ret, ", %s=\"%u", name, port->number);
    if (port->ifname && *port->ifname) {
        text_add(ret, " ");
        add_quoted(ret, port->ifname);
    }
    text_add(ret, "\"");
}

void export_dot(const struct cluster *cluster, const char *title, struct text *ret)
{
    text_add(ret, "graph cabling {\n  label=\"");
    add_quoted(ret, title);
    text_add(ret, "\";\n  layout=circo;\n  mindist=2;\n  node [fontname=\"Helvetica\"];\n"
                  "  edge [fontname=\"Helvetica\", fontsize=10, labeldistance=1.8];\n");
    for (size_t i = 0; i < cluster->host_count; i++) {
        const struct cluster_host *host = &cluster->hosts[i];

        text_add(ret, "  m%zu [shape=%s, label=\"", i, shape_of(host->model->kind));
        add_quoted(ret, host->name);
        text_add(ret, "\\n");
        add_quoted(ret, host->model->name);
        text_add(ret, "\"];\n");
    }
    for (size_t i = 0; i < cluster->cable_count; i++) {
        const struct cluster_cable *cable = &cluster->cables[i];

        text_add(ret, "  m%u -- m%u [label=\"", cable->a.host.ix, cable->b.host.ix);
        add_quoted(ret, cable->model->name);
        text_add(ret, "\"");
        add_end(ret, cluster, "taillabel", cable->a);
        add_end(ret, cluster, "headlabel", cable->b);
        text_add(ret, "];\n");
    }
    text_add(ret, "}\n");
}
