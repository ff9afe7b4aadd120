/* SPDX-License-Identifier: Apache-2.0 */
/*
 * DOC: JSON as text
 *
 * Members of the root stand on lines of their own; so do the items of a list in the root that are
 * lists or objects themselves. All else is on one line. json-glib's own printer writes 17 digits of
 * every fraction (0.1 becomes 0.10000000000000001), so this is done here.
 */
#include "sim/report/json_text.h"

#include <math.h>
#include <stdbool.h>
#include <stdio.h>

static void print_string(const char *string, struct text *ret)
{
    text_add(ret, "\"");
    for (const char *p = string; *p != '\0'; p++) {
        unsigned char c = (unsigned char)*p;

        if (c == '"' || c == '\\')
            text_add(ret, "\\%c", c);
        else if (c == '\n')
            text_add(ret, "\\n");
        else if (c == '\t')
            text_add(ret, "\\t");
        else if (c < 0x20 || c == 0x7f)
            text_add(ret, "\\u%04x", c);
        else
            text_add(ret, "%c", c);
    }
    text_add(ret, "\"");
}

static void print_double(double number, struct text *ret)
{
    char digits[G_ASCII_DTOSTR_BUF_SIZE];
    const char *const formats[] = {"%.15g", "%.16g", "%.17g"};

    if (!isfinite(number)) {
        text_add(ret, "null");
        return;
    }
    for (size_t i = 0; i < 3; i++) {
        (void)g_ascii_formatd(digits, sizeof digits, formats[i], number);

        double back = g_ascii_strtod(digits, NULL);

        if (back >= number && back <= number)
            break;
    }
    text_add(ret, "%s", digits);
}

static void print_scalar(JsonNode *node, struct text *ret)
{
    GType type = json_node_get_value_type(node);

    if (JSON_NODE_HOLDS_NULL(node))
        text_add(ret, "null");
    else if (type == G_TYPE_STRING)
        print_string(json_node_get_string(node), ret);
    else if (type == G_TYPE_BOOLEAN)
        text_add(ret, "%s", json_node_get_boolean(node) ? "true" : "false");
    else if (type == G_TYPE_DOUBLE)
        print_double(json_node_get_double(node), ret);
    else
        text_add(ret, "%lld", (long long)json_node_get_int(node));
}

static bool is_container(JsonNode *node)
{
    return JSON_NODE_HOLDS_OBJECT(node) || JSON_NODE_HOLDS_ARRAY(node);
}

/* True for what is spread over lines: the root, and lists in it whose items are containers. */
static bool is_spread(JsonNode *node, guint depth)
{
    if (depth == 0)
        return true;
    if (depth > 1 || !JSON_NODE_HOLDS_ARRAY(node))
        return false;

    JsonArray *array = json_node_get_array(node);

    return json_array_get_length(array) > 0 && is_container(json_array_get_element(array, 0));
}

/* What stands before item `index`: a comma where one is due, and a line break or a blank. */
static void print_separator(guint index, bool spread, guint depth, struct text *ret)
{
    if (index > 0)
        text_add(ret, ",");
    if (spread)
        text_add(ret, "\n%*s", (int)(2 * (depth + 1)), "");
    else if (index > 0)
        text_add(ret, " ");
}

static void print_end(guint count, bool spread, guint depth, struct text *ret)
{
    if (spread && count > 0)
        text_add(ret, "\n%*s", (int)(2 * depth), "");
}

static void print_node(JsonNode *node, guint depth, struct text *ret);

static void print_object(JsonNode *node, guint depth, struct text *ret)
{
    bool spread = is_spread(node, depth);
    JsonObjectIter iter;
    const char *name;
    JsonNode *member;
    guint count = 0;

    text_add(ret, "{");
    json_object_iter_init_ordered(&iter, json_node_get_object(node));
    while (json_object_iter_next_ordered(&iter, &name, &member)) {
        print_separator(count++, spread, depth, ret);
        print_string(name, ret);
        text_add(ret, ": ");
        print_node(member, depth + 1, ret);
    }
    print_end(count, spread, depth, ret);
    text_add(ret, "}");
}

static void print_array(JsonNode *node, guint depth, struct text *ret)
{
    bool spread = is_spread(node, depth);
    JsonArray *array = json_node_get_array(node);
    guint count = json_array_get_length(array);

    text_add(ret, "[");
    for (guint i = 0; i < count; i++) {
        print_separator(i, spread, depth, ret);
        print_node(json_array_get_element(array, i), depth + 1, ret);
    }
    print_end(count, spread, depth, ret);
    text_add(ret, "]");
}

static void print_node(JsonNode *node, guint depth, struct text *ret)
{
    if (JSON_NODE_HOLDS_OBJECT(node))
        print_object(node, depth, ret);
    else if (JSON_NODE_HOLDS_ARRAY(node))
        print_array(node, depth, ret);
    else
        print_scalar(node, ret);
}

void json_text_print(JsonNode *root, struct text *ret)
{
    print_node(root, 0, ret);
    text_add(ret, "\n");
}
