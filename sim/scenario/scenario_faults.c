/* SPDX-License-Identifier: Apache-2.0 */
/*
 * DOC: Faults
 *
 * A cable is named by any of its two ends ("studio1:1"). cut, degrade, restore and flap become
 * changes of its rate at an instant; a flap, or a cut with `for`, is a cut and a restore. Loss and
 * corruption of frames hold from the start, on one cable or on all.
 */
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "sim/base/arena.h"
#include "sim/base/err.h"
#include "sim/base/ids.h"
#include "sim/base/units.h"
#include "sim/fabric/cluster.h"
#include "sim/fabric/model.h"
#include "sim/scenario/build.h"
#include "sim/scenario/scenario.h"
#include "sim/scenario/schema.h"
#include "sim/scenario/yaml.h"
#include "sim/workload/run.h"

#define FAULT_SPAN_MAX (INT64_C(86400) * PS_PER_S) /* a day */

enum fault_key {
    FAULT_KEY_AT,
    FAULT_KEY_CUT,
    FAULT_KEY_FLAP,
    FAULT_KEY_DEGRADE,
    FAULT_KEY_RESTORE,
    FAULT_KEY_FRAMES,
    FAULT_KEY_FOR,
    FAULT_KEY_RATE,
    FAULT_KEY_REVERSE,
    FAULT_KEY_COUNT,
};

static const struct schema_key fault_keys[FAULT_KEY_COUNT] = {
    [FAULT_KEY_AT] = {.key = "at", .type = SCHEMA_SPAN, .min = 0, .max = FAULT_SPAN_MAX},
    [FAULT_KEY_CUT] = {.key = "cut", .type = SCHEMA_TEXT},
    [FAULT_KEY_FLAP] = {.key = "flap", .type = SCHEMA_ANY},
    [FAULT_KEY_DEGRADE] = {.key = "degrade", .type = SCHEMA_TEXT},
    [FAULT_KEY_RESTORE] = {.key = "restore", .type = SCHEMA_TEXT},
    [FAULT_KEY_FRAMES] = {.key = "frames", .type = SCHEMA_MAP},
    [FAULT_KEY_FOR] = {.key = "for", .type = SCHEMA_SPAN, .min = 1, .max = FAULT_SPAN_MAX},
    [FAULT_KEY_RATE] = {.key = "rate", .type = SCHEMA_RATE, .min = 1000, .max = 1000000000000000},
    [FAULT_KEY_REVERSE] = {.key = "reverse",
                           .type = SCHEMA_RATE,
                           .min = 1000,
                           .max = 1000000000000000},
};

static const struct schema fault_schema = {"a fault", fault_keys, FAULT_KEY_COUNT};

/* The cable in the port that `text` names; ID_NONE after an error. */
static cable_id find_cable(struct build *build, const char *text, struct src_pos pos)
{
    const struct cluster_host *host;
    struct cluster_end end;
    cable_id cable;

    if (!build_read_end(build, text, pos, &end))
        return (cable_id){ID_NONE};
    host = &build->scenario->cluster.hosts[end.host.ix];
    if (end.port == ID_NONE) {
        err_list_add(build->errs, ERR_RANGE, pos,
                     "'%.60s' names no port; a cable is named by one of its ends, such as %s:1",
                     text, host->name);
        return (cable_id){ID_NONE};
    }
    cable = host->ports[end.port].cable;
    /* After an error in `cables:` the port may be empty because of it. */
    if (cable.ix == ID_NONE && build->errs->count == 0)
        err_list_add(build->errs, ERR_REFERENCE, pos, "nothing is plugged into %s port %u (%s)",
                     host->name, end.port + 1, host->ports[end.port].model->ifname);
    return cable;
}

static void add_fault(struct build *build, const struct fault *fault)
{
    build->scenario->faults[build->scenario->fault_count++] = *fault;
}

/* A change to `forward` and `reverse`, and back to the cable's own rates after `span` if not 0. */
static void add_rate_change(struct build *build, struct fault fault, int64_t span)
{
    const struct cluster_cable *cable = &build->scenario->cluster.cables[fault.cable.ix];

    add_fault(build, &fault);
    if (span == 0)
        return;
    fault.at.ps += span;
    fault.rate_forward = cable->rate_ab;
    fault.rate_reverse = cable->rate_ba;
    add_fault(build, &fault);
}

