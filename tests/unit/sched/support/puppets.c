/* SPDX-License-Identifier: Apache-2.0 */
#define _DEFAULT_SOURCE /* MAP_ANONYMOUS */
#include "tests/unit/sched/support/puppets.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "sim/base/rng.h"
#include "sim/base/units.h"
#include "sim/fabric/param.h"
#include "tests/unit/fabric/support/bench_cluster.h"
#include "verbs-shim/proto/proto.h"
#include "verbs-shim/proto/ring.h"
#include "verbs-shim/sched/sched.h"
#include "verbs-shim/sched/sched_time.h"

enum stage {
    STAGE_CREATE,
    STAGE_CONNECT,
    STAGE_PAUSE,
    STAGE_POST,
    STAGE_POLL,
    STAGE_EXIT
};

struct entry {
    int64_t t;
    uint32_t wqe;
};

struct puppet {
    uint32_t rank;
    struct proto_segment *segment; /* owned */
    struct proto_chan *chan;
    bool is_running;
    bool is_gone;
    int64_t vt, lease, last_poll;
    enum stage stage;
    uint32_t step; /* within the stage */
    uint32_t round;
    uint32_t done, expected;
    uint32_t empties; /* in a row, as folding counts them */
    uint32_t polls;   /* empty ones since any other act ... */
    int64_t since;    /* ... and when the first of them was over */
    bool was_quiet;
    uint32_t acts;
    uint32_t qps[PUPPET_PEERS * 4];
    uint32_t qp_count;
    struct entry queue[PUPPET_CQ_MAX]; /* sorted by time */
    uint32_t queue_count;
    uint64_t hash;
};

struct stage_set {
    const struct puppet_story *story;
    const struct puppet_style *style;
    struct bench_cluster *cluster; /* owned */
    struct puppet *puppets;        /* owned */
    struct sched_view view;
    struct puppet_result result;
    void *mem; /* owned; the scheduler's block */
    size_t mem_size;
    struct puppet *last; /* had the turn last */
};

static void mix(uint64_t *hash, uint64_t x)
{
    *hash = (*hash ^ x) * UINT64_C(0x9e3779b97f4a7c15);
    *hash ^= *hash >> 31;
}

static uint64_t draw(const struct puppet *p, const struct stage_set *set, uint64_t what)
{
    return rng_hash(set->story->seed, p->rank, ((uint64_t)p->round << 16) + what);
}

static uint32_t peer_of(const struct puppet *p, uint32_t k)
{
    return k < p->rank ? k : k + 1;
}

/* Both sides draw the same length. */
static uint64_t length_of(const struct stage_set *set, uint32_t round, uint32_t a, uint32_t b)
{
    uint32_t low = a < b ? a : b;
    uint32_t high = a < b ? b : a;
    uint64_t x = rng_hash(set->story->seed ^ 77, low * 64 + high, round);

    return x % 4 == 0 && !set->story->is_small ? 1 + x / 4 % 300000 : 4096;
}

static void take_events(struct puppet *p, struct stage_set *set)
{
    struct proto_cursors *ring = &p->segment->event_ring;

    while (ring_readable(ring, PROTO_EVENTS) > 0) {
        struct proto_event event = p->segment->events[ring_read_at(ring, PROTO_EVENTS, 0)];
        uint32_t at;

        ring_consume(ring, 1);
        if (event.kind != PROTO_EVENT_COMPLETION)
            continue;
        if (event.t <= p->last_poll)
            set->result.late++;
        at = p->queue_count++;
        for (; at > 0 && p->queue[at - 1].t > event.t; at--)
            p->queue[at] = p->queue[at - 1];
        p->queue[at] = (struct entry){.t = event.t, .wqe = event.wqe};
    }
}

static void park(struct puppet *p, struct stage_set *set, enum proto_park why)
{
    p->chan->park = (uint32_t)why;
    p->chan->acts = p->acts;
    atomic_store_explicit(&p->chan->vt, p->vt, memory_order_release);
    p->is_running = false;
    p->empties = 0;
    if (!sched_park(&set->view, p->rank * PROTO_RANK_CLIENTS * PROTO_CLIENT_ACTORS))
        abort();
}

/* True: the puppet has parked, and acts at the same place when it has the turn again. */
static bool charge(struct puppet *p, struct stage_set *set, int64_t cost)
{
    p->vt += cost;
    atomic_store_explicit(&p->chan->vt, p->vt, memory_order_release);
    if (p->vt < p->lease)
        return false;
    park(p, set, PROTO_PARK_TURN);
    return true;
}

