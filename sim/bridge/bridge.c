/* SPDX-License-Identifier: Apache-2.0 */
/*
 * DOC: Learning bridges
 *
 * A link direction is a FIFO server with one frame on the wire, a queue of so many behind it and
 * tail drop; a machine whose software forwards is one more FIFO server in front, with a backlog
 * of its own, and hands each frame that it takes to all ports that are meant. Only the head of each
 * server is in the event list. A frame is stored once and counted; copies are references.
 *
 * The software takes between a half and one and a half of its mean time for a frame, by the seed:
 * with equal times identical machines fall into lockstep, and of two cables one gets all the room.
 *
 * Equal times go by push order: a frame that is flooded goes out of the ports in their order, which
 * is the order of the cables in the configuration.
 *
 * Invariants: entries of a ring have ascending times; a server with entries has exactly one event
 * that it believes in (due), and others, left over from a pulled cable, find another time and pass.
 */
#include "sim/bridge/bridge.h"

#include <assert.h>

#include "sim/base/ids.h"
#include "sim/base/mem.h"
#include "sim/base/rng.h"
#include "sim/core/engine.h"

#define STALE_EVENTS 4U
#define RING_SPARE   3U /* served, begun at this instant, and one that the ring never fills */

enum {
    KIND_ARRIVE,
    KIND_TAKE
};

struct entry {
    int64_t begin_ps; /* first bit out, or the software turns to it */
    int64_t end_ps;   /* in the hands of the other machine, or taken */
    uint32_t frame;
    uint32_t port; /* software: the link back from where it came in */
};

/* A FIFO server: its ring holds what waits, is served or is on the way. */
struct server {
    uint64_t ring; /* offset of entries[mask + 1] */
    uint32_t mask;
    uint32_t head, tail; /* free running */
    uint32_t next;       /* first entry that has not begun, as far as was looked */
    uint32_t limit;      /* frames that wait at most */
    int64_t free_ps;     /* when the last accepted frame is done */
    int64_t due_ps;      /* of the event in the list; -1: none */
};

struct link {
    struct server server;
    struct bridge_count count;
    struct bridge_link_ends ends;
    bitrate rate;
    int64_t latency_ps;
    uint32_t last_bytes; /* the size that last_ps belongs to: sizes repeat */
    int64_t last_ps;
    bool is_up;
    bool is_member;
    bool forwards;
};

struct node {
    struct server server;
    struct bridge_count count;
    int64_t take_ps; /* mean; 0: no software in the way */
    uint64_t key;    /* of its draws */
    uint32_t first;  /* of its links out, in `out` */
    uint32_t links;
    bool is_bridge;
};

struct address {
    uint32_t link; /* the way out to it; ID_NONE: unknown */
    int64_t seen_ps;
};

struct frame_slot {
    struct bridge_frame frame;
    uint32_t copies;
    uint32_t next_free;
};

struct bridge {
    uint64_t engine, nodes, links, out, addresses, frames; /* offsets */
    uint32_t node_count, link_count;
    uint32_t free_frame;
    uint64_t alive;
    int64_t age_ps;
    int64_t skipped_ps;
    int64_t quiet_ps; /* when the last copy was gone */
};

/* What is const says who changes the memory, not who may. */
static inline void *at(const struct bridge *b, uint64_t offset)
{
    return (void *)((uintptr_t)b + offset); // NOLINT(performance-no-int-to-ptr): see above
}

static inline struct link *link_at(const struct bridge *b, uint32_t ix)
{
    return (struct link *)at(b, b->links) + ix;
}

static inline struct node *node_at(const struct bridge *b, uint32_t ix)
{
    return (struct node *)at(b, b->nodes) + ix;
}

static inline struct frame_slot *frame_at(const struct bridge *b, uint32_t ix)
{
    return (struct frame_slot *)at(b, b->frames) + ix;
}

static inline struct address *address_at(const struct bridge *b, uint32_t node, uint32_t of)
{
    return (struct address *)at(b, b->addresses) + (size_t)node * b->node_count + of;
}

static inline struct entry *entries_of(const struct bridge *b, const struct server *server)
{
    return at(b, server->ring);
}

