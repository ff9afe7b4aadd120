/* SPDX-License-Identifier: Apache-2.0 */
/* What validate and calibrate both read: measurements and the names of machines. */
#ifndef SIM_CLI_MEASUREMENTS_H
#define SIM_CLI_MEASUREMENTS_H

#include <stdbool.h>
#include <stddef.h>

#include "sim/cli/cli.h"
#include "sim/plan/measurement.h"
#include "sim/plan/predict.h"

struct measurements {
    struct predict_source source;
    const struct measurement *rows; /* of the files that the user named, or of the shipped ones */
    size_t row_count;
    const struct measurement *shipped; /* models/measurements/ */
    size_t shipped_count;
};

/* Reads the catalogue, the names, the shipped rows and the operands. Reports its errors itself. */
bool measurements_load(struct cli *cli, struct measurements *ret);

#endif
