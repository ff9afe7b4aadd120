/* SPDX-License-Identifier: Apache-2.0 */
/* What MLX reads: a JACCL device matrix, and host files for mlx.launch. */
#ifndef SIM_REPORT_EXPORT_MLX_H
#define SIM_REPORT_EXPORT_MLX_H

#include <stdbool.h>
#include <stdint.h>

#include "sim/base/arena.h"
#include "sim/base/err.h"
#include "sim/base/text.h"
#include "sim/fabric/cluster.h"
#include "sim/plan/check.h"

enum export_shape {
    EXPORT_AUTO, /* a mesh when every pair is cabled, else a ring */
    EXPORT_MESH,
    EXPORT_RING,
};

struct export_request {
    enum export_shape shape;
    uint32_t wires; /* of a ring; 0: as many as all neighbours have, at most 4 */
};

/*
 * Builds the matrix of all Macs of a cluster: one name a cell in a mesh; in a ring one name or,
 * with several wires, a list, where wire k is one cable at both ends. Whether RDMA is enabled on a
 * Mac does not matter here, its cables do.
 *
 * Returns:  true and *ret, in the arena; ret->prefers_ring says which shape it is.
 * Errors:   ERR_CONFLICT with the Mac or the pair that stands in the way.
 */
bool export_matrix(const struct cluster *cluster, const struct export_request *request,
                   struct arena *arena, struct check_matrix *ret, struct err *reterr);

/* The matrix as JSON, for JACCL_IBV_DEVICES. */
void export_matrix_json(const struct check_matrix *matrix, struct text *ret);

/*
 * A host file for mlx.launch --backend jaccl or jaccl-ring.
 *
 * ips: [host_count] addresses that all ranks can reach, such as en0's; NULL, or NULL for one host:
 *      an address of the documentation range 192.0.2.0/24 stands in and has to be replaced.
 */
void export_hosts_json(const struct check_matrix *matrix, const struct cluster *cluster,
                       const char *const *ips, struct text *ret);

/* A host file for mlx.launch --backend ring over TCP: each rank's addresses on its cables to the
 * rank before it. Any cables between neighbours will do. */
bool export_tcp_ring_json(const struct cluster *cluster, struct arena *arena, struct text *ret,
                          struct err *reterr);

/* Appends a JSON string with its quotes. */
void export_json_text(struct text *ret, const char *text);

#endif
