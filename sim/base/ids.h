/* SPDX-License-Identifier: Apache-2.0 */
/* Indexes into the fabric's tables, one type each. */
#ifndef SIM_BASE_IDS_H
#define SIM_BASE_IDS_H

#include <stdint.h>

/* No object: valid for every index type below. */
#define ID_NONE UINT32_MAX

typedef struct {
    uint32_t ix;
} host_id;

typedef struct {
    uint32_t ix;
} cable_id;

/* One direction of one hop of a cable. */
typedef struct {
    uint32_t ix;
} link_id;

typedef struct {
    uint32_t ix;
} qp_id;

#endif
