/* SPDX-License-Identifier: Apache-2.0 */
/*
 * DOC: Event queue
 *
 * The order is (time, push sequence), a total order, so that a run never depends on the shape of
 * the queue: the two kinds pop the same events in the same order, bit for bit.
 *
 * EVQ_HEAP is a 4-ary heap of events.
 *
 * EVQ_CALENDAR is a window of 2^bits buckets, 2^shift picoseconds wide each, that slides over time
 * like a wheel (Brown, "Calendar queues", CACM 31(10), 1988), and the heap for what lies past the
 * window. The usual weak points of a calendar queue are met as follows:
 *
 * - Sparse times: two levels of bitmap find the next bucket in use, so empty ones cost nothing.
 * - Far events never wrap around into a bucket of another year: they wait in the heap and are
 *   popped from there. Popping takes the lesser of both tops, so the order is right whatever the
 *   window is; the window decides about speed only.
 * - Ties: a bucket is a sorted list of runs of equal time, and a run is entered or skipped in one
 *   step. A million events at one instant cost the same as one each.
 * - Width: the queue counts how far ahead events are pushed, by powers of two. From time to time it
 *   picks the narrowest bucket with which the window holds all but an eighth of them. If sorting
 *   into buckets still takes long (dense clusters far apart), buckets become narrower still and
 *   more events use the heap, so the worst case is the cost of the heap.
 *
 * All three are paid from one account: each push, each step of sorting and each word of an empty
 * bitmap takes from `credit`; when it is used up the queue is tuned, at a cost of about what was
 * taken. So every operation is O(1) amortised while the width suits, O(log n) otherwise. Nothing
 * depends on anything but the sequence of calls.
 *
 * Invariants: events in buckets have a slot (time >> shift) in [cur_slot, cur_slot + 2^bits), or an
 * earlier one and lie in bucket cur_slot; bits and summary say which buckets are in use, and only
 * those hold meaning. At equal times the heap's events are the older ones.
 */
#include "sim/core/evq.h"

#include <assert.h>
#include <string.h>

#define NONE           UINT32_MAX
#define ALIGN          ((size_t)64)
#define HEAP_ARITY     4U
#define BITS_MIN       6U  /* one word of bitmap */
#define BITS_MAX       24U /* 128 MiB of buckets; past this they hold several events each */
#define SHIFT_MAX      63U
#define WORD_BITS      6U
#define CREDIT_MIN     256
#define STEPS_PER_PUSH 6U  /* more than this and the buckets are too wide */
#define CALM_PERIODS   16U /* after so many good ones wider buckets are tried again */

/*
 * An event in a bucket. `next` links the bucket's list, or the free list. In a run of equal times
 * the first node's `peer` is the last and the last one's is the first (a run of one: itself); it
 * means nothing in between.
 */
struct node {
    struct evq_event event;
    uint32_t next;
    uint32_t peer;
};

struct bucket {
    uint32_t head;
    uint32_t tail;
};

struct evq {
    uint32_t kind;
    uint32_t capacity;
    uint32_t count;      /* all pending events */
    uint32_t heap_count; /* of these, in the heap */
    uint64_t next_seq;
    size_t heap_at; /* offsets of the arrays from the start of this struct */
    size_t node_at;
    size_t bucket_at;
    size_t word_at;
    size_t summary_at;

    uint32_t free_head;  /* nodes given back */
    uint32_t node_count; /* nodes ever used; the rest was never touched */
    uint32_t busy;       /* buckets in use */
    uint32_t bits;
    uint32_t bits_max;
    uint32_t shift;
    uint32_t shift_limit; /* wider buckets were too wide */
    uint32_t calm;
    uint64_t cur_slot;
    uint64_t now_key; /* of the last popped event */
    int64_t credit;
    uint64_t steps;
    uint32_t reach[65]; /* pushes by bit length of their distance from now */
};

