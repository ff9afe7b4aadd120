/* SPDX-License-Identifier: Apache-2.0 */
/* What people read after `tbmesh run`: where each rank's time went, and what it sent to whom. */
#ifndef VERBS_SHIM_CONDUCTOR_TEXT_RUN_H
#define VERBS_SHIM_CONDUCTOR_TEXT_RUN_H

#include "sim/base/arena.h"
#include "sim/base/text.h"
#include "verbs-shim/conductor/conductor.h"

/* One line: verdict, time, hash. */
void text_print_verdict(const struct run_outcome *outcome, struct text *ret);
/* Two tables of a row a rank. Hand-overs are of this very run; the rest is the same in each. */
void text_print_ranks(const struct run_outcome *outcome, struct arena *arena, struct text *ret);

#endif
