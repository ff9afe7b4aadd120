/* SPDX-License-Identifier: Apache-2.0 */
/*
 * DOC: The law of a saturated storm
 *
 *     arriving(v)   = sum over links u->v of carried(u->v)
 *     taken(v)      = min(R(v), arriving(v))
 *     offered(v->p) = taken(v) * (arriving(v) - carried(p->v)) / arriving(v)
 *     carried(v->p) = min(mu(v->p), offered(v->p))
 *
 * A frame goes out of every port but the one by which it came in, so what port p came with is not
 * offered to p again. Without a limit R the steps only fall, so they come to rest; with one they
 * are damped by nothing but have come to rest in every graph of the tests, and where they do not
 * within ROUNDS_MAX the caller stays with frames.
 */
#include "sim/bridge/law.h"

#include "sim/base/units.h"

#define ROUNDS_MAX 4000
#define TOLERANCE  UINT64_C(10000000)

static void gather(struct law *law)
{
    for (uint32_t i = 0; i < law->node_count; i++)
        law->nodes[i].arriving = 0;
    for (uint32_t i = 0; i < law->link_count; i++)
        law->nodes[law->links[i].to].arriving += law->links[i].carried;
    for (uint32_t i = 0; i < law->node_count; i++) {
        struct law_node *node = &law->nodes[i];

        node->taken = node->most && node->most < node->arriving ? node->most : node->arriving;
    }
}

/* What a link is offered by the machine at its beginning. */
static uint64_t offer(const struct law *law, uint32_t ix)
{
    const struct law_link *link = &law->links[ix];
    const struct law_link *back = &law->links[ix ^ 1];
    const struct law_node *node = &law->nodes[link->from];
    uint64_t others = node->arriving - back->carried;

    if (!node->forwards || link->most == 0 || node->arriving == 0)
        return 0;
    return (uint64_t)((u128)node->taken * others / node->arriving);
}

bool law_solve(struct law *law)
{
    bool is_moving = true;

    for (uint32_t i = 0; i < law->link_count; i++)
        law->links[i].carried = law->links[i].most;
    for (uint32_t round = 0; is_moving && round < ROUNDS_MAX; round++) {
        is_moving = false;
        gather(law);
        for (uint32_t i = 0; i < law->link_count; i++) {
            struct law_link *link = &law->links[i];
            uint64_t offered = offer(law, i);

            link->next = offered < link->most ? offered : link->most;
            link->dropped = offered - link->next;
        }
        for (uint32_t i = 0; i < law->link_count; i++) {
            struct law_link *link = &law->links[i];
            uint64_t change = link->next > link->carried ? link->next - link->carried
                                                         : link->carried - link->next;

            is_moving = is_moving || change > link->most / TOLERANCE;
            link->carried = link->next;
        }
    }
    gather(law);
    return !is_moving;
}
