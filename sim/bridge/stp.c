/* SPDX-License-Identifier: Apache-2.0 */
/*
 * DOC: Spanning tree
 *
 * Names follow the procedures of IEEE 802.1D-1998, 8.6: each port keeps the best message that was
 * heard there (root, cost, bridge, port); a bridge takes as its root port the one with the best way
 * to the least root, is designated where its own message would be better than the one heard, and
 * blocks the others. What is not heard again within max_age is forgotten. A port that may forward
 * listens and learns first, forward_delay each, so that no loop is open while news travels.
 *
 * Left out: notices of a change of topology, which shorten the ageing of addresses.
 *
 * Invariant: a port that is not designated has an age timer; one that listens or learns has a delay
 * timer; a bridge has a hello timer exactly while it takes itself for the root.
 */
#include "sim/bridge/stp.h"

#include "sim/base/ids.h"

struct port {
    uint32_t bridge;
    uint32_t number; /* its id in its bridge */
    uint32_t cost;
    struct stp_message best; /* `age` at the time when it was heard */
    enum stp_state state;
    simtime aged_at; /* never: the best is our own */
    simtime delay_until;
    simtime hold_until;
    bool is_pending; /* a message waits for the hold timer */
};

struct bridge_state {
    uint64_t id;
    uint64_t root;
    uint32_t root_cost;
    uint32_t root_port; /* ID_NONE: it is the root */
    simtime hello_at;
};

struct stp {
    struct port *ports;
    uint32_t port_count;
    struct bridge_state *bridges;
    uint32_t bridge_count;
    struct stp_times times;
    simtime now;
};

/* A step of one bridge. */
struct step {
    struct stp *stp;
    struct bridge_state *bridge;
    uint32_t ix; /* of the bridge */
    const struct stp_hooks *hooks;
};

static struct step step_of(struct stp *stp, uint32_t bridge, const struct stp_hooks *hooks)
{
    return (struct step){stp, &stp->bridges[bridge], bridge, hooks};
}

static bool is_designated(const struct step *s, const struct port *port)
{
    return port->best.bridge == s->bridge->id && port->best.port == port->number;
}

/* Is it a port of this bridge, with a cable? */
static bool takes_part(const struct step *s, const struct port *port)
{
    return port->bridge == s->ix && port->state != STP_DISABLED;
}

static bool is_root(const struct step *s)
{
    return s->bridge->root_port == ID_NONE;
}

static void set_state(const struct step *s, struct port *port, enum stp_state state)
{
    if (port->state == state)
        return;
    port->state = state;
    if (s->hooks && s->hooks->state)
        s->hooks->state(s->hooks->ctx, (uint32_t)(port - s->stp->ports), state);
}

/* Negative: a is better. Roots, costs and bridges in turn; the less, the better. */
static int compare_ways(const struct stp_message *a, const struct stp_message *b)
{
    if (a->root != b->root)
        return a->root < b->root ? -1 : 1;
    if (a->cost != b->cost)
        return a->cost < b->cost ? -1 : 1;
    if (a->bridge != b->bridge)
        return a->bridge < b->bridge ? -1 : 1;
    return 0;
}

/* The same, and then ports. */
static int compare(const struct stp_message *a, const struct stp_message *b)
{
    int order = compare_ways(a, b);

    return order != 0 ? order : (a->port > b->port) - (a->port < b->port);
}

static struct stp_message own_message(const struct step *s, const struct port *port)
{
    return (struct stp_message){s->bridge->root, s->bridge->root_cost, s->bridge->id, port->number,
                                (simspan){0}};
}

static void become_designated(const struct step *s, struct port *port)
{
    port->best = own_message(s, port);
    port->aged_at = simtime_never();
}

/* How old the news of the root is when it leaves this bridge. */
static simspan age_to_send(const struct step *s)
{
    const struct stp_times *times = &s->stp->times;
    const struct port *port;
    simspan left;

    if (is_root(s))
        return (simspan){0};
    port = &s->stp->ports[s->bridge->root_port];
    left = simtime_since(port->aged_at, s->stp->now);
    return simspan_add((simspan){times->max_age.ps - left.ps}, times->age_increment);
}

