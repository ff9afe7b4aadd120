/* SPDX-License-Identifier: Apache-2.0 */
/*
 * DOC: Pairing
 *
 * Every rank publishes the addresses of all its wires in one all-gather, which is also the barrier
 * that says "all queue pairs are in INIT". In a mesh, wire [p] of rank r and wire [r] of rank p are
 * one cable. In a ring, left wire w of a rank is right wire w of its left neighbour: both ends have
 * to name the same cable at index w. A ring of two uses the same cables for both sides, so each
 * device carries two queue pairs. A last barrier keeps everybody from posting to a peer that is
 * not in RTS.
 */
#include "tests/clients/uc_mesh/group.h"

/* The wires of one rank, as it publishes them. */
struct addresses {
    struct wire_address of[MATRIX_RANK_MAX][MATRIX_WIRE_MAX];
};

/* The rank at the far end of wires[at], and the index under which it files the wire. */
static unsigned peer_of(const struct group *group, unsigned at, unsigned *ret_at)
{
    if (!group->is_ring) {
        *ret_at = group->rank;
        return at;
    }
    *ret_at = at == GROUP_LEFT ? GROUP_RIGHT : GROUP_LEFT;
    return (group->rank + (at == GROUP_LEFT ? group->ranks - 1 : 1)) % group->ranks;
}

static unsigned first_count(const struct group *group)
{
    return group->is_ring ? GROUP_SIDES : group->ranks;
}

static bool is_used(const struct group *group, unsigned at)
{
    return group->is_ring || at != group->rank;
}

static bool open_wires(struct group *group, const struct matrix *matrix, struct addresses *ret,
                       struct fault *fault)
{
    for (unsigned at = 0; at < first_count(group); at++) {
        unsigned far;
        unsigned peer = peer_of(group, at, &far);

        for (unsigned w = 0; is_used(group, at) && w < group->wire_count; w++) {
            struct wire *wire = &group->wires[at][w];

            if (!wire_open(wire, matrix->cells[group->rank][peer].names[w],
                           group->is_ring ? NULL : &group->shared, fault))
                return false;
            ret->of[at][w] = wire->local;
        }
    }
    return true;
}

static bool connect_wires(struct group *group, const struct addresses *all, struct fault *fault)
{
    for (unsigned at = 0; at < first_count(group); at++) {
        unsigned far;
        unsigned peer = peer_of(group, at, &far);

        for (unsigned w = 0; is_used(group, at) && w < group->wire_count; w++) {
            if (!wire_connect(&group->wires[at][w], &all[peer].of[far][w], fault))
                return false;
        }
    }
    return true;
}

bool group_open(struct group *group, const struct matrix *matrix, bool is_ring, unsigned wires,
                struct side *side, struct fault *fault)
{
    struct addresses mine = {0};
    struct addresses all[MATRIX_RANK_MAX];

    *group = (struct group){
        .rank = side->rank, .ranks = side->ranks, .is_ring = is_ring, .wire_count = 1};
    if (is_ring ? !matrix_is_ring(matrix, wires, &group->wire_count, fault)
                : !matrix_is_mesh(matrix, fault))
        return false;
    return (is_ring || wire_buffers_make(&group->shared, fault)) &&
           open_wires(group, matrix, &mine, fault) &&
           side_all_gather(side, &mine, all, sizeof mine, fault) &&
           connect_wires(group, all, fault) && side_barrier(side, fault);
}

bool group_close(struct group *group, struct fault *fault)
{
    bool ok = true;

    for (unsigned at = 0; at < MATRIX_RANK_MAX; at++) {
        for (unsigned w = 0; w < MATRIX_WIRE_MAX; w++)
            ok = wire_close(&group->wires[at][w], fault) && ok;
    }
    wire_buffers_free(&group->shared);
    return ok;
}
