/* SPDX-License-Identifier: Apache-2.0 */
/*
 * DOC: Watch
 *
 * The conductor's loop: lets clients in, passes on what ranks print, notices who ends, and asks
 * the scheduler again when everybody waits for the outside. As driver it also hears who has parked
 * and gives the next turn (turn.h). It ends with a reason (enum run_end).
 */
#define _GNU_SOURCE
#include <errno.h>
#include <poll.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <sys/pidfd.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "sim/base/units.h"
#include "verbs-shim/conductor/careful.h"
#include "verbs-shim/conductor/conductor.h"
#include "verbs-shim/conductor/door.h"
#include "verbs-shim/conductor/guard.h"
#include "verbs-shim/conductor/memory.h"
#include "verbs-shim/conductor/output.h"
#include "verbs-shim/conductor/proc.h"
#include "verbs-shim/conductor/run.h"
#include "verbs-shim/conductor/turn.h"
#include "verbs-shim/proto/proto.h"
#include "verbs-shim/sched/sched.h"

#define RETRY_MS    2     /* between looks at the outside while everybody waits for it */
#define REST_MS     50    /* else */
#define HOLD_MS     250   /* for the launcher to answer, while virtual time stands still */
#define IN_VAIN     8     /* times that it does not and nobody does anything either */
#define GRACE_MS    800   /* without an arrival, for the others after a rank has failed */
#define PATIENCE_MS 10000 /* for what happens outside, if anybody is there */
#define ALONE_MS    500   /* if all processes of the run wait themselves */
#define STRAY_MS    800   /* a turn that long is looked at */
#define COMPUTE_MS  60000 /* a turn that computes all the time; time that goes on in vain ... */
#define LIVE_SPAN   (100 * PS_PER_MS) /* ... by so much at least */

