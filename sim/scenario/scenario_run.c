/* SPDX-License-Identifier: Apache-2.0 */
/*
 * DOC: Runs
 *
 * Each entry of `run:` is one operation with its keys. One table holds all keys and says to which
 * operations each belongs. A list of libraries makes one item for each, in the order of the list;
 * sizes come as a list or as a range {from, to, times}. Defaults: all computers as nodes, 20
 * repetitions (a stream: 1), float32, the newest JACCL, no GPU hand-off.
 */
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "sim/base/arena.h"
#include "sim/base/err.h"
#include "sim/base/ids.h"
#include "sim/base/units.h"
#include "sim/fabric/cluster.h"
#include "sim/fabric/fabric.h"
#include "sim/fabric/model.h"
#include "sim/scenario/build.h"
#include "sim/scenario/quantity.h"
#include "sim/scenario/scenario.h"
#include "sim/scenario/schema.h"
#include "sim/scenario/suggest.h"
#include "sim/scenario/yaml.h"
#include "sim/workload/run.h"

#define SIZE_MOST      (INT64_C(1) << 44) /* 16 TiB */
#define SIZES_MAX      256U
#define ITEMS_MAX      1024U
#define VERIFIED_BYTES (UINT64_C(64) << 20)
#define REPEAT_DEFAULT 20U
#define STREAM_DEFAULT 1000U

enum run_key {
    RUN_KEY_LIBRARY,
    RUN_KEY_SIZES,
    RUN_KEY_SIZE,
    RUN_KEY_DTYPE,
    RUN_KEY_REDUCTION,
    RUN_KEY_REPEAT,
    RUN_KEY_JACCL,
    RUN_KEY_NODES,
    RUN_KEY_WIRES,
    RUN_KEY_CHUNK,
    RUN_KEY_DEPTH,
    RUN_KEY_ROOT,
    RUN_KEY_FROM,
    RUN_KEY_TO,
    RUN_KEY_MESSAGES,
    RUN_KEY_DUPLEX,
    RUN_KEY_ROUND_TRIP,
    RUN_KEY_COLD,
    RUN_KEY_HANDOFF,
    RUN_KEY_GPU_COPY,
    RUN_KEY_STORAGE,
    RUN_KEY_RECEIVER_CHECK,
    RUN_KEY_SEND_COMPLETION,
    RUN_KEY_VERIFY,
    RUN_KEY_TOTAL,
};

static const char *const jaccl_names[] = {
#define X(id, name) name,
    JACCL_VERSION_LIST(X)
#undef X
        "latest",
};

static const char *const completion_names[] = {"sent", "queued"};

/* Types by their names in MLX and by the usual short forms. */
static const struct {
    const char *name;
    enum dtype dtype;
} dtype_forms[] = {
#define X(id, name, size) {name, DTYPE_##id},
    DTYPE_LIST(X)
#undef X
        {"u8", DTYPE_U8},
    {"u16", DTYPE_U16},
    {"u32", DTYPE_U32},
    {"u64", DTYPE_U64},
    {"i8", DTYPE_I8},
    {"i16", DTYPE_I16},
    {"i32", DTYPE_I32},
    {"i64", DTYPE_I64},
    {"f16", DTYPE_F16},
    {"bf16", DTYPE_BF16},
    {"f32", DTYPE_F32},
    {"f64", DTYPE_F64},
    {"c64", DTYPE_C64},
    {"half", DTYPE_F16},
    {"float", DTYPE_F32},
    {"double", DTYPE_F64},
};

#define DTYPE_FORMS (sizeof dtype_forms / sizeof dtype_forms[0])

/* Sets of operations. */
#define ONE(op) (1U << RUN_##op)
#define COLLECTIVE \
    (ONE(ALL_REDUCE) | ONE(ALL_GATHER) | ONE(REDUCE_SCATTER) | ONE(ALL_TO_ALL) | ONE(BROADCAST))
#define PAIR (ONE(SEND_RECV) | ONE(PING_PONG) | ONE(STREAM))
#define ANY  (COLLECTIVE | PAIR | ONE(BARRIER))

