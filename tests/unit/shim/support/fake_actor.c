/* SPDX-License-Identifier: Apache-2.0 */
/*
 * DOC: A clock for one process
 *
 * Stands in for verbs-shim/shim/core where the wrapped calls are tested alone: the same contract
 * (actor.h), no conductor, no fabric, no other process. The process joins when it is loaded. The
 * thread that has the turn owns all of this; it hands the turn to the thread with the least
 * (time, number).
 */
#include <errno.h>
#include <linux/futex.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "verbs-shim/shim/actor.h"
#include "verbs-shim/shim/guest.h"
#include "verbs-shim/shim/libc/real.h"
#include "verbs-shim/shim/tsc_hook.h"

#define SIDE_LATENCY_PS (50 * PS_PER_US)
#define EPOCH_NS        INT64_C(1750000000000000000)

enum fake_state {
    FAKE_NONE,
    FAKE_READY,
    FAKE_WAIT,
    FAKE_EXTERNAL,
    FAKE_GONE,
};

struct actor {
    enum fake_state state;
    simtime vt, deadline;
    uint64_t key;
    uint64_t seen;
    bool is_woken;
    bool is_asleep;
    simtime due;
    uint32_t thread;
    pthread_t handle;
    _Atomic uint32_t turn;
};

static const int64_t charges[PROTO_CHARGE_COUNT] = {
    [PROTO_CHARGE_CLOCK] = 25 * PS_PER_NS,
    [PROTO_CHARGE_SYNC] = 100 * PS_PER_NS,
    [PROTO_CHARGE_SOCKET] = PS_PER_US,
};

static struct actor actors[PROTO_CLIENT_ACTORS];
static uint32_t actor_count;
static uint64_t outside_count = 1;
static simtime outside_at;
static simtime alarm_due = {SIMTIME_NEVER_PS};
static void (*alarm_call)(struct actor *a);
static struct proto_agreed agreed = {.epoch_ns = EPOCH_NS};
static bool is_joined;
static _Thread_local struct actor *self;

const struct proto_agreed *client_agreed(void)
{
    return is_joined ? &agreed : NULL;
}

bool client_is_joined(void)
{
    return is_joined;
}

int client_line(void)
{
    return -1;
}

void client_move_line(void)
{
}

struct actor *actor_self(void)
{
    return self;
}

simtime actor_now(const struct actor *a)
{
    return a->vt;
}

static void wait_turn(struct actor *a)
{
    while (atomic_load(&a->turn) == 0)
        (void)REAL(syscall)(SYS_futex, &a->turn, FUTEX_WAIT, 0, NULL, NULL, 0);
}

static simtime runs_at(const struct actor *a)
{
    switch (a->state) {
    case FAKE_READY:
        return a->vt;
    case FAKE_EXTERNAL:
        if (a->seen != outside_count)
            return (simtime){-1};
        return a->deadline;
    case FAKE_WAIT:
        return a->is_woken ? a->vt : a->deadline;
    case FAKE_NONE:
    case FAKE_GONE:
        break;
    }
    return simtime_never();
}

static bool is_there(const struct actor *a)
{
    return a->state != FAKE_NONE && a->state != FAKE_GONE;
}

static struct actor *choose(void)
{
    struct actor *best = NULL;
    bool has_external = false;
    bool has_any = false;

    for (uint32_t i = 0; i < actor_count; i++) {
        struct actor *a = &actors[i];

        has_any = has_any || is_there(a);
        has_external = has_external || a->state == FAKE_EXTERNAL;
        if (runs_at(a).ps != SIMTIME_NEVER_PS && (!best || runs_at(a).ps < runs_at(best).ps))
            best = a;
    }
    if (best || !has_any)
        return best;
    if (!has_external) {
        static const char text[] = "fake clock: deadlock\n";

        (void)REAL(write)(STDERR_FILENO, text, sizeof(text) - 1);
        abort();
    }
    (void)REAL(usleep)(1000);
    outside_count++;
    return choose();
}

static void hand_over(struct actor *a)
{
    struct actor *next = choose();

    if (next == a || !next)
        return;
    if (a)
        atomic_store(&a->turn, 0);
    atomic_store(&next->turn, 1);
    (void)REAL(syscall)(SYS_futex, &next->turn, FUTEX_WAKE, 1, NULL, NULL, 0);
    if (a)
        wait_turn(a);
}

static void check_alarm(struct actor *a)
{
    if (a->vt.ps >= simtime_min(alarm_due, a->due).ps && alarm_call)
        alarm_call(a);
}

void actor_charge(struct actor *a, enum proto_charge what, uint32_t n)
{
    a->vt.ps += charges[what] * n;
    hand_over(a);
    check_alarm(a);
}

void actor_sleep_until(struct actor *a, simtime t)
{
    a->vt = simtime_max(a->vt, t);
    a->is_asleep = true;
    hand_over(a);
    a->is_asleep = false;
}

bool actor_wait(struct actor *a, uint64_t key, simtime deadline)
{
    a->state = FAKE_WAIT;
    a->key = key;
    a->deadline = deadline;
    a->is_woken = false;
    hand_over(a);
    a->state = FAKE_READY;
    if (!a->is_woken)
        a->vt = simtime_max(a->vt, a->deadline);
    return a->is_woken;
}

