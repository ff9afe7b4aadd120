/* SPDX-License-Identifier: Apache-2.0 */
#ifndef VERBS_SHIM_CONDUCTOR_DEVICE_TREE_H
#define VERBS_SHIM_CONDUCTOR_DEVICE_TREE_H

#include <stdbool.h>

#include "sim/base/err.h"
#include "verbs-shim/proto/proto.h"

/* Makes what a rank finds in /sys/class/infiniband and /dev/infiniband, under `root`. */
bool device_tree_make(const char *root, const struct proto_agreed *agreed, struct err *reterr);

#endif
