/* SPDX-License-Identifier: Apache-2.0 */
/*
 * DOC: Is RDMA there on this cable?
 *
 * An RDMA device is ACTIVE when the link trained above 40 Gb/s and RDMA is enabled on both Macs;
 * on a DOWN port ibv_alloc_pd returns NULL (mlx issues 3777 and 4530). A queue pair reaches RTR
 * only when the port has an IPv4-mapped GID, which exists when an IPv4 address is on the physical
 * interface; an address on bridge0 makes none, and RTR fails with errno 22 (EINVAL; mlx issues
 * 3207, 3389, 3467, exo issue 1390).
 *
 * Sources besides those: Apple TN3205 (rev. 2026-04-13); WWDC26 session 233 for the switch in
 * System Settings; exo PR 1813 for the rule "faster than 40 Gb/s"; exo README for identical builds.
 */
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "sim/base/arena.h"
#include "sim/base/ids.h"
#include "sim/base/text.h"
#include "sim/base/units.h"
#include "sim/fabric/cluster.h"
#include "sim/fabric/model.h"
#include "sim/plan/check.h"
#include "sim/plan/check_rules.h"

#define RDMA_ABOVE_BPS UINT64_C(40000000000)

/* A Mac that could do RDMA and is asked to. */
static bool is_wanted(const struct check_state *s, host_id host)
{
    return s->wants_rdma[host.ix] && check_is_capable(check_host(s, host));
}

static bool has_rdma_macos(const struct cluster_host *host)
{
    return host->macos_profile && host->macos_profile->has_rdma;
}

static void report_old_macos(struct check_state *s, const struct cluster_host *host)
{
    struct text fix;

    text_init(&fix, s->arena);
    check_command(&fix, host, "softwareupdate --list");
    check_command(&fix, host, "sudo softwareupdate --install --all --restart");
    check_add(s,
              &(struct finding){
                  .id = "macos-too-old",
                  .severity = CHECK_ERROR,
                  .where = host->name,
                  .why = arena_format(s->arena,
                                      "%s runs macOS %s; RDMA over Thunderbolt begins with macOS "
                                      "26.2, and buffers above 4 KiB with 26.3 (Apple TN3205, "
                                      "2026-04-13; mlx PR 3094).",
                                      host->name, host->macos ? host->macos : "?"),
                  .fix = fix.bytes,
                  .pos = host->pos,
              });
}

static void report_macos_mix(struct check_state *s, const struct cluster_host *first,
                             const struct cluster_host *other)
{
    struct text fix;

    text_init(&fix, s->arena);
    check_command(&fix, first, "sw_vers");
    check_command(&fix, other, "sw_vers");
    text_add(&fix, "\n# then bring the older one to the same build:");
    check_command(&fix, first, "sudo softwareupdate --install --all --restart");
    check_command(&fix, other, "sudo softwareupdate --install --all --restart");
    check_add(s, &(struct finding){
                     .id = "macos-mix",
                     .severity = CHECK_WARNING,
                     .where = arena_format(s->arena, "%s, %s", first->name, other->name),
                     .why = arena_format(s->arena,
                                         "%s runs macOS %s and %s runs %s; exo's README asks for "
                                         "identical builds on all machines, betas included, and "
                                         "JACCL's buffer sizes depend on the version.",
                                         first->name, first->macos, other->name, other->macos),
                     .fix = fix.bytes,
                     .pos = other->pos,
                 });
}

void check_macos(struct check_state *s)
{
    const struct cluster_host *first = NULL;
    bool is_mixed = false;

    for (size_t i = 0; i < s->computer_count; i++) {
        const struct cluster_host *host = check_host(s, s->computers[i]);

        if (!is_wanted(s, s->computers[i]))
            continue;
        if (!has_rdma_macos(host))
            report_old_macos(s, host);
        first = first ? first : host;
        if (!is_mixed && strcmp(first->macos, host->macos) != 0) {
            is_mixed = true;
            report_macos_mix(s, first, host);
        }
    }
}

static void add_enable_steps(struct text *fix, const struct cluster_host *host)
{
    check_command(fix, host, "sudo shutdown -h now");
    text_add(fix,
             "\n# hold %s's power button until the start-up options appear: Options, Continue, "
             "Utilities, Terminal; it cannot be done remotely",
             host->name);
    text_add(fix, "\n%s (Recovery)$ rdma_ctl enable", host->name);
    text_add(fix, "\n%s (Recovery)$ reboot", host->name);
    check_command(fix, host, "ibv_devices");
    text_add(fix, "\n# a macOS whose System Settings has the switch for RDMA over Thunderbolt "
                  "(WWDC26, session 233) needs that switch and a restart instead; both survive a "
                  "reboot");
}

