/* SPDX-License-Identifier: Apache-2.0 */
/*
 * DOC: Parameters, profile, goals, matrix
 *
 * The sections of a scenario that say how the model behaves and what `check` is asked: overrides
 * of parameters, switches where sources contradict each other, goals, and a JACCL device matrix as
 * the user has it.
 */
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "sim/base/arena.h"
#include "sim/base/err.h"
#include "sim/base/ids.h"
#include "sim/base/units.h"
#include "sim/fabric/cluster.h"
#include "sim/fabric/fabric.h"
#include "sim/fabric/param.h"
#include "sim/fabric/quirk.h"
#include "sim/plan/check.h"
#include "sim/scenario/build.h"
#include "sim/scenario/params.h"
#include "sim/scenario/quirk.h"
#include "sim/scenario/scenario.h"
#include "sim/scenario/schema.h"
#include "sim/scenario/yaml.h"

#define MATRIX_MAX 256U

static void read_parameter(struct build *build, const struct yaml_value *member)
{
    struct err err = {0};
    enum param_id id = params_find(member->key, member->key_pos, &err);
    int64_t value;

    if (id != PARAM_COUNT && schema_want_kind(member, YAML_TEXT, member->key, build->errs) &&
        params_parse_value(id, member->text, member->pos, &value, &err)) {
        params_warn_unlikely(&build->scenario->params, id, value, member->pos,
                             &build->scenario->warnings);
        params_set_user(&build->scenario->params, id, value,
                        arena_format(build->arena, "%s, line %u", build->scenario->file,
                                     member->pos.line));
    }
    err_list_take(build->errs, &err);
}

void build_parameters(struct build *build, const struct schema_value *parameters)
{
    struct err err = {0};

    if (!parameters->is_set)
        return;
    for (size_t i = 0; i < parameters->node->count; i++)
        read_parameter(build, parameters->node->items[i]);
    params_check(&build->scenario->params, parameters->pos, &err);
    err_list_take(build->errs, &err);
}

/* A key of `profile` says the same as the quirk. */
static void imply_quirk(struct build *build, enum quirk quirk, const struct schema_value *value)
{
    build->scenario->quirks.on |= QUIRK_BIT_OF(quirk);
    build->scenario->quirks.keys[quirk] = value->node->key_pos;
}

void build_profile(struct build *build, const struct schema_value *profile)
{
    static const char *const unmatched_names[] = {"hold", "drop"};
    static const char *const completion_names[] = {"sent", "queued"};
    static const struct schema_key keys[] = {
        {.key = "unmatched", .type = SCHEMA_CHOICE, .names = unmatched_names, .name_count = 2},
        {.key = "send_completion",
         .type = SCHEMA_CHOICE,
         .names = completion_names,
         .name_count = 2},
    };
    static const struct schema schema = {"profile", keys, 2};
    struct schema_value v[2];

    if (!profile->is_set || !schema_read(&schema, profile->node, v, build->errs))
        return;
    build->scenario->unmatched = (enum fabric_unmatched)v[0].number;
    build->send_completion = (enum fabric_send_completion)v[1].number;
    if (build->scenario->unmatched == FABRIC_DROP)
        imply_quirk(build, QUIRK_DROP, &v[0]);
    if (build->send_completion == FABRIC_SEND_WHEN_QUEUED)
        imply_quirk(build, QUIRK_EARLY, &v[1]);
}

void build_quirks(struct build *build, const struct schema_value *section)
{
    struct quirks *quirks = &build->scenario->quirks;
    struct schema_key keys[QUIRK_COUNT];
    struct schema_value v[QUIRK_COUNT];
    const struct schema schema = {"quirks", keys, QUIRK_COUNT};

    for (int i = 0; i < QUIRK_COUNT; i++)
        // cppcheck-suppress unreadVariable ; the schema points to them
        keys[i] =
            (struct schema_key){.key = quirk_name((enum quirk)i),
                                .type = quirk_has_value((enum quirk)i) ? SCHEMA_TEXT : SCHEMA_BOOL};
    if (!section->is_set || !schema_read(&schema, section->node, v, build->errs))
        return;
    for (int i = 0; i < QUIRK_COUNT; i++) {
        struct err err = {0};
        bool has_value = quirk_has_value((enum quirk)i);
        const struct quirk_text text = {.value = has_value ? v[i].text : NULL,
                                        .pos = v[i].pos,
                                        .key = v[i].node ? v[i].node->key_pos : v[i].pos};

        if (v[i].is_set && (has_value || v[i].number != 0) &&
            !quirk_switch((enum quirk)i, &text, quirks, &err))
            err_list_take(build->errs, &err);
    }
    if (quirk_is_on(quirks, QUIRK_DROP))
        build->scenario->unmatched = FABRIC_DROP;
    if (quirk_is_on(quirks, QUIRK_EARLY))
        build->send_completion = FABRIC_SEND_WHEN_QUEUED;
}

