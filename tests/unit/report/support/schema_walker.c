/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/report/support/schema_walker.h"

#include <stdio.h>
#include <string.h>

struct walker {
    JsonObject *defs; /* of the root; NULL: none */
    char *why;
};

static bool check(const struct walker *w, JsonNode *schema, JsonNode *value, const char *path);

static bool fail(const struct walker *w, const char *path, const char *what, const char *detail)
{
    (void)snprintf(w->why, SCHEMA_WHY_MAX, "%s: %s %s", *path != '\0' ? path : "the root", what,
                   detail);
    return false;
}

static bool is_number(JsonNode *value)
{
    return JSON_NODE_HOLDS_VALUE(value) && (json_node_get_value_type(value) == G_TYPE_INT64 ||
                                            json_node_get_value_type(value) == G_TYPE_DOUBLE);
}

static bool has_type(JsonNode *value, const char *type)
{
    GType held = JSON_NODE_HOLDS_VALUE(value) ? json_node_get_value_type(value) : G_TYPE_INVALID;

    if (strcmp(type, "object") == 0)
        return JSON_NODE_HOLDS_OBJECT(value);
    if (strcmp(type, "array") == 0)
        return JSON_NODE_HOLDS_ARRAY(value);
    if (strcmp(type, "null") == 0)
        return JSON_NODE_HOLDS_NULL(value);
    if (strcmp(type, "string") == 0)
        return held == G_TYPE_STRING;
    if (strcmp(type, "boolean") == 0)
        return held == G_TYPE_BOOLEAN;
    if (strcmp(type, "integer") == 0)
        return held == G_TYPE_INT64;
    return strcmp(type, "number") == 0 && is_number(value);
}

static bool check_type(const struct walker *w, JsonNode *types, JsonNode *value, const char *path)
{
    if (!JSON_NODE_HOLDS_ARRAY(types))
        return has_type(value, json_node_get_string(types)) ||
               fail(w, path, "is no", json_node_get_string(types));

    JsonArray *list = json_node_get_array(types);

    for (guint i = 0; i < json_array_get_length(list); i++) {
        if (has_type(value, json_array_get_string_element(list, i)))
            return true;
    }
    return fail(w, path, "has none of the types", "");
}

static bool check_required(const struct walker *w, JsonNode *names, JsonNode *value,
                           const char *path)
{
    JsonArray *list = json_node_get_array(names);

    if (!JSON_NODE_HOLDS_OBJECT(value))
        return true;
    for (guint i = 0; i < json_array_get_length(list); i++) {
        const char *name = json_array_get_string_element(list, i);

        if (!json_object_has_member(json_node_get_object(value), name))
            return fail(w, path, "lacks", name);
    }
    return true;
}

/* `properties` and `additionalProperties` together. */
static bool check_members(const struct walker *w, JsonObject *schema, JsonNode *value,
                          const char *path)
{
    JsonObject *known = json_object_has_member(schema, "properties")
                            ? json_object_get_object_member(schema, "properties")
                            : NULL;
    JsonNode *others = json_object_get_member(schema, "additionalProperties");
    JsonObjectIter iter;
    const char *name;
    JsonNode *member;

    if (!JSON_NODE_HOLDS_OBJECT(value))
        return true;
    json_object_iter_init(&iter, json_node_get_object(value));
    while (json_object_iter_next(&iter, &name, &member)) {
        char inner[SCHEMA_WHY_MAX];
        JsonNode *rule = known ? json_object_get_member(known, name) : NULL;

        (void)snprintf(inner, sizeof inner, "%s/%s", path, name);
        if (!rule && others && has_type(others, "boolean") && !json_node_get_boolean(others))
            return fail(w, inner, "is not in the schema", "");
        if (!rule && others && JSON_NODE_HOLDS_OBJECT(others))
            rule = others;
        if (rule && !check(w, rule, member, inner))
            return false;
    }
    return true;
}

