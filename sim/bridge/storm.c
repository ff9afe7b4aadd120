/* SPDX-License-Identifier: Apache-2.0 */
/*
 * DOC: Storms
 *
 * The driver of a hybrid: it owns what happens at a time of its own (sources, actions, pings,
 * samples) and moves the frames from one such instant to the next. There are few of them, so the
 * next is found by looking at all.
 *
 * What is a storm? Without a loop a broadcast crosses each cable at most once. More crossings than
 * broadcasts times cables are a loop at work, whatever its rate. It is over when no copy is left.
 *
 * Pings go as frames while frames run. While the law holds they are drawn: each machine and cable
 * on a shortest way lets through the share that the law gives it, there and back.
 */
#include "sim/bridge/storm.h"

#include "sim/base/ids.h"
#include "sim/base/rng.h"
#include "sim/bridge/bridge.h"
#include "sim/bridge/hybrid.h"
#include "sim/core/evq.h"
#include "sim/fabric/cluster.h"
#include "sim/fabric/model.h"

#define SAMPLES_MAX    200U
#define SAMPLES_DECADE 10U
#define FRAMES_AT_ONCE 65536U
#define FRAME_SMALLEST 64U /* what an adapter pads to; IEEE 802.3 */
#define FRAME_LARGEST  1518U
#define PING_BYTES     98U /* 56 bytes of data, as ping sends */
#define STREAM_PING    UINT64_C(0x70696e67)

enum {
    FRAME_BROADCAST,
    FRAME_REQUEST,
    FRAME_REPLY
};

/* Something that happens again and again, or once. */
struct timer {
    simtime next; /* never: no more */
    uint64_t fired;
};

struct waiting_ping {
    simtime sent;
    bool is_answered;
};

struct storm {
    const struct storm_input *input;
    struct storm_result *ret;
    struct hybrid *h;
    struct timer *sources, *actions, *pings;
    struct waiting_ping *waiting; /* [ping_count] */
    simtime next_sample;
    uint32_t sample_step;
    uint64_t excused; /* crossings of cables that need no loop */
    bool is_storming;
    uint32_t *way; /* scratch: links by which a search came to a machine */
    uint32_t *queue;
};

static bool is_forwarder(const struct cluster_host *host, const struct cluster_port *port)
{
    return machine_forwards(host->model) || port->is_bridge_member;
}

static bool end_is_member(const struct cluster *cluster, struct cluster_end end)
{
    const struct cluster_host *host = &cluster->hosts[end.host.ix];

    return is_forwarder(host, &host->ports[end.port]);
}

static struct bridge_node_config describe_node(const struct storm_input *input, uint32_t ix)
{
    const struct cluster_host *host = &input->cluster->hosts[ix];
    struct bridge_node_config node = {.backlog = input->model->backlog};

    for (size_t i = 0; i < host->port_count; i++) {
        if (host->ports[i].cable.ix != ID_NONE)
            node.is_bridge = node.is_bridge || is_forwarder(host, &host->ports[i]);
    }
    if (!machine_forwards(host->model))
        node.forward_rate = input->model->forward_rate;
    return node;
}

static struct hybrid *build(const struct storm_input *input, struct arena *arena)
{
    const struct cluster *cluster = input->cluster;
    struct bridge_node_config *nodes = arena_alloc_array(arena, cluster->host_count, sizeof *nodes);
    struct bridge_cable_config *cables =
        arena_alloc_array(arena, cluster->cable_count, sizeof *cables);
    struct hybrid_config config = {
        .bridge =
            {
                .nodes = nodes,
                .node_count = (uint32_t)cluster->host_count,
                .cables = cables,
                .cable_count = (uint32_t)cluster->cable_count,
                .queue = input->model->queue,
                .age = input->model->age,
                .frame = {FRAME_SMALLEST},
                .largest = {FRAME_LARGEST},
                .frame_ids = FRAMES_AT_ONCE,
                .seed = input->seed,
                .evq = EVQ_CALENDAR,
            },
        .frames_only = input->frames_only,
    };

    for (uint32_t i = 0; i < cluster->host_count; i++)
        nodes[i] = describe_node(input, i);
    for (uint32_t i = 0; i < cluster->cable_count; i++) {
        const struct cluster_cable *c = &cluster->cables[i];

        cables[i] = (struct bridge_cable_config){
            .a = c->a.host.ix,
            .b = c->b.host.ix,
            .a_is_member = end_is_member(cluster, c->a),
            .b_is_member = end_is_member(cluster, c->b),
            .rate_ab = c->rate_ab,
            .rate_ba = c->rate_ba,
            .latency = input->model->latency,
        };
    }
    return hybrid_new(arena, &config);
}

