/* SPDX-License-Identifier: Apache-2.0 */
/*
 * DOC: Collectives
 *
 * The message plans of MLX's JACCL (ml-explore/mlx at 846d176, 2026-08-22; ring all_gather as
 * repaired by its PR 4443), written anew from a description of them.
 *
 * Mesh, n = 2 or up to 32 KiB: everyone sends the whole vector to everyone. Above: reduce-scatter
 * over shards of floor(E / n) elements, all-gather of the shards, and a one-shot all-reduce of the
 * fewer than n elements that remain. Ring: 2 (n - 1) steps, reduce-scatter and all-gather; up to
 * 32 KiB or with fewer than 2 n W elements by one wire and one direction, else every block of
 * ceil(E / n) elements is cut into 2 W slices, one for each wire and direction. Each wire has a
 * thread of its own, which drains a step before the next one.
 *
 * The checked values are small integers, exact in float32, so the order of additions cannot show.
 */
#include "tests/clients/uc_mesh/collective.h"

#define ONE_SHOT_MAX UINT64_C(32768)

uint64_t collective_block(uint64_t elements, unsigned ranks)
{
    return (elements + ranks - 1) / ranks;
}

/* A vector that is cut into blocks. */
struct cut {
    char *base;
    uint64_t bytes;
    uint64_t block_bytes;
    bool is_whole; /* one block for everybody */
};

/* Adds the stream of slice [begin, begin + bytes) of a block; the vector or the block may end
 * within it. */
static struct stream *add_slice(struct phase *phase, struct wire *wire, bool is_send,
                                const struct cut *cut, unsigned block, const uint64_t slice[2])
{
    uint64_t origin = block * cut->block_bytes;
    uint64_t end = slice[0] + slice[1] < cut->block_bytes ? slice[0] + slice[1] : cut->block_bytes;

    if (origin + end > cut->bytes)
        end = cut->bytes > origin ? cut->bytes - origin : 0;
    if (end <= slice[0])
        return phase_add(phase, wire, is_send, cut->base, 0);
    return phase_add(phase, wire, is_send, cut->base + origin + slice[0], end - slice[0]);
}

static uint64_t vector_bytes(const struct collective *c)
{
    return c->elements * DTYPE_BYTES * (c->op == OP_ALL_GATHER ? c->group->ranks : 1);
}

static bool reduces(const struct collective *c)
{
    return c->op == OP_ALL_REDUCE || c->op == OP_BARRIER;
}

/* One exchange with all peers. What goes to peer p is block p of `from` or, if shared, the own
 * block; what comes is the own block, added, or block p. */
static void mesh_exchange(struct collective *c, const struct cut *from, const struct cut *to,
                          bool is_shared, bool is_added, struct phase *phase)
{
    unsigned own = from->is_whole ? 0 : c->group->rank;
    const uint64_t slice[2] = {0, from->block_bytes};

    phase_cut(phase, slice[1], c->class_max);
    phase->is_shared_send = is_shared;
    phase->is_ordered = is_added;
    for (unsigned p = 0; p < c->group->ranks; p++) {
        struct wire *wire = &c->group->wires[p][0];

        if (p == c->group->rank)
            continue;
        (void)add_slice(phase, wire, true, from, is_shared ? own : p, slice);
        add_slice(phase, wire, false, to, is_added ? own : p, slice)->is_added = is_added;
    }
}

static bool mesh_all_reduce(struct collective *c, unsigned index, struct phase *phase)
{
    uint64_t bytes = vector_bytes(c);
    uint64_t shard = c->elements / c->group->ranks * DTYPE_BYTES;
    uint64_t head = shard * c->group->ranks;
    bool is_one_shot = c->group->ranks == 2 || bytes <= ONE_SHOT_MAX;
    struct cut input = {c->input, head, shard, false};
    struct cut output = {c->output, head, shard, false};

    if (is_one_shot || index == 2) {
        uint64_t begin = is_one_shot ? 0 : head;

        input = (struct cut){c->input + begin, bytes - begin, bytes - begin, true};
        output = (struct cut){c->output + begin, bytes - begin, bytes - begin, true};
        mesh_exchange(c, &input, &output, true, true, phase);
        return is_one_shot ? index == 0 : head < bytes;
    }
    if (index == 0)
        mesh_exchange(c, &input, &output, false, true, phase);
    else
        mesh_exchange(c, &output, &output, true, false, phase);
    return index < 2;
}

