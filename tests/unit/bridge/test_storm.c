/* SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>
#include <stdlib.h>

#include <criterion/criterion.h>

#include "sim/base/ids.h"
#include "sim/bridge/storm.h"
#include "tests/unit/fabric/support/bench_cluster.h"

#define ACTIONS_MAX 8U

/* Software of round numbers: 250,000 frames a second, 3 us of a core each. */
static const struct storm_model model = {
    .forward_rate = 250000,
    .backlog = 64,
    .queue = 64,
    .latency = {PS_PER_US},
    .age = {1200 * PS_PER_S},
    .cpu_frame = {3 * PS_PER_US},
    .cpu_drop = {PS_PER_US / 2},
};

struct lab {
    struct bench_cluster bench;
    struct storm_input input;
    struct storm_source source;
    struct storm_action actions[ACTIONS_MAX];
    struct storm_ping ping;
    struct arena arena;
    struct storm_result result;
};

static void lab_init(struct lab *lab, uint32_t hosts)
{
    *lab = (struct lab){0};
    bench_cluster_init(&lab->bench, hosts);
    for (uint32_t h = 0; h < hosts; h++) {
        for (uint32_t p = 0; p < BENCH_PORTS; p++)
            lab->bench.ports[h][p].is_bridge_member = true;
    }
    lab->source = (struct storm_source){.kind = STORM_SOURCE_ARP};
    lab->input = (struct storm_input){
        .cluster = &lab->bench.cluster,
        .model = &model,
        .sources = &lab->source,
        .source_count = 1,
        .actions = lab->actions,
        .duration = {PS_PER_S},
        .seed = 1,
    };
}

static void lab_ring(struct lab *lab)
{
    for (uint32_t i = 0; i < lab->bench.cluster.host_count; i++)
        (void)bench_cluster_add_cable(&lab->bench, i,
                                      (i + 1) % (uint32_t)lab->bench.cluster.host_count);
}

static void lab_mesh(struct lab *lab)
{
    for (uint32_t a = 0; a < lab->bench.cluster.host_count; a++) {
        for (uint32_t b = a + 1; b < lab->bench.cluster.host_count; b++)
            (void)bench_cluster_add_cable(&lab->bench, a, b);
    }
}

static void lab_act(struct lab *lab, enum storm_action_kind kind, int64_t at_ps, uint32_t what)
{
    struct storm_action *action = &lab->actions[lab->input.action_count++];

    *action = (struct storm_action){.kind = kind, .at = {at_ps}};
    if (kind == STORM_DESTROY)
        action->host.ix = what;
    else
        action->cable.ix = what;
    if (kind == STORM_MEMBER)
        action->host = lab->bench.cables[what].a.host;
}

/* Ten times a second. */
static void lab_ping(struct lab *lab, uint32_t from, uint32_t to)
{
    lab->ping = (struct storm_ping){.from = {from}, .to = {to}, .period = {PS_PER_S / 10}};
    lab->input.pings = &lab->ping;
    lab->input.ping_count = 1;
}

static void lab_run(struct lab *lab)
{
    arena_init(&lab->arena);
    storm_run(&lab->input, &lab->arena, &lab->result);
}

static void lab_done(struct lab *lab)
{
    arena_done(&lab->arena);
}

/* A chain: each broadcast crosses each cable once, and pings come back. */
Test(storm, no_loop_no_storm)
{
    struct lab lab;

    lab_init(&lab, 4);
    for (uint32_t i = 0; i < 3; i++)
        (void)bench_cluster_add_cable(&lab.bench, i, i + 1);
    lab.source.period.ps = PS_PER_S / 100;
    lab_ping(&lab, 0, 3);
    lab_run(&lab);
    cr_expect_not(lab.result.is_storm);
    cr_expect_eq(lab.result.began.ps, SIMTIME_NEVER_PS);
    cr_expect_eq(lab.result.saturated_at.ps, SIMTIME_NEVER_PS);
    cr_expect_eq(lab.result.broadcasts, 100);
    cr_expect_eq(lab.result.pings[0].sent, 10);
    cr_expect_eq(lab.result.pings[0].lost, 0);
    cr_expect_eq(lab.result.drops, 0);
    lab_done(&lab);
}

/* Two copies of each broadcast circulate: the rate grows with each, and cutting any cable ends it.
 */
Test(storm, a_ring_grows_with_each_broadcast_and_ends_with_any_cable)
{
    const struct storm_model hardware = {.queue = 64, .latency = {PS_PER_US}};
    const int64_t hop_ps = PS_PER_US + 6400; /* and 64 bytes at 80 Gb/s */

    for (uint32_t cable = 0; cable < 3; cable++) {
        struct lab lab;
        const struct storm_result *result = &lab.result;
        uint64_t hops = 0;

        lab_init(&lab, 3);
        lab_ring(&lab);
        lab.input.model = &hardware;
        lab.source.period.ps = 10 * PS_PER_MS;
        lab.source.count = 4;
        lab.input.duration.ps = 100 * PS_PER_MS;
        lab_act(&lab, STORM_PULL, 50 * PS_PER_MS, cable);
        lab_run(&lab);
        cr_expect(result->is_storm);
        cr_expect_eq(result->saturated_at.ps, SIMTIME_NEVER_PS);
        cr_expect_eq(result->fluid_count, 0);
        cr_expect_geq(result->recovered_at.ps, 50 * PS_PER_MS);
        cr_expect_leq(result->recovered_at.ps, 50 * PS_PER_MS + 2 * hop_ps);
        for (int64_t i = 0; i < 4; i++)
            hops += 2 * (uint64_t)((50 * PS_PER_MS - i * 10 * PS_PER_MS) / hop_ps);
        cr_expect(result->frames >= hops && result->frames <= hops + 16,
                  "%" PRIu64 " of %" PRIu64 ", and a way or two after the cut", result->frames,
                  hops);
        lab_done(&lab);
    }
}

