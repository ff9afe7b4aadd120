/* SPDX-License-Identifier: Apache-2.0 */
/*
 * DOC: Frames, then the law
 *
 * Frames run in windows, each long enough to drain a full queue four times. A window shows
 * saturation when it looks as the law says:
 *
 *   - a cable that the law fills was never idle; one that it leaves empty carried nothing;
 *   - software that the law overloads was never idle;
 *   - something was dropped, and what all cables carried is what the law says, to 1 %.
 *
 * Two such windows in a row, and the law takes over: the frames stay where they are, counters move
 * by rate times span, from the beginning of the fluid span so that nothing is rounded twice. The
 * topology alone never decides: one ring that has not filled up has idle cables.
 *
 * A change of the graph ends it. The frames are still there, in a state that saturation made, so
 * they go on from it; their clock stood still meanwhile, and hybrid time is theirs plus `ahead`.
 *
 * Invariant: fluid == (rates are valid and the engine's time is where the span began).
 */
#include "sim/bridge/hybrid.h"

#include "sim/bridge/law.h"
#include "sim/core/engine.h"

#define WINDOW_QUEUES  4
#define WINDOWS_WANTED 2U
#define CARRIED_PARTS  100U /* carried frames agree to one part in so many */
#define SPANS_FIRST    8U

struct hybrid {
    struct arena *arena;
    struct bridge_config config;
    struct bridge *bridge;
    struct law law;
    struct bridge_count *links;   /* when the window began */
    struct bridge_count *nodes;   /* as well */
    struct hybrid_count *by_law;  /* [links]: of the spans that ended */
    struct hybrid_count *by_node; /* [nodes] */
    simspan ahead;                /* hybrid time less the engine's */
    simspan window;
    simtime window_end; /* the engine's time */
    uint32_t windows;   /* in a row that showed saturation */
    bool frames_only;
    bool is_fluid;
    simtime saturated_at;      /* hybrid time */
    struct hybrid_span *spans; /* the last began when is_fluid became true */
    size_t span_count, span_room;
};

/* What the slowest server needs for a full queue, four times. */
static simspan choose_window(const struct bridge_config *config)
{
    int64_t longest = PS_PER_US;

    for (uint32_t i = 0; i < config->cable_count; i++) {
        const struct bridge_cable_config *c = &config->cables[i];
        bitrate slower = c->rate_ab.bps < c->rate_ba.bps ? c->rate_ab : c->rate_ba;
        int64_t queue = bitrate_send_span(slower, config->largest).ps * config->queue;

        longest = longest > queue ? longest : queue;
    }
    for (uint32_t i = 0; i < config->node_count; i++) {
        const struct bridge_node_config *n = &config->nodes[i];
        int64_t backlog = n->forward_rate ? PS_PER_S / (int64_t)n->forward_rate * n->backlog : 0;

        longest = longest > backlog ? longest : backlog;
    }
    return (simspan){WINDOW_QUEUES * longest};
}

struct hybrid *hybrid_new(struct arena *arena, const struct hybrid_config *config)
{
    struct hybrid *h = arena_alloc(arena, sizeof *h);
    uint32_t links = 2 * config->bridge.cable_count;
    uint32_t nodes = config->bridge.node_count;
    /* The arena aligns for any type; the bridge wants 64 bytes. */
    uintptr_t mem = (uintptr_t)arena_alloc(arena, bridge_mem_size(&config->bridge) + 63);

    *h = (struct hybrid){
        .arena = arena,
        .config = config->bridge,
        .bridge =
            bridge_init((void *)((mem + 63) & ~(uintptr_t)63), // NOLINT(performance-no-int-to-ptr)
                        &config->bridge),
        .law =
            {
                .links = arena_alloc_array(arena, links, sizeof(struct law_link)),
                .link_count = links,
                .nodes = arena_alloc_array(arena, nodes, sizeof(struct law_node)),
                .node_count = nodes,
            },
        .links = arena_alloc_array(arena, links, sizeof(struct bridge_count)),
        .nodes = arena_alloc_array(arena, nodes, sizeof(struct bridge_count)),
        .by_law = arena_alloc_array(arena, links, sizeof(struct hybrid_count)),
        .by_node = arena_alloc_array(arena, nodes, sizeof(struct hybrid_count)),
        .window = choose_window(&config->bridge),
        .frames_only = config->frames_only,
        .saturated_at = simtime_never(),
    };
    h->window_end = (simtime){h->window.ps};
    return h;
}

static simtime engine_time(const struct hybrid *h)
{
    return engine_now(bridge_engine(h->bridge));
}

static struct bridge_count since(const struct bridge_count *now, const struct bridge_count *then)
{
    return (struct bridge_count){
        .frames = now->frames - then->frames,
        .bytes = now->bytes - then->bytes,
        .drops = now->drops - then->drops,
        .idle_ps = now->idle_ps - then->idle_ps,
    };
}