struct run_key_row {
    struct schema_key key;
    uint32_t ops; /* to which the key belongs */
};

#define CHOICE_OF(list) \
    .type = SCHEMA_CHOICE, .names = (list), .name_count = sizeof(list) / sizeof(list)[0]

static const struct run_key_row run_keys[RUN_KEY_TOTAL] = {
    [RUN_KEY_LIBRARY] = {{.key = "library", .type = SCHEMA_ANY}, ANY},
    [RUN_KEY_SIZES] = {{.key = "sizes", .type = SCHEMA_ANY}, COLLECTIVE | PAIR},
    [RUN_KEY_SIZE] = {{.key = "size", .type = SCHEMA_ANY}, COLLECTIVE | PAIR},
    [RUN_KEY_DTYPE] = {{.key = "dtype", .type = SCHEMA_ANY}, COLLECTIVE},
    [RUN_KEY_REDUCTION] = {{.key = "reduction", CHOICE_OF(reduction_names)},
                           ONE(ALL_REDUCE) | ONE(REDUCE_SCATTER)},
    [RUN_KEY_REPEAT] = {{.key = "repeat", .type = SCHEMA_COUNT, .min = 1, .max = 1000000}, ANY},
    [RUN_KEY_JACCL] = {{.key = "jaccl", CHOICE_OF(jaccl_names)}, ANY},
    [RUN_KEY_NODES] = {{.key = "nodes", .type = SCHEMA_ANY}, ANY},
    [RUN_KEY_WIRES] = {{.key = "wires", .type = SCHEMA_COUNT, .min = 1, .max = 64}, ANY},
    [RUN_KEY_CHUNK] = {{.key = "chunk", .type = SCHEMA_SIZE, .min = 1, .max = 16773120},
                       COLLECTIVE | ONE(SEND_RECV) | ONE(BARRIER)},
    [RUN_KEY_DEPTH] = {{.key = "depth", .type = SCHEMA_COUNT, .min = 1, .max = 4095}, ANY},
    [RUN_KEY_ROOT] = {{.key = "root", .type = SCHEMA_TEXT}, ONE(BROADCAST)},
    [RUN_KEY_FROM] = {{.key = "from", .type = SCHEMA_TEXT}, PAIR},
    [RUN_KEY_TO] = {{.key = "to", .type = SCHEMA_TEXT}, PAIR},
    [RUN_KEY_MESSAGES] = {{.key = "count", .type = SCHEMA_COUNT, .min = 1, .max = 1000000000},
                          ONE(STREAM)},
    [RUN_KEY_DUPLEX] = {{.key = "duplex", .type = SCHEMA_BOOL}, ONE(STREAM)},
    [RUN_KEY_ROUND_TRIP] = {{.key = "round_trip", .type = SCHEMA_BOOL}, ONE(PING_PONG)},
    [RUN_KEY_COLD] = {{.key = "cold", .type = SCHEMA_BOOL}, ONE(PING_PONG)},
    [RUN_KEY_HANDOFF] = {{.key = "handoff", CHOICE_OF(handoff_names)}, COLLECTIVE | ONE(BARRIER)},
    [RUN_KEY_GPU_COPY] = {{.key = "gpu_copy", .type = SCHEMA_BOOL}, COLLECTIVE},
    [RUN_KEY_STORAGE] = {{.key = "storage", .type = SCHEMA_BOOL}, ONE(SEND_RECV) | ONE(STREAM)},
    [RUN_KEY_RECEIVER_CHECK] = {{.key = "receiver_check",
                                 .type = SCHEMA_RATE,
                                 .min = 1000,
                                 .max = INT64_C(100000000000000)},
                                ONE(SEND_RECV) | ONE(STREAM)},
    [RUN_KEY_SEND_COMPLETION] = {{.key = "send_completion", CHOICE_OF(completion_names)}, ANY},
    [RUN_KEY_VERIFY] = {{.key = "verify", .type = SCHEMA_BOOL}, COLLECTIVE},
};

