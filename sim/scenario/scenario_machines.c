/* SPDX-License-Identifier: Apache-2.0 */
/*
 * DOC: Machines
 *
 * `machines:` entries become hosts: one, or `count` of them with numbers after the name. What an
 * entry leaves open comes from the keys of the same name at the top (macos, rdma, bridge, ip), and
 * what those leave open from the catalogue: the newest macOS, RDMA enabled, an IPv4 address for
 * each cable, and bridge0 as macOS leaves it after installation.
 */
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sim/base/arena.h"
#include "sim/base/err.h"
#include "sim/base/ids.h"
#include "sim/base/units.h"
#include "sim/fabric/cluster.h"
#include "sim/fabric/model.h"
#include "sim/scenario/build.h"
#include "sim/scenario/quantity.h"
#include "sim/scenario/scenario.h"
#include "sim/scenario/schema.h"
#include "sim/scenario/suggest.h"
#include "sim/scenario/yaml.h"

#define PORT_MASK_BITS 64U

/* Which Thunderbolt ports are members of bridge0. */
struct bridge_rule {
    bool is_stated;
    bool is_all;
    uint64_t ports; /* bit number - 1 */
};

/* What holds for a host unless its entry says otherwise. */
struct host_setting {
    const char *macos;
    const struct macos_model *macos_profile;
    bool is_rdma_enabled;
    struct bridge_rule bridge;
    enum port_ip ip;
};

enum host_key {
    HOST_NAME,
    HOST_MODEL,
    HOST_COUNT,
    HOST_MEMORY,
    HOST_GPU,
    HOST_MACOS,
    HOST_RDMA,
    HOST_BRIDGE,
    HOST_IP,
    HOST_KEY_COUNT,
};

const char *const build_rdma_names[2] = {"enabled", "disabled"};
const char *const build_ip_names[3] = {"per-cable", "bridge", "none"};

static const struct schema_key host_keys[HOST_KEY_COUNT] = {
    [HOST_NAME] = {.key = "name", .type = SCHEMA_NAME, .is_required = true},
    [HOST_MODEL] = {.key = "model", .type = SCHEMA_TEXT, .is_required = true},
    [HOST_COUNT] = {.key = "count", .type = SCHEMA_COUNT, .min = 1, .max = BUILD_HOSTS_MAX},
    [HOST_MEMORY] = {.key = "memory", .type = SCHEMA_SIZE, .min = 1 << 20, .max = INT64_C(1) << 50},
    [HOST_GPU] = {.key = "gpu", .type = SCHEMA_TEXT},
    [HOST_MACOS] = {.key = "macos", .type = SCHEMA_TEXT},
    [HOST_RDMA] = {.key = "rdma",
                   .type = SCHEMA_CHOICE,
                   .names = build_rdma_names,
                   .name_count = 2},
    [HOST_BRIDGE] = {.key = "bridge", .type = SCHEMA_MAP},
    [HOST_IP] = {.key = "ip", .type = SCHEMA_CHOICE, .names = build_ip_names, .name_count = 3},
};

static const struct schema host_schema = {"a machine", host_keys, HOST_KEY_COUNT};

bool build_is_computer(const struct cluster_host *host)
{
    return !machine_forwards(host->model);
}

/* The names of all models, for suggestions. */
static const char **model_names(struct build *build)
{
    const struct catalog *catalog = &build->catalog;
    const char **names =
        arena_alloc_array(build->arena, catalog->machine_count, sizeof(const char *));

    for (size_t i = 0; i < catalog->machine_count; i++)
        names[i] = catalog->machines[i].name;
    return names;
}

