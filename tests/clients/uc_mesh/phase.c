/* SPDX-License-Identifier: Apache-2.0 */
/*
 * DOC: A phase
 *
 * All streams of a phase carry the same number of messages of one buffer class. Of each stream two
 * messages are outstanding, one a buffer. Receives of a buffer are posted before sends, so that a
 * symmetric peer rarely finds a send waiting; nothing depends on it. Completions are polled without
 * a pause, as JACCL does it.
 *
 * wr_id: bits 48-63 number of the phase, 40-47 stream, 0-39 message. It is unique for as long as
 * 65,536 phases, so a completion that comes twice, late or out of order is noticed.
 *
 * Invariants: taken <= done <= posted <= taken + 2 for a receive, done <= posted <= done + 2 for
 * a send.
 */
#include "tests/clients/uc_mesh/phase.h"

#include <string.h>

#define MESSAGE_BITS 40U
#define STREAM_BITS  8U
#define POLL_BATCH   4

void phase_cut(struct phase *phase, uint64_t slice, unsigned class_max)
{
    unsigned size_class = 0;
    uint64_t size;

    while (size_class < class_max && wire_class_bytes(size_class + 1) <= slice)
        size_class++;
    size = wire_class_bytes(size_class);
    phase->size_class = size_class;
    phase->messages = slice == 0 ? 1 : (slice + size - 1) / size;
}

struct stream *phase_add(struct phase *phase, struct wire *wire, bool is_send, char *base,
                         uint64_t bytes)
{
    struct stream *stream = &phase->streams[phase->stream_count++];

    *stream = (struct stream){.wire = wire, .is_send = is_send, .base = base, .bytes = bytes};
    return stream;
}

/* Place and payload of message m of a stream; the last ones may carry less or nothing. */
static char *locate(const struct phase *phase, const struct stream *stream, uint64_t m,
                    uint64_t *ret_bytes)
{
    uint64_t size = wire_class_bytes(phase->size_class);
    uint64_t begin = m * size;

    if (begin >= stream->bytes)
        *ret_bytes = 0;
    else
        *ret_bytes = stream->bytes - begin < size ? stream->bytes - begin : size;
    return *ret_bytes ? stream->base + begin : stream->base;
}

static void add(char *to, const char *from, uint64_t bytes, enum dtype dtype)
{
    for (uint64_t i = 0; i < bytes; i += DTYPE_BYTES) {
        if (dtype == DTYPE_FLOAT32) {
            float a;
            float b;

            memcpy(&a, to + i, sizeof a);
            memcpy(&b, from + i, sizeof b);
            a += b;
            memcpy(to + i, &a, sizeof a);
        } else {
            uint32_t a;
            uint32_t b;

            memcpy(&a, to + i, sizeof a);
            memcpy(&b, from + i, sizeof b);
            a += b;
            memcpy(to + i, &a, sizeof a);
        }
    }
}

static bool post(struct phase *phase, struct stream *stream, struct fault *fault)
{
    uint64_t index = (uint64_t)(stream - phase->streams);
    uint64_t id = (uint64_t)(phase->number & 0xffff) << (MESSAGE_BITS + STREAM_BITS) |
                  index << MESSAGE_BITS | stream->posted;
    unsigned slot = (unsigned)(stream->posted % WIRE_DEPTH);
    enum wire_use use = WIRE_RECV;

    if (stream->is_send)
        use = phase->is_shared_send ? WIRE_SHARED : WIRE_SEND;
    stream->posted++;
    return wire_post(stream->wire, use, phase->size_class, slot, id, fault);
}

/* Fills the buffer of the next send; a shared one once for all streams. */
static void stage(struct phase *phase, const struct stream *stream)
{
    unsigned slot = (unsigned)(stream->posted % WIRE_DEPTH);
    enum wire_use use = phase->is_shared_send ? WIRE_SHARED : WIRE_SEND;
    uint64_t bytes;
    const char *from = locate(phase, stream, stream->posted, &bytes);

    if (phase->is_shared_send && phase->staged > stream->posted)
        return;
    phase->staged = stream->posted + 1;
    if (bytes)
        memcpy(wire_buffer(stream->wire, use, phase->size_class, slot), from, (size_t)bytes);
}

/* Message numbers below this have a free buffer. */
static uint64_t send_limit(const struct phase *phase, const struct stream *stream)
{
    uint64_t done = stream->done;

    for (unsigned i = 0; phase->is_shared_send && i < phase->stream_count; i++) {
        if (phase->streams[i].is_send && phase->streams[i].done < done)
            done = phase->streams[i].done;
    }
    return done + WIRE_DEPTH;
}

/* Posts the sends below `limit` that have a free buffer. */
static bool send_next(struct phase *phase, uint64_t limit, struct fault *fault)
{
    for (unsigned i = 0; i < phase->stream_count; i++) {
        struct stream *stream = &phase->streams[i];
        uint64_t end = send_limit(phase, stream);

        while (stream->is_send && stream->posted < limit && stream->posted < end) {
            stage(phase, stream);
            if (!post(phase, stream, fault))
                return false;
        }
    }
    return true;
}