/* Libraries of an item. */
struct library_list {
    enum run_library items[LIBRARY_COUNT];
    size_t count;
};

/* Reads the map of an operation against the keys that belong to it. */
static bool read_keys(struct build *build, enum run_op op, const struct yaml_value *node,
                      struct schema_value *v)
{
    struct schema_key keys[RUN_KEY_TOTAL];
    struct schema_value read[RUN_KEY_TOTAL];
    enum run_key index[RUN_KEY_TOTAL];
    struct schema schema = {run_op_names[op], keys, 0};
    bool is_ok;

    for (uint32_t i = 0; i < RUN_KEY_TOTAL; i++) {
        v[i] = (struct schema_value){.pos = node->pos};
        if (!(run_keys[i].ops >> op & 1U))
            continue;
        keys[schema.key_count] = run_keys[i].key;
        index[schema.key_count++] = (enum run_key)i;
    }
    if (yaml_is_null(node)) /* `- barrier:` needs no key */
        return true;
    is_ok = schema_read(&schema, node, read, build->errs);
    for (size_t i = 0; i < schema.key_count; i++)
        v[index[i]] = read[i];
    return is_ok;
}

/* May this library do this operation at all? */
static bool check_library(struct build *build, enum run_op op, enum run_library library,
                          struct src_pos pos)
{
    bool is_raw = library == LIBRARY_VERBS || library == LIBRARY_TCP;
    bool is_jaccl = library == LIBRARY_JACCL_MESH || library == LIBRARY_JACCL_RING;
    bool is_pair = (PAIR >> op & 1U) != 0;

    if (is_pair ? is_raw || (is_jaccl && op == RUN_SEND_RECV) : !is_raw)
        return true;
    return err_list_add(build->errs, ERR_CONFLICT, pos, "library '%s' has no %s: %s",
                        run_library_names[library], run_op_names[op],
                        !is_pair              ? "verbs and tcp move single messages"
                        : op == RUN_SEND_RECV ? "verbs, tcp, jaccl-mesh and jaccl-ring have"
                                              : "verbs and tcp have");
}

static bool read_libraries(struct build *build, enum run_op op, const struct schema_value *value,
                           struct library_list *ret)
{
    const struct yaml_value *node = value->node;
    bool is_list = node && node->kind == YAML_LIST;
    size_t count = is_list ? node->count : 1;
    bool is_ok = true;

    ret->count = 0;
    if (!node) {
        bool is_pair = (PAIR >> op & 1U) != 0;

        ret->items[ret->count++] = is_pair ? LIBRARY_VERBS : LIBRARY_JACCL_MESH;
        return true;
    }
    if (count == 0 || count > LIBRARY_COUNT)
        return err_list_add(build->errs, ERR_RANGE, value->pos,
                            "library: 1 to %d names are accepted, not %zu", LIBRARY_COUNT, count);
    for (size_t i = 0; i < count; i++) {
        const struct yaml_value *item = is_list ? node->items[i] : node;
        size_t found =
            schema_find_name(item, "library", run_library_names, LIBRARY_COUNT, build->errs);

        if (found == LIBRARY_COUNT || !check_library(build, op, (enum run_library)found, item->pos))
            is_ok = false;
        else
            ret->items[ret->count++] = (enum run_library)found;
    }
    return is_ok;
}

static const struct schema_key size_key = {
    .key = "size", .type = SCHEMA_SIZE, .min = 1, .max = SIZE_MOST};

/* {from: 4 B, to: 64 MiB, times: 2} */
static bool read_size_range(struct build *build, const struct yaml_value *node,
                            struct run_item *item)
{
    static const struct schema_key keys[] = {
        {.key = "from", .type = SCHEMA_SIZE, .is_required = true, .min = 1, .max = SIZE_MOST},
        {.key = "to", .type = SCHEMA_SIZE, .is_required = true, .min = 1, .max = SIZE_MOST},
        {.key = "times", .type = SCHEMA_COUNT, .is_required = true, .min = 2, .max = 1 << 20},
    };
    static const struct schema schema = {"a range of sizes", keys, 3};
    struct schema_value v[3];
    bytecount *sizes;

