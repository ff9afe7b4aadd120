/* SPDX-License-Identifier: Apache-2.0 */
/* A run under way: private to verbs-shim/conductor. */
#ifndef VERBS_SHIM_CONDUCTOR_RUN_H
#define VERBS_SHIM_CONDUCTOR_RUN_H

#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/resource.h>
#include <sys/types.h>

#include "sim/base/arena.h"
#include "sim/base/err.h"
#include "sim/base/ids.h"
#include "verbs-shim/conductor/conductor.h"
#include "verbs-shim/conductor/door.h"
#include "verbs-shim/conductor/guard.h"
#include "verbs-shim/conductor/matrix.h"
#include "verbs-shim/conductor/memory.h"
#include "verbs-shim/conductor/output.h"
#include "verbs-shim/sched/sched.h"

#define RUN_CALLERS_MAX (2 * PROTO_CLIENTS_MAX)
#define RUN_ID_BYTES    17

/* A rank's program, which we started. */
struct run_child {
    pid_t pid;
    int pidfd;
    bool is_running;
    bool is_stopped; /* we ended it */
    int status;      /* of waitpid, once it does not run */
    struct output out, err;
};

/* A process that came through the door. */
struct run_caller {
    int fd;
    int pidfd;
    pid_t pid;
    bool is_client; /* it was let in, as `client` */
    bool is_ending; /* it has hung up: fd is its pidfd */
    uint32_t client;
    char program[64];
};

/* Why the watch ended. */
enum run_end {
    RUN_GOES_ON,
    RUN_ALL_ENDED,   /* every rank's program has ended by itself */
    RUN_STUCK,       /* deadlock */
    RUN_OUTSIDE,     /* everybody waits for the outside */
    RUN_STRAY,       /* a rank has the turn and does not come back */
    RUN_DAMAGED,     /* shared memory makes no sense */
    RUN_LOCKED,      /* a client died, or was stopped, inside the scheduler */
    RUN_INTERRUPTED, /* Ctrl-C */
    RUN_UNHEARD,     /* what the ranks print cannot be passed on */
    RUN_HOPELESS,    /* a rank failed, and the others had their time */
    RUN_LIVELOCK,    /* time goes on, and nothing reaches anybody */
    RUN_MISSING,     /* a launcher has started fewer ranks than there are */
};

// NOLINTNEXTLINE(clang-analyzer-optin.performance.Padding): there is one, in a reader's order
struct run {
    const struct scenario *scenario;
    const struct conductor_options *options; /* with everything decided */
    struct conductor_options decided;
    struct arena arena;
    uint32_t rank_count;
    host_id *hosts; /* [rank_count] */
    const char **host_names;
    struct matrix matrix;
    struct proto_agreed agreed[PROTO_RANKS_MAX];
    uint32_t program_count; /* that we start: one a rank, or a launcher */
    const char *paths[PROTO_RANKS_MAX];
    char **argv[PROTO_RANKS_MAX];
    char id[RUN_ID_BYTES];
    const char *mark;   /* "TBMESH_RUN=..." */
    const char *folder; /* private, for this run's files */
    const char *shim_dir;
    char coordinator[32];
    struct guard guard;
    struct door door;
    struct memory memory;
    struct run_child children[PROTO_RANKS_MAX];
    struct run_caller callers[RUN_CALLERS_MAX];
    uint32_t joined[PROTO_RANKS_MAX]; /* clients of the rank so far */
    bool is_client_alive[PROTO_CLIENTS_MAX];
    pid_t client_pid[PROTO_CLIENTS_MAX];
    enum sched_damage damage[PROTO_RANKS_MAX]; /* for which a process of the rank was dropped */
    bool is_absent[PROTO_RANKS_MAX];
    int signal_fd;
    sigset_t signals_before;   /* the mask, once signal_fd is there */
    struct rlimit descriptors; /* the limit that we found, and the ranks get */
    bool knows_descriptors;
    /* What the watch knows. */
    enum sched_state state;
    bool is_outside;
    uint64_t outside_tries;
    uint64_t outside_print; /* of all actors' times: did anything move? */
    int64_t outside_since_ms;
    uint64_t forgiven_commands; /* when time was last let go on without an answer ... */
    uint32_t forgiven_in_vain;  /* ... and how often since nobody did anything */
    uint32_t progress;
    int64_t progress_since_ms; /* somebody got a turn, or moved his own time on */
    simtime latest;            /* time of anybody */
    uint64_t arrivals;
    int64_t arrival_ms;     /* the last one ... */
    simtime arrival_latest; /* ... and the time then */
    int64_t joined_at_ms;   /* the last client so far */
    bool has_warned_waiting;
    uint32_t stray_client; /* with RUN_STRAY and RUN_LOCKED */
    uint64_t stray_ticks;
    int64_t stray_since_ms;
    bool stray_computes;
    char stray_question[PROTO_QUESTION_BYTES]; /* to a name server; "": none */
    pid_t lock_owner;
    bool has_failed; /* a rank failed or was killed ... */
    uint32_t first_failed;
    int64_t failed_at_ms; /* ... at this time */
    int output_error;     /* with RUN_UNHEARD: errno */
    bool has_lost_link;   /* somebody waits on a cable that was cut */
    enum run_end end;
    struct run_outcome *outcome;
};

/* watch.c: until the run is over. */
void run_watch(struct run *run);

/* judge.c: what the outcome says of how it ended; the ranks' programs have ended by now, the
 * scheduler's state is as it was left. */
void run_judge(struct run *run);
/* Puts into words who waits for whom, before the survivors are killed. */
void run_find_waits(struct run *run);
/* The same of those who wait for a rank that is gone, while others may still act. */
void run_find_orphans(struct run *run);
void run_add_finding(struct run *run, bool is_warning, const char *id, const char *where,
                     const char *format, ...) __attribute__((format(printf, 5, 6)));
/* "rank 2 (studio3)" */
const char *run_rank_name(struct run *run, uint32_t rank);

/* quirk_effect.c: what is switched on, and cannot change anything here. */
void run_find_idle_quirks(struct run *run);
/* ... and queue pairs that were idle for too long. */
void run_find_stale(struct run *run);

/* rates.c: what the rank could think that its cables carry; a warning where they cannot. */
void run_measure_rates(struct run *run, struct run_rank *rank);

/* prepare.c: everything that can be found wrong before anything starts. */
bool run_prepare(struct run *run, struct err *reterr);
/* Is it a program that starts ranks, and gives them numbers? */
bool run_is_launcher(const char *command);
/* start.c: makes what the ranks share, and starts them. */
bool run_start(struct run *run, struct err *reterr);

#endif
