/* SPDX-License-Identifier: Apache-2.0 */
/*
 * DOC: Starting a run
 *
 * In this order: the guard, so that whatever follows is cleaned up; a private folder; the shared
 * memory with the scheduler in it; the door; the ranks. Everything before the ranks can fail
 * without a trace.
 *
 * What a rank finds in its environment: TBMESH_SOCKET, TBMESH_RANK and TBMESH_RUN for the shim;
 * LD_PRELOAD and LD_LIBRARY_PATH, which bring it in; TBMESH_TREE, files that stand for devices; and
 * what MLX's launcher would give JACCL, under both generations of names: rank, device matrix,
 * coordinator, and the wish for a ring where there is no mesh.
 */
#define _GNU_SOURCE

#include <netinet/in.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <glib.h>

#include "sim/base/arena.h"
#include "sim/base/err.h"
#include "sim/base/ids.h"
#include "sim/fabric/cluster.h"
#include "sim/fabric/fabric.h"
#include "sim/fabric/quirk.h"
#include "sim/scenario/quirk.h"
#include "sim/scenario/scenario.h"
#include "sim/workload/run.h"
#include "verbs-shim/conductor/conductor.h"
#include "verbs-shim/conductor/device_tree.h"
#include "verbs-shim/conductor/door.h"
#include "verbs-shim/conductor/guard.h"
#include "verbs-shim/conductor/lack.h"
#include "verbs-shim/conductor/launch.h"
#include "verbs-shim/conductor/matrix.h"
#include "verbs-shim/conductor/memory.h"
#include "verbs-shim/conductor/output.h"
#include "verbs-shim/conductor/run.h"
#include "verbs-shim/conductor/tree.h"
#include "verbs-shim/proto/proto.h"
#include "verbs-shim/sched/sched.h"

#define DESCRIPTORS_WANTED 2048U
#define RANK_TEXT_MAX      12

static bool make_folder_in(struct run *run, const char *base)
{
    char *folder = arena_format(&run->arena, "%s/tbmesh-XXXXXX", base);

    if (!mkdtemp(folder))
        return false;
    run->folder = folder;
    return true;
}

/* Small files for as long as the run lasts. A container may have /tmp for reading only. */
static bool make_folder(struct run *run, struct err *reterr)
{
    const char *base = g_getenv("TMPDIR");

    if (base && *base == '/')
        return make_folder_in(run, base) || lack_report_path(base, reterr);
    return make_folder_in(run, "/tmp") || make_folder_in(run, "/var/tmp") ||
           make_folder_in(run, "/dev/shm") || lack_report_path("/tmp", reterr);
}

static bool write_matrix(struct run *run, struct err *reterr)
{
    const char *path = arena_format(&run->arena, "%s/devices.json", run->folder);
    FILE *file;
    bool ok;

    if (!run->matrix.json)
        return true;
    file = fopen(path, "we");
    ok = file && fputs(run->matrix.json, file) >= 0;
    if (file)
        ok &= fclose(file) == 0;
    return ok || lack_report_path(path, reterr);
}

/* Each client costs us seven descriptors at most; the ranks start with the limit as it was. */
static void raise_descriptors(struct run *run)
{
    struct rlimit limit;

    run->knows_descriptors = getrlimit(RLIMIT_NOFILE, &run->descriptors) == 0;
    if (!run->knows_descriptors)
        return;
    limit = run->descriptors;
    if (limit.rlim_cur < DESCRIPTORS_WANTED)
        limit.rlim_cur = limit.rlim_max < DESCRIPTORS_WANTED ? limit.rlim_max : DESCRIPTORS_WANTED;
    (void)setrlimit(RLIMIT_NOFILE, &limit);
}

static void schedule_faults(const struct run *run, struct fabric *fabric)
{
    const struct scenario *scenario = run->scenario;

    for (size_t i = 0; i < scenario->fault_count; i++) {
        const struct fault *fault = &scenario->faults[i];

        if (fault->kind == FAULT_RATE) {
            fabric_schedule_rate(fabric, fault->at, fault->cable, fault->rate_forward,
                                 fault->rate_reverse);
            continue;
        }
        for (uint32_t c = 0; c < scenario->cluster.cable_count; c++) {
            if (fault->cable.ix == ID_NONE || fault->cable.ix == c)
                fabric_set_frame_faults(fabric, (cable_id){c}, fault->loss_ppb, fault->corrupt_ppb);
        }
    }
}