struct engine *bridge_engine(struct bridge *b)
{
    return at(b, b->engine);
}

/* Room for what waits, what is served and what is on the way. */
static uint32_t ring_size(uint64_t waiting, uint64_t on_the_way)
{
    return mem_power_of_two((uint32_t)(waiting + on_the_way + RING_SPARE));
}

static uint32_t link_ring(const struct bridge_config *config, const struct bridge_cable_config *c,
                          bitrate rate)
{
    int64_t ps = bitrate_send_span(rate, config->frame).ps;

    return ring_size(config->queue, (uint64_t)c->latency.ps / (uint64_t)ps + 1);
}

/* One event a server, and room for those that cables left over that were pulled. */
static uint32_t capacity_of(const struct bridge_config *config)
{
    return STALE_EVENTS * 2 * config->cable_count + config->node_count + 1;
}

struct layout {
    size_t engine, nodes, links, out, addresses, frames, rings, total;
};

static struct layout lay_out(const struct bridge_config *config)
{
    size_t links = 2 * (size_t)config->cable_count;
    size_t nodes = config->node_count;
    struct layout at = {.engine = mem_align64(sizeof(struct bridge))};
    size_t entries = 0;

    at.nodes = at.engine + mem_align64(engine_mem_size(config->evq, capacity_of(config)));
    at.links = at.nodes + mem_align64(nodes * sizeof(struct node));
    at.out = at.links + mem_align64(links * sizeof(struct link));
    at.addresses = at.out + mem_align64(links * sizeof(uint32_t));
    at.frames = at.addresses + mem_align64(nodes * nodes * sizeof(struct address));
    at.rings = at.frames + mem_align64(config->frame_ids * sizeof(struct frame_slot));
    for (uint32_t i = 0; i < config->cable_count; i++) {
        const struct bridge_cable_config *c = &config->cables[i];

        entries += link_ring(config, c, c->rate_ab) + link_ring(config, c, c->rate_ba);
    }
    for (uint32_t i = 0; i < config->node_count; i++) {
        if (config->nodes[i].forward_rate)
            entries += ring_size(config->nodes[i].backlog, 0);
    }
    at.total = at.rings + entries * sizeof(struct entry);
    return at;
}

size_t bridge_mem_size(const struct bridge_config *config)
{
    return lay_out(config).total;
}

/* Gives a server its ring; returns where the next ring begins. */
static uint64_t init_server(struct server *server, uint64_t ring, uint32_t entries, uint32_t limit)
{
    *server = (struct server){
        .ring = ring, .mask = entries - 1, .limit = limit, .due_ps = -1, .free_ps = -1};
    return ring + entries * sizeof(struct entry);
}

static uint64_t init_nodes(struct bridge *b, const struct bridge_config *config, uint64_t ring)
{
    for (uint32_t i = 0; i < config->node_count; i++) {
        const struct bridge_node_config *from = &config->nodes[i];
        struct node *node = node_at(b, i);

        node->is_bridge = from->is_bridge;
        for (uint32_t k = 0; k < config->node_count; k++)
            address_at(b, i, k)->link = ID_NONE;
        if (!from->forward_rate)
            continue;
        node->key = rng_hash_key(config->seed, i);
        node->take_ps = (int64_t)u64_div_ceil((uint64_t)PS_PER_S, from->forward_rate);
        ring = init_server(&node->server, ring, ring_size(from->backlog, 0), from->backlog);
    }
    return ring;
}

static uint64_t init_link(struct bridge *b, const struct bridge_config *config, uint32_t ix,
                          uint64_t ring)
{
    const struct bridge_cable_config *c = &config->cables[ix / 2];
    bool is_back = ix % 2;
    struct link *link = link_at(b, ix);

    link->ends =
        is_back ? (struct bridge_link_ends){c->b, c->a} : (struct bridge_link_ends){c->a, c->b};
    link->rate = is_back ? c->rate_ba : c->rate_ab;
    link->latency_ps = c->latency.ps;
    link->is_up = true;
    link->is_member = is_back ? c->b_is_member : c->a_is_member;
    link->forwards = link->is_member;
    return init_server(&link->server, ring, link_ring(config, c, link->rate), config->queue);
}

