/* SPDX-License-Identifier: Apache-2.0 */
/*
 * DOC: Scenario
 *
 * The only reader of a user's scenario. The text becomes a tree (yaml.c), the tree is held against
 * tables of keys (schema.c), and each section fills its part of struct scenario, with references
 * resolved against the catalogue and against the machines before it. A section that fails does not
 * stop the next, so one run shows all errors; what depends on a broken part is left out silently.
 *
 * The order is: models, machines, cables, then whatever names them. docs/scenario-format.md is the
 * language for people.
 */
#include "sim/scenario/scenario.h"

#include "sim/scenario/build.h"
#include "sim/scenario/models.h"
#include "sim/scenario/schema.h"
#include "sim/scenario/yaml.h"

static const struct schema_key top_keys[TOP_KEY_COUNT] = {
    [TOP_VERSION] =
        {.key = "tbmesh", .type = SCHEMA_COUNT, .is_required = true, .min = 1, .max = 1},
    [TOP_NAME] = {.key = "name", .type = SCHEMA_TEXT},
    [TOP_SEED] = {.key = "seed", .type = SCHEMA_COUNT},
    [TOP_MACOS] = {.key = "macos", .type = SCHEMA_TEXT},
    [TOP_JITTER] = {.key = "jitter", .type = SCHEMA_BOOL},
    [TOP_MODELS] = {.key = "models", .type = SCHEMA_MAP},
    [TOP_MACHINES] = {.key = "machines", .type = SCHEMA_LIST, .is_required = true},
    [TOP_CABLES] = {.key = "cables", .type = SCHEMA_LIST},
    [TOP_RDMA] = {.key = "rdma", .type = SCHEMA_CHOICE, .names = build_rdma_names, .name_count = 2},
    [TOP_BRIDGE] = {.key = "bridge", .type = SCHEMA_MAP},
    [TOP_IP] = {.key = "ip", .type = SCHEMA_CHOICE, .names = build_ip_names, .name_count = 3},
    [TOP_PARAMETERS] = {.key = "parameters", .type = SCHEMA_MAP},
    [TOP_PROFILE] = {.key = "profile", .type = SCHEMA_MAP},
    [TOP_QUIRKS] = {.key = "quirks", .type = SCHEMA_MAP},
    [TOP_GOALS] = {.key = "goals", .type = SCHEMA_ANY},
    [TOP_MATRIX] = {.key = "matrix", .type = SCHEMA_MAP},
    [TOP_RUN] = {.key = "run", .type = SCHEMA_ANY},
    [TOP_FAULTS] = {.key = "faults", .type = SCHEMA_LIST},
    [TOP_EXPECT] = {.key = "expect", .type = SCHEMA_LIST},
};

static const struct schema top_schema = {"a scenario", top_keys, TOP_KEY_COUNT};

/* The sections in the order in which they refer to one another. */
static void build_all(struct build *build, const struct catalog *catalog,
                      const struct yaml_value *root)
{
    struct schema_value top[TOP_KEY_COUNT];
    struct scenario *scenario = build->scenario;

    schema_read(&top_schema, root, top, build->errs);
    scenario->name = top[TOP_NAME].is_set ? top[TOP_NAME].text : scenario->file;
    scenario->seed = top[TOP_SEED].is_set ? (uint64_t)top[TOP_SEED].number : 1;
    scenario->has_jitter = !top[TOP_JITTER].is_set || top[TOP_JITTER].number != 0;
    models_extend(catalog, top[TOP_MODELS].is_set ? top[TOP_MODELS].node : NULL, build->arena,
                  &build->catalog, build->errs);
    scenario->params = catalog->params;
    build_machines(build, top);
    build_cables(build, &top[TOP_CABLES]);
    build_parameters(build, &top[TOP_PARAMETERS]);
    build_profile(build, &top[TOP_PROFILE]);
    build_quirks(build, &top[TOP_QUIRKS]);
    build_goals(build, &top[TOP_GOALS]);
    build_matrix(build, &top[TOP_MATRIX]);
    build_runs(build, &top[TOP_RUN]);
    build_faults(build, &top[TOP_FAULTS]);
    build_expectations(build, &top[TOP_EXPECT]);
}

bool scenario_parse(const struct source_text *text, const struct catalog *catalog,
                    struct scenario *ret, struct err_list *reterrs)
{
    struct scenario scenario = {.file = text->name, .macos = ""};
    struct build build = {.scenario = &scenario, .arena = &scenario.arena, .errs = reterrs};
    size_t errors_before = reterrs->count + reterrs->dropped;
    const struct yaml_value *root;

    arena_init(&scenario.arena);
    err_list_init(&scenario.warnings);
    root = yaml_read(text, &scenario.arena, reterrs);
    if (root)
        build_all(&build, catalog, root);
    if (reterrs->count + reterrs->dropped != errors_before) {
        scenario_done(&scenario);
        err_list_sort(reterrs);
        return false;
    }
    err_list_sort(&scenario.warnings);
    *ret = scenario;
    return true;
}

void scenario_done(struct scenario *scenario)
{
    err_list_done(&scenario->warnings);
    arena_done(&scenario->arena);
    *scenario = (struct scenario){0};
}