    if (!schema_read(&schema, node, v, build->errs))
        return false;
    if (v[0].number > v[1].number)
        return err_list_add(build->errs, ERR_RANGE, v[1].pos,
                            "to: a range of sizes ends where it began or above");
    /* From 1 B to 16 TiB there are at most 45 powers of two. */
    sizes = arena_alloc_array(build->arena, 48, sizeof *sizes);
    for (int64_t size = v[0].number; size <= v[1].number; size *= v[2].number)
        sizes[item->size_count++].bytes = (uint64_t)size;
    item->sizes = sizes;
    return true;
}

static bool read_size_list(struct build *build, const struct yaml_value *node,
                           struct run_item *item)
{
    bool is_list = node->kind == YAML_LIST;
    size_t count = is_list ? node->count : 1;
    bytecount *sizes;
    bool is_ok = true;

    if (count == 0 || count > SIZES_MAX)
        return err_list_add(build->errs, ERR_RANGE, node->pos,
                            "sizes: 1 to %u sizes are accepted, not %zu", SIZES_MAX, count);
    sizes = arena_alloc_array(build->arena, count, sizeof *sizes);
    for (size_t i = 0; i < count; i++) {
        struct schema_value value;

        is_ok &= schema_read_value(&size_key, is_list ? node->items[i] : node, &value, build->errs);
        sizes[i].bytes = (uint64_t)value.number;
    }
    item->sizes = sizes;
    item->size_count = count;
    return is_ok;
}

/* `sizes` or `size`: one, a list or a range. */
static bool read_sizes(struct build *build, const struct schema_value *v, struct run_item *item)
{
    static const bytecount one_byte = {1};
    const struct yaml_value *node = v[RUN_KEY_SIZES].node;

    if (item->op == RUN_BARRIER) { /* JACCL's barrier is an all-reduce of one byte */
        item->sizes = &one_byte;
        item->size_count = 1;
        item->dtype = DTYPE_U8;
        return true;
    }
    if (node && v[RUN_KEY_SIZE].node)
        return err_list_add(build->errs, ERR_CONFLICT, v[RUN_KEY_SIZE].pos,
                            "'size' and 'sizes' in one entry: one of them is enough");
    if (!node)
        node = v[RUN_KEY_SIZE].node;
    if (!node)
        return err_list_add(build->errs, ERR_KEY, item->pos, "%s needs the key 'sizes'",
                            run_op_names[item->op]);
    if (node->kind == YAML_BAD)
        return false;
    return node->kind == YAML_MAP ? read_size_range(build, node, item)
                                  : read_size_list(build, node, item);
}

static bool read_dtype(struct build *build, const struct schema_value *value, struct run_item *item)
{
    const char *names[DTYPE_FORMS];
    size_t found;

    if (!value->is_set)
        return !value->node;
    for (size_t i = 0; i < DTYPE_FORMS; i++)
        names[i] = dtype_forms[i].name;
    found = schema_find_name(value->node, "dtype", names, DTYPE_FORMS, build->errs);
    if (found == DTYPE_FORMS)
        return false;
    item->dtype = dtype_forms[found].dtype;
    return true;
}

/* Sizes are whole numbers of elements, and checked runs fit into memory. */
static bool check_sizes(struct build *build, const struct schema_value *v,
                        const struct run_item *item)
{
    char text[QUANTITY_TEXT_MAX];
    struct src_pos pos = v[RUN_KEY_SIZES].node ? v[RUN_KEY_SIZES].pos : v[RUN_KEY_SIZE].pos;
    uint32_t element = dtype_size(item->dtype);

    for (size_t i = 0; i < item->size_count; i++) {
        quantity_format(text, QUANTITY_SIZE, (int64_t)item->sizes[i].bytes);
        if ((COLLECTIVE >> item->op & 1U) && item->sizes[i].bytes % element != 0)
            return err_list_add(build->errs, ERR_RANGE, pos,
                                "sizes: %s is not a whole number of %s elements of %u bytes", text,
                                dtype_name(item->dtype), element);
        if (item->is_verified && item->sizes[i].bytes > VERIFIED_BYTES)
            return err_list_add(build->errs, ERR_LIMIT, pos,
                                "sizes: %s is too large for `verify`, which carries real bytes: "
                                "at most 64 MiB",
                                text);
    }
    return true;
}

