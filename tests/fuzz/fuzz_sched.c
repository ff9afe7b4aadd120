/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Fuzz: a rank that behaves and two that do not. Bytes are what the processes of these two write
 * into their segments and say to the conductor: parks, calls, commands, damage, bells for threads
 * that run, or belong to nobody.
 *
 * Properties: no crash and no endless loop; the books agree with each other; the one that is blamed
 * is never the one that behaves; that one sees time go forwards only, and events that make sense;
 * and when all are buried nobody is left.
 */
#define _DEFAULT_SOURCE /* MAP_ANONYMOUS */
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "sim/base/ids.h"
#include "sim/base/units.h"
#include "tests/unit/fabric/support/bench_cluster.h"
#include "verbs-shim/proto/check.h"
#include "verbs-shim/proto/proto.h"
#include "verbs-shim/proto/ring.h"
#include "verbs-shim/sched/sched.h"
#include "verbs-shim/sched/sched_state.h"

#define RANKS   3U
#define CLIENTS (RANKS * PROTO_RANK_CLIENTS)
#define STEPS   160U /* of a script */
#define TURNS   24U  /* between two steps */

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct input {
    const uint8_t *at;
    size_t left;
};

/* The one that behaves: connects to rank 1, and then sends, receives, polls and sleeps. */
struct witness {
    int64_t vt;
    uint32_t qp;
    uint32_t step;
    uint32_t sends, receives; /* posted, not completed */
};

struct world {
    struct bench_cluster bench;
    struct proto_agreed agreed[RANKS];
    struct proto_segment segments[CLIENTS];
    struct sched_view view;
    struct witness witness;
    bool is_joined[CLIENTS];
    bool is_buried[CLIENTS];
};

static struct world *world;

static uint64_t take(struct input *in, size_t bytes)
{
    uint64_t n = 0;

    for (size_t i = 0; i < bytes && in->left; i++, in->left--)
        n |= (uint64_t)*in->at++ << 8 * i;
    return n;
}

/* Numbers that are often small or on an edge. */
static uint64_t take_odd(struct input *in)
{
    uint64_t how = take(in, 1);

    switch (how % 6) {
    case 0:
        return take(in, 1);
    case 1:
        return take(in, 4);
    case 2:
        return take(in, 8);
    case 3:
        return UINT64_MAX - take(in, 1);
    case 4:
        return (uint64_t)PROTO_NEVER - take(in, 1);
    default:
        return UINT64_C(1) << how / 6 % 64;
    }
}

static void demand(bool holds)
{
    if (!holds)
        abort();
}

static void agree(uint32_t rank)
{
    struct proto_agreed *agreed = &world->agreed[rank];

    *agreed = (struct proto_agreed){.rank = rank,
                                    .rank_count = RANKS,
                                    .max_qp = 64,
                                    .max_cq = 64,
                                    .max_pd = 64,
                                    .max_mr = 64,
                                    .wire_ps_per_kib = 1024 * 100,
                                    .receive_after = 5 * PS_PER_US,
                                    .side_latency = 50 * PS_PER_US,
                                    .device_count = RANKS - 1};
    for (uint32_t k = 0; k < agreed->device_count; k++) {
        struct proto_device *device = &agreed->device[k];

        device->gid_count = 2;
        device->has_rdma = 1;
        device->gid[0][0] = 0xfe;
        device->gid[0][15] = (uint8_t)(rank * 16 + k);
        device->gid[1][10] = device->gid[1][11] = 0xff;
        device->gid[1][13] = (uint8_t)rank;
        device->gid[1][14] = (uint8_t)k;
    }
}

