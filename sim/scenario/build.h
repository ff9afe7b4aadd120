/* SPDX-License-Identifier: Apache-2.0 */
/* A scenario while it is being read: shared by the files scenario*.c and by nobody else. */
#ifndef SIM_SCENARIO_BUILD_H
#define SIM_SCENARIO_BUILD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sim/base/arena.h"
#include "sim/base/err.h"
#include "sim/fabric/model.h"
#include "sim/scenario/scenario.h"
#include "sim/scenario/schema.h"
#include "sim/scenario/yaml.h"

#define BUILD_HOSTS_MAX  4096U
#define BUILD_CABLES_MAX 65536U

/* Entries of `machines:` that stand for one or more hosts under one name. */
struct build_group {
    const char *name;
    uint32_t first; /* host index */
    uint32_t count;
};

struct build_name {
    const char *name;
    uint32_t ix;
};

struct build {
    struct scenario *scenario; /* being filled */
    struct arena *arena;       /* the scenario's */
    struct err_list *errs;
    struct catalog catalog;   /* the caller's and the scenario's own models */
    struct build_name *names; /* hosts, sorted by name */
    struct build_group *groups;
    size_t group_count;
    size_t cable_capacity;
    size_t goal_capacity;
    enum fabric_send_completion send_completion;
};

/* Values of the top-level keys. */
enum top_key {
    TOP_VERSION,
    TOP_NAME,
    TOP_SEED,
    TOP_MACOS,
    TOP_JITTER,
    TOP_MODELS,
    TOP_MACHINES,
    TOP_CABLES,
    TOP_RDMA,
    TOP_BRIDGE,
    TOP_IP,
    TOP_PARAMETERS,
    TOP_PROFILE,
    TOP_QUIRKS,
    TOP_GOALS,
    TOP_MATRIX,
    TOP_RUN,
    TOP_FAULTS,
    TOP_EXPECT,
    TOP_KEY_COUNT,
};

void build_machines(struct build *build, const struct schema_value *top);
void build_cables(struct build *build, const struct schema_value *cables);
void build_parameters(struct build *build, const struct schema_value *parameters);
void build_profile(struct build *build, const struct schema_value *profile);
void build_quirks(struct build *build, const struct schema_value *section);
void build_goals(struct build *build, const struct schema_value *goals);
void build_matrix(struct build *build, const struct schema_value *matrix);
void build_runs(struct build *build, const struct schema_value *run);
void build_faults(struct build *build, const struct schema_value *faults);
void build_expectations(struct build *build, const struct schema_value *expect);

/* Values of the keys rdma and ip, which the file and a machine both have. */
extern const char *const build_rdma_names[2];
extern const char *const build_ip_names[3];

/* A new goal at the end of the scenario's list. */
struct check_goal *build_add_goal(struct build *build);

/* The host of that name (or of the group of one with that name); ID_NONE and an error with a
 * suggestion when there is none. */
host_id build_find_host(struct build *build, const char *name, struct src_pos pos);

/* Names of machines and groups, alone or in a list, as hosts in order. */
struct build_hosts {
    host_id *items;
    size_t count;
};
bool build_read_hosts(struct build *build, const struct yaml_value *value, const char *what,
                      struct build_hosts *ret);

/* "studio1 port 5", "studio1:5", "studio1 en6" or "studio1" alone (port ID_NONE). False after an
 * error. */
bool build_read_end(struct build *build, const char *text, struct src_pos pos,
                    struct cluster_end *ret);

/* True for machines that run programs. */
bool build_is_computer(const struct cluster_host *host);

#endif
