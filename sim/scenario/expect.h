/* SPDX-License-Identifier: Apache-2.0 */
/* Assertions of a scenario: `all_reduce[size=4 KiB].latency.median < 12 us`. */
#ifndef SIM_SCENARIO_EXPECT_H
#define SIM_SCENARIO_EXPECT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sim/base/arena.h"
#include "sim/base/err.h"
#include "sim/fabric/param.h"

enum expect_op {
    EXPECT_LT,
    EXPECT_LE,
    EXPECT_GT,
    EXPECT_GE,
    EXPECT_EQ,
    EXPECT_NE,
    EXPECT_HAS, /* a list of names contains one */
    EXPECT_HAS_NOT,
};

enum expect_type {
    EXPECT_TYPE_SPAN,
    EXPECT_TYPE_RATE,
    EXPECT_TYPE_SIZE,
    EXPECT_TYPE_NUMBER, /* counts and percentages in thousandths */
    EXPECT_TYPE_BOOL,
    EXPECT_TYPE_NAME,
};

#define EXPECT_FILTERS_MAX 6

/* A subject such as all_reduce[library=jaccl-mesh,size=4 KiB].latency.median. */
struct expectation {
    const char *text;    /* as written */
    const char *subject; /* "all_reduce", "check", "deadlock", ... */
    struct {
        const char *key;
        const char *value;
        int64_t number; /* of sizes */
    } filters[EXPECT_FILTERS_MAX];
    size_t filter_count;
    const char *field; /* "latency.median"; "" when the subject is a value itself */
    enum expect_op op;
    enum expect_type type;
    int64_t value;    /* ps, bit/s, bytes, thousandths or 0/1 */
    const char *name; /* EXPECT_TYPE_NAME */
    /* `<subject> < <factor> * <other subject>` is written `ratio(a, b) < 3.2`. */
    const struct expectation *ratio_to; /* NULL: none; else only subject, filters and field count */
    struct src_pos pos;
};

/*
 * Reads one assertion; `pos` is the place of its first character, and errors count from there.
 * Texts of *ret are in the arena or in `text`, which has to live as long.
 */
bool expect_parse(const char *text, struct src_pos pos, struct arena *arena,
                  struct expectation *ret, struct err *reterr);

/* The type of a subject's field; false when there is no such field. */
bool expect_find_field(const char *subject, const char *field, enum expect_type *ret);

struct sim_result;
struct check_result;

enum expect_verdict {
    EXPECT_HOLDS,
    EXPECT_FAILS,
    EXPECT_NO_SUBJECT, /* nothing in the results matches: counts as a failure */
    EXPECT_NOT_RUN,    /* needs a simulation, and only a check was asked for */
};

struct expect_outcome {
    enum expect_verdict verdict;
    char seen[160]; /* the value found, with its unit, or why there is none */
};

/* Either result may be NULL: then expectations on it are EXPECT_NOT_RUN. */
struct expect_outcome expect_evaluate(const struct expectation *expectation,
                                      const struct sim_result *sim,
                                      const struct check_result *check);

#endif
