/* SPDX-License-Identifier: Apache-2.0 */
/* How a run ended, in words and numbers. */
#define _GNU_SOURCE
#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <glib.h>

#include "sim/base/arena.h"
#include "sim/base/ids.h"
#include "sim/base/mem.h"
#include "sim/base/text.h"
#include "sim/base/units.h"
#include "sim/core/engine.h"
#include "sim/fabric/cluster.h"
#include "sim/fabric/fabric.h"
#include "sim/fabric/model.h"
#include "sim/fabric/param.h"
#include "sim/report/human.h"
#include "sim/scenario/scenario.h"
#include "verbs-shim/conductor/agreed.h"
#include "verbs-shim/conductor/careful.h"
#include "verbs-shim/conductor/conductor.h"
#include "verbs-shim/conductor/lock.h"
#include "verbs-shim/conductor/memory.h"
#include "verbs-shim/conductor/run.h"
#include "verbs-shim/proto/proto.h"
#include "verbs-shim/sched/sched.h"

#define TEXT_MAX      1024
#define FINDINGS_MAX  64U
#define HOLDERS_NAMED 3U /* queue pairs that held-sends names */
#define RETRIES_MANY  5U /* failed RTRs of a port; how many wedge it is not published */

static char *copy(const char *text)
{
    size_t size = strlen(text) + 1;

    return memcpy(mem_alloc_zeroed(size, 1), text, size);
}

void run_add_finding(struct run *run, bool is_warning, const char *id, const char *where,
                     const char *format, ...)
{
    struct run_outcome *outcome = run->outcome;
    char text[TEXT_MAX];
    va_list args;

    va_start(args, format);
    (void)vsnprintf(text, sizeof text, format, args);
    va_end(args);
    if (!outcome->findings)
        outcome->findings = mem_alloc_zeroed(FINDINGS_MAX, sizeof *outcome->findings);
    if (outcome->finding_count == FINDINGS_MAX)
        return; /* the first ones tell enough */
    outcome->findings[outcome->finding_count++] = (struct run_finding){
        .id = copy(id), .where = copy(where), .text = copy(text), .is_warning = is_warning};
}

const char *run_rank_name(struct run *run, uint32_t rank)
{
    return arena_format(&run->arena, "rank %u (%s)", rank, run->host_names[rank]);
}

static bool is_cut(const struct run *run, uint32_t rank, uint32_t device)
{
    uint32_t cable = run->agreed[rank].device[device].cable;

    return cable != ID_NONE &&
           !fabric_cable_is_up(sched_fabric(run->memory.view.sched), (cable_id){cable});
}

/* The cable that this queue pair waits on is cut: says so, once a cable. */
static void describe_cut(struct run *run, const struct sched_qp_info *qp, bool *is_told)
{
    const struct cluster *cluster = &run->scenario->cluster;
    const struct proto_device *device = &run->agreed[qp->rank].device[qp->device];
    const struct cluster_cable *cable = &cluster->cables[device->cable];
    const struct cluster_host *a = &cluster->hosts[cable->a.host.ix];
    const struct cluster_host *b = &cluster->hosts[cable->b.host.ix];

    run->has_lost_link = true;
    if (is_told[device->cable])
        return;
    is_told[device->cable] = true;
    run_add_finding(run, false, "link-lost",
                    arena_format(&run->arena, "%s %s - %s %s", a->name,
                                 a->ports[cable->a.port].model->ifname, b->name,
                                 b->ports[cable->b.port].model->ifname),
                    "the cable was cut at %.3f us; what waits on it gets no completion and no "
                    "error, for ever",
                    (double)device->cut_at / (double)PS_PER_US);
}

