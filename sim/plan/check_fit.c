/* SPDX-License-Identifier: Apache-2.0 */
/*
 * DOC: Does the model divide and fit?
 *
 * Tensor parallelism over N ranks needs N to divide the attention heads, the key/value heads and
 * the hidden size (exo src/exo/master/placement.py at b5375f8: hidden and kv_heads; mlx-lm splits
 * the heads too). That is arithmetic: it is the same over RDMA and over TCP, and it says nothing
 * about the cabling.
 *
 * Memory: each rank holds weights / N in memory that the GPU may wire. macOS lets it wire two
 * thirds of the memory up to 36 GiB and three quarters above; iogpu.wired_limit_mb raises it until
 * the next restart (people leave macOS 16 GiB: ds4 issue 501 runs 426 GiB on 512). Tensor
 * parallelism is bound by the smallest Mac that takes part, a pipeline by the sum. Caches and
 * workspace come on top, so a model that just fits is not promised to run.
 */
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "sim/base/arena.h"
#include "sim/base/ids.h"
#include "sim/base/text.h"
#include "sim/base/units.h"
#include "sim/fabric/cluster.h"
#include "sim/fabric/model.h"
#include "sim/plan/check.h"
#include "sim/plan/check_rules.h"

#define GIB           ((uint64_t)1 << 30)
#define RAISED_LEAVES (16 * GIB)
#define MIB           ((uint64_t)1 << 20)

static uint64_t memory_of(const struct cluster_host *host)
{
    uint64_t least = 0;

    if (host->memory.bytes)
        return host->memory.bytes;
    for (size_t i = 0; i < host->model->memory_option_count; i++) {
        uint64_t option = host->model->memory_options[i].bytes;

        least = least == 0 || option < least ? option : least;
    }
    return least;
}

enum wired_limit {
    WIRED_DEFAULT,
    WIRED_RAISED, /* with iogpu.wired_limit_mb, leaving macOS RAISED_LEAVES */
};

static uint64_t wired_of(const struct cluster_host *host, enum wired_limit limit)
{
    uint64_t memory = memory_of(host);

    if (limit == WIRED_RAISED && memory > 4 * RAISED_LEAVES)
        return memory - RAISED_LEAVES;
    return memory <= 36 * GIB ? memory / 3 * 2 : memory / 4 * 3;
}

/* What each of the `rank` largest computers may wire at least. */
static uint64_t wired_of_rank(const struct check_state *s, size_t rank, enum wired_limit limit)
{
    uint64_t best = 0;

    for (size_t i = 0; i < s->computer_count; i++) {
        uint64_t mine = wired_of(check_host(s, s->computers[i]), limit);
        size_t at_least = 0;

        for (size_t k = 0; k < s->computer_count; k++)
            at_least += wired_of(check_host(s, s->computers[k]), limit) >= mine;
        if (at_least >= rank && mine > best)
            best = mine;
    }
    return best;
}

static uint64_t wired_sum(const struct check_state *s, enum wired_limit limit)
{
    uint64_t sum = 0;

    for (size_t i = 0; i < s->computer_count; i++)
        sum += wired_of(check_host(s, s->computers[i]), limit);
    return sum;
}

static bool divides(uint32_t n, uint32_t value)
{
    return value % n == 0; /* a value of 0 was not given */
}

static bool is_legal(const struct check_goal *goal, uint32_t n)
{
    return divides(n, goal->heads) && divides(n, goal->kv_heads) && divides(n, goal->hidden);
}

static bool fits_tensor(const struct check_state *s, const struct check_goal *goal, uint32_t n)
{
    return u64_div_ceil(goal->weights.bytes, n) <= wired_of_rank(s, n, WIRED_DEFAULT);
}

/* A size for a message, in decimal GB as model files are quoted. */
static const char *gigabytes(const struct check_state *s, uint64_t bytes)
{
    uint64_t tenths = bytes / 100000000U;

    return arena_format(s->arena, "%llu.%llu GB", (unsigned long long)(tenths / 10),
                        (unsigned long long)(tenths % 10));
}

static void add_remainder(const struct check_state *s, struct text *list, const char *what,
                          uint32_t value, uint32_t n)
{
    if (divides(n, value))
        return;
    text_add_item(list, ", ",
                  arena_format(s->arena, "%u %s leave %u over", value, what, value % n));
}

/* Lists what would work instead; returns the largest legal count, 1 when there is none. */
static uint32_t add_alternatives(const struct check_state *s, const struct check_goal *goal,
                                 struct text *fix)
{
    uint32_t n = (uint32_t)s->computer_count;
    uint32_t best = 1;

    for (uint32_t k = 2; k <= n; k++) {
        if (!is_legal(goal, k))
            continue;
        best = k;
        text_add_item(fix, "\n", "# ");
        text_add(fix, "tensor parallelism over %u of the %u", k, n);
        if (goal->weights.bytes)
            text_add(fix, ": %s a Mac against %s that the GPU may wire, %s",
                     gigabytes(s, u64_div_ceil(goal->weights.bytes, k)),
                     gigabytes(s, wired_of_rank(s, k, WIRED_DEFAULT)),
                     fits_tensor(s, goal, k) ? "fits" : "does not fit");
    }
    text_add_item(fix, "\n", "# ");
    text_add(fix, "pipeline over all %u, which divides layers and not heads", n);
    if (goal->weights.bytes)
        text_add(fix, ": %s against %s in all, %s", gigabytes(s, goal->weights.bytes),
                 gigabytes(s, wired_sum(s, WIRED_DEFAULT)),
                 goal->weights.bytes <= wired_sum(s, WIRED_DEFAULT) ? "fits" : "does not fit");
    for (uint32_t k = n + 1; best < n && k <= 2 * n; k++) {
        if (is_legal(goal, k)) {
            text_add(fix, "\n# or %u computers: the next count that divides", k);
            break;
        }
    }
    return best;
}

