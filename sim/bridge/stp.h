/* SPDX-License-Identifier: Apache-2.0 */
/* Spanning tree: the protocol of IEEE 802.1D-1998, clause 8, for all bridges of a network. */
#ifndef SIM_BRIDGE_STP_H
#define SIM_BRIDGE_STP_H

#include <stdbool.h>
#include <stdint.h>

#include "sim/base/arena.h"
#include "sim/base/units.h"

struct stp;

/* The timers and their usual values, IEEE 802.1D-1998 tables 8-2 and 8-3. */
struct stp_times {
    simspan hello;         /* 2 s */
    simspan max_age;       /* 20 s */
    simspan forward_delay; /* 15 s */
    simspan hold;          /* 1 s: between two messages of a port at least */
    simspan age_increment; /* 1 s: that a message ages in a bridge */
};

/* A port, numbered over all bridges. */
struct stp_port_config {
    uint32_t bridge;
    uint32_t cost; /* of a path into this port */
    bool is_up;
};

struct stp_config {
    const uint64_t *bridge_ids; /* priority and address: the least becomes the root */
    uint32_t bridge_count;
    const struct stp_port_config *ports; /* a bridge's ports count in this order */
    uint32_t port_count;
    struct stp_times times;
};

enum stp_state {
    STP_DISABLED,
    STP_BLOCKING,
    STP_LISTENING,
    STP_LEARNING,
    STP_FORWARDING,
};

/* A configuration message (BPDU). */
struct stp_message {
    uint64_t root;
    uint32_t cost;
    uint64_t bridge;
    uint32_t port;
    simspan age;
};

struct stp_hooks {
    void *ctx; /* borrowed */
    /* A port sends a message. What receives it may answer within stp_receive only. */
    void (*send)(void *ctx, uint32_t port, const struct stp_message *message);
    /* A port changed its state. */
    void (*state)(void *ctx, uint32_t port, enum stp_state state);
};

/* All bridges start at `now`: each takes itself for the root, listens and says so. */
struct stp *stp_new(struct arena *arena, const struct stp_config *config, simtime now,
                    const struct stp_hooks *hooks);
/* A message arrives at port ix. */
void stp_receive(struct stp *stp, uint32_t ix, const struct stp_message *message, simtime now,
                 const struct stp_hooks *hooks);
/* The cable at port ix was pulled or put in. */
void stp_set_up(struct stp *stp, uint32_t ix, bool is_up, simtime now,
                const struct stp_hooks *hooks);
/* When a timer is due next. */
simtime stp_next(const struct stp *stp);
/* Fires all timers that are due at `now`. */
void stp_run(struct stp *stp, simtime now, const struct stp_hooks *hooks);
enum stp_state stp_state_of(const struct stp *stp, uint32_t port);
/* What a bridge takes for the root. */
uint64_t stp_root_of(const struct stp *stp, uint32_t bridge);

#endif
