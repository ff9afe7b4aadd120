/* SPDX-License-Identifier: Apache-2.0 */
/*
 * DOC: Actors
 *
 * An actor runs in its own thread and knows its time and its lease. While its time is below the
 * lease it needs nobody: what it may see is in its own memory already. At the lease it parks: it
 * writes into its channel why, and then, with the inline driver, runs the scheduler itself, under
 * the hub's lock, and wakes whoever is next. Often that is the actor itself, and then no system
 * call was needed.
 *
 * A signal handler may run on a thread that is parked or inside the scheduler. Until the thread has
 * its turn it is nobody's actor (self is NULL), so what the handler calls is the C library's.
 *
 * Waiting for the turn: awake for a while when there are no more actors than cores (agreed->spin),
 * then in the kernel. Every half second the sleeper looks whether the conductor is still there; if
 * not, the process ends, since nobody would ever wake it.
 *
 * The program's own work between two calls takes no time, unless the run was started with
 * `--compute measured`: then the processor time of the thread from the end of the shim's last work
 * to the next call is charged, times a factor.
 */
#include "verbs-shim/shim/actor.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "sim/base/units.h"
#include "verbs-shim/proto/proto.h"
#include "verbs-shim/proto/ring.h"
#include "verbs-shim/sched/sched.h"
#include "verbs-shim/sched/sched_time.h"
#include "verbs-shim/shim/core/client.h"
#include "verbs-shim/shim/core/spin.h"
#include "verbs-shim/shim/core/sys.h"

#define SLEEP_MS    500
#define CLOCK_TRIES 16
/* Between two calls; times the largest factor it fits. */
#define WORK_MAX_NS INT64_C(1000000000000)

/*
 * DOC: What peers ask for
 *
 * One-sided operations of peers are due at an instant of their own. A thread applies them before
 * its time passes that instant, so that the program never sees memory older than its clock; it
 * may do so by itself as far as its lease goes. For a process whose threads are all parked one of
 * them gets a turn, in which its time stands. What is due at or behind the lease waits for such a
 * turn: something earlier may still come.
 */

struct actor {
    struct proto_chan *chan;
    uint32_t number;
    uint32_t thread; /* the kernel's id of it: to ask takes a system call */
    int64_t vt;
    int64_t lease;
    uint64_t calls;   /* other than polls */
    uint64_t charges; /* polls among them */
    int locks;
    bool is_used; /* from before its thread begins */
    bool is_asleep;
    int64_t due; /* of its own alarm; or never */
    pthread_t handle;
    int64_t left; /* the thread's processor time when the program went on, in nanoseconds */
};

static struct actor actors[PROTO_CLIENT_ACTORS];
static struct {
    int64_t due;
    void (*fire)(struct actor *a);
} alarm_set = {.due = PROTO_NEVER};
static struct {
    const struct client_inbox *calls; /* NULL: none */
    int64_t due;
} inbox = {.due = PROTO_NEVER};
static _Atomic int loose;
static _Thread_local struct actor *self __attribute__((tls_model("initial-exec")));

struct actor *actor_self(void)
{
    return self;
}

simtime actor_now(const struct actor *a)
{
    return (simtime){a->vt};
}

struct proto_stats *actor_stats(struct actor *a)
{
    return &client.segment->stats[a->number % PROTO_CLIENT_ACTORS];
}

simtime actor_lease(const struct actor *a)
{
    return (simtime){a->lease};
}

uint64_t actor_calls(const struct actor *a)
{
    return a->calls;
}

uint64_t actor_entries(const struct actor *a)
{
    return a->calls + a->charges;
}

void actor_count_lock(struct actor *a, int change)
{
    if (a)
        a->locks += change;
}

int actor_locks(const struct actor *a)
{
    return a->locks;
}

uint32_t actor_number(const struct actor *a)
{
    return a->number;
}

static inline void relax(void)
{
#if defined(__x86_64__)
    __asm__ volatile("pause");
#else
    __asm__ volatile("yield");
#endif
}

