/* SPDX-License-Identifier: Apache-2.0 */
/*
 * DOC: Link direction
 *
 * A FIFO server of frames. Flows (one hop of one queue pair) that have a frame ready stand in
 * line; the first sends one frame and, if it has more, goes to the end of the line.
 *
 * Burst: while nobody else is in line, the frames of one message leave back to back under a single
 * event, at most BURST_MAX of them. When another flow gets in line meanwhile, the burst is cut
 * short at the end of the frame that is on the wire, so the result is the one that single frames
 * give (a flow that becomes ready at the very instant a frame ends goes before the next frame of
 * the burst). The event of the old end stays in the queue and is recognised as stale by its time.
 *
 * A message whose end has been promised (fabric_foresee.c) is served to its end first.
 *
 * Wire time: a full frame takes frame_bytes at the goodput of the line; the last frame of a
 * message takes the time of its own bytes.
 */
#include <stdbool.h>
#include <stdint.h>

#include "sim/base/ids.h"
#include "sim/base/rng.h"
#include "sim/base/units.h"
#include "sim/core/engine.h"
#include "sim/core/trace.h"
#include "sim/fabric/fabric.h"
#include "sim/fabric/fabric_state.h"

#define LINE_80G UINT64_C(80000000000)
#define LINE_10G UINT64_C(10000000000)

/* Streams of rng_hash: jitter uses the queue pair's index, frames the link's above this. */
#define STREAM_LOSS    (UINT64_C(1) << 32)
#define STREAM_CORRUPT (UINT64_C(1) << 33)
#define PER_BILLION    UINT64_C(1000000000)

static inline uint32_t *next_in_line(const struct fabric *f, uint32_t flow)
{
    return &fabric_flow_qp(f, flow)->next[flow % FABRIC_HOPS_MAX];
}

/* The message whose frames leave on this hop now. */
static inline struct fabric_send *flow_message(const struct fabric *f, uint32_t flow)
{
    const struct fabric_qp *qp = fabric_flow_qp(f, flow);

    return fabric_send_slot(f, flow / FABRIC_HOPS_MAX,
                            flow % FABRIC_HOPS_MAX ? qp->forwarded : qp->head);
}

/* Bytes of `frames` frames of the flow's message, of which `left` are still to go. */
static uint32_t frames_payload(const struct fabric *f, uint32_t flow, uint32_t left,
                               uint32_t frames)
{
    const struct fabric_send *message = flow_message(f, flow);
    uint32_t full =
        fabric_flow_qp(f, flow)->kind == FABRIC_QP_IP ? f->ip_frame_bytes : f->frame_bytes;
    uint32_t start = (message->frames - left) * full;
    uint32_t end = frames == left ? message->length_bytes : start + frames * full;

    return end - start;
}

/* Wire time of the next `frames` frames. */
static simspan burst_span(const struct fabric *f, const struct fabric_link *link, uint32_t flow,
                          uint32_t frames)
{
    const struct fabric_qp *qp = fabric_flow_qp(f, flow);
    uint32_t left = qp->frames_left[flow % FABRIC_HOPS_MAX];
    simspan full = qp->kind == FABRIC_QP_IP ? link->frame_ip : link->frame_rdma;

    if (frames < left)
        return simspan_mul(full, frames);

    const struct fabric_send *message = flow_message(f, flow);
    uint32_t full_bytes = qp->kind == FABRIC_QP_IP ? f->ip_frame_bytes : f->frame_bytes;
    uint32_t last = message->length_bytes - (message->frames - 1) * full_bytes;

    if (last == full_bytes)
        return simspan_mul(full, frames);

    uint32_t header = 0;

    if (qp->kind == FABRIC_QP_IP && !link->is_ethernet)
        header = f->frame_bytes - f->ip_frame_bytes;
    return simspan_add(simspan_mul(full, frames - 1),
                       bitrate_send_span(link->goodput, (bytecount){last + header}));
}

static void add_fresh(struct fabric *f, uint32_t link_ix)
{
    struct fabric_link *links = fabric_links(f);

    links[link_ix].is_fresh = true;
    links[link_ix].next_fresh = ID_NONE;
    if (f->fresh_tail == ID_NONE)
        f->fresh_head = link_ix;
    else
        links[f->fresh_tail].next_fresh = link_ix;
    f->fresh_tail = link_ix;
}