static size_t align_up(size_t size)
{
    return (size + ALIGN - 1) & ~(ALIGN - 1);
}

/* The least b with 2^b >= n, within the bounds of `bits`. */
static uint32_t bits_for(uint64_t n)
{
    uint32_t bits = BITS_MIN;

    while (bits < BITS_MAX && (UINT64_C(1) << bits) < n)
        bits++;
    return bits;
}

static size_t word_count(uint32_t bits)
{
    return (size_t)1 << (bits - WORD_BITS);
}

static size_t summary_count(uint32_t bits)
{
    return (word_count(bits) + 63) / 64;
}

/* Fills in the offsets; returns the size of the whole. */
static size_t lay_out(struct evq *evq, enum evq_kind kind, uint32_t capacity)
{
    size_t size = align_up(sizeof *evq);

    evq->kind = kind;
    evq->capacity = capacity;
    evq->heap_at = size;
    size = align_up(size + capacity * sizeof(struct evq_event));
    if (kind == EVQ_HEAP)
        return size;

    evq->bits_max = bits_for(2 * (uint64_t)capacity);
    evq->node_at = size;
    size = align_up(size + capacity * sizeof(struct node));
    evq->bucket_at = size;
    size = align_up(size + (sizeof(struct bucket) << evq->bits_max));
    evq->word_at = size;
    size = align_up(size + word_count(evq->bits_max) * sizeof(uint64_t));
    evq->summary_at = size;
    return align_up(size + summary_count(evq->bits_max) * sizeof(uint64_t));
}

static inline void *array_at(struct evq *evq, size_t offset)
{
    return (unsigned char *)evq + offset;
}

static inline struct evq_event *heap_of(struct evq *evq)
{
    return array_at(evq, evq->heap_at);
}

static inline struct node *nodes_of(struct evq *evq)
{
    return array_at(evq, evq->node_at);
}

static inline struct bucket *buckets_of(struct evq *evq)
{
    return array_at(evq, evq->bucket_at);
}

static inline uint64_t *words_of(struct evq *evq)
{
    return array_at(evq, evq->word_at);
}

static inline uint64_t *summary_of(struct evq *evq)
{
    return array_at(evq, evq->summary_at);
}

static inline bool event_is_before(const struct evq_event *a, const struct evq_event *b)
{
    return a->at.ps < b->at.ps || (a->at.ps == b->at.ps && a->seq < b->seq);
}

/* Times as unsigned numbers in the same order. */
static inline uint64_t key_of(simtime at)
{
    return (uint64_t)at.ps ^ (UINT64_C(1) << 63);
}

/* --- the heap ---------------------------------------------------------------------------- */

static void heap_push(struct evq *evq, struct evq_event event)
{
    struct evq_event *heap = heap_of(evq);
    uint32_t hole = evq->heap_count++;

    while (hole > 0) {
        uint32_t parent = (hole - 1) / HEAP_ARITY;

        if (!event_is_before(&event, &heap[parent]))
            break;
        heap[hole] = heap[parent];
        hole = parent;
    }
    heap[hole] = event;
}

static uint32_t least_child(const struct evq_event *heap, uint32_t first, uint32_t count)
{
    uint32_t end = count - first < HEAP_ARITY ? count : first + HEAP_ARITY;
    uint32_t least = first;

    for (uint32_t i = first + 1; i < end; i++) {
        if (event_is_before(&heap[i], &heap[least]))
            least = i;
    }
    return least;
}

/* Removes the top; heap_count > 0. */
static struct evq_event heap_pop(struct evq *evq)
{
    struct evq_event *heap = heap_of(evq);
    struct evq_event top = heap[0];
    uint32_t count = --evq->heap_count;
    struct evq_event last = heap[count];
    uint32_t hole = 0;