/* What it takes to read the thread's clock, which is no work of the program's. */
static int64_t clock_cost(void)
{
    static _Atomic int64_t known;
    int64_t least = atomic_load_explicit(&known, memory_order_relaxed);

    if (least > 0)
        return least;
    least = WORK_MAX_NS;
    for (int i = 0; i < CLOCK_TRIES; i++) {
        int64_t before = sys_thread_ns();

        least = time_min(least, sys_thread_ns() - before);
    }
    least = time_max(least, 1);
    atomic_store_explicit(&known, least, memory_order_relaxed);
    return least;
}

void actor_leave(struct actor *a)
{
    if (client.segment->agreed.compute_permille > 0)
        a->left = sys_thread_ns();
}

/* Charges the program's own work since it was left alone. */
static int64_t measure_work(struct actor *a)
{
    int64_t ns = time_min(sys_thread_ns() - a->left - clock_cost(), WORK_MAX_NS);
    int64_t ps = ns > 0 ? ns * client.segment->agreed.compute_permille : 0;

    actor_stats(a)->computed += ps;
    return ps;
}

/* The channel shows the time; released, so that a command published later is not seen with an
 * older time. */
static inline void show_time(struct actor *a)
{
    atomic_store_explicit(&a->chan->vt, a->vt, memory_order_release);
}

static void wait_turn(struct actor *a)
{
    struct proto_chan *chan = a->chan;

    for (uint32_t i = client.segment->agreed.spin; i > 0; i--) {
        if (atomic_load_explicit(&chan->turn, memory_order_acquire))
            return;
        relax();
    }
    /* The waker stores turn and then reads is_sleeping; we store is_sleeping and then read turn:
     * in one total order, so one of us sees the other. */
    atomic_store_explicit(&chan->is_sleeping, 1, memory_order_seq_cst);
    while (!atomic_load_explicit(&chan->turn, memory_order_seq_cst)) {
        sys_futex_wait(&chan->turn, 0, SLEEP_MS);
        if (!atomic_load_explicit(&chan->turn, memory_order_acquire) &&
            sys_is_hung_up(client.socket))
            sys_die();
    }
    atomic_store_explicit(&chan->is_sleeping, 0, memory_order_relaxed);
}

static void wake(uint32_t number)
{
    struct proto_chan *chan =
        &client.view.segments[number / PROTO_CLIENT_ACTORS]->chan[number % PROTO_CLIENT_ACTORS];

    atomic_store_explicit(&chan->turn, 1, memory_order_seq_cst);
    if (atomic_load_explicit(&chan->is_sleeping, memory_order_seq_cst))
        sys_futex_wake(&chan->turn, 1);
}

static void give_verdict(enum proto_verdict verdict)
{
    uint32_t none = PROTO_RUNNING;

    (void)atomic_compare_exchange_strong(&client.hub->verdict, &none, (uint32_t)verdict);
    client_ring(PROTO_BELL_VERDICT, 0);
}

/* What follows a step of the scheduler that gave no turn. */
static void after_step(enum sched_state state)
{
    switch (state) {
    case SCHED_DEADLOCK:
        give_verdict(PROTO_DEADLOCK);
        break;
    case SCHED_BROKEN:
        give_verdict(PROTO_BROKEN);
        break;
    case SCHED_OUTSIDE:
        client_ring(PROTO_BELL_OUTSIDE, 0);
        break;
    case SCHED_FINISHED:
        client_ring(PROTO_BELL_FINISHED, 0);
        break;
    case SCHED_GRANTED:
    case SCHED_RUNNING:
    case SCHED_STARTING:
        break;
    }
}

/* Runs the scheduler on behalf of everybody. True: the actor itself goes on. */
static bool drive(struct actor *a)
{
    enum sched_state state;
    bool is_own = false;
    bool is_sane;

    hub_lock(a->thread);
    is_sane = sched_park(&client.view, a->number);
    do {
        uint32_t granted = PROTO_ACTORS_MAX;

        state = is_sane ? sched_next(&client.view, &granted) : SCHED_BROKEN;
        if (state != SCHED_GRANTED)
            break;
        atomic_fetch_add_explicit(&client.hub->progress, 1, memory_order_relaxed);
        if (granted == a->number) {
            /* Parked again only after it has run: no further turn for it in this loop. */
            is_own = true;
            atomic_store_explicit(&a->chan->turn, 1, memory_order_relaxed);
        } else {
            wake(granted);
        }
    } while (sched_has_room(client.view.sched));
    hub_unlock();
    after_step(state);
    return is_own;
}

