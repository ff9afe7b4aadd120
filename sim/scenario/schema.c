/* SPDX-License-Identifier: Apache-2.0 */
/*
 * DOC: Schema
 *
 * The scenario language and the model files are tables of keys; this walker holds a map against
 * one. It goes on after each error, so that one run shows all of them, and leaves alone what the
 * YAML reader has already reported.
 */
#include "sim/scenario/schema.h"

#include <stdio.h>
#include <string.h>

#include "sim/scenario/quantity.h"
#include "sim/scenario/suggest.h"

#define NAME_MAX_LENGTH 63
#define NAMES_TEXT_MAX  200
#define KEYS_MAX        48

/* "a, b or c", cut short with "..." when it is long. */
static void join_names(char ret[NAMES_TEXT_MAX], const char *const *names, size_t count)
{
    size_t used = 0;

    ret[0] = '\0';
    for (size_t i = 0; i < count; i++) {
        const char *before = i == 0 ? "" : i + 1 == count ? " or " : ", ";

        if (used + strlen(before) + strlen(names[i]) + 6 > NAMES_TEXT_MAX) {
            (void)snprintf(ret + used, NAMES_TEXT_MAX - used, ", ...");
            return;
        }
        used += (size_t)snprintf(ret + used, NAMES_TEXT_MAX - used, "%s%s", before, names[i]);
    }
}

bool schema_want_kind(const struct yaml_value *value, enum yaml_kind kind, const char *what,
                      struct err_list *reterrs)
{
    if (value->kind == kind)
        return true;
    if (value->kind == YAML_BAD)
        return false;
    return err_list_add(reterrs, ERR_SYNTAX, value->pos, "%s has to be %s, not %s", what,
                        yaml_kind_text(kind), yaml_kind_text(value->kind));
}

size_t schema_find_name(const struct yaml_value *value, const char *what, const char *const *names,
                        size_t count, struct err_list *reterrs)
{
    char suggestion[SUGGEST_TEXT_MAX];
    char list[NAMES_TEXT_MAX];

    if (!schema_want_kind(value, YAML_TEXT, what, reterrs))
        return count;
    for (size_t i = 0; i < count; i++) {
        if (strcmp(names[i], value->text) == 0)
            return i;
    }
    suggest_text(suggestion, value->text, names, count);
    join_names(list, names, count);
    if (*suggestion)
        err_list_add(reterrs, ERR_REFERENCE, value->pos, "unknown %s '%.60s'%s", what, value->text,
                     suggestion);
    else
        err_list_add(reterrs, ERR_REFERENCE, value->pos, "unknown %s '%.60s': %s is accepted", what,
                     value->text, list);
    return count;
}

