/* SPDX-License-Identifier: Apache-2.0 */
/* Taking completions out, and their bytes. */
#ifndef VERBS_SHIM_SHIM_VERBS_POLL_H
#define VERBS_SHIM_SHIM_VERBS_POLL_H

#include <infiniband/verbs.h>

#include "verbs-shim/shim/actor.h"
#include "verbs-shim/shim/verbs/objects.h"

int poll_cq(struct ibv_cq *ibv, int num_entries, struct ibv_wc *wc);

/* Books what the scheduler has told meanwhile. */
void poll_take_events(void);
/* Books one event. */
void poll_on_event(const struct proto_event *event);
/* Copies the bytes into the scatter list. `is_late`: not at a poll, and the program may have given
 * memory back, which a real device still has pinned. Returns the status of the completion. */
enum ibv_wc_status poll_scatter(const struct pd *pd, const struct work *work,
                                struct proto_event *event, bool is_late);
/* As arena_take, which may find room in what peers have given back meanwhile. */
void *poll_take_slot(uint64_t bytes, uint64_t *ret_slot);
/* Moves the bytes of all completions that have arrived by now into the program's memory, as a real
 * device would have: before something goes that the move would need. */
void poll_deliver_arrived(struct actor *a);

#endif