static const struct machine_model *find_model(struct build *build, const struct schema_value *name)
{
    const struct machine_model *model = catalog_find_machine(&build->catalog, name->text);
    const struct unsold_model *unsold = catalog_find_unsold(&build->catalog, name->text);
    char suggestion[SUGGEST_TEXT_MAX];

    if (model)
        return model;
    if (unsold) {
        err_list_add(build->errs, ERR_REFERENCE, name->pos, "%s: %s", unsold->name, unsold->why);
        return NULL;
    }
    suggest_text(suggestion, name->text, model_names(build), build->catalog.machine_count);
    err_list_add(build->errs, ERR_REFERENCE, name->pos, "unknown model '%.60s'%s", name->text,
                 *suggestion ? suggestion : "; `tbmesh models` lists them");
    return NULL;
}

/* Reads a macOS version into a setting. */
static bool read_macos(struct build *build, const struct schema_value *value,
                       struct host_setting *setting)
{
    if (!value->is_set)
        return !value->node;
    if (!macos_version_is_valid(value->text))
        return err_list_add(build->errs, ERR_RANGE, value->pos,
                            "macos: '%.40s' is no version: a dotted number such as \"26.3\" is",
                            value->text);
    setting->macos_profile = catalog_find_macos(&build->catalog, value->text);
    setting->macos = value->text;
    if (!setting->macos_profile)
        return err_list_add(build->errs, ERR_RANGE, value->pos,
                            "macos: %.40s is older than the oldest profile, %s", value->text,
                            build->catalog.macos ? build->catalog.macos->version : "none");
    return true;
}

static bool read_bridge_ports(struct build *build, const struct yaml_value *list,
                              struct bridge_rule *ret)
{
    static const struct schema_key key = {
        .key = "members", .type = SCHEMA_COUNT, .min = 1, .max = PORT_MASK_BITS};
    bool is_ok = true;

    for (size_t i = 0; i < list->count; i++) {
        struct schema_value item;

        if (schema_read_value(&key, list->items[i], &item, build->errs))
            ret->ports |= UINT64_C(1) << (item.number - 1);
        else
            is_ok = false;
    }
    return is_ok;
}

/* Reads `bridge: {members: none | all | [ports]}`. */
static bool read_bridge(struct build *build, const struct schema_value *value,
                        struct bridge_rule *rule)
{
    static const struct schema_key keys[] = {
        {.key = "members", .type = SCHEMA_ANY, .is_required = true}};
    static const struct schema schema = {"bridge", keys, 1};
    static const char *const names[] = {"none", "all"};
    struct schema_value members;
    struct bridge_rule read = {.is_stated = true};

    if (!value->is_set)
        return !value->node;
    if (!schema_read(&schema, value->node, &members, build->errs))
        return false;
    if (members.node->kind == YAML_LIST) {
        if (!read_bridge_ports(build, members.node, &read))
            return false;
    } else {
        size_t choice = schema_find_name(members.node, "members", names, 2, build->errs);

        if (choice == 2)
            return false;
        read.is_all = choice == 1;
    }
    *rule = read;
    return true;
}

/* The four keys that stand both at the top and in an entry. All borrowed. */
struct setting_keys {
    const struct schema_value *macos;
    const struct schema_value *rdma;
    const struct schema_value *bridge;
    const struct schema_value *ip;
};

static bool read_setting(struct build *build, const struct setting_keys *keys,
                         struct host_setting *setting)
{
    const struct schema_value *rdma = keys->rdma;
    const struct schema_value *ip = keys->ip;
    bool is_ok = read_macos(build, keys->macos, setting);

    is_ok &= read_bridge(build, keys->bridge, &setting->bridge);
    if (rdma->is_set)
        setting->is_rdma_enabled = rdma->number == 0;
    if (ip->is_set)
        setting->ip = (enum port_ip)ip->number;
    return is_ok && (rdma->is_set || !rdma->node) && (ip->is_set || !ip->node);
}