static void post(struct puppet *p, enum proto_command_kind kind, uint32_t qp, uint64_t length)
{
    struct proto_cursors *ring = &p->segment->command_ring;
    const struct proto_agreed *agreed = &p->segment->agreed;

    p->segment->commands[ring_write_at(ring, PROTO_COMMANDS)] = (struct proto_command){
        .t = p->vt,
        .actor = p->rank * PROTO_RANK_CLIENTS * PROTO_CLIENT_ACTORS,
        .kind = (uint16_t)kind,
        .flags = PROTO_SIGNALED,
        .qp = qp,
        .wqe = p->step,
        .length = length,
        .slot = PROTO_NO_SLOT,
    };
    ring_publish(ring);
    p->lease = time_shrink(p->lease, p->vt,
                           kind == PROTO_COMMAND_SEND
                               ? time_min(time_wire(length, agreed->wire_ps_per_kib),
                                          agreed->receive_after)
                               : agreed->receive_after);
}

/* Posts one work request of the round; false when all are posted. */
static bool post_next(struct puppet *p, const struct stage_set *set)
{
    bool is_recv = (p->step < p->qp_count) != set->story->is_late;
    uint32_t k = p->step % p->qp_count;
    uint64_t length = length_of(set, p->round, p->rank, peer_of(p, k / set->story->wires));
    bool is_left_out = set->story->hangs && p->rank == set->story->ranks - 1 && !is_recv &&
                       p->round == set->story->rounds - 1;

    if (p->step == 2 * p->qp_count)
        return false;
    p->expected += !is_left_out;
    if (!is_left_out)
        post(p, is_recv ? PROTO_COMMAND_RECV : PROTO_COMMAND_SEND, p->qps[k], length);
    p->step++;
    return true;
}

static void see(struct puppet *p, struct stage_set *set)
{
    uint32_t n = 0;

    while (n < p->queue_count && p->queue[n].t <= p->vt) {
        mix(&p->hash, (uint64_t)p->vt);
        mix(&p->hash, p->queue[n].wqe);
        n++;
    }
    if (n > 0) {
        set->result.end = time_max(set->result.end, p->vt);
        memmove(p->queue, p->queue + n, (p->queue_count - n) * sizeof p->queue[0]);
        p->queue_count -= n;
        p->done += n;
        p->empties = 0;
        p->polls = 0;
        p->acts++;
    } else {
        p->empties++;
        if (p->polls++ == 0)
            p->since = p->vt;
    }
    p->last_poll = p->vt;
}

static void park_row(struct puppet *p, struct stage_set *set, int64_t first, enum proto_park why)
{
    uint32_t empties = p->empties;

    p->chan->first = first;
    p->chan->grid = PUPPET_POLL;
    p->chan->since = p->since;
    p->chan->polls = p->polls;
    p->chan->polled_count = 1;
    p->chan->polled[0] = 0;
    park(p, set, why);
    p->empties = why == PROTO_PARK_QUIET ? empties : 0;
}

/* After a row of empty polls: jumps, or parks as idle or quiet (true). */
static bool fold(struct puppet *p, struct stage_set *set)
{
    int64_t first = p->queue_count ? p->queue[0].t : PROTO_NEVER;
    bool is_due = set->style->fold_after > 0 && p->empties >= set->style->fold_after;

    if (!is_due && (p->polls == 0 || p->polls % PROTO_QUIET != 0))
        return false;
    if (!is_due) {
        p->was_quiet = true;
        park_row(p, set, first, PROTO_PARK_QUIET);
        return true;
    }
    p->empties = 0;
    if (first < p->lease) {
        p->vt = time_fold(p->vt, first, PUPPET_POLL);
        p->last_poll = p->vt;
        return false;
    }
    park_row(p, set, first, PROTO_PARK_IDLE);
    return true;
}

static void call(struct puppet *p, struct stage_set *set, enum proto_call what,
                 const union proto_call_args *args)
{
    p->chan->call = (uint32_t)what;
    p->chan->args = *args;
    park(p, set, PROTO_PARK_CALL);
}

static void create(struct puppet *p, struct stage_set *set)
{
    const union proto_call_args args = {
        .create = {.device = p->qp_count / set->story->wires, .send_wrs = 64, .recv_wrs = 64}};

    p->vt += PUPPET_POST;
    call(p, set, PROTO_CALL_CREATE_QP, &args);
}