/* Gives the turn away and comes back with the next one. */
static void hand_over(struct actor *a, enum proto_park why)
{
    struct proto_chan *chan = a->chan;

    self = NULL;
    chan->park = (uint32_t)why;
    chan->is_asleep = a->is_asleep;
    chan->acts = (uint32_t)a->calls;
    show_time(a);
    atomic_store_explicit(&chan->turn, 0, memory_order_release);
    if (client.hub) {
        if (!drive(a)) {
            actor_stats(a)->handovers++;
            wait_turn(a);
        }
    } else {
        actor_stats(a)->handovers++;
        client_ring(PROTO_BELL_PARKED, a->number);
        wait_turn(a);
    }
}

/* The next thing to apply, if it is due by `until` and its answer has room. */
static bool apply_next(struct actor *a, int64_t until, bool *ret_changes)
{
    if (inbox.due > until || ring_writable(&client.segment->command_ring, PROTO_COMMANDS) < 2)
        return false;
    *ret_changes = inbox.calls->apply(a);
    return true;
}

/* A turn to apply. True: this was what a spinner has waited for, and it goes on. */
static bool serve(struct actor *a, enum proto_park why)
{
    int64_t until = time_max(a->chan->resume_vt, a->chan->lease - 1);
    int64_t due;
    bool changes = false;

    inbox.calls->take();
    for (;;) {
        due = inbox.due;
        if (!apply_next(a, until, &changes))
            return false;
        if (changes && why == PROTO_PARK_SPIN)
            break;
    }
    a->vt = time_max(a->vt, due);
    a->lease = a->chan->lease;
    show_time(a);
    return true;
}

static enum proto_resume park(struct actor *a, enum proto_park why)
{
    struct proto_chan *chan = a->chan;

    hand_over(a, why);
    while (chan->resume == PROTO_RESUME_APPLY) {
        if (serve(a, why))
            break;
        hand_over(a, PROTO_PARK_SAME);
    }
    if (chan->resume != PROTO_RESUME_RETRY && chan->resume != PROTO_RESUME_APPLY)
        a->vt = chan->resume_vt;
    a->lease = chan->lease;
    actor_leave(a);
    self = a;
    spin_go_on(a);
    return (enum proto_resume)chan->resume;
}

static void book_wait(struct actor *a, enum proto_wait what, int64_t since)
{
    struct proto_stats *stats = actor_stats(a);

    stats->waits[what]++;
    stats->waited[what] += a->vt - since;
}

void client_set_alarm(simtime due, void (*fire)(struct actor *a))
{
    alarm_set.due = due.ps;
    alarm_set.fire = fire;
}

void actor_set_alarm(uint32_t number, simtime due, void (*fire)(struct actor *a))
{
    alarm_set.fire = fire;
    actors[number % PROTO_CLIENT_ACTORS].due = due.ps;
}

static inline int64_t alarm_due(const struct actor *a)
{
    return time_min(alarm_set.due, a->due);
}

static inline void sound_alarm(struct actor *a)
{
    if (a->vt >= alarm_due(a))
        alarm_set.fire(a);
}

void client_serve_inbox(const struct client_inbox *calls)
{
    inbox.calls = calls;
    inbox.due = PROTO_NEVER;
}

void client_set_due(simtime due)
{
    inbox.due = due.ps;
}

/* Applies what is due before the time gets to `to`; may park. */
static void catch_up(struct actor *a, int64_t to)
{
    bool changes;

    for (;;) {
        if (ring_readable(&client.segment->event_ring, PROTO_EVENTS) != 0)
            inbox.calls->take();
        if (inbox.due > time_min(to, a->lease - 1))
            return;
        if (!apply_next(a, inbox.due, &changes))
            (void)park(a, PROTO_PARK_TURN); /* makes room */
    }
}

/* Lets the actor's time be `to`. */
static inline void reach(struct actor *a, int64_t to)
{
    if (inbox.calls)
        catch_up(a, to);
    a->vt = to;
    show_time(a);
}

