/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/report/support/result.h"

#include <string.h>

#include <criterion/criterion.h>

#include "sim/report/result_read.h"

static const char *const warnings[] = {"s.yaml:3:1: a \"warning\" with a tab\there"};

static void fill_item(struct hand_result *hand, size_t index, enum run_library library)
{
    hand->items[index] = (struct run_item){
        .op = RUN_ALL_REDUCE,
        .library = library,
        .sizes = hand->sizes,
        .size_count = 3,
        .dtype = DTYPE_F32,
        .repeat = 20,
        .jaccl = JACCL_LATEST,
        .nodes = hand->nodes,
        .node_count = 2,
    };
}

static void fill_row(struct hand_result *hand, size_t index, size_t item, size_t size)
{
    int64_t median = 6000000 + (int64_t)index * 1000000;

    hand->rows[index] = (struct run_result){
        .item = &hand->items[item],
        .size = hand->sizes[size],
        .nodes = 2,
        .samples = 20,
        .began = {(int64_t)index * 100000000},
        .ended = {(int64_t)(index + 1) * 100000000},
        .latency_min = {median - 500000},
        .latency_median = {median},
        .latency_p99 = {median + 900000},
        .latency_mean = {median + 1},
        .latency_max = {median + 950000},
        .algbw = bitrate_from_transfer(hand->sizes[size], (simspan){median}),
        .busbw = bitrate_from_transfer(hand->sizes[size], (simspan){median}),
        .bound = {median / 2},
        .shares = {.wire = {median / 2}, .copy = {median / 4}, .credit = {median / 4}},
        .limit = "wire",
        .messages = 12,
    };
}

static void fill_scenario(struct hand_result *hand)
{
    hand->expectations[0] = (struct expectation){.text = "deadlock == false"};
    hand->expectations[1] = (struct expectation){.text = "frames > 1"};
    hand->outcomes[0] = (struct expect_outcome){EXPECT_FAILS, "true"};
    hand->outcomes[1] = (struct expect_outcome){EXPECT_HOLDS, "9"};
    hand->scenario = (struct scenario){
        .name = "two Macs, by \"hand\" \xe2\x80\x94 \xe4\xb8\xad",
        .file = "s.yaml",
        .seed = 7,
        .cluster = hand->bed.cluster,
        .items = hand->items,
        .item_count = HAND_ITEMS,
        .expectations = hand->expectations,
        .expectation_count = 2,
    };
    for (uint32_t i = 0; i < PARAM_COUNT; i++)
        hand->scenario.params.v[i] = (struct param_value){
            .value = i + 1, .low = i, .high = i + 2, .is_set = true, .source = "s", .date = ""};
    hand->scenario.params.v[PARAM_IP_WINDOW].label = PARAM_ASSUMED;
}

static void fill_result(struct hand_result *hand)
{
    for (size_t i = 0; i < 2 * HAND_BINS; i++)
        hand->busy_ps[i] = i * 100000;
    hand->result = (struct sim_result){
        .rows = hand->rows,
        .row_count = HAND_ROWS,
        .events = 12345,
        .digest = 0x00deadbeefcafe01,
        .end = {500000000},
        .is_deadlock = true,
        .use = {HAND_BINS, {125000000}, 2, hand->busy_ps},
        .frames = 99,
        .frames_lost = 2,
        .frames_corrupted = 1,
    };
    hand->result.had_effect[PARAM_RDMA_GOODPUT] = true;
    hand->result.had_effect[PARAM_IP_WINDOW] = true;
    hand->findings[0] = (struct finding){"port-count",    CHECK_ERROR, "m1",
                                         "too few ports", "buy more",  {"s.yaml", 4, 5}};
    hand->findings[1] = (struct finding){"macos-mix", CHECK_WARNING, "m2", "old", "", {0}};
    hand->findings[2] = (struct finding){"ring-only", CHECK_NOTE, "m1", "a ring", "", {0}};
    hand->check = (struct check_result){
        .findings = hand->findings,
        .finding_count = 3,
        .binding = "port-count",
        .cables = 1,
        .mesh_cables = 1,
        .max_full_mesh = 7,
        .max_full_mesh_cautious = 6,
    };
}

void hand_result_init(struct hand_result *hand)
{
    memset(hand, 0, sizeof *hand);
    testbed_init(&hand->bed);
    testbed_add_many(&hand->bed, "m", testbed_model("mac-studio-m3-ultra"), 2);
    cr_assert(testbed_mesh(&hand->bed));
    hand->nodes[1].ix = 1;
    hand->sizes[0].bytes = 4;
    hand->sizes[1].bytes = 65536;
    hand->sizes[2].bytes = 1048576;
    fill_item(hand, 0, LIBRARY_JACCL_MESH);
    fill_item(hand, 1, LIBRARY_TCP_RING);
    fill_item(hand, 2, LIBRARY_JACCL_RING);
    for (size_t i = 0; i < 3; i++)
        fill_row(hand, i, 0, i);
    fill_row(hand, 3, 1, 0);
    hand->rows[3].note = "a note";
    hand->rows[4] = (struct run_result){
        .item = &hand->items[2],
        .size = hand->sizes[0],
        .nodes = 2,
        .limit = "deadlock",
        .is_deadlock = true,
        .deadlock_text = "m1 waits for m2,\nm2 waits for m1",
    };
    fill_scenario(hand);
    fill_result(hand);
    hand->report = (struct sim_report){
        .head = {.version = "9.9.9",
                 .command = "sim",
                 .scenario = hand->scenario.name,
                 .file = "s.yaml",
                 .seed = 7,
                 .params = &hand->scenario.params,
                 .had_effect = hand->result.had_effect,
                 .warnings = warnings,
                 .warning_count = 1},
        .scenario = &hand->scenario,
        .result = &hand->result,
        .check = &hand->check,
        .outcomes = hand->outcomes,
    };
}

void hand_result_done(struct hand_result *hand)
{
    testbed_done(&hand->bed);
}

const char *hand_result_json(const struct hand_result *hand, struct arena *arena)
{
    struct text text;

    text_init(&text, arena);
    json_print_sim(&hand->report, &text);
    return text.bytes;
}

JsonNode *hand_result_read(const struct hand_result *hand, struct arena *arena)
{
    const char *json = hand_result_json(hand, arena);
    struct err err = {0};
    JsonNode *root = NULL;

    cr_assert(result_read("r.json", json, strlen(json), &root, &err), "%u: %s", err.pos.line,
              err.text);
    return root;
}