static void begin_window(struct hybrid *h)
{
    for (uint32_t i = 0; i < h->law.link_count; i++)
        h->links[i] = *bridge_link(h->bridge, i);
    for (uint32_t i = 0; i < h->law.node_count; i++)
        h->nodes[i] = *bridge_node(h->bridge, i);
    h->window_end = simtime_add(engine_time(h), h->window);
}

/* Frames of the size seen in the window that fill the cable. */
static uint64_t full_rate(const struct hybrid *h, uint32_t ix, const struct bridge_count *seen)
{
    const struct bridge_cable_config *c = &h->config.cables[ix / 2];
    bitrate rate = ix % 2 ? c->rate_ba : c->rate_ab;
    uint64_t bytes = seen->frames > 0 ? seen->bytes / seen->frames : h->config.frame.bytes;
    int64_t ps = bitrate_send_span(rate, (bytecount){bytes}).ps;

    return LAW_SECONDS * (uint64_t)PS_PER_S / (uint64_t)ps;
}

bool hybrid_passes(const struct hybrid *h, uint32_t ix)
{
    return bridge_is_up(h->bridge, ix / 2) && bridge_is_forwarding(h->bridge, ix) &&
           bridge_is_forwarding(h->bridge, ix ^ 1);
}

static void set_up_law(struct hybrid *h)
{
    for (uint32_t i = 0; i < h->law.link_count; i++) {
        struct law_link *link = &h->law.links[i];
        struct bridge_link_ends ends = bridge_link_ends(h->bridge, i);
        struct bridge_count seen = since(bridge_link(h->bridge, i), &h->links[i]);

        link->from = ends.from;
        link->to = ends.to;
        link->most = hybrid_passes(h, i) ? full_rate(h, i, &seen) : 0;
    }
    for (uint32_t i = 0; i < h->law.node_count; i++) {
        h->law.nodes[i].forwards = h->config.nodes[i].is_bridge;
        h->law.nodes[i].most = LAW_SECONDS * h->config.nodes[i].forward_rate;
    }
}

/* Does a link look as the law says? */
static bool agrees(const struct hybrid *h, uint32_t ix, const struct bridge_count *seen)
{
    const struct law_link *link = &h->law.links[ix];

    if (link->carried == 0)
        return seen->frames == 0 && seen->drops == 0;
    if (link->carried == link->most)
        return seen->idle_ps == 0 && bridge_link_is_busy(h->bridge, ix);
    return seen->frames > 0;
}

static uint64_t count_by(uint64_t rate, simspan span)
{
    return (uint64_t)((u128)rate * (uint64_t)span.ps / LAW_SECONDS / (uint64_t)PS_PER_S);
}

/* True when the window that ends now looks saturated; the law is solved then. */
static bool looks_saturated(struct hybrid *h)
{
    uint64_t drops = 0;
    uint64_t carried = 0;
    uint64_t expected = 0;

    set_up_law(h);
    if (!law_solve(&h->law))
        return false;
    for (uint32_t i = 0; i < h->law.link_count; i++) {
        struct bridge_count seen = since(bridge_link(h->bridge, i), &h->links[i]);

        if (!agrees(h, i, &seen))
            return false;
        drops += seen.drops;
        carried += seen.frames;
        expected += count_by(h->law.links[i].carried, h->window);
    }
    for (uint32_t i = 0; i < h->law.node_count; i++) {
        const struct law_node *node = &h->law.nodes[i];
        struct bridge_count seen = since(bridge_node(h->bridge, i), &h->nodes[i]);

        if (node->most && node->arriving > node->most &&
            (seen.idle_ps > 0 || !bridge_node_is_busy(h->bridge, i)))
            return false;
        drops += seen.drops;
    }
    if (drops == 0)
        return false;
    return (carried > expected ? carried - expected : expected - carried) <=
           expected / CARRIED_PARTS;
}

simtime hybrid_now(const struct hybrid *h)
{
    return simtime_add(engine_time(h), h->ahead);
}

static void add_span(struct hybrid *h)
{
    if (h->span_count == h->span_room) {
        size_t room = h->span_room ? 2 * h->span_room : SPANS_FIRST;
        struct hybrid_span *spans = arena_alloc_array(h->arena, room, sizeof *spans);

        for (size_t i = 0; i < h->span_count; i++)
            spans[i] = h->spans[i];
        h->spans = spans;
        h->span_room = room;
    }
    h->spans[h->span_count++] = (struct hybrid_span){hybrid_now(h), hybrid_now(h)};
}

static void end_window(struct hybrid *h)
{
    h->windows = looks_saturated(h) ? h->windows + 1 : 0;
    if (h->windows > 0)
        h->saturated_at = simtime_min(h->saturated_at, hybrid_now(h));
    if (h->windows < WINDOWS_WANTED) {
        begin_window(h);
        return;
    }
    h->is_fluid = true;
    add_span(h);
}