static void describe_wait(struct run *run, const struct sched_qp_info *qp)
{
    const char *device = run->agreed[qp->rank].device[qp->device].name;
    const char *peer = qp->peer_rank == ID_NONE ? "nobody" : run_rank_name(run, qp->peer_rank);
    const char *why = "";
    char idle[HUMAN_TEXT_MAX];

    human_span(idle, qp->idle);
    if (qp->is_crossed)
        why = "; the two ends name different cables";
    else if (is_cut(run, qp->rank, qp->device))
        why = "; the cable is cut";
    else if (qp->is_peer_dead)
        why = "; its queue pair is gone";
    else if (qp->idle.ps > 0)
        why = arena_format(&run->arena, "; it was idle for %s, and carries nothing since", idle);
    run_add_finding(run, false, qp->is_crossed ? "crossed-rail" : "deadlock",
                    run_rank_name(run, qp->rank),
                    "%s, queue pair 0x%x: %u sends and %u receives wait for %s%s", device,
                    qp->qp_num, qp->sends_waiting, qp->receives_posted, peer, why);
}

/* Those who wait by reading memory, which nothing that is under way will change. */
static void describe_spinners(struct run *run)
{
    for (uint32_t c = 0; c < run->memory.client_count; c++) {
        uint32_t spinning = 0;

        for (uint32_t k = 0; k < PROTO_CLIENT_ACTORS; k++)
            spinning +=
                sched_actor_info(run->memory.view.sched, c * PROTO_CLIENT_ACTORS + k).state ==
                SCHED_ACTOR_SPIN;
        if (spinning > 0)
            run_add_finding(run, false, "deadlock", run_rank_name(run, c / PROTO_RANK_CLIENTS),
                            "reads memory over and over (%u thread%s), and nothing will change it",
                            spinning, spinning == 1 ? "" : "s");
    }
}

static void conclude(void *ctx)
{
    sched_conclude(ctx);
}

void run_find_waits(struct run *run)
{
    struct sched *s = run->memory.view.sched;
    bool *is_told =
        arena_alloc_array(&run->arena, run->scenario->cluster.cable_count + 1, sizeof *is_told);

    if (!careful_call(conclude, s)) {
        run->end = RUN_DAMAGED;
        return;
    }

    for (uint32_t i = 0; i < sched_qp_count(s); i++) {
        struct sched_qp_info qp = sched_qp_info(s, i);

        if (qp.exists && qp.sends_waiting + qp.receives_posted > 0 &&
            is_cut(run, qp.rank, qp.device))
            describe_cut(run, &qp, is_told);
    }
    for (uint32_t i = 0; i < sched_qp_count(s); i++) {
        struct sched_qp_info qp = sched_qp_info(s, i);

        if (qp.exists && qp.sends_waiting + qp.receives_posted > 0)
            describe_wait(run, &qp);
    }
    describe_spinners(run);
    if (run->outcome->finding_count == 0 && run->end == RUN_STUCK)
        run_add_finding(run, false, "deadlock", "all ranks",
                        "every thread waits, and nothing is posted on any queue pair");
}

void run_find_orphans(struct run *run)
{
    const struct sched *s = run->memory.view.sched;
    bool is_inline = run->options->driver == CONDUCTOR_INLINE;

    if (is_inline && lock_take(&run->memory.hub->lock) != 0)
        return;
    for (uint32_t i = 0; i < sched_qp_count(s); i++) {
        struct sched_qp_info qp = sched_qp_info(s, i);

        if (qp.exists && qp.is_peer_dead && qp.sends_waiting + qp.receives_posted > 0)
            describe_wait(run, &qp);
    }
    if (is_inline)
        lock_give(&run->memory.hub->lock);
}

static void sum_stats(struct proto_stats *sum, const struct proto_stats *stats)
{
    for (size_t i = 0; i < PROTO_CHARGE_COUNT; i++)
        sum->calls[i] += stats->calls[i];
    for (size_t i = 0; i < PROTO_WAIT_COUNT; i++) {
        sum->waits[i] += stats->waits[i];
        /* Any bits may be there: the client writes them. */
        sum->waited[i] = (int64_t)((uint64_t)sum->waited[i] + (uint64_t)stats->waited[i]);
    }
    sum->computed = (int64_t)((uint64_t)sum->computed + (uint64_t)stats->computed);
    sum->folded += stats->folded;
    sum->misfolds += stats->misfolds;
    sum->handovers += stats->handovers;
    sum->opened_device |= stats->opened_device;
}