static void connect(struct puppet *p, struct stage_set *set)
{
    uint32_t peer = peer_of(p, p->step / set->story->wires);
    uint32_t k = p->rank < peer ? p->rank : p->rank - 1;
    union proto_call_args args = {
        .connect = {.qp = p->qps[p->step],
                    .dest_qp_num =
                        0x900 + 0x100 * (k * set->story->wires + p->step % set->story->wires),
                    .sgid_index = 1,
                    .is_gid_checked = 1}};

    memcpy(args.connect.dgid, set->puppets[peer].segment->agreed.device[k].gid[1], 16);
    p->step++;
    p->vt += PUPPET_POST;
    call(p, set, PROTO_CALL_CONNECT_QP, &args);
}

static void begin_round(struct puppet *p, struct stage_set *set)
{
    p->step = 0;
    p->done = p->expected = 0;
    p->stage = p->round == set->story->rounds ? STAGE_EXIT : STAGE_PAUSE;
}

/* One act of a puppet that has the turn. */
static void act(struct puppet *p, struct stage_set *set)
{
    switch (p->stage) {
    case STAGE_CREATE:
        if (p->qp_count < (set->story->ranks - 1) * set->story->wires) {
            create(p, set);
        } else {
            p->stage = STAGE_CONNECT;
            p->step = 0;
        }
        break;
    case STAGE_CONNECT:
        if (p->step < p->qp_count)
            connect(p, set);
        else
            begin_round(p, set);
        break;
    case STAGE_PAUSE: {
        uint64_t x = draw(p, set, 1);
        int64_t span = set->story->has_pauses && x % 3 == 0 ? (int64_t)(x / 3 % 40000000) : 0;

        p->stage = STAGE_POST;
        (void)charge(p, set, PUPPET_POST + span);
        break;
    }
    case STAGE_POST:
        if (post_next(p, set))
            (void)charge(p, set, PUPPET_POST);
        else
            p->stage = STAGE_POLL;
        break;
    case STAGE_POLL:
        take_events(p, set);
        see(p, set);
        if (p->done == p->expected) {
            p->round++;
            p->polls = 0;
            p->acts++;
            begin_round(p, set);
        } else if (!fold(p, set)) {
            (void)charge(p, set, PUPPET_POLL);
        }
        break;
    case STAGE_EXIT:
        p->is_gone = true;
        p->chan->args.raw[0] = 1;
        park(p, set, PROTO_PARK_EXIT);
        break;
    }
}

static void resume(struct puppet *p, struct stage_set *set)
{
    p->is_running = true;
    p->vt = p->chan->resume_vt;
    p->lease = p->chan->lease;
    set->result.turns++;
    set->result.handovers += set->last != p;
    set->last = p;
    if (p->stage == STAGE_CREATE && p->chan->resume == PROTO_RESUME_ANSWER) {
        if (p->chan->reply_status != 0)
            abort();
        p->qps[p->qp_count++] = (uint32_t)p->chan->reply[0];
    }
    if (p->stage == STAGE_CONNECT && p->chan->reply_status != 0)
        abort();
    if (p->chan->resume == PROTO_RESUME_POLL)
        p->last_poll = p->vt; /* the poll at this place of the grid was empty */
    if (p->chan->resume == PROTO_RESUME_POLL || p->was_quiet)
        (void)charge(p, set, PUPPET_POLL);
    p->was_quiet = false;
}

static void agree(struct stage_set *set, struct puppet *p)
{
    struct proto_agreed *agreed = &p->segment->agreed;

    *agreed = (struct proto_agreed){
        .max_qp = 10,
        .magic = PROTO_MAGIC,
        .version = PROTO_VERSION,
        .client = p->rank * PROTO_RANK_CLIENTS,
        .rank = p->rank,
        .rank_count = set->story->ranks,
        .wire_ps_per_kib = 1024 * 100,
        .receive_after = 5 * PS_PER_US,
        .side_latency = 50 * PS_PER_US,
        .charge = {[PROTO_CHARGE_POLL_EMPTY] = PUPPET_POLL},
        .device_count = set->story->ranks - 1,
    };
    for (uint32_t k = 0; k < agreed->device_count; k++) {
        struct proto_device *device = &agreed->device[k];

        device->gid_count = 2;
        device->has_rdma = 1;
        device->cable = ID_NONE;
        memset(device->gid[1], 0, 10);
        device->gid[1][10] = device->gid[1][11] = 0xff;
        device->gid[1][12] = 10;
        device->gid[1][13] = (uint8_t)p->rank;
        device->gid[1][14] = (uint8_t)k;
        device->gid[1][15] = 1;
        device->gid[0][0] = 0xfe;
        device->gid[0][15] = (uint8_t)(p->rank * 16 + k);
    }
}