    for (;;) {
        uint64_t first = (uint64_t)hole * HEAP_ARITY + 1;

        if (first >= count)
            break;

        uint32_t child = least_child(heap, (uint32_t)first, count);

        if (!event_is_before(&heap[child], &last))
            break;
        heap[hole] = heap[child];
        hole = child;
    }
    heap[hole] = last;
    return top;
}

/* --- buckets and their bitmap ------------------------------------------------------------ */

static inline void mark_busy(struct evq *evq, uint32_t ix)
{
    words_of(evq)[ix >> WORD_BITS] |= UINT64_C(1) << (ix & 63);
    summary_of(evq)[ix >> (2 * WORD_BITS)] |= UINT64_C(1) << ((ix >> WORD_BITS) & 63);
    evq->busy++;
}

static inline void mark_idle(struct evq *evq, uint32_t ix)
{
    uint64_t *word = &words_of(evq)[ix >> WORD_BITS];

    *word &= ~(UINT64_C(1) << (ix & 63));
    if (*word == 0)
        summary_of(evq)[ix >> (2 * WORD_BITS)] &= ~(UINT64_C(1) << ((ix >> WORD_BITS) & 63));
    evq->busy--;
}

static inline bool is_busy(struct evq *evq, uint32_t ix)
{
    return words_of(evq)[ix >> WORD_BITS] >> (ix & 63) & 1;
}

/* The first bucket in use after the word of `ix`, around the wheel. */
static uint32_t next_busy_word(struct evq *evq, uint32_t ix)
{
    const uint64_t *summary = summary_of(evq);
    uint32_t group_mask = (uint32_t)summary_count(evq->bits) - 1;
    uint32_t word = ix >> WORD_BITS;
    uint32_t group = word >> WORD_BITS;
    uint64_t later = summary[group] & (~UINT64_C(1) << (word & 63));

    while (!later) {
        group = (group + 1) & group_mask;
        later = summary[group];
        evq->credit--;
    }
    word = (group << WORD_BITS) + (uint32_t)__builtin_ctzll(later);
    return (word << WORD_BITS) + (uint32_t)__builtin_ctzll(words_of(evq)[word]);
}

static inline uint32_t cur_bucket(const struct evq *evq)
{
    return (uint32_t)evq->cur_slot & ((1U << evq->bits) - 1);
}

/* The bucket of the least event in the window; busy > 0. */
static inline uint32_t first_busy(struct evq *evq)
{
    uint32_t ix = cur_bucket(evq);
    uint64_t word = words_of(evq)[ix >> WORD_BITS] & (~UINT64_C(0) << (ix & 63));

    if (word)
        return (ix & ~63U) + (uint32_t)__builtin_ctzll(word);
    return next_busy_word(evq, ix);
}

static inline uint32_t take_node(struct evq *evq)
{
    uint32_t ix = evq->free_head;

    if (ix == NONE)
        return evq->node_count++;
    evq->free_head = nodes_of(evq)[ix].next;
    return ix;
}

static inline void give_node(struct evq *evq, uint32_t ix)
{
    nodes_of(evq)[ix].next = evq->free_head;
    evq->free_head = ix;
}

/* Makes `ix` the last of the run that ends with `last`. */
static inline void join_run(struct node *nodes, uint32_t last, uint32_t ix)
{
    uint32_t head = nodes[last].peer;

    nodes[head].peer = ix;
    nodes[ix].peer = head;
}

/* Sorts `ix` into a bucket whose last event is later. */
static void insert_before_tail(struct evq *evq, struct bucket *bucket, uint32_t ix)
{
    struct node *nodes = nodes_of(evq);
    int64_t at = nodes[ix].event.at.ps;
    uint32_t before = NONE; /* last node of the run before */
    uint32_t run = bucket->head;
    uint32_t steps = 0;

    while (nodes[run].event.at.ps <= at) {
        before = nodes[run].peer;
        run = nodes[before].next;
        steps++;
    }
    evq->steps += steps;
    evq->credit -= steps;

    nodes[ix].next = run;
    nodes[ix].peer = ix;
    if (before == NONE) {
        bucket->head = ix;
        return;
    }
    if (nodes[before].event.at.ps == at)
        join_run(nodes, before, ix);
    nodes[before].next = ix;
}