static bool build_scheduler(struct run *run, struct err *reterr)
{
    const struct conductor_options *options = run->options;
    const struct quirks *quirks = &options->quirks;
    long cores = sysconf(_SC_NPROCESSORS_ONLN);
    const struct sched_config config = {
        .cluster = &run->scenario->cluster,
        .params = &run->scenario->params,
        .agreed = run->agreed,
        .hosts = run->hosts,
        .rank_count = run->rank_count,
        .seed = run->scenario->seed,
        .has_jitter = run->scenario->has_jitter,
        .unmatched = quirk_is_on(quirks, QUIRK_DROP) || quirk_is_on(quirks, QUIRK_FAIL)
                         ? FABRIC_DROP
                         : FABRIC_HOLD,
        .fails_unmatched = quirk_is_on(quirks, QUIRK_FAIL),
        .sends_complete_early = quirk_is_on(quirks, QUIRK_EARLY),
        .wedge_after = quirks->wedge_after,
        .idle_after = quirks->idle_after,
        .idle_wake = quirks->idle_wake,
        .stale_after = quirks->stale_after,
        .fault_capacity = (uint32_t)run->scenario->fault_count + 1,
        .max_running = options->is_parallel ? (uint32_t)(cores > 2 ? cores : 2) : 1,
        .lease_cap = options->lease_cap,
    };

    if (!memory_make(&run->memory, sched_mem_size(&config), run->rank_count * PROTO_RANK_CLIENTS,
                     reterr))
        return false;
    run->memory.hub->magic = PROTO_MAGIC;
    run->memory.hub->version = PROTO_VERSION;
    run->memory.hub->rank_count = run->rank_count;
    run->memory.hub->client_count = run->memory.client_count;
    run->memory.view.sched = sched_init((char *)run->memory.hub + PROTO_HUB_BYTES, &config);
    schedule_faults(run, sched_fabric(run->memory.view.sched));
    return true;
}

/* A Mac has no files of devices; Linux programs look for them. */
static bool make_trees(struct run *run, struct err *reterr)
{
    const char *cpuinfo = tree_cpuinfo(&run->arena);
    bool ok = true;

    for (uint32_t r = 0; ok && r < run->rank_count; r++) {
        const char *root = arena_format(&run->arena, "%s/tree-%u", run->folder, r);

        ok = tree_make(root, cpuinfo, reterr) && (run->options->profile != PROTO_VERBS ||
                                                  device_tree_make(root, &run->agreed[r], reterr));
    }
    return ok;
}

/* Where JACCL's rank 0 will listen. Nobody else takes the port meanwhile, in practice. */
static bool choose_coordinator(struct run *run, struct err *reterr)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t size = sizeof address;
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    bool ok = fd >= 0 && bind(fd, (const struct sockaddr *)&address, size) == 0 &&
              getsockname(fd, (struct sockaddr *)&address, &size) == 0;

    if (!ok)
        (void)lack_report("no free TCP port on 127.0.0.1", reterr);
    if (fd >= 0)
        (void)close(fd);
    (void)snprintf(run->coordinator, sizeof run->coordinator, "127.0.0.1:%u",
                   ntohs(address.sin_port));
    return ok;
}

static bool watch_signals(struct run *run, struct err *reterr)
{
    static const int numbers[] = {SIGINT, SIGTERM, SIGHUP};
    sigset_t set;

    (void)sigemptyset(&set);
    for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++) {
        struct sigaction action;

        if (sigaction(numbers[i], NULL, &action) == 0 && action.sa_handler != SIG_IGN)
            (void)sigaddset(&set, numbers[i]);
    }
    (void)pthread_sigmask(SIG_BLOCK, &set, &run->signals_before);
    run->signal_fd = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
    return run->signal_fd >= 0 || lack_report("signalfd", reterr);
}

/* Two digits a byte, first processors first. */
static const char *cpus_as_hex(struct arena *arena)
{
    unsigned char mask[128] = {0};
    char text[2 * sizeof mask + 1] = "";
    cpu_set_t set;

    if (sched_getaffinity(0, sizeof set, &set) != 0)
        return NULL;
    memcpy(mask, &set, sizeof mask);
    for (size_t i = 0; i < sizeof mask; i++)
        (void)snprintf(text + 2 * i, 3, "%02x", mask[i]);
    return arena_format(arena, "%s", text);
}

