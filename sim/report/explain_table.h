/* SPDX-License-Identifier: Apache-2.0 */
/* Inside the explanations only: the table. */
#ifndef SIM_REPORT_EXPLAIN_TABLE_H
#define SIM_REPORT_EXPLAIN_TABLE_H

#include "sim/fabric/param.h"

#define EXPLAIN_INPUTS_MAX 8

enum explain_kind {
    EXPLAIN_PARAMETER,
    EXPLAIN_RESULT,  /* a column of `sim` */
    EXPLAIN_CHECK,   /* a number of `check` */
    EXPLAIN_SCORE,   /* a column of `validate` */
    EXPLAIN_CHIP,    /* a rate of models/chips.yaml */
    EXPLAIN_FINDING, /* an id of `check` */
    EXPLAIN_WORD,    /* how a value is known */
    EXPLAIN_KIND_COUNT,
};

struct explain_entry {
    const char *name;
    enum explain_kind kind;
    const char *what;                       /* NULL for parameters: param_what() says it */
    const char *equation;                   /* "" when there is none */
    const char *page;                       /* docs/..., with the section */
    const char *inputs[EXPLAIN_INPUTS_MAX]; /* names of parameters; ends with NULL unless full */
};

/* Parameters first, in the order of enum param_id; ends with a NULL name. */
extern const struct explain_entry explain_table[];

/* "parameter", "result", ... */
const char *explain_kind_text(enum explain_kind kind);
/* "parameters of the model", ... */
const char *explain_kind_title(enum explain_kind kind);

#endif
