/* SPDX-License-Identifier: Apache-2.0 */
/*
 * DOC: Limits that processes share
 *
 * A Mac's devices have few queue pairs, regions, domains and completion queues, and whatever runs
 * on it shares them, so the scheduler counts, in order of time, and takes back what a process had
 * when it ends. Devices of the profile `verbs` have more than anybody asks for: each process
 * counts for itself.
 */
#include "verbs-shim/shim/verbs/limit.h"

static int ask(struct actor *a, const struct device *device, enum proto_limited what, bool is_back)
{
    const union proto_call_args args = {
        .limited = {.device = device->index, .what = (uint32_t)what, .is_back = is_back}};

    if (library_now()->agreed->profile != PROTO_APPLE)
        return 0;
    return actor_call(a, PROTO_CALL_LIMITED, &args, NULL);
}

bool limit_take(struct actor *a, const struct device *device, enum proto_limited what)
{
    return ask(a, device, what, false) == 0;
}

void limit_give(struct actor *a, const struct device *device, enum proto_limited what)
{
    (void)ask(a, device, what, true);
}
