/* SPDX-License-Identifier: Apache-2.0 */
/* Is this cabling possible, and what is wrong with it: static findings, each with its fix. */
#ifndef SIM_PLAN_CHECK_H
#define SIM_PLAN_CHECK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sim/base/arena.h"
#include "sim/base/err.h"
#include "sim/base/ids.h"
#include "sim/base/units.h"
#include "sim/fabric/cluster.h"
#include "sim/workload/run.h"

enum check_severity {
    CHECK_ERROR,   /* it will not work */
    CHECK_WARNING, /* it may not work, or sources disagree */
    CHECK_NOTE,
};

/* What the user wants to be possible; all optional. */
struct check_goal {
    bool wants_mesh;          /* a full mesh of all computers */
    uint32_t tensor_parallel; /* ranks; 0: not asked */
    uint32_t heads;           /* attention heads that must divide; 0: not asked */
    uint32_t kv_heads;
    uint32_t hidden;
    const char *model; /* name for messages; NULL */
    bytecount weights; /* to be held; zero: not asked */
    struct src_pos pos;
};

/* A JACCL device matrix as the user wrote it: cell [r][c] lists rank r's devices towards rank c. */
struct check_matrix {
    size_t size; /* ranks; 0: none given */
    const host_id *hosts;
    const char *const *const *cells; /* [size * size] NULL-terminated lists; NULL list: null cell */
    bool prefers_ring;
    const struct src_pos *cell_pos; /* [size * size] */
    struct src_pos pos;
};

struct check_input {
    const struct cluster *cluster;
    const struct check_goal *goals;
    size_t goal_count;
    const struct check_matrix *matrix; /* NULL when none */
    const struct run_item *items;      /* each item needs its libraries' cabling */
    size_t item_count;
};

struct finding {
    const char *id; /* stable name: "port-count", "bridge-loop", "tp-divisibility", ... */
    enum check_severity severity;
    const char *where; /* "studio1 port 1 (en2)", "cable studio1:1 - studio2:1" */
    const char *why;   /* one or two sentences, with the numbers and the source */
    const char *fix;   /* what to do; exact commands, one a line, "studio1$ ..." */
    struct src_pos pos;
};

struct check_result {
    struct arena arena;       /* owns all below */
    struct finding *findings; /* errors first, then warnings, then notes */
    size_t finding_count;
    bool is_feasible;       /* no error */
    const char *binding;    /* id of the constraint that binds first, "" when none */
    uint32_t cables;        /* in the scenario */
    uint32_t mesh_cables;   /* a full mesh of these computers would need */
    uint32_t max_full_mesh; /* computers of these models in one full mesh, by the scarcest */
    uint32_t max_full_mesh_cautious; /* the same without the doubtful ports */
};

void check_cluster(const struct check_input *input, struct check_result *ret);
void check_result_done(struct check_result *result);

#endif
