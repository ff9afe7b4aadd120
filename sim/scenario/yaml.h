/* SPDX-License-Identifier: Apache-2.0 */
/* A YAML file as a tree of text, each key and value with its place. */
#ifndef SIM_SCENARIO_YAML_H
#define SIM_SCENARIO_YAML_H

#include <stdbool.h>
#include <stddef.h>

#include "sim/base/arena.h"
#include "sim/base/err.h"

struct source_text;

#define YAML_BYTES_MAX  ((size_t)4 * 1024 * 1024)
#define YAML_VALUES_MAX ((size_t)500 * 1000)
#define YAML_DEPTH_MAX  32U

enum yaml_kind {
    YAML_TEXT, /* all scalars stay text; the schema types them */
    YAML_LIST,
    YAML_MAP,
    YAML_BAD, /* something already reported stands here, such as an alias */
};

struct yaml_value {
    enum yaml_kind kind;
    bool is_quoted;
    struct src_pos pos;
    struct src_pos key_pos;                /* of maps' members */
    const char *key;                       /* NULL outside maps */
    const char *text;                      /* YAML_TEXT, "" when nothing is written */
    const struct yaml_value *const *items; /* lists and maps, in the order of the file */
    size_t count;
};

/*
 * Reads one document.
 *
 * Returns:  its root, in the arena; NULL when the text is not YAML to its end. Errors that leave
 *           the rest readable (duplicate keys, anchors, aliases, tags, a second document) are in
 *           *reterrs beside a root, so that a caller can look for more; the text is good only when
 *           no error was added.
 */
const struct yaml_value *yaml_read(const struct source_text *text, struct arena *arena,
                                   struct err_list *reterrs);

/* The member of that key, NULL when there is none or the value is not a map. */
const struct yaml_value *yaml_find(const struct yaml_value *map, const char *key);

/* True for what stands for nothing: no text, ~ or null, not in quotes. */
bool yaml_is_null(const struct yaml_value *value);

/* "a text", "a list" or "a map", for messages. */
const char *yaml_kind_text(enum yaml_kind kind);

#endif
