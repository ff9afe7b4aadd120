/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/scenario/support/files.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <criterion/criterion.h>

struct source_text files_read(const char *path)
{
    FILE *file = fopen(path, "rb");
    char *bytes = NULL;
    size_t length = 0;

    cr_assert_not_null(file, "cannot open %s", path);
    for (size_t room = 65536;; room *= 2) {
        bytes = realloc(bytes, room);
        cr_assert_not_null(bytes);
        length += fread(bytes + length, 1, room - length, file);
        if (length < room)
            break;
    }
    (void)fclose(file);
    return (struct source_text){path, bytes, length};
}

void files_free(struct source_text *text)
{
    void *bytes;

    memcpy(&bytes, &text->bytes, sizeof bytes); /* allocated by files_read, const for all others */
    free(bytes);
    *text = (struct source_text){0};
}

void files_read_catalog(struct catalog *ret)
{
    static const char *const names[] = {"chips", "machines", "cables", "macos", "calibration"};
    static char paths[5][512];
    struct source_text texts[5];
    struct err_list errs;
    char text[4096];
    bool is_ok;

    err_list_init(&errs);
    for (size_t i = 0; i < 5; i++) {
        (void)snprintf(paths[i], sizeof paths[i], "%s/models/%s.yaml", SOURCE_ROOT, names[i]);
        texts[i] = files_read(paths[i]);
    }
    is_ok = catalog_parse(texts, 5, ret, &errs);
    files_join_errors(&errs, text, sizeof text);
    cr_assert(is_ok, "models/ has errors:\n%s", text);
    err_list_done(&errs);
    for (size_t i = 0; i < 5; i++)
        files_free(&texts[i]);
}

struct source_text files_text(const char *name, const char *text)
{
    return (struct source_text){name, text, strlen(text)};
}

void files_join_errors(const struct err_list *errs, char *ret, size_t size)
{
    size_t used = 0;

    ret[0] = '\0';
    for (size_t i = 0; i < errs->count && used < size; i++) {
        int n = snprintf(ret + used, size - used, "%s%u:%u: %s", i ? "\n" : "",
                         errs->items[i].pos.line, errs->items[i].pos.col, errs->items[i].text);

        used += n > 0 ? (size_t)n : 0;
    }
}