/* The vector from rank 0 to rank 1, a slice on every wire. */
static bool chain(struct collective *c, unsigned wire, unsigned index, struct phase *phase)
{
    struct group *g = c->group;
    uint64_t share = collective_block(c->elements, g->wire_count) * DTYPE_BYTES;
    const uint64_t slice[2] = {wire * share, share};
    struct cut cut = {g->rank == 0 ? c->input : c->output, vector_bytes(c), vector_bytes(c), true};
    unsigned at = g->rank == 0 ? 1 : 0;

    if (index > 0 || g->rank > 1)
        return false;
    phase_cut(phase, share, c->class_max);
    (void)add_slice(phase, &g->wires[at][wire], g->rank == 0, &cut, 0, slice);
    return true;
}

static bool mesh_phase(struct collective *c, unsigned index, struct phase *phase)
{
    uint64_t block = c->op == OP_ALL_GATHER
                         ? c->elements * DTYPE_BYTES
                         : collective_block(c->elements, c->group->ranks) * DTYPE_BYTES;
    struct cut input = {c->input, vector_bytes(c), block, false};
    struct cut output = {c->output, vector_bytes(c), block, false};

    if (reduces(c))
        return mesh_all_reduce(c, index, phase);
    if (index > 0)
        return false;
    if (c->op == OP_ALL_GATHER)
        mesh_exchange(c, &output, &output, true, false, phase);
    else
        mesh_exchange(c, &input, &output, false, true, phase);
    return true;
}

static bool ring_is_small(const struct collective *c)
{
    return c->elements * DTYPE_BYTES <= ONE_SHOT_MAX ||
           c->elements < UINT64_C(2) * c->group->ranks * c->group->wire_count;
}

struct ring_step {
    unsigned wire;
    unsigned back; /* blocks that this step is behind the own one */
    bool is_added;
    uint64_t slice_bytes;
    struct cut cut;
};

/* To the right a block comes from the left, and the other way round. */
static void ring_way(struct collective *c, const struct ring_step *step, enum group_side to,
                     uint64_t begin, struct phase *phase)
{
    struct group *g = c->group;
    unsigned n = g->ranks;
    bool is_right = to == GROUP_RIGHT;
    enum group_side from = is_right ? GROUP_LEFT : GROUP_RIGHT;
    unsigned sent = is_right ? (g->rank + n - step->back) % n : (g->rank + step->back) % n;
    unsigned received = is_right ? (sent + n - 1) % n : (sent + 1) % n;
    const uint64_t slice[2] = {begin, step->slice_bytes};

    (void)add_slice(phase, &g->wires[to][step->wire], true, &step->cut, sent, slice);
    add_slice(phase, &g->wires[from][step->wire], false, &step->cut, received, slice)->is_added =
        step->is_added;
}

static bool ring_phase(struct collective *c, unsigned wire, unsigned index, struct phase *phase)
{
    unsigned n = c->group->ranks;
    bool is_gather = c->op == OP_ALL_GATHER;
    bool is_small = ring_is_small(c);
    uint64_t elements = is_gather ? c->elements : collective_block(c->elements, n);
    unsigned parts = is_small ? 1 : 2 * c->group->wire_count;
    struct ring_step step = {
        .wire = wire,
        .back = (index + (c->op == OP_REDUCE_SCATTER ? 1 : 0)) % n,
        .is_added = !is_gather && index < n - 1,
        .slice_bytes = collective_block(elements, parts) * DTYPE_BYTES,
        .cut = {c->output, vector_bytes(c), elements * DTYPE_BYTES, false},
    };

    if (index >= (reduces(c) ? 2 * (n - 1) : n - 1) || (is_small && wire > 0))
        return false;
    phase_cut(phase, step.slice_bytes, c->class_max);
    ring_way(c, &step, GROUP_RIGHT, UINT64_C(2) * wire * step.slice_bytes, phase);
    if (!is_small)
        ring_way(c, &step, GROUP_LEFT, (UINT64_C(2) * wire + 1) * step.slice_bytes, phase);
    return true;
}

/* All phases of one thread. */
static bool run_thread(void *data, unsigned wire, struct fault *fault)
{
    struct collective *c = data;

    for (unsigned index = 0;; index++) {
        struct phase phase = {.number = c->numbers[wire]++, .dtype = c->dtype};
        bool is_phase;

        if (c->op == OP_SEND_RECV)
            is_phase = chain(c, wire, index, &phase);
        else if (c->group->is_ring)
            is_phase = ring_phase(c, wire, index, &phase);
        else
            is_phase = mesh_phase(c, index, &phase);
        if (!is_phase)
            return true;
        if (!phase_run(&phase, fault))
            return false;
    }
}

bool collective_run(struct collective *collective, struct fault *fault)
{
    bool is_small = collective->op != OP_SEND_RECV && ring_is_small(collective);

    if (!collective->pool || is_small || collective->group->wire_count == 1)
        return run_thread(collective, 0, fault);
    return pool_run(collective->pool, run_thread, collective, fault);
}
