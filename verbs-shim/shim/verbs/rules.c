/* SPDX-License-Identifier: Apache-2.0 */
#include "verbs-shim/shim/verbs/rules.h"

#include <stdint.h>

#include <infiniband/verbs.h>

#include "sim/fabric/quirk.h"

#define TRANSPORT_THUNDERBOLT 100 /* what ibv_devinfo prints on a Mac */

#define BIT(n) (1U << (n))

bool rule_holds(const struct proto_agreed *agreed, enum rule rule)
{
    static const uint32_t breaks[RULE_COUNT] = {
#define X(id, quirk, what) [RULE_##id] = QUIRK_BIT(quirk),
        RULE_LIST(X)
#undef X
    };

    return agreed->profile == PROTO_VERBS || (agreed->quirks & breaks[rule]) == 0;
}

const struct profile *profile_of(const struct proto_agreed *agreed)
{
    static const struct profile apple = {
        .qp_types = BIT(IBV_QPT_UC),
        .opcodes = BIT(IBV_WR_SEND),
        .max_sge = 1,
        .max_inline = 0,
        .node_type = IBV_NODE_CA,
        .transport = TRANSPORT_THUNDERBOLT,
        .has_frames = true,
        .has_one_sided = false,
        .wants_ipv4 = true,
    };
    static const struct profile verbs = {
        .qp_types = BIT(IBV_QPT_RC) | BIT(IBV_QPT_UC) | BIT(IBV_QPT_UD),
        .opcodes = BIT(IBV_WR_SEND) | BIT(IBV_WR_SEND_WITH_IMM) | BIT(IBV_WR_RDMA_WRITE) |
                   BIT(IBV_WR_RDMA_WRITE_WITH_IMM) | BIT(IBV_WR_RDMA_READ) |
                   BIT(IBV_WR_ATOMIC_CMP_AND_SWP) | BIT(IBV_WR_ATOMIC_FETCH_AND_ADD),
        .max_sge = 30,
        .max_inline = 512,
        .node_type = IBV_NODE_CA,
        .transport = IBV_TRANSPORT_IB,
        .has_frames = false,
        .has_one_sided = true,
        .wants_ipv4 = false,
    };

    return agreed->profile == PROTO_VERBS ? &verbs : &apple;
}
