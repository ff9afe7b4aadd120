/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A thread under the virtual clock, as the rest of the shim sees it.
 *
 * Every interposed call does the same three things: charge its cost (which parks the thread while
 * its time has reached its lease), act at the resulting time, return. Between two calls a thread
 * costs no virtual time. Threads of one process never run at the same time, so that the shim's own
 * tables need no locks; an actor_ call that parks is where others get their turn.
 */
#ifndef VERBS_SHIM_SHIM_ACTOR_H
#define VERBS_SHIM_SHIM_ACTOR_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include "sim/base/units.h"
#include "verbs-shim/proto/proto.h"
#include "verbs-shim/shim/export.h"

struct actor;

/* What was agreed when this process joined; NULL before. */
SHIM_EXPORT const struct proto_agreed *client_agreed(void);

/*
 * Joins the simulation, once a process; the calling thread becomes its first actor and returns when
 * all ranks are there. False: this process does not belong to a run (no conductor in the
 * environment) or was refused; the reason went to stderr.
 */
SHIM_EXPORT bool client_join(void);
SHIM_EXPORT bool client_is_joined(void);

/* The process's rank, from our launcher or from an MPI's; false: it has none. */
bool client_find_rank(uint32_t *ret);

/* The descriptor by which the conductor sees that the process lives; -1: none. The program does not
 * know of it, and must not close it by accident. */
int client_line(void);
/* Gives it another number: the program wants this one. */
void client_move_line(void);

/* The calling thread's actor; NULL for a thread that is not under the clock: then act as if the
 * shim were not there. Never parks. */
SHIM_EXPORT struct actor *actor_self(void);

/* The actor's present time. Never parks. */
SHIM_EXPORT simtime actor_now(const struct actor *a);

/* What the report will say of the actor. */
SHIM_EXPORT struct proto_stats *actor_stats(struct actor *a);

/* Charges `n` times the cost of `what` and counts the call; parks while the time has reached the
 * lease. Afterwards the actor may act at actor_now(). */
SHIM_EXPORT void actor_charge(struct actor *a, enum proto_charge what, uint32_t n);

/* The program goes on: what the shim did until now is not its work. For calls that move bytes; the
 * others' own time is too short to tell. Only with `--compute measured`. */
SHIM_EXPORT void actor_leave(struct actor *a);

/* Lets time pass until `t`: others act meanwhile. */
SHIM_EXPORT void actor_sleep_until(struct actor *a, simtime t);

/* Asks the scheduler; returns errno, 0: *reply (4 numbers, may be NULL) is filled. */
SHIM_EXPORT int actor_call(struct actor *a, enum proto_call call, const union proto_call_args *args,
                           int64_t *reply);

/* Gives the scheduler a command at the actor's present time: t and actor are filled in. The lease
 * shrinks to what the command may cause. Parks only when the ring is full. */
SHIM_EXPORT void actor_post(struct actor *a, struct proto_command *command);

/* Waits until another thread wakes `key` or until `deadline` (simtime_never). True: woken; it may
 * be for somebody else's sake, so check the condition again. Keys are the process's own. */
SHIM_EXPORT bool actor_wait(struct actor *a, uint64_t key, simtime deadline);
/* Wakes at most `count` waiters of the process's key, from now on. */
SHIM_EXPORT void actor_wake(struct actor *a, uint64_t key, uint32_t count);

/*
 * Waits for something outside the clock (a socket, a child process). `try` is called when there is
 * reason to look again, and must not block; the time stands still meanwhile. True: try returned
 * true, and the actor's time is now at least that of the action that made it true plus the side
 * channel's latency. False: the deadline came first.
 */
SHIM_EXPORT bool actor_wait_outside(struct actor *a, bool (*try)(void *ctx), void *ctx,
                                    simtime deadline);
/* Tells that this actor did something that others may wait for with actor_wait_outside. */
SHIM_EXPORT void actor_acted_outside(struct actor *a);

/*
 * Waits until everybody whose time is earlier has acted. What several processes do between this and
 * their next charge happens in order of time, whatever else runs at once: so are calls on sockets.
 */
SHIM_EXPORT void actor_order(struct actor *a);

/* Completion queues whose events make descriptors readable, or may soon: others can arm them, or
 * make new ones, while the actor waits. */
struct actor_watch {
    uint16_t cqs[PROTO_POLLED_MAX];
    uint32_t count;
    uint32_t new_cqs; /* the first number that no queue has had; 0: all queues are watched */
    simtime first;    /* earliest completion that is known in them; or never */
};

/* As actor_wait_outside; also false, at that time, when a completion is due in one of the queues.
 * `watch`: may be NULL. */
SHIM_EXPORT bool actor_wait_watching(struct actor *a, bool (*try)(void *ctx), void *ctx,
                                     simtime deadline, const struct actor_watch *watch);

/*
 * Descriptors that completions make readable. `look` makes those readable whose completions are due
 * at the actor's time, and says which queues may bring others; it must not park. One for the
 * process; whoever waits for descriptors calls client_look.
 */
SHIM_EXPORT void client_set_look(void (*look)(struct actor *a, struct actor_watch *ret));
void client_look(struct actor *a, struct actor_watch *ret);

/* A row of empty polls, with no other call between. */
struct actor_row {
    const uint16_t *cqs; /* borrowed; queues polled, in turn if there is a grid */
    uint32_t count;
    uint32_t polls; /* of the row so far */
    simspan grid;   /* time of a round; zero: there is none, or nothing shall be skipped */
    simtime first;  /* earliest completion known in the queues; or never */
    simtime since;  /* end of the row's first poll */
};