/* The first cable of a disabled Mac whose other end is an enabled one; ID_NONE when none. */
static cable_id find_enabled_peer(const struct check_state *s, host_id host)
{
    const struct cluster_host *h = check_host(s, host);

    for (uint32_t p = 0; p < h->port_count; p++) {
        cable_id cable = h->ports[p].cable;

        if (cable.ix == ID_NONE || !check_is_thunderbolt(s, cable))
            continue;

        host_id peer = cluster_peer(&s->cluster->cables[cable.ix], host).host;

        if (is_wanted(s, peer) && check_host(s, peer)->is_rdma_enabled)
            return cable;
    }
    return (cable_id){ID_NONE};
}

static void report_disabled(struct check_state *s, host_id host)
{
    const struct cluster_host *h = check_host(s, host);
    cable_id cable = find_enabled_peer(s, host);
    bool is_one_end = cable.ix != ID_NONE;
    const char *why;
    struct text fix;

    text_init(&fix, s->arena);
    add_enable_steps(&fix, h);
    if (is_one_end) {
        struct cluster_end peer = cluster_peer(&s->cluster->cables[cable.ix], host);

        why = arena_format(s->arena,
                           "RDMA is disabled on %s and enabled at the other end of cable %s: the "
                           "device of %s stays PORT_DOWN, because a port is ACTIVE only when both "
                           "Macs have RDMA enabled, and ibv_alloc_pd on it returns NULL (Apple "
                           "TN3205, 2026-04-13; mlx issues 3777, 4530).",
                           h->name, check_cable_name(s, cable), check_port_name(s, peer));
    } else {
        why = arena_format(s->arena,
                           "RDMA is disabled on %s, so ibv_devices lists nothing and JACCL prints "
                           "\"Could not find device\"; macOS ships with it off (Apple TN3205, "
                           "2026-04-13).",
                           h->name);
    }
    check_add(s, &(struct finding){.id = is_one_end ? "rdma-disabled-one-end" : "rdma-disabled",
                                   .severity = CHECK_ERROR,
                                   .where = h->name,
                                   .why = why,
                                   .fix = fix.bytes,
                                   .pos = h->pos});
}

void check_enabled(struct check_state *s)
{
    for (size_t i = 0; i < s->computer_count; i++) {
        const struct cluster_host *host = check_host(s, s->computers[i]);

        if (is_wanted(s, s->computers[i]) && has_rdma_macos(host) && !host->is_rdma_enabled)
            report_disabled(s, s->computers[i]);
    }
}

static bool is_slow(const struct cluster_cable *cable)
{
    return cable->rate_ab.bps <= RDMA_ABOVE_BPS && cable->rate_ba.bps <= RDMA_ABOVE_BPS;
}

/* Is there another path between the two that trained above 40 Gb/s? */
static bool has_fast_path(const struct check_state *s, host_id a, host_id b)
{
    struct cluster_path paths[16];
    size_t count = cluster_find_paths(s->cluster, a, b, paths, 16);

    for (size_t i = 0; i < count && i < 16; i++) {
        bool is_fast = true;

        for (uint32_t hop = 0; hop < paths[i].hops; hop++)
            is_fast = is_fast && !is_slow(&s->cluster->cables[paths[i].cables[hop].ix]) &&
                      check_is_thunderbolt(s, paths[i].cables[hop]);
        if (is_fast)
            return true;
    }
    return false;
}

/* An end that would carry RDMA if only the link were fast enough. */
static bool end_is_ready(const struct check_state *s, struct cluster_end end)
{
    return check_host(s, end.host)->model->kind == MACHINE_HUB || is_wanted(s, end.host);
}

static void report_slow_link(struct check_state *s, cable_id cable)
{
    const struct cluster_cable *c = &s->cluster->cables[cable.ix];
    const struct cluster_host *a = check_host(s, c->a.host);
    const struct cluster_host *b = check_host(s, c->b.host);
    bool is_cable = c->model && c->model->generation < 5;
    bool both = check_is_computer(a) && check_is_computer(b);
    struct text fix;

    text_init(&fix, s->arena);
    text_add(&fix,
             is_cable ? "# replace cable %s (%s) by a Thunderbolt 5 cable"
                      : "# unplug and replug cable %s (%s); if it stays at 40 Gb/s, replace "
                        "it",
             check_cable_name(s, cable), c->model ? c->model->name : "?");
    if (check_is_computer(a))
        check_command(&fix, a, "system_profiler SPThunderboltDataType");
    if (check_is_computer(b))
        check_command(&fix, b, "system_profiler SPThunderboltDataType");
    text_add(&fix, "\n# until both say 80 Gb/s, use the ring back end over TCP: mlx.launch "
                   "--backend ring");
    check_add(s,
              &(struct finding){
                  .id = "tb4-link",
                  .severity =
                      both && has_fast_path(s, c->a.host, c->b.host) ? CHECK_WARNING : CHECK_ERROR,
                  .where = arena_format(s->arena, "cable %s", check_cable_name(s, cable)),
                  .why = arena_format(
                      s->arena,
                      "The link trained at %s Gb/s, a Thunderbolt 4 link, although both ends are "
                      "Thunderbolt 5: not usable for RDMA. A device may be listed all the same "
                      "and then fail: ibv_alloc_pd returns NULL and an unguarded client crashes "
                      "(mlx issue 4485, macOS 26.6.2); the name in the list proves nothing, the "
                      "link's rate does (exo PR 1813).",
                      check_gbps(s, c->rate_ab)),
                  .fix = fix.bytes,
                  .pos = c->pos,
              });
}