/* `nodes: 4`, the first four computers, or their names; all computers when the key is absent. */
static bool read_nodes(struct build *build, const struct schema_value *value, struct run_item *item)
{
    const struct cluster *cluster = &build->scenario->cluster;
    struct build_hosts hosts = {
        arena_alloc_array(build->arena, cluster->host_count, sizeof(host_id)), 0};
    struct err err = {0};
    int64_t wanted = -1;

    for (size_t i = 0; i < cluster->host_count; i++) {
        if (build_is_computer(&cluster->hosts[i]))
            hosts.items[hosts.count++] = (host_id){(uint32_t)i};
    }
    if (value->node && value->node->kind == YAML_TEXT &&
        quantity_parse(value->node->text, QUANTITY_COUNT, value->pos, &wanted, &err)) {
        if (wanted < 2 || wanted > (int64_t)hosts.count)
            return err_list_add(build->errs, ERR_RANGE, value->pos,
                                "nodes is %lld; accepted is 2 to the %zu computers of the scenario",
                                (long long)wanted, hosts.count);
        hosts.count = (size_t)wanted;
    } else if (value->node) {
        if (value->node->kind == YAML_BAD || !build_read_hosts(build, value->node, "nodes", &hosts))
            return false;
    }
    for (size_t i = 0; i < hosts.count; i++) {
        if (!build_is_computer(&cluster->hosts[hosts.items[i].ix]))
            return err_list_add(build->errs, ERR_CONFLICT, value->pos,
                                "nodes: %s is a %s and runs no program",
                                cluster->hosts[hosts.items[i].ix].name,
                                cluster->hosts[hosts.items[i].ix].model->name);
    }
    item->nodes = hosts.items;
    item->node_count = hosts.count;
    /* No hosts at all have been reported where the machines are. */
    return hosts.count >= 2 ||
           (cluster->host_count > 0 && err_list_add(build->errs, ERR_RANGE, item->pos,
                                                    "%s needs two computers or more; there is %zu",
                                                    run_op_names[item->op], hosts.count));
}

/* The rank of a machine by its name; `fallback` when the key is absent. */
static bool read_rank(struct build *build, const struct schema_value *value,
                      const struct run_item *item, uint32_t fallback, uint32_t *ret)
{
    host_id host;

    *ret = fallback;
    if (!value->is_set)
        return !value->node;
    host = build_find_host(build, value->text, value->pos);
    if (host.ix == ID_NONE)
        return false;
    for (size_t i = 0; i < item->node_count; i++) {
        if (item->nodes[i].ix == host.ix) {
            *ret = (uint32_t)i;
            return true;
        }
    }
    return err_list_add(build->errs, ERR_CONFLICT, value->pos, "'%.60s' is not among the nodes",
                        value->text);
}

static bool read_ranks(struct build *build, const struct schema_value *v, struct run_item *item)
{
    bool is_ok = read_rank(build, &v[RUN_KEY_ROOT], item, 0, &item->root);

    is_ok &= read_rank(build, &v[RUN_KEY_FROM], item, 0, &item->from);
    is_ok &= read_rank(build, &v[RUN_KEY_TO], item, item->from == 1 ? 0 : 1, &item->to);
    if (is_ok && item->from == item->to)
        return err_list_add(build->errs, ERR_CONFLICT,
                            v[RUN_KEY_TO].node ? v[RUN_KEY_TO].pos : item->pos,
                            "'from' and 'to' are the same machine");
    return is_ok;
}

/* Plain keys, with their defaults. */
static void read_plain(const struct build *build, const struct schema_value *v,
                       struct run_item *item)
{
    uint32_t repeat = item->op == RUN_STREAM ? 1 : REPEAT_DEFAULT;