/* Frames that passed a cable, and drops by cables and by software. */
static struct hybrid_count sum_all(const struct storm *s)
{
    struct hybrid_count sum = {0};

    for (uint32_t i = 0; i < 2 * s->input->cluster->cable_count; i++) {
        struct hybrid_count count = hybrid_link(s->h, i);

        sum.frames += count.frames;
        sum.drops += count.drops;
    }
    for (uint32_t i = 0; i < s->input->cluster->host_count; i++)
        sum.drops += hybrid_node(s->h, i).drops;
    return sum;
}

/* After each step: has a storm begun, or ended? */
static void look(struct storm *s)
{
    uint64_t frames = sum_all(s).frames;

    if (frames > s->excused && !s->is_storming) {
        s->is_storming = true;
        s->ret->is_storm = true;
        s->ret->began = simtime_min(s->ret->began, hybrid_now(s->h));
        s->ret->recovered_at = simtime_never();
    }
    if (hybrid_alive(s->h) > 0 || hybrid_is_fluid(s->h))
        return;
    if (s->is_storming)
        s->ret->recovered_at = hybrid_quiet_since(s->h);
    s->is_storming = false;
    s->excused = frames;
}

static bytecount source_size(const struct storm_source *source)
{
    static const uint32_t sizes[] = {
#define X(id, name, bytes, what) bytes,
        STORM_SOURCE_LIST(X)
#undef X
    };
    uint64_t bytes = source->size.bytes ? source->size.bytes : sizes[source->kind];

    return (bytecount){bytes < FRAME_SMALLEST ? FRAME_SMALLEST : bytes};
}

static void fire_source(struct storm *s, size_t ix)
{
    const struct storm_source *source = &s->input->sources[ix];
    struct timer *timer = &s->sources[ix];
    const struct bridge_frame frame = {
        .from = source->host.ix,
        .to = BRIDGE_TO_ALL,
        .size = source_size(source),
        .kind = FRAME_BROADCAST,
    };

    if (hybrid_send(s->h, source->host.ix, &frame)) {
        s->ret->broadcasts++;
        s->excused += s->input->cluster->cable_count;
    }
    timer->fired++;
    if (source->period.ps == 0 || timer->fired == source->count)
        timer->next = simtime_never();
    else
        timer->next = simtime_add(timer->next, source->period);
}

/* The link out of a host over a cable. */
static uint32_t link_of(const struct storm *s, cable_id cable, host_id host)
{
    return 2 * cable.ix + (s->input->cluster->cables[cable.ix].a.host.ix != host.ix);
}

static void fire_action(struct storm *s, size_t ix)
{
    const struct storm_action *action = &s->input->actions[ix];
    const struct cluster *cluster = s->input->cluster;

    s->actions[ix].next = simtime_never();
    switch (action->kind) {
    case STORM_PULL:
    case STORM_PLUG:
        hybrid_set_cable(s->h, action->cable.ix, action->kind == STORM_PLUG);
        break;
    case STORM_MEMBER:
        hybrid_set_forwarding(s->h, link_of(s, action->cable, action->host), false);
        break;
    case STORM_DESTROY:
        for (uint32_t i = 0; i < cluster->cable_count; i++) {
            const struct cluster_cable *c = &cluster->cables[i];

            if (c->a.host.ix == action->host.ix || c->b.host.ix == action->host.ix)
                hybrid_set_forwarding(s->h, link_of(s, (cable_id){i}, action->host), false);
        }
        break;
    }
}

/* Unicast frames of pings are flooded too where their target is not known. */
static void send_ping(struct storm *s, uint32_t ix, bool is_reply)
{
    const struct storm_ping *ping = &s->input->pings[ix];
    host_id from = is_reply ? ping->to : ping->from;
    const struct bridge_frame frame = {
        .from = from.ix,
        .to = is_reply ? ping->from.ix : ping->to.ix,
        .size = {PING_BYTES},
        .kind = is_reply ? FRAME_REPLY : FRAME_REQUEST,
        .tag = ix,
    };

    if (hybrid_send(s->h, from.ix, &frame))
        s->excused += s->input->cluster->cable_count;
}

