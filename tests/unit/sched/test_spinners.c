/* SPDX-License-Identifier: Apache-2.0 */
/* Threads that wait by reading memory: who wakes them, at what time, and when nobody ever will; and
 * threads that are interrupted, whatever they wait for, or woken. One process of one Mac; the test
 * plays its threads. */
#define _DEFAULT_SOURCE /* MAP_ANONYMOUS */
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/mman.h>

#include <criterion/criterion.h>
#include <criterion/new/assert.h>

#include "sim/base/units.h"
#include "tests/unit/fabric/support/bench_cluster.h"
#include "verbs-shim/proto/check.h"
#include "verbs-shim/proto/proto.h"
#include "verbs-shim/proto/ring.h"
#include "verbs-shim/sched/sched.h"

#define US   PS_PER_US
#define GRID INT64_C(300000) /* of one that polls */

struct world {
    struct bench_cluster bench;
    struct proto_agreed agreed[2];
    struct proto_segment segment;
    struct sched_view view;
};

static struct world *world;

static void *zeros(size_t size)
{
    void *p = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE,
                   -1, 0);

    cr_assert(p != MAP_FAILED);
    return p;
}

/* What a thread says when it parks. */
struct says {
    enum proto_park park;
    int64_t vt, deadline;
    bool is_again, has_loose, is_asleep;
};

static void park(uint32_t actor, struct says says)
{
    struct proto_chan *chan = &world->segment.chan[actor];

    chan->park = (uint32_t)says.park;
    chan->deadline = says.deadline ? says.deadline : PROTO_NEVER;
    chan->is_again = says.is_again;
    chan->has_loose = says.has_loose;
    chan->is_asleep = says.is_asleep;
    chan->new_cqs = PROTO_CQS_MAX;
    if (says.park == PROTO_PARK_IDLE) {
        chan->polled_count = 1;
        chan->first = PROTO_NEVER;
        chan->grid = GRID;
    }
    atomic_store(&chan->vt, says.vt);
    cr_assert(sched_park(&world->view, actor));
}

/* The next turn has to be this actor's, at this time. */
static void expect_turn(uint32_t actor, int64_t t)
{
    uint32_t granted = PROTO_ACTORS_MAX;

    cr_assert(eq(int, sched_next(&world->view, &granted), SCHED_GRANTED));
    cr_assert(eq(u32, granted, actor));
    cr_assert(eq(i64, world->segment.chan[actor].resume_vt, t));
}

static void expect_state(enum sched_state state)
{
    uint32_t granted = PROTO_ACTORS_MAX;

    cr_assert(eq(int, sched_next(&world->view, &granted), state));
}

static enum sched_actor_state state_of(uint32_t actor)
{
    return sched_actor_info(world->view.sched, actor).state;
}

/* Two Macs, of which the second has not to be waited for; `threads` of the first have had a turn
 * at time zero, the last of them has it. */
static void begin_with(uint32_t threads, uint32_t max_running)
{
    const host_id hosts[] = {{0}, {1}};
    struct sched_config config;

    world = zeros(sizeof *world);
    bench_cluster_init(&world->bench, 2);
    for (uint32_t r = 0; r < 2; r++)
        world->agreed[r] = (struct proto_agreed){
            .rank = r, .rank_count = 2, .receive_after = 5 * US, .side_latency = 50 * US};
    config = (struct sched_config){.cluster = &world->bench.cluster,
                                   .params = &world->bench.params,
                                   .agreed = world->agreed,
                                   .hosts = hosts,
                                   .rank_count = 2,
                                   .max_running = max_running};
    world->segment.agreed = world->agreed[0];
    world->view.segments[0] = &world->segment;
    world->view.sched = sched_init(zeros(sched_mem_size(&config)), &config);
    sched_join(&world->view, 0);
    sched_rank_is_absent(world->view.sched, 1);
    expect_turn(0, 0);
    for (uint32_t k = 1; k < threads; k++) {
        world->segment.chan[0].call = PROTO_CALL_NEW_ACTOR;
        park(0, (struct says){.park = PROTO_PARK_CALL});
        expect_turn(0, 0);
        cr_assert(eq(i64, world->segment.chan[0].reply[0], k));
    }
}

static void begin(uint32_t threads)
{
    begin_with(threads, 1);
}

static void spin(uint32_t actor, int64_t vt)
{
    park(actor, (struct says){.park = PROTO_PARK_SPIN, .vt = vt});
}

static void spin_again(uint32_t actor, int64_t vt)
{
    park(actor, (struct says){.park = PROTO_PARK_SPIN, .vt = vt, .is_again = true});
}

Test(spinners, alone_is_a_deadlock_at_once)
{
    begin(1);
    spin(0, 3 * US);
    expect_state(SCHED_DEADLOCK);
}

Test(spinners, two_that_only_look_at_each_other_are_a_deadlock)
{
    begin(2);
    spin(0, US);
    expect_turn(1, 0);
    spin(1, 2 * US); /* it may have written before */
    expect_turn(0, 2 * US);
    spin_again(0, 2 * US);
    expect_state(SCHED_DEADLOCK);
}

Test(spinners, one_that_looks_wakes_nobody_and_one_that_writes_does)
{
    begin(2);
    spin(0, 0);
    expect_turn(1, 0);
    spin(1, US);
    expect_turn(0, US);
    spin(0, 4 * US); /* it has left its loop and waits in another */
    expect_turn(1, 4 * US);
    spin_again(1, 4 * US);
    expect_state(SCHED_DEADLOCK);
}

