/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include <criterion/criterion.h>

#include "sim/plan/check.h"
#include "sim/scenario/expect.h"
#include "sim/workload/run.h"

#define COUNT_OF(array) (sizeof(array) / sizeof(array)[0])

static const struct src_pos here = {"e.yaml", 7, 5};

Test(expect, a_slip_is_named_at_its_own_column)
{
    static const struct {
        const char *text;
        uint32_t col;
        const char *message;
    } rows[] = {
        {"allreduce.algbw > 1 Gb/s", 5, "unknown subject 'allreduce', did you mean 'all_reduce'?"},
        {"speed > 1", 5,
         "unknown subject 'speed': an operation such as all_reduce, check, deadlock, wrong, frames, "
         "frames_lost or frames_corrupted is wanted"},
        {"all_reduce > 1 Gb/s", 15, "all_reduce needs a field, such as all_reduce.latency.median"},
        {"all_reduce.latency > 1 us", 15, "all_reduce has no field 'latency'"},
        {"all_reduce.algbw > 5 us", 24,
         "'5 us' is a duration; a rate is wanted here: Gb/s, Mb/s, kb/s, GB/s, MB/s, GiB/s or "
         "MiB/s"},
        {"all_reduce.latency.median < 12", 33, "'12' needs a unit: ps, ns, us, ms, s or min"},
        {"all_reduce.latency.median 12 us", 31,
         "an operator is wanted here: < <= > >= == !=, has, has not"},
        {"all_reduce.latency.median <", 32, "a value is missing after '<'"},
        {"all_reduce[sise=4 KiB].algbw > 1 Gb/s", 16,
         "unknown filter 'sise', did you mean 'size'?"},
        {"all_reduce[size=4].algbw > 1 Gb/s", 21,
         "'4' needs a unit: B, KB, MB, GB, TB, KiB, MiB, GiB or TiB"},
        {"all_reduce[size].algbw > 1 Gb/s", 20, "'=' is missing after size"},
        {"all_reduce[size=4 KiB.algbw > 1", 21,
         "'4 KiB.algbw > 1' has an unknown unit 'KiB.algbw > 1'; accepted: B, KB, MB, GB, TB, KiB, "
         "MiB, GiB or TiB"},
        {"all_reduce[nodes=4 .algbw", 22,
         "'4 .algbw' has a unit; a number is wanted here, with no "
         "unit"},
        {"all_reduce[library=jacl-mesh].algbw > 1 Gb/s", 24,
         "unknown library 'jacl-mesh', did you mean 'jaccl-mesh'?"},
        {"deadlock[size=4 B] == false", 13, "deadlock takes no filter"},
        {"deadlock < true", 14, "'<' needs numbers on both sides; here == and != fit"},
        {"deadlock == no", 17, "'no' is neither true nor false"},
        {"check.feasable == true", 10, "check has no field 'feasable', did you mean 'feasible'?"},
        {"check.findings == bridge-loop", 20,
         "'==' does not fit a list of names: has and has not do"},
        {"check.binding has port-count", 19, "'has' fits check.findings only"},
        {"ratio(all_reduce.algbw, all_reduce.bound) < 2", 11,
         "a ratio is between two durations, two rates or two numbers"},
        {"ratio(all_reduce.algbw all_reduce.algbw) < 2", 28,
         "',' is missing between the two of a ratio"},
        {"ratio(frames_lost, frames) < 2", 11,
         "a ratio is between results of operations such as all_reduce"},
        {"all_reduce.share.wire < 1.2345 %", 29, "'1.2345 %' has more than three decimals"},
    };

    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        struct expectation e = {.value = -9};
        struct err err = {0};
        struct arena arena;

        arena_init(&arena);
        cr_expect_not(expect_parse(rows[i].text, here, &arena, &e, &err), "%s", rows[i].text);
        cr_expect_str_eq(err.text, rows[i].message, "%s: got '%s'", rows[i].text, err.text);
        cr_expect_eq(err.pos.col, rows[i].col, "%s: got column %u", rows[i].text, err.pos.col);
        cr_expect_eq(err.pos.line, 7, "%s", rows[i].text);
        cr_expect_eq(e.value, -9, "%s: a failed parse changed the result", rows[i].text);
        arena_done(&arena);
    }
}

/* Two runs of an all-reduce and one that hung. */
static const struct run_item mesh = {.op = RUN_ALL_REDUCE,
                                     .library = LIBRARY_JACCL_MESH,
                                     .dtype = DTYPE_F32,
                                     .jaccl = JACCL_LATEST,
                                     .handoff = HANDOFF_NONE};
static const struct run_item ring = {.op = RUN_ALL_REDUCE,
                                     .library = LIBRARY_TCP_RING,
                                     .dtype = DTYPE_BF16,
                                     .handoff = HANDOFF_FAST};
static const struct run_item hung = {.op = RUN_BARRIER, .library = LIBRARY_JACCL_MESH};

static struct run_result results[] = {
    {.item = &mesh,
     .size = {4096},
     .nodes = 4,
     .samples = 20,
     .latency_min = {5 * PS_PER_US},
     .latency_median = {8 * PS_PER_US},
     .latency_p99 = {9 * PS_PER_US},
     .latency_mean = {7 * PS_PER_US},
     .latency_max = {10 * PS_PER_US},
     .algbw = {4096000000},
     .busbw = {6144000000},
     .bound = {4 * PS_PER_US},
     .shares = {.wire = {3000}, .copy = {1000}},
     .limit = "wire",
     .messages = 12},
    {.item = &ring,
     .size = {4096},
     .nodes = 4,
     .samples = 20,
     .latency_median = {480 * PS_PER_US},
     .bound = {1},
     .limit = "software"},
    {.item = &hung, .size = {1}, .nodes = 4, .is_deadlock = true},
};