static const char *goal_model(const struct check_goal *goal)
{
    return goal->model ? goal->model : "the model";
}

static void check_divisibility(struct check_state *s, const struct check_goal *goal)
{
    uint32_t n = goal->tensor_parallel;
    struct text list;
    struct text fix;

    text_init(&list, s->arena);
    text_init(&fix, s->arena);
    add_remainder(s, &list, "attention heads", goal->heads, n);
    add_remainder(s, &list, "key/value heads", goal->kv_heads, n);
    add_remainder(s, &list, "of hidden size", goal->hidden, n);
    if (list.length == 0)
        return;

    uint32_t best = add_alternatives(s, goal, &fix);

    check_add_limited(
        s,
        &(struct finding){
            .id = "tp-divisibility",
            .severity = CHECK_ERROR,
            .where = goal_model(goal),
            .why = arena_format(s->arena,
                                "Tensor parallelism over %u splits heads and hidden size evenly, "
                                "and for %s it cannot: divided by %u, %s (exo issues 1459 and "
                                "1834). It is arithmetic, the same over RDMA and TCP; if pipeline "
                                "is refused too, a link is missing, not a divisor.",
                                n, goal_model(goal), n, list.bytes),
            .fix = fix.bytes,
            .pos = goal->pos,
        },
        best);
}

static bool memory_is_guessed(const struct check_state *s)
{
    for (size_t i = 0; i < s->computer_count; i++) {
        if (check_host(s, s->computers[i])->memory.bytes == 0)
            return true;
    }
    return false;
}

/* What is missing, and whether raising the limit would be enough. */
struct shortage {
    uint64_t need;
    uint64_t have;
    uint64_t raised;
    const char *how; /* "in all" */
};

/* The lines that raise the limit on every Mac, when that is enough. */
static void add_raise(const struct check_state *s, struct text *fix,
                      const struct shortage *short_of)
{
    if (short_of->raised < short_of->need)
        return;
    text_add(fix, "\n# or raise the limit, until the next restart, at the expense of macOS:");
    for (size_t i = 0; i < s->computer_count; i++) {
        const struct cluster_host *host = check_host(s, s->computers[i]);

        if (host->model->kind == MACHINE_MAC)
            check_command(fix, host, "sudo sysctl iogpu.wired_limit_mb=%llu",
                          (unsigned long long)(wired_of(host, WIRED_RAISED) / MIB));
    }
}

static void report_memory(struct check_state *s, const struct check_goal *goal,
                          const struct shortage *short_of)
{
    struct text fix;

    text_init(&fix, s->arena);
    (void)add_alternatives(s, goal, &fix);
    text_add(&fix, "\n# or a smaller quantisation");
    add_raise(s, &fix, short_of);
    check_add(s, &(struct finding){
                     .id = "memory-fit",
                     .severity = CHECK_ERROR,
                     .where = goal_model(goal),
                     .why = arena_format(
                         s->arena,
                         "%s needs %s of weights %s, where the GPU may wire %s (by default 3/4 of "
                         "the memory, 2/3 up to 36 GiB)%s; caches come on top.",
                         goal_model(goal), gigabytes(s, short_of->need), short_of->how,
                         gigabytes(s, short_of->have),
                         memory_is_guessed(s)
                             ? ", taking the smallest memory option where none is stated"
                             : ""),
                     .fix = fix.bytes,
                     .pos = goal->pos,
                 });
}

static void check_memory(struct check_state *s, const struct check_goal *goal)
{
    uint32_t n = goal->tensor_parallel;
    struct shortage short_of = {.need = goal->weights.bytes,
                                .have = wired_sum(s, WIRED_DEFAULT),
                                .raised = wired_sum(s, WIRED_RAISED),
                                .how = "in all"};

    if (goal->weights.bytes == 0 || n > s->computer_count)
        return;
    if (n > 1) {
        short_of.need = u64_div_ceil(goal->weights.bytes, n);
        short_of.have = wired_of_rank(s, n, WIRED_DEFAULT);
        short_of.raised = wired_of_rank(s, n, WIRED_RAISED);
        short_of.how = arena_format(s->arena, "on each of %u Macs, the smallest deciding", n);
    }
    if (short_of.need > short_of.have)
        report_memory(s, goal, &short_of);
}

static void check_rank_count(struct check_state *s, const struct check_goal *goal)
{
    if (goal->tensor_parallel <= s->computer_count)
        return;
    check_add_limited(
        s,
        &(struct finding){
            .id = "tp-ranks",
            .severity = CHECK_ERROR,
            .where = goal_model(goal),
            .why = arena_format(s->arena,
                                "Tensor parallelism over %u needs as many computers, one rank "
                                "each; there are %zu.",
                                goal->tensor_parallel, s->computer_count),
            .fix = arena_format(s->arena, "# tensor_parallel: %zu or less", s->computer_count),
            .pos = goal->pos,
        },
        (uint32_t)s->computer_count);
}

void check_fit(struct check_state *s)
{
    for (size_t i = 0; i < s->input->goal_count; i++) {
        const struct check_goal *goal = &s->input->goals[i];

        if (s->computer_count == 0)
            return;
        if (goal->tensor_parallel > 1) {
            check_rank_count(s, goal);
            check_divisibility(s, goal);
        }
        check_memory(s, goal);
    }
}
