/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Rings with one writer and one reader in different processes.
 *
 * The writer owns `tail`, the reader owns `head`; each reads the other's with acquire and publishes
 * its own with release, so an entry is complete before it can be seen and is read before it can be
 * overwritten. A cursor of the other side is hostile: a distance above the ring's size is damage,
 * and the functions say so instead of following it.
 */
#ifndef VERBS_SHIM_PROTO_RING_H
#define VERBS_SHIM_PROTO_RING_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "verbs-shim/proto/proto.h"

/* Entries that the reader may take; UINT32_MAX: the cursors are damaged. */
static inline uint32_t ring_readable(const struct proto_cursors *ring, uint32_t size)
{
    uint32_t tail = atomic_load_explicit(&ring->tail, memory_order_acquire);
    uint32_t head = atomic_load_explicit(&ring->head, memory_order_relaxed);
    uint32_t count = tail - head;

    return count <= size ? count : UINT32_MAX;
}

/* Entries that the writer may add; a damaged cursor counts as a full ring. */
static inline uint32_t ring_writable(const struct proto_cursors *ring, uint32_t size)
{
    uint32_t head = atomic_load_explicit(&ring->head, memory_order_acquire);
    uint32_t tail = atomic_load_explicit(&ring->tail, memory_order_relaxed);
    uint32_t count = tail - head;

    return count <= size ? size - count : 0;
}

/* Place of the n-th entry to read. */
static inline uint32_t ring_read_at(const struct proto_cursors *ring, uint32_t size, uint32_t n)
{
    return (atomic_load_explicit(&ring->head, memory_order_relaxed) + n) % size;
}

static inline void ring_consume(struct proto_cursors *ring, uint32_t n)
{
    uint32_t head = atomic_load_explicit(&ring->head, memory_order_relaxed);

    atomic_store_explicit(&ring->head, head + n, memory_order_release);
}

/* Place of the next entry to write. */
static inline uint32_t ring_write_at(const struct proto_cursors *ring, uint32_t size)
{
    return atomic_load_explicit(&ring->tail, memory_order_relaxed) % size;
}

static inline void ring_publish(struct proto_cursors *ring)
{
    uint32_t tail = atomic_load_explicit(&ring->tail, memory_order_relaxed);

    atomic_store_explicit(&ring->tail, tail + 1, memory_order_release);
}

#endif
