/* SPDX-License-Identifier: Apache-2.0 */
/* What a profile offers, and where Apple's text and what users saw disagree. */
#ifndef VERBS_SHIM_SHIM_VERBS_RULES_H
#define VERBS_SHIM_SHIM_VERBS_RULES_H

#include <stdbool.h>
#include <stdint.h>

#include "verbs-shim/proto/proto.h"

/* X(identifier, the quirk that breaks it, what the programmer meets). */
#define RULE_LIST(X)                                                                       \
    X(LOCAL_WRITE_IS_ENOUGH, REMOTE_ACCESS, "regions with LOCAL_WRITE alone are accepted") \
    X(RECV_BEFORE_RTS, RECV_AFTER_RTS, "receives may be posted before RTS")                \
    X(ERR_KEEPS_REGIONS, ERR_PINS, "regions can be unmapped while a queue pair is in ERR") \
    X(BAD_WR_IS_FILLED, NO_BAD_WR, "a failing post says which work request it was")        \
    X(SURVIVES_CUT, CRASH_ON_CUT, "a receive on a cable that is cut waits, and does not crash")

enum rule {
#define X(id, quirk, what) RULE_##id,
    RULE_LIST(X)
#undef X
    RULE_COUNT
};

/* In profile `verbs` every rule holds. */
bool rule_holds(const struct proto_agreed *agreed, enum rule rule);

struct profile {
    uint32_t qp_types; /* 1 << enum ibv_qp_type */
    uint32_t opcodes;  /* 1 << enum ibv_wr_opcode */
    uint32_t max_sge;
    uint32_t max_inline;
    uint32_t node_type; /* enum ibv_node_type */
    int transport;      /* enum ibv_transport_type, or 100: Thunderbolt */
    bool has_frames;    /* queues are counted in frames */
    bool has_one_sided; /* regions have an rkey */
    bool wants_ipv4;    /* RTR wants an IPv4-mapped source GID */
};

const struct profile *profile_of(const struct proto_agreed *agreed);

#endif
