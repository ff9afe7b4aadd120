/* SPDX-License-Identifier: Apache-2.0 */
/*
 * DOC: Words of the check
 *
 * Names of ports and cables, and the commands of the fixes. The commands are those that public
 * set-up scripts use: exo tmp/set_rdma_network_config.sh (5ea371f) for taking bridge0 away and one
 * service a port; ml-explore/mlx python/mlx/_distributed_utils/config.py (846d176, 2026-08-22) for
 * one /30 a cable out of 192.168.0.0/16. networksetup writes to the stored configuration, so its
 * part survives a reboot; ifconfig's part does not.
 */
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "sim/base/arena.h"
#include "sim/base/ids.h"
#include "sim/base/text.h"
#include "sim/base/units.h"
#include "sim/fabric/cluster.h"
#include "sim/fabric/model.h"
#include "sim/plan/check_address.h"
#include "sim/plan/check_rules.h"

#define PREFS "/Library/Preferences/SystemConfiguration/preferences.plist"

const struct cluster_host *check_host(const struct check_state *s, host_id host)
{
    return &s->cluster->hosts[host.ix];
}

bool check_is_computer(const struct cluster_host *host)
{
    return !machine_forwards(host->model);
}

bool check_is_capable(const struct cluster_host *host)
{
    return host->model->kind == MACHINE_MAC && host->model->is_rdma_capable;
}

const char *check_port_name(const struct check_state *s, struct cluster_end end)
{
    const struct cluster_host *host = check_host(s, end.host);
    const struct port_model *port = host->ports[end.port].model;
    const char *ifname = port->ifname ? port->ifname : "";
    const char *label = port->label ? port->label : "";

    return arena_format(s->arena, "%s port %u (%s%s%s)", host->name, port->number, ifname,
                        *ifname && *label ? ", " : "", label);
}

const char *check_cable_name(const struct check_state *s, cable_id cable)
{
    const struct cluster_cable *c = &s->cluster->cables[cable.ix];

    return arena_format(s->arena, "%s:%u - %s:%u", check_host(s, c->a.host)->name, c->a.port + 1,
                        check_host(s, c->b.host)->name, c->b.port + 1);
}

const char *check_host_list(const struct check_state *s, const host_id *hosts, size_t count)
{
    struct text list;

    text_init(&list, s->arena);
    for (size_t i = 0; i < count; i++)
        text_add_item(&list, ", ", check_host(s, hosts[i])->name);
    return list.bytes;
}

const char *check_plural(const struct check_state *s, size_t count, const char *noun)
{
    return arena_format(s->arena, "%zu %s%s", count, noun, count == 1 ? "" : "s");
}

const char *check_gbps(const struct check_state *s, bitrate rate)
{
    uint64_t tenths = (rate.bps + 50000000U) / 100000000U;

    if (tenths % 10 == 0)
        return arena_format(s->arena, "%llu", (unsigned long long)(tenths / 10));
    return arena_format(s->arena, "%llu.%llu", (unsigned long long)(tenths / 10),
                        (unsigned long long)(tenths % 10));
}

void check_command(struct text *fix, const struct cluster_host *host, const char *format, ...)
{
    char line[256];
    va_list args;

    va_start(args, format);
    (void)vsnprintf(line, sizeof line, format, args);
    va_end(args);
    text_add_item(fix, "\n", host->name);
    text_add(fix, "$ %s", line);
}

void check_bridge_commands(struct text *fix, const struct cluster_host *host)
{
    for (size_t i = 0; i < host->port_count; i++) {
        if (host->ports[i].is_bridge_member)
            check_command(fix, host, "sudo ifconfig bridge0 deletem %s",
                          host->ports[i].model->ifname);
    }
    check_command(fix, host, "sudo ifconfig bridge0 destroy");
    check_command(fix, host,
                  "sudo /usr/libexec/PlistBuddy -c \"Delete "
                  ":VirtualNetworkInterfaces:Bridge:bridge0\" " PREFS);
    check_command(fix, host,
                  "sudo networksetup -setnetworkserviceenabled \"Thunderbolt Bridge\" off");
}

void check_bridge_reboot(struct text *fix)
{
    text_add_item(fix, "\n",
                  "# macOS may bring bridge0 back after a reboot or a link event: run the same "
                  "lines from a launch daemon at boot (exo PR 1270 and 1309 do, and again every "
                  "half hour), and list the services with: networksetup -listallnetworkservices");
}

static void add_address(const struct check_state *s, struct text *fix, struct cluster_end end)
{
    const struct cluster_host *host = check_host(s, end.host);
    const char *ifname = host->ports[end.port].model->ifname;
    struct port_address at = port_address_of(s->cluster, end, s->arena);

    check_command(fix, host, "sudo networksetup -createnetworkservice \"tb %s\" %s", ifname,
                  ifname);
    check_command(fix, host, "sudo networksetup -setmanual \"tb %s\" %s %s", ifname, at.address,
                  at.netmask);
}

void check_address_commands(const struct check_state *s, struct text *fix, host_id host)
{
    const struct cluster_host *h = check_host(s, host);

    for (uint32_t i = 0; i < h->port_count; i++) {
        const struct cluster_port *port = &h->ports[i];

        if (port->cable.ix != ID_NONE && port->ip != PORT_IP_CABLE &&
            port->model->kind == PORT_THUNDERBOLT)
            add_address(s, fix, (struct cluster_end){host, i});
    }
}
