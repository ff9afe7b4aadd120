/* SPDX-License-Identifier: Apache-2.0 */
/* Switches of an emulated Mac: the scenario's `quirks`, and `tbmesh run --quirk NAME[=VALUE]`. The
 * table is sim/fabric/quirk.h. */
#ifndef SIM_SCENARIO_QUIRK_H
#define SIM_SCENARIO_QUIRK_H

#include <stdbool.h>
#include <stdint.h>

#include "sim/base/err.h"
#include "sim/base/units.h"
#include "sim/fabric/quirk.h"

struct quirks {
    uint32_t on; /* QUIRK_BIT_OF each */
    uint32_t max_qp, max_cq, max_pd;
    uint32_t wedge_after;
    simspan idle_after, idle_wake;
    simspan stale_after;
    const char *values[QUIRK_COUNT];  /* as given, borrowed; NULL: none */
    struct src_pos keys[QUIRK_COUNT]; /* that switched it on; no file: the command line */
};

static inline bool quirk_is_on(const struct quirks *quirks, enum quirk quirk)
{
    return (quirks->on >> quirk & 1U) != 0;
}

/* A value as the user wrote it, and where. */
struct quirk_text {
    const char *value;  /* NULL: none. It must live as long as the quirks. */
    struct src_pos pos; /* of the value */
    struct src_pos key;
};

/* Switches one on. Whether it takes a value is checked by the caller. */
bool quirk_switch(enum quirk quirk, const struct quirk_text *text, struct quirks *quirks,
                  struct err *reterr);
/* Switches one on, "NAME" or "NAME=VALUE", which must live as long as the quirks. */
bool quirk_take(const char *text, struct quirks *quirks, struct err *reterr);
/* Switches on what is on in `more`, with its values. */
void quirks_add(struct quirks *quirks, const struct quirks *more);
/* "limits" */
const char *quirk_name(enum quirk quirk);
/* "=QP/CQ/PD", or "" where there is no value. */
const char *quirk_form(enum quirk quirk);
bool quirk_has_value(enum quirk quirk);
/* Does it change anything there? */
bool quirk_acts(enum quirk quirk, enum quirk_place place);

#endif
