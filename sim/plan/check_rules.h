/* SPDX-License-Identifier: Apache-2.0 */
/* Inside the check only: what every rule sees, and how it reports. */
#ifndef SIM_PLAN_CHECK_RULES_H
#define SIM_PLAN_CHECK_RULES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sim/base/arena.h"
#include "sim/base/text.h"
#include "sim/plan/check.h"

/* Software limits of JACCL (ml-explore/mlx at 846d176, 2026-08-22, mlx/distributed/jaccl/lib). */
#define JACCL_MESH_MAX  8U
#define JACCL_WIRES_MAX 4U

enum group_kind {
    GROUP_MESH, /* every pair needs a link */
    GROUP_RING, /* neighbours in the given order need one */
    GROUP_PAIR, /* the first two hosts need one */
};

/* Something that was asked of the cabling. */
struct check_group {
    enum group_kind kind;
    const host_id *hosts;
    size_t count;
    bool is_jaccl;
    bool is_ip;      /* Ethernet and Thunderbolt 4 will do */
    uint32_t wires;  /* 0: as many as every pair has */
    const char *who; /* "the goal `mesh`", "all_reduce by jaccl-ring" */
    struct src_pos pos;
};

/* A finding and the number of computers up to which its constraint does not bind. */
struct check_entry {
    struct finding finding;
    uint32_t limit; /* UINT32_MAX: it is not about the number of computers */
};

struct check_state {
    const struct check_input *input;
    const struct cluster *cluster;
    struct arena *arena;
    host_id *computers; /* Macs and other computers, not hubs and switches */
    size_t computer_count;
    bool *wants_rdma; /* [host_count] */
    bool is_bare;     /* nothing was asked: no goal, no run, no matrix */
    struct check_group *groups;
    size_t group_count;
    struct check_entry *entries;
    size_t entry_count;
    size_t entry_capacity;
};

/* Reports; the texts are borrowed from the state's arena or constant. */
void check_add(struct check_state *s, const struct finding *finding);
void check_add_limited(struct check_state *s, const struct finding *finding, uint32_t limit);

/* "studio1 port 1 (en2, rear 1, beside Ethernet)" */
const char *check_port_name(const struct check_state *s, struct cluster_end end);
/* "studio1:1 - studio2:1" */
const char *check_cable_name(const struct check_state *s, cable_id cable);
/* "a, b, c" */
const char *check_host_list(const struct check_state *s, const host_id *hosts, size_t count);
/* "1 cable", "2 cables" */
const char *check_plural(const struct check_state *s, size_t count, const char *noun);
/* A rate in Gb/s for a message: "80", "10", "2.5". */
const char *check_gbps(const struct check_state *s, bitrate rate);

/* Appends "host$ command" as a line. */
void check_command(struct text *fix, const struct cluster_host *host, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/* Appends the commands that take bridge0 away from a Mac for good. */
void check_bridge_commands(struct text *fix, const struct cluster_host *host);
/* Appends what keeps bridge0 away after a reboot. */
void check_bridge_reboot(struct text *fix);
/* Appends one service with one address for each cabled Thunderbolt port of a Mac. */
void check_address_commands(const struct check_state *s, struct text *fix, host_id host);

const struct cluster_host *check_host(const struct check_state *s, host_id host);
bool check_is_computer(const struct cluster_host *host);
/* A Mac with Thunderbolt 5: RDMA can be had. */
bool check_is_capable(const struct cluster_host *host);
/* Both ends are Thunderbolt ports. */
bool check_is_thunderbolt(const struct check_state *s, cable_id cable);
/* Is there any path whose cables are all Thunderbolt (for IP: any path at all)? */
bool check_has_link(const struct check_state *s, host_id a, host_id b, bool is_ip);
/* Is there a hub? Then ports do not bound a mesh, since one port may lead to several machines. */
bool check_has_hub(const struct check_state *s);
bool check_has_all_links(const struct check_state *s, const struct check_group *group);

/* An order of the hosts in which neighbours are linked, the first host kept first.
 * Returns false when there is none or the search was given up. */
bool check_find_ring(const struct check_state *s, const struct check_group *group, host_id *ret);

/* The rules, one function a theme; each reports in a stable order. */
void check_hardware(struct check_state *s);
void check_port_count(struct check_state *s);
void check_doubtful_ports(struct check_state *s);
void check_unconfirmed(struct check_state *s);
void check_mesh_cap(struct check_state *s);
void check_macos(struct check_state *s);
void check_enabled(struct check_state *s);
void check_links(struct check_state *s);
void check_addresses(struct check_state *s);
void check_buffers(struct check_state *s);
void check_cabling(struct check_state *s);
void check_wires(struct check_state *s);
void check_hubs(struct check_state *s);
void check_speeds(struct check_state *s);
void check_multi_path(struct check_state *s);
void check_matrix_cells(struct check_state *s);
void check_bridge(struct check_state *s);
void check_bridge_members(struct check_state *s);
void check_fit(struct check_state *s);

#endif
