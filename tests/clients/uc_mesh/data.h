/* SPDX-License-Identifier: Apache-2.0 */
/* Inputs and results in closed form. */
#ifndef TESTS_CLIENTS_UC_MESH_DATA_H
#define TESTS_CLIENTS_UC_MESH_DATA_H

#include <stdint.h>

#include "tests/clients/uc_mesh/collective.h"

/* Element i of rank r in repetition k is (7 i + 131 r + 17 k) mod 1009: input and output as
 * collective_run expects them. */
void data_fill(const struct collective *collective, uint32_t repetition);
/* Elements of this rank's result that are not what they must be; *ret_first is the first. */
uint64_t data_check(const struct collective *collective, uint32_t repetition, uint64_t *ret_first);

#endif