/* Lists each node's links out, in their order. */
static void init_out(struct bridge *b)
{
    uint32_t *out = at(b, b->out);
    uint32_t count = 0;

    for (uint32_t i = 0; i < b->node_count; i++) {
        struct node *node = node_at(b, i);

        node->first = count;
        for (uint32_t k = 0; k < b->link_count; k++) {
            if (link_at(b, k)->ends.from == i)
                out[count++] = k;
        }
        node->links = count - node->first;
    }
}

struct bridge *bridge_init(void *mem, const struct bridge_config *config)
{
    struct layout layout = lay_out(config);
    struct bridge *b = mem;
    uint64_t ring = layout.rings;

    *b = (struct bridge){
        .engine = layout.engine,
        .nodes = layout.nodes,
        .links = layout.links,
        .out = layout.out,
        .addresses = layout.addresses,
        .frames = layout.frames,
        .node_count = config->node_count,
        .link_count = 2 * config->cable_count,
        .age_ps = config->age.ps,
    };
    engine_init(at(b, b->engine), config->evq, capacity_of(config));
    for (uint32_t i = 0; i < config->frame_ids; i++)
        frame_at(b, i)->next_free = i + 1 < config->frame_ids ? i + 1 : ID_NONE;
    ring = init_nodes(b, config, ring);
    for (uint32_t i = 0; i < b->link_count; i++)
        ring = init_link(b, config, i, ring);
    init_out(b);
    return b;
}

static void release_copy(struct bridge *b, uint32_t ix)
{
    struct frame_slot *slot = frame_at(b, ix);

    if (--b->alive == 0)
        b->quiet_ps = engine_now(bridge_engine(b)).ps;
    if (--slot->copies > 0)
        return;
    slot->next_free = b->free_frame;
    b->free_frame = ix;
}

/* Frames that wait. One that may begin at this very instant waits still: what arrives at the end of
 * a frame finds it there, as in ns-3 where the latency is longer than a frame. */
static inline uint32_t count_waiting(const struct bridge *b, struct server *s, int64_t now_ps)
{
    const struct entry *entries = entries_of(b, s);

    while (s->next != s->tail && entries[s->next & s->mask].begin_ps < now_ps)
        s->next++;
    return s->tail - s->next;
}

/* Serves a frame for `span` after those before it, or drops it. */
static inline bool serve(struct bridge *b, struct server *s, const struct entry *from,
                         int64_t span_ps, int64_t delay_ps)
{
    int64_t now_ps = from->begin_ps;
    bool is_idle = s->free_ps < now_ps;
    int64_t begin_ps = is_idle ? now_ps : s->free_ps;

    if (!is_idle && count_waiting(b, s, now_ps) >= s->limit)
        return false;
    assert(s->tail - s->head <= s->mask);
    entries_of(b, s)[s->tail++ & s->mask] = (struct entry){
        .begin_ps = begin_ps,
        .end_ps = begin_ps + span_ps + delay_ps,
        .frame = from->frame,
        .port = from->port,
    };
    if (is_idle)
        s->next = s->tail;
    s->free_ps = begin_ps + span_ps;
    frame_at(b, from->frame)->copies++;
    b->alive++;
    return true;
}

/* How long it has had nothing to do. */
static inline int64_t idle_since(const struct server *s, int64_t now_ps)
{
    int64_t from_ps = s->free_ps > 0 ? s->free_ps : 0;

    return now_ps > from_ps ? now_ps - from_ps : 0;
}

static inline void expect(struct bridge *b, struct server *s, uint32_t kind, uint32_t ix)
{
    if (s->head == s->tail) {
        s->due_ps = -1;
        return;
    }
    s->due_ps = entries_of(b, s)[s->head & s->mask].end_ps;
    engine_push(bridge_engine(b), (simtime){s->due_ps}, kind, ix);
}

static inline int64_t send_ps(struct link *link, bytecount size)
{
    if (link->last_bytes != size.bytes) {
        link->last_bytes = (uint32_t)size.bytes;
        link->last_ps = bitrate_send_span(link->rate, size).ps;
    }
    return link->last_ps;
}