Test(expect, verdicts_say_what_was_seen)
{
    static const struct {
        const char *text;
        enum expect_verdict verdict;
        const char *seen;
    } rows[] = {
        {"all_reduce[library=jaccl-mesh].latency.median < 12 us", EXPECT_HOLDS, "8 us"},
        {"all_reduce[library=jaccl-mesh,size=4 KiB].latency.median < 8 us", EXPECT_FAILS, "8 us"},
        {"all_reduce[library=jaccl-mesh, nodes=4, dtype=float32].latency.p99 <= 9 us", EXPECT_HOLDS,
         "9 us"},
        {"all_reduce[jaccl=2026-08,library=jaccl-mesh].latency.min == 5 us", EXPECT_HOLDS, "5 us"},
        {"all_reduce[handoff=fast].latency.median > 100 us", EXPECT_HOLDS, "480 us"},
        {"all_reduce.latency.median < 12 us", EXPECT_FAILS, "480 us"},
        {"all_reduce.latency.median < 500 us", EXPECT_HOLDS, "480 us"},
        {"all_reduce[size=8 KiB].latency.median < 12 us", EXPECT_NO_SUBJECT, "no result matches"},
        {"all_gather.latency.median < 12 us", EXPECT_NO_SUBJECT, "no result matches"},
        {"barrier.latency.median < 12 us", EXPECT_FAILS, "the run ended in a deadlock"},
        {"all_reduce[library=jaccl-mesh].algbw >= 4 Gb/s", EXPECT_HOLDS, "4.096 Gb/s"},
        {"all_reduce[library=jaccl-mesh].busbw > 6.2 Gb/s", EXPECT_FAILS, "6.144 Gb/s"},
        {"all_reduce[library=jaccl-mesh].share.wire == 75 %", EXPECT_HOLDS, "75"},
        {"all_reduce[library=jaccl-mesh].share.credit > 0", EXPECT_FAILS, "0"},
        {"all_reduce[library=jaccl-mesh].messages == 12", EXPECT_HOLDS, "12"},
        {"all_reduce[library=jaccl-mesh].limit == wire", EXPECT_HOLDS, "wire"},
        {"all_reduce[library=jaccl-mesh].limit != wire", EXPECT_FAILS, "wire"},
        {"ratio(all_reduce[library=tcp-ring].latency.median, "
         "all_reduce[library=jaccl-mesh].latency.median) == 60",
         EXPECT_HOLDS, "60"},
        {"ratio(all_reduce[library=jaccl-mesh].latency.median, "
         "all_reduce[library=jaccl-mesh].bound) < 1.999",
         EXPECT_FAILS, "2"},
        {"ratio(all_reduce.bound, all_reduce.bound) == 1", EXPECT_NO_SUBJECT,
         "all_reduce of a ratio matches 2 results; one is wanted"},
        {"deadlock == true", EXPECT_HOLDS, "true"},
        {"deadlock == false", EXPECT_FAILS, "true"},
        {"wrong == false", EXPECT_HOLDS, "false"},
        {"frames_lost == 3", EXPECT_HOLDS, "3"},
        {"frames >= 100", EXPECT_HOLDS, "100"},
        {"frames_corrupted != 0", EXPECT_FAILS, "0"},
        {"check.feasible == false", EXPECT_HOLDS, "false"},
        {"check.binding == port-count", EXPECT_HOLDS, "port-count"},
        {"check.binding == jaccl-mesh-limit", EXPECT_FAILS, "port-count"},
        {"check.findings has port-count", EXPECT_HOLDS, "it is among the findings"},
        {"check.findings has not port-count", EXPECT_FAILS, "it is among the findings"},
        {"check.findings has not bridge-loop", EXPECT_HOLDS, "it is not among the findings"},
        {"check.cables == 15", EXPECT_HOLDS, "15"},
        {"check.mesh_cables == 21", EXPECT_HOLDS, "21"},
        {"check.max_full_mesh == 7", EXPECT_HOLDS, "7"},
        {"check.max_full_mesh_cautious < 6", EXPECT_FAILS, "6"},
    };
    struct sim_result sim = {.rows = results,
                             .row_count = COUNT_OF(results),
                             .is_deadlock = true,
                             .frames = 100,
                             .frames_lost = 3};
    struct finding findings[] = {{.id = "port-count", .severity = CHECK_ERROR}};
    struct check_result check = {.findings = findings,
                                 .finding_count = 1,
                                 .binding = "port-count",
                                 .cables = 15,
                                 .mesh_cables = 21,
                                 .max_full_mesh = 7,
                                 .max_full_mesh_cautious = 6};

    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        struct expectation e;
        struct expect_outcome seen;
        struct err err = {0};
        struct arena arena;

        arena_init(&arena);
        cr_assert(expect_parse(rows[i].text, here, &arena, &e, &err), "%s: %s", rows[i].text,
                  err.text);
        seen = expect_evaluate(&e, &sim, &check);
        cr_expect_eq(seen.verdict, rows[i].verdict, "%s: got %d, '%s'", rows[i].text, seen.verdict,
                     seen.seen);
        cr_expect_str_eq(seen.seen, rows[i].seen, "%s: got '%s'", rows[i].text, seen.seen);
        seen = expect_evaluate(&e, NULL, NULL);
        cr_expect_eq(seen.verdict, EXPECT_NOT_RUN, "%s", rows[i].text);
        arena_done(&arena);
    }
}
