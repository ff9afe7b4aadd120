/* SPDX-License-Identifier: Apache-2.0 */
/* Seeded random numbers, passed by pointer; integers only, so that every machine agrees. */
#ifndef SIM_BASE_RNG_H
#define SIM_BASE_RNG_H

#include <stdint.h>

#include "sim/base/units.h"

struct rng {
    uint64_t state[4];
};

/* Any seed is good, also 0. `stream` separates independent users of one seed. */
void rng_init(struct rng *rng, uint64_t seed, uint64_t stream);
uint64_t rng_next(struct rng *rng);
/* Uniform in [0, bound) without bias; bound > 0. */
uint64_t rng_below(struct rng *rng, uint64_t bound);
/* Exponential with the given mean, by integer arithmetic; at most about 44 means. */
simspan rng_exponential(struct rng *rng, simspan mean);
/* A stateless draw: the same (seed, stream, index) gives the same 64 bits in any order of calls. */
uint64_t rng_hash(uint64_t seed, uint64_t stream, uint64_t index);
/* The same in two parts, for many draws of one stream. */
uint64_t rng_hash_key(uint64_t seed, uint64_t stream);
uint64_t rng_hash_at(uint64_t key, uint64_t index);
/* Exponential span made from 64 random bits. */
simspan rng_exponential_from_bits(uint64_t bits, simspan mean);

#endif