static void transmit(const struct step *s, struct port *port)
{
    struct stp_message message = own_message(s, port);

    if (port->hold_until.ps != SIMTIME_NEVER_PS) {
        port->is_pending = true;
        return;
    }
    message.age = age_to_send(s);
    if (message.age.ps >= s->stp->times.max_age.ps)
        return;
    port->hold_until = simtime_add(s->stp->now, s->stp->times.hold);
    if (s->hooks && s->hooks->send)
        s->hooks->send(s->hooks->ctx, (uint32_t)(port - s->stp->ports), &message);
}

static void generate(const struct step *s)
{
    for (uint32_t i = 0; i < s->stp->port_count; i++) {
        struct port *port = &s->stp->ports[i];

        if (takes_part(s, port) && is_designated(s, port))
            transmit(s, port);
    }
}

/* The way to the root that a port offers. */
static struct stp_message way_by(const struct port *port)
{
    struct stp_message way = port->best;

    way.cost += port->cost;
    return way;
}

static void select_root(const struct step *s)
{
    struct stp_message best = {.root = s->bridge->id, .bridge = s->bridge->id};

    s->bridge->root_port = ID_NONE;
    for (uint32_t i = 0; i < s->stp->port_count; i++) {
        const struct port *port = &s->stp->ports[i];
        struct stp_message way = way_by(port);

        if (!takes_part(s, port) || is_designated(s, port) || way.root >= s->bridge->id)
            continue;
        if (s->bridge->root_port == ID_NONE || compare(&way, &best) < 0) {
            best = way;
            s->bridge->root_port = i;
        }
    }
    s->bridge->root = best.root;
    s->bridge->root_cost = best.cost;
}

static void select_designated(const struct step *s)
{
    for (uint32_t i = 0; i < s->stp->port_count; i++) {
        struct port *port = &s->stp->ports[i];
        struct stp_message own = own_message(s, port);

        if (!takes_part(s, port))
            continue;
        if (is_designated(s, port) || port->best.root != s->bridge->root ||
            compare(&own, &port->best) <= 0)
            become_designated(s, port);
    }
}

static void select_states(const struct step *s)
{
    for (uint32_t i = 0; i < s->stp->port_count; i++) {
        struct port *port = &s->stp->ports[i];

        if (!takes_part(s, port))
            continue;
        if (i != s->bridge->root_port && !is_designated(s, port)) {
            port->delay_until = simtime_never();
            set_state(s, port, STP_BLOCKING);
        } else if (port->state == STP_BLOCKING) {
            port->delay_until = simtime_add(s->stp->now, s->stp->times.forward_delay);
            set_state(s, port, STP_LISTENING);
        }
    }
}

/* After a change: everything anew, and the hello timer as it follows. */
static void update(const struct step *s)
{
    bool was_root = s->bridge->hello_at.ps != SIMTIME_NEVER_PS;

    select_root(s);
    select_designated(s);
    select_states(s);
    if (!is_root(s)) {
        s->bridge->hello_at = simtime_never();
    } else if (!was_root) {
        s->bridge->hello_at = simtime_add(s->stp->now, s->stp->times.hello);
        generate(s);
    }
}

struct stp *stp_new(struct arena *arena, const struct stp_config *config, simtime now,
                    const struct stp_hooks *hooks)
{
    struct stp *stp = arena_alloc(arena, sizeof *stp);

    *stp = (struct stp){
        .ports = arena_alloc_array(arena, config->port_count, sizeof(struct port)),
        .port_count = config->port_count,
        .bridges = arena_alloc_array(arena, config->bridge_count, sizeof(struct bridge_state)),
        .bridge_count = config->bridge_count,
        .times = config->times,
        .now = now,
    };
    for (uint32_t b = 0; b < config->bridge_count; b++) {
        stp->bridges[b] = (struct bridge_state){config->bridge_ids[b], config->bridge_ids[b], 0,
                                                ID_NONE, simtime_never()};
    }
    for (uint32_t i = 0; i < config->port_count; i++) {
        uint32_t bridge = config->ports[i].bridge;
        struct step s = step_of(stp, bridge, hooks);
        struct port *port = &stp->ports[i];

        *port = (struct port){
            .bridge = bridge,
            .number = i + 1,
            .cost = config->ports[i].cost,
            .state = config->ports[i].is_up ? STP_BLOCKING : STP_DISABLED,
            .delay_until = simtime_never(),
            .hold_until = simtime_never(),
        };
        become_designated(&s, port);
    }
    for (uint32_t b = 0; b < config->bridge_count; b++) {
        struct step s = step_of(stp, b, hooks);

        update(&s);
    }
    return stp;
}

