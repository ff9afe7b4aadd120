/* SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE

#include <errno.h>
#include <sched.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include <glib.h>

#include "sim/base/arena.h"
#include "sim/base/err.h"
#include "sim/base/ids.h"
#include "sim/fabric/cluster.h"
#include "sim/scenario/scenario.h"
#include "verbs-shim/conductor/agreed.h"
#include "verbs-shim/conductor/conductor.h"
#include "verbs-shim/conductor/matrix.h"
#include "verbs-shim/conductor/program.h"
#include "verbs-shim/conductor/run.h"
#include "verbs-shim/conductor/words.h"
#include "verbs-shim/proto/proto.h"

#define SPIN_ROUNDS 2000 /* about as long as the kernel takes to wake somebody up */

static const struct src_pos nowhere = {0};

/* A spinning rank helps only while it takes no core from the one that has the turn. */
static int32_t choose_spin(const struct run *run)
{
    long cores = sysconf(_SC_NPROCESSORS_ONLN);

    if (run->decided.spin >= 0)
        return run->decided.spin;
    return (long)run->rank_count <= cores ? SPIN_ROUNDS : 0;
}

/*
 * One processor for all ranks where they take turns anyway and nobody waits awake: waking somebody
 * there costs a change of tasks, and elsewhere an interrupt to a processor that may be asleep, two
 * to three times as much. Runs side by side take different ones. -1: leave it to the kernel.
 */
static int32_t choose_cpu(const struct run *run)
{
    cpu_set_t set;
    int skip;

    if (run->decided.is_parallel || run->decided.spin > 0 ||
        sched_getaffinity(0, sizeof set, &set) != 0)
        return -1;
    skip = getpid() % CPU_COUNT(&set);
    for (int32_t cpu = 0; cpu < CPU_SETSIZE; cpu++) {
        if (CPU_ISSET((size_t)cpu, &set) && skip-- == 0)
            return cpu;
    }
    return -1;
}

bool run_is_launcher(const char *command)
{
    static const char *const names[] = {"mpirun",          "mpiexec",      "mpirun.openmpi",
                                        "mpiexec.openmpi", "mpirun.mpich", "mpiexec.mpich",
                                        "mpiexec.hydra",   "orterun",      "prterun"};
    const char *slash = strrchr(command, '/');

    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        if (strcmp(slash ? slash + 1 : command, names[i]) == 0)
            return true;
    }
    return false;
}

static bool prepare_commands(struct run *run, struct err *reterr)
{
    const struct conductor_options *options = run->options;

    run->program_count = options->is_launcher ? 1 : run->rank_count;
    if (options->argv_count > run->program_count)
        return err_set(reterr, ERR_LIMIT, nowhere, "%zu commands for %u rank%s",
                       options->argv_count, run->rank_count, run->rank_count == 1 ? "" : "s");
    for (uint32_t r = 0; r < run->program_count; r++) {
        size_t which = r < options->argv_count ? r : options->argv_count - 1;
        const struct words_rank words = {r, run->rank_count, run->host_names};

        if (!words_replace(options->argv[which], &words, &run->arena, &run->argv[r], reterr) ||
            !program_find(run->argv[r][0], &run->arena, &run->paths[r], reterr))
            return false;
    }
    for (uint32_t r = run->program_count; r < run->rank_count; r++)
        run->argv[r] = run->argv[0]; /* for the result */
    return true;
}

static bool is_shim_dir(struct run *run, const char *folder)
{
    const char *file = arena_format(&run->arena, "%s/libtbmesh.so", folder);

    return access(file, R_OK) == 0;
}

static bool find_shim(struct run *run, struct err *reterr)
{
    static const char *const places[] = {
        "../lib/tbmesh",
        "../lib64/tbmesh",
#if defined(__x86_64__)
        "../lib/x86_64-linux-gnu/tbmesh",
#else
        "../lib/aarch64-linux-gnu/tbmesh",
#endif
        "."
    };
    char self[4096];
    ssize_t length = readlink("/proc/self/exe", self, sizeof self - 1);
    char *slash;

    run->shim_dir = run->options->shim_dir;
    self[length > 0 ? length : 0] = '\0';
    slash = strrchr(self, '/');
    if (slash)
        *slash = '\0';
    for (size_t i = 0; !run->shim_dir && i < sizeof places / sizeof places[0]; i++) {
        char *folder = realpath(arena_format(&run->arena, "%s/%s", self, places[i]), NULL);

        if (folder && is_shim_dir(run, folder))
            run->shim_dir = arena_format(&run->arena, "%s", folder);
        free(folder);
    }
    if (!run->shim_dir || !is_shim_dir(run, run->shim_dir))
        return err_set(reterr, ERR_MEMORY, nowhere,
                       "libtbmesh.so, which goes into the programs, is not in %.120s/%s",
                       run->shim_dir ? run->shim_dir : self, run->shim_dir ? "" : places[0]);
    if (strpbrk(run->shim_dir, " :;"))
        return err_set(reterr, ERR_MEMORY, nowhere,
                       "the loader cannot preload from '%.150s': move it to a path without spaces, "
                       "colons and semicolons",
                       run->shim_dir);
    return true;
}

static bool make_log_dir(const struct run *run, struct err *reterr)
{
    if (!run->options->log_dir || mkdir(run->options->log_dir, 0777) == 0 || errno == EEXIST)
        return true;
    return err_set(reterr, ERR_REFERENCE, nowhere, "%.200s: %s", run->options->log_dir,
                   g_strerror(errno));
}

static bool choose_id(struct run *run, struct err *reterr)
{
    unsigned long long bits;

    if (getrandom(&bits, sizeof bits, 0) != (ssize_t)sizeof bits)
        return err_set(reterr, ERR_MEMORY, nowhere, "getrandom: %s", g_strerror(errno));
    (void)snprintf(run->id, sizeof run->id, "%016llx", bits);
    run->mark = arena_format(&run->arena, "%s=%s", PROTO_ENV_RUN, run->id);
    return true;
}

bool run_prepare(struct run *run, struct err *reterr)
{
    if (!matrix_place_ranks(run->scenario, run->decided.ranks, &run->arena, &run->matrix, reterr))
        return false;
    run->hosts = run->matrix.hosts;
    run->rank_count = run->matrix.rank_count;
    run->decided.ranks = run->rank_count;
    if (run->options->argv_count == 1 && run->options->argv[0][0])
        run->decided.is_launcher |= run_is_launcher(run->options->argv[0][0]);
    run->decided.spin = choose_spin(run);
    run->decided.cpu = choose_cpu(run);
    run->host_names = arena_alloc_array(&run->arena, run->rank_count, sizeof *run->host_names);
    for (uint32_t r = 0; r < run->rank_count; r++) {
        const struct cluster_host *host = &run->scenario->cluster.hosts[run->hosts[r].ix];

        if (!agreed_check_names(host, reterr))
            return false;
        run->host_names[r] = host->name;
        agreed_fill(run->scenario, run->options, run->hosts, r, &run->agreed[r]);
    }
    return prepare_commands(run, reterr) && find_shim(run, reterr) && make_log_dir(run, reterr) &&
           choose_id(run, reterr);
}