int64_t run_waited_for_completions(const struct proto_stats *stats, simspan poll_empty)
{
    uint64_t empty = stats->calls[PROTO_CHARGE_POLL_EMPTY] + stats->folded;

    return stats->waited[PROTO_WAIT_COMPLETION] + (int64_t)empty * poll_empty.ps;
}

static void mix(uint64_t *hash, uint64_t x)
{
    *hash = (*hash ^ x) * UINT64_C(0x9e3779b97f4a7c15);
    *hash ^= *hash >> 29;
}

/* Does the scheduler's state still make sense? */
static bool is_whole(const struct run *run)
{
    return run->end != RUN_DAMAGED && run->end != RUN_LOCKED;
}

static int64_t settled_polls(const struct run *run, uint32_t actor)
{
    return is_whole(run) ? sched_actor_info(run->memory.view.sched, actor).settled : 0;
}

static void judge_rank(struct run *run, uint32_t rank)
{
    const struct run_child *child = &run->children[rank];
    struct run_rank *result = &run->outcome->ranks[rank];

    *result = (struct run_rank){
        .rank = rank,
        .host = run->host_names[rank],
        .is_signal = WIFSIGNALED(child->status),
        .is_stopped = child->is_stopped,
        .exit = WIFSIGNALED(child->status) ? WTERMSIG(child->status) : WEXITSTATUS(child->status),
        .argv = g_strdupv(run->argv[rank]),
        .bytes_to = mem_alloc_zeroed(run->rank_count, sizeof *result->bytes_to),
        .messages_to = mem_alloc_zeroed(run->rank_count, sizeof *result->messages_to),
    };
    for (uint32_t to = 0; is_whole(run) && to < run->rank_count; to++) {
        result->bytes_to[to] = sched_bytes(run->memory.view.sched, rank, to);
        result->messages_to[to] = sched_messages(run->memory.view.sched, rank, to);
    }
    if (is_whole(run)) {
        struct sched_held held = sched_held(run->memory.view.sched, rank);

        result->held_sends = held.sends;
        result->held = held.waited;
        result->ended = sched_rank_now(run->memory.view.sched, rank);
    }
    for (uint32_t i = 0; i < run->joined[rank] * PROTO_CLIENT_ACTORS; i++) {
        const struct proto_segment *segment =
            run->memory.view.segments[rank * PROTO_RANK_CLIENTS + i / PROTO_CLIENT_ACTORS];
        const struct proto_stats *stats = &segment->stats[i % PROTO_CLIENT_ACTORS];

        sum_stats(&result->stats, stats);
        /* Modulo 2^64: only the sum with the polls that were made has a meaning. */
        result->stats.folded +=
            (uint64_t)settled_polls(run, rank * PROTO_RANK_CLIENTS * PROTO_CLIENT_ACTORS + i);
        mix(&run->outcome->trace_hash, stats->hash);
    }
    result->opened_device = result->stats.opened_device;
}

static const char *damage_text(enum sched_damage damage)
{
    switch (damage) {
    case SCHED_DAMAGED_RING:
        return "its commands make no sense";
    case SCHED_DAMAGED_CHANNEL:
        return "what a thread of it says makes no sense";
    case SCHED_TOO_MUCH:
        return "it posts more than its queues hold";
    case SCHED_DEAF:
        return "it takes no events";
    case SCHED_WHOLE:
        break;
    }
    return "";
}

/* A program that found or opened no device is told so, however it ended. */
static void find_device(struct run *run, const struct run_rank *rank, const char *name)
{
    const struct cluster_host *host = &run->scenario->cluster.hosts[run->hosts[rank->rank].ix];
    const char *why = agreed_why_no_device(host, &run->options->quirks, &run->arena);

    if (why)
        run_add_finding(run, true, "no-device", name, "has no RDMA device: %s", why);
    else if (!rank->opened_device && !rank->is_stopped && !rank->is_signal && rank->exit == 0)
        run_add_finding(run, true, "no-device", name,
                        "never opened an RDMA device: nothing of it was simulated");
}

