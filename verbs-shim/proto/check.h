/* SPDX-License-Identifier: Apache-2.0 */
/* Checks of what another process wrote. Copy an entry out of shared memory first, then check the
 * copy: the other side may still be writing. */
#ifndef VERBS_SHIM_PROTO_CHECK_H
#define VERBS_SHIM_PROTO_CHECK_H

#include <stdbool.h>
#include <stdint.h>

#include "verbs-shim/proto/proto.h"

/* A command from `client`'s ring. Queue pair and work request are for the scheduler to look up. */
bool proto_command_is_sane(const struct proto_command *command, uint32_t client);
bool proto_event_is_sane(const struct proto_event *event);
/* What an actor says when it parks. */
bool proto_park_is_sane(const struct proto_chan *chan);

#endif