/* False and an error when the model is not sold with that much memory. */
static bool check_memory(struct build *build, const struct schema_value *memory,
                         const struct machine_model *model)
{
    char list[160] = "";
    size_t used = 0;

    if (!memory->is_set)
        return !memory->node;
    if (model->memory_option_count == 0)
        return model->chip || err_list_add(build->errs, ERR_CONFLICT, memory->pos,
                                           "a %s has no memory to state", model->name);
    for (size_t i = 0; i < model->memory_option_count; i++) {
        char text[QUANTITY_TEXT_MAX];

        if (model->memory_options[i].bytes == (uint64_t)memory->number)
            return true;
        quantity_format(text, QUANTITY_SIZE, (int64_t)model->memory_options[i].bytes);
        if (used < sizeof list)
            used += (size_t)snprintf(list + used, sizeof list - used, "%s%s", i ? ", " : "", text);
    }
    return err_list_add(build->errs, ERR_RANGE, memory->pos,
                        "%s is sold with %s of memory, not with '%.40s'", model->name, list,
                        memory->text);
}

/* The variant named by `gpu`; *ret stays NULL when the entry does not say. */
static bool find_variant(struct build *build, const struct schema_value *gpu,
                         const struct machine_model *model, const char **ret)
{
    size_t index;

    if (!gpu->is_set)
        return !gpu->node;
    if (model->variant_count == 0)
        return err_list_add(build->errs, ERR_CONFLICT, gpu->pos, "%s comes with one GPU only",
                            model->name);
    index = schema_find_name(gpu->node, "gpu", model->variants, model->variant_count, build->errs);
    if (index == model->variant_count)
        return false;
    *ret = model->variants[index];
    return true;
}

/* Bridge members are Thunderbolt ports that the machine has. */
static bool check_bridge_ports(struct build *build, const struct schema_value *bridge,
                               const struct bridge_rule *rule, const struct machine_model *model)
{
    if (!bridge->is_set)
        return true;
    for (uint32_t i = 0; i < PORT_MASK_BITS; i++) {
        if (!(rule->ports >> i & 1U))
            continue;
        if (i >= model->port_count || model->ports[i].kind != PORT_THUNDERBOLT)
            return err_list_add(build->errs, ERR_RANGE, bridge->pos,
                                "bridge: %s has no Thunderbolt port %u", model->name, i + 1);
    }
    return true;
}

static struct cluster_port *make_ports(struct build *build, const struct machine_model *model,
                                       const struct host_setting *setting)
{
    struct cluster_port *ports =
        arena_alloc_array(build->arena, model->port_count, sizeof(struct cluster_port));
    bool is_all = setting->bridge.is_stated
                      ? setting->bridge.is_all
                      : setting->macos_profile && setting->macos_profile->bridge_default;

    for (size_t i = 0; i < model->port_count; i++) {
        bool can_bridge = model->kind == MACHINE_MAC && model->ports[i].kind == PORT_THUNDERBOLT;
        bool is_listed = i < PORT_MASK_BITS && (setting->bridge.ports >> i & 1U);

        ports[i] = (struct cluster_port){
            .model = &model->ports[i],
            .cable = {ID_NONE},
            .ip = setting->ip,
            .is_bridge_member = can_bridge && (is_all || is_listed),
        };
    }
    return ports;
}

/* Appends the hosts of one entry. */
static void add_hosts(struct build *build, const struct schema_value *v,
                      const struct cluster_host *like, const struct host_setting *setting)
{
    struct cluster *cluster = &build->scenario->cluster;
    size_t count = v[HOST_COUNT].is_set ? (size_t)v[HOST_COUNT].number : 1;

    build->groups[build->group_count++] =
        (struct build_group){v[HOST_NAME].text, (uint32_t)cluster->host_count, (uint32_t)count};
    for (size_t i = 0; i < count; i++) {
        struct cluster_host *host = &cluster->hosts[cluster->host_count++];

        *host = *like;
        host->name = v[HOST_COUNT].is_set
                         ? arena_format(build->arena, "%s%zu", v[HOST_NAME].text, i + 1)
                         : v[HOST_NAME].text;
        host->ports = make_ports(build, like->model, setting);
        host->port_count = like->model->port_count;
    }
}

