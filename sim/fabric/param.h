/* SPDX-License-Identifier: Apache-2.0 */
/* The model's parameters: one table of names and units; the values live in models/. */
#ifndef SIM_FABRIC_PARAM_H
#define SIM_FABRIC_PARAM_H

#include <stdbool.h>
#include <stdint.h>

#include "sim/base/units.h"

enum param_unit {
    PARAM_UNIT_SPAN,  /* value in picoseconds */
    PARAM_UNIT_RATE,  /* value in bits a second */
    PARAM_UNIT_SIZE,  /* value in bytes */
    PARAM_UNIT_COUNT, /* a plain number */
};

/* How a value is known. The words are printed. */
enum param_label {
    PARAM_MEASURED, /* somebody measured this very quantity */
    PARAM_FITTED,   /* by `tbmesh calibrate` from models/measurements */
    PARAM_DERIVED,  /* arithmetic from a specification or from other measurements */
    PARAM_ASSUMED,  /* nobody knows; the range says how far off it may be */
    PARAM_USER,     /* set by the scenario or on the command line */
};

/*
 * What a simulation rests on.
 * X(identifier, name, unit, what it is). The order is the order of every printed list.
 * Rates of links are payload (goodput) for an 80 Gb/s direction; other line rates scale.
 */
#define PARAM_SIM_LIST(X)                                                                      \
    X(RDMA_GOODPUT, "rdma.goodput", PARAM_UNIT_RATE,                                           \
      "payload a TB5 direction of 80 Gb/s carries; other line rates scale with it")            \
    X(RDMA_LATENCY, "rdma.latency", PARAM_UNIT_SPAN,                                           \
      "last bit on the cable to completion visible at the receiver, mean jitter not included") \
    X(RDMA_JITTER, "rdma.jitter", PARAM_UNIT_SPAN,                                             \
      "mean of the exponential delay added to each completion")                                \
    X(RDMA_POST_SEND, "rdma.post_send", PARAM_UNIT_SPAN, "CPU time of one ibv_post_send")      \
    X(RDMA_POST_RECV, "rdma.post_recv", PARAM_UNIT_SPAN, "CPU time of one ibv_post_recv")      \
    X(RDMA_POLL, "rdma.poll", PARAM_UNIT_SPAN, "CPU time to poll and handle one completion")   \
    X(RDMA_CREDIT_LATENCY, "rdma.credit_latency", PARAM_UNIT_SPAN,                             \
      "time until a sender knows of a posted receive")                                         \
    X(RDMA_FRAME, "rdma.frame", PARAM_UNIT_SIZE, "bytes in one frame")                         \
    X(RDMA_QUEUE_FRAMES, "rdma.queue_frames", PARAM_UNIT_COUNT,                                \
      "frames that one queue of a queue pair may hold")                                        \
    X(CABLE_PROPAGATION, "cable.propagation", PARAM_UNIT_SPAN, "delay of one metre of cable")  \
    X(HUB_LATENCY, "hub.latency", PARAM_UNIT_SPAN,                                             \
      "delay of a Thunderbolt hub, a frame at a time")                                         \
    X(GPU_HANDOFF_FAST, "gpu.handoff_fast", PARAM_UNIT_SPAN,                                   \
      "GPU to CPU and back around one collective, MLX_METAL_FAST_SYNCH=1")                     \
    X(GPU_HANDOFF_SLOW, "gpu.handoff_slow", PARAM_UNIT_SPAN,                                   \
      "GPU to CPU and back around one collective, without fast synchronisation")               \
    X(GPU_COPY, "gpu.copy", PARAM_UNIT_RATE,                                                   \
      "copy of the vector across the GPU boundary, each way")                                  \
    X(STORAGE_RATE, "storage.rate", PARAM_UNIT_RATE,                                           \
      "file reads or writes around a copy of a file")                                          \
    X(IP_STACK_DIRECTION, "ip.stack_direction", PARAM_UNIT_RATE,                               \
      "what one direction of one interface's IP stack handles")                                \
    X(IP_STACK_PORT, "ip.stack_port", PARAM_UNIT_RATE,                                         \
      "what one interface's IP stack handles, both directions added")                          \
    X(IP_STACK_HOST, "ip.stack_host", PARAM_UNIT_RATE,                                         \
      "what a Mac's IP stack handles over all interfaces, both directions added")              \
    X(IP_LATENCY, "ip.latency", PARAM_UNIT_SPAN,                                               \
      "one way through both stacks while the receiver is awake, wire not included")            \
    X(IP_IDLE_WAKEUP, "ip.idle_wakeup", PARAM_UNIT_SPAN,                                       \
      "added to a packet that meets a sleeping receiver: interrupt moderation and wake-up")    \
    X(IP_FRAME_HEADER, "ip.frame_header", PARAM_UNIT_SIZE,                                     \
      "bytes of each 4 KiB frame that IP over Thunderbolt spends on its header")               \
    X(IP_SEGMENT, "ip.segment", PARAM_UNIT_SIZE, "largest piece handed to an interface (TSO)") \
    X(IP_WINDOW, "ip.window", PARAM_UNIT_COUNT, "segments of one connection in flight")        \
    X(ETHERNET_10G_GOODPUT, "ethernet.10g_goodput", PARAM_UNIT_RATE,                           \
      "TCP payload of a 10 Gb/s Ethernet port")