/* Polling: see fold.h. Parks as idle. True: the actor's time is on the grid, before the first
 * completion, and the program polls on. False: events came while it parked, so that `first` may be
 * another; the time stands, as it always does without a grid. */
SHIM_EXPORT bool actor_idle(struct actor *a, const struct actor_row *row);
SHIM_EXPORT simtime actor_lease(const struct actor *a);
/* Moves the time within the lease: a jump over polls that would be empty. */
SHIM_EXPORT void actor_jump(struct actor *a, simtime t);

/* Events from the scheduler, in the order given; those of kind SLOT_FREE are handled inside. The
 * handler must not park. Called by whoever needs what arrived: polls, posts, waits. */
SHIM_EXPORT void client_take_events(void (*handle)(const struct proto_event *event));

/*
 * What peers ask for, one-sided: `take` books what the scheduler has told (and calls
 * client_set_due), `apply` does the first thing that is due and answers with client_answer; true:
 * the program's memory has changed. Neither may park.
 */
struct client_inbox {
    void (*take)(void);
    bool (*apply)(struct actor *a);
};
SHIM_EXPORT void client_serve_inbox(const struct client_inbox *calls); /* borrowed; NULL: none */
/* When the first thing is due; or never. */
SHIM_EXPORT void client_set_due(simtime due);
SHIM_EXPORT simtime client_due(void);
/* A command of an earlier instant, while applying: there is room for two. */
/* Adds one to an eventfd, or takes one away if there is any; never parks, costs nothing. */
SHIM_EXPORT void client_count_event(int fd);
SHIM_EXPORT void client_take_event(int fd);
SHIM_EXPORT void client_answer(struct actor *a, struct proto_command *command, simtime t);

/* Bytes on their way. The result is in the client's own arena; NULL: it is full. */
SHIM_EXPORT void *arena_take(uint64_t bytes, uint64_t *ret_slot);
/* A slot of our own, as arena_take answered; NULL: none. */
SHIM_EXPORT void *arena_own(uint64_t slot);
/* A peer's slot, for reading; NULL when offset or length make no sense. */
SHIM_EXPORT const void *arena_peer(uint32_t client, uint64_t slot, uint64_t bytes);

/* Threads. The creator asks for an actor, hands its number over, and the new thread takes it before
 * it runs any of the program's code; it then waits for its first turn. */
uint32_t actor_new(struct actor *creator); /* PROTO_ACTORS_MAX: no more */
void actor_name(uint32_t number, pthread_t handle);
void actor_begin(uint32_t number);
void actor_end(struct actor *a); /* the thread is about to exit */

/* The actor asks a name server, in a call that the clock does not see: "getaddrinfo", "host".
 * `what` NULL: no more. `name` may be NULL. */
void actor_note_question(struct actor *a, const char *what, const char *name);

/* Books a question to the outside, or the answer: so many more sockets wait for one. */
void client_asked(bool is_question, int more);

/* In a child of fork: the process is no client any more, actor_self() is NULL. Takes no lock and
 * leaves the shared memory alone: it belongs to the parent. */
void client_forget(void);

/*
 * Timers. The first actor of this process that finds its time at `due` or later at the end of
 * actor_charge or actor_idle calls `fire`, which may call anything here, also from a signal handler
 * that it runs. actor_idle does not jump beyond `due`. One for the process; simtime_never(): none.
 */
void client_set_alarm(simtime due, void (*fire)(struct actor *a));

/* As client_set_alarm, for one actor of this process; both hold, with the same `fire`. */
void actor_set_alarm(uint32_t number, simtime due, void (*fire)(struct actor *a));
/* Whatever the actor, of this process, waits for: it gets its turn from now on, and looks at its
 * alarm. Its wait for a key ends as if the deadline had come; so does one for the outside. */
void actor_interrupt(struct actor *a, uint32_t number);
/* The actor of this process with that handle or, if that is NULL, with the kernel's number of its
 * thread; PROTO_ACTORS_MAX: none. */
uint32_t client_find_actor(const pthread_t *handle, uint32_t thread);
/* Bit k: there is an actor whose number is k modulo PROTO_CLIENT_ACTORS. */
uint64_t client_actors(void);

/* The thread could not be started after all. */
void actor_cancel(struct actor *creator, uint32_t number);

/* Waits until the thread's own memory may have changed: a peer's write, another thread, a handler
 * of its own that a timer runs. `again`: it has done nothing but look since its last wait. */
void actor_spin(struct actor *a, bool again);
/* Threads of this process that run outside the clock, more or fewer by `change`. */
void client_count_loose(int change);
bool client_has_loose(void);
/* Changes with every call of the actor. */
uint64_t actor_entries(const struct actor *a);
uint32_t actor_number(const struct actor *a);
/* Locks that the actor holds, of those it has taken under the clock; NULL: nobody's, ignored. */
void actor_count_lock(struct actor *a, int change);
int actor_locks(const struct actor *a);
/* Code of the object that `inside` lies in belongs to the shim: no thread is stopped in it. */
SHIM_EXPORT void client_own_code(const void *inside);

/* Calls of the actor that were charged and were no polls: when it has changed, a row of empty polls
 * was interrupted. */
SHIM_EXPORT uint64_t actor_calls(const struct actor *a);

/* Adds what the program saw to the process's hash. */
SHIM_EXPORT void actor_trace(struct actor *a, uint32_t what, uint64_t x, uint64_t y);

#endif
