/* SPDX-License-Identifier: Apache-2.0 */
/* A published measurement as something that can be simulated: a cluster, one item, one number. */
#ifndef SIM_PLAN_PREDICT_H
#define SIM_PLAN_PREDICT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sim/base/arena.h"
#include "sim/base/err.h"
#include "sim/fabric/cluster.h"
#include "sim/fabric/model.h"
#include "sim/fabric/param.h"
#include "sim/plan/measurement.h"
#include "sim/workload/run.h"

#define PREDICT_REASON_MAX ERR_TEXT_MAX

/* What the words of a row are looked up in. */
struct predict_source {
    const struct catalog *catalog; /* borrowed */
    const struct host_alias *aliases;
    size_t alias_count;
};

/* A row that the model can express. Everything is in the arena given to predict_prepare. */
struct predict_case {
    const struct measurement *row; /* borrowed */
    struct cluster cluster;
    struct run_item item;
    struct chip_model *chips; /* this case's own copies, which a fit may change; by host */
    bool is_rate;             /* the answer is a rate, else a time */
    bool takes_mean;          /* small messages: the mean over repetitions with jitter */
    /* What the row could at best be if the cables carried their full line rate and nothing else
     * took time: the highest rate or the shortest time. */
    int64_t limit;
};

struct prediction {
    int64_t value; /* picoseconds or bits a second */
    bool had_effect[PARAM_COUNT];
};

/*
 * Reads the words of a row.
 *
 * Returns:  true and *ret; false with the reason, a full sentence without a full stop, when the
 *           model does not express the row.
 */
bool predict_prepare(const struct predict_source *source, const struct measurement *row,
                     struct arena *arena, struct predict_case *ret,
                     char reason[PREDICT_REASON_MAX]);

/* Simulates a case; false with the reason when the engine refuses it. */
bool predict_run(const struct predict_case *c, const struct param_set *params,
                 struct prediction *ret, char reason[PREDICT_REASON_MAX]);

/* True when the measured value lies beyond `limit`: no cable carries that. */
bool predict_is_impossible(const struct predict_case *c);

#endif
