/* SPDX-License-Identifier: Apache-2.0 */
/* The reader of user text: bytes in, a complete struct scenario or all of its errors out. */
#ifndef SIM_SCENARIO_SCENARIO_H
#define SIM_SCENARIO_SCENARIO_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sim/base/arena.h"
#include "sim/base/err.h"
#include "sim/fabric/cluster.h"
#include "sim/fabric/fabric.h"
#include "sim/fabric/model.h"
#include "sim/fabric/param.h"
#include "sim/plan/check.h"
#include "sim/scenario/expect.h"
#include "sim/scenario/quirk.h"
#include "sim/workload/run.h"

/* A file's bytes as the command line read them. `name` is what messages show. */
struct source_text {
    const char *name; /* borrowed, outlives everything parsed from it */
    const char *bytes;
    size_t length;
};

struct scenario {
    struct arena arena; /* owns all below */
    const char *name;
    const char *file;
    uint64_t seed;
    const char *macos;
    bool has_jitter;
    enum fabric_unmatched unmatched;
    struct quirks quirks; /* of emulated Macs; what `profile` says of unmatched sends included */
    struct cluster cluster;
    struct param_set params; /* the catalogue's, with the scenario's overrides */
    struct run_item *items;
    size_t item_count;
    struct fault *faults;
    size_t fault_count;
    struct check_goal *goals;
    size_t goal_count;
    struct check_matrix matrix;
    struct expectation *expectations;
    size_t expectation_count;
    struct err_list warnings; /* what a user must check before trusting a result */
};

/*
 * Reads one scenario against a catalogue.
 *
 * Returns:  true and *ret, to be freed by scenario_done; false with every error of the file in
 *           *reterrs, sorted by place, and *ret untouched.
 */
bool scenario_parse(const struct source_text *text, const struct catalog *catalog,
                    struct scenario *ret, struct err_list *reterrs);
void scenario_done(struct scenario *scenario);

/* Reads model files into a catalogue; later files add to and may not repeat earlier names. */
bool catalog_parse(const struct source_text *texts, size_t text_count, struct catalog *ret,
                   struct err_list *reterrs);
void catalog_done(struct catalog *catalog);

/* Changes one parameter, "name=value unit", as from the command line; a value outside the range
 * that sources give adds to *warnings. */
bool params_override(struct param_set *params, const char *assignment, struct arena *arena,
                     struct err_list *warnings, struct err *reterr);

#endif
