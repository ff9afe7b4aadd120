/* SPDX-License-Identifier: Apache-2.0 */
/* The memory that a run's processes share: hub, segments, arenas. */
#ifndef VERBS_SHIM_CONDUCTOR_MEMORY_H
#define VERBS_SHIM_CONDUCTOR_MEMORY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sim/base/err.h"
#include "verbs-shim/proto/proto.h"
#include "verbs-shim/sched/sched.h"

struct memory {
    uint32_t client_count;
    size_t hub_bytes;
    int hub_fd;
    int segment_fds[PROTO_CLIENTS_MAX];
    int arena_fds[PROTO_CLIENTS_MAX];
    int arena_read_fds[PROTO_CLIENTS_MAX]; /* the same files, for reading only */
    struct proto_hub *hub;
    struct sched_view view; /* view.sched points behind the hub's head and is not built yet */
};

/* Makes and maps everything for `client_count` clients; *ret may be given to memory_done either
 * way. */
bool memory_make(struct memory *ret, size_t sched_bytes, uint32_t client_count, struct err *reterr);
void memory_done(struct memory *memory);

#endif
