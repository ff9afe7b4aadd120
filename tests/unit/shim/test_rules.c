/* SPDX-License-Identifier: Apache-2.0 */
#include <criterion/criterion.h>
#include <infiniband/verbs.h>

#include "sim/fabric/quirk.h"
#include "verbs-shim/shim/verbs/rules.h"

Test(rules, each_is_broken_by_its_quirk_alone_and_never_with_verbs)
{
    static const uint32_t breaks[RULE_COUNT] = {
#define X(id, quirk, what) [RULE_##id] = QUIRK_BIT(quirk),
        RULE_LIST(X)
#undef X
    };

    for (int rule = 0; rule < RULE_COUNT; rule++) {
        for (uint32_t bit = 0; bit < 32; bit++) {
            struct proto_agreed agreed = {.profile = PROTO_APPLE, .quirks = 1U << bit};

            cr_expect_eq(rule_holds(&agreed, (enum rule)rule), agreed.quirks != breaks[rule],
                         "rule %d, quirk bit %u", rule, bit);
            agreed.profile = PROTO_VERBS;
            cr_expect(rule_holds(&agreed, (enum rule)rule));
        }
    }
}

/* Apple TN3205: UC, SEND and RECV, one element, nothing inline. */
Test(rules, the_profile_apple_is_what_the_technical_note_has)
{
    const struct proto_agreed agreed = {.profile = PROTO_APPLE};
    const struct profile *apple = profile_of(&agreed);

    for (uint32_t type = IBV_QPT_RC; type < 32; type++)
        cr_expect_eq(apple->qp_types >> type & 1, type == IBV_QPT_UC, "type %u", type);
    for (uint32_t opcode = 0; opcode < 32; opcode++)
        cr_expect_eq(apple->opcodes >> opcode & 1, opcode == IBV_WR_SEND, "opcode %u", opcode);
    cr_expect_eq(apple->max_sge, 1);
    cr_expect_eq(apple->max_inline, 0);
    cr_expect(apple->has_frames && apple->wants_ipv4 && !apple->has_one_sided);
}

Test(rules, the_profile_verbs_has_no_rule_of_apples)
{
    const struct proto_agreed agreed = {.profile = PROTO_VERBS};
    const struct profile *verbs = profile_of(&agreed);

    cr_expect(!verbs->has_frames && !verbs->wants_ipv4 && verbs->has_one_sided);
    cr_expect_gt(verbs->max_sge, 1);
    cr_expect_gt(verbs->max_inline, 0);
}