/* Thunderbolt 5 at both ends, and yet 40 Gb/s. */
void check_links(struct check_state *s)
{
    for (uint32_t i = 0; i < s->cluster->cable_count; i++) {
        const struct cluster_cable *cable = &s->cluster->cables[i];

        if (check_is_thunderbolt(s, (cable_id){i}) && is_slow(cable) && end_is_ready(s, cable->a) &&
            end_is_ready(s, cable->b))
            report_slow_link(s, (cable_id){i});
    }
}

/* Cabled Thunderbolt ports of a host whose IPv4 address is at `ip`: names them, returns how many.
 */
static size_t list_ports_with(const struct check_state *s, host_id host, enum port_ip ip,
                              struct text *names, struct text *devices)
{
    const struct cluster_host *h = check_host(s, host);
    size_t count = 0;

    text_init(names, s->arena);
    text_init(devices, s->arena);
    for (uint32_t p = 0; p < h->port_count; p++) {
        const struct cluster_port *port = &h->ports[p];

        if (port->cable.ix == ID_NONE || port->model->kind != PORT_THUNDERBOLT || port->ip != ip)
            continue;
        text_add_item(names, "; ", check_port_name(s, (struct cluster_end){host, p}));
        text_add_item(devices, ", ", port->model->ifname);
        count++;
    }
    return count;
}

static void report_no_gid(struct check_state *s, host_id host, enum port_ip ip)
{
    const struct cluster_host *h = check_host(s, host);
    struct text names;
    struct text devices;
    struct text fix;
    size_t count = list_ports_with(s, host, ip, &names, &devices);
    const char *cause =
        ip == PORT_IP_BRIDGE
            ? arena_format(s->arena, "The IPv4 address is on bridge0, not on %s", devices.bytes)
            : arena_format(s->arena, "No IPv4 address is on %s", devices.bytes);

    if (count == 0)
        return;
    text_init(&fix, s->arena);
    check_command(&fix, h, "networksetup -listallnetworkservices");
    if (ip == PORT_IP_BRIDGE)
        check_bridge_commands(&fix, h);
    check_address_commands(s, &fix, host);
    if (ip == PORT_IP_BRIDGE)
        check_bridge_reboot(&fix);
    check_add(s,
              &(struct finding){
                  .id = "no-gid1",
                  .severity = CHECK_ERROR,
                  .where = names.bytes,
                  .why = arena_format(
                      s->arena,
                      "%s: the device has no IPv4-mapped GID (::ffff:a.b.c.d at index 1), so "
                      "the queue pair does not reach RTR: errno 22 (EINVAL), or \"No IPv4-mapped "
                      "GID for this device\" from newer JACCL (Apple TN3205, 2026-04-13; exo "
                      "issue 1390; mlx issues 3467, 4191).",
                      cause),
                  .fix = fix.bytes,
                  .pos = h->pos,
              });
}

void check_addresses(struct check_state *s)
{
    for (size_t i = 0; i < s->computer_count; i++) {
        if (!is_wanted(s, s->computers[i]))
            continue;
        report_no_gid(s, s->computers[i], PORT_IP_BRIDGE);
        report_no_gid(s, s->computers[i], PORT_IP_NONE);
    }
}

/* JACCL before macOS 26.3: works, slowly. */
void check_buffers(struct check_state *s)
{
    struct text names;

    text_init(&names, s->arena);
    for (size_t i = 0; i < s->computer_count; i++) {
        const struct cluster_host *host = check_host(s, s->computers[i]);

        if (is_wanted(s, s->computers[i]) && has_rdma_macos(host) &&
            !host->macos_profile->has_large_buffers)
            text_add_item(&names, ", ", host->name);
    }
    if (names.length == 0)
        return;
    check_add(s, &(struct finding){
                     .id = "4k-buffers",
                     .severity = CHECK_NOTE,
                     .where = names.bytes,
                     .why = "Before macOS 26.3 JACCL sends 4 KiB buffers only, which bounds large "
                            "messages by the cost of a message instead of the cable (mlx PR 3094, "
                            "2026-02).",
                     .fix = "# update to macOS 26.3 or later: sudo softwareupdate --install --all "
                            "--restart",
                 });
}