    item->reduction = (enum reduction)v[RUN_KEY_REDUCTION].number;
    item->repeat = v[RUN_KEY_REPEAT].is_set ? (uint32_t)v[RUN_KEY_REPEAT].number : repeat;
    item->jaccl = JACCL_LATEST;
    if (v[RUN_KEY_JACCL].is_set && v[RUN_KEY_JACCL].number < JACCL_VERSION_COUNT)
        item->jaccl = (enum jaccl_version)v[RUN_KEY_JACCL].number;
    item->wires = (uint32_t)v[RUN_KEY_WIRES].number;
    item->chunk.bytes = (uint64_t)v[RUN_KEY_CHUNK].number;
    item->depth = (uint32_t)v[RUN_KEY_DEPTH].number;
    item->count = v[RUN_KEY_MESSAGES].is_set ? (uint64_t)v[RUN_KEY_MESSAGES].number
                                             : (item->op == RUN_STREAM ? STREAM_DEFAULT : 1);
    item->is_duplex = v[RUN_KEY_DUPLEX].number != 0;
    item->is_round_trip = v[RUN_KEY_ROUND_TRIP].number != 0;
    item->is_cold = v[RUN_KEY_COLD].number != 0;
    item->handoff = (enum handoff)v[RUN_KEY_HANDOFF].number;
    item->has_gpu_copy = v[RUN_KEY_GPU_COPY].number != 0;
    item->has_storage = v[RUN_KEY_STORAGE].number != 0;
    item->receiver_check.bps = (uint64_t)v[RUN_KEY_RECEIVER_CHECK].number;
    item->send_completion = v[RUN_KEY_SEND_COMPLETION].is_set
                                ? (enum fabric_send_completion)v[RUN_KEY_SEND_COMPLETION].number
                                : build->send_completion;
    item->is_verified = v[RUN_KEY_VERIFY].number != 0;
}

/* Appends one item for each library; false and an error when there are too many. */
static bool append_items(struct build *build, const struct run_item *item,
                         const struct library_list *libraries)
{
    struct scenario *scenario = build->scenario;

    if (scenario->item_count + libraries->count > ITEMS_MAX)
        return err_list_add(build->errs, ERR_LIMIT, item->pos,
                            "more than %u runs in one scenario, a library of a list counted as one",
                            ITEMS_MAX);
    for (size_t i = 0; i < libraries->count; i++) {
        struct run_item *added = &scenario->items[scenario->item_count++];

        *added = *item;
        added->library = libraries->items[i];
    }
    return true;
}

/* Does the library take no notice of the key? */
static bool is_idle(enum run_key key, enum run_op op, enum run_library library)
{
    bool is_jaccl = library == LIBRARY_JACCL_MESH || library == LIBRARY_JACCL_RING;
    bool is_ip = library == LIBRARY_TCP_RING || library == LIBRARY_TCP;
    bool has_own_buffers = is_jaccl || library == LIBRARY_TCP_RING;

    if (key == RUN_KEY_JACCL)
        return !is_jaccl;
    if (key == RUN_KEY_WIRES)
        return library != LIBRARY_JACCL_RING && library != LIBRARY_TCP_RING &&
               library != LIBRARY_RING;
    if (key == RUN_KEY_CHUNK)
        return has_own_buffers || library == LIBRARY_TCP;
    if (key == RUN_KEY_DEPTH)
        return has_own_buffers || op == RUN_PING_PONG ||
               (library == LIBRARY_TCP && op != RUN_STREAM);
    if (key == RUN_KEY_SEND_COMPLETION)
        return is_ip;
    return key == RUN_KEY_COLD && !is_ip;
}

/* JACCL's version in a list with other libraries is no slip. */
static bool has_jaccl(const struct library_list *libraries)
{
    for (size_t i = 0; i < libraries->count; i++) {
        if (!is_idle(RUN_KEY_JACCL, RUN_ALL_REDUCE, libraries->items[i]))
            return true;
    }
    return false;
}

