/* SPDX-License-Identifier: Apache-2.0 */
/* A bridge-loop storm on a cabling: sources in, growth, victims and recovery out. Plain data. */
#ifndef SIM_BRIDGE_STORM_H
#define SIM_BRIDGE_STORM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sim/base/arena.h"
#include "sim/base/ids.h"
#include "sim/base/units.h"
#include "sim/bridge/hybrid.h"
#include "sim/fabric/cluster.h"

/* X(identifier, name, bytes of the frame without padding, what it is) */
#define STORM_SOURCE_LIST(X)                                                \
    X(ARP, "arp", 42, "an ARP request (Ethernet II and 28 bytes, RFC 826)") \
    X(MDNS, "mdns", 200, "an mDNS announcement of a few records")           \
    X(DHCP, "dhcp", 342, "a DHCPDISCOVER (300 bytes of BOOTP, RFC 951)")    \
    X(FRAME, "frame", 64, "a broadcast of the user's own size")

enum storm_source_kind {
#define X(id, name, bytes, what) STORM_SOURCE_##id,
    STORM_SOURCE_LIST(X)
#undef X
    STORM_SOURCE_COUNT
};

/* Broadcasts of one machine. */
struct storm_source {
    enum storm_source_kind kind;
    host_id host;
    simtime first;
    simspan period; /* 0: once */
    uint64_t count; /* with a period: at most so many; 0: without end */
    bytecount size; /* zero: as its kind */
};

enum storm_action_kind {
    STORM_PULL,   /* a cable out */
    STORM_PLUG,   /* a cable in again */
    STORM_MEMBER, /* a port out of bridge0, or disabled: `cable` at `host` */
    STORM_DESTROY /* bridge0 of `host` */
};

struct storm_action {
    enum storm_action_kind kind;
    simtime at;
    cable_id cable;
    host_id host;
};

/* An echo request now and then: who loses what. One without a reply when the next is due is lost.
 */
struct storm_ping {
    host_id from, to;
    simspan period;
};

/* What software bridges are like; numbers come from models/. */
struct storm_model {
    uint64_t forward_rate; /* frames a second that a Mac's bridge takes in; 0: no limit */
    uint32_t backlog;      /* frames that wait for it */
    uint32_t queue;        /* frames that wait in a port */
    simspan latency;       /* of a hop, beside the wire and the software's turn */
    simspan age;           /* of an address */
    simspan cpu_frame;     /* processor time of a frame that is taken, one core */
    simspan cpu_drop;      /* of one that is dropped for lack of room in the backlog */
};

struct storm_input {
    const struct cluster *cluster;
    const struct storm_model *model;
    const struct storm_source *sources;
    size_t source_count;
    const struct storm_action *actions;
    size_t action_count;
    const struct storm_ping *pings;
    size_t ping_count;
    simspan duration;
    uint64_t seed;
    bool frames_only;
};

/* Totals since the start. */
struct storm_sample {
    simtime at;
    uint64_t frames, drops; /* over all links; drops also by software */
    uint64_t alive;
};

struct storm_host {
    uint64_t taken; /* frames that its bridge handled */
    uint64_t drops;
    uint64_t cpu_permille; /* of one core over the whole span: 1000 is "100 %" */
};

struct storm_ping_result {
    uint64_t sent, lost;
    simtime first_lost; /* when it was sent; never: none */
};

struct storm_result {
    uint64_t broadcasts; /* that sources sent */
    uint64_t frames;     /* that passed a cable */
    uint64_t drops;
    bool is_storm;                   /* a broadcast crossed a cable more than once */
    simtime began;                   /* seen no later than; never: no storm */
    simtime saturated_at;            /* never: it did not saturate */
    simtime recovered_at;            /* the last copy of a storm gone; never: not before the end */
    struct storm_host *hosts;        /* [host_count] */
    struct hybrid_count *links;      /* [2 * cable_count]: 2k is from a to b of cable k */
    struct storm_ping_result *pings; /* [ping_count] */
    struct storm_sample *samples;    /* times from 1 us on, ten a decade, and the end */
    size_t sample_count;
    const struct hybrid_span *fluid;
    size_t fluid_count;
};

/* Runs from 0 to the duration, at which nothing begins any more; what *ret points to lies in the
 * arena. */
void storm_run(const struct storm_input *input, struct arena *arena, struct storm_result *ret);

#endif