static bool is_name(const char *text)
{
    size_t length = strlen(text);

    if (length == 0 || length > NAME_MAX_LENGTH || text[0] == '-' || text[0] == '.')
        return false;
    for (size_t i = 0; i < length; i++) {
        char c = text[i];

        if (!((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
              c == '-' || c == '_' || c == '.'))
            return false;
    }
    return true;
}

static bool read_bool(const struct schema_key *key, const struct yaml_value *value,
                      struct schema_value *ret, struct err_list *reterrs)
{
    bool is_true = strcmp(value->text, "true") == 0 || strcmp(value->text, "on") == 0;

    if (!is_true && strcmp(value->text, "false") != 0 && strcmp(value->text, "off") != 0)
        return err_list_add(reterrs, ERR_RANGE, value->pos,
                            "%s is true or false (or on, off), not '%.60s'", key->key, value->text);
    ret->number = is_true;
    return true;
}

static enum quantity_kind quantity_kind_of(enum schema_type type)
{
    if (type == SCHEMA_SPAN)
        return QUANTITY_SPAN;
    if (type == SCHEMA_RATE)
        return QUANTITY_RATE;
    if (type == SCHEMA_SIZE)
        return QUANTITY_SIZE;
    if (type == SCHEMA_LENGTH)
        return QUANTITY_LENGTH;
    if (type == SCHEMA_CHANCE)
        return QUANTITY_CHANCE;
    return QUANTITY_COUNT;
}

static bool read_quantity(const struct schema_key *key, const struct yaml_value *value,
                          struct schema_value *ret, struct err_list *reterrs)
{
    enum quantity_kind kind = quantity_kind_of(key->type);
    struct err err = {0};
    char min[QUANTITY_TEXT_MAX];
    char max[QUANTITY_TEXT_MAX];

    if (!quantity_parse(value->text, kind, value->pos, &ret->number, &err)) {
        char text[ERR_TEXT_MAX];

        (void)snprintf(text, sizeof text, "%s", err.text);
        return err_list_add(reterrs, err.code, err.pos, "%s: %.250s", key->key, text);
    }
    if ((key->min == 0 && key->max == 0) || (ret->number >= key->min && ret->number <= key->max))
        return true;
    quantity_format(min, kind, key->min);
    quantity_format(max, kind, key->max);
    return err_list_add(reterrs, ERR_RANGE, value->pos, "%s is '%.60s'; accepted is %s to %s",
                        key->key, value->text, min, max);
}

static bool read_text(const struct schema_key *key, const struct yaml_value *value,
                      struct schema_value *ret, struct err_list *reterrs)
{
    if (!schema_want_kind(value, YAML_TEXT, key->key, reterrs))
        return false;
    if (*value->text == '\0')
        return err_list_add(reterrs, ERR_KEY, value->pos, "%s has no value", key->key);
    ret->text = value->text;
    if (key->type == SCHEMA_TEXT)
        return true;
    if (key->type == SCHEMA_BOOL)
        return read_bool(key, value, ret, reterrs);
    if (key->type == SCHEMA_NAME && !is_name(value->text))
        return err_list_add(reterrs, ERR_RANGE, value->pos,
                            "%s: '%.70s' is no name: letters, digits, '-', '_' and '.' are, at "
                            "most %d, not beginning with '-' or '.'",
                            key->key, value->text, NAME_MAX_LENGTH);
    if (key->type == SCHEMA_NAME)
        return true;
    if (key->type == SCHEMA_CHOICE) {
        size_t index = schema_find_name(value, key->key, key->names, key->name_count, reterrs);

        ret->number = (int64_t)index;
        return index < key->name_count;
    }
    return read_quantity(key, value, ret, reterrs);
}

bool schema_read_value(const struct schema_key *key, const struct yaml_value *value,
                       struct schema_value *ret, struct err_list *reterrs)
{
    *ret = (struct schema_value){.node = value, .pos = value->pos};
    if (value->kind == YAML_BAD)
        return false;
    if (key->type == SCHEMA_ANY)
        ret->is_set = true;
    else if (key->type == SCHEMA_LIST)
        ret->is_set = schema_want_kind(value, YAML_LIST, key->key, reterrs);
    else if (key->type == SCHEMA_MAP)
        ret->is_set = schema_want_kind(value, YAML_MAP, key->key, reterrs);
    else
        ret->is_set = read_text(key, value, ret, reterrs);
    return ret->is_set;
}

static bool report_unknown_key(const struct schema *schema, const struct yaml_value *member,
                               struct err_list *reterrs)
{
    const char *names[KEYS_MAX];
    char suggestion[SUGGEST_TEXT_MAX];
    char list[NAMES_TEXT_MAX];
    size_t count = schema->key_count < KEYS_MAX ? schema->key_count : KEYS_MAX;

    for (size_t i = 0; i < count; i++)
        names[i] = schema->keys[i].key;
    suggest_text(suggestion, member->key, names, count);
    join_names(list, names, count);
    if (*suggestion)
        return err_list_add(reterrs, ERR_KEY, member->key_pos, "unknown key '%.60s'%s", member->key,
                            suggestion);
    return err_list_add(reterrs, ERR_KEY, member->key_pos, "unknown key '%.40s': %s takes %s",
                        member->key, schema->what, list);
}

/* The index of a key in the schema, key_count when it is unknown. */
static size_t find_key(const struct schema *schema, const char *key)
{
    size_t i = 0;

    while (i < schema->key_count && strcmp(schema->keys[i].key, key) != 0)
        i++;
    return i;
}

bool schema_read(const struct schema *schema, const struct yaml_value *map,
                 struct schema_value *ret, struct err_list *reterrs)
{
    bool is_ok = true;

    for (size_t i = 0; i < schema->key_count; i++)
        ret[i] = (struct schema_value){.pos = map->pos};
    if (!schema_want_kind(map, YAML_MAP, schema->what, reterrs))
        return false;
    for (size_t i = 0; i < map->count; i++) {
        const struct yaml_value *member = map->items[i];
        size_t k = find_key(schema, member->key);

        if (k == schema->key_count) {
            /* An empty key or one that is no word has been reported by the reader. */
            is_ok = false;
            if (*member->key)
                report_unknown_key(schema, member, reterrs);
        } else if (!ret[k].node) { /* of duplicates, reported by the reader, the first counts */
            is_ok &= schema_read_value(&schema->keys[k], member, &ret[k], reterrs);
        }
    }
    for (size_t i = 0; i < schema->key_count; i++) {
        if (schema->keys[i].is_required && !ret[i].node)
            is_ok = err_list_add(reterrs, ERR_KEY, map->pos, "%s needs the key '%s'", schema->what,
                                 schema->keys[i].key);
    }
    return is_ok;
}