/* The rates that a degraded cable runs at; they may not exceed its own. */
static bool read_degraded(struct build *build, const struct schema_value *v, struct fault *fault)
{
    const struct cluster_cable *cable = &build->scenario->cluster.cables[fault->cable.ix];

    if (!v[FAULT_KEY_RATE].is_set)
        return v[FAULT_KEY_RATE].node ||
               err_list_add(build->errs, ERR_KEY, fault->pos,
                            "degrade needs the key 'rate', such as 40 Gb/s");
    fault->rate_forward.bps = (uint64_t)v[FAULT_KEY_RATE].number;
    fault->rate_reverse.bps = v[FAULT_KEY_REVERSE].is_set ? (uint64_t)v[FAULT_KEY_REVERSE].number
                                                          : fault->rate_forward.bps;
    if (fault->rate_forward.bps > cable->rate_ab.bps ||
        fault->rate_reverse.bps > cable->rate_ba.bps)
        return err_list_add(build->errs, ERR_RANGE, v[FAULT_KEY_RATE].pos,
                            "degrade: the cable runs at %llu and %llu Mb/s, which is no more than "
                            "that",
                            (unsigned long long)(cable->rate_ab.bps / 1000000),
                            (unsigned long long)(cable->rate_ba.bps / 1000000));
    return true;
}

static void read_frames(struct build *build, const struct schema_value *frames, struct src_pos pos)
{
    static const struct schema_key keys[] = {
        {.key = "loss", .type = SCHEMA_CHANCE},
        {.key = "corrupt", .type = SCHEMA_CHANCE},
        {.key = "cable", .type = SCHEMA_TEXT},
    };
    static const struct schema schema = {"frames", keys, 3};
    struct schema_value v[3];
    struct fault fault = {.kind = FAULT_FRAMES, .cable = {ID_NONE}, .pos = pos};

    if (!schema_read(&schema, frames->node, v, build->errs))
        return;
    if (!v[0].is_set && !v[1].is_set) {
        err_list_add(build->errs, ERR_KEY, frames->pos,
                     "frames needs 'loss' or 'corrupt', a probability such as 1e-6");
        return;
    }
    if (v[2].is_set) {
        fault.cable = find_cable(build, v[2].text, v[2].pos);
        if (fault.cable.ix == ID_NONE)
            return;
    }
    fault.loss_ppb = (uint32_t)v[0].number;
    fault.corrupt_ppb = (uint32_t)v[1].number;
    add_fault(build, &fault);
}

/* What the entry does: the one of cut ... frames that it has; FAULT_KEY_COUNT after an error. */
static enum fault_key find_action(struct build *build, const struct yaml_value *node,
                                  const struct schema_value *v)
{
    enum fault_key found = FAULT_KEY_COUNT;

    for (int i = FAULT_KEY_CUT; i <= FAULT_KEY_FRAMES; i++) {
        if (!v[i].node)
            continue;
        if (found != FAULT_KEY_COUNT) {
            err_list_add(build->errs, ERR_CONFLICT, v[i].pos, "'%s' and '%s' in one fault",
                         fault_keys[found].key, fault_keys[i].key);
            return FAULT_KEY_COUNT;
        }
        found = (enum fault_key)i;
    }
    if (found == FAULT_KEY_COUNT)
        err_list_add(build->errs, ERR_KEY, node->pos,
                     "a fault needs one of cut, flap, degrade, restore, frames");
    return found;
}

/* Keys that say nothing beside this action. */
static bool check_keys(struct build *build, const struct schema_value *v, enum fault_key action)
{
    bool can_end =
        action == FAULT_KEY_CUT || action == FAULT_KEY_FLAP || action == FAULT_KEY_DEGRADE;
    bool is_ok = true;

    for (int i = FAULT_KEY_RATE; i <= FAULT_KEY_REVERSE; i++) {
        if (v[i].node && action != FAULT_KEY_DEGRADE)
            is_ok = err_list_add(build->errs, ERR_CONFLICT, v[i].pos, "'%s' belongs to degrade",
                                 fault_keys[i].key);
    }
    if (v[FAULT_KEY_FOR].node && !can_end)
        is_ok = err_list_add(build->errs, ERR_CONFLICT, v[FAULT_KEY_FOR].pos,
                             "'for' belongs to cut, flap and degrade");
    if (v[FAULT_KEY_AT].node && action == FAULT_KEY_FRAMES)
        is_ok = err_list_add(build->errs, ERR_CONFLICT, v[FAULT_KEY_AT].pos,
                             "frames are lost from the start; 'at' does not belong here");
    return is_ok;
}