static void hear(void *ctx, uint32_t node, const struct bridge_frame *frame)
{
    struct storm *s = ctx;

    (void)node;
    if (frame->kind == FRAME_REQUEST)
        send_ping(s, frame->tag, true);
    else if (frame->kind == FRAME_REPLY)
        s->waiting[frame->tag].is_answered = true;
}

/* Links of a shortest way, by s->way[machine]; false when there is none. */
static bool find_way(struct storm *s, host_id from, host_id to)
{
    const struct cluster *cluster = s->input->cluster;
    uint32_t head = 0;
    uint32_t tail = 1;

    for (size_t i = 0; i < cluster->host_count; i++)
        s->way[i] = ID_NONE;
    s->queue[0] = from.ix;
    while (head < tail && s->way[to.ix] == ID_NONE) {
        host_id at = {s->queue[head++]};

        for (uint32_t i = 0; i < cluster->cable_count; i++) {
            const struct cluster_cable *c = &cluster->cables[i];
            uint32_t peer;

            if ((c->a.host.ix != at.ix && c->b.host.ix != at.ix) ||
                !hybrid_passes(s->h, link_of(s, (cable_id){i}, at)))
                continue;
            peer = cluster_peer(c, at).host.ix;
            if (peer == from.ix || s->way[peer] != ID_NONE)
                continue;
            s->way[peer] = link_of(s, (cable_id){i}, at);
            s->queue[tail++] = peer;
        }
    }
    return s->way[to.ix] != ID_NONE;
}

/* One way by the law: each cable and each machine's software draws. */
static bool draw_way(struct storm *s, uint64_t key, uint64_t *index, const host_id ends[2])
{
    host_id at = ends[1];

    if (!find_way(s, ends[0], ends[1]))
        return false;
    while (at.ix != ends[0].ix) {
        uint32_t link = s->way[at.ix];
        const struct cluster_cable *c = &s->input->cluster->cables[link / 2];

        if (rng_hash_at(key, (*index)++) % 1000 >= hybrid_link_share(s->h, link) ||
            rng_hash_at(key, (*index)++) % 1000 >= hybrid_node_share(s->h, at.ix))
            return false;
        at = cluster_peer(c, at).host;
    }
    return true;
}

static bool draw_ping(struct storm *s, size_t ix)
{
    const struct storm_ping *ping = &s->input->pings[ix];
    uint64_t key = rng_hash_key(s->input->seed, STREAM_PING + ix);
    uint64_t index = s->pings[ix].fired << 16;

    return draw_way(s, key, &index, (const host_id[2]){ping->from, ping->to}) &&
           draw_way(s, key, &index, (const host_id[2]){ping->to, ping->from});
}

static void settle_ping(struct storm *s, size_t ix)
{
    struct storm_ping_result *result = &s->ret->pings[ix];

    if (s->pings[ix].fired == 0 || s->waiting[ix].is_answered)
        return;
    result->lost++;
    result->first_lost = simtime_min(result->first_lost, s->waiting[ix].sent);
}

static void fire_ping(struct storm *s, size_t ix)
{
    struct timer *timer = &s->pings[ix];

    settle_ping(s, ix);
    timer->fired++;
    s->ret->pings[ix].sent++;
    s->waiting[ix] = (struct waiting_ping){.sent = timer->next};
    if (hybrid_is_fluid(s->h))
        s->waiting[ix].is_answered = draw_ping(s, ix);
    else
        send_ping(s, (uint32_t)ix, false);
    timer->next = simtime_add(timer->next, s->input->pings[ix].period);
}

/* 1, 1.25, 1.6, 2, 2.5, 3.2, 4, 5, 6.3, 8 and so on, in microseconds: the series R10 of ISO 3. */
static void take_sample(struct storm *s)
{
    static const uint32_t series[SAMPLES_DECADE] = {100, 125, 160, 200, 250,
                                                    315, 400, 500, 630, 800};
    int64_t decade_ps = PS_PER_US / 100;
    struct hybrid_count sum = sum_all(s);

    s->ret->samples[s->ret->sample_count++] = (struct storm_sample){
        .at = hybrid_now(s->h),
        .frames = sum.frames,
        .drops = sum.drops,
        .alive = hybrid_alive(s->h),
    };
    s->sample_step++;
    for (uint32_t i = 0; i < s->sample_step / SAMPLES_DECADE; i++)
        decade_ps *= 10;
    s->next_sample = s->ret->sample_count + 1 < SAMPLES_MAX
                         ? (simtime){series[s->sample_step % SAMPLES_DECADE] * decade_ps}
                         : simtime_never();
}

