/* SPDX-License-Identifier: Apache-2.0 */
/* Events: of completion queues through channels, and of devices. */
#ifndef VERBS_SHIM_SHIM_VERBS_CHANNEL_H
#define VERBS_SHIM_SHIM_VERBS_CHANNEL_H

#include <stdbool.h>

#include <infiniband/verbs.h>

#include "sim/base/units.h"
#include "verbs-shim/shim/actor.h"
#include "verbs-shim/shim/verbs/objects.h"

/* A descriptor that programs may poll; -1 and errno. */
int channel_make_fd(void);
void channel_close_fd(int fd);
/* The queue has a completion that is visible at `now`: its event goes to the channel if it is
 * armed. */
void channel_fire(struct cq *cq, simtime now);
/* The queue is about to go: its event is not given any more. */
void channel_forget_cq(struct cq *cq);
/* An event of a device; dropped when the program never reads them. */
void channel_async(struct actor *a, struct context *context, const struct ibv_async_event *event);
/* The object is about to go: events that name it are not given any more. */
void channel_forget(struct context *context, const void *element);
void channel_srq_limit(struct srq *srq);
/* Does the program want an error in place of waiting? */
bool channel_never_waits(int fd);
/* Makes descriptors readable whose events are due at the actor's time; *ret says what may bring
 * others. */
void channel_look(struct actor *a, struct actor_watch *ret);
/* The same while something is applied that was due at `t`: does not park. */
void channel_async_at(struct actor *a, struct context *context, const struct ibv_async_event *event,
                      simtime t);

#endif