/* Adds a node, later than all of its time that are in the bucket. */
static inline void insert(struct evq *evq, uint32_t bucket_ix, uint32_t ix)
{
    struct node *nodes = nodes_of(evq);
    struct bucket *bucket = &buckets_of(evq)[bucket_ix];
    int64_t at = nodes[ix].event.at.ps;

    if (!is_busy(evq, bucket_ix)) {
        mark_busy(evq, bucket_ix);
        nodes[ix].next = NONE;
        nodes[ix].peer = ix;
        *bucket = (struct bucket){ix, ix};
        return;
    }

    int64_t tail_at = nodes[bucket->tail].event.at.ps;

    if (tail_at > at) {
        insert_before_tail(evq, bucket, ix);
        return;
    }
    nodes[ix].next = NONE;
    nodes[ix].peer = ix;
    if (tail_at == at)
        join_run(nodes, bucket->tail, ix);
    nodes[bucket->tail].next = ix;
    bucket->tail = ix;
}

/* Removes and frees the first node of a bucket in use. */
static inline void remove_first(struct evq *evq, uint32_t bucket_ix)
{
    struct node *nodes = nodes_of(evq);
    struct bucket *bucket = &buckets_of(evq)[bucket_ix];
    uint32_t ix = bucket->head;
    uint32_t next = nodes[ix].next;
    uint32_t last = nodes[ix].peer;

    if (next == NONE) {
        mark_idle(evq, bucket_ix);
    } else {
        bucket->head = next;
        if (last != ix) {
            nodes[next].peer = last;
            nodes[last].peer = next;
        }
    }
    give_node(evq, ix);
}

/* --- tuning ------------------------------------------------------------------------------ */

/* Empties the buckets into one list in order; returns its head. */
static uint32_t chain_all(struct evq *evq)
{
    struct node *nodes = nodes_of(evq);
    uint32_t head = NONE;
    uint32_t tail = NONE;

    while (evq->busy) {
        uint32_t ix = first_busy(evq);
        struct bucket bucket = buckets_of(evq)[ix];

        if (head == NONE)
            head = bucket.head;
        else
            nodes[tail].next = bucket.head;
        tail = bucket.tail;
        mark_idle(evq, ix);
    }
    return head;
}

/* Takes the lesser of the list's head and the heap's top when it lies in the window. */
static bool refill_one(struct evq *evq, uint32_t *list)
{
    struct node *nodes = nodes_of(evq);
    const struct evq_event *top = heap_of(evq);
    bool has_list = *list != NONE;
    uint32_t ix = *list;

    if (!has_list && !evq->heap_count)
        return false;

    bool from_heap = evq->heap_count && (!has_list || event_is_before(top, &nodes[ix].event));
    uint64_t slot = key_of(from_heap ? top->at : nodes[ix].event.at) >> evq->shift;

    if ((slot - evq->cur_slot) >> evq->bits)
        return false;
    if (from_heap) {
        ix = take_node(evq);
        nodes[ix].event = heap_pop(evq);
    } else {
        *list = nodes[ix].next;
    }
    insert(evq, (uint32_t)slot & ((1U << evq->bits) - 1), ix);
    return true;
}

/* Starts the window at the least event and deals all events out again. */
static void rebuild(struct evq *evq, uint32_t bits, uint32_t shift)
{
    struct node *nodes = nodes_of(evq);
    uint32_t list = chain_all(evq);

    if (list != NONE)
        evq->now_key = key_of(nodes[list].event.at);
    if (evq->heap_count && (list == NONE || key_of(heap_of(evq)->at) < evq->now_key))
        evq->now_key = key_of(heap_of(evq)->at);
    evq->bits = bits;
    evq->shift = shift;
    evq->cur_slot = evq->now_key >> shift;
    while (refill_one(evq, &list)) {
    }
    while (list != NONE) {
        uint32_t next = nodes[list].next;

        heap_push(evq, nodes[list].event);
        give_node(evq, list);
        list = next;
    }
}

