/* SPDX-License-Identifier: Apache-2.0 */
/*
 * DOC: Arena
 *
 * Bytes on their way lie in slots of the sender's arena. A slot has a power of two of bytes, headed
 * by a line that only its owner reads; free slots of a size form a stack, so that the one used
 * last, still in the cache, is used next. The arena grows by touching fresh memory and never
 * shrinks.
 */
#include <stddef.h>
#include <stdint.h>

#include "verbs-shim/proto/proto.h"
#include "verbs-shim/shim/actor.h"
#include "verbs-shim/shim/core/client.h"

#define SIZES      31U /* 64 B to 1 GiB and beyond what fits */
#define FIRST_SIZE UINT64_C(64)
#define NO_SLOT    UINT64_MAX

struct slot_head {
    uint64_t next;
    uint32_t size; /* index of the stack */
    uint32_t is_used;
};

static_assert(sizeof(struct slot_head) <= PROTO_SLOT_ALIGN, "the head is one line");

static struct {
    uint64_t top;          /* first byte never used */
    uint64_t stack[SIZES]; /* offset of the head of a free slot + 1; 0: none */
} arena;

static struct slot_head *head_at(uint64_t offset)
{
    // NOLINTNEXTLINE(bugprone-casting-through-void): slots are aligned to a line
    return (struct slot_head *)(void *)(client.arena + offset);
}

void *arena_take(uint64_t bytes, uint64_t *ret_slot)
{
    uint32_t size = 0;
    uint64_t offset;

    if (!client.arena || bytes > PROTO_ARENA_BYTES)
        return NULL;
    while (FIRST_SIZE << size < bytes)
        size++;
    if (arena.stack[size]) {
        offset = arena.stack[size] - 1;
        arena.stack[size] = head_at(offset)->next;
    } else {
        uint64_t whole = PROTO_SLOT_ALIGN + (FIRST_SIZE << size);

        if (whole > PROTO_ARENA_BYTES - arena.top)
            return NULL;
        offset = arena.top;
        arena.top += whole;
        head_at(offset)->size = size;
    }
    head_at(offset)->is_used = 1;
    *ret_slot = offset + PROTO_SLOT_ALIGN;
    return client.arena + *ret_slot;
}

void arena_release(uint64_t slot)
{
    struct slot_head *head;
    uint64_t offset = slot - PROTO_SLOT_ALIGN;

    /* What the scheduler says is checked: a slot of ours, in use. */
    if (slot < PROTO_SLOT_ALIGN || slot % PROTO_SLOT_ALIGN || slot > arena.top)
        return;
    head = head_at(offset);
    if (!head->is_used || head->size >= SIZES)
        return;
    head->is_used = 0;
    head->next = arena.stack[head->size];
    arena.stack[head->size] = offset + 1;
}

void *arena_own(uint64_t slot)
{
    return slot < arena.top ? client.arena + slot : NULL;
}

const void *arena_peer(uint32_t peer, uint64_t slot, uint64_t bytes)
{
    if (peer >= client.client_count || !client.peer_arenas[peer] || slot > PROTO_ARENA_BYTES ||
        bytes > PROTO_ARENA_BYTES - slot)
        return NULL;
    return client.peer_arenas[peer] + slot;
}
