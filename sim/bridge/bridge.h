/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Learning bridges joined by cables, frame by frame.
 *
 * One block of memory, given by the caller, holds everything and refers by offset only, so that a
 * copy of it is a snapshot: what-if runs start from one. The driver owns sources, timers and every
 * other event; here only frames move.
 */
#ifndef SIM_BRIDGE_BRIDGE_H
#define SIM_BRIDGE_BRIDGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sim/base/units.h"
#include "sim/core/evq.h"

struct bridge;

/* The destination of a frame for everybody. */
#define BRIDGE_TO_ALL UINT32_MAX

/* One machine with its ports. */
struct bridge_node_config {
    bool is_bridge;        /* forwards between its member ports; otherwise frames end here */
    uint64_t forward_rate; /* frames a second that its software takes in; 0: hardware, no limit */
    uint32_t backlog;      /* frames that wait for the software at most; not 0 with forward_rate */
};

/* A cable: two directed links, 2 * index from a to b and 2 * index + 1 back. */
struct bridge_cable_config {
    uint32_t a, b; /* nodes */
    bool a_is_member, b_is_member;
    bitrate rate_ab, rate_ba;
    simspan latency; /* last bit out to the frame in the hands of the other machine */
};

struct bridge_config {
    const struct bridge_node_config *nodes;
    uint32_t node_count;
    const struct bridge_cable_config *cables;
    uint32_t cable_count;
    uint32_t queue;  /* frames that wait in a port behind the one on the wire; 1..65536 */
    simspan age;     /* an address that was not seen for so long is forgotten */
    bytecount frame; /* the smallest that is sent: bounds what a cable holds */
    bytecount largest;
    uint32_t frame_ids; /* different frames alive at once */
    uint64_t seed;
    enum evq_kind evq;
};

/* What circulates. Copies share one. */
struct bridge_frame {
    uint32_t from; /* node whose address is the source */
    uint32_t to;   /* node or BRIDGE_TO_ALL */
    bytecount size;
    uint32_t kind; /* the driver's */
    uint32_t tag;  /* the driver's */
};

struct bridge_hooks {
    void *ctx; /* borrowed */
    /* A copy reached a machine that is meant: the target, or each machine for a broadcast. May be
     * NULL. */
    void (*heard)(void *ctx, uint32_t node, const struct bridge_frame *frame);
};

/* Since the start, of a link or of a machine's software. */
struct bridge_count {
    uint64_t frames; /* that the far machine received, or that the software took */
    uint64_t bytes;  /* of these; links only */
    uint64_t drops;  /* no room in the queue or in the backlog */
    int64_t idle_ps; /* time with nothing to do, up to the last frame accepted */
};

size_t bridge_mem_size(const struct bridge_config *config);
/* Builds the bridges in mem (aligned to 64 bytes, bridge_mem_size bytes, zeroed). */
struct bridge *bridge_init(void *mem, const struct bridge_config *config);
struct engine *bridge_engine(struct bridge *b);

/* A machine sends a frame of its own: for everybody out of every member port that forwards, for
 * one out of the port where its address was seen, or of all. False when frame_ids are used up. */
bool bridge_send(struct bridge *b, uint32_t node, const struct bridge_frame *frame);
/* Moves all frames until `until`. */
void bridge_run(struct bridge *b, simtime until, const struct bridge_hooks *hooks);
/* Lets time pass that the frames do not see: they stay where they are, addresses age. */
void bridge_skip(struct bridge *b, simspan span);

/* Frames that wait, are on a cable or in a backlog. */
uint64_t bridge_alive(const struct bridge *b);
/* Since when there are none; the engine's time, 0 before the first. Only while there are none. */
simtime bridge_quiet_since(const struct bridge *b);
uint32_t bridge_link_count_of(const struct bridge *b);
/* Counters, and what serves: true while a frame is on the wire or in the software's hands. */
bool bridge_link_is_busy(const struct bridge *b, uint32_t link);
bool bridge_node_is_busy(const struct bridge *b, uint32_t node);
const struct bridge_count *bridge_link(const struct bridge *b, uint32_t link);
const struct bridge_count *bridge_node(const struct bridge *b, uint32_t node);

/* What the graph says: two ends of a link. */
struct bridge_link_ends {
    uint32_t from, to; /* nodes */
};
struct bridge_link_ends bridge_link_ends(const struct bridge *b, uint32_t link);

/* Changes at the present instant. What is on a cable that is pulled is lost. A cable is pulled at
 * most three times within the time that a frame spends on it. */
void bridge_set_cable(struct bridge *b, uint32_t cable, bool is_up);
/* Whether the port at the sending end of a link forwards: false for one that spanning tree blocks,
 * that is disabled or that is no member any more. Queued frames stay. */
void bridge_set_forwarding(struct bridge *b, uint32_t link, bool forwards);
bool bridge_is_forwarding(const struct bridge *b, uint32_t link);
bool bridge_is_up(const struct bridge *b, uint32_t cable);

#endif