/* Nothing in the result would show that a key was in vain, so the user is told. */
static void warn_idle_keys(struct build *build, enum run_op op, const struct schema_value *v,
                           const struct library_list *libraries)
{
    for (uint32_t key = 0; key < RUN_KEY_TOTAL; key++) {
        if (!v[key].node || (key == RUN_KEY_JACCL && has_jaccl(libraries)))
            continue;
        for (size_t i = 0; i < libraries->count; i++) {
            if (is_idle((enum run_key)key, op, libraries->items[i]))
                err_list_add(&build->scenario->warnings, ERR_CONFLICT, v[key].pos,
                             "'%s' has no effect on %s with %s", run_keys[key].key.key,
                             run_op_names[op], run_library_names[libraries->items[i]]);
        }
    }
}

static void read_operation(struct build *build, enum run_op op, const struct yaml_value *node)
{
    struct schema_value v[RUN_KEY_TOTAL];
    struct library_list libraries;
    struct run_item item = {.op = op, .dtype = DTYPE_F32, .pos = node->key_pos};
    bool is_ok = read_keys(build, op, node, v);

    if (node->kind != YAML_MAP && !yaml_is_null(node))
        return;
    read_plain(build, v, &item);
    is_ok &= read_libraries(build, op, &v[RUN_KEY_LIBRARY], &libraries);
    is_ok &= read_dtype(build, &v[RUN_KEY_DTYPE], &item);
    is_ok &= read_nodes(build, &v[RUN_KEY_NODES], &item);
    if (read_sizes(build, v, &item))
        is_ok &= check_sizes(build, v, &item);
    else
        is_ok = false;
    if (is_ok && read_ranks(build, v, &item) && append_items(build, &item, &libraries))
        warn_idle_keys(build, op, v, &libraries);
}

/* Keys of the language that later versions will run. */
static bool report_other_version(struct build *build, const struct yaml_value *member)
{
    static const char *const later[] = {"llm", "storm"};

    for (size_t i = 0; i < sizeof later / sizeof later[0]; i++) {
        if (strcmp(member->key, later[i]) == 0)
            return err_list_add(build->errs, ERR_KEY, member->key_pos,
                                "'%s' is not in this version of tbmesh: it runs collectives and "
                                "single messages",
                                later[i]);
    }
    return true;
}

static void read_entry(struct build *build, const struct yaml_value *entry)
{
    char suggestion[SUGGEST_TEXT_MAX];

    if (!schema_want_kind(entry, YAML_MAP, "an entry of run", build->errs))
        return;
    if (entry->count != 1)
        err_list_add(build->errs, ERR_KEY, entry->pos,
                     "an entry of run is one operation with its keys in a map, such as "
                     "all_reduce: {sizes: [4 KiB]}; this has %zu keys",
                     entry->count);
    for (size_t i = 0; i < entry->count; i++) {
        const struct yaml_value *member = entry->items[i];
        size_t op = 0;

        while (op < RUN_OP_COUNT && strcmp(run_op_names[op], member->key) != 0)
            op++;
        if (op < RUN_OP_COUNT) {
            read_operation(build, (enum run_op)op, member);
        } else if (report_other_version(build, member)) {
            suggest_text(suggestion, member->key, run_op_names, RUN_OP_COUNT);
            err_list_add(build->errs, ERR_KEY, member->key_pos, "unknown operation '%.60s'%s",
                         member->key,
                         *suggestion
                             ? suggestion
                             : ": all_reduce, all_gather, reduce_scatter, all_to_all, "
                               "broadcast, barrier, send_recv, ping_pong, stream are known");
        }
    }
}

void build_runs(struct build *build, const struct schema_value *run)
{
    if (!run->node || run->node->kind == YAML_BAD)
        return;
    build->scenario->items = arena_alloc_array(build->arena, ITEMS_MAX, sizeof(struct run_item));
    if (run->node->kind == YAML_MAP) {
        read_entry(build, run->node);
        return;
    }
    if (!schema_want_kind(run->node, YAML_LIST, "run", build->errs))
        return;
    for (size_t i = 0; i < run->node->count; i++)
        read_entry(build, run->node->items[i]);
}