/* The bit length that seven eighths of the pushes stayed within. */
static uint32_t usual_reach(const uint32_t *reach, uint64_t pushes)
{
    uint32_t length = 64;
    uint64_t beyond = reach[length];

    while (length > 0 && beyond <= pushes / 8) {
        length--;
        beyond += reach[length];
    }
    return length;
}

static void tune(struct evq *evq)
{
    uint64_t pushes = 0;
    uint32_t bits = evq->bits;

    for (size_t i = 0; i < sizeof evq->reach / sizeof evq->reach[0]; i++)
        pushes += evq->reach[i];

    /* Between a quarter and one event a bucket: few enough to sort, dense enough for the cache. */
    if (evq->count >> bits || (uint64_t)evq->count * 16 < UINT64_C(1) << bits)
        bits = bits_for(2 * (uint64_t)evq->count);
    if (bits > evq->bits_max)
        bits = evq->bits_max;

    bool is_coarse = evq->steps > STEPS_PER_PUSH * pushes;

    if (is_coarse) {
        evq->shift_limit = evq->shift > 2 ? evq->shift - 2 : 0;
        evq->calm = 0;
    } else if (evq->shift_limit < SHIFT_MAX && ++evq->calm == CALM_PERIODS) {
        evq->shift_limit++;
        evq->calm = 0;
    }

    uint32_t length = usual_reach(evq->reach, pushes);
    uint32_t shift = length > bits ? length - bits : 0;

    if (shift > evq->shift_limit)
        shift = evq->shift_limit;
    /* One power of two less is not worth the move: the reach wavers around a power. */
    if (is_coarse || bits != evq->bits || shift > evq->shift || shift + 2 <= evq->shift)
        rebuild(evq, bits, shift);

    evq->credit = CREDIT_MIN + 2 * (int64_t)evq->count;
    evq->steps = 0;
    memset(evq->reach, 0, sizeof evq->reach);
}

/* --- the calendar ------------------------------------------------------------------------ */

static inline uint32_t bit_length(uint64_t n)
{
    return n ? 64 - (uint32_t)__builtin_clzll(n) : 0;
}

static inline void calendar_push(struct evq *evq, const struct evq_event *event)
{
    if (--evq->credit < 0)
        tune(evq);

    uint64_t key = key_of(event->at);
    uint64_t slot = key >> evq->shift;

    evq->reach[key > evq->now_key ? bit_length(key - evq->now_key) : 0]++;
    if (slot < evq->cur_slot)
        slot = evq->cur_slot;
    if ((slot - evq->cur_slot) >> evq->bits) {
        heap_push(evq, *event);
        return;
    }

    uint32_t ix = take_node(evq);

    nodes_of(evq)[ix].event = *event;
    insert(evq, (uint32_t)slot & ((1U << evq->bits) - 1), ix);
}

/* True when the least event is the heap's top, not the first of `bucket`. */
static inline bool heap_is_first(struct evq *evq, uint32_t bucket)
{
    const struct evq_event *first = &nodes_of(evq)[buckets_of(evq)[bucket].head].event;

    return evq->heap_count && event_is_before(heap_of(evq), first);
}

static bool calendar_pop_far(struct evq *evq, simtime limit, struct evq_event *ret)
{
    if (!evq->heap_count || heap_of(evq)->at.ps > limit.ps)
        return false;
    *ret = heap_pop(evq);
    evq->now_key = key_of(ret->at);

    uint64_t slot = evq->now_key >> evq->shift;

    /* No event in the window is earlier, so none falls out of it. */
    if (slot > evq->cur_slot)
        evq->cur_slot = slot;
    return true;
}

