/* SPDX-License-Identifier: Apache-2.0 */
/* Predictions beside published measurements: error, range, label of each row and a summary. */
#ifndef SIM_PLAN_VALIDATE_H
#define SIM_PLAN_VALIDATE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sim/base/arena.h"
#include "sim/fabric/param.h"
#include "sim/plan/measurement.h"
#include "sim/plan/predict.h"

/* How a row relates to the rows that the parameters were fitted to. The words are printed. */
enum validate_label {
    VALIDATE_FITTED,       /* is one of them: its error is a residual, not a test */
    VALIDATE_MEASURED,     /* another measurement of the very same set-up */
    VALIDATE_INTERPOLATED, /* same operation and library, sizes and counts between theirs */
    VALIDATE_EXTRAPOLATED, /* anything else */
    VALIDATE_IMPOSSIBLE,   /* no cable carries what was measured; not part of the summary */
};

struct validate_row {
    const struct measurement *row; /* borrowed */
    int64_t predicted;             /* as row->unit says */
    int64_t low, high;             /* with all parameters at the ends of their ranges */
    int64_t error_ppm;             /* signed, of the measured value; 0 inside a measured range */
    int64_t limit;                 /* what the bare line rate allows */
    enum validate_label label;
    bool had_effect[PARAM_COUNT]; /* the parameter took part in the prediction */
};

struct validate_gap {
    const struct measurement *row; /* borrowed */
    const char *reason;
};

struct validate_result {
    struct arena arena; /* owns all below */
    struct validate_row *rows;
    size_t row_count;
    struct validate_gap *gaps; /* rows that are not expressed */
    size_t gap_count;
    size_t scored;                          /* rows in the summary */
    int64_t median_ppm, p90_ppm, worst_ppm; /* of absolute errors; 0 without scored rows */
    int64_t coverage_ppm;                   /* expressed rows among all */
    bool is_partial;                        /* stopped from outside */
};

struct validate_input {
    struct predict_source source;
    const struct param_set *params;
    const struct measurement *rows;
    size_t row_count;
    const struct measurement *fit_rows; /* what the parameters were fitted to; may be none */
    size_t fit_row_count;
    const bool *stop; /* may be NULL; becomes true on Ctrl-C */
    void *ctx;
    void (*progress)(void *ctx, uint64_t done, uint64_t total); /* may be NULL */
};

const char *validate_label_text(enum validate_label label);

/* Simulates every row that the model can express. Never fails: what cannot run is a gap. */
void validate_run(const struct validate_input *input, struct validate_result *ret);
void validate_done(struct validate_result *result);

/* Signed error of a prediction in millionths of the measured value; 0 inside a range, the distance
 * to the nearer end outside. Saturates at +-1e12. */
int64_t validate_error_ppm(const struct measurement *row, int64_t predicted);

#endif