/* Zeros, and the same place each time: *place is NULL at first. */
static void *fresh(void **place, size_t size)
{
    if (!*place)
        *place = mmap(NULL, size, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    demand(*place != MAP_FAILED && madvise(*place, size, MADV_DONTNEED) == 0);
    return *place;
}

static void build(struct input *in)
{
    static void *world_place;
    static void *sched_place;
    host_id hosts[RANKS];
    uint64_t style = take(in, 1);

    world = fresh(&world_place, sizeof *world);
    bench_cluster_init(&world->bench, RANKS);
    for (uint32_t r = 0; r < RANKS; r++) {
        hosts[r] = (host_id){r};
        agree(r);
        world->agreed[r].profile = style & 8 ? PROTO_VERBS : PROTO_APPLE;
    }
    for (uint32_t a = 0; a < RANKS; a++) {
        for (uint32_t b = a + 1; b < RANKS; b++) {
            uint32_t cable = bench_cluster_add_cable(&world->bench, a, b).ix;

            world->agreed[a].device[b - 1].cable = cable;
            world->agreed[b].device[a].cable = cable;
        }
    }

    struct sched_config config = {
        .cluster = &world->bench.cluster,
        .params = &world->bench.params,
        .agreed = world->agreed,
        .hosts = hosts,
        .rank_count = RANKS,
        .seed = 1,
        .unmatched = style & 16 ? FABRIC_DROP : FABRIC_HOLD,
        .fails_unmatched = (style & 80) == 80,
        .sends_complete_early = true, /* takes more room */
        .max_running = 1 + (style & 3),
        .lease_cap = {style & 4 ? 500 * PS_PER_NS : 0},
    };
    void *mem = fresh(&sched_place, sched_mem_size(&config));

    config.sends_complete_early = (style & 32) != 0;
    world->view.sched = sched_init(mem, &config);
    for (uint32_t c = 0; c < CLIENTS; c++)
        world->view.segments[c] = &world->segments[c];
}

static void join(uint32_t client)
{
    world->segments[client].agreed = world->agreed[client / PROTO_RANK_CLIENTS];
    world->is_joined[client] = true;
    sched_join(&world->view, client);
}

/* What the books say about each other. */
static void check_books(void)
{
    const struct sched *s = world->view.sched;
    const uint32_t *live = sched_live(s);
    uint32_t running = 0;

    for (uint32_t i = 0; i < s->live_count; i++) {
        demand(i == 0 || live[i - 1] < live[i]);
        demand(sched_client_at(s, live[i] / PROTO_CLIENT_ACTORS)->is_alive);
        demand(sched_actor_at(s, live[i])->state != SCHED_ACTOR_NONE);
        running += sched_actor_at(s, live[i])->state == SCHED_ACTOR_RUNNING;
    }
    demand(running == s->running);
    demand(s->running <= s->max_running);
    for (uint32_t c = 0; c < CLIENTS; c++)
        demand(sched_client_at(s, c)->is_alive || sched_client_at(s, c)->late_head == ID_NONE);
}

static void bury(uint32_t client)
{
    world->is_buried[client] = true;
    sched_client_died(&world->view, client);
    check_books();
}

static void post(enum proto_command_kind kind, uint64_t length)
{
    struct witness *w = &world->witness;
    struct proto_cursors *ring = &world->segments[0].command_ring;

    if (ring_writable(ring, PROTO_COMMANDS) == 0)
        return;
    world->segments[0].commands[ring_write_at(ring, PROTO_COMMANDS)] =
        (struct proto_command){.t = w->vt,
                               .kind = (uint16_t)kind,
                               .flags = PROTO_SIGNALED,
                               .qp = w->qp,
                               .wqe = w->step,
                               .length = length,
                               .slot = PROTO_NO_SLOT};
    ring_publish(ring);
    if (kind == PROTO_COMMAND_SEND)
        w->sends++;
    else
        w->receives++;
}

static void hear_events(void)
{
    struct witness *w = &world->witness;
    struct proto_event event;
    enum proto_read got;

    while ((got = proto_take_event(&world->segments[0], &event)) == PROTO_READ_ONE) {
        if (event.kind != PROTO_EVENT_COMPLETION)
            continue;
        demand(event.cq == 0 && event.qp == w->qp);
        if (event.opcode == PROTO_WC_RECV)
            demand(w->receives-- > 0);
        else
            demand(w->sends-- > 0);
    }
    demand(got == PROTO_READ_NOTHING);
}

/* The witness has the turn: does the next thing, and parks. */
static void act(void)
{
    struct witness *w = &world->witness;
    struct proto_chan *chan = &world->segments[0].chan[0];

    demand(chan->resume_vt >= w->vt && chan->resume_vt <= PROTO_TIME_MAX);
    if (chan->resume != PROTO_RESUME_RETRY)
        w->vt = chan->resume_vt;
    hear_events();
    if (chan->resume == PROTO_RESUME_ANSWER && w->step == 1)
        w->qp = (uint32_t)chan->reply[0];
    chan->park = PROTO_PARK_CALL;
    chan->args = (union proto_call_args){.raw = {0}};
    switch (w->step) {
    case 0:
        chan->call = PROTO_CALL_CREATE_QP;
        chan->args.create = (struct proto_qp_request){.qp_type = 3, .send_wrs = 4, .recv_wrs = 4};
        break;
    case 1:
        chan->call = PROTO_CALL_CONNECT_QP;
        chan->args.connect.qp = w->qp;
        chan->args.connect.dest_qp_num = SCHED_QPN_FIRST;
        memcpy(chan->args.connect.dgid, world->agreed[1].device[0].gid[1], 16);
        break;
    default:
        if (w->receives < 4)
            post(PROTO_COMMAND_RECV, 4096);
        if (w->sends < 4)
            post(PROTO_COMMAND_SEND, 4096);
        chan->park = w->step % 3 == 0 ? PROTO_PARK_TURN : PROTO_PARK_IDLE;
        chan->first = PROTO_NEVER;
        chan->grid = 20 * PS_PER_NS;
        chan->since = w->vt;
        chan->polls = w->step;
        chan->polled_count = 1;
        chan->polled[0] = 0;
        w->vt += w->step % 3 == 0 ? PS_PER_US : 20 * PS_PER_NS;
        break;
    }
    w->step++;
    atomic_store(&chan->vt, w->vt);
    demand(sched_park(&world->view, 0));
}

/* Lets the scheduler go as far as it can. */
static void move_on(void)
{
    for (uint32_t i = 0; i < TURNS; i++) {
        uint32_t granted = PROTO_ACTORS_MAX;
        enum sched_damage why;
        enum sched_state state = sched_next(&world->view, &granted);

        check_books();
        if (state == SCHED_BROKEN) {
            uint32_t culprit = sched_culprit(world->view.sched, &why);

            demand(culprit >= PROTO_RANK_CLIENTS && culprit < CLIENTS && why != SCHED_WHOLE);
            demand(world->is_joined[culprit] && !world->is_buried[culprit]);
            bury(culprit);
            continue;
        }
        if (state == SCHED_OUTSIDE)
            sched_retry_outside(world->view.sched);
        if (state != SCHED_GRANTED && state != SCHED_OUTSIDE)
            return;
        if (state == SCHED_GRANTED && granted == 0)
            act();
        else if (state == SCHED_GRANTED)
            demand(world->is_joined[granted / PROTO_CLIENT_ACTORS]);
    }
}

/* An actor of those that misbehave; mostly one that has the turn. */
static uint32_t take_actor(struct input *in)
{
    const struct sched *s = world->view.sched;
    uint64_t how = take(in, 1);

    for (uint32_t i = 0; how % 8 && i < s->live_count; i++) {
        uint32_t actor = sched_live(s)[i];

        if (actor != 0 && sched_actor_at(s, actor)->state == SCHED_ACTOR_RUNNING)
            return actor;
    }
    return (uint32_t)(PROTO_RANK_CLIENTS * PROTO_CLIENT_ACTORS +
                      (how / 8 * 97 + take(in, 1)) %
                          (2 * PROTO_RANK_CLIENTS * PROTO_CLIENT_ACTORS));
}

static struct proto_chan *chan_of(uint32_t actor)
{
    return &world->segments[actor / PROTO_CLIENT_ACTORS].chan[actor % PROTO_CLIENT_ACTORS];
}

/* Time goes on by a little, or is anything. */
static void set_time(struct input *in, struct proto_chan *chan)
{
    uint64_t how = take(in, 1);

    if (how % 16 == 15)
        atomic_store(&chan->vt, (int64_t)take_odd(in));
    else
        atomic_store(&chan->vt, (int64_t)((uint64_t)atomic_load(&chan->vt) + (how << how % 24)));
}

static void fill_call(struct input *in, struct proto_chan *chan)
{
    chan->call = (uint32_t)take(in, 1) % (PROTO_CALL_COUNT + 1);
    for (size_t i = 0; i < 8; i++)
        chan->args.raw[i] = (int64_t)take_odd(in);
    if (chan->call == PROTO_CALL_CREATE_QP) {
        chan->args.create = (struct proto_qp_request){.device = (uint32_t)take(in, 1) % 3,
                                                      .qp_type = 2 + (uint32_t)take(in, 1) % 4,
                                                      .send_wrs = (uint32_t)take_odd(in),
                                                      .recv_wrs = (uint32_t)take_odd(in)};
    } else if (chan->call == PROTO_CALL_CONNECT_QP) {
        uint64_t to = take(in, 1);

        chan->args.connect = (struct proto_connect_request){
            .qp = (uint32_t)take(in, 1) % 16,
            .dest_qp_num = SCHED_QPN_FIRST + SCHED_QPN_STEP * ((uint32_t)take(in, 1) % 4),
            .is_gid_checked = to & 1,
            .sgid_index = 1};
        memcpy(chan->args.connect.dgid,
               world->agreed[to / 2 % RANKS].device[to / 8 % (RANKS - 1)].gid[1], 16);
    } else if (take(in, 1) % 4) {
        chan->args.qp = (uint32_t)take(in, 1) % 16;
    }
}

static void park(struct input *in)
{
    uint32_t actor = take_actor(in);
    struct proto_chan *chan = chan_of(actor);

    set_time(in, chan);
    chan->park = (uint32_t)take(in, 1) % (PROTO_PARK_COUNT + 1);
    chan->first = (int64_t)take_odd(in);
    chan->deadline = (int64_t)take_odd(in);
    chan->grid = (int64_t)take_odd(in);
    chan->key = take(in, 1) % 4;
    chan->polled_count = (uint32_t)take(in, 1) % (PROTO_POLLED_MAX + 2);
    chan->new_cqs = chan->polled_count * 64 % (PROTO_CQS_MAX + 2);
    for (uint32_t i = 0; i < chan->polled_count && i < PROTO_POLLED_MAX && i < 4; i++)
        chan->polled[i] = (uint16_t)take(in, 1);
    fill_call(in, chan);
    chan->since = (int64_t)take_odd(in);
    chan->polls = (uint32_t)take_odd(in);
    (void)sched_park(&world->view, actor);
}

static void command(struct input *in)
{
    uint32_t actor = take_actor(in);
    uint32_t client = actor / PROTO_CLIENT_ACTORS;
    struct proto_cursors *ring = &world->segments[client].command_ring;
    uint64_t how = take(in, 1);
    struct proto_command c = {.t = atomic_load(&chan_of(actor)->vt),
                              .actor = actor,
                              .kind = (uint16_t)(how % 8),
                              .flags = (uint16_t)(how / 8 % 8),
                              .qp = (uint32_t)take(in, 1) % 16,
                              .wqe = (uint32_t)take(in, 1),
                              .length = take_odd(in),
                              .slot = how & 128 ? take_odd(in) : PROTO_NO_SLOT,
                              .opcode = (uint32_t)take(in, 1) % 12,
                              .token = (uint32_t)take(in, 1)};

    if (how % 32 == 31) {
        c.t = (int64_t)take_odd(in);
        c.actor = (uint32_t)take_odd(in);
    }
    c.remote_addr = take(in, 1);
    c.dest = SCHED_QPN_FIRST + SCHED_QPN_STEP * ((uint32_t)take(in, 1) % 4);
    for (uint64_t n = how % 64 == 17 ? take(in, 2) % 8192 : 1; n > 0; n--) {
        world->segments[client].commands[ring_write_at(ring, PROTO_COMMANDS)] = c;
        ring_publish(ring);
    }
}

/* Any bytes anywhere in a segment. */
static void damage(struct input *in)
{
    uint32_t client = take_actor(in) / PROTO_CLIENT_ACTORS;
    uint8_t *bytes = (uint8_t *)&world->segments[client];
    size_t at = offsetof(struct proto_segment, command_ring) + take(in, 4) % 65536;

    for (uint64_t n = take(in, 1) % 64; n > 0 && at < sizeof world->segments[client]; n--)
        bytes[at++] = (uint8_t)take(in, 1);
}

static void hear(struct input *in)
{
    uint32_t client = take_actor(in) / PROTO_CLIENT_ACTORS;
    struct proto_cursors *ring = &world->segments[client].event_ring;

    atomic_store(&ring->head, atomic_load(&ring->tail));
}

static void come_or_go(struct input *in)
{
    uint64_t how = take(in, 1);
    uint32_t client = PROTO_RANK_CLIENTS + (uint32_t)(how / 2 % (CLIENTS - PROTO_RANK_CLIENTS));

    if (!world->is_joined[client])
        join(client);
    else if (how & 1 && !world->is_buried[client])
        bury(client);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static void (*const acts[])(struct input * in) = {park,    park,   park, command,
                                                      command, damage, hear, come_or_go};
    struct input in = {.at = data, .left = size};

    build(&in);
    for (uint32_t r = 0; r < RANKS; r++)
        join(r * PROTO_RANK_CLIENTS);
    move_on();
    for (uint32_t step = 0; step < STEPS && in.left > 0; step++) {
        acts[take(&in, 1) % 8](&in);
        move_on();
    }
    for (uint32_t c = 0; c < CLIENTS; c++) {
        if (world->is_joined[c])
            bury(c);
    }
    demand(world->view.sched->live_count == 0 && world->view.sched->running == 0);
    return 0;
}