/* cut, flap, degrade, restore: `end` is the text that names the cable. */
static void read_rate_fault(struct build *build, const struct schema_value *v,
                            enum fault_key action, struct src_pos pos)
{
    struct fault fault = {
        .kind = FAULT_RATE, .at = {v[FAULT_KEY_AT].number}, .pos = pos, .cable = {ID_NONE}};
    const struct yaml_value *end = v[action].node;

    if (!v[FAULT_KEY_AT].is_set) {
        if (!v[FAULT_KEY_AT].node)
            err_list_add(build->errs, ERR_KEY, pos, "%s needs the key 'at', such as 10 ms",
                         fault_keys[action].key);
        return;
    }
    if (action == FAULT_KEY_FLAP && !v[FAULT_KEY_FOR].node) {
        err_list_add(build->errs, ERR_KEY, pos, "flap needs the key 'for', such as 5 ms");
        return;
    }
    if (!schema_want_kind(end, YAML_TEXT, fault_keys[action].key, build->errs))
        return;
    fault.cable = find_cable(build, end->text, end->pos);
    if (fault.cable.ix == ID_NONE)
        return;
    if (action == FAULT_KEY_DEGRADE && !read_degraded(build, v, &fault))
        return;
    if (action == FAULT_KEY_RESTORE) {
        fault.rate_forward = build->scenario->cluster.cables[fault.cable.ix].rate_ab;
        fault.rate_reverse = build->scenario->cluster.cables[fault.cable.ix].rate_ba;
    }
    add_rate_change(build, fault, v[FAULT_KEY_FOR].number);
}

/* `flap: {at: 10 ms, cut: studio1:1, for: 5 ms}` is the same as the three keys without the map. */
static void read_flap_map(struct build *build, const struct yaml_value *node)
{
    static const struct schema_key keys[] = {
        {.key = "at", .type = SCHEMA_SPAN, .is_required = true, .max = FAULT_SPAN_MAX},
        {.key = "cut", .type = SCHEMA_TEXT, .is_required = true},
        {.key = "for", .type = SCHEMA_SPAN, .is_required = true, .min = 1, .max = FAULT_SPAN_MAX},
    };
    static const struct schema schema = {"flap", keys, 3};
    struct schema_value read[3];
    struct schema_value v[FAULT_KEY_COUNT] = {0};

    if (!schema_read(&schema, node, read, build->errs))
        return;
    v[FAULT_KEY_AT] = read[0];
    v[FAULT_KEY_CUT] = read[1];
    v[FAULT_KEY_FOR] = read[2];
    read_rate_fault(build, v, FAULT_KEY_CUT, node->pos);
}

static void read_fault(struct build *build, const struct yaml_value *node)
{
    struct schema_value v[FAULT_KEY_COUNT];
    enum fault_key action;
    bool is_ok = schema_read(&fault_schema, node, v, build->errs);

    if (node->kind != YAML_MAP)
        return;
    action = find_action(build, node, v);
    if (!is_ok || action == FAULT_KEY_COUNT || !check_keys(build, v, action))
        return;
    if (action == FAULT_KEY_FRAMES)
        read_frames(build, &v[FAULT_KEY_FRAMES], node->pos);
    else if (action == FAULT_KEY_FLAP && v[FAULT_KEY_FLAP].node->kind == YAML_MAP)
        read_flap_map(build, v[FAULT_KEY_FLAP].node);
    else
        read_rate_fault(build, v, action, node->pos);
}

void build_faults(struct build *build, const struct schema_value *faults)
{
    if (!faults->is_set)
        return;
    build->scenario->faults =
        arena_alloc_array(build->arena, 2 * faults->node->count, sizeof(struct fault));
    for (size_t i = 0; i < faults->node->count; i++)
        read_fault(build, faults->node->items[i]);
}
