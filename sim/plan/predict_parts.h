/* SPDX-License-Identifier: Apache-2.0 */
/* What the files of predict share; not for others. */
#ifndef SIM_PLAN_PREDICT_PARTS_H
#define SIM_PLAN_PREDICT_PARTS_H

#include <stdbool.h>

#include "sim/plan/predict.h"

struct predict_maker {
    const struct predict_source *source;
    const struct measurement *row;
    struct arena *arena;
    char *reason; /* [PREDICT_REASON_MAX] */
};

/* Sets the reason; always returns false. */
bool predict_refuse(const struct predict_maker *p, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* Makes the machines and cables of the row for c->item.library, and names the item's nodes. */
bool predict_make_cluster(const struct predict_maker *p, struct predict_case *c);

#endif