static void read_host(struct build *build, const struct yaml_value *node,
                      const struct host_setting *defaults)
{
    struct schema_value v[HOST_KEY_COUNT];
    struct host_setting setting = *defaults;
    struct cluster_host host = {.pos = node->pos};
    bool is_ok = schema_read(&host_schema, node, v, build->errs);

    if (node->kind != YAML_MAP)
        return;
    is_ok &= read_setting(build,
                          &(struct setting_keys){.macos = &v[HOST_MACOS],
                                                 .rdma = &v[HOST_RDMA],
                                                 .bridge = &v[HOST_BRIDGE],
                                                 .ip = &v[HOST_IP]},
                          &setting);
    host.model = v[HOST_MODEL].is_set ? find_model(build, &v[HOST_MODEL]) : NULL;
    if (!host.model)
        return;
    is_ok &= check_memory(build, &v[HOST_MEMORY], host.model);
    is_ok &= find_variant(build, &v[HOST_GPU], host.model, &host.variant);
    is_ok &= check_bridge_ports(build, &v[HOST_BRIDGE], &setting.bridge, host.model);
    if (host.model->kind != MACHINE_MAC) {
        if (v[HOST_MACOS].is_set)
            is_ok = err_list_add(build->errs, ERR_CONFLICT, v[HOST_MACOS].pos,
                                 "%s does not run macOS", host.model->name);
        setting.macos = "";
        setting.macos_profile = NULL;
    }
    if (!is_ok)
        return;
    host.memory.bytes = (uint64_t)v[HOST_MEMORY].number;
    host.macos = setting.macos;
    host.macos_profile = setting.macos_profile;
    host.is_rdma_enabled = setting.is_rdma_enabled;
    add_hosts(build, v, &host, &setting);
}

static int compare_names(const void *a, const void *b)
{
    const struct build_name *x = a;
    const struct build_name *y = b;
    int order = strcmp(x->name, y->name);

    if (order != 0)
        return order;
    return x->ix < y->ix ? -1 : x->ix > y->ix;
}

/* Sorts the names, for look-up, and reports each that stands twice. */
static void index_names(struct build *build)
{
    const struct cluster *cluster = &build->scenario->cluster;
    size_t count = cluster->host_count;

    build->names = arena_alloc_array(build->arena, count, sizeof *build->names);
    for (size_t i = 0; i < count; i++)
        build->names[i] = (struct build_name){cluster->hosts[i].name, (uint32_t)i};
    qsort(build->names, count, sizeof *build->names, compare_names);
    for (size_t i = 1; i < count; i++) {
        const struct cluster_host *first = &cluster->hosts[build->names[i - 1].ix];
        const struct cluster_host *second = &cluster->hosts[build->names[i].ix];

        if (strcmp(first->name, second->name) == 0)
            err_list_add(build->errs, ERR_CONFLICT, second->pos,
                         "two machines are called '%s'; the other is at %u:%u", second->name,
                         first->pos.line, first->pos.col);
    }
}

/* Hosts that the entry stands for, as far as that can be seen before it is read. */
static size_t count_hosts(const struct yaml_value *entry)
{
    const struct yaml_value *count = yaml_find(entry, "count");
    struct err err = {0};
    int64_t number = 1;

    if (count && count->kind == YAML_TEXT &&
        !quantity_parse(count->text, QUANTITY_COUNT, count->pos, &number, &err))
        return 1;
    return number > (int64_t)BUILD_HOSTS_MAX ? BUILD_HOSTS_MAX : (size_t)number;
}