static struct hybrid_count add(struct hybrid_count a, struct hybrid_count b)
{
    return (struct hybrid_count){a.frames + b.frames, a.drops + b.drops};
}

/* What the law adds since the fluid span began. */
static struct hybrid_count count_link(const struct hybrid *h, uint32_t ix, simspan span)
{
    const struct law_link *link = &h->law.links[ix];

    return (struct hybrid_count){count_by(link->carried, span), count_by(link->dropped, span)};
}

static struct hybrid_count count_node(const struct hybrid *h, uint32_t ix, simspan span)
{
    const struct law_node *node = &h->law.nodes[ix];

    if (!node->most)
        return (struct hybrid_count){0};
    return (struct hybrid_count){count_by(node->taken, span),
                                 count_by(node->arriving - node->taken, span)};
}

static simspan fluid_span(const struct hybrid *h)
{
    return h->is_fluid ? simtime_since(hybrid_now(h), h->spans[h->span_count - 1].from)
                       : (simspan){0};
}

/* Back to frames, where they were. */
static void leave_fluid(struct hybrid *h)
{
    simspan span = fluid_span(h);

    for (uint32_t i = 0; i < h->law.link_count; i++)
        h->by_law[i] = add(h->by_law[i], count_link(h, i, span));
    for (uint32_t i = 0; i < h->law.node_count; i++)
        h->by_node[i] = add(h->by_node[i], count_node(h, i, span));
    h->is_fluid = false;
}

/* After a change: nothing that was observed before it counts. */
static void start_anew(struct hybrid *h)
{
    if (h->is_fluid)
        leave_fluid(h);
    h->windows = 0;
    begin_window(h);
}

void hybrid_run(struct hybrid *h, simtime until, const struct bridge_hooks *hooks)
{
    while (!h->is_fluid && hybrid_now(h).ps < until.ps) {
        simtime goal = {until.ps - h->ahead.ps};

        if (!h->frames_only)
            goal = simtime_min(goal, h->window_end);
        bridge_run(h->bridge, goal, hooks);
        if (!h->frames_only && goal.ps == h->window_end.ps)
            end_window(h);
    }
    if (h->is_fluid) {
        simspan span = simtime_since(until, hybrid_now(h));

        h->ahead = simspan_add(h->ahead, span);
        bridge_skip(h->bridge, span);
        h->spans[h->span_count - 1].to = until;
    }
}

bool hybrid_is_fluid(const struct hybrid *h)
{
    return h->is_fluid;
}

uint64_t hybrid_alive(const struct hybrid *h)
{
    return bridge_alive(h->bridge);
}

simtime hybrid_quiet_since(const struct hybrid *h)
{
    return simtime_add(bridge_quiet_since(h->bridge), h->ahead);
}

simtime hybrid_saturated_at(const struct hybrid *h)
{
    return h->saturated_at;
}

static uint32_t share_of(uint64_t part, uint64_t all)
{
    return all == 0 ? 1000 : (uint32_t)((u128)part * 1000 / all);
}

uint32_t hybrid_link_share(const struct hybrid *h, uint32_t ix)
{
    const struct law_link *link = &h->law.links[ix];

    return h->is_fluid ? share_of(link->carried, link->carried + link->dropped) : 1000;
}

uint32_t hybrid_node_share(const struct hybrid *h, uint32_t ix)
{
    const struct law_node *node = &h->law.nodes[ix];

    return h->is_fluid ? share_of(node->taken, node->arriving) : 1000;
}

bool hybrid_send(struct hybrid *h, uint32_t node, const struct bridge_frame *frame)
{
    return h->is_fluid || bridge_send(h->bridge, node, frame);
}

void hybrid_set_cable(struct hybrid *h, uint32_t cable, bool is_up)
{
    start_anew(h);
    bridge_set_cable(h->bridge, cable, is_up);
}

void hybrid_set_forwarding(struct hybrid *h, uint32_t link, bool forwards)
{
    start_anew(h);
    bridge_set_forwarding(h->bridge, link, forwards);
}

struct hybrid_count hybrid_link(const struct hybrid *h, uint32_t ix)
{
    const struct bridge_count *c = bridge_link(h->bridge, ix);
    struct hybrid_count by_law = add(h->by_law[ix], count_link(h, ix, fluid_span(h)));

    return add((struct hybrid_count){c->frames, c->drops}, by_law);
}

struct hybrid_count hybrid_node(const struct hybrid *h, uint32_t ix)
{
    const struct bridge_count *c = bridge_node(h->bridge, ix);
    struct hybrid_count by_law = add(h->by_node[ix], count_node(h, ix, fluid_span(h)));

    return add((struct hybrid_count){c->frames, c->drops}, by_law);
}

const struct hybrid_span *hybrid_spans(const struct hybrid *h, size_t *ret_count)
{
    *ret_count = h->span_count;
    return h->spans;
}
