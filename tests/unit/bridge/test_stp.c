/* SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include <criterion/criterion.h>

#include "sim/base/rng.h"
#include "sim/bridge/stp.h"

#define NODES_MAX  12U
#define CABLES_MAX 40U
#define MAIL_MAX   4096U
#define DELAY_PS   (50 * PS_PER_US)

static const struct stp_times usual = {
    .hello = {2 * PS_PER_S},
    .max_age = {20 * PS_PER_S},
    .forward_delay = {15 * PS_PER_S},
    .hold = {PS_PER_S},
    .age_increment = {PS_PER_S},
};

struct mail {
    simtime at;
    uint32_t port;
    struct stp_message message;
};

/* Bridges, cables that take DELAY_PS, and a watch on loops. Port 2k is a's end of cable k. */
struct world {
    struct arena arena;
    struct stp *stp;
    uint32_t nodes, cables;
    uint32_t ends[2 * CABLES_MAX];
    bool forwards[2 * CABLES_MAX];
    bool is_mute[CABLES_MAX]; /* loses every message, although it is up */
    struct mail mail[MAIL_MAX];
    uint32_t mail_head, mail_tail;
    simtime now;
    simtime last_change;
    uint32_t loops; /* instants at which one was open */
};

static uint32_t find(uint32_t *label, uint32_t v)
{
    while (label[v] != v)
        v = label[v];
    return v;
}

/* Cables whose two ends forward; sets *ret_loop when they close one. */
static uint32_t count_open(const struct world *w, bool *ret_loop)
{
    uint32_t label[NODES_MAX];
    uint32_t open = 0;

    *ret_loop = false;
    for (uint32_t i = 0; i < w->nodes; i++)
        label[i] = i;
    for (uint32_t k = 0; k < w->cables; k++) {
        uint32_t a;
        uint32_t b;

        if (!w->forwards[2 * k] || !w->forwards[2 * k + 1])
            continue;
        open++;
        a = find(label, w->ends[2 * k]);
        b = find(label, w->ends[2 * k + 1]);
        *ret_loop = *ret_loop || a == b;
        label[a] = b;
    }
    return open;
}

static void on_send(void *ctx, uint32_t port, const struct stp_message *message)
{
    struct world *w = ctx;

    if (w->is_mute[port / 2])
        return;
    cr_assert_lt(w->mail_tail - w->mail_head, MAIL_MAX);
    w->mail[w->mail_tail++ % MAIL_MAX] =
        (struct mail){simtime_add(w->now, (simspan){DELAY_PS}), port ^ 1, *message};
}

static void on_state(void *ctx, uint32_t port, enum stp_state state)
{
    struct world *w = ctx;
    bool is_loop;

    w->forwards[port] = state == STP_FORWARDING;
    w->last_change = w->now;
    (void)count_open(w, &is_loop);
    w->loops += is_loop;
}

static struct stp_hooks hooks_of(struct world *w)
{
    return (struct stp_hooks){.ctx = w, .send = on_send, .state = on_state};
}

static void world_join(struct world *w, uint32_t a, uint32_t b)
{
    w->ends[2 * w->cables] = a;
    w->ends[2 * w->cables + 1] = b;
    w->cables++;
}

static struct world *world_new(uint32_t nodes)
{
    struct world *w = calloc(1, sizeof *w);

    cr_assert(w);
    arena_init(&w->arena);
    w->nodes = nodes;
    return w;
}

/* Bridge `nodes - 1` has the least id. */
static void world_start(struct world *w)
{
    uint64_t ids[NODES_MAX];
    struct stp_port_config ports[2 * CABLES_MAX];
    struct stp_hooks hooks = hooks_of(w);

    for (uint32_t i = 0; i < w->nodes; i++)
        ids[i] = UINT64_C(0x8000000000000000) + 100 - i;
    for (uint32_t i = 0; i < 2 * w->cables; i++)
        ports[i] = (struct stp_port_config){.bridge = w->ends[i], .cost = 4, .is_up = true};
    w->stp = stp_new(&w->arena, &(struct stp_config){ids, w->nodes, ports, 2 * w->cables, usual},
                     w->now, &hooks);
}

static void world_run(struct world *w, int64_t until_ps)
{
    struct stp_hooks hooks = hooks_of(w);

    for (;;) {
        const struct mail *mail = &w->mail[w->mail_head % MAIL_MAX];
        simtime next = stp_next(w->stp);
        bool is_mail = w->mail_head != w->mail_tail && mail->at.ps <= next.ps;

        if (is_mail)
            next = mail->at;
        if (next.ps > until_ps)
            break;
        w->now = next;
        if (is_mail) {
            w->mail_head++;
            stp_receive(w->stp, mail->port, &mail->message, w->now, &hooks);
        } else {
            stp_run(w->stp, w->now, &hooks);
        }
    }
    w->now.ps = until_ps;
}

static void world_done(struct world *w)
{
    arena_done(&w->arena);
    free(w);
}

