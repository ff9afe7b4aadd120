/* SPDX-License-Identifier: Apache-2.0 */
/* This process as a client: what it shares with the others. Private to shim/core. */
#ifndef VERBS_SHIM_SHIM_CORE_CLIENT_H
#define VERBS_SHIM_SHIM_CORE_CLIENT_H

#include <stdbool.h>
#include <stdint.h>

#include "verbs-shim/proto/proto.h"
#include "verbs-shim/sched/sched.h"

struct client {
    uint32_t number;
    uint32_t client_count;
    int socket;             /* life line */
    struct proto_hub *hub;  /* NULL with the conductor as driver */
    struct sched_view view; /* segments: the own one only with the conductor as driver */
    struct proto_segment *segment;
    uint8_t *arena;
    const uint8_t *peer_arenas[PROTO_CLIENTS_MAX];
};

/* Zero before joining. */
extern struct client client;

/* The process ends: it keeps the turn until it is gone. Later calls act as if it never had joined.
 */
void client_leave(void);
/* Tells the conductor something. */
void client_ring(enum proto_bell_why why, uint32_t actor);

/* The hub's lock; own: the kernel's id of the calling thread. */
void hub_lock(uint32_t own);
void hub_unlock(void);

/* Gives a slot back. */
void arena_release(uint64_t slot);

/* The calling thread is no actor any more. */
void actor_forget(void);

#endif