static void link_start(struct fabric *f, uint32_t link_ix)
{
    struct fabric_link *link = &fabric_links(f)[link_ix];
    uint32_t flow = link->list_head;

    if (flow == ID_NONE || link->line.bps == 0)
        return;
    link->list_head = *next_in_line(f, flow);
    if (link->list_head == ID_NONE)
        link->list_tail = ID_NONE;

    uint32_t frames = 1;

    if ((link->list_head == ID_NONE || link->promised == flow) && flow % FABRIC_HOPS_MAX == 0 &&
        !link->to_forwarder && !f->single_frames) {
        frames = fabric_flow_qp(f, flow)->frames_left[0];
        if (frames > BURST_MAX)
            frames = BURST_MAX;
    }
    link->serving = flow;
    link->burst_frames = frames;
    link->burst_start = engine_now(fabric_clock(f));
    link->burst_end = simtime_add(link->burst_start, burst_span(f, link, flow, frames));
    engine_push(fabric_clock(f), link->burst_end, EVENT_LINK_DONE, link_ix);
    if (f->foresee && !link->is_fresh && link->promised == ID_NONE)
        add_fresh(f, link_ix);
}

static simspan serving_frame(const struct fabric *f, const struct fabric_link *link)
{
    return fabric_flow_qp(f, link->serving)->kind == FABRIC_QP_IP ? link->frame_ip
                                                                  : link->frame_rdma;
}

/* Ends the burst with the frame that is on the wire now. */
static void cut_burst_short(struct fabric *f, uint32_t link_ix)
{
    struct fabric_link *link = &fabric_links(f)[link_ix];
    int64_t full = serving_frame(f, link).ps;
    int64_t elapsed = simtime_since(engine_now(fabric_clock(f)), link->burst_start).ps;

    if (link->burst_frames == 1 || full == 0 || link->promised == link->serving)
        return;

    uint32_t frames = (uint32_t)((elapsed + full - 1) / full);

    if (frames == 0)
        frames = 1;
    if (frames >= link->burst_frames)
        return;
    link->burst_frames = frames;
    link->burst_end = simtime_add(link->burst_start, (simspan){full * (int64_t)frames});
    engine_push(fabric_clock(f), link->burst_end, EVENT_LINK_DONE, link_ix);
}

void fabric_enlist(struct fabric *f, uint32_t flow)
{
    struct fabric_qp *qp = fabric_flow_qp(f, flow);
    uint32_t hop = flow % FABRIC_HOPS_MAX;
    uint32_t link_ix = qp->link[hop];
    struct fabric_link *link = &fabric_links(f)[link_ix];

    qp->is_listed[hop] = true;
    if (link->promised == flow) { /* goes on before all others */
        qp->next[hop] = link->list_head;
        link->list_head = flow;
        if (link->list_tail == ID_NONE)
            link->list_tail = flow;
    } else {
        qp->next[hop] = ID_NONE;
        if (link->list_tail == ID_NONE)
            link->list_head = flow;
        else
            *next_in_line(f, link->list_tail) = flow;
        link->list_tail = flow;
    }
    if (link->serving == ID_NONE)
        link_start(f, link_ix);
    else
        cut_burst_short(f, link_ix);
}

void fabric_unlist(struct fabric *f, uint32_t flow)
{
    struct fabric_qp *qp = fabric_flow_qp(f, flow);
    uint32_t hop = flow % FABRIC_HOPS_MAX;
    struct fabric_link *link = &fabric_links(f)[qp->link[hop]];
    uint32_t before = ID_NONE;

    for (uint32_t i = link->list_head; i != flow; i = *next_in_line(f, i))
        before = i;
    if (before == ID_NONE)
        link->list_head = qp->next[hop];
    else
        *next_in_line(f, before) = qp->next[hop];
    if (link->list_tail == flow)
        link->list_tail = before;
    qp->is_listed[hop] = false;
}

/* Draws the fate of each frame of a burst. */
static void draw_faults(struct fabric *f, uint32_t link_ix, uint32_t frames,
                        const struct fabric_hooks *hooks)
{
    struct fabric_link *link = &fabric_links(f)[link_ix];
    struct fabric_send *message = flow_message(f, link->serving);

    if (message->flags & MESSAGE_RECV_TOLD)
        return; /* promised before the cable became faulty */
    for (uint32_t i = 0; i < frames; i++) {
        uint64_t frame = link->counters.frames + i;
        bool lost = rng_hash(f->seed, STREAM_LOSS + link_ix, frame) % PER_BILLION < link->loss_ppb;
        bool corrupt =
            rng_hash(f->seed, STREAM_CORRUPT + link_ix, frame) % PER_BILLION < link->corrupt_ppb;

        if (!lost && !corrupt)
            continue;
        message->lost += lost;
        message->corrupted += !lost;
        link->counters.lost += lost;
        link->counters.corrupted += !lost;
        if (hooks->trace && hooks->trace->frame_fault)
            hooks->trace->frame_fault(hooks->trace->ctx, (link_id){link_ix},
                                      (qp_id){link->serving / FABRIC_HOPS_MAX},
                                      engine_now(fabric_clock(f)), lost);
    }
}

