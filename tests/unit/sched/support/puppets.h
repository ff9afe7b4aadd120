/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Clients without processes: scripted actors that obey the rules of the shim's core, and a driver
 * that lets those with a turn run in any order it likes.
 */
#ifndef TESTS_UNIT_SCHED_PUPPETS_H
#define TESTS_UNIT_SCHED_PUPPETS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sim/base/ids.h"
#include "verbs-shim/proto/proto.h"
#include "verbs-shim/sched/sched.h"

#define PUPPETS_MAX   8U
#define PUPPET_PEERS  7U
#define PUPPET_POLL   INT64_C(50000) /* picoseconds */
#define PUPPET_POST   INT64_C(100000)
#define PUPPET_CQ_MAX 4096U

/* How the same story is told. */
struct puppet_style {
    uint32_t max_running;
    uint32_t fold_after; /* 0: never */
    int64_t lease_cap;
    uint64_t shuffle; /* seed of the order in which runners take their steps */
};

/* What the puppets do: rounds of a full exchange. */
struct puppet_story {
    uint32_t ranks;
    uint32_t rounds;
    uint64_t seed;   /* of sizes and pauses */
    bool has_pauses; /* ranks wait now and then */
    bool is_small;   /* one frame a message, always */
    bool is_late;    /* receives are posted after the sends */
    bool hangs;      /* the last rank leaves out its sends of the last round */
    uint32_t wires;  /* queue pairs for each pair of ranks, on one cable */
};

struct puppet_result {
    uint64_t fabric_hash;
    uint64_t seen_hash; /* of every completion's time and the time of the poll that saw it */
    int64_t end;        /* the last completion was seen */
    int64_t verdict;    /* all actors had come to an end, or to a deadlock */
    uint64_t turns;
    uint64_t handovers; /* turns of another than the one before */
    uint32_t late;      /* completions that came at or before a poll that should have seen them */
    enum sched_state state;
};

struct puppet_result puppets_play(const struct puppet_story *story,
                                  const struct puppet_style *style);

#endif
