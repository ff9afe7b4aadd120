/* SPDX-License-Identifier: Apache-2.0 */
/*
 * DOC: Reading results
 *
 * The file may have been cut, edited or not be ours at all, so nothing is taken for granted: depth
 * first (json-glib descends by recursion), then the types of all members that are used.
 */
#include "sim/report/result_read.h"

#include <stdint.h>
#include <string.h>

#define RESULT_DEPTH_MAX 16U
#define RESULT_BINS_MAX  65536U

enum member_type {
    MEMBER_TEXT,
    MEMBER_COUNT, /* a whole number, not negative */
    MEMBER_BOOL,
};

struct member {
    const char *name;
    enum member_type type;
};

static const struct member row_members[] = {
    {"series", MEMBER_TEXT},     {"workload", MEMBER_TEXT},   {"op", MEMBER_TEXT},
    {"library", MEMBER_TEXT},    {"dtype", MEMBER_TEXT},      {"handoff", MEMBER_TEXT},
    {"limit", MEMBER_TEXT},      {"nodes", MEMBER_COUNT},     {"size_bytes", MEMBER_COUNT},
    {"samples", MEMBER_COUNT},   {"began_ps", MEMBER_COUNT},  {"ended_ps", MEMBER_COUNT},
    {"algbw_bps", MEMBER_COUNT}, {"busbw_bps", MEMBER_COUNT}, {"sender_rate_bps", MEMBER_COUNT},
    {"bound_ps", MEMBER_COUNT},  {"messages", MEMBER_COUNT},  {"deadlock", MEMBER_BOOL},
};

static const struct member latency_members[] = {
    {"min", MEMBER_COUNT},  {"median", MEMBER_COUNT}, {"p99", MEMBER_COUNT},
    {"mean", MEMBER_COUNT}, {"max", MEMBER_COUNT},
};

static const struct member share_members[] = {
    {"wire", MEMBER_COUNT},     {"copy", MEMBER_COUNT},   {"reduce", MEMBER_COUNT},
    {"software", MEMBER_COUNT}, {"credit", MEMBER_COUNT}, {"handoff", MEMBER_COUNT},
};

#define COUNT_OF(array) (sizeof(array) / sizeof(array)[0])

/* The place of an error: the file, and what was being read. */
struct result_reader {
    struct src_pos pos;
    struct err *err;
};

static bool fail(const struct result_reader *reader, const char *where, const char *what)
{
    return err_set(reader->err, ERR_SYNTAX, reader->pos, "this is no result of tbmesh sim: %s %s",
                   where, what);
}

/* Refuses brackets nested deeper than any result has, before a recursive parser sees them. */
static bool check_depth(const char *bytes, size_t length, struct result_reader *reader)
{
    uint32_t depth = 0;
    bool is_string = false;

    for (size_t i = 0; i < length; i++) {
        char c = bytes[i];

        if (c == '\n') {
            reader->pos.line++;
            is_string = false;
        } else if (is_string && c == '\\') {
            i++;
        } else if (c == '"') {
            is_string = !is_string;
        } else if (!is_string && (c == '[' || c == '{')) {
            if (++depth > RESULT_DEPTH_MAX)
                return err_set(reader->err, ERR_LIMIT, reader->pos,
                               "brackets are nested deeper than %u", RESULT_DEPTH_MAX);
        } else if (!is_string && (c == ']' || c == '}') && depth > 0) {
            depth--;
        }
    }
    return true;
}

static bool has_type(JsonNode *node, enum member_type type)
{
    if (!node || !JSON_NODE_HOLDS_VALUE(node))
        return false;
    switch (type) {
    case MEMBER_TEXT:
        return json_node_get_value_type(node) == G_TYPE_STRING;
    case MEMBER_COUNT:
        return json_node_get_value_type(node) == G_TYPE_INT64 && json_node_get_int(node) >= 0;
    case MEMBER_BOOL:
        return json_node_get_value_type(node) == G_TYPE_BOOLEAN;
    }
    return false;
}

static bool check_members(const struct result_reader *reader, JsonObject *object,
                          const struct member *members, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (!has_type(json_object_get_member(object, members[i].name), members[i].type))
            return fail(reader, members[i].name, "is missing in a row, or has the wrong type");
    }
    return true;
}

/* The member as an object or a list; NULL and an error when it is neither there nor one. */
static JsonNode *find_container(const struct result_reader *reader, JsonObject *object,
                                const char *name, JsonNodeType type)
{
    JsonNode *node = json_object_get_member(object, name);

    if (!node || json_node_get_node_type(node) != type) {
        fail(reader, name, "is missing, or has the wrong type");
        return NULL;
    }
    return node;
}

static bool check_row(const struct result_reader *reader, JsonNode *node)
{
    JsonObject *row;
    JsonNode *latency;
    JsonNode *shares;

    if (!JSON_NODE_HOLDS_OBJECT(node))
        return fail(reader, "results", "holds something that is no object");
    row = json_node_get_object(node);
    latency = find_container(reader, row, "latency_ps", JSON_NODE_OBJECT);
    shares = find_container(reader, row, "shares_ps", JSON_NODE_OBJECT);
    return latency && shares && check_members(reader, row, row_members, COUNT_OF(row_members)) &&
           check_members(reader, json_node_get_object(latency), latency_members,
                         COUNT_OF(latency_members)) &&
           check_members(reader, json_node_get_object(shares), share_members,
                         COUNT_OF(share_members));
}