/* A loop around a failing RTR, which is harmless here and not on every Mac. */
static void find_retries(struct run *run, const struct run_rank *rank, const char *name)
{
    const struct proto_agreed *agreed = &run->agreed[rank->rank];

    for (uint32_t d = 0; d < agreed->device_count && is_whole(run); d++) {
        uint32_t failed = sched_failed_rtrs(run->memory.view.sched, rank->rank, d);

        if (run->options->profile == PROTO_APPLE && failed >= RETRIES_MANY)
            run_add_finding(run, true, "rtr-retries", name,
                            "RTR on %s failed %u times: on Macs a loop of retries has left the "
                            "port useless until the next start (tmc/gojaccl; --quirk wedge=K)",
                            agreed->device[d].name, failed);
    }
}

/* A queue pair whose sends were held. */
struct holder {
    uint32_t qp;
    struct sched_held held;
};

/* Is `a` named before `b`? Queue pairs are numbered in the order of their making. */
static bool is_worse(const struct holder *a, const struct holder *b)
{
    if (a->held.sends != b->held.sends)
        return a->held.sends > b->held.sends;
    return a->held.waited.ps > b->held.waited.ps;
}

/* The worst first. Returns how many queue pairs held sends; ret[HOLDERS_NAMED] has the first. */
static uint32_t find_holders(const struct sched *s, struct holder *ret)
{
    uint32_t count = 0;

    for (uint32_t i = 0; i < sched_qp_count(s); i++) {
        struct holder next = {i, sched_held_of(s, i)};
        uint32_t at = count < HOLDERS_NAMED ? count : HOLDERS_NAMED;

        if (next.held.sends == 0)
            continue;
        count++;
        for (; at > 0 && is_worse(&next, &ret[at - 1]); at--) {
            if (at < HOLDERS_NAMED)
                ret[at] = ret[at - 1];
        }
        if (at < HOLDERS_NAMED)
            ret[at] = next;
    }
    return count;
}

/* "rank 0 (studio1), rdma_en2, queue pair 0x900 to rank 1 (studio2): 3, 12.0 us; ..." */
static const char *name_holders(struct run *run)
{
    const struct sched *s = run->memory.view.sched;
    struct holder holders[HOLDERS_NAMED];
    uint32_t count = find_holders(s, holders);
    struct text text;

    text_init(&text, &run->arena);
    for (uint32_t i = 0; i < count && i < HOLDERS_NAMED; i++) {
        const struct sched_qp_info qp = sched_qp_info(s, holders[i].qp);
        char span[HUMAN_TEXT_MAX];

        human_span(span, holders[i].held.waited);
        text_add(&text, "%s%s, %s, queue pair 0x%x to %s: %" PRIu64 ", %s", i ? "; " : "",
                 run_rank_name(run, qp.rank), run->agreed[qp.rank].device[qp.device].name,
                 qp.qp_num, qp.peer_rank == ID_NONE ? "nobody" : run_rank_name(run, qp.peer_rank),
                 holders[i].held.sends, span);
    }
    if (count > HOLDERS_NAMED)
        text_add(&text, "; and %u more queue pairs", count - HOLDERS_NAMED);
    return text.bytes;
}

/* Macs hold a message until there is a receive for it, and programs may come to rely on that. */
static void find_held_sends(struct run *run)
{
    const struct run_outcome *outcome = run->outcome;
    uint64_t held = 0;

    for (size_t r = 0; r < outcome->rank_count; r++)
        held += outcome->ranks[r].held_sends;
    if (run->options->profile == PROTO_APPLE && held > 0)
        run_add_finding(run, true, "held-sends", "all ranks",
                        "%" PRIu64 " send%s held for lack of a posted receive: Macs do that, "
                        "RoCE's UC loses such messages (--quirk drop-unmatched); %s",
                        held, held == 1 ? " was" : "s were", name_holders(run));
}

/* Loops that were not what they had seemed when they were folded. */
static void find_misfolds(struct run *run, const struct run_rank *rank, const char *name)
{
    if (rank->stats.misfolds > 0)
        run_add_finding(run, true, "folded-too-early", name,
                        "%u times it did something else than poll on after the empty polls that "
                        "were taken for its whole loop, so that times may be off: --fold 0 is "
                        "exact, and so is a --fold above the polls of one round",
                        rank->stats.misfolds);
}