/* Room for all hosts; false and an error when there are too many. */
static bool allocate_hosts(struct build *build, const struct schema_value *machines)
{
    size_t total = 0;

    if (!machines->is_set)
        return false;
    if (machines->node->count == 0)
        return err_list_add(build->errs, ERR_RANGE, machines->pos, "machines: the list is empty");
    for (size_t i = 0; i < machines->node->count; i++) {
        total += count_hosts(machines->node->items[i]);
        if (total > BUILD_HOSTS_MAX)
            return err_list_add(build->errs, ERR_LIMIT, machines->node->items[i]->pos,
                                "more than %u machines: this program simulates at most %u",
                                BUILD_HOSTS_MAX, BUILD_HOSTS_MAX);
    }
    build->scenario->cluster.hosts =
        arena_alloc_array(build->arena, total, sizeof(struct cluster_host));
    build->groups = arena_alloc_array(build->arena, machines->node->count, sizeof *build->groups);
    return true;
}

void build_machines(struct build *build, const struct schema_value *top)
{
    const struct macos_model *newest = build->catalog.macos_count > 0
                                           ? &build->catalog.macos[build->catalog.macos_count - 1]
                                           : NULL;
    struct host_setting defaults = {
        .macos = newest ? newest->version : "",
        .macos_profile = newest,
        .is_rdma_enabled = true,
        .ip = PORT_IP_CABLE,
    };

    read_setting(build,
                 &(struct setting_keys){.macos = &top[TOP_MACOS],
                                        .rdma = &top[TOP_RDMA],
                                        .bridge = &top[TOP_BRIDGE],
                                        .ip = &top[TOP_IP]},
                 &defaults);
    build->scenario->macos = defaults.macos;
    if (!allocate_hosts(build, &top[TOP_MACHINES]))
        return;
    for (size_t i = 0; i < top[TOP_MACHINES].node->count; i++)
        read_host(build, top[TOP_MACHINES].node->items[i], &defaults);
    index_names(build);
}