/* Books `frames` frames of the flow on the wire, which have left by now. */
static void account(struct fabric *f, uint32_t link_ix, uint32_t frames,
                    const struct fabric_hooks *hooks)
{
    struct fabric_link *link = &fabric_links(f)[link_ix];
    uint32_t flow = link->serving;
    uint32_t left = fabric_flow_qp(f, flow)->frames_left[flow % FABRIC_HOPS_MAX];
    uint32_t payload = frames_payload(f, flow, left, frames);
    simtime now = engine_now(fabric_clock(f));

    if (link->loss_ppb | link->corrupt_ppb)
        draw_faults(f, link_ix, frames - link->is_broken, hooks);
    link->is_broken = false;
    link->counters.frames += frames;
    link->counters.payload_bytes += payload;
    link->counters.busy = simspan_add(link->counters.busy, simtime_since(now, link->burst_start));
    if (hooks->trace && hooks->trace->link_busy)
        hooks->trace->link_busy(hooks->trace->ctx, (link_id){link_ix},
                                (qp_id){flow / FABRIC_HOPS_MAX}, link->burst_start, now, frames,
                                (bytecount){payload});
}

void fabric_link_done(struct fabric *f, uint32_t link_ix, simtime at,
                      const struct fabric_hooks *hooks)
{
    struct fabric_link *link = &fabric_links(f)[link_ix];
    uint32_t flow = link->serving;

    if (flow == ID_NONE || at.ps != link->burst_end.ps)
        return; /* the old end of a burst that was cut short */

    uint32_t frames = link->burst_frames;

    account(f, link_ix, frames, hooks);
    /* From here on the link is free; the flow is off the list until it gets in line again. The
     * start comes before the completions, whose receivers may post at once. */
    link->serving = ID_NONE;
    link->burst_frames = 0;
    fabric_flow_qp(f, flow)->is_listed[flow % FABRIC_HOPS_MAX] = false;
    fabric_frames_left(f, flow, frames, hooks);
}

/* Frames of the burst that are through when the line changes at `now`; one more is on the wire. */
static uint32_t frames_through(const struct fabric *f, const struct fabric_link *link, simtime now)
{
    int64_t full = serving_frame(f, link).ps;
    int64_t done = full ? simtime_since(now, link->burst_start).ps / full : 0;

    return done >= link->burst_frames ? link->burst_frames - 1 : (uint32_t)done;
}

/* The cable is pulled in the middle of a burst: the frame on the wire is lost. */
static void break_burst(struct fabric *f, uint32_t link_ix)
{
    struct fabric_link *link = &fabric_links(f)[link_ix];
    uint32_t flow = link->serving;
    uint32_t through = frames_through(f, link, engine_now(fabric_clock(f)));

    link->counters.lost++;
    flow_message(f, flow)->lost++;
    link->is_broken = true;
    /* The burst ends here and now; its end is booked by the event, once, like any other. */
    link->burst_frames = through + 1;
    link->burst_end = engine_now(fabric_clock(f));
    engine_push(fabric_clock(f), link->burst_end, EVENT_LINK_DONE, link_ix);
}

void fabric_set_link_rate(struct fabric *f, uint32_t link_ix, bitrate line)
{
    struct fabric_link *link = &fabric_links(f)[link_ix];
    bool was_cut = link->line.bps == 0;
    bitrate base = link->is_ethernet ? f->goodput_10g : f->goodput_80g;
    uint64_t nominal = link->is_ethernet ? LINE_10G : LINE_80G;

    if (line.bps == link->line.bps && !was_cut)
        return;
    if (link->serving != ID_NONE) {
        if (line.bps == 0)
            break_burst(f, link_ix);
        else
            cut_burst_short(f, link_ix);
    }
    link->line = line;
    if (line.bps == 0)
        return;
    link->goodput.bps = (uint64_t)((u128)base.bps * line.bps / nominal);
    if (link->goodput.bps == 0)
        link->goodput.bps = 1;
    link->frame_rdma = bitrate_send_span(link->goodput, (bytecount){f->frame_bytes});
    link->frame_ip = bitrate_send_span(
        link->goodput, (bytecount){link->is_ethernet ? f->ip_frame_bytes : f->frame_bytes});
    if (was_cut && link->serving == ID_NONE)
        link_start(f, link_ix);
}

void fabric_link_resume(struct fabric *f, uint32_t link_ix)
{
    if (fabric_links(f)[link_ix].serving == ID_NONE)
        link_start(f, link_ix);
}