void actor_set_alarm(uint32_t number, simtime due, void (*fire)(struct actor *a))
{
    alarm_call = fire;
    actors[number].due = due;
}

void actor_interrupt(struct actor *a, uint32_t number)
{
    struct actor *b = &actors[number];

    if (b->state == FAKE_WAIT || b->state == FAKE_EXTERNAL)
        b->deadline = simtime_min(b->deadline, a->vt);
    if (b->is_asleep)
        b->vt = simtime_min(b->vt, a->vt);
}

void actor_wake(struct actor *a, uint64_t key, uint32_t count)
{
    for (uint32_t i = 0; i < actor_count && count > 0; i++) {
        struct actor *b = &actors[i];

        if (b->state == FAKE_WAIT && b->key == key && !b->is_woken) {
            b->is_woken = true;
            b->vt = simtime_max(a->vt, b->vt);
            count--;
        }
    }
}

bool actor_wait_outside(struct actor *a, bool (*try)(void *ctx), void *ctx, simtime deadline)
{
    do {
        a->state = FAKE_EXTERNAL;
        a->deadline = deadline;
        a->seen = outside_count;
        hand_over(a);
        a->state = FAKE_READY;
        if (try(ctx)) {
            a->vt.ps = simtime_max(a->vt, (simtime){outside_at.ps + SIDE_LATENCY_PS}).ps;
            return true;
        }
    } while (a->seen != outside_count);
    a->vt = simtime_max(a->vt, a->deadline);
    return false;
}

bool actor_wait_watching(struct actor *a, bool (*try)(void *ctx), void *ctx, simtime deadline,
                         const struct actor_watch *watch)
{
    (void)watch; /* there is no fabric */
    return actor_wait_outside(a, try, ctx, deadline);
}

void client_asked(bool is_question, int more)
{
    (void)is_question;
    (void)more;
}

bool client_find_rank(uint32_t *ret)
{
    *ret = 3;
    return true;
}

void client_look(struct actor *a, struct actor_watch *ret)
{
    (void)a;
    *ret = (struct actor_watch){.first = simtime_never()};
}

void actor_order(struct actor *a)
{
    hand_over(a);
}

void actor_note_question(struct actor *a, const char *what, const char *name)
{
    (void)a;
    (void)what;
    (void)name;
}

void actor_acted_outside(struct actor *a)
{
    outside_at = a->vt;
    outside_count++;
}

uint32_t actor_new(struct actor *creator)
{
    if (actor_count == PROTO_CLIENT_ACTORS)
        return PROTO_ACTORS_MAX;
    actors[actor_count] =
        (struct actor){.state = FAKE_READY, .vt = creator->vt, .due = simtime_never()};
    return actor_count++;
}

void actor_name(uint32_t number, pthread_t handle)
{
    actors[number].handle = handle;
}

uint32_t actor_number(const struct actor *a)
{
    return (uint32_t)(a - actors);
}

uint32_t client_find_actor(const pthread_t *handle, uint32_t thread)
{
    for (uint32_t i = 0; i < actor_count; i++) {
        if (is_there(&actors[i]) &&
            (handle ? pthread_equal(actors[i].handle, *handle) : actors[i].thread == thread))
            return i;
    }
    return PROTO_ACTORS_MAX;
}

uint64_t client_actors(void)
{
    uint64_t set = 0;

    for (uint32_t i = 0; i < actor_count; i++)
        set |= (uint64_t)is_there(&actors[i]) << i;
    return set;
}

void actor_begin(uint32_t number)
{
    self = &actors[number];
    self->thread = (uint32_t)REAL(syscall)(SYS_gettid);
    wait_turn(self);
}

void actor_end(struct actor *a)
{
    a->state = FAKE_GONE;
    self = NULL;
    hand_over(NULL);
}

void actor_cancel(struct actor *creator, uint32_t number)
{
    (void)creator;
    actors[number].state = FAKE_GONE;
}

void client_set_alarm(simtime due, void (*fire)(struct actor *a))
{
    alarm_due = due;
    alarm_call = fire;
}

void client_forget(void)
{
    is_joined = false;
    self = NULL;
}

/* rdtsc has tests of its own. */
const struct tsc_hook *tsc_hook(void)
{
    return NULL;
}

void *shim_alloc(size_t bytes)
{
    return calloc(1, bytes);
}

void shim_free(void *p)
{
    free(p);
}

void shim_log(const char *format, ...)
{
    (void)REAL(write)(STDERR_FILENO, format, strlen(format));
}

bool client_join(void)
{
    if (is_joined)
        return true;
    is_joined = true;
    (void)pthread_atfork(NULL, NULL, client_forget);
    actors[0] = (struct actor){.state = FAKE_READY,
                               .turn = 1,
                               .due = simtime_never(),
                               .thread = (uint32_t)getpid(),
                               .handle = pthread_self()};
    actor_count = 1;
    self = &actors[0];
    return true;
}

__attribute__((constructor)) static void join_early(void)
{
    if (!getenv("FAKE_JOIN_LATE"))
        (void)client_join();
}

static _Atomic int loose;

void client_count_loose(int change)
{
    atomic_fetch_add(&loose, change);
}

bool client_has_loose(void)
{
    return atomic_load(&loose) > 0;
}

void actor_count_lock(struct actor *a, int change)
{
    (void)a;
    (void)change;
}
