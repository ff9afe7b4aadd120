/* SPDX-License-Identifier: Apache-2.0 */
#include "sim/scenario/quirk.h"

#include <stddef.h>
#include <string.h>

#include "sim/scenario/quantity.h"

#define VALUE_MAX 64
#define PARTS_MAX 3
#define COUNT_MAX 100000

static const struct {
    const char *name, *value;
    uint32_t places; /* a sum of enum quirk_place */
} table[QUIRK_COUNT] = {
#define X(id, name, value, places, what, source) {name, value, places},
    QUIRK_LIST(X)
#undef X
};

const char *quirk_name(enum quirk quirk)
{
    return table[quirk].name;
}

const char *quirk_form(enum quirk quirk)
{
    return table[quirk].value;
}

bool quirk_has_value(enum quirk quirk)
{
    return table[quirk].value[0] != '\0';
}

bool quirk_acts(enum quirk quirk, enum quirk_place place)
{
    return (table[quirk].places & (uint32_t)place) != 0;
}

/* Numbers of the kind, with slashes between. */
static bool read_parts(enum quirk quirk, const struct quirk_text *text, enum quantity_kind kind,
                       int64_t *parts, size_t count, struct err *reterr)
{
    const char *value = text->value;
    char copy[VALUE_MAX];
    char *at = copy;

    if (strlen(value) >= sizeof copy)
        return err_set(reterr, ERR_SYNTAX, text->pos, "%s: '%.40s...' is too long",
                       table[quirk].name, value);
    memcpy(copy, value, strlen(value) + 1);
    for (size_t i = 0; i < count; i++) {
        char *slash = strchr(at, '/');

        if ((slash == NULL) != (i + 1 == count))
            return err_set(reterr, ERR_SYNTAX, text->pos, "%s: '%s' is no %s", table[quirk].name,
                           value, table[quirk].value + 1);
        if (slash)
            *slash = '\0';
        if (!quantity_parse(at, kind, text->pos, &parts[i], reterr))
            return false;
        if (parts[i] <= 0 || (kind == QUANTITY_COUNT && parts[i] > COUNT_MAX))
            return err_set(reterr, ERR_RANGE, text->pos, "%s: '%s' is out of range",
                           table[quirk].name, at);
        at = slash ? slash + 1 : at;
    }
    return true;
}

static bool take_value(enum quirk quirk, const struct quirk_text *text, struct quirks *quirks,
                       struct err *reterr)
{
    int64_t parts[PARTS_MAX] = {0};

    if (quirk == QUIRK_LIMITS) {
        if (!read_parts(quirk, text, QUANTITY_COUNT, parts, 3, reterr))
            return false;
        quirks->max_qp = (uint32_t)parts[0];
        quirks->max_cq = (uint32_t)parts[1];
        quirks->max_pd = (uint32_t)parts[2];
    } else if (quirk == QUIRK_WEDGE) {
        if (!read_parts(quirk, text, QUANTITY_COUNT, parts, 1, reterr))
            return false;
        quirks->wedge_after = (uint32_t)parts[0];
    } else if (quirk == QUIRK_IDLE_SLEEP) {
        if (!read_parts(quirk, text, QUANTITY_SPAN, parts, 2, reterr))
            return false;
        quirks->idle_after = (simspan){parts[0]};
        quirks->idle_wake = (simspan){parts[1]};
    } else if (quirk == QUIRK_IDLE_STALE) {
        if (!read_parts(quirk, text, QUANTITY_SPAN, parts, 1, reterr))
            return false;
        quirks->stale_after = (simspan){parts[0]};
    }
    return true;
}

static enum quirk find(const char *name, size_t length)
{
    for (int i = 0; i < QUIRK_COUNT; i++) {
        if (strlen(table[i].name) == length && memcmp(table[i].name, name, length) == 0)
            return (enum quirk)i;
    }
    return QUIRK_COUNT;
}

bool quirk_switch(enum quirk quirk, const struct quirk_text *text, struct quirks *quirks,
                  struct err *reterr)
{
    if (text->value && !take_value(quirk, text, quirks, reterr))
        return false;
    quirks->on |= QUIRK_BIT_OF(quirk);
    quirks->values[quirk] = text->value;
    quirks->keys[quirk] = text->key;
    return true;
}

bool quirk_take(const char *text, struct quirks *quirks, struct err *reterr)
{
    const char *equals = strchr(text, '=');
    const struct quirk_text value = {.value = equals ? equals + 1 : NULL};
    enum quirk quirk = find(text, equals ? (size_t)(equals - text) : strlen(text));

    if (quirk == QUIRK_COUNT)
        return err_set(reterr, ERR_REFERENCE, value.pos,
                       "no quirk '%.60s'; `tbmesh help run` lists them", text);
    if ((equals != NULL) != quirk_has_value(quirk))
        return err_set(reterr, ERR_SYNTAX, value.pos, "'%.60s': it is written %s%s", text,
                       table[quirk].name, table[quirk].value);
    return quirk_switch(quirk, &value, quirks, reterr);
}

void quirks_add(struct quirks *quirks, const struct quirks *more)
{
    quirks->on |= more->on;
    for (int i = 0; i < QUIRK_COUNT; i++) {
        if (!quirk_is_on(more, (enum quirk)i))
            continue;
        quirks->values[i] = more->values[i];
        quirks->keys[i] = more->keys[i];
    }
    if (quirk_is_on(more, QUIRK_LIMITS)) {
        quirks->max_qp = more->max_qp;
        quirks->max_cq = more->max_cq;
        quirks->max_pd = more->max_pd;
    }
    if (quirk_is_on(more, QUIRK_WEDGE))
        quirks->wedge_after = more->wedge_after;
    if (quirk_is_on(more, QUIRK_IDLE_SLEEP)) {
        quirks->idle_after = more->idle_after;
        quirks->idle_wake = more->idle_wake;
    }
    if (quirk_is_on(more, QUIRK_IDLE_STALE))
        quirks->stale_after = more->stale_after;
}
