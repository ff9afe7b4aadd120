/* SPDX-License-Identifier: Apache-2.0 */
/* A table of keys, types and ranges against a YAML map: every slip of the map in one go. */
#ifndef SIM_SCENARIO_SCHEMA_H
#define SIM_SCENARIO_SCHEMA_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sim/base/err.h"
#include "sim/scenario/yaml.h"

enum schema_type {
    SCHEMA_TEXT,   /* any text that is not empty */
    SCHEMA_NAME,   /* letters, digits, '-', '_' and '.', at most 63 */
    SCHEMA_CHOICE, /* one of `names`; the number is its index */
    SCHEMA_BOOL,   /* true or on, false or off */
    SCHEMA_SPAN,   /* quantities: the number is in the unit of quantity_parse() */
    SCHEMA_RATE,
    SCHEMA_SIZE,
    SCHEMA_LENGTH,
    SCHEMA_COUNT,
    SCHEMA_CHANCE,
    SCHEMA_LIST, /* the caller reads the node */
    SCHEMA_MAP,
    SCHEMA_ANY,
};

struct schema_key {
    const char *key;
    enum schema_type type;
    bool is_required;
    const char *const *names; /* of SCHEMA_CHOICE */
    size_t name_count;
    int64_t min, max; /* of quantities; both 0: no range */
};

struct schema {
    const char *what; /* "a machine", for messages */
    const struct schema_key *keys;
    size_t key_count;
};

/* What was read for one key. */
struct schema_value {
    bool is_set; /* present and right */
    int64_t number;
    const char *text;
    const struct yaml_value *node; /* also set when the value is wrong */
    struct src_pos pos;            /* of the value; of the map when the key is absent */
};

/*
 * Reads a map.
 *
 * Returns:  true when there was no error; ret[i] belongs to schema->keys[i] either way.
 * Shape:    ret[schema->key_count].
 * Errors:   unknown and missing keys, wrong types, units and ranges, each at its place.
 */
bool schema_read(const struct schema *schema, const struct yaml_value *map,
                 struct schema_value *ret, struct err_list *reterrs);

/* Reads one value, such as an item of a list, as a map's key would be read. */
bool schema_read_value(const struct schema_key *key, const struct yaml_value *value,
                       struct schema_value *ret, struct err_list *reterrs);

/* An error when the value is not of that kind; silent on what the reader already reported. */
bool schema_want_kind(const struct yaml_value *value, enum yaml_kind kind, const char *what,
                      struct err_list *reterrs);

/* The index of `word` in `names`, or count and an error with a suggestion or the list of names.
 * `what` is such as "library". */
size_t schema_find_name(const struct yaml_value *value, const char *what, const char *const *names,
                        size_t count, struct err_list *reterrs);

#endif
