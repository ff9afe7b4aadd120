/* SPDX-License-Identifier: Apache-2.0 */
/* One thread under a clock of the test's own, for units of shim/verbs without a run. */
#ifndef TESTS_UNIT_SHIM_SUPPORT_WORLD_H
#define TESTS_UNIT_SHIM_SUPPORT_WORLD_H

#include <stdbool.h>
#include <stdint.h>

#include "verbs-shim/proto/proto.h"
#include "verbs-shim/shim/actor.h"
#include "verbs-shim/shim/verbs/objects.h"

struct actor {
    int64_t vt;
    int64_t lease;
    uint64_t calls;
    struct proto_stats stats;
};

/* Everything that a unit asks the world for. */
struct world {
    struct actor actor;
    struct proto_agreed agreed;
    struct library library;
    int call_error;           /* what the scheduler answers */
    uint32_t scheduled;       /* questions to it */
    uint32_t idled;           /* times that the actor parked as idle ... */
    uint32_t quiets;          /* ... and as quiet */
    uint32_t idles_disturbed; /* so many of the next ones end because events came */
    /* Parked as idle: when is the first completion due in these queues? */
    int64_t (*first)(const uint16_t *cqs, uint32_t count);
    void (*take_events)(void);
};

extern struct world world;

#endif