Test(spinners, sees_each_act_of_a_sibling_at_its_time)
{
    begin(2);
    spin(0, 0);
    expect_turn(1, 0);
    for (int64_t i = 1; i <= 3; i++) {
        /* The sibling may go no further than to its next act. */
        cr_expect(le(i64, world->segment.chan[1].lease, world->segment.chan[1].resume_vt));
        park(1, (struct says){.park = PROTO_PARK_TURN, .vt = i * US});
        expect_turn(0, i * US);
        spin_again(0, i * US);
        expect_turn(1, i * US);
    }
}

Test(spinners, goes_on_when_its_timer_is_due)
{
    begin(1);
    park(0, (struct says){.park = PROTO_PARK_SPIN, .vt = US, .deadline = 7 * US});
    expect_turn(0, 7 * US);
    cr_expect(eq(u32, world->segment.chan[0].resume, PROTO_RESUME_TIMEOUT));
    park(0, (struct says){.park = PROTO_PARK_SPIN, .vt = 9 * US, .deadline = 8 * US});
    expect_turn(0, 9 * US); /* never back */
}

Test(spinners, threads_outside_the_clock_may_end_it)
{
    begin(1);
    park(0, (struct says){.park = PROTO_PARK_SPIN, .vt = US, .has_loose = true});
    expect_state(SCHED_OUTSIDE);
    cr_expect(eq(int, state_of(0), SCHED_ACTOR_SPIN));
    sched_retry_outside(world->view.sched);
    expect_turn(0, US); /* the time stands */
    spin_again(0, US);
    expect_state(SCHED_DEADLOCK); /* they have ended by now */
}

Test(spinners, a_waiter_with_a_deadline_comes_first)
{
    begin(2);
    spin(0, 5 * US);
    expect_turn(1, 0);
    park(1, (struct says){.park = PROTO_PARK_WAIT, .vt = 0, .deadline = 20 * US});
    expect_turn(0, 5 * US); /* the other has acted */
    spin_again(0, 5 * US);
    expect_turn(1, 20 * US);
}

/* A thread that parked at 1 us is interrupted by another at 10 us: it goes on at `t`, as `resume`
 * says. */
static void expect_interrupt(struct says says, int64_t t, enum proto_resume resume)
{
    struct proto_command command = {
        .t = 10 * US, .actor = 1, .kind = PROTO_COMMAND_INTERRUPT, .slot = 0};
    struct proto_cursors *ring;

    begin(2);
    says.vt = says.vt ? says.vt : US;
    park(0, says);
    expect_turn(1, 0);
    ring = &world->segment.command_ring;
    park(1, (struct says){.park = PROTO_PARK_TURN, .vt = 10 * US});
    expect_turn(1, 10 * US);
    world->segment.commands[ring_write_at(ring, PROTO_COMMANDS)] = command;
    ring_publish(ring);
    park(1, (struct says){.park = PROTO_PARK_TURN, .vt = 11 * US});
    expect_turn(0, t);
    cr_expect(eq(u32, world->segment.chan[0].resume, (uint32_t)resume));
}

Test(interrupt, ends_a_wait_for_a_key_as_its_deadline_does)
{
    expect_interrupt((struct says){.park = PROTO_PARK_WAIT}, 10 * US, PROTO_RESUME_TIMEOUT);
}

Test(interrupt, ends_a_wait_before_its_deadline)
{
    expect_interrupt((struct says){.park = PROTO_PARK_WAIT, .deadline = 99 * US}, 10 * US,
                     PROTO_RESUME_TIMEOUT);
}

Test(interrupt, ends_a_wait_for_the_outside)
{
    expect_interrupt((struct says){.park = PROTO_PARK_EXTERNAL}, 10 * US, PROTO_RESUME_TIMEOUT);
}

Test(interrupt, ends_a_sleep_before_its_end)
{
    expect_interrupt((struct says){.park = PROTO_PARK_TURN, .vt = 99 * US, .is_asleep = true},
                     10 * US, PROTO_RESUME_TURN);
}

Test(interrupt, lets_one_that_polls_go_on_with_its_last_poll_by_then)
{
    expect_interrupt((struct says){.park = PROTO_PARK_IDLE}, 10 * US, PROTO_RESUME_POLL);
}

Test(interrupt, of_another_process_is_damage)
{
    struct proto_command command = {
        .kind = PROTO_COMMAND_INTERRUPT, .slot = PROTO_CLIENT_ACTORS, .actor = 0};

    cr_expect(not(proto_command_is_sane(&command, 0)));
    command.slot = PROTO_CLIENT_ACTORS - 1;
    cr_expect(proto_command_is_sane(&command, 0));
}

/* However many may run at once: what the waker does at the same instant comes first. */
Test(siblings, never_run_at_once)
{
    const struct proto_command wake = {
        .t = 10 * US, .actor = 1, .kind = PROTO_COMMAND_WAKE, .slot = 7, .length = 1};
    uint32_t granted;

    begin_with(2, 2);
    world->segment.chan[0].key = 7;
    park(0, (struct says){.park = PROTO_PARK_WAIT});
    expect_turn(1, 0);
    park(1, (struct says){.park = PROTO_PARK_TURN, .vt = 10 * US});
    expect_turn(1, 10 * US);
    world->segment.commands[ring_write_at(&world->segment.command_ring, PROTO_COMMANDS)] = wake;
    ring_publish(&world->segment.command_ring);
    cr_assert(eq(int, sched_next(&world->view, &granted), SCHED_RUNNING));
    park(1, (struct says){.park = PROTO_PARK_TURN, .vt = 11 * US});
    expect_turn(0, 10 * US);
}
