/* SPDX-License-Identifier: Apache-2.0 */
/* The conductor's hand on the scheduler, whoever drives it. */
#ifndef VERBS_SHIM_CONDUCTOR_TURN_H
#define VERBS_SHIM_CONDUCTOR_TURN_H

#include <stdbool.h>
#include <stdint.h>

#include "verbs-shim/conductor/run.h"

enum turn_change {
    TURN_NONE,    /* only moves on */
    TURN_JOIN,    /* a client is there */
    TURN_BURY,    /* a client is gone */
    TURN_ABSENT,  /* a rank will not join */
    TURN_RETRY,   /* who waits for the outside shall look again */
    TURN_FORGIVE, /* ... or goes on: there will be no answer */
};

/* Makes the change and moves the scheduler on. run->state says how far; run->end when the run is
 * over with that. */
void turn_change(struct run *run, enum turn_change change, uint32_t number);
/* Moves the scheduler on. False: the run is over. */
bool turn_drive(struct run *run);
/* Conductor as driver: the client says that its actor has parked. */
void turn_parked(struct run *run, uint32_t client, uint32_t actor);

#endif
