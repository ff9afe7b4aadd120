/* SPDX-License-Identifier: Apache-2.0 */
/* Runs real programs on a scenario's Macs: launches them, serves their shims, judges the end. */
#ifndef VERBS_SHIM_CONDUCTOR_CONDUCTOR_H
#define VERBS_SHIM_CONDUCTOR_CONDUCTOR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sim/base/err.h"
#include "sim/base/units.h"
#include "sim/fabric/fabric.h"
#include "sim/fabric/param.h"
#include "sim/scenario/quirk.h"
#include "sim/scenario/scenario.h"
#include "verbs-shim/proto/proto.h"

enum conductor_driver {
    CONDUCTOR_INLINE,    /* the actor that parks runs the scheduler: twice as fast */
    CONDUCTOR_CONDUCTOR, /* this process does, over memory that no client can reach */
};

/* What a program's own work between its calls costs. */
enum conductor_compute {
    CONDUCTOR_COMPUTE_ZERO,
    CONDUCTOR_COMPUTE_FIXED,    /* a span on top of each call's cost */
    CONDUCTOR_COMPUTE_MEASURED, /* its processor time here, times a factor: not reproducible */
};

/* A factor for measured work, in thousandths, at most: a thousand seconds of work fit. */
#define CONDUCTOR_PERMILLE_MAX 1000000

struct conductor_options {
    enum proto_profile profile;
    enum proto_variant variant;
    struct quirks quirks;
    enum conductor_driver driver;
    bool is_parallel;
    bool keeps_aslr;
    bool has_lids;         /* profile `verbs` over InfiniBand: ports have LIDs */
    bool is_launcher;      /* the one command starts the ranks itself, as mpirun does */
    bool is_quiet;         /* no output of ranks */
    bool prints_to_stderr; /* what ranks print on stdout as well: stdout is for the result */
    uint32_t patience_s;   /* of wall time, for what does not move; 0: the default */
    int32_t spin;          /* -1: where actors fit the cores */
    int32_t cpu;           /* that all ranks share; decided by conductor_run */
    int32_t fold_after;    /* -1: default, 0: never */
    simspan lease_cap;     /* zero: none */
    enum conductor_compute compute;
    simspan compute_fixed;     /* FIXED */
    uint32_t compute_permille; /* MEASURED: 1 to CONDUCTOR_PERMILLE_MAX */
    uint32_t ranks;            /* 0: one for each Mac of the scenario */
    const char *log_dir;       /* NULL: output goes to stdout and stderr, each line with its rank */
    const char *shim_dir;      /* NULL: beside the program */
    char *const *const *argv;  /* of each rank, NULL-terminated; one entry: the same for all */
    size_t argv_count;
    const char *program_name; /* of this process, for messages */
};

enum run_verdict {
    RUN_OK,
    RUN_FAILED,
    RUN_DEADLOCK,
    RUN_LINK_LOST, /* the same, and a cable was cut on which somebody waits */
    RUN_FINDING,
    RUN_CRASHED
};

struct run_finding {
    char *id;    /* "deadlock", "rank-killed", "no-device", ... */
    char *where; /* "rank 2 (studio3)" */
    char *text;
    bool is_warning; /* does not decide the verdict */
};

/* The highest rate that a program could compute from completions of its sends on a device. */
struct run_rate {
    char device[PROTO_NAME_BYTES];
    uint32_t messages;
    bitrate seen;
    bitrate delivered; /* of the same messages, at the other end */
    bitrate line;      /* of the cable */
};

struct run_rank {
    uint32_t rank;
    const char *host; /* borrowed from the scenario */
    bool is_signal;
    bool is_stopped; /* by us, when the run was over */
    int exit;        /* exit code, or the signal's number */
    bool opened_device;
    simtime ended;            /* the latest time of any of its threads */
    struct proto_stats stats; /* summed over the threads of the rank's processes */
    char **argv;              /* with all words replaced */
    uint64_t *bytes_to;       /* rank_count entries */
    uint64_t *messages_to;
    uint64_t held_sends;                      /* that waited for a receive ... */
    simspan held;                             /* ... so long in all */
    struct run_rate rates[PROTO_DEVICES_MAX]; /* of devices with more than one message in a row */
    uint32_t rate_count;
};

struct run_outcome {
    enum run_verdict verdict;
    simtime virtual_end;
    uint64_t trace_hash;
    struct conductor_options options; /* as the run had them; what they point to is borrowed */
    struct run_rank *ranks;
    size_t rank_count;
    simspan poll_empty;      /* what an empty poll took */
    uint64_t events, digest; /* of the engine */
    struct fabric_link_counters *links;
    size_t link_count; /* in the order of link_id; 0: what programs damaged cannot be counted */
    struct run_finding *findings;
    size_t finding_count;
    bool is_reproducible;
    bool is_partial; /* stopped by Ctrl-C and the like */
    bool had_effect[PARAM_COUNT];
};

/*
 * Returns: true and *ret, to be freed by run_outcome_done, also when the programs failed;
 *          false and *reterr when nothing could be started (exit 2), or with ERR_MEMORY when it
 *          was the fault of this computer or of ours (exit 4).
 */
bool conductor_run(const struct scenario *scenario, const struct conductor_options *options,
                   struct run_outcome *ret, struct err *reterr);
void run_outcome_done(struct run_outcome *outcome);

/* Virtual time in which a rank's threads found no completion, or slept until there was one. */
int64_t run_waited_for_completions(const struct proto_stats *stats, simspan poll_empty);

#endif