void actor_charge(struct actor *a, enum proto_charge what, uint32_t n)
{
    int64_t work = client.segment->agreed.compute_permille > 0 ? measure_work(a) : 0;

    reach(a, a->vt + work + client.segment->agreed.charge[what] * n);
    actor_stats(a)->calls[what] += n;
    a->charges++;
    if (what != PROTO_CHARGE_POLL_EMPTY && what != PROTO_CHARGE_POLL_ENTRY)
        a->calls++;
    if (a->vt >= a->lease)
        (void)park(a, PROTO_PARK_TURN);
    sound_alarm(a);
    actor_leave(a);
}

void actor_sleep_until(struct actor *a, simtime t)
{
    int64_t since = a->vt;

    a->calls++;
    if (t.ps <= a->vt)
        return;
    a->is_asleep = true;
    reach(a, t.ps);
    if (a->vt >= a->lease || client.segment->agreed.has_launcher)
        (void)park(a, PROTO_PARK_TURN);
    a->is_asleep = false;
    book_wait(a, PROTO_WAIT_SLEEP, since);
}

int actor_call(struct actor *a, enum proto_call call, const union proto_call_args *args,
               int64_t *reply)
{
    struct proto_chan *chan = a->chan;

    chan->call = (uint32_t)call;
    chan->args = *args;
    (void)park(a, PROTO_PARK_CALL);
    if (reply)
        memcpy(reply, chan->reply, sizeof chan->reply);
    return chan->reply_status;
}

/* How soon after a command its actor may see a consequence. */
static int64_t soonest(const struct proto_command *command)
{
    const struct proto_agreed *agreed = &client.segment->agreed;

    switch ((enum proto_command_kind)command->kind) {
    case PROTO_COMMAND_SEND:
        return time_min(time_wire(command->length, agreed->wire_ps_per_kib), agreed->receive_after);
    case PROTO_COMMAND_RECV:
        return agreed->receive_after;
    case PROTO_COMMAND_OUTSIDE:
        return agreed->side_latency;
    case PROTO_COMMAND_WAKE:
    case PROTO_COMMAND_INTERRUPT:
        return 0;
    case PROTO_COMMAND_APPLIED:
        /* Who asked hears of it; of a refusal, both. */
        return command->status == PROTO_WC_SUCCESS && command->qp != client.number
                   ? PROTO_NEVER
                   : agreed->receive_after;
    case PROTO_COMMAND_CONSUMED:
        break;
    }
    return PROTO_NEVER;
}

static void publish(const struct proto_command *command)
{
    struct proto_cursors *ring = &client.segment->command_ring;

    client.segment->commands[ring_write_at(ring, PROTO_COMMANDS)] = *command;
    ring_publish(ring);
}

void actor_post(struct actor *a, struct proto_command *command)
{
    struct proto_cursors *ring = &client.segment->command_ring;

    while (ring_writable(ring, PROTO_COMMANDS) == 0)
        (void)park(a, PROTO_PARK_TURN);
    command->t = a->vt;
    command->actor = a->number;
    publish(command);
    a->lease = time_shrink(a->lease, a->vt, soonest(command));
}

void client_count_event(int fd)
{
    const uint64_t one = 1;

    sys_write(fd, &one, sizeof one);
}

void client_take_event(int fd)
{
    uint64_t one;

    if (sys_is_readable(fd))
        sys_read(fd, &one, sizeof one);
}

void client_answer(struct actor *a, struct proto_command *command, simtime t)
{
    command->t = t.ps;
    /* Whichever thread applies: the order among what happens at one instant is always the same. */
    command->actor = client.number * PROTO_CLIENT_ACTORS;
    publish(command);
    a->lease = time_shrink(a->lease, t.ps, soonest(command));
}

bool actor_wait(struct actor *a, uint64_t key, simtime deadline)
{
    int64_t since = a->vt;
    bool is_woken;

    a->calls++;
    a->chan->key = key;
    a->chan->deadline = deadline.ps;
    is_woken = park(a, PROTO_PARK_WAIT) == PROTO_RESUME_WOKEN;
    book_wait(a, PROTO_WAIT_THREAD, since);
    return is_woken;
}

void actor_interrupt(struct actor *a, uint32_t number)
{
    struct proto_command command = {.kind = PROTO_COMMAND_INTERRUPT, .slot = number};

    actor_post(a, &command);
}

