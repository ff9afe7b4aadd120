/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Any bytes as a model file. Alone it is a catalogue or has errors inside the file, never both and
 * never neither, twice the same; beside the shipped files, what is accepted keeps the catalogue's
 * promises: ports numbered in order, rates above zero, values inside their ranges, versions
 * ascending.
 */
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sim/scenario/scenario.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define SHIPPED 5

static void require(bool holds)
{
    if (!holds)
        abort();
}

/* Reads the shipped files once. */
static struct source_text *shipped_files(void)
{
    static const char *const paths[SHIPPED] = {SOURCE_ROOT "/models/chips.yaml",
                                               SOURCE_ROOT "/models/machines.yaml",
                                               SOURCE_ROOT "/models/cables.yaml",
                                               SOURCE_ROOT "/models/macos.yaml",
                                               SOURCE_ROOT "/models/calibration.yaml"};
    static struct source_text texts[SHIPPED + 1];
    static char bytes[SHIPPED][1 << 16];

    for (size_t i = 0; i < SHIPPED && !texts[i].name; i++) {
        FILE *file = fopen(paths[i], "rb");

        require(file != NULL);
        texts[i] = (struct source_text){paths[i], bytes[i], fread(bytes[i], 1, 1 << 16, file)};
        (void)fclose(file);
        require(texts[i].length < 1 << 16);
    }
    return texts;
}

static void check_machine(const struct machine_model *machine)
{
    bool is_computer = machine->kind == MACHINE_MAC || machine->kind == MACHINE_OTHER;

    require(machine->port_count > 0 && is_computer == (machine->chip != NULL));
    for (size_t i = 0; i < machine->port_count; i++) {
        const struct port_model *port = &machine->ports[i];

        require(port->number == i + 1 && port->rate.bps > 0 && port->ifname[0] != '\0');
        require((port->kind == PORT_THUNDERBOLT) == (port->generation > 0));
        require(port->is_doubtful == (port->doubt != NULL));
    }
}

static void check_catalog(const struct catalog *catalog)
{
    for (size_t i = 0; i < catalog->chip_count; i++)
        require(catalog->chips[i].thread_copy.bps > 0 && catalog->chips[i].thread_reduce.bps > 0 &&
                catalog->chips[i].host_staging.bps > 0);
    for (size_t i = 0; i < catalog->machine_count; i++)
        check_machine(&catalog->machines[i]);
    for (size_t i = 0; i < catalog->cable_count; i++)
        require(catalog->cables[i].rate_forward.bps > 0 && catalog->cables[i].rate_reverse.bps > 0);
    for (size_t i = 1; i < catalog->macos_count; i++)
        require(macos_version_compare(catalog->macos[i - 1].version, catalog->macos[i].version) <
                0);
    for (uint32_t i = 0; i < PARAM_COUNT; i++)
        require(catalog->params.v[i].is_set &&
                catalog->params.v[i].low <= catalog->params.v[i].value &&
                catalog->params.v[i].value <= catalog->params.v[i].high);
}

/* Every error is one line about a place in a file. */
static void check_errors(const struct err_list *errs)
{
    require(errs->count > 0);
    for (size_t i = 0; i < errs->count; i++)
        require(errs->items[i].pos.line >= 1 && errs->items[i].pos.col >= 1 &&
                errs->items[i].text[0] != '\0' && !strchr(errs->items[i].text, '\n'));
}

/* Parses and checks; true when it was accepted. */
static bool parse_once(const struct source_text *texts, size_t count, struct err_list *errs)
{
    struct catalog catalog;
    bool is_read;

    err_list_init(errs);
    is_read = catalog_parse(texts, count, &catalog, errs);
    if (is_read) {
        require(errs->count == 0);
        check_catalog(&catalog);
        catalog_done(&catalog);
    } else {
        check_errors(errs);
    }
    return is_read;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct source_text *texts = shipped_files();
    struct err_list first;
    struct err_list second;

    texts[SHIPPED] = (struct source_text){"fuzz.yaml", (const char *)data, size};
    require(parse_once(&texts[SHIPPED], 1, &first) == parse_once(&texts[SHIPPED], 1, &second));
    require(first.count == second.count);
    for (size_t i = 0; i < first.count; i++)
        require(strcmp(first.items[i].text, second.items[i].text) == 0);
    err_list_done(&first);
    err_list_done(&second);
    (void)parse_once(texts, SHIPPED + 1, &first);
    err_list_done(&first);
    return 0;
}
