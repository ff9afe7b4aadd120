/* SPDX-License-Identifier: Apache-2.0 */
#include <criterion/criterion.h>

#include "sim/plan/check.h"
#include "tests/unit/support/findings.h"
#include "tests/unit/support/testbed.h"

#define GB(n) ((bytecount){(uint64_t)(n)*1000000000U})

static struct check_result check_goals(uint32_t macs, uint64_t memory_gib,
                                       const struct check_goal *goals, size_t count)
{
    struct testbed bed;
    struct check_result result;

    testbed_init(&bed);
    testbed_add_many(&bed, "studio", testbed_model("mac-studio-m3-ultra"), macs);
    for (uint32_t i = 0; i < macs; i++)
        bed.cluster.hosts[i].memory = GIB(memory_gib);
    check_cluster(
        &(struct check_input){.cluster = &bed.cluster, .goals = goals, .goal_count = count},
        &result);
    testbed_done(&bed);
    return result;
}

/* Six Ultras, a mesh and tensor parallelism of two models (exo issue 1293). */
Test(check_fit, six_ultras_mesh_but_do_not_divide_128_or_64_heads)
{
    const struct check_goal goals[] = {
        {.wants_mesh = true},
        {.tensor_parallel = 6, .heads = 128, .model = "DeepSeek-V3.1"},
        {.tensor_parallel = 6, .heads = 64, .model = "Kimi-K2"},
    };
    struct check_result result = check_goals(6, 512, goals, 3);
    const struct finding *deepseek = finding_nth(&result, "tp-divisibility", 0);
    const struct finding *kimi = finding_nth(&result, "tp-divisibility", 1);

    cr_expect(says(finding_of(&result, "mesh-plan"), "15 cables"));
    cr_expect(says(finding_of(&result, "mesh-plan"), "up to 7 computers, or 6 without"));
    cr_expect_not(finding_of(&result, "port-beside-ethernet"), "five ports are enough");
    cr_expect(says(deepseek, "128 attention heads leave 2 over"));
    cr_expect(says(kimi, "64 attention heads leave 4 over"));
    cr_expect(says(deepseek, "over 4 of the 6") && says(deepseek, "over 2 of the 6"));
    cr_expect(says(deepseek, "pipeline over all 6"));
    cr_expect(says(deepseek, "or 8 computers"), "%s", deepseek->fix);
    cr_expect_not(says(deepseek, "over 3 of"));
    cr_expect_str_eq(result.binding, "tp-divisibility");
    cr_expect_eq(result.mesh_cables, 15);
    check_result_done(&result);
}

/* Three 256 GB Ultras and two models (exo issue 1834). */
Test(check_fit, two_of_three_ultras_divide_the_heads_but_only_one_model_fits)
{
    const struct check_goal goals[] = {
        {.tensor_parallel = 3, .heads = 128, .weights = GB(380), .model = "DeepSeek-V3.2"},
        {.tensor_parallel = 3, .heads = 64, .weights = GB(600), .model = "Kimi-K2.5"},
        {.tensor_parallel = 2, .heads = 64, .weights = GB(600), .model = "Kimi-K2.5"},
    };
    struct check_result result = check_goals(3, 256, goals, 3);
    const struct finding *deepseek = finding_nth(&result, "tp-divisibility", 0);
    const struct finding *kimi = finding_nth(&result, "tp-divisibility", 1);
    const struct finding *memory = finding_of(&result, "memory-fit");

    cr_expect(says(deepseek, "128 attention heads leave 2 over"));
    cr_expect(says(kimi, "64 attention heads leave 1 over"));
    /* 3/4 of 256 GiB is 206.1 GB: 190 GB a Mac fit, 300 GB do not, 600 in 618.4 do. */
    cr_expect(says(deepseek, "over 2 of the 3: 190.0 GB a Mac against 206.1 GB that the GPU may "
                             "wire, fits"),
              "%s", deepseek->fix);
    cr_expect(says(kimi, "300.0 GB a Mac against 206.1 GB that the GPU may wire, does not fit"),
              "%s", kimi->fix);
    cr_expect(says(kimi, "pipeline over all 3, which divides layers and not heads: 600.0 GB "
                         "against 618.4 GB in all, fits"),
              "%s", kimi->fix);
    cr_expect(says(kimi, "or 4 computers"), "%s", kimi->fix);
    cr_assert(memory);
    cr_expect_eq(finding_count(&result, "memory-fit"), 1, "the other goals fit");
    cr_expect(says(memory, "300.0 GB of weights on each of 2 Macs"), "%s", memory->why);
    check_result_done(&result);
}

