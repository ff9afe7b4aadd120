/* SPDX-License-Identifier: Apache-2.0 */
/*
 * DOC: Parameter values
 *
 * Bounds here are what the engine's arithmetic can work with (no rate of zero, no frame larger
 * than a message), not what is believed: beliefs are the ranges in models/calibration.yaml.
 */
#include "sim/scenario/params.h"

#include <string.h>

#include "sim/base/arena.h"
#include "sim/base/units.h"
#include "sim/scenario/quantity.h"
#include "sim/scenario/scenario.h"
#include "sim/scenario/suggest.h"

struct bounds {
    int64_t min, max;
};

#define RATE_MIN INT64_C(1000)
#define RATE_MAX INT64_C(100000000000000) /* 100 Tb/s */
#define SPAN_MAX (60 * PS_PER_S)

/* The accepted values of a parameter. */
static struct bounds bounds_of(enum param_id id)
{
    if (id == PARAM_RDMA_FRAME)
        return (struct bounds){256, INT64_C(1) << 20};
    if (id == PARAM_IP_FRAME_HEADER)
        return (struct bounds){0, 2048};
    /* A program that polls, looks at a clock or asks a socket until something changes must get
     * somewhere by it. */
    if (id == PARAM_CPU_POLL_EMPTY || id == PARAM_CPU_CLOCK || id == PARAM_CPU_SOCKET)
        return (struct bounds){PS_PER_NS, SPAN_MAX};
    switch (param_unit_of(id)) {
    case PARAM_UNIT_SPAN:
        return (struct bounds){0, SPAN_MAX};
    case PARAM_UNIT_RATE:
        return (struct bounds){RATE_MIN, RATE_MAX};
    case PARAM_UNIT_SIZE:
        return (struct bounds){1, INT64_C(1) << 30};
    case PARAM_UNIT_COUNT:
        return (struct bounds){1, 1000000};
    }
    return (struct bounds){0, 0};
}

enum param_id params_find(const char *name, struct src_pos pos, struct err *reterr)
{
    enum param_id id = param_find(name);
    const char *names[PARAM_COUNT];
    char suggestion[SUGGEST_TEXT_MAX];

    if (id != PARAM_COUNT)
        return id;
    for (uint32_t i = 0; i < PARAM_COUNT; i++)
        names[i] = param_name((enum param_id)i);
    suggest_text(suggestion, name, names, PARAM_COUNT);
    err_set(reterr, ERR_REFERENCE, pos, "unknown parameter '%.60s'%s", name,
            *suggestion ? suggestion : "; `tbmesh explain` lists them");
    return PARAM_COUNT;
}

bool params_parse_value(enum param_id id, const char *text, struct src_pos pos, int64_t *ret,
                        struct err *reterr)
{
    enum quantity_kind kind = quantity_kind_of_param(param_unit_of(id));
    struct bounds bounds = bounds_of(id);
    struct err err = {0};
    int64_t value;

    if (!quantity_parse(text, kind, pos, &value, &err))
        return err_set(reterr, err.code, pos, "%s: %.250s", param_name(id), err.text);
    if (value < bounds.min || value > bounds.max) {
        char min[QUANTITY_TEXT_MAX];
        char max[QUANTITY_TEXT_MAX];

        quantity_format(min, kind, bounds.min);
        quantity_format(max, kind, bounds.max);
        return err_set(reterr, ERR_RANGE, pos, "%s is '%.60s'; accepted is %s to %s",
                       param_name(id), text, min, max);
    }
    *ret = value;
    return true;
}

void params_warn_unlikely(const struct param_set *params, enum param_id id, int64_t value,
                          struct src_pos pos, struct err_list *warnings)
{
    const struct param_value *known = &params->v[id];
    enum quantity_kind kind = quantity_kind_of_param(param_unit_of(id));
    char low[QUANTITY_TEXT_MAX];
    char high[QUANTITY_TEXT_MAX];

    if (known->label == PARAM_USER || (value >= known->low && value <= known->high))
        return;
    quantity_format(low, kind, known->low);
    quantity_format(high, kind, known->high);
    err_list_add(warnings, ERR_RANGE, pos, "%s lies outside %s to %s, where sources put it",
                 param_name(id), low, high);
}

void params_set_user(struct param_set *params, enum param_id id, int64_t value, const char *source)
{
    params->v[id] = (struct param_value){
        .value = value,
        .low = value,
        .high = value,
        .label = PARAM_USER,
        .is_set = true,
        .source = source,
        .date = "",
    };
}

bool params_check(const struct param_set *params, struct src_pos pos, struct err *reterr)
{
    if (params->v[PARAM_IP_FRAME_HEADER].value < params->v[PARAM_RDMA_FRAME].value)
        return true;
    return err_set(reterr, ERR_CONFLICT, pos,
                   "ip.frame_header (%lld B) leaves no room in rdma.frame (%lld B)",
                   (long long)params->v[PARAM_IP_FRAME_HEADER].value,
                   (long long)params->v[PARAM_RDMA_FRAME].value);
}

/*
 * Applies one "name=value unit"; a doubtful value adds to *warnings.
 *
 * Errors: ERR_SYNTAX without '=', ERR_REFERENCE for an unknown name, those of quantity_parse();
 *         *params is left alone then. Columns count inside the assignment.
 */
bool params_override(struct param_set *params, const char *assignment, struct arena *arena,
                     struct err_list *warnings, struct err *reterr)
{
    const char *equals = strchr(assignment, '=');
    struct src_pos pos = {"command line", 1, 1};
    const char *value_text;
    int64_t value = 0;

    if (!equals)
        return err_set(reterr, ERR_SYNTAX, pos,
                       "'%.80s' is no assignment: name=value is, such as rdma.goodput=70 Gb/s",
                       assignment);

    char *name = arena_copy_text(arena, assignment, (size_t)(equals - assignment));
    enum param_id id;

    for (char *end = name + strlen(name); end > name && end[-1] == ' ';)
        *--end = '\0';
    id = params_find(name, pos, reterr);
    if (id == PARAM_COUNT)
        return false;
    value_text = equals + 1;
    while (*value_text == ' ')
        value_text++;
    pos.col = (uint32_t)(value_text - assignment) + 1;
    if (!params_parse_value(id, value_text, pos, &value, reterr))
        return false;

    struct param_set changed = *params;

    params_set_user(&changed, id, value, "command line");
    if (!params_check(&changed, pos, reterr))
        return false;
    params_warn_unlikely(params, id, value, (struct src_pos){0}, warnings);
    *params = changed;
    return true;
}
