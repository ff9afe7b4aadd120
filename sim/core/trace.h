/* SPDX-License-Identifier: Apache-2.0 */
/* The only way out of the engine: callbacks that the driver may set. All may be NULL. */
#ifndef SIM_CORE_TRACE_H
#define SIM_CORE_TRACE_H

#include <stdint.h>

#include "sim/base/ids.h"
#include "sim/base/units.h"

struct trace {
    void *ctx; /* borrowed, passed back */
    /* A link direction was busy from `from` to `to` with `frames` frames of `payload` bytes of one
     * queue pair; called when the burst ends, in order of `to`. */
    void (*link_busy)(void *ctx, link_id link, qp_id qp, simtime from, simtime to, uint64_t frames,
                      bytecount payload);
    /* A frame was lost or arrived damaged. */
    void (*frame_fault)(void *ctx, link_id link, qp_id qp, simtime at, uint32_t was_lost);
    /* A cable changed: rate 0 means cut. */
    void (*cable_state)(void *ctx, cable_id cable, simtime at, bitrate forward, bitrate reverse);
};

#endif