/* Does a message replace what the port knows? 8.6.2.2: also one of the same sender, again. */
static bool supersedes(const struct step *s, const struct port *port,
                       const struct stp_message *message)
{
    int order = compare_ways(message, &port->best);

    if (order != 0)
        return order < 0;
    return message->bridge != s->bridge->id || message->port <= port->best.port;
}

void stp_receive(struct stp *stp, uint32_t ix, const struct stp_message *message, simtime now,
                 const struct stp_hooks *hooks)
{
    struct port *port = &stp->ports[ix];
    struct step s = step_of(stp, port->bridge, hooks);

    stp->now = now;
    if (port->state == STP_DISABLED)
        return;
    if (!supersedes(&s, port, message)) {
        if (is_designated(&s, port))
            transmit(&s, port); /* whoever that was should know better */
        return;
    }
    port->best = *message;
    port->aged_at = simtime_add(now, (simspan){stp->times.max_age.ps - message->age.ps});
    update(&s);
    if (ix == s.bridge->root_port)
        generate(&s);
}

void stp_set_up(struct stp *stp, uint32_t ix, bool is_up, simtime now,
                const struct stp_hooks *hooks)
{
    struct port *port = &stp->ports[ix];
    struct step s = step_of(stp, port->bridge, hooks);

    stp->now = now;
    if (is_up == (port->state != STP_DISABLED))
        return;
    become_designated(&s, port);
    port->delay_until = simtime_never();
    port->is_pending = false;
    set_state(&s, port, is_up ? STP_BLOCKING : STP_DISABLED);
    update(&s);
    if (is_up)
        transmit(&s, port);
}

simtime stp_next(const struct stp *stp)
{
    simtime next = simtime_never();

    for (uint32_t i = 0; i < stp->port_count; i++) {
        const struct port *port = &stp->ports[i];

        next = simtime_min(next, port->hold_until);
        if (port->state == STP_DISABLED)
            continue;
        next = simtime_min(next, port->aged_at);
        next = simtime_min(next, port->delay_until);
    }
    for (uint32_t b = 0; b < stp->bridge_count; b++)
        next = simtime_min(next, stp->bridges[b].hello_at);
    return next;
}

static void run_port(const struct step *s, struct port *port)
{
    simtime now = s->stp->now;

    if (port->hold_until.ps <= now.ps) {
        bool was_pending = port->is_pending;

        port->hold_until = simtime_never();
        port->is_pending = false;
        if (was_pending && port->state != STP_DISABLED && is_designated(s, port))
            transmit(s, port);
    }
    if (port->state == STP_DISABLED)
        return;
    if (port->aged_at.ps <= now.ps) {
        become_designated(s, port);
        update(s);
    }
    if (port->delay_until.ps <= now.ps) {
        bool listened = port->state == STP_LISTENING;

        port->delay_until =
            listened ? simtime_add(now, s->stp->times.forward_delay) : simtime_never();
        set_state(s, port, listened ? STP_LEARNING : STP_FORWARDING);
    }
}

void stp_run(struct stp *stp, simtime now, const struct stp_hooks *hooks)
{
    stp->now = now;
    for (uint32_t b = 0; b < stp->bridge_count; b++) {
        struct step s = step_of(stp, b, hooks);

        if (s.bridge->hello_at.ps > now.ps)
            continue;
        s.bridge->hello_at = simtime_add(now, stp->times.hello);
        generate(&s);
    }
    for (uint32_t i = 0; i < stp->port_count; i++) {
        struct step s = step_of(stp, stp->ports[i].bridge, hooks);

        run_port(&s, &stp->ports[i]);
    }
}

enum stp_state stp_state_of(const struct stp *stp, uint32_t port)
{
    return stp->ports[port].state;
}

uint64_t stp_root_of(const struct stp *stp, uint32_t bridge)
{
    return stp->bridges[bridge].root;
}
