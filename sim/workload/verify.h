/* SPDX-License-Identifier: Apache-2.0 */
/* Real bytes for a collective: what was sent is carried, and the result is compared. */
#ifndef SIM_WORKLOAD_VERIFY_H
#define SIM_WORKLOAD_VERIFY_H

#include <stdbool.h>
#include <stdint.h>

#include "sim/workload/plan.h"

struct verify;

/* Fills every rank's input; the largest runs are refused by verify_fits. */
bool verify_fits(const struct plan *plan);
struct verify *verify_new(const struct plan *plan);
void verify_free(struct verify *verify);
/* Fresh vectors for the next repetition. */
void verify_reset(struct verify *verify);

/* A part of a rank's vector. */
struct verify_part {
    uint32_t rank;
    uint64_t offset;
    uint64_t bytes;
};

/* Puts a message in line for the receiving lane. */
void verify_send(struct verify *verify, const struct verify_part *part, bool is_from_input,
                 uint32_t to_worker, uint32_t to_lane);
/* Takes the next message of the lane: reduces or copies it; damaged ones arrive altered. */
void verify_receive(struct verify *verify, const struct verify_part *part, uint32_t worker,
                    uint32_t lane, bool is_reduced, bool is_damaged);
/* True when every rank holds what the operation promises. */
bool verify_is_right(const struct verify *verify);

#endif
