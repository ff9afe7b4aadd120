/* SPDX-License-Identifier: Apache-2.0 */
/* One global set of parameters fitted to published measurements. */
#ifndef SIM_PLAN_CALIBRATE_H
#define SIM_PLAN_CALIBRATE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sim/base/arena.h"
#include "sim/fabric/param.h"
#include "sim/plan/measurement.h"
#include "sim/plan/predict.h"

#define CALIBRATE_TIED_MAX 3

enum calibrate_status {
    CALIBRATE_IDENTIFIED,     /* the sum of errors grows on both sides */
    CALIBRATE_BOUNDED_BELOW,  /* it grows only towards smaller values */
    CALIBRATE_BOUNDED_ABOVE,  /* it grows only towards larger values */
    CALIBRATE_LOOSE,          /* rows depend on it, but only within their measured ranges */
    CALIBRATE_NOT_IDENTIFIED, /* no row depends on it: the start value stays */
};

enum chip_rate {
    CHIP_RATE_NONE,
    CHIP_RATE_THREAD_COPY,
    CHIP_RATE_THREAD_REDUCE,
    CHIP_RATE_HOST_STAGING,
};

/* One number that was searched for: parameters that the data know only together, or a rate of a
 * chip. */
struct calibrate_variable {
    enum param_id params[CALIBRATE_TIED_MAX];
    size_t param_count; /* 0: a chip's rate */
    enum chip_rate rate;
    const char *chip;
    enum param_unit unit;
    int64_t start, value;
    int64_t grid; /* value is a multiple of it unless it is the start */
    enum calibrate_status status;
    const char *rows;    /* ids of the rows that depend on it: "lat-64B, lat-4K" */
    const char *sources; /* of these rows, each once */
    const char *date;    /* the newest of these rows; "" when none has one */
};

struct calibrate_residual {
    const struct measurement *row; /* borrowed */
    int64_t predicted;
    int64_t before_ppm, after_ppm; /* error with the start values and with the fitted ones */
};

struct calibrate_skip {
    const struct measurement *row; /* borrowed */
    const char *reason;
};

struct calibrate_result {
    struct arena arena;      /* owns all below */
    struct param_set params; /* fitted values labelled so, the others as they were */
    struct calibrate_variable *variables;
    size_t variable_count;
    struct calibrate_residual *residuals;
    size_t residual_count;
    struct calibrate_skip *skipped; /* not expressed or impossible: not part of the fit */
    size_t skip_count;
    int64_t sum_before_ppm, sum_after_ppm; /* of absolute errors */
    uint64_t simulations;
    bool is_partial; /* stopped from outside */
};

struct calibrate_input {
    struct predict_source source;
    const struct param_set *params; /* where the search begins */
    const struct measurement *rows;
    size_t row_count;
    const bool *stop; /* may be NULL */
    void *ctx;
    void (*progress)(void *ctx, uint64_t done, uint64_t total); /* may be NULL */
};

const char *calibrate_status_text(enum calibrate_status status);
/* "thread_copy" and so on, as in models/chips.yaml. */
const char *chip_rate_name(enum chip_rate rate);
/* "rdma.post_send = rdma.post_recv = rdma.poll", "m3-ultra host_staging". */
const char *calibrate_variable_name(const struct calibrate_variable *variable, struct arena *arena);

/* Fits. Never fails: what cannot be simulated is skipped. */
void calibrate_run(const struct calibrate_input *input, struct calibrate_result *ret);
void calibrate_done(struct calibrate_result *result);

#endif