void actor_wake(struct actor *a, uint64_t key, uint32_t count)
{
    struct proto_command command = {.kind = PROTO_COMMAND_WAKE, .length = count, .slot = key};

    actor_post(a, &command);
}

/* What the actor polls or watches, for its channel. */
static void show_queues(struct actor *a, const uint16_t *cqs, uint32_t count, simtime first)
{
    struct proto_chan *chan = a->chan;

    chan->polled_count = count < PROTO_POLLED_MAX ? count : PROTO_POLLED_MAX;
    memcpy(chan->polled, cqs, chan->polled_count * sizeof cqs[0]);
    chan->first = first.ps;
}

void actor_order(struct actor *a)
{
    const union proto_call_args none = {.raw = {0}};

    a->calls++;
    (void)actor_call(a, PROTO_CALL_ORDER, &none, NULL);
}

bool actor_wait_outside(struct actor *a, bool (*try)(void *ctx), void *ctx, simtime deadline)
{
    return actor_wait_watching(a, try, ctx, deadline, NULL);
}

/* After a first try that found nothing. */
static bool wait_watching(struct actor *a, bool (*try)(void *ctx), void *ctx, simtime deadline,
                          const struct actor_watch *watch)
{
    for (;;) {
        enum proto_resume resume;

        a->chan->deadline = deadline.ps;
        a->chan->polled_count = 0;
        a->chan->new_cqs = watch ? watch->new_cqs : PROTO_CQS_MAX;
        if (watch)
            show_queues(a, watch->cqs, watch->count, watch->first);
        resume = park(a, PROTO_PARK_EXTERNAL);
        if (resume == PROTO_RESUME_TIMEOUT)
            return false;
        if (try(ctx)) {
            reach(a, time_max(a->vt, a->chan->resume_vt));
            return true;
        }
    }
}

bool actor_wait_watching(struct actor *a, bool (*try)(void *ctx), void *ctx, simtime deadline,
                         const struct actor_watch *watch)
{
    int64_t since = a->vt;
    bool is_found;

    a->calls++;
    if (try(ctx))
        return true;
    is_found = wait_watching(a, try, ctx, deadline, watch);
    book_wait(a, watch && watch->count > 0 ? PROTO_WAIT_COMPLETION : PROTO_WAIT_OUTSIDE, since);
    return is_found;
}

/* Appends what fits. */
static void add_text(char *text, size_t *length, const char *more)
{
    while (*more && *length + 1 < PROTO_QUESTION_BYTES)
        text[(*length)++] = *more++;
    text[*length] = '\0';
}

void actor_note_question(struct actor *a, const char *what, const char *name)
{
    char *text = a->chan->question;
    size_t length = 0;

    if (what) {
        add_text(text, &length, what);
        add_text(text, &length, " \"");
        add_text(text, &length, name ? name : "");
        add_text(text, &length, "\"");
    }
    atomic_store_explicit(&a->chan->asks, what != NULL, memory_order_release);
}

void actor_acted_outside(struct actor *a)
{
    struct proto_command command = {.kind = PROTO_COMMAND_OUTSIDE};

    actor_post(a, &command);
}

bool actor_idle(struct actor *a, const struct actor_row *row)
{
    struct proto_chan *chan = a->chan;
    int64_t before = a->vt;

    show_queues(a, row->cqs, row->count,
                (simtime){time_min(time_min(row->first.ps, alarm_due(a)), inbox.due)});
    chan->grid = row->grid.ps;
    chan->since = row->since.ps;
    chan->polls = row->polls;
    if (row->grid.ps == 0) {
        (void)park(a, PROTO_PARK_QUIET);
        sound_alarm(a);
        return false;
    }
    if (park(a, PROTO_PARK_IDLE) == PROTO_RESUME_LOOK)
        return false;
    actor_stats(a)->folded +=
        (uint64_t)((a->vt - before) / client.segment->agreed.charge[PROTO_CHARGE_POLL_EMPTY]);
    sound_alarm(a);
    return true;
}

void client_count_loose(int change)
{
    atomic_fetch_add(&loose, change);
}

bool client_has_loose(void)
{
    return atomic_load(&loose) > 0;
}

