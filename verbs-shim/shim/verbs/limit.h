/* SPDX-License-Identifier: Apache-2.0 */
/* What a device has only so many of. */
#ifndef VERBS_SHIM_SHIM_VERBS_LIMIT_H
#define VERBS_SHIM_SHIM_VERBS_LIMIT_H

#include <stdbool.h>

#include "verbs-shim/shim/verbs/objects.h"

/* Takes one, or gives it back. The processes of a Mac share its device. False: there are no more.
 */
bool limit_take(struct actor *a, const struct device *device, enum proto_limited what);
void limit_give(struct actor *a, const struct device *device, enum proto_limited what);

#endif
