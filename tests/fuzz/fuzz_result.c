/* SPDX-License-Identifier: Apache-2.0 */
/* Fuzz: any bytes as a result. Property: the reader succeeds or names an error, never both; what it
 * accepts becomes tables in which every line has as many fields as the first. */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "sim/report/result_read.h"
#include "sim/report/tsv.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static size_t count_fields(const char *line)
{
    size_t count = 1;

    for (; *line != '\0' && *line != '\n'; line++)
        count += *line == '\t';
    return count;
}

static void check_table(const struct text *table)
{
    size_t fields = count_fields(table->bytes);

    for (const char *line = table->bytes; *line != '\0'; line = strchr(line, '\n') + 1) {
        if (count_fields(line) != fields || !strchr(line, '\n'))
            abort();
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    JsonNode *root = NULL;
    struct err err = {0};
    struct arena arena;
    struct text results;
    struct text links;
    bool is_good = result_read("fuzz", (const char *)data, size, &root, &err);

    if (is_good != (err.code == ERR_NONE) || is_good != (root != NULL))
        abort();
    if (!is_good)
        return 0;
    arena_init(&arena);
    text_init(&results, &arena);
    text_init(&links, &arena);
    tsv_print_results(root, &results);
    tsv_print_links(root, &links);
    check_table(&results);
    check_table(&links);
    json_node_unref(root);
    arena_done(&arena);
    return 0;
}
