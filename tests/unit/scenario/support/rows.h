/* SPDX-License-Identifier: Apache-2.0 */
/* Measurement rows and what they are looked up in, for tests of predictions and fits. */
#ifndef TESTS_UNIT_SCENARIO_ROWS_H
#define TESTS_UNIT_SCENARIO_ROWS_H

#include <stddef.h>

#include "sim/plan/measurement.h"
#include "sim/plan/predict.h"
#include "sim/scenario/scenario.h"

#define ROWS_HEAD "id,kind,hosts,nodes,cables_per_pair,stack,size_bytes,value,unit,note,source\n"

/* The shipped catalogue, names and rows; freed by rows_done. */
struct rows {
    struct arena arena;
    struct catalog catalog;
    struct predict_source source;
    const struct measurement *fabric; /* models/measurements/fabric.csv */
    size_t fabric_count;
};

void rows_init(struct rows *rows);
void rows_done(struct rows *rows);
/* Rows of a text, in the arena of `rows`; an error fails the test. */
const struct measurement *rows_read(struct rows *rows, const char *text, size_t *ret_count);
/* The shipped row of that id; the test fails when there is none. */
const struct measurement *rows_find(const struct rows *rows, const char *id);

#endif