static inline bool calendar_pop_until(struct evq *evq, simtime limit, struct evq_event *ret)
{
    if (!evq->busy)
        return calendar_pop_far(evq, limit, ret);

    uint32_t ix = first_busy(evq);

    if (heap_is_first(evq, ix))
        return calendar_pop_far(evq, limit, ret);

    const struct evq_event *first = &nodes_of(evq)[buckets_of(evq)[ix].head].event;

    if (first->at.ps > limit.ps)
        return false;
    *ret = *first;
    evq->now_key = key_of(ret->at);
    evq->cur_slot += (ix - cur_bucket(evq)) & ((1U << evq->bits) - 1);
    remove_first(evq, ix);
    return true;
}

static simtime calendar_next_time(struct evq *evq)
{
    if (!evq->busy)
        return heap_of(evq)->at;

    uint32_t ix = first_busy(evq);

    if (heap_is_first(evq, ix))
        return heap_of(evq)->at;
    return nodes_of(evq)[buckets_of(evq)[ix].head].event.at;
}

/* --- both -------------------------------------------------------------------------------- */

size_t evq_mem_size(enum evq_kind kind, uint32_t capacity)
{
    struct evq layout;

    return lay_out(&layout, kind, capacity);
}

struct evq *evq_init(void *mem, enum evq_kind kind, uint32_t capacity)
{
    struct evq *evq = mem;

    assert((uintptr_t)mem % ALIGN == 0);
    assert(capacity >= 1 && capacity <= 1U << 30);
    memset(evq, 0, sizeof *evq);
    lay_out(evq, kind, capacity);
    if (kind == EVQ_HEAP)
        return evq;

    memset(words_of(evq), 0, word_count(evq->bits_max) * sizeof(uint64_t));
    memset(summary_of(evq), 0, summary_count(evq->bits_max) * sizeof(uint64_t));
    evq->free_head = NONE;
    evq->bits = BITS_MIN;
    evq->shift_limit = SHIFT_MAX;
    evq->now_key = key_of((simtime){0});
    evq->cur_slot = evq->now_key;
    evq->credit = CREDIT_MIN;
    return evq;
}

/*
 * Adds an event behind all that have its time.
 *
 * Returns:  false, and nothing is changed, when `capacity` events are pending.
 */
bool evq_push(struct evq *evq, simtime at, uint32_t kind, uint32_t arg)
{
    if (evq->count == evq->capacity)
        return false;

    struct evq_event event = {.at = at, .seq = evq->next_seq++, .kind = kind, .arg = arg};

    if (evq->kind == EVQ_HEAP)
        heap_push(evq, event);
    else
        calendar_push(evq, &event);
    evq->count++;
    return true;
}

/*
 * Removes the least event by (at, seq) when it is due.
 *
 * Returns:  false, and *ret is left alone, when the queue is empty or its least event lies after
 *           `limit`.
 */
bool evq_pop_until(struct evq *evq, simtime limit, struct evq_event *ret)
{
    bool has_event;

    if (evq->kind == EVQ_CALENDAR) {
        has_event = calendar_pop_until(evq, limit, ret);
    } else {
        has_event = evq->heap_count && heap_of(evq)->at.ps <= limit.ps;
        if (has_event)
            *ret = heap_pop(evq);
    }
    evq->count -= has_event;
    return has_event;
}

bool evq_pop(struct evq *evq, struct evq_event *ret)
{
    return evq_pop_until(evq, simtime_never(), ret);
}

simtime evq_next_time(struct evq *evq)
{
    if (!evq->count)
        return simtime_never();
    if (evq->kind == EVQ_HEAP)
        return heap_of(evq)->at;
    return calendar_next_time(evq);
}

bool evq_is_empty(const struct evq *evq)
{
    return evq->count == 0;
}

uint32_t evq_count(const struct evq *evq)
{
    return evq->count;
}