/* What the rank's own end says; the worst over all ranks counts. */
static enum run_verdict find_rank(struct run *run, const struct run_rank *rank)
{
    const char *name = run_rank_name(run, rank->rank);
    enum sched_damage damage = run->damage[rank->rank];

    find_device(run, rank, name);
    find_retries(run, rank, name);
    find_misfolds(run, rank, name);
    if (damage != SCHED_WHOLE) {
        run_add_finding(run, false, "damaged", name,
                        "was dropped and killed: %s; a program wrote into the emulator's memory",
                        damage_text(damage));
        return RUN_CRASHED;
    }
    if (rank->is_stopped)
        return RUN_OK;
    if (rank->is_signal) {
        run_add_finding(run, false, "rank-killed", name, "ended by signal %d (%s)", rank->exit,
                        g_strsignal(rank->exit));
        return RUN_CRASHED;
    }
    if (rank->exit != 0) {
        run_add_finding(run, false, "rank-failed", name, "exit code %d", rank->exit);
        return RUN_FAILED;
    }
    return RUN_OK;
}

/* Those who have left of their own accord: the others may wait for one of them. */
static void find_leavers(struct run *run, const char *id)
{
    for (size_t r = 0; r < run->outcome->rank_count; r++) {
        const struct run_rank *rank = &run->outcome->ranks[r];

        if (!rank->is_stopped && !rank->is_signal && rank->exit == 0)
            run_add_finding(run, false, id, run_rank_name(run, rank->rank),
                            "had exited with 0 at %.3f us", (double)rank->ended.ps / PS_PER_US);
    }
}

/* Who kept the turn, and why. */
static void find_stray(struct run *run)
{
    const char *name = run_rank_name(run, run->stray_client / PROTO_RANK_CLIENTS);

    if (run->stray_question[0])
        run_add_finding(run, false, "name-server", name, "waits for a name server (%s)",
                        run->stray_question);
    else if (run->stray_computes)
        run_add_finding(run, false, "computes", name,
                        "computes without a call that the clock knows: it may count rounds while "
                        "it waits for memory to change");
    else
        run_add_finding(run, false, "hangs", name,
                        "waits for something that the clock knows nothing of, and keeps everybody "
                        "waiting");
}

static enum run_verdict judge_end(struct run *run)
{
    switch (run->end) {
    case RUN_STUCK:
        return run->has_lost_link ? RUN_LINK_LOST : RUN_DEADLOCK;
    case RUN_OUTSIDE:
        run_add_finding(run, false, "outside", "all ranks",
                        "every thread waits, some for a socket or a process, and nothing comes");
        return run->has_lost_link ? RUN_LINK_LOST : RUN_DEADLOCK;
    case RUN_DAMAGED:
        run_add_finding(run, false, "damaged", "all ranks",
                        "the shared memory makes no sense: a program wrote into it");
        return RUN_CRASHED;
    case RUN_LOCKED:
        run_add_finding(run, false, "lock", "all ranks",
                        "thread %d ended or hung inside the scheduler: it was killed there, or a "
                        "program wrote into the memory that the ranks share",
                        (int)run->lock_owner);
        return RUN_CRASHED;
    case RUN_INTERRUPTED:
        run_add_finding(run, false, "interrupted", "all ranks", "stopped by a signal");
        return RUN_FAILED;
    case RUN_UNHEARD:
        run_add_finding(run, false, "unheard", "all ranks",
                        "stopped, since what they print cannot be passed on: %s",
                        run->output_error == EPIPE ? "its reader has left"
                                                   : g_strerror(run->output_error));
        return RUN_FAILED;
    case RUN_STRAY:
        find_stray(run);
        return RUN_DEADLOCK;
    case RUN_LIVELOCK:
        run_add_finding(run, false, "livelock", "all ranks",
                        "the programs' time has gone on by %.1f s, and nothing has reached any of "
                        "them: they wait, and look at the clock or sleep",
                        (double)(run->latest.ps - run->arrival_latest.ps) / (double)PS_PER_S);
        find_leavers(run, "livelock");
        return RUN_DEADLOCK;
    case RUN_MISSING:
        run_add_finding(run, false, "missing", "all ranks",
                        "the launcher has started fewer ranks than take part: give --ranks and the "
                        "launcher the same number");
        return RUN_DEADLOCK;
    case RUN_GOES_ON:
    case RUN_ALL_ENDED:
    case RUN_HOPELESS:
        break;
    }
    return RUN_OK;
}

