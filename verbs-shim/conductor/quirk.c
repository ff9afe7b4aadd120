/* SPDX-License-Identifier: Apache-2.0 */
#include "verbs-shim/conductor/quirk.h"

#include <stddef.h>
#include <string.h>

#include "sim/scenario/quantity.h"

#define VALUE_MAX 64
#define PARTS_MAX 3
#define COUNT_MAX 100000

static const struct {
    const char *name, *value;
} table[PROTO_QUIRK_COUNT] = {
#define X(id, name, value, what, source) {name, value},
    PROTO_QUIRK_LIST(X)
#undef X
};

static const struct src_pos nowhere = {0};

const char *quirk_name(enum proto_quirk quirk)
{
    return table[quirk].name;
}

/* Numbers of the kind, with slashes between. */
static bool read_parts(const char *value, enum quantity_kind kind, int64_t *parts, size_t count,
                       struct err *reterr)
{
    char copy[VALUE_MAX];
    char *at = copy;

    if (strlen(value) >= sizeof copy)
        return err_set(reterr, ERR_SYNTAX, nowhere, "'%.40s...' is too long", value);
    memcpy(copy, value, strlen(value) + 1);
    for (size_t i = 0; i < count; i++) {
        char *slash = strchr(at, '/');

        if ((slash == NULL) != (i + 1 == count))
            return err_set(reterr, ERR_SYNTAX, nowhere,
                           "'%s': expected %zu part%s, with '/' between", value, count,
                           count == 1 ? "" : "s");
        if (slash)
            *slash = '\0';
        if (!quantity_parse(at, kind, nowhere, &parts[i], reterr))
            return false;
        if (parts[i] <= 0 || (kind == QUANTITY_COUNT && parts[i] > COUNT_MAX))
            return err_set(reterr, ERR_RANGE, nowhere, "'%s' is out of range", at);
        at = slash ? slash + 1 : at;
    }
    return true;
}

static bool take_value(enum proto_quirk quirk, const char *value, struct quirks *quirks,
                       struct err *reterr)
{
    int64_t parts[PARTS_MAX];

    if (quirk == PROTO_QUIRK_LIMITS) {
        if (!read_parts(value, QUANTITY_COUNT, parts, 3, reterr))
            return false;
        quirks->max_qp = (uint32_t)parts[0];
        quirks->max_cq = (uint32_t)parts[1];
        quirks->max_pd = (uint32_t)parts[2];
    } else if (quirk == PROTO_QUIRK_WEDGE) {
        if (!read_parts(value, QUANTITY_COUNT, parts, 1, reterr))
            return false;
        quirks->wedge_after = (uint32_t)parts[0];
    } else if (quirk == PROTO_QUIRK_IDLE_SLEEP) {
        if (!read_parts(value, QUANTITY_SPAN, parts, 2, reterr))
            return false;
        quirks->idle_after = (simspan){parts[0]};
        quirks->idle_wake = (simspan){parts[1]};
    }
    return true;
}

bool quirk_take(const char *text, struct quirks *quirks, struct err *reterr)
{
    const char *equals = strchr(text, '=');
    size_t length = equals ? (size_t)(equals - text) : strlen(text);

    for (size_t i = 0; i < PROTO_QUIRK_COUNT; i++) {
        if (strlen(table[i].name) != length || memcmp(table[i].name, text, length) != 0)
            continue;
        if ((equals != NULL) != (table[i].value[0] != '\0'))
            return err_set(reterr, ERR_SYNTAX, nowhere, "'%.60s': it is written %s%s", text,
                           table[i].name, table[i].value);
        if (equals && !take_value((enum proto_quirk)i, equals + 1, quirks, reterr))
            return false;
        quirks->on |= 1U << i;
        quirks->values[i] = equals ? equals + 1 : NULL;
        return true;
    }
    return err_set(reterr, ERR_REFERENCE, nowhere, "no quirk '%.60s'; `tbmesh help run` lists them",
                   text);
}