/* Three unequal Macs (exo issue 1459): only the three-way tensor rows are refused. */
Test(check_fit, only_the_tensor_rows_over_three_of_twelve_placements_are_refused)
{
    for (uint32_t ranks = 1; ranks <= 3; ranks++) {
        for (uint32_t is_tensor = 0; is_tensor <= 1; is_tensor++) {
            const struct check_goal goal = {
                .tensor_parallel = is_tensor ? ranks : 0, .heads = 64, .weights = GB(60)};
            struct check_result result = check_goals(3, 96, &goal, 1);
            const struct finding *finding = finding_of(&result, "tp-divisibility");
            bool is_refused = is_tensor && ranks == 3;

            cr_expect_eq(finding != NULL, is_refused, "%u ranks, tensor %u", ranks, is_tensor);
            cr_expect_eq(result.is_feasible, !is_refused);
            if (finding)
                cr_expect(says(finding, "the same over RDMA and TCP") &&
                          says(finding, "a link is missing, not a divisor"));
            check_result_done(&result);
        }
    }
}

Test(check_fit, each_of_heads_kv_heads_and_hidden_size_can_refuse)
{
    static const struct {
        const char *name;
        uint32_t ranks, heads, kv_heads, hidden;
        const char *piece; /* NULL: legal */
    } rows[] = {
        {"all divide", 4, 64, 8, 4096, NULL},
        {"nothing is known", 3, 0, 0, 0, NULL},
        {"heads", 4, 66, 8, 4096, "66 attention heads leave 2 over"},
        {"key/value heads", 4, 64, 2, 4096, "2 key/value heads leave 2 over"},
        {"hidden size", 3, 0, 0, 7168, "7168 of hidden size leave 1 over"},
        {"one rank", 1, 63, 7, 7169, NULL},
    };

    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        const struct check_goal goal = {.tensor_parallel = rows[i].ranks,
                                        .heads = rows[i].heads,
                                        .kv_heads = rows[i].kv_heads,
                                        .hidden = rows[i].hidden};
        struct check_result result = check_goals(4, 96, &goal, 1);
        const struct finding *finding = finding_of(&result, "tp-divisibility");

        cr_expect_eq(finding != NULL, rows[i].piece != NULL, "%s", rows[i].name);
        if (rows[i].piece)
            cr_expect(says(finding, rows[i].piece), "%s", rows[i].name);
        check_result_done(&result);
    }
}

Test(check_fit, more_ranks_than_computers_are_refused)
{
    const struct check_goal goal = {.tensor_parallel = 4, .heads = 64};
    struct check_result result = check_goals(2, 96, &goal, 1);

    cr_expect_str_eq(result.binding, "tp-ranks");
    check_result_done(&result);
}

Test(check_fit, the_wired_share_of_memory_decides_at_its_edge)
{
    static const struct {
        const char *name;
        uint64_t memory_gib, weights_gib;
        uint32_t macs;
        bool fits;
    } rows[] = {
        {"three quarters of 512 GiB", 512, 384, 1, true},
        {"a byte more is one more GiB here", 512, 385, 1, false},
        {"two thirds up to 36 GiB", 36, 24, 1, true},
        {"not three quarters of 36", 36, 25, 1, false},
        {"a pipeline takes the sum", 256, 384, 2, true},
        {"and not more", 256, 385, 2, false},
    };

    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        const struct check_goal goal = {.weights = GIB(rows[i].weights_gib)};
        struct check_result result = check_goals(rows[i].macs, rows[i].memory_gib, &goal, 1);

        cr_expect_eq(finding_of(&result, "memory-fit") == NULL, rows[i].fits, "%s", rows[i].name);
        check_result_done(&result);
    }
}

Test(check_fit, raising_the_limit_is_offered_only_where_it_is_enough)
{
    static const struct {
        uint64_t weights_gib;
        bool is_offered;
    } rows[] = {{400, true}, {496, true}, {497, false}};

    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        const struct check_goal goal = {.weights = GIB(rows[i].weights_gib)};
        struct check_result result = check_goals(1, 512, &goal, 1);

        cr_expect_eq(says(finding_of(&result, "memory-fit"),
                          "studio1$ sudo sysctl iogpu.wired_limit_mb=507904"),
                     rows[i].is_offered, "%lu GiB", (unsigned long)rows[i].weights_gib);
        check_result_done(&result);
    }
}

Test(check_fit, the_smallest_of_the_macs_that_take_part_decides)
{
    const struct check_goal two = {.tensor_parallel = 2, .heads = 64, .weights = GIB(300)};
    const struct check_goal three = {.tensor_parallel = 3, .heads = 63, .weights = GIB(300)};
    struct testbed bed;
    struct check_result result;

    testbed_init(&bed);
    testbed_add_many(&bed, "studio", testbed_model("mac-studio-m3-ultra"), 3);
    bed.cluster.hosts[0].memory = GIB(96); /* 72 GiB wired */
    bed.cluster.hosts[1].memory = GIB(512);
    bed.cluster.hosts[2].memory = GIB(256);
    check_cluster(&(struct check_input){.cluster = &bed.cluster, .goals = &two, .goal_count = 1},
                  &result);
    cr_expect(result.is_feasible, "150 GiB fit the two large ones");
    check_result_done(&result);
    check_cluster(&(struct check_input){.cluster = &bed.cluster, .goals = &three, .goal_count = 1},
                  &result);
    cr_expect_str_eq(result.binding, "memory-fit", "100 GiB do not fit 72");
    check_result_done(&result);
    testbed_done(&bed);
}