/*
 * What an emulated program's calls cost beside rdma.post_send, rdma.post_recv and rdma.poll. Only
 * `tbmesh run` has a use for them.
 */
#define PARAM_RUN_LIST(X)                                                                         \
    X(CPU_POLL_EMPTY, "cpu.poll_empty", PARAM_UNIT_SPAN, "CPU time of a poll that finds nothing") \
    X(CPU_POST_MORE, "cpu.post_more", PARAM_UNIT_SPAN,                                            \
      "CPU time of each further work request in one post")                                        \
    X(CPU_CLOCK, "cpu.clock", PARAM_UNIT_SPAN, "CPU time of reading a clock or counter")          \
    X(CPU_REG_MR, "cpu.reg_mr", PARAM_UNIT_SPAN, "CPU time of registering memory, pages apart")   \
    X(CPU_REG_PAGE, "cpu.reg_page", PARAM_UNIT_SPAN, "CPU time of registering one page")          \
    X(CPU_OBJECT, "cpu.object", PARAM_UNIT_SPAN,                                                  \
      "CPU time of making, changing or destroying a verbs object")                                \
    X(CPU_VERB, "cpu.verb", PARAM_UNIT_SPAN, "CPU time of any other verbs call")                  \
    X(CPU_SOCKET, "cpu.socket", PARAM_UNIT_SPAN, "CPU time of a call on a socket or file")        \
    X(CPU_SYNC, "cpu.sync", PARAM_UNIT_SPAN, "CPU time of a lock, a wake-up or a new thread")     \
    X(SIDE_LATENCY, "side.latency", PARAM_UNIT_SPAN,                                              \
      "one way over a program's own sockets, as its side channel")

#define PARAM_LIST(X) \
    PARAM_SIM_LIST(X) \
    PARAM_RUN_LIST(X)

enum param_id {
#define PARAM_ENUM(id, name, unit, what) PARAM_##id,
    PARAM_LIST(PARAM_ENUM)
#undef PARAM_ENUM
    PARAM_COUNT
};

struct param_value {
    int64_t value; /* in the unit of param_unit_of() */
    int64_t low;   /* believed range, same unit; low == high == value when exact */
    int64_t high;
    enum param_label label;
    bool is_set;
    const char *source; /* borrowed; "file, who, when" */
    const char *date;   /* borrowed; ISO date of the source */
};

struct param_set {
    struct param_value v[PARAM_COUNT];
};

/* True for what only an emulated program's calls cost. */
static inline bool param_is_of_run(enum param_id id)
{
    return id >= PARAM_CPU_POLL_EMPTY;
}

const char *param_name(enum param_id id);
const char *param_what(enum param_id id);
enum param_unit param_unit_of(enum param_id id);
/* "ps", "bit/s", "B" or "". */
const char *param_unit_text(enum param_unit unit);
const char *param_label_text(enum param_label label);
/* The parameter of that name; PARAM_COUNT when there is none. */
enum param_id param_find(const char *name);

static inline simspan param_span(const struct param_set *set, enum param_id id)
{
    return (simspan){set->v[id].value};
}

static inline bitrate param_rate(const struct param_set *set, enum param_id id)
{
    return (bitrate){(uint64_t)set->v[id].value};
}

static inline bytecount param_size(const struct param_set *set, enum param_id id)
{
    return (bytecount){(uint64_t)set->v[id].value};
}

#endif