void actor_spin(struct actor *a, bool again)
{
    struct proto_stats *stats = actor_stats(a);
    int64_t since = a->vt;

    a->chan->deadline = alarm_due(a);
    a->chan->has_loose = client_has_loose();
    a->chan->is_again = again;
    (void)park(a, PROTO_PARK_SPIN);
    stats->waits[PROTO_WAIT_MEMORY] += !again;
    stats->waited[PROTO_WAIT_MEMORY] += a->vt - since;
    sound_alarm(a);
}

void actor_jump(struct actor *a, simtime t)
{
    reach(a, t.ps);
}

simtime client_due(void)
{
    return (simtime){inbox.due};
}

void actor_trace(struct actor *a, uint32_t what, uint64_t x, uint64_t y)
{
    uint64_t hash = actor_stats(a)->hash;
    const uint64_t words[] = {(uint64_t)a->vt, what, x, y};

    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++) {
        hash = (hash ^ words[i]) * UINT64_C(0x9e3779b97f4a7c15);
        hash ^= hash >> 29;
    }
    actor_stats(a)->hash = hash;
}

static struct actor *actor_init(uint32_t number)
{
    struct actor *a = &actors[number % PROTO_CLIENT_ACTORS];

    *a = (struct actor){
        .chan = &client.segment->chan[number % PROTO_CLIENT_ACTORS],
        .number = number,
        .due = PROTO_NEVER,
        .is_used = true,
    };
    return a;
}

uint32_t actor_new(struct actor *creator)
{
    const union proto_call_args none = {.raw = {0}};
    int64_t reply[4] = {0};

    if (actor_call(creator, PROTO_CALL_NEW_ACTOR, &none, reply) != 0 ||
        (uint32_t)reply[0] == PROTO_ACTORS_MAX)
        return PROTO_ACTORS_MAX;
    return actor_init((uint32_t)reply[0])->number;
}

void actor_name(uint32_t number, pthread_t handle)
{
    actors[number % PROTO_CLIENT_ACTORS].handle = handle;
}

uint32_t client_find_actor(const pthread_t *handle, uint32_t thread)
{
    for (uint32_t k = 0; k < PROTO_CLIENT_ACTORS; k++) {
        const struct actor *a = &actors[k];

        if (a->is_used && (handle ? pthread_equal(a->handle, *handle) : a->thread == thread))
            return a->number;
    }
    return PROTO_ACTORS_MAX;
}

uint64_t client_actors(void)
{
    uint64_t set = 0;

    for (uint32_t k = 0; k < PROTO_CLIENT_ACTORS; k++)
        set |= (uint64_t)actors[k].is_used << k;
    return set;
}

void actor_cancel(struct actor *creator, uint32_t number)
{
    const union proto_call_args args = {.raw = {number}};

    actors[number % PROTO_CLIENT_ACTORS].is_used = false;
    (void)actor_call(creator, PROTO_CALL_DROP_ACTOR, &args, NULL);
}

void actor_begin(uint32_t number)
{
    struct actor *a = &actors[number % PROTO_CLIENT_ACTORS];

    if (!a->is_used)
        (void)actor_init(number);
    a->thread = sys_thread_id();
    if (client.segment->agreed.cpu != PROTO_ANY_CPU)
        sys_settle(client.segment->agreed.cpu);
    wait_turn(a);
    a->vt = a->chan->resume_vt;
    a->lease = a->chan->lease;
    actor_leave(a);
    self = a;
    spin_begin(a);
}

void actor_end(struct actor *a)
{
    a->is_used = false;
    spin_end();
    a->chan->args.raw[0] = 0;
    a->chan->park = PROTO_PARK_EXIT;
    show_time(a);
    atomic_store_explicit(&a->chan->turn, 0, memory_order_release);
    self = NULL;
    if (client.hub)
        (void)drive(a);
    else
        client_ring(PROTO_BELL_PARKED, a->number);
    sys_unsettle();
}

void actor_forget(void)
{
    self = NULL;
    atomic_store(&loose, 0);
    sys_unsettle();
}

/*
 * The process ends with the turn in its hand: sockets close and locks are given back when the
 * kernel takes it down, and nobody may act before that. The conductor sees the end and goes on.
 * What was posted until now is executed first.
 */
void client_leave(void)
{
    struct actor *a = self;

    if (!a)
        return;
    actor_order(a);
    spin_end();
    self = NULL;
    sys_unsettle();
}
