/* SPDX-License-Identifier: Apache-2.0 */
#include "verbs-shim/conductor/conductor.h"

#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include <glib.h>

#include "sim/base/arena.h"
#include "sim/base/err.h"
#include "sim/base/mem.h"
#include "verbs-shim/conductor/door.h"
#include "verbs-shim/conductor/guard.h"
#include "verbs-shim/conductor/memory.h"
#include "verbs-shim/conductor/output.h"
#include "verbs-shim/conductor/proc.h"
#include "verbs-shim/conductor/run.h"
#include "verbs-shim/proto/proto.h"
#include "verbs-shim/sched/sched.h"

#define LEAVE_MS 2000 /* from leaving the simulation to the process's end */

/* Has the process no thread left in the simulation? Its end of file may still be on the way. */
static bool is_client_gone(const struct run *run, uint32_t client)
{
    if (!run->is_client_alive[client])
        return true;
    if (run->end == RUN_DAMAGED || run->end == RUN_LOCKED)
        return false;
    for (uint32_t k = 0; k < PROTO_CLIENT_ACTORS; k++) {
        uint32_t actor = client * PROTO_CLIENT_ACTORS + k;

        if (sched_actor_info(run->memory.view.sched, actor).state != SCHED_ACTOR_NONE)
            return false;
    }
    return true;
}

/* All processes of the rank have left the simulation: its program is about to end by itself. */
static bool has_left(const struct run *run, uint32_t rank)
{
    for (uint32_t k = 0; k < run->joined[rank]; k++) {
        if (!is_client_gone(run, rank * PROTO_RANK_CLIENTS + k))
            return false;
    }
    return run->joined[rank] > 0;
}

/* Whoever still runs when the run is over has no end of its own. All are held before the first is
 * killed, lest one sees another's sockets break and ends for that reason. */
static void hold_all(struct run *run)
{
    for (uint32_t r = 0; r < run->rank_count; r++) {
        struct run_child *child = &run->children[r];

        if (!child->is_running)
            continue;
        if (run->end != RUN_INTERRUPTED && has_left(run, r)) {
            struct pollfd end = {.fd = child->pidfd, .events = POLLIN};

            (void)poll(&end, 1, LEAVE_MS);
        }
        if (waitpid(child->pid, &child->status, WNOHANG) == child->pid) {
            child->is_running = false;
            continue;
        }
        child->is_stopped = true;
        (void)kill(child->pid, SIGSTOP);
    }
}

/* Ends what still runs, reaps it, and passes on the last that it printed. */
static void stop_all(struct run *run)
{
    hold_all(run);
    for (uint32_t r = 0; r < run->rank_count; r++) {
        struct run_child *child = &run->children[r];

        if (!child->is_running)
            continue;
        (void)kill(child->pid, SIGKILL);
        (void)waitpid(child->pid, &child->status, 0);
        child->is_running = false;
    }
    if (run->mark)
        proc_kill_marked(run->mark, getpid(), run->guard.pid);
    for (uint32_t r = 0; r < run->rank_count; r++) {
        output_close(&run->children[r].out);
        output_close(&run->children[r].err);
    }
}

/* Those that came meanwhile have had their effect; from now on they act as they did before. */
static void forget_signals(struct run *run)
{
    struct signalfd_siginfo taken;

    if (run->signal_fd < 0)
        return;
    while (read(run->signal_fd, &taken, sizeof taken) == (ssize_t)sizeof taken)
        ;
    (void)close(run->signal_fd);
    (void)pthread_sigmask(SIG_SETMASK, &run->signals_before, NULL);
}

static void close_callers(struct run *run)
{
    for (uint32_t i = 0; i < RUN_CALLERS_MAX; i++) {
        if (run->callers[i].fd < 0)
            continue;
        (void)close(run->callers[i].fd);
        if (run->callers[i].pidfd >= 0)
            (void)close(run->callers[i].pidfd);
    }
    for (uint32_t r = 0; r < run->rank_count; r++) {
        if (run->children[r].pidfd >= 0)
            (void)close(run->children[r].pidfd);
    }
    forget_signals(run);
}

static void begin(struct run *run)
{
    run->signal_fd = -1;
    run->door.fd = -1;
    run->guard.fd = -1;
    run->memory.hub_fd = -1;
    for (uint32_t i = 0; i < RUN_CALLERS_MAX; i++)
        run->callers[i].fd = -1;
    for (uint32_t r = 0; r < PROTO_RANKS_MAX; r++) {
        run->children[r].pidfd = -1;
        run->children[r].out.read_fd = run->children[r].out.write_fd = -1;
        run->children[r].err.read_fd = run->children[r].err.write_fd = -1;
    }
}

bool conductor_run(const struct scenario *scenario, const struct conductor_options *options,
                   struct run_outcome *ret, struct err *reterr)
{
    struct run *run = mem_alloc_zeroed(1, sizeof *run);
    bool has_started = false;
    bool ok;

    *run = (struct run){.scenario = scenario, .decided = *options};
    run->options = &run->decided;
    run->outcome = ret;
    *ret = (struct run_outcome){0};
    begin(run);
    /* What ranks leave behind comes to us, whatever it did to its environment and session. */
    (void)prctl(PR_SET_CHILD_SUBREAPER, 1);
    ok = run_prepare(run, reterr);
    if (ok) {
        has_started = true;
        ok = run_start(run, reterr);
    }
    if (ok) {
        run_watch(run);
        if (run->end == RUN_STUCK || run->end == RUN_OUTSIDE)
            run_find_waits(run);
        else if (run->end == RUN_HOPELESS || run->end == RUN_LIVELOCK)
            run_find_orphans(run);
    }
    if (has_started)
        stop_all(run);
    if (ok)
        run_judge(run);
    close_callers(run);
    door_close(&run->door);
    memory_done(&run->memory);
    if (run->folder)
        guard_remove_folder(run->folder);
    if (run->guard.fd >= 0)
        guard_dismiss(&run->guard);
    (void)prctl(PR_SET_CHILD_SUBREAPER, 0);
    arena_done(&run->arena);
    free(run);
    return ok;
}

void run_outcome_done(struct run_outcome *outcome)
{
    for (size_t i = 0; i < outcome->finding_count; i++) {
        free(outcome->findings[i].id);
        free(outcome->findings[i].where);
        free(outcome->findings[i].text);
    }
    free(outcome->findings);
    for (size_t i = 0; i < outcome->rank_count; i++) {
        free(outcome->ranks[i].bytes_to);
        free(outcome->ranks[i].messages_to);
        g_strfreev(outcome->ranks[i].argv);
    }
    free(outcome->ranks);
    free(outcome->links);
    *outcome = (struct run_outcome){0};
}