/* What the fabric and its engine counted. */
static void take_counters(const struct run *run, struct run_outcome *outcome)
{
    struct fabric *fabric = sched_fabric(run->memory.view.sched);

    outcome->virtual_end = sched_now(run->memory.view.sched);
    outcome->trace_hash = sched_hash(run->memory.view.sched);
    outcome->events = engine_event_count(fabric_engine(fabric));
    outcome->digest = engine_digest(fabric_engine(fabric));
    outcome->link_count = fabric_link_count(fabric);
    outcome->links = mem_alloc_zeroed(outcome->link_count + 1, sizeof *outcome->links);
    for (uint32_t i = 0; i < outcome->link_count; i++)
        outcome->links[i] = fabric_link_counters(fabric, (link_id){i});
}

/*
 * A parameter of which no rank made a call could not change the result. Neither could the side
 * channel's latency where nobody had to wait for it. The number of frames that a queue is granted
 * is told to whoever makes a queue pair of that kind.
 */
static void find_effects(const struct run *run, struct run_outcome *outcome)
{
    bool *had = outcome->had_effect;

    for (uint32_t i = 0; i < PARAM_COUNT; i++)
        had[i] = fabric_param_had_effect(sched_fabric(run->memory.view.sched), (enum param_id)i);
    for (size_t r = 0; r < outcome->rank_count; r++) {
        const struct proto_stats *stats = &outcome->ranks[r].stats;

        for (uint32_t i = 0; i < PROTO_CHARGE_COUNT; i++)
            had[agreed_charge_source((enum proto_charge)i)] |= stats->calls[i] > 0;
        had[PARAM_CPU_POLL_EMPTY] |= stats->folded > 0;
        had[PARAM_SIDE_LATENCY] |= stats->waits[PROTO_WAIT_OUTSIDE] > 0;
    }
    /* A poll that finds something looks at the end of an empty one's time. */
    had[PARAM_CPU_POLL_EMPTY] |= had[PARAM_RDMA_POLL];
    had[PARAM_RDMA_QUEUE_FRAMES] |=
        run->options->profile == PROTO_APPLE && sched_qp_count(run->memory.view.sched) > 0;
}

void run_judge(struct run *run)
{
    struct run_outcome *outcome = run->outcome;
    enum run_verdict worst = RUN_OK;

    outcome->rank_count = run->rank_count;
    outcome->ranks = mem_alloc_zeroed(run->rank_count, sizeof *outcome->ranks);
    outcome->options = *run->options;
    outcome->options.fold_after = (int32_t)run->agreed[0].fold_after;
    outcome->poll_empty = (simspan){run->agreed[0].charge[PROTO_CHARGE_POLL_EMPTY]};
    if (is_whole(run))
        take_counters(run, outcome);
    outcome->is_reproducible = run->options->compute != CONDUCTOR_COMPUTE_MEASURED;
    outcome->is_partial = run->end == RUN_INTERRUPTED || run->end == RUN_UNHEARD;
    for (uint32_t r = 0; r < run->rank_count; r++) {
        enum run_verdict own;

        judge_rank(run, r);
        if (is_whole(run))
            run_measure_rates(run, &outcome->ranks[r]);
        own = find_rank(run, &outcome->ranks[r]);
        if (own > worst)
            worst = own;
    }
    find_held_sends(run);
    run_find_idle_quirks(run);
    if (is_whole(run))
        run_find_stale(run);
    /* A rank that failed is the reason for what became of those who waited for it. */
    outcome->verdict = judge_end(run);
    if (worst != RUN_OK)
        outcome->verdict = worst;
    if (is_whole(run))
        find_effects(run, outcome);
}