static bool check_link(const struct result_reader *reader, JsonNode *node, guint bins)
{
    JsonNode *busy;
    JsonArray *array;

    if (!JSON_NODE_HOLDS_OBJECT(node) ||
        !has_type(json_object_get_member(json_node_get_object(node), "link"), MEMBER_TEXT))
        return fail(reader, "link_use", "holds something without a link's name");
    busy = find_container(reader, json_node_get_object(node), "busy_ps", JSON_NODE_ARRAY);
    if (!busy)
        return false;
    array = json_node_get_array(busy);
    if (json_array_get_length(array) != bins)
        return fail(reader, "link_use", "has links with different numbers of bins");
    for (guint i = 0; i < bins; i++) {
        if (!has_type(json_array_get_element(array, i), MEMBER_COUNT))
            return fail(reader, "busy_ps", "holds something that is no count");
    }
    return true;
}

/* Bins of the first link; the others must have as many. */
static guint first_bins(JsonArray *links)
{
    JsonNode *node = json_array_get_length(links) > 0 ? json_array_get_element(links, 0) : NULL;
    JsonNode *busy = node && JSON_NODE_HOLDS_OBJECT(node)
                         ? json_object_get_member(json_node_get_object(node), "busy_ps")
                         : NULL;

    return busy && JSON_NODE_HOLDS_ARRAY(busy) ? json_array_get_length(json_node_get_array(busy))
                                               : 0;
}

static bool check_links(const struct result_reader *reader, JsonObject *root)
{
    JsonNode *node = find_container(reader, root, "link_use", JSON_NODE_ARRAY);
    JsonArray *links;
    guint bins;

    if (!node)
        return false;
    links = json_node_get_array(node);
    bins = first_bins(links);
    if (bins > RESULT_BINS_MAX)
        return fail(reader, "link_use", "has more bins than any result");
    if (json_object_get_int_member(root, "link_bin_ps") > INT64_MAX / (int64_t)(bins + 1))
        return fail(reader, "link_bin_ps", "is longer than any run");
    for (guint i = 0; i < json_array_get_length(links); i++) {
        if (!check_link(reader, json_array_get_element(links, i), bins))
            return false;
    }
    return true;
}

static bool check_root(const struct result_reader *reader, JsonNode *root)
{
    JsonObject *object;
    JsonNode *results;

    if (!root || !JSON_NODE_HOLDS_OBJECT(root))
        return fail(reader, "the text", "is no JSON object");
    object = json_node_get_object(root);
    if (!has_type(json_object_get_member(object, "tbmesh"), MEMBER_TEXT) ||
        !has_type(json_object_get_member(object, "scenario"), MEMBER_TEXT) ||
        !has_type(json_object_get_member(object, "link_bin_ps"), MEMBER_COUNT) ||
        !has_type(json_object_get_member(object, "partial"), MEMBER_BOOL))
        return fail(reader, "tbmesh, scenario, link_bin_ps or partial",
                    "is missing, or has the wrong type");
    results = find_container(reader, object, "results", JSON_NODE_ARRAY);
    if (!results)
        return false;
    for (guint i = 0; i < json_array_get_length(json_node_get_array(results)); i++) {
        if (!check_row(reader, json_array_get_element(json_node_get_array(results), i)))
            return false;
    }
    return check_links(reader, object);
}

/* json-glib says "<data>:line:col: Parse error: ..."; ours is file:line:col: message. */
static bool take_parse_error(struct result_reader *reader, const GError *error)
{
    const char *text = strstr(error->message, ": ");
    const char *p = strchr(error->message, ':');

    if (p && text && p < text) {
        char *end;

        reader->pos.line = (uint32_t)g_ascii_strtoull(p + 1, &end, 10);
        reader->pos.col = *end == ':' ? (uint32_t)g_ascii_strtoull(end + 1, NULL, 10) : 0;
    } else {
        reader->pos.line = 0;
        text = NULL;
    }
    return err_set(reader->err, ERR_SYNTAX, reader->pos, "this is no JSON: %s",
                   text ? text + 2 : error->message);
}

bool result_read(const char *name, const char *bytes, size_t length, JsonNode **ret,
                 struct err *reterr)
{
    struct result_reader reader = {{name, 1, 0}, reterr};
    JsonParser *parser;
    GError *error = NULL;
    JsonNode *root;
    bool is_good = false;

    if (!check_depth(bytes, length, &reader))
        return false;
    reader.pos.line = 0;
    parser = json_parser_new();
    if (!json_parser_load_from_data(parser, bytes, (gssize)length, &error)) {
        take_parse_error(&reader, error);
        g_error_free(error);
    } else {
        root = json_parser_get_root(parser);
        is_good = check_root(&reader, root);
        if (is_good)
            *ret = json_node_copy(root);
    }
    g_object_unref(parser);
    return is_good;
}