struct check_goal *build_add_goal(struct build *build)
{
    struct scenario *scenario = build->scenario;

    if (scenario->goal_count == build->goal_capacity) {
        size_t capacity = build->goal_capacity ? 2 * build->goal_capacity : 8;
        struct check_goal *goals =
            arena_alloc_array(build->arena, capacity, sizeof(struct check_goal));

        if (scenario->goal_count > 0)
            memcpy(goals, scenario->goals, scenario->goal_count * sizeof(struct check_goal));
        scenario->goals = goals;
        build->goal_capacity = capacity;
    }
    return &scenario->goals[scenario->goal_count++];
}

enum goal_key {
    GOAL_MESH,
    GOAL_TENSOR_PARALLEL,
    GOAL_MODEL,
    GOAL_HEADS,
    GOAL_KV_HEADS,
    GOAL_HIDDEN,
    GOAL_WEIGHTS,
    GOAL_KEY_COUNT,
};

static const struct schema_key goal_keys[GOAL_KEY_COUNT] = {
    [GOAL_MESH] = {.key = "mesh", .type = SCHEMA_BOOL},
    [GOAL_TENSOR_PARALLEL] = {.key = "tensor_parallel",
                              .type = SCHEMA_COUNT,
                              .min = 1,
                              .max = 65536},
    [GOAL_MODEL] = {.key = "model", .type = SCHEMA_TEXT},
    [GOAL_HEADS] = {.key = "heads", .type = SCHEMA_COUNT, .min = 1, .max = 1 << 20},
    [GOAL_KV_HEADS] = {.key = "kv_heads", .type = SCHEMA_COUNT, .min = 1, .max = 1 << 20},
    [GOAL_HIDDEN] = {.key = "hidden", .type = SCHEMA_COUNT, .min = 1, .max = 1 << 24},
    [GOAL_WEIGHTS] = {.key = "weights", .type = SCHEMA_SIZE, .min = 1, .max = INT64_C(1) << 50},
};

static const struct schema goal_schema = {"a goal", goal_keys, GOAL_KEY_COUNT};

static void read_goal(struct build *build, const struct yaml_value *node)
{
    struct schema_value v[GOAL_KEY_COUNT];
    struct check_goal goal = {.pos = node->pos};

    if (!schema_read(&goal_schema, node, v, build->errs))
        return;
    goal.wants_mesh = v[GOAL_MESH].number != 0;
    goal.tensor_parallel = (uint32_t)v[GOAL_TENSOR_PARALLEL].number;
    goal.model = v[GOAL_MODEL].is_set ? v[GOAL_MODEL].text : NULL;
    goal.heads = (uint32_t)v[GOAL_HEADS].number;
    goal.kv_heads = (uint32_t)v[GOAL_KV_HEADS].number;
    goal.hidden = (uint32_t)v[GOAL_HIDDEN].number;
    goal.weights.bytes = (uint64_t)v[GOAL_WEIGHTS].number;
    *build_add_goal(build) = goal;
}

void build_goals(struct build *build, const struct schema_value *goals)
{
    if (!goals->node || goals->node->kind == YAML_BAD)
        return;
    if (goals->node->kind != YAML_LIST) {
        read_goal(build, goals->node);
        return;
    }
    for (size_t i = 0; i < goals->node->count; i++)
        read_goal(build, goals->node->items[i]);
}

