/* SPDX-License-Identifier: Apache-2.0 */
/* The device matrix: which device of rank r leads to rank c. */
#ifndef TESTS_CLIENTS_UC_MESH_MATRIX_H
#define TESTS_CLIENTS_UC_MESH_MATRIX_H

#include <stdbool.h>
#include <stddef.h>

#include "tests/clients/uc_mesh/fault.h"

#define MATRIX_RANK_MAX 8U
#define MATRIX_WIRE_MAX 4U
#define MATRIX_NAME_MAX 32U

struct matrix_cell {
    unsigned count; /* 0: null */
    char names[MATRIX_WIRE_MAX][MATRIX_NAME_MAX];
};

struct matrix {
    unsigned ranks;
    struct matrix_cell cells[MATRIX_RANK_MAX][MATRIX_RANK_MAX]; /* [from][to] */
};

/* Reads `length` bytes of JSON: an array of n arrays of n cells, a cell null, "name" or ["name",
 * ...]. Anything else is a fault that names the place. */
bool matrix_parse(const char *text, size_t length, struct matrix *ret, struct fault *fault);
bool matrix_load(const char *path, struct matrix *ret, struct fault *fault);

/* Whether every pair has a device. */
bool matrix_is_mesh(const struct matrix *matrix, struct fault *fault);
/* Whether every rank has `wires` devices to both neighbours; wires 0: as many as cell 0,1. */
bool matrix_is_ring(const struct matrix *matrix, unsigned wires, unsigned *ret_wires,
                    struct fault *fault);

#endif