/* Puts a copy into the queue of a link. */
static inline void put(struct bridge *b, uint32_t ix, uint32_t frame, int64_t now_ps)
{
    struct link *link = link_at(b, ix);
    struct server *s = &link->server;
    int64_t idle_ps = idle_since(s, now_ps);

    if (!serve(b, s, &(struct entry){.begin_ps = now_ps, .frame = frame},
               send_ps(link, frame_at(b, frame)->frame.size), link->latency_ps)) {
        link->count.drops++;
        return;
    }
    link->count.idle_ps += idle_ps;
    if (s->due_ps < 0)
        expect(b, s, KIND_ARRIVE, ix);
}

/* Sends a frame of node out of every port but `in` (ID_NONE: none), or out of the one where the
 * target was seen. */
static void spread(struct bridge *b, uint32_t ix, uint32_t in, uint32_t frame)
{
    const struct node *node = node_at(b, ix);
    const struct bridge_frame *f = &frame_at(b, frame)->frame;
    const uint32_t *out = (const uint32_t *)at(b, b->out) + node->first;
    int64_t now_ps = engine_now(bridge_engine(b)).ps;

    if (f->to != BRIDGE_TO_ALL) {
        struct address *to = address_at(b, ix, f->to);
        bool is_known = to->link != ID_NONE && now_ps + b->skipped_ps - to->seen_ps <= b->age_ps;

        if (is_known) {
            if (to->link != in && link_at(b, to->link)->forwards && link_at(b, to->link)->is_up)
                put(b, to->link, frame, now_ps);
            return;
        }
    }
    for (uint32_t i = 0; i < node->links; i++) {
        const struct link *link = link_at(b, out[i]);

        if (out[i] != in && link->forwards && link->is_up)
            put(b, out[i], frame, now_ps);
    }
}

bool bridge_send(struct bridge *b, uint32_t node, const struct bridge_frame *frame)
{
    uint32_t ix = b->free_frame;
    struct frame_slot *slot;

    if (ix == ID_NONE)
        return false;
    slot = frame_at(b, ix);
    b->free_frame = slot->next_free;
    *slot = (struct frame_slot){.frame = *frame, .copies = 1};
    b->alive++; /* held while it spreads */
    spread(b, node, ID_NONE, ix);
    release_copy(b, ix);
    return true;
}

/* A machine has a frame that came in by the port of link `in`: learns, hears, forwards. */
static void handle(struct bridge *b, uint32_t ix, const struct entry *entry,
                   const struct bridge_hooks *hooks)
{
    const struct bridge_frame *f = &frame_at(b, entry->frame)->frame;
    bool is_meant = f->to == BRIDGE_TO_ALL || f->to == ix;

    if (link_at(b, entry->port)->forwards)
        *address_at(b, ix, f->from) =
            (struct address){entry->port, engine_now(bridge_engine(b)).ps + b->skipped_ps};
    if (is_meant && hooks && hooks->heard)
        hooks->heard(hooks->ctx, ix, f);
    if (f->to != ix && node_at(b, ix)->is_bridge && link_at(b, entry->port)->forwards)
        spread(b, ix, entry->port, entry->frame);
    release_copy(b, entry->frame);
}

/* How long the software takes for the next frame. */
static inline int64_t draw_take_ps(const struct node *node)
{
    uint64_t bits = rng_hash_at(node->key, node->server.tail);

    return node->take_ps / 2 + (int64_t)((u128)(uint64_t)node->take_ps * bits >> 64);
}

/* The software of a machine gets a frame, or has no room for it. */
static void take_in(struct bridge *b, uint32_t ix, const struct entry *entry,
                    const struct bridge_hooks *hooks)
{
    struct node *node = node_at(b, ix);
    struct server *s = &node->server;
    int64_t idle_ps = idle_since(s, entry->begin_ps);

    if (node->take_ps == 0) {
        handle(b, ix, entry, hooks);
        return;
    }
    if (serve(b, s, entry, draw_take_ps(node), 0)) {
        node->count.idle_ps += idle_ps;
        if (s->due_ps < 0)
            expect(b, s, KIND_TAKE, ix);
    } else {
        node->count.drops++;
    }
    release_copy(b, entry->frame);
}

