/* SPDX-License-Identifier: Apache-2.0 */
/* A storm of any length: frame by frame first, by the law once saturation was observed. */
#ifndef SIM_BRIDGE_HYBRID_H
#define SIM_BRIDGE_HYBRID_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sim/base/arena.h"
#include "sim/base/units.h"
#include "sim/bridge/bridge.h"

struct hybrid;

struct hybrid_config {
    struct bridge_config bridge; /* what it points to outlives the hybrid */
    bool frames_only;            /* never by the law: for comparison */
};

/* A span in which counters moved by the law. */
struct hybrid_span {
    simtime from, to;
};

/* Since the start; frames and law together. */
struct hybrid_count {
    uint64_t frames; /* of a link: that passed; of a machine: that its software took */
    uint64_t drops;
};

/* Built in the arena. */
struct hybrid *hybrid_new(struct arena *arena, const struct hybrid_config *config);
/* Moves the time to `until`, which does not lie before hybrid_now. */
void hybrid_run(struct hybrid *h, simtime until, const struct bridge_hooks *hooks);
simtime hybrid_now(const struct hybrid *h);
bool hybrid_is_fluid(const struct hybrid *h);
/* Frames that wait or are on the way. */
uint64_t hybrid_alive(const struct hybrid *h);
/* Since when there are none; only while there are none. */
simtime hybrid_quiet_since(const struct hybrid *h);
/* When a window first showed saturation; never: it did not. */
simtime hybrid_saturated_at(const struct hybrid *h);
/* A machine sends a frame of its own. While the law holds it makes no difference: everything is
 * full, and it finds room only in the place of another. False when there is no room for it. */
bool hybrid_send(struct hybrid *h, uint32_t node, const struct bridge_frame *frame);
/* Changes of the graph: what follows is frame by frame until it is saturated again. */
void hybrid_set_cable(struct hybrid *h, uint32_t cable, bool is_up);
void hybrid_set_forwarding(struct hybrid *h, uint32_t link, bool forwards);

/* What the law lets through of a link's and of a machine's frames, in thousandths; 1000 while
 * frames run. */
uint32_t hybrid_link_share(const struct hybrid *h, uint32_t ix);
uint32_t hybrid_node_share(const struct hybrid *h, uint32_t ix);

/* The cable is in and both its ends forward. */
bool hybrid_passes(const struct hybrid *h, uint32_t ix);
struct hybrid_count hybrid_link(const struct hybrid *h, uint32_t ix);
struct hybrid_count hybrid_node(const struct hybrid *h, uint32_t ix);
/* When the law held, in order; the last one is open while it holds. */
const struct hybrid_span *hybrid_spans(const struct hybrid *h, size_t *ret_count);

#endif