static int64_t now_ms(void)
{
    struct timespec now;

    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

/* Is every process of the run a client, so that there is no outside? */
static bool is_alone(const struct run *run)
{
    size_t clients = 0;

    for (uint32_t c = 0; c < run->memory.client_count; c++)
        clients += run->is_client_alive[c];
    return proc_count_marked(run->mark, run->guard.pid) <= clients;
}

static int64_t patience_ms(const struct run *run)
{
    return run->options->patience_s ? (int64_t)run->options->patience_s * 1000 : PATIENCE_MS;
}

static int64_t compute_ms(const struct run *run)
{
    return run->options->patience_s ? (int64_t)run->options->patience_s * 1000 : COMPUTE_MS;
}

static void accept_caller(struct run *run)
{
    pid_t pid;
    int fd = door_accept(&run->door, &pid);

    if (fd < 0)
        return;
    for (uint32_t i = 0; i < RUN_CALLERS_MAX; i++) {
        if (run->callers[i].fd >= 0)
            continue;
        run->callers[i] = (struct run_caller){.fd = fd, .pidfd = -1, .pid = pid};
        return;
    }
    door_refuse(fd, EBUSY, "too many processes");
    (void)close(fd);
}

/* A caller has said who it is: the next process of its rank. */
static bool let_in(struct run *run, struct run_caller *caller)
{
    struct proto_hello hello;
    uint32_t client;

    if (!door_read_hello(caller->fd, &hello))
        return false;
    if (hello.version != PROTO_VERSION || hello.rank >= run->rank_count ||
        run->joined[hello.rank] == PROTO_RANK_CLIENTS) {
        door_refuse(caller->fd, EINVAL,
                    hello.rank >= run->rank_count ? "the scenario has no such rank"
                                                  : "too many processes of one rank");
        return false;
    }
    client = hello.rank * PROTO_RANK_CLIENTS + run->joined[hello.rank]++;
    run->memory.view.segments[client]->agreed = run->agreed[hello.rank];
    run->memory.view.segments[client]->agreed.client = client;
    if (!door_welcome(caller->fd, client, run->options->driver == CONDUCTOR_INLINE, &run->memory))
        return false;
    caller->is_client = true;
    caller->client = client;
    caller->pidfd = pidfd_open(caller->pid, 0);
    run->is_client_alive[client] = true;
    run->client_pid[client] = caller->pid;
    run->joined_at_ms = now_ms();
    turn_change(run, TURN_JOIN, client);
    return true;
}

static void lose_caller(struct run *run, struct run_caller *caller)
{
    caller->is_client = false;
    if (run->is_client_alive[caller->client]) {
        run->is_client_alive[caller->client] = false;
        turn_change(run, TURN_BURY, caller->client);
    }
    (void)close(caller->fd);
    caller->fd = -1;
    if (caller->pidfd >= 0)
        (void)close(caller->pidfd);
    caller->pidfd = -1;
}

/*
 * The client's line is closed. If that is because the process ends, it may still have other things
 * open that somebody waits for; it is gone when all of it is.
 */
static void hang_up(struct run *run, struct run_caller *caller)
{
    if (caller->pidfd < 0 || !proc_is_ending(caller->pid)) {
        lose_caller(run, caller);
        return;
    }
    (void)close(caller->fd);
    caller->fd = caller->pidfd;
    caller->pidfd = -1;
    caller->is_ending = true;
}

static void take_bell(struct run *run, struct run_caller *caller)
{
    bool is_inline = run->options->driver == CONDUCTOR_INLINE;
    struct proto_bell bell;

    if (caller->is_ending) {
        lose_caller(run, caller);
        return;
    }
    if (recv(caller->fd, &bell, sizeof bell, MSG_DONTWAIT) != (ssize_t)sizeof bell) {
        hang_up(run, caller);
        return;
    }
    if (!is_inline) {
        if (bell.why == PROTO_BELL_PARKED && run->is_client_alive[caller->client])
            turn_parked(run, caller->client, bell.actor);
    } else if (bell.why == PROTO_BELL_OUTSIDE) {
        run->is_outside = true;
    } else if (bell.why == PROTO_BELL_VERDICT) {
        run->end =
            atomic_load(&run->memory.hub->verdict) == PROTO_DEADLOCK ? RUN_STUCK : RUN_DAMAGED;
    }
}

static void hear_caller(struct run *run, struct run_caller *caller)
{
    if (caller->is_client) {
        take_bell(run, caller);
    } else if (!let_in(run, caller)) {
        (void)close(caller->fd);
        caller->fd = -1;
    }
}

static void reap(struct run *run, uint32_t rank)
{
    struct run_child *child = &run->children[rank];

    if (!child->is_running || waitpid(child->pid, &child->status, WNOHANG) != child->pid)
        return;
    child->is_running = false;
    if (!WIFEXITED(child->status) || WEXITSTATUS(child->status) != 0) {
        if (!run->has_failed) {
            run->has_failed = true;
            run->first_failed = rank;
            run->failed_at_ms = now_ms();
        }
    }
    if (run->joined[rank] == 0) {
        run->is_absent[rank] = true;
        turn_change(run, TURN_ABSENT, rank);
    }
}

static bool is_anybody_running(const struct run *run)
{
    for (uint32_t r = 0; r < run->rank_count; r++) {
        if (run->children[r].is_running)
            return true;
    }
    return false;
}

/* The launcher owes nothing, it seems. If only timeouts come of it, again and again, nothing will
 * ever happen. */
static void let_time_go_on(struct run *run, int64_t now)
{
    uint64_t commands = sched_commands(run->memory.view.sched);

    run->forgiven_in_vain = commands == run->forgiven_commands ? run->forgiven_in_vain + 1 : 0;
    run->forgiven_commands = commands;
    run->outside_since_ms = now;
    if (run->forgiven_in_vain > IN_VAIN)
        run->end = RUN_OUTSIDE;
    else
        turn_change(run, TURN_FORGIVE, 0);
}

struct times {
    const struct run *run;
    uint64_t sum;
};

/* All actors' times: as long as the sum stands still, nothing has moved. */
static void add_times(void *ctx)
{
    struct times *times = ctx;
    const struct run *run = times->run;
    const struct sched *s = run->memory.view.sched;

    times->sum = (uint64_t)sched_now(s).ps;
    for (uint32_t c = 0; c < run->memory.client_count; c++) {
        for (uint32_t k = 0; run->is_client_alive[c] && k < PROTO_CLIENT_ACTORS; k++)
            times->sum += (uint64_t)sched_actor_info(s, c * PROTO_CLIENT_ACTORS + k).vt.ps;
    }
}

/*
 * Everybody waited for the outside. Only while that is still so may anybody be sent to look again:
 * with somebody running, a look at a moment of the wall clock could change the order of events.
 */
static void ask_outside(struct run *run, int64_t now)
{
    struct times times = {.run = run};

    if (!turn_drive(run) || run->state != SCHED_OUTSIDE) {
        run->is_outside = false;
        return;
    }
    if (!careful_call(add_times, &times)) {
        run->end = RUN_DAMAGED;
        return;
    }
    if (times.sum != run->outside_print || run->outside_since_ms == 0) {
        run->outside_print = times.sum;
        run->outside_since_ms = now;
    }
    run->outside_tries++;
    if (sched_is_held(run->memory.view.sched) && now - run->outside_since_ms > HOLD_MS)
        let_time_go_on(run, now);
    else
        turn_change(run, TURN_RETRY, 0);
    if (run->end != RUN_GOES_ON)
        return;
    /* Whoever finds nothing rings again. */
    run->is_outside = run->state == SCHED_OUTSIDE;
    if (now - run->outside_since_ms > patience_ms(run) ||
        (now - run->outside_since_ms > ALONE_MS && is_alone(run)))
        run->end = RUN_OUTSIDE;
    else if (run->has_failed && now - run->outside_since_ms > GRACE_MS)
        run->end = RUN_HOPELESS;
}

struct runner {
    const struct run *run;
    bool exists;
    uint32_t client;                     /* that has the turn */
    char question[PROTO_QUESTION_BYTES]; /* that it asks a name server; "": none */
};

/* Any bytes may be there: the client writes them. */
static void read_question(const struct proto_chan *chan, char *text)
{
    size_t length = 0;

    if (atomic_load_explicit(&chan->asks, memory_order_acquire)) {
        for (char c; length + 1 < PROTO_QUESTION_BYTES && (c = chan->question[length]); length++)
            text[length] = c;
    }
    for (size_t i = 0; i < length; i++) {
        if (text[i] < '!' || text[i] > '~')
            text[i] = ' ';
    }
    text[length] = '\0';
}

static void find_runner(void *ctx)
{
    struct runner *runner = ctx;
    const struct run *run = runner->run;

    for (uint32_t c = 0; c < run->memory.client_count; c++) {
        for (uint32_t k = 0; run->is_client_alive[c] && k < PROTO_CLIENT_ACTORS; k++) {
            if (sched_actor_info(run->memory.view.sched, c * PROTO_CLIENT_ACTORS + k).state !=
                SCHED_ACTOR_RUNNING)
                continue;
            runner->exists = true;
            runner->client = c;
            read_question(&run->memory.view.segments[c]->chan[k], runner->question);
            return;
        }
    }
}

/*
 * Somebody has the turn and has not given it back for a while. It may compute, and then it has long
 * to go on. If it neither computes nor gives the turn back, it waits for something that the clock
 * knows nothing of, and everybody waits for it.
 */
static void look_at_runner(struct run *run, int64_t now)
{
    struct runner runner = {.run = run};
    uint64_t ticks;
    char state;

    if (run->state == SCHED_STARTING || now - run->progress_since_ms < STRAY_MS)
        return;
    if (!careful_call(find_runner, &runner))
        run->end = RUN_DAMAGED;
    if (!runner.exists) {
        (void)turn_drive(run); /* nobody waits for nobody */
        return;
    }
    if (runner.question[0]) {
        /* The C library gives up by itself, usually after 10 s a server. */
        if (now - run->progress_since_ms <= compute_ms(run))
            return;
        run->stray_client = runner.client;
        memcpy(run->stray_question, runner.question, sizeof run->stray_question);
        run->end = RUN_STRAY;
        return;
    }
    state = proc_look(run->client_pid[runner.client], &ticks);
    if (ticks != run->stray_ticks || runner.client != run->stray_client ||
        run->stray_since_ms == 0) {
        run->stray_ticks = ticks;
        run->stray_client = runner.client;
        run->stray_since_ms = now;
    }
    run->stray_computes = state == 'R' || now - run->stray_since_ms < STRAY_MS / 2;
    if (!run->stray_computes || now - run->progress_since_ms > compute_ms(run))
        run->end = RUN_STRAY;
}

/* Ranks have joined, and others that a launcher was to start have not for long. */
static bool is_rank_missing(const struct run *run, int64_t now)
{
    return run->options->is_launcher && run->joined_at_ms > 0 && run->state == SCHED_STARTING &&
           now - run->joined_at_ms > patience_ms(run);
}

struct pulse {
    const struct run *run;
    uint64_t arrivals;
    simtime latest;
};

/* How far anybody has come: who runs shows his time in his channel. */
static void take_pulse(void *ctx)
{
    struct pulse *pulse = ctx;
    const struct run *run = pulse->run;

    pulse->arrivals = sched_arrivals(run->memory.view.sched);
    for (uint32_t c = 0; c < run->memory.client_count; c++) {
        pulse->arrivals += run->is_client_alive[c];
        for (uint32_t k = 0; run->is_client_alive[c] && k < PROTO_CLIENT_ACTORS; k++) {
            const struct proto_chan *chan = &run->memory.view.segments[c]->chan[k];
            int64_t t = atomic_load_explicit(&chan->vt, memory_order_relaxed);

            if (t > pulse->latest.ps && t <= PROTO_TIME_MAX)
                pulse->latest.ps = t;
        }
    }
}

/* Notes who has moved, and whether anything has reached anybody. */
static void look_at_progress(struct run *run, int64_t now)
{
    uint32_t progress = atomic_load(&run->memory.hub->progress);
    struct pulse pulse = {.run = run};

    if (!careful_call(take_pulse, &pulse)) {
        run->end = RUN_DAMAGED;
        return;
    }
    if (progress != run->progress || pulse.latest.ps != run->latest.ps ||
        run->progress_since_ms == 0)
        run->progress_since_ms = now;
    run->progress = progress;
    run->latest = pulse.latest;
    if (pulse.arrivals != run->arrivals || run->arrival_ms == 0) {
        run->arrivals = pulse.arrivals;
        run->arrival_ms = now;
        run->arrival_latest = pulse.latest;
    }
}

/*
 * Programs that look at the clock while they wait can go on for ever. After a rank has failed they
 * get some time, which begins anew with each arrival; else as much as a thread that computes, if
 * their time goes on and nobody sends anything that arrives.
 */
static void look_at_arrivals(struct run *run, int64_t now)
{
    int64_t since = run->has_failed && run->failed_at_ms > run->arrival_ms ? run->failed_at_ms
                                                                           : run->arrival_ms;

    if (run->has_failed && now - since > GRACE_MS)
        run->end = RUN_HOPELESS;
    else if (now - since > compute_ms(run) && run->latest.ps - run->arrival_latest.ps > LIVE_SPAN)
        run->end = RUN_LIVELOCK;
}

/* A rank that has ended may have said when, after we last listened: with the conductor as driver
 * only that tells its last time. */
static void hear_last_words(struct run *run)
{
    for (uint32_t i = 0; i < RUN_CALLERS_MAX; i++) {
        struct run_caller *caller = &run->callers[i];

        /* One that lives on elsewhere could go on for ever. */
        for (uint32_t k = 0; k < PROTO_CLIENT_ACTORS && caller->fd >= 0; k++) {
            struct pollfd ready = {.fd = caller->fd, .events = POLLIN};

            if (!caller->is_client || poll(&ready, 1, 0) != 1)
                break;
            take_bell(run, caller);
        }
    }
}

/* Nobody who keeps the rules has anything more to say when all wait. A client that rang before it
 * parked has: it is found out, and the others go on. */
static void hear_before_verdict(struct run *run)
{
    if (run->end != RUN_STUCK || run->options->driver == CONDUCTOR_INLINE)
        return;
    run->end = RUN_GOES_ON;
    hear_last_words(run);
    if (run->end == RUN_GOES_ON && run->state == SCHED_DEADLOCK)
        run->end = RUN_STUCK;
}

/* Decides whether there is anything left to wait for. */
static void look_at_clock(struct run *run)
{
    int64_t now = now_ms();

    if (run->end != RUN_GOES_ON)
        return;
    if (!is_anybody_running(run)) {
        hear_last_words(run);
        run->end = RUN_ALL_ENDED;
        return;
    }
    look_at_progress(run, now);
    look_at_arrivals(run, now);
    if (run->end != RUN_GOES_ON)
        return;
    if (is_rank_missing(run, now))
        run->end = RUN_MISSING;
    else if (run->is_outside)
        ask_outside(run, now);
    else
        look_at_runner(run, now);
}

#define POLLED_MAX (3 + RUN_CALLERS_MAX + 3 * PROTO_RANKS_MAX)

struct polled {
    struct pollfd fds[POLLED_MAX];
    struct run_caller *callers[POLLED_MAX];
    struct output *outputs[POLLED_MAX];
    nfds_t count;
};

static void add(struct polled *set, int fd, struct run_caller *caller, struct output *output)
{
    if (fd < 0)
        return;
    set->fds[set->count] = (struct pollfd){.fd = fd, .events = POLLIN};
    set->callers[set->count] = caller;
    set->outputs[set->count++] = output;
}

static void gather(struct run *run, struct polled *set)
{
    set->count = 0;
    add(set, run->door.fd, NULL, NULL);
    add(set, run->signal_fd, NULL, NULL);
    if (run->children[0].out.target == STDOUT_FILENO) {
        /* A pipe without a reader says so though nothing is asked for. */
        add(set, STDOUT_FILENO, NULL, NULL);
        set->fds[set->count - 1].events = 0;
    }
    for (uint32_t i = 0; i < RUN_CALLERS_MAX; i++)
        add(set, run->callers[i].fd, &run->callers[i], NULL);
    for (uint32_t r = 0; r < run->rank_count; r++) {
        add(set, run->children[r].out.read_fd, NULL, &run->children[r].out);
        add(set, run->children[r].err.read_fd, NULL, &run->children[r].err);
        if (run->children[r].is_running)
            add(set, run->children[r].pidfd, NULL, NULL);
    }
}

/* Without somebody who reads it there is no point in going on. */
static void stop_unheard(struct run *run, int error)
{
    run->output_error = error;
    run->end = RUN_UNHEARD;
}

/* A stderr that is closed or full is its owner's wish, as elsewhere. */
static void pass_on(struct run *run, struct output *output)
{
    output_read(output);
    if (output->error == EPIPE || (output->error != 0 && output->target == STDOUT_FILENO))
        stop_unheard(run, output->error);
    output->error = 0;
}

static void handle(struct run *run, const struct polled *set)
{
    for (nfds_t i = 0; i < set->count && run->end == RUN_GOES_ON; i++) {
        if (!set->fds[i].revents)
            continue;
        if (set->callers[i])
            hear_caller(run, set->callers[i]);
        else if (set->outputs[i])
            pass_on(run, set->outputs[i]);
        else if (set->fds[i].fd == run->door.fd)
            accept_caller(run);
        else if (set->fds[i].fd == run->signal_fd)
            run->end = RUN_INTERRUPTED;
        else if (set->fds[i].fd == STDOUT_FILENO && set->fds[i].revents & POLLERR)
            stop_unheard(run, EPIPE);
    }
    for (uint32_t r = 0; r < run->rank_count && run->end == RUN_GOES_ON; r++)
        reap(run, r);
}

void run_watch(struct run *run)
{
    struct polled set;

    for (uint32_t i = 0; i < RUN_CALLERS_MAX; i++)
        run->callers[i].fd = -1;
    while (run->end == RUN_GOES_ON) {
        gather(run, &set);
        (void)poll(set.fds, set.count, run->is_outside ? RETRY_MS : REST_MS);
        handle(run, &set);
        hear_before_verdict(run);
        look_at_clock(run);
    }
}
