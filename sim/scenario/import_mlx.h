/* SPDX-License-Identifier: Apache-2.0 */
/* An MLX host file or a JACCL device matrix, as users have it, becomes a scenario. */
#ifndef SIM_SCENARIO_IMPORT_MLX_H
#define SIM_SCENARIO_IMPORT_MLX_H

#include <stdbool.h>
#include <stddef.h>

#include "sim/base/arena.h"
#include "sim/base/err.h"
#include "sim/fabric/model.h"
#include "sim/scenario/scenario.h"

/* The model written where the file leaves more than one Mac possible. No Mac has this name, so a
 * scenario in which it was not replaced is refused. */
#define IMPORT_MODEL_UNKNOWN "CHANGE-ME"

struct import_mlx_options {
    const struct catalog *catalog;
    const char *const *models; /* names from the catalogue: none, one for all, or one a rank */
    size_t model_count;
    const char *cable; /* kind of every cable; NULL: "tb5-1m" */
    const char *macos; /* NULL: "26.3" */
};

/*
 * Reads JSON (which is YAML): a list of {ssh, ips, rdma}, the same under the key `hosts`, or a
 * matrix of cells.
 *
 * Returns:  true and the text of a scenario in the arena, with as many cables as the cells name.
 * Errors:   each at its cell: not a mesh and not a ring, with the cells that say so; a device that
 *           the Mac does not have; a port named twice; a Mac that has to be named first.
 */
bool import_mlx_parse(const struct source_text *text, const struct import_mlx_options *options,
                      struct arena *arena, const char **ret, struct err_list *reterrs);

#endif