static void build(struct stage_set *set)
{
    uint32_t ranks = set->story->ranks;
    struct proto_agreed *agreed = calloc(ranks, sizeof *agreed);
    host_id hosts[PUPPETS_MAX];

    set->cluster = calloc(1, sizeof *set->cluster);
    set->puppets = calloc(ranks, sizeof *set->puppets);
    bench_cluster_init(set->cluster, ranks);
    for (uint32_t r = 0; r < ranks; r++) {
        struct puppet *p = &set->puppets[r];

        p->rank = r;
        p->last_poll = -1;
        p->segment = aligned_alloc(64, sizeof *p->segment);
        memset(p->segment, 0, sizeof *p->segment);
        p->chan = &p->segment->chan[0];
        set->view.segments[r * PROTO_RANK_CLIENTS] = p->segment;
        agree(set, p);
        hosts[r] = (host_id){r};
    }
    for (uint32_t a = 0; a < ranks; a++) {
        for (uint32_t b = a + 1; b < ranks; b++) {
            uint32_t cable = bench_cluster_add_cable(set->cluster, a, b).ix;

            set->puppets[a].segment->agreed.device[b - 1].cable = cable;
            set->puppets[b].segment->agreed.device[a].cable = cable;
        }
    }
    for (uint32_t r = 0; r < ranks; r++)
        agreed[r] = set->puppets[r].segment->agreed;

    const struct sched_config config = {
        .cluster = &set->cluster->cluster,
        .params = &set->cluster->params,
        .agreed = agreed,
        .hosts = hosts,
        .rank_count = ranks,
        .seed = 1,
        .max_running = set->style->max_running,
        .lease_cap = {set->style->lease_cap},
    };
    size_t size = sched_mem_size(&config);

    /* As the conductor's: zero, and touched only where it is used. */
    set->mem_size = size;
    set->mem = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE,
                    -1, 0);
    if (set->mem == MAP_FAILED)
        abort();
    set->view.sched = sched_init(set->mem, &config);
    free(agreed);
}

/* Lets the puppets that have the turn act, one act at a time, in an order of the style's. */
static enum sched_state play(struct stage_set *set)
{
    uint64_t order = set->style->shuffle;

    for (uint64_t acts = 0; acts < 20000000; acts++) {
        uint32_t runners[PUPPETS_MAX];
        uint32_t count = 0;
        uint32_t granted;
        enum sched_state state;

        for (uint32_t r = 0; r < set->story->ranks; r++) {
            if (set->puppets[r].is_running)
                runners[count++] = r;
        }
        /* The scheduler runs when somebody parks, so at the latest when nobody runs. */
        state = count < set->style->max_running ? sched_next(&set->view, &granted) : SCHED_RUNNING;
        if (state == SCHED_GRANTED) {
            resume(&set->puppets[granted / PROTO_CLIENT_ACTORS / PROTO_RANK_CLIENTS], set);
            continue;
        }
        if (state != SCHED_RUNNING)
            return state;
        order = order * UINT64_C(6364136223846793005) + 1442695040888963407U;
        act(&set->puppets[runners[(order >> 33) % count]], set);
    }
    return SCHED_RUNNING; /* no end: the test says so */
}

struct puppet_result puppets_play(const struct puppet_story *story,
                                  const struct puppet_style *style)
{
    struct stage_set *set = calloc(1, sizeof *set);
    struct puppet_result result;

    set->story = story;
    set->style = style;
    build(set);
    for (uint32_t r = 0; r < story->ranks; r++)
        sched_join(&set->view, r * PROTO_RANK_CLIENTS);
    set->result.state = play(set);
    set->result.fabric_hash = sched_hash(set->view.sched);
    if (set->result.state == SCHED_DEADLOCK)
        sched_conclude(set->view.sched);
    set->result.verdict = sched_now(set->view.sched).ps;
    for (uint32_t r = 0; r < story->ranks; r++)
        mix(&set->result.seen_hash, set->puppets[r].hash);
    result = set->result;
    for (uint32_t r = 0; r < story->ranks; r++)
        free(set->puppets[r].segment);
    (void)munmap(set->mem, set->mem_size);
    free(set->puppets);
    free(set->cluster);
    free(set);
    return result;
}