Test(storm, a_mesh_saturates_and_its_cpus_say_so)
{
    struct lab lab;

    lab_init(&lab, 7);
    lab_mesh(&lab);
    lab.input.duration.ps = 60 * PS_PER_S;
    lab_run(&lab);
    cr_expect(lab.result.is_storm);
    cr_expect_lt(lab.result.saturated_at.ps, 20 * PS_PER_MS);
    cr_expect_eq(lab.result.fluid_count, 1);
    for (uint32_t i = 0; i < 7; i++) {
        const struct storm_host *host = &lab.result.hosts[i];
        uint64_t arriving = 6 * UINT64_C(250000) * 5 / 6 * 60;

        cr_expect(host->taken > 14990000 && host->taken < 15010000, "%" PRIu64, host->taken);
        cr_expect(host->drops > (arriving - 15000000) / 1000 * 998 &&
                      host->drops < (arriving - 15000000) / 1000 * 1002,
                  "%" PRIu64, host->drops);
        /* 250,000 taken at 3 us and 1,000,000 dropped at 0.5 us. */
        cr_expect(host->cpu_permille > 1245 && host->cpu_permille < 1255, "%" PRIu64,
                  host->cpu_permille);
    }
    cr_expect_eq(lab.result.recovered_at.ps, SIMTIME_NEVER_PS);
    lab_done(&lab);
}

/* One cable of a mesh is not enough; without bridge0 on all but two Macs there is no loop. */
Test(storm, a_mesh_ends_when_bridges_are_destroyed)
{
    struct lab lab;

    lab_init(&lab, 4);
    lab_mesh(&lab);
    lab_act(&lab, STORM_PULL, 100 * PS_PER_MS, 0);
    lab_act(&lab, STORM_MEMBER, 150 * PS_PER_MS, 1);
    lab_act(&lab, STORM_DESTROY, 200 * PS_PER_MS, 3);
    lab.input.duration.ps = 180 * PS_PER_MS;
    lab_run(&lab);
    cr_expect_eq(lab.result.recovered_at.ps, SIMTIME_NEVER_PS, "a loop is left");
    cr_expect_geq(lab.result.fluid_count, 2, "saturated again");
    lab_done(&lab);
    lab.input.duration.ps = PS_PER_S;
    lab_run(&lab);
    cr_expect_geq(lab.result.recovered_at.ps, 200 * PS_PER_MS);
    cr_expect_lt(lab.result.recovered_at.ps, 210 * PS_PER_MS);
    lab_done(&lab);
}

/* Before the storm all pings come back; in it those that cross a bridge are lost. */
Test(storm, pings_are_lost_in_it)
{
    struct lab lab;

    lab_init(&lab, 5);
    lab_mesh(&lab);
    lab.source.first.ps = 1050 * PS_PER_MS;
    lab.input.duration.ps = 20 * PS_PER_S;
    lab_ping(&lab, 1, 2);
    lab_run(&lab);
    cr_expect_eq(lab.result.pings[0].sent, 200);
    cr_expect_geq(lab.result.pings[0].first_lost.ps, PS_PER_S);
    cr_expect_lt(lab.result.pings[0].first_lost.ps, 2 * PS_PER_S);
    /* A Mac takes one in three of what arrives, there and back: eight in nine are lost. */
    cr_expect(lab.result.pings[0].lost > 150 && lab.result.pings[0].lost < 185, "%" PRIu64,
              lab.result.pings[0].lost);
    lab_done(&lab);
}

Test(storm, samples_only_grow)
{
    struct lab lab;

    lab_init(&lab, 4);
    lab_mesh(&lab);
    lab_run(&lab);
    cr_assert_gt(lab.result.sample_count, 50);
    cr_expect_eq(lab.result.samples[0].at.ps, PS_PER_US);
    cr_expect_eq(lab.result.samples[10].at.ps, 10 * PS_PER_US);
    for (size_t i = 1; i < lab.result.sample_count; i++) {
        cr_expect_gt(lab.result.samples[i].at.ps, lab.result.samples[i - 1].at.ps);
        cr_expect_geq(lab.result.samples[i].frames, lab.result.samples[i - 1].frames);
        cr_expect_geq(lab.result.samples[i].drops, lab.result.samples[i - 1].drops);
    }
    lab_done(&lab);
}

Test(storm, same_seed_same_storm)
{
    uint64_t frames[3];

    for (uint64_t i = 0; i < 3; i++) {
        struct lab lab;

        lab_init(&lab, 4);
        lab_mesh(&lab);
        lab.input.seed = i / 2;
        lab.input.frames_only = true;
        lab.input.duration.ps = 10 * PS_PER_MS;
        lab_run(&lab);
        frames[i] = lab.result.drops;
        lab_done(&lab);
    }
    cr_expect_eq(frames[0], frames[1]);
    cr_expect_neq(frames[0], frames[2]);
}

/* A hub forwards without software; two Macs on it and a cable beside it are a loop. */
Test(storm, a_hub_is_a_bridge)
{
    struct lab lab;

    lab_init(&lab, 3);
    bench_cluster_make_hub(&lab.bench, 2);
    lab_ring(&lab);
    lab_run(&lab);
    cr_expect(lab.result.is_storm);
    cr_expect_eq(lab.result.hosts[2].taken, 0, "no software");
    cr_expect_gt(lab.result.hosts[0].taken, 0);
    lab_done(&lab);
}
