/* SPDX-License-Identifier: Apache-2.0 */
/* The command line of each rank: {rank} and the like replaced. */
#ifndef VERBS_SHIM_CONDUCTOR_WORDS_H
#define VERBS_SHIM_CONDUCTOR_WORDS_H

#include <stdbool.h>
#include <stdint.h>

#include "sim/base/arena.h"
#include "sim/base/err.h"

struct words_rank {
    uint32_t rank;
    uint32_t rank_count;
    const char *const *hosts; /* [rank_count] */
};

/*
 * Replaces {rank}, {ranks}, {host}, {peerK} and {ipK} in every word; other braces stay.
 *
 * Returns: true and *ret, a NULL-terminated list in the arena;
 *          false and *reterr when K is no rank.
 */
bool words_replace(char *const *argv, const struct words_rank *rank, struct arena *arena,
                   char ***ret, struct err *reterr);

#endif
