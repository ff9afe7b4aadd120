/* SPDX-License-Identifier: Apache-2.0 */
/* What each rank is told of its Mac: devices, addresses, limits, costs. */
#ifndef VERBS_SHIM_CONDUCTOR_AGREED_H
#define VERBS_SHIM_CONDUCTOR_AGREED_H

#include <stdbool.h>
#include <stdint.h>

#include "sim/base/arena.h"
#include "sim/base/err.h"
#include "sim/base/ids.h"
#include "sim/fabric/cluster.h"
#include "sim/fabric/param.h"
#include "sim/scenario/quirk.h"
#include "sim/scenario/scenario.h"
#include "verbs-shim/conductor/conductor.h"
#include "verbs-shim/proto/proto.h"

/*
 * Fills what every process of a rank is told; `client` stays 0.
 *
 * Shape: hosts[options->ranks]: the computer of each rank.
 */
void agreed_fill(const struct scenario *scenario, const struct conductor_options *options,
                 const host_id *hosts, uint32_t rank, struct proto_agreed *ret);

/* Does every port's name make a device's, in full and so unlike any other? */
bool agreed_check_names(const struct cluster_host *host, struct err *reterr);

/* Why the Mac has no device; NULL: it has. */
const char *agreed_why_no_device(const struct cluster_host *host, const struct quirks *quirks,
                                 struct arena *arena);

/* The parameter that says what a call costs. */
enum param_id agreed_charge_source(enum proto_charge charge);

#endif