static simtime least(const struct timer *timers, size_t count, simtime least)
{
    for (size_t i = 0; i < count; i++)
        least = simtime_min(least, timers[i].next);
    return least;
}

static void fire_all(struct storm *s, simtime now)
{
    for (size_t i = 0; i < s->input->action_count; i++) {
        if (s->actions[i].next.ps == now.ps)
            fire_action(s, i);
    }
    for (size_t i = 0; i < s->input->source_count; i++) {
        if (s->sources[i].next.ps == now.ps)
            fire_source(s, i);
    }
    for (size_t i = 0; i < s->input->ping_count; i++) {
        if (s->pings[i].next.ps == now.ps)
            fire_ping(s, i);
    }
    if (s->next_sample.ps == now.ps)
        take_sample(s);
}

static void run(struct storm *s)
{
    const struct storm_input *input = s->input;
    const struct bridge_hooks hooks = {.ctx = s, .heard = hear};
    simtime end = {input->duration.ps};
    simtime next;

    do {
        next = simtime_min(end, s->next_sample);
        next = least(s->sources, input->source_count, next);
        next = least(s->actions, input->action_count, next);
        next = least(s->pings, input->ping_count, next);
        hybrid_run(s->h, next, input->ping_count ? &hooks : NULL);
        look(s);
        if (next.ps < end.ps)
            fire_all(s, next);
    } while (next.ps < end.ps);
    take_sample(s);
    for (size_t i = 0; i < input->ping_count; i++)
        settle_ping(s, i);
}

static void start_timers(struct storm *s, struct arena *arena)
{
    const struct storm_input *input = s->input;

    s->sources = arena_alloc_array(arena, input->source_count, sizeof *s->sources);
    s->actions = arena_alloc_array(arena, input->action_count, sizeof *s->actions);
    s->pings = arena_alloc_array(arena, input->ping_count, sizeof *s->pings);
    s->waiting = arena_alloc_array(arena, input->ping_count, sizeof *s->waiting);
    s->way = arena_alloc_array(arena, input->cluster->host_count, sizeof *s->way);
    s->queue = arena_alloc_array(arena, input->cluster->host_count + 1, sizeof *s->queue);
    for (size_t i = 0; i < input->source_count; i++)
        s->sources[i].next = input->sources[i].first;
    for (size_t i = 0; i < input->action_count; i++)
        s->actions[i].next = input->actions[i].at;
    s->next_sample = (simtime){PS_PER_US};
}

static void add_hosts(struct storm *s)
{
    const struct storm_model *model = s->input->model;
    uint64_t span_ps = (uint64_t)(s->input->duration.ps > 0 ? s->input->duration.ps : 1);

    for (uint32_t i = 0; i < s->input->cluster->host_count; i++) {
        struct hybrid_count count = hybrid_node(s->h, i);
        u128 work_ps = (u128)count.frames * (uint64_t)model->cpu_frame.ps +
                       (u128)count.drops * (uint64_t)model->cpu_drop.ps;

        s->ret->hosts[i] = (struct storm_host){
            .taken = count.frames,
            .drops = count.drops,
            .cpu_permille = (uint64_t)(work_ps * 1000 / span_ps),
        };
    }
    for (uint32_t i = 0; i < 2 * s->input->cluster->cable_count; i++)
        s->ret->links[i] = hybrid_link(s->h, i);
}

void storm_run(const struct storm_input *input, struct arena *arena, struct storm_result *ret)
{
    const struct cluster *cluster = input->cluster;
    struct storm s = {.input = input, .ret = ret, .h = build(input, arena)};
    struct hybrid_count sum;

    *ret = (struct storm_result){
        .began = simtime_never(),
        .recovered_at = simtime_never(),
        .hosts = arena_alloc_array(arena, cluster->host_count, sizeof *ret->hosts),
        .links = arena_alloc_array(arena, 2 * cluster->cable_count, sizeof *ret->links),
        .pings = arena_alloc_array(arena, input->ping_count, sizeof *ret->pings),
        .samples = arena_alloc_array(arena, SAMPLES_MAX, sizeof *ret->samples),
    };
    for (size_t i = 0; i < input->ping_count; i++)
        ret->pings[i].first_lost = simtime_never();
    start_timers(&s, arena);
    run(&s);
    sum = sum_all(&s);
    ret->frames = sum.frames;
    ret->drops = sum.drops;
    ret->saturated_at = hybrid_saturated_at(s.h);
    ret->fluid = hybrid_spans(s.h, &ret->fluid_count);
    add_hosts(&s);
}
