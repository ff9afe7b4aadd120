/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Any bytes as an MLX host file. Beyond "no crash": there is a text if and only if there is no
 * error; every error has a place in the file unless it is about the models given; the text is a
 * scenario that reads without an error once every model is known, with cables for a mesh or a ring;
 * and a second run gives the same.
 */
#include <stdlib.h>
#include <string.h>

#include "sim/scenario/import_mlx.h"
#include "sim/scenario/yaml.h"
#include "tests/unit/support/testbed.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(bool holds)
{
    if (!holds)
        abort();
}

static struct machine_model models[TESTBED_MODELS];
static struct macos_model macos[TESTBED_MACOS];
static struct cable_model cable;

static struct catalog make_catalog(void)
{
    memcpy(models, testbed_models, sizeof models);
    memcpy(macos, testbed_macos, sizeof macos);
    cable = testbed_tb5_cable;
    return (struct catalog){.machines = models,
                            .machine_count = TESTBED_MODELS,
                            .cables = &cable,
                            .cable_count = 1,
                            .macos = macos,
                            .macos_count = TESTBED_MACOS};
}

struct outcome {
    struct arena arena;
    struct err_list errs;
    const char *text;
};

static void run(struct outcome *ret, const struct source_text *text, const char *const *names,
                size_t name_count)
{
    struct catalog catalog = make_catalog();
    const struct import_mlx_options options = {
        .catalog = &catalog, .models = names, .model_count = name_count};

    arena_init(&ret->arena);
    err_list_init(&ret->errs);
    ret->text = NULL;

    bool is_fine = import_mlx_parse(text, &options, &ret->arena, &ret->text, &ret->errs);

    require(is_fine == (ret->errs.count == 0));
    require(is_fine == (ret->text != NULL));
}

static void check_text(struct outcome *outcome)
{
    const struct source_text again = {"again", outcome->text, strlen(outcome->text)};
    struct catalog catalog = make_catalog();
    struct scenario scenario;
    struct err_list errs;

    err_list_init(&errs);
    if (strstr(outcome->text, IMPORT_MODEL_UNKNOWN)) {
        require(yaml_read(&again, &outcome->arena, &errs) != NULL);
        require(errs.count == 0);
    } else {
        require(scenario_parse(&again, &catalog, &scenario, &errs));
        require(scenario.cluster.host_count >= 2);
        /* Both shapes join at least every neighbour. */
        require(scenario.cluster.cable_count >= scenario.cluster.host_count - 1);
        scenario_done(&scenario);
    }
    err_list_done(&errs);
}

static void try_models(const struct source_text *text, const char *const *names, size_t name_count)
{
    struct outcome first;
    struct outcome second;

    run(&first, text, names, name_count);
    run(&second, text, names, name_count);
    require(first.errs.count == second.errs.count);
    for (size_t i = 0; i < first.errs.count; i++) {
        require(strcmp(first.errs.items[i].text, second.errs.items[i].text) == 0);
        require(first.errs.items[i].pos.line > 0 || name_count > 1);
    }
    if (first.text) {
        require(strcmp(first.text, second.text) == 0);
        check_text(&first);
    }
    err_list_done(&first.errs);
    err_list_done(&second.errs);
    arena_done(&first.arena);
    arena_done(&second.arena);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const char *const one[] = {"mac-studio-m3-ultra"};
    static const char *const two[] = {"mac-studio-m3-ultra", "mac-mini-m4-pro"};
    char *bytes = malloc(size + 1); /* a buffer of its own, so that a byte too far is seen */

    require(bytes != NULL);
    if (size)
        memcpy(bytes, data, size);
    bytes[size] = '\0';

    const struct source_text text = {"fuzz", bytes, size};

    try_models(&text, NULL, 0);
    try_models(&text, one, 1);
    try_models(&text, two, 2);
    free(bytes);
    return 0;
}
