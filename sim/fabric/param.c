/* SPDX-License-Identifier: Apache-2.0 */
/*
 * DOC: Parameters
 *
 * Names, units and meanings of the model's parameters. Values never stand here: they are read from
 * models/calibration.yaml, each with its source, date and range.
 */
#include "sim/fabric/param.h"

#include <string.h>

struct param_row {
    const char *name;
    const char *what;
    enum param_unit unit;
};

static const struct param_row rows[PARAM_COUNT] = {
#define PARAM_ROW(id, text, kind, meaning) [PARAM_##id] = {text, meaning, kind},
    PARAM_LIST(PARAM_ROW)
#undef PARAM_ROW
};

const char *param_name(enum param_id id)
{
    return rows[id].name;
}

const char *param_what(enum param_id id)
{
    return rows[id].what;
}

enum param_unit param_unit_of(enum param_id id)
{
    return rows[id].unit;
}

const char *param_unit_text(enum param_unit unit)
{
    switch (unit) {
    case PARAM_UNIT_SPAN:
        return "ps";
    case PARAM_UNIT_RATE:
        return "bit/s";
    case PARAM_UNIT_SIZE:
        return "B";
    case PARAM_UNIT_COUNT:
        return "";
    }
    return "";
}

const char *param_label_text(enum param_label label)
{
    switch (label) {
    case PARAM_MEASURED:
        return "measured";
    case PARAM_FITTED:
        return "fitted";
    case PARAM_DERIVED:
        return "derived";
    case PARAM_ASSUMED:
        return "assumed";
    case PARAM_USER:
        return "user";
    }
    return "";
}

enum param_id param_find(const char *name)
{
    for (uint32_t i = 0; i < PARAM_COUNT; i++) {
        if (strcmp(rows[i].name, name) == 0)
            return (enum param_id)i;
    }
    return PARAM_COUNT;
}