/* One cell: null, a device's name, or a list of names. */
static const char *const *read_cell(struct build *build, const struct yaml_value *node, bool *is_ok)
{
    bool is_list = node->kind == YAML_LIST;
    size_t count = is_list ? node->count : 1;
    const char **names;

    if (yaml_is_null(node))
        return NULL;
    names = arena_alloc_array(build->arena, count + 1, sizeof(const char *));
    for (size_t i = 0; i < count; i++) {
        const struct yaml_value *item = is_list ? node->items[i] : node;

        if (item->kind == YAML_TEXT && *item->text != '\0')
            names[i] = item->text;
        else if (item->kind != YAML_BAD)
            *is_ok = err_list_add(build->errs, ERR_RANGE, item->pos,
                                  "a cell is null, a device such as rdma_en5, or a list of them");
    }
    return names;
}

/* Reads the cells; false after an error. */
static bool read_cells(struct build *build, const struct yaml_value *rows,
                       struct check_matrix *matrix)
{
    size_t size = rows->count;
    const char *const **cells =
        arena_alloc_array(build->arena, size * size, sizeof(const char *const *));
    struct src_pos *places = arena_alloc_array(build->arena, size * size, sizeof(struct src_pos));
    bool is_ok = true;

    for (size_t r = 0; r < size; r++) {
        const struct yaml_value *row = rows->items[r];

        if (!schema_want_kind(row, YAML_LIST, "a row of devices", build->errs)) {
            is_ok = false;
            continue;
        }
        if (row->count != size)
            is_ok = err_list_add(build->errs, ERR_CONFLICT, row->pos,
                                 "row %zu has %zu cells; with %zu rows it needs %zu", r, row->count,
                                 size, size);
        for (size_t c = 0; c < row->count && c < size; c++) {
            cells[r * size + c] = read_cell(build, row->items[c], &is_ok);
            places[r * size + c] = row->items[c]->pos;
        }
    }
    matrix->size = size;
    matrix->cells = cells;
    matrix->cell_pos = places;
    return is_ok;
}

/* The host of each rank: as listed, or the computers in their order. */
static bool read_matrix_hosts(struct build *build, const struct schema_value *value,
                              struct check_matrix *matrix)
{
    const struct cluster *cluster = &build->scenario->cluster;
    struct build_hosts hosts = {
        arena_alloc_array(build->arena, cluster->host_count, sizeof(host_id)), 0};

    if (value->is_set) {
        if (!build_read_hosts(build, value->node, "hosts", &hosts))
            return false;
    } else {
        for (size_t i = 0; i < cluster->host_count && hosts.count < matrix->size; i++) {
            if (build_is_computer(&cluster->hosts[i]))
                hosts.items[hosts.count++] = (host_id){(uint32_t)i};
        }
    }
    if (hosts.count != matrix->size)
        return err_list_add(build->errs, ERR_CONFLICT, value->pos,
                            "matrix: %zu rows need as many hosts, not %zu", matrix->size,
                            hosts.count);
    matrix->hosts = hosts.items;
    return true;
}

void build_matrix(struct build *build, const struct schema_value *matrix)
{
    static const char *const backend_names[] = {"mesh", "ring"};
    static const struct schema_key keys[] = {
        {.key = "devices", .type = SCHEMA_LIST, .is_required = true},
        {.key = "hosts", .type = SCHEMA_LIST},
        {.key = "backend", .type = SCHEMA_CHOICE, .names = backend_names, .name_count = 2},
    };
    static const struct schema schema = {"matrix", keys, 3};
    struct check_matrix read = {.pos = matrix->pos};
    struct schema_value v[3];

    if (!matrix->is_set || !schema_read(&schema, matrix->node, v, build->errs))
        return;
    if (v[0].node->count < 1 || v[0].node->count > MATRIX_MAX) {
        err_list_add(build->errs, ERR_RANGE, v[0].pos,
                     "devices: 1 to %u rows are accepted, not %zu", MATRIX_MAX, v[0].node->count);
        return;
    }
    read.prefers_ring = v[2].number == 1;
    if (read_cells(build, v[0].node, &read) && read_matrix_hosts(build, &v[1], &read))
        build->scenario->matrix = read;
}