/* Searches the sorted names. */
static host_id search_names(const struct build *build, const char *name)
{
    size_t low = 0;
    size_t high = build->scenario->cluster.host_count;

    while (low < high) {
        size_t middle = low + (high - low) / 2;
        int order = strcmp(build->names[middle].name, name);

        if (order == 0)
            return (host_id){build->names[middle].ix};
        if (order < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return (host_id){ID_NONE};
}

static const struct build_group *find_group(const struct build *build, const char *name)
{
    for (size_t i = 0; i < build->group_count; i++) {
        if (strcmp(build->groups[i].name, name) == 0)
            return &build->groups[i];
    }
    return NULL;
}

/* Says that no machine has that name. */
static void report_unknown_host(struct build *build, const char *name, struct src_pos pos)
{
    const struct cluster *cluster = &build->scenario->cluster;
    const char **names = arena_alloc_array(build->arena, cluster->host_count, sizeof(const char *));
    char suggestion[SUGGEST_TEXT_MAX];

    /* With broken machines the name may be one of theirs: that error is enough. */
    if (build->errs->count > 0 && cluster->host_count == 0)
        return;
    for (size_t i = 0; i < cluster->host_count; i++)
        names[i] = cluster->hosts[i].name;
    suggest_text(suggestion, name, names, cluster->host_count);
    err_list_add(build->errs, ERR_REFERENCE, pos, "unknown machine '%.60s'%s", name,
                 *suggestion ? suggestion : ": no entry of `machines` makes it");
}

host_id build_find_host(struct build *build, const char *name, struct src_pos pos)
{
    host_id host = search_names(build, name);
    const struct build_group *group = find_group(build, name);

    if (host.ix != ID_NONE)
        return host;
    if (!group)
        report_unknown_host(build, name, pos);
    else if (group->count == 1)
        return (host_id){group->first};
    else
        err_list_add(build->errs, ERR_REFERENCE, pos,
                     "'%s' stands for %u machines; one is wanted here, such as %s1", name,
                     group->count, name);
    return (host_id){ID_NONE};
}

/* Appends the hosts that one name stands for; false after an error. */
static bool add_named_hosts(struct build *build, const struct yaml_value *name, const char *what,
                            struct build_hosts *ret)
{
    const struct build_group *group;
    host_id host;

    if (!schema_want_kind(name, YAML_TEXT, what, build->errs))
        return false;
    group = find_group(build, name->text);
    if (group && search_names(build, name->text).ix == ID_NONE) {
        for (uint32_t i = 0; i < group->count; i++)
            ret->items[ret->count++] = (host_id){group->first + i};
        return true;
    }
    host = build_find_host(build, name->text, name->pos);
    if (host.ix == ID_NONE)
        return false;
    ret->items[ret->count++] = host;
    return true;
}

/* How many hosts a name or a list of names stands for at most. */
static size_t count_named_hosts(const struct build *build, const struct yaml_value *name)
{
    const struct build_group *group =
        name->kind == YAML_TEXT ? find_group(build, name->text) : NULL;

    return group ? group->count : 1;
}

bool build_read_hosts(struct build *build, const struct yaml_value *value, const char *what,
                      struct build_hosts *ret)
{
    bool is_list = value->kind == YAML_LIST;
    const struct yaml_value *const *items = is_list ? value->items : &value;
    size_t count = is_list ? value->count : 1;
    size_t total = 0;
    bool is_ok = true;

    for (size_t i = 0; i < count; i++)
        total += count_named_hosts(build, items[i]);
    *ret = (struct build_hosts){arena_alloc_array(build->arena, total, sizeof(host_id)), 0};
    for (size_t i = 0; i < count; i++)
        is_ok &= add_named_hosts(build, items[i], what, ret);
    if (!is_ok)
        return false;

    bool *is_seen =
        arena_alloc_array(build->arena, build->scenario->cluster.host_count, sizeof(bool));

    for (size_t i = 0; i < ret->count; i++) {
        if (is_seen[ret->items[i].ix])
            return err_list_add(build->errs, ERR_CONFLICT, value->pos, "%s: '%s' stands twice",
                                what, build->scenario->cluster.hosts[ret->items[i].ix].name);
        is_seen[ret->items[i].ix] = true;
    }
    return true;
}

/* The port after a machine's name: "5", "port 5" or an interface such as "en6". */
static bool read_port(struct build *build, const char *text, struct src_pos pos,
                      struct cluster_end *end)
{
    const struct cluster_host *host = &build->scenario->cluster.hosts[end->host.ix];
    const struct machine_model *model = host->model;
    struct err err = {0};
    int64_t number;

    for (size_t i = 0; i < model->port_count; i++) {
        if (strcmp(model->ports[i].ifname, text) == 0) {
            end->port = (uint32_t)i;
            return true;
        }
    }
    if (strncmp(text, "port ", 5) == 0)
        text += 5;
    if (!quantity_parse(text, QUANTITY_COUNT, pos, &number, &err))
        return err_list_add(build->errs, ERR_RANGE, pos,
                            "'%.40s' is no port of %s: a number from 1 to %zu is, or an interface "
                            "such as %s",
                            text, host->name, model->port_count, model->ports[0].ifname);
    if (number < 1 || number > (int64_t)model->port_count) {
        size_t thunderbolt = 0;

        for (size_t i = 0; i < model->port_count; i++)
            thunderbolt += model->ports[i].kind == PORT_THUNDERBOLT;
        return err_list_add(build->errs, ERR_RANGE, pos,
                            "%s has no port %lld: a %s has %zu Thunderbolt and %zu Ethernet ports, "
                            "numbered 1 to %zu",
                            host->name, (long long)number, model->name, thunderbolt,
                            model->port_count - thunderbolt, model->port_count);
    }
    end->port = (uint32_t)number - 1;
    return true;
}

bool build_read_end(struct build *build, const char *text, struct src_pos pos,
                    struct cluster_end *ret)
{
    size_t length = strcspn(text, ": ");
    const char *name = arena_copy_text(build->arena, text, length);
    const char *port = text + length;

    ret->port = ID_NONE;
    ret->host = build_find_host(build, name, pos);
    if (ret->host.ix == ID_NONE)
        return false;
    while (*port == ' ' || *port == ':')
        port++;
    return *port == '\0' || read_port(build, port, pos, ret);
}