static struct entry pop(struct bridge *b, struct server *s)
{
    struct entry entry = entries_of(b, s)[s->head & s->mask];

    if (s->next == s->head)
        s->next++;
    s->head++;
    return entry;
}

static void arrive(struct bridge *b, uint32_t ix, int64_t now_ps, const struct bridge_hooks *hooks)
{
    struct link *link = link_at(b, ix);
    struct entry entry = pop(b, &link->server);

    expect(b, &link->server, KIND_ARRIVE, ix);
    link->count.frames++;
    link->count.bytes += frame_at(b, entry.frame)->frame.size.bytes;
    entry.begin_ps = now_ps;
    entry.port = ix ^ 1;
    take_in(b, link->ends.to, &entry, hooks);
}

static void take(struct bridge *b, uint32_t ix, const struct bridge_hooks *hooks)
{
    struct node *node = node_at(b, ix);
    struct entry entry = pop(b, &node->server);

    expect(b, &node->server, KIND_TAKE, ix);
    node->count.frames++;
    handle(b, ix, &entry, hooks);
}

void bridge_run(struct bridge *b, simtime until, const struct bridge_hooks *hooks)
{
    struct engine *engine = bridge_engine(b);
    struct evq_event event;

    while (engine_pop_until(engine, until, &event)) {
        if (event.kind == KIND_ARRIVE) {
            if (link_at(b, event.arg)->server.due_ps == event.at.ps)
                arrive(b, event.arg, event.at.ps, hooks);
        } else if (node_at(b, event.arg)->server.due_ps == event.at.ps) {
            take(b, event.arg, hooks);
        }
    }
    engine_advance(engine, until);
}

void bridge_skip(struct bridge *b, simspan span)
{
    b->skipped_ps += span.ps;
}

uint64_t bridge_alive(const struct bridge *b)
{
    return b->alive;
}

simtime bridge_quiet_since(const struct bridge *b)
{
    return (simtime){b->quiet_ps};
}

uint32_t bridge_link_count_of(const struct bridge *b)
{
    return b->link_count;
}

static bool is_busy(const struct bridge *b, const struct server *s)
{
    return s->free_ps > engine_now(at(b, b->engine)).ps;
}

bool bridge_link_is_busy(const struct bridge *b, uint32_t link)
{
    return is_busy(b, &link_at(b, link)->server);
}

bool bridge_node_is_busy(const struct bridge *b, uint32_t node)
{
    return is_busy(b, &node_at(b, node)->server);
}

const struct bridge_count *bridge_link(const struct bridge *b, uint32_t link)
{
    return &link_at(b, link)->count;
}

const struct bridge_count *bridge_node(const struct bridge *b, uint32_t node)
{
    return &node_at(b, node)->count;
}

struct bridge_link_ends bridge_link_ends(const struct bridge *b, uint32_t link)
{
    return link_at(b, link)->ends;
}

static void empty(struct bridge *b, struct server *s)
{
    while (s->head != s->tail)
        release_copy(b, pop(b, s).frame);
    s->due_ps = -1;
    s->free_ps = -1;
}

void bridge_set_cable(struct bridge *b, uint32_t cable, bool is_up)
{
    for (uint32_t i = 2 * cable; i < 2 * cable + 2; i++) {
        struct link *link = link_at(b, i);

        if (link->is_up && !is_up)
            empty(b, &link->server);
        link->is_up = is_up;
    }
    for (uint32_t i = 0; !is_up && i < b->node_count * b->node_count; i++) {
        struct address *address = address_at(b, 0, i);

        if (address->link / 2 == cable)
            address->link = ID_NONE;
    }
}

void bridge_set_forwarding(struct bridge *b, uint32_t link, bool forwards)
{
    link_at(b, link)->forwards = forwards && link_at(b, link)->is_member;
}

bool bridge_is_forwarding(const struct bridge *b, uint32_t link)
{
    return link_at(b, link)->forwards;
}

bool bridge_is_up(const struct bridge *b, uint32_t cable)
{
    return link_at(b, 2 * cable)->is_up;
}
