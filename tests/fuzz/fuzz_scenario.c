/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Any bytes as a scenario. It is accepted or has errors, never both and never neither, and each
 * error is one line about a place inside the file. Accepted means: every index points at something,
 * every port and its cable name each other, every quantity is in its range; and reading it again
 * gives the same.
 */
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sim/scenario/scenario.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define MODELS 5

static void require(bool holds)
{
    if (!holds)
        abort();
}

/* The shipped catalogue, read once. */
static const struct catalog *shipped_catalog(void)
{
    static const char *const paths[MODELS] = {SOURCE_ROOT "/models/chips.yaml",
                                              SOURCE_ROOT "/models/machines.yaml",
                                              SOURCE_ROOT "/models/cables.yaml",
                                              SOURCE_ROOT "/models/macos.yaml",
                                              SOURCE_ROOT "/models/calibration.yaml"};
    static char bytes[MODELS][1 << 16];
    static struct catalog catalog;
    struct source_text texts[MODELS];
    struct err_list errs;

    if (catalog.machine_count > 0)
        return &catalog;
    for (size_t i = 0; i < MODELS; i++) {
        FILE *file = fopen(paths[i], "rb");

        require(file != NULL);
        texts[i] = (struct source_text){paths[i], bytes[i], fread(bytes[i], 1, 1 << 16, file)};
        (void)fclose(file);
    }
    err_list_init(&errs);
    require(catalog_parse(texts, MODELS, &catalog, &errs));
    err_list_done(&errs);
    return &catalog;
}

static void check_end(const struct cluster *cluster, struct cluster_end end, uint32_t cable)
{
    require(end.host.ix < cluster->host_count);
    require(end.port < cluster->hosts[end.host.ix].port_count);
    require(cluster->hosts[end.host.ix].ports[end.port].cable.ix == cable);
}

static void check_cluster_tables(const struct cluster *cluster)
{
    size_t plugged = 0;

    require(cluster->host_count >= 1 && cluster->host_count <= 4096);
    for (size_t i = 0; i < cluster->host_count; i++) {
        const struct cluster_host *host = &cluster->hosts[i];

        require(host->model && host->port_count == host->model->port_count);
        require((host->model->kind == MACHINE_MAC) == (host->macos_profile != NULL));
        for (size_t k = 0; k < host->port_count; k++) {
            require(host->ports[k].model == &host->model->ports[k]);
            plugged += host->ports[k].cable.ix != ID_NONE;
        }
    }
    require(plugged == 2 * cluster->cable_count);
    for (size_t i = 0; i < cluster->cable_count; i++) {
        const struct cluster_cable *cable = &cluster->cables[i];

        check_end(cluster, cable->a, (uint32_t)i);
        check_end(cluster, cable->b, (uint32_t)i);
        require(cable->a.host.ix != cable->b.host.ix);
        require(cable->rate_ab.bps > 0 && cable->rate_ba.bps > 0);
    }
}

static void check_item(const struct scenario *s, const struct run_item *item)
{
    bool is_pair = item->op == RUN_SEND_RECV || item->op == RUN_PING_PONG || item->op == RUN_STREAM;

    require(item->op < RUN_OP_COUNT && item->library < LIBRARY_COUNT && item->dtype < DTYPE_COUNT);
    require(item->jaccl < JACCL_VERSION_COUNT && item->repeat >= 1 && item->count >= 1);
    require(item->node_count >= 2 && item->size_count >= 1);
    require(item->root < item->node_count && item->from < item->node_count &&
            item->to < item->node_count && item->from != item->to);
    for (size_t i = 0; i < item->node_count; i++)
        require(item->nodes[i].ix < s->cluster.host_count);
    for (size_t i = 0; i < item->size_count; i++)
        require(item->sizes[i].bytes >= 1 &&
                (is_pair || item->sizes[i].bytes % dtype_size(item->dtype) == 0));
}

