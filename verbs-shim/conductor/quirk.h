/* SPDX-License-Identifier: Apache-2.0 */
/* The switches of a run: --quirk NAME[=VALUE]. The table is verbs-shim/proto/quirk.h. */
#ifndef VERBS_SHIM_CONDUCTOR_QUIRK_H
#define VERBS_SHIM_CONDUCTOR_QUIRK_H

#include <stdbool.h>
#include <stdint.h>

#include "sim/base/err.h"
#include "sim/base/units.h"
#include "verbs-shim/proto/quirk.h"

struct quirks {
    uint32_t on; /* PROTO_QUIRK_BIT of each */
    uint32_t max_qp, max_cq, max_pd;
    uint32_t wedge_after;
    simspan idle_after, idle_wake;
    const char *values[PROTO_QUIRK_COUNT]; /* as given, borrowed; NULL: none */
};

static inline bool quirk_is_on(const struct quirks *quirks, enum proto_quirk quirk)
{
    return (quirks->on >> quirk & 1U) != 0;
}

/* Adds one, "NAME" or "NAME=VALUE", which must live as long as the quirks. */
bool quirk_take(const char *text, struct quirks *quirks, struct err *reterr);
/* "limits" */
const char *quirk_name(enum proto_quirk quirk);

#endif
