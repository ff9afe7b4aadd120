/* SPDX-License-Identifier: Apache-2.0 */
/* Published measurements as rows of plain data; sim/scenario reads them from CSV files. */
#ifndef SIM_PLAN_MEASUREMENT_H
#define SIM_PLAN_MEASUREMENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sim/base/err.h"
#include "sim/base/units.h"

/* X(identifier, word in the column `kind`, why the model does not express it or NULL) */
#define MEASUREMENT_KIND_LIST(X)                                                  \
    X(ONE_WAY_LATENCY, "one_way_latency", NULL)                                   \
    X(ROUND_TRIP, "round_trip", NULL)                                             \
    X(SEND_BANDWIDTH, "send_bandwidth", NULL)                                     \
    X(ALL_REDUCE, "all_reduce", NULL)                                             \
    X(ALL_GATHER, "all_gather", NULL)                                             \
    X(REDUCE_SCATTER, "reduce_scatter", NULL)                                     \
    X(ALL_TO_ALL, "all_to_all", NULL)                                             \
    X(BROADCAST, "broadcast", NULL)                                               \
    X(IP_BANDWIDTH, "ip_bandwidth", NULL)                                         \
    X(IP_ROUND_TRIP, "ip_round_trip", NULL)                                       \
    X(BRIDGE_STORM, "bridge_storm", "bridges and their storms are not simulated") \
    X(HPL, "hpl", "HPL is arithmetic on the chip, not traffic on a cable")        \
    X(TOKEN_RATE, "token_rate", "token rates of language models are not in this version")

enum measurement_kind {
#define X(id, name, why) MEASUREMENT_##id,
    MEASUREMENT_KIND_LIST(X)
#undef X
    MEASUREMENT_OTHER, /* a word that is not in the list */
};

/* What low and high count. */
enum measurement_unit {
    MEASUREMENT_SPAN,     /* picoseconds */
    MEASUREMENT_RATE,     /* bits a second */
    MEASUREMENT_NO_MODEL, /* packets, operations, tokens: kept as text only */
};

/* One row. Texts are borrowed from the set's arena and never NULL. */
struct measurement {
    const char *id;
    enum measurement_kind kind;
    const char *kind_text;
    const char *hosts; /* "M4 Pro mini - M5 Max MBP" */
    uint32_t nodes;
    uint32_t cables_per_pair; /* 0: not stated */
    const char *stack;        /* "MLX jaccl mesh fast-synch on" */
    bool has_size;
    bytecount size;
    const char *value_text; /* as written */
    const char *unit_text;
    enum measurement_unit unit;
    int64_t low, high; /* equal unless the value is a range */
    int64_t scale;     /* of one unit_text: 1,000,000 for us, 8,000,000,000 for GB/s */
    const char *note;
    const char *source;
    const char *date; /* "" when the file has no such column */
    struct src_pos pos;
};

/* A name that people give to machines, and the models it stands for. */
struct host_alias {
    const char *name;
    const char *model; /* of the catalogue */
    struct src_pos pos;
};

#endif