static void expect_tree(struct world *w, const char *name)
{
    bool is_loop;
    uint32_t open = count_open(w, &is_loop);

    cr_expect_eq(open, w->nodes - 1, "%s: %" PRIu32 " cables open", name, open);
    cr_expect_not(is_loop, "%s", name);
    cr_expect_eq(w->loops, 0, "%s: a loop was open on the way", name);
    for (uint32_t i = 0; i < w->nodes; i++)
        cr_expect_eq(stp_root_of(w->stp, i), stp_root_of(w->stp, w->nodes - 1), "%s", name);
}

/* Twice the forward delay after the start, and the time that news takes: all is open or blocked. */
Test(stp, a_ring_opens_after_thirty_seconds_without_one_cable)
{
    for (uint32_t nodes = 3; nodes <= 7; nodes++) {
        struct world *w = world_new(nodes);

        for (uint32_t i = 0; i < nodes; i++)
            world_join(w, i, (i + 1) % nodes);
        world_start(w);
        world_run(w, 30 * PS_PER_S - 1);
        for (uint32_t i = 0; i < 2 * w->cables; i++)
            cr_expect_not(w->forwards[i], "%" PRIu32, nodes);
        world_run(w, 40 * PS_PER_S);
        expect_tree(w, "ring");
        cr_expect_lt(w->last_change.ps, 30 * PS_PER_S + 5 * PS_PER_S);
        world_done(w);
    }
}

Test(stp, any_graph_becomes_a_tree_and_no_loop_is_ever_open)
{
    for (uint64_t seed = 0; seed < 200; seed++) {
        struct rng rng;
        struct world *w;

        rng_init(&rng, seed, 1);
        w = world_new(3 + (uint32_t)rng_below(&rng, NODES_MAX - 2));
        for (uint32_t i = 1; i < w->nodes; i++)
            world_join(w, i, (uint32_t)rng_below(&rng, i));
        for (uint64_t more = rng_below(&rng, 20); more > 0; more--) {
            uint32_t a = (uint32_t)rng_below(&rng, w->nodes);
            uint32_t b = (uint32_t)rng_below(&rng, w->nodes);

            if (a != b)
                world_join(w, a, b); /* also beside another */
        }
        world_start(w);
        world_run(w, 60 * PS_PER_S);
        expect_tree(w, "random");
        world_done(w);
    }
}

/* A port whose cable is pulled is known at once; the blocked way opens two delays later. */
Test(stp, a_pulled_cable_is_replaced)
{
    struct world *w = world_new(3);
    struct stp_hooks hooks = hooks_of(w);
    simtime cut = {100 * PS_PER_S};
    bool is_loop;

    world_join(w, 0, 1); /* blocked: the root is 2 */
    world_join(w, 1, 2);
    world_join(w, 2, 0);
    world_start(w);
    world_run(w, cut.ps);
    expect_tree(w, "before");
    stp_set_up(w->stp, 2, false, cut, &hooks);
    stp_set_up(w->stp, 3, false, cut, &hooks);
    cr_expect_eq(stp_state_of(w->stp, 2), STP_DISABLED);
    cr_expect_eq(count_open(w, &is_loop), 1);
    world_run(w, cut.ps + 29 * PS_PER_S);
    cr_expect_eq(count_open(w, &is_loop), 1, "not yet");
    world_run(w, cut.ps + 55 * PS_PER_S);
    expect_tree(w, "after");
    stp_set_up(w->stp, 2, true, w->now, &hooks);
    stp_set_up(w->stp, 3, true, w->now, &hooks);
    world_run(w, w->now.ps + 60 * PS_PER_S);
    expect_tree(w, "mended");
    world_done(w);
}

/* In a storm messages are lost: a blocked port that hears none for max_age opens, and that closes
 * a loop. The last one that it heard was sent at 98 s and had aged by one bridge, so it opens at 98
 * + 20 - 1 + 2 * 15 s. */
Test(stp, lost_messages_open_a_loop)
{
    struct world *w = world_new(3);
    int64_t from_ps = 100 * PS_PER_S;
    bool is_loop;

    for (uint32_t i = 0; i < 3; i++)
        world_join(w, i, (i + 1) % 3);
    world_start(w);
    world_run(w, from_ps);
    expect_tree(w, "before");
    for (uint32_t k = 0; k < 3; k++)
        w->is_mute[k] = true;
    world_run(w, from_ps + 47 * PS_PER_S);
    cr_expect_eq(count_open(w, &is_loop), 2);
    world_run(w, from_ps + 47 * PS_PER_S + PS_PER_MS);
    cr_expect_eq(count_open(w, &is_loop), 3);
    cr_expect(is_loop);
    world_done(w);
}

/* Messages of a bridge that come back to it by a hub block one of its ports. */
Test(stp, two_cables_between_two_bridges_leave_one_open)
{
    struct world *w = world_new(2);

    world_join(w, 0, 1);
    world_join(w, 0, 1);
    world_start(w);
    world_run(w, 40 * PS_PER_S);
    expect_tree(w, "pair");
    cr_expect(w->forwards[0] && w->forwards[1], "the first of equal ones");
    world_done(w);
}
