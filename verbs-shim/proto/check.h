/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Readers of what another process wrote. It may be damaged or hostile, and it may change while we
 * read it: so each reader copies first, checks the copy, and hands out nothing but that.
 */
#ifndef VERBS_SHIM_PROTO_CHECK_H
#define VERBS_SHIM_PROTO_CHECK_H

#include <stdbool.h>
#include <stdint.h>

#include "verbs-shim/proto/proto.h"

/* Queue pair and work request are for the scheduler to look up. */
bool proto_command_is_sane(const struct proto_command *command, uint32_t client);
bool proto_event_is_sane(const struct proto_event *event);

enum proto_read {
    PROTO_READ_NOTHING, /* the ring is empty */
    PROTO_READ_ONE,
    PROTO_READ_DAMAGED, /* cursors or entry make no sense */
};

/*
 * The client's next command. `taken` is how many have been taken so far: our cursor lies in memory
 * that the client writes as well, so it has to be what we know it to be.
 *
 * Whose is it, and when? It stays in the ring.
 */
enum proto_read proto_peek_command(const struct proto_segment *segment, uint32_t client,
                                   uint32_t taken, int64_t *ret_t, uint32_t *ret_actor);
/* Takes it out of the ring, and counts it in *taken. */
enum proto_read proto_take_command(struct proto_segment *segment, uint32_t client, uint32_t *taken,
                                   struct proto_command *ret);
/* Takes the next event out of the client's own ring. */
enum proto_read proto_take_event(struct proto_segment *segment, struct proto_event *ret);

/* What an actor says when it parks; arguments of a call come later. Fields that the way of parking
 * does not use are zero. */
struct proto_parked {
    int64_t vt;
    int64_t first, grid, deadline;
    uint64_t key;
    enum proto_park park;
    enum proto_call call;
    bool ends_process; /* EXIT */
    bool is_asleep;    /* TURN */
    bool has_loose;    /* SPIN */
    bool is_again;     /* SPIN */
    int64_t since;     /* IDLE, QUIET */
    uint32_t polls;    /* IDLE, QUIET */
    uint32_t acts;
    uint32_t new_cqs;      /* EXTERNAL */
    uint32_t polled_count; /* IDLE, QUIET, EXTERNAL */
    uint16_t polled[PROTO_POLLED_MAX];
};

/* False: the channel makes no sense, or its time has gone back behind `since`. */
bool proto_read_park(const struct proto_chan *chan, int64_t since, struct proto_parked *ret);
/* The arguments of its call, for whoever answers to look at. */
void proto_read_args(const struct proto_chan *chan, union proto_call_args *ret);

#endif