static char **make_environment(struct run *run, uint32_t rank)
{
    struct arena *arena = &run->arena;
    /* Ranks of a launcher have its numbers. */
    const char *number = run->options->is_launcher ? NULL : arena_format(arena, "%u", rank);
    const char *devices =
        run->matrix.json ? arena_format(arena, "%s/devices.json", run->folder) : NULL;
    const char *ring = run->matrix.is_ring ? "1" : NULL;
    const char *preload =
        arena_format(arena, "%s/libtbmesh.so:%s/libibverbs.so.1", run->shim_dir, run->shim_dir);
    const struct launch_variable variables[] = {
        {PROTO_ENV_SOCKET, run->door.name},
        {PROTO_ENV_RANK, number},
        {PROTO_ENV_RUN, run->id},
        {PROTO_ENV_TREE, arena_format(arena, "%s/tree-", run->folder)},
        {PROTO_ENV_CPUS, cpus_as_hex(arena)},
        {"LD_PRELOAD", launch_prepend("LD_PRELOAD", preload, ":", arena)},
        {"LD_LIBRARY_PATH", launch_prepend("LD_LIBRARY_PATH", run->shim_dir, ":", arena)},
        {"MLX_RANK", number},
        {"JACCL_RANK", number},
        {"MLX_IBV_DEVICES", devices},
        {"JACCL_IBV_DEVICES", devices},
        {"MLX_JACCL_COORDINATOR", run->coordinator},
        {"MLX_IBV_COORDINATOR", run->coordinator}, /* MLX of 2025-12 */
        {"JACCL_COORDINATOR", run->coordinator},
        {"MLX_JACCL_RING", ring},
        {"JACCL_RING", ring},
    };

    return launch_environment(variables, sizeof variables / sizeof variables[0], arena);
}

static bool open_outputs(struct run *run, uint32_t rank, struct err *reterr)
{
    const struct conductor_options *options = run->options;
    struct run_child *child = &run->children[rank];
    int out = options->prints_to_stderr ? STDERR_FILENO : STDOUT_FILENO;
    const char *name = options->is_launcher ? "launcher" : run->host_names[rank];

    if (options->log_dir)
        return output_open_file(&child->out,
                                arena_format(&run->arena, "%s/rank-%u.out", options->log_dir, rank),
                                reterr) &&
               output_open_file(&child->err,
                                arena_format(&run->arena, "%s/rank-%u.err", options->log_dir, rank),
                                reterr);
    child->out.stop_fd = child->err.stop_fd = run->signal_fd;
    return output_open_pipe(&child->out, name, options->is_quiet ? -1 : out, reterr) &&
           output_open_pipe(&child->err, name, options->is_quiet ? -1 : STDERR_FILENO, reterr);
}

static bool start_rank(struct run *run, uint32_t rank, struct err *reterr)
{
    struct run_child *child = &run->children[rank];
    struct launch launch = {
        .path = run->paths[rank],
        .argv = run->argv[rank],
        .envp = make_environment(run, rank),
        .keeps_aslr = run->options->keeps_aslr,
        .descriptors = run->knows_descriptors ? &run->descriptors : NULL,
    };

    if (!open_outputs(run, rank, reterr))
        return false;
    launch.out_fd = child->out.write_fd;
    launch.err_fd = child->err.write_fd;
    child->is_running = launch_start(&launch, &child->pid, &child->pidfd, reterr);
    output_started(&child->out);
    output_started(&child->err);
    return child->is_running;
}

bool run_start(struct run *run, struct err *reterr)
{
    const char *name;
    bool ok;

    if (!make_folder(run, reterr))
        return false;
    name = arena_format(&run->arena, "tbmesh-%s", run->id);
    raise_descriptors(run);
    ok = guard_start(&run->guard, run->mark, run->folder, reterr) && write_matrix(run, reterr) &&
         make_trees(run, reterr) && build_scheduler(run, reterr) &&
         door_open(&run->door, name, reterr) && choose_coordinator(run, reterr) &&
         watch_signals(run, reterr);
    for (uint32_t r = 0; ok && r < run->program_count; r++)
        ok = start_rank(run, r, reterr);
    return ok;
}