/* Message stream->taken goes to the vector, its buffer back to the queue. */
static bool take(struct phase *phase, struct stream *stream, struct fault *fault)
{
    unsigned slot = (unsigned)(stream->taken % WIRE_DEPTH);
    const char *from = wire_buffer(stream->wire, WIRE_RECV, phase->size_class, slot);
    uint64_t bytes;
    char *to = locate(phase, stream, stream->taken, &bytes);

    stream->taken++;
    if (bytes && stream->is_added)
        add(to, from, bytes, phase->dtype);
    else if (bytes)
        memcpy(to, from, (size_t)bytes);
    return stream->posted >= phase->messages || post(phase, stream, fault);
}

/* How far all receives have come. */
static uint64_t common_done(const struct phase *phase)
{
    uint64_t least = UINT64_MAX;

    for (unsigned i = 0; i < phase->stream_count; i++) {
        if (!phase->streams[i].is_send && phase->streams[i].done < least)
            least = phase->streams[i].done;
    }
    return least;
}

static bool take_arrived(struct phase *phase, struct fault *fault)
{
    uint64_t limit = phase->is_ordered ? common_done(phase) : UINT64_MAX;

    for (unsigned i = 0; i < phase->stream_count; i++) {
        struct stream *stream = &phase->streams[i];

        while (!stream->is_send && stream->taken < stream->done && stream->taken < limit) {
            if (!take(phase, stream, fault))
                return false;
        }
    }
    return true;
}

static bool complete(struct phase *phase, const struct wire *wire, const struct ibv_wc *wc,
                     struct fault *fault)
{
    unsigned number = (unsigned)(wc->wr_id >> (MESSAGE_BITS + STREAM_BITS));
    unsigned index = (unsigned)(wc->wr_id >> MESSAGE_BITS & ((1U << STREAM_BITS) - 1));
    uint64_t message = wc->wr_id & ((UINT64_C(1) << MESSAGE_BITS) - 1);
    struct stream *stream = index < phase->stream_count ? &phase->streams[index] : NULL;

    if (wc->status != IBV_WC_SUCCESS)
        return fault_set(fault, "completion with status %d on %s, wr_id 0x%llx", (int)wc->status,
                         wire->device, (unsigned long long)wc->wr_id);
    if (!stream || number != (phase->number & 0xffff) || message != stream->done ||
        stream->done == stream->posted || stream->wire != wire)
        return fault_set(fault, "completion that nobody waits for on %s, wr_id 0x%llx",
                         wire->device, (unsigned long long)wc->wr_id);
    if (!stream->is_send && wc->byte_len != wire_class_bytes(phase->size_class))
        return fault_set(fault, "received %u B instead of %llu on %s", wc->byte_len,
                         (unsigned long long)wire_class_bytes(phase->size_class), wire->device);
    stream->done++;
    return true;
}

/* The streams of one wire share a queue: polls it at the first of them. */
static bool is_first_of_wire(const struct phase *phase, unsigned index)
{
    for (unsigned i = 0; i < index; i++) {
        if (phase->streams[i].wire == phase->streams[index].wire)
            return false;
    }
    return true;
}

/* One walk over the queues. */
static bool poll(struct phase *phase, struct fault *fault)
{
    for (unsigned i = 0; i < phase->stream_count; i++) {
        struct wire *wire = phase->streams[i].wire;
        struct ibv_wc done[POLL_BATCH];
        int count;

        if (!is_first_of_wire(phase, i))
            continue;
        count = ibv_poll_cq(wire->cq, POLL_BATCH, done);
        if (count < 0)
            return fault_set(fault, "ibv_poll_cq on %s: %d", wire->device, count);
        for (int k = 0; k < count; k++) {
            if (!complete(phase, wire, &done[k], fault))
                return false;
        }
        if (count > 0 && (!take_arrived(phase, fault) || !send_next(phase, phase->messages, fault)))
            return false;
    }
    return true;
}

static bool is_finished(const struct phase *phase)
{
    for (unsigned i = 0; i < phase->stream_count; i++) {
        if (phase->streams[i].done < phase->messages)
            return false;
    }
    return true;
}

bool phase_run(struct phase *phase, struct fault *fault)
{
    for (unsigned slot = 0; slot < WIRE_DEPTH && slot < phase->messages; slot++) {
        for (unsigned i = 0; i < phase->stream_count; i++) {
            if (!phase->streams[i].is_send && !post(phase, &phase->streams[i], fault))
                return false;
        }
        if (!send_next(phase, slot + 1, fault))
            return false;
    }
    while (!is_finished(phase)) {
        if (!poll(phase, fault))
            return false;
    }
    return true;
}