static void check_scenario(const struct scenario *s)
{
    check_cluster_tables(&s->cluster);
    for (size_t i = 0; i < s->item_count; i++)
        check_item(s, &s->items[i]);
    for (size_t i = 0; i < s->fault_count; i++) {
        const struct fault *fault = &s->faults[i];
        bool is_all = fault->kind == FAULT_FRAMES && fault->cable.ix == ID_NONE;

        require(is_all || fault->cable.ix < s->cluster.cable_count);
        require(fault->at.ps >= 0 && fault->loss_ppb <= 1000000000 &&
                fault->corrupt_ppb <= 1000000000);
    }
    for (size_t i = 0; i < s->matrix.size; i++)
        require(s->matrix.hosts[i].ix < s->cluster.host_count);
    for (uint32_t i = 0; i < PARAM_COUNT; i++)
        require(s->params.v[i].is_set && s->params.v[i].value >= 0 &&
                (s->params.v[i].value > 0 || param_unit_of((enum param_id)i) == PARAM_UNIT_SPAN ||
                 i == PARAM_IP_FRAME_HEADER));
    for (size_t i = 0; i < s->expectation_count; i++)
        require(s->expectations[i].subject[0] != '\0');
}

/* libyaml also ends lines at a lone CR, NEL, LS and PS; each of those holds one of these bytes. */
static uint32_t count_lines(const uint8_t *data, size_t size)
{
    uint32_t lines = 1;

    for (size_t i = 0; i < size; i++)
        lines += data[i] == '\n' || data[i] == '\r' || data[i] == 0x85 || data[i] == 0xa8 ||
                 data[i] == 0xa9;
    return lines;
}

static void check_errors(const struct err_list *errs, const char *file, uint32_t lines)
{
    for (size_t i = 0; i < errs->count; i++) {
        const struct err *err = &errs->items[i];

        require(err->pos.file == file && err->pos.line >= 1 && err->pos.line <= lines);
        require(err->pos.col >= 1 && err->text[0] != '\0' && !strchr(err->text, '\n'));
        require(i == 0 || errs->items[i - 1].pos.line <= err->pos.line);
    }
}

static void check_same(const struct scenario *a, const struct scenario *b)
{
    require(strcmp(a->name, b->name) == 0 && a->seed == b->seed);
    require(a->cluster.host_count == b->cluster.host_count);
    require(a->cluster.cable_count == b->cluster.cable_count);
    require(a->item_count == b->item_count && a->fault_count == b->fault_count);
    require(a->goal_count == b->goal_count && a->matrix.size == b->matrix.size);
    require(a->expectation_count == b->expectation_count);
    require(a->warnings.count == b->warnings.count);
    for (size_t i = 0; i < a->cluster.cable_count; i++)
        require(a->cluster.cables[i].a.port == b->cluster.cables[i].a.port &&
                a->cluster.cables[i].rate_ab.bps == b->cluster.cables[i].rate_ab.bps);
    for (uint32_t i = 0; i < PARAM_COUNT; i++)
        require(a->params.v[i].value == b->params.v[i].value);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct source_text text = {"fuzz.yaml", (const char *)data, size};
    const struct catalog *catalog = shipped_catalog();
    struct scenario first;
    struct scenario second;
    struct err_list errs;
    struct err_list again;

    err_list_init(&errs);
    err_list_init(&again);

    bool is_read = scenario_parse(&text, catalog, &first, &errs);

    require(is_read == (errs.count == 0));
    require(is_read == scenario_parse(&text, catalog, &second, &again));
    require(errs.count == again.count && errs.dropped == again.dropped);
    check_errors(&errs, text.name, count_lines(data, size));
    if (is_read) {
        check_errors(&first.warnings, text.name, count_lines(data, size));
        check_scenario(&first);
        check_same(&first, &second);
        scenario_done(&first);
        scenario_done(&second);
    }
    err_list_done(&errs);
    err_list_done(&again);
    return 0;
}