static bool check_items(const struct walker *w, JsonNode *rule, JsonNode *value, const char *path)
{
    JsonArray *array;

    if (!JSON_NODE_HOLDS_ARRAY(value))
        return true;
    array = json_node_get_array(value);
    for (guint i = 0; i < json_array_get_length(array); i++) {
        char inner[SCHEMA_WHY_MAX];

        (void)snprintf(inner, sizeof inner, "%s/%u", path, i);
        if (!check(w, rule, json_array_get_element(array, i), inner))
            return false;
    }
    return true;
}

static bool check_enum(const struct walker *w, JsonNode *values, JsonNode *value, const char *path)
{
    JsonArray *list = json_node_get_array(values);

    for (guint i = 0; i < json_array_get_length(list); i++) {
        if (json_node_equal(json_array_get_element(list, i), value))
            return true;
    }
    return fail(w, path, "is none of the values of the schema", "");
}

static bool check_pattern(const struct walker *w, JsonNode *pattern, JsonNode *value,
                          const char *path)
{
    return !has_type(value, "string") ||
           g_regex_match_simple(json_node_get_string(pattern), json_node_get_string(value), 0, 0) ||
           fail(w, path, "does not match", json_node_get_string(pattern));
}

static bool check_reference(const struct walker *w, JsonNode *reference, JsonNode *value,
                            const char *path)
{
    const char *name = json_node_get_string(reference);

    if (!w->defs || strncmp(name, "#/$defs/", 8) != 0 || !json_object_has_member(w->defs, name + 8))
        return fail(w, path, "the schema has no", name);
    return check(w, json_object_get_member(w->defs, name + 8), value, path);
}

/* One keyword. */
static bool check_keyword(const struct walker *w, JsonObject *schema, const char *keyword,
                          JsonNode *value, const char *path)
{
    static const char *const silent[] = {"$schema", "$id", "$defs", "title", "description"};
    JsonNode *rule = json_object_get_member(schema, keyword);

    for (size_t i = 0; i < sizeof silent / sizeof silent[0]; i++) {
        if (strcmp(keyword, silent[i]) == 0)
            return true;
    }
    if (strcmp(keyword, "type") == 0)
        return check_type(w, rule, value, path);
    if (strcmp(keyword, "required") == 0)
        return check_required(w, rule, value, path);
    if (strcmp(keyword, "properties") == 0 || strcmp(keyword, "additionalProperties") == 0)
        return check_members(w, schema, value, path);
    if (strcmp(keyword, "items") == 0)
        return check_items(w, rule, value, path);
    if (strcmp(keyword, "enum") == 0)
        return check_enum(w, rule, value, path);
    if (strcmp(keyword, "const") == 0)
        return json_node_equal(rule, value) || fail(w, path, "is not the constant", "");
    if (strcmp(keyword, "minimum") == 0)
        return !is_number(value) || json_node_get_double(value) >= json_node_get_double(rule) ||
               fail(w, path, "is too small", "");
    if (strcmp(keyword, "pattern") == 0)
        return check_pattern(w, rule, value, path);
    if (strcmp(keyword, "$ref") == 0)
        return check_reference(w, rule, value, path);
    return fail(w, path, "the schema uses an unknown keyword", keyword);
}

static bool check(const struct walker *w, JsonNode *schema, JsonNode *value, const char *path)
{
    JsonObjectIter iter;
    const char *keyword;
    JsonNode *rule;

    if (!JSON_NODE_HOLDS_OBJECT(schema))
        return fail(w, path, "the schema is no object", "");
    json_object_iter_init(&iter, json_node_get_object(schema));
    while (json_object_iter_next(&iter, &keyword, &rule)) {
        if (!check_keyword(w, json_node_get_object(schema), keyword, value, path))
            return false;
    }
    return true;
}

bool schema_check(JsonNode *schema, JsonNode *value, char why[SCHEMA_WHY_MAX])
{
    struct walker w = {.why = why};

    why[0] = '\0';
    if (JSON_NODE_HOLDS_OBJECT(schema) &&
        json_object_has_member(json_node_get_object(schema), "$defs"))
        w.defs = json_object_get_object_member(json_node_get_object(schema), "$defs");
    return check(&w, schema, value, "");
}
