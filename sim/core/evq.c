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
 * like a wheel (Brown, "Calendar queues", CACM 31(10), 1988). A bucket is an unsorted list; it is
 * sorted when its turn comes and is then the *current list* (as in Tang, Goh and Thng, "Ladder
 * queue", ACM TOMACS 15(3), 2005). What lies past the window, or falls into the current bucket but
 * not at the end of its list, goes to a heap. A pop takes the lesser of the list's and the heap's
 * first. The order is thus right whatever the window is; the window decides about speed only.
 *
 * - A push touches the bucket's head and its own node only. With many events pending neither the
 *   head nor the nodes that are popped next are in a cache, and waiting for memory would take ten
 *   times as long as the work: heads and nodes are prefetched in time, and a push far ahead is put
 *   off for some pushes, until its bucket has arrived (*deferred*; it still counts as pushed).
 * - Sparse times: two levels of bitmap find the next bucket in use, so empty ones cost nothing.
 * - Ties: a list that is already in order is sorted in one pass, and an event at the end of the
 *   current list is appended. A million events at one instant cost the same as one each.
 * - Width: the queue counts how far ahead events are pushed, by powers of two. From time to time it
 *   picks the narrowest buckets with which the window holds all but a 32nd of them.
 * - Clusters: k events in one bucket are sorted in k log k steps, so the worst case is the heap's.
 *   If sorting takes many steps a push (dense clusters, far apart), buckets become narrower than
 *   that and more events use the heap.
 *
 * Tuning is paid from an account: each push, each step of sorting and each word of an empty bitmap
 * takes one from `credit`, and when that is used up the queue is tuned at a cost of about what was
 * taken. So every operation is O(1) amortised while the width suits, O(log n) otherwise. Nothing
 * depends on anything but the sequence of calls.
 *
 * Invariants (a slot is time >> shift): events of the current list have slots up to cur_slot and
 * are in order; events in buckets or deferred have slots in (cur_slot, cur_slot + 2^bits); no
 * deferred one has a slot before deferred_slot; the heap holds any.
 * Only what the bitmaps mark as busy has a meaning in the bucket array.
 */
#include "sim/core/evq.h"

#include <assert.h>
#include <string.h>

#define NONE              UINT32_MAX
#define ALIGN             ((size_t)64)
#define HEAP_ARITY        4U
#define BITS_MIN          6U  /* one word of bitmap */
#define BITS_MAX          26U /* 256 MiB of buckets; past this they hold several events each */
#define WORD_BITS         6U
#define CREDIT_MIN        256
#define BUCKETS_PER_EVENT 4U  /* at least, after growing */
#define FETCH_BITS        13U /* with fewer buckets all is in the first caches anyway */
#define STEPS_PER_PUSH    4U  /* of sorting; more and the buckets are too wide */
#define CALM_PERIODS      16U /* after so many good ones wider buckets are tried again */
#define PUSHES_TO_JUDGE   64U /* fewer say nothing about the reach */
#define SHIFT_MAX         63U
#define INSERT_MAX        4U /* nodes of a bucket that are put in order one by one */
#define DEFERRED_MAX      16U
#define DEFER_AHEAD       256U /* buckets nearer than this are in a cache: prefetch_from */

struct node {
    struct evq_event event;
    uint32_t next; /* in a bucket, in the current list or in the free list */
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
    uint32_t list_head;  /* the current list, NONE when empty */
    uint32_t list_tail;  /* means nothing when it is empty */
    uint32_t bits;
    uint32_t bits_max;
    uint32_t shift;
    uint32_t shift_limit; /* wider buckets were too wide */
    uint32_t calm;        /* periods since then */
    uint64_t cur_slot;
    uint64_t now_key; /* of the last popped event */
    int64_t credit;
    uint64_t steps; /* of sorting, since the last tuning */
    uint64_t deferred_slot;
    uint32_t deferred_count;
    uint32_t deferred_oldest; /* when deferred_count is DEFERRED_MAX */
    uint32_t deferred[DEFERRED_MAX];
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

    evq->bits_max = bits_for(BUCKETS_PER_EVENT * (uint64_t)capacity);
    evq->node_at = size;
    size = align_up(size + capacity * sizeof(struct node));
    evq->bucket_at = size;
    size = align_up(size + (sizeof(uint32_t) << evq->bits_max));
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

static inline uint32_t *buckets_of(struct evq *evq)
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

/* --- buckets and their bitmaps ----------------------------------------------------------- */

static inline uint32_t bucket_of(const struct evq *evq, uint64_t slot)
{
    return (uint32_t)slot & ((1U << evq->bits) - 1);
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

/* Puts a node in front of its bucket. No branch on whether the bucket is in use, which is a coin
 * toss: the head of an idle one has no meaning, and OR with all ones makes NONE of it. */
static inline void bucket_push(struct evq *evq, uint32_t bucket, uint32_t ix)
{
    uint64_t *word = &words_of(evq)[bucket >> WORD_BITS];
    uint64_t bit = UINT64_C(1) << (bucket & 63);
    bool is_idle = (*word & bit) == 0;
    uint32_t *head = &buckets_of(evq)[bucket];

    nodes_of(evq)[ix].next = *head | (0 - (uint32_t)is_idle);
    *head = ix;
    if (*word == 0)
        summary_of(evq)[bucket >> (2 * WORD_BITS)] |= UINT64_C(1) << ((bucket >> WORD_BITS) & 63);
    *word |= bit;
    evq->busy += is_idle;
}

/* Takes the whole list of a bucket in use. */
static inline uint32_t bucket_empty(struct evq *evq, uint32_t bucket)
{
    uint64_t *word = &words_of(evq)[bucket >> WORD_BITS];

    *word &= ~(UINT64_C(1) << (bucket & 63));
    if (*word == 0)
        summary_of(evq)[bucket >> (2 * WORD_BITS)] &=
            ~(UINT64_C(1) << ((bucket >> WORD_BITS) & 63));
    evq->busy--;
    return buckets_of(evq)[bucket];
}

/*
 * With a million events pending none of the lines that the next pops need is in a cache, so they
 * are asked for some pops ahead: three words on, the buckets; two words on, the first event of
 * each; in the next word, the second. Always inline: the compiler drops a call that only
 * prefetches.
 */
static inline __attribute__((always_inline)) void prefetch_from(struct evq *evq, uint32_t word)
{
    const uint64_t *words = words_of(evq);
    const uint32_t *buckets = buckets_of(evq);
    const struct node *nodes = nodes_of(evq);
    uint32_t mask = (uint32_t)word_count(evq->bits) - 1;
    uint32_t base = ((word + 3) & mask) << WORD_BITS;

    for (uint32_t i = 0; i < 64; i += ALIGN / sizeof *buckets)
        __builtin_prefetch(&buckets[base + i], 1);
    base = ((word + 2) & mask) << WORD_BITS;
    for (uint64_t busy = words[(word + 2) & mask]; busy; busy &= busy - 1)
        __builtin_prefetch(&nodes[buckets[base + (uint32_t)__builtin_ctzll(busy)]], 1);
    base = ((word + 1) & mask) << WORD_BITS;
    for (uint64_t busy = words[(word + 1) & mask]; busy; busy &= busy - 1) {
        uint32_t next = nodes[buckets[base + (uint32_t)__builtin_ctzll(busy)]].next;

        __builtin_prefetch(&nodes[next != NONE ? next : 0], 1);
    }
}

/* The first bucket in use after the word of `bucket`, around the wheel. */
static uint32_t next_busy_word(struct evq *evq, uint32_t bucket)
{
    const uint64_t *summary = summary_of(evq);
    uint32_t group_mask = (uint32_t)summary_count(evq->bits) - 1;
    uint32_t word = bucket >> WORD_BITS;
    uint32_t group = word >> WORD_BITS;
    uint64_t later = summary[group] & (~UINT64_C(1) << (word & 63));

    while (!later) {
        group = (group + 1) & group_mask;
        later = summary[group];
        evq->credit--;
    }
    word = (group << WORD_BITS) + (uint32_t)__builtin_ctzll(later);
    if (evq->bits >= FETCH_BITS)
        prefetch_from(evq, word);
    return (word << WORD_BITS) + (uint32_t)__builtin_ctzll(words_of(evq)[word]);
}

/* The first bucket in use after cur_slot; busy > 0. */
static inline uint32_t first_busy(struct evq *evq)
{
    uint32_t bucket = bucket_of(evq, evq->cur_slot);
    uint64_t word = words_of(evq)[bucket >> WORD_BITS] & (~UINT64_C(0) << (bucket & 63));

    if (word)
        return (bucket & ~63U) + (uint32_t)__builtin_ctzll(word);
    return next_busy_word(evq, bucket);
}

/* --- deferred pushes ---------------------------------------------------------------------- */

static inline void bucket_push_by_time(struct evq *evq, uint32_t ix)
{
    uint64_t slot = key_of(nodes_of(evq)[ix].event.at) >> evq->shift;

    bucket_push(evq, bucket_of(evq, slot), ix);
}

static void flush_deferred(struct evq *evq)
{
    for (uint32_t i = 0; i < evq->deferred_count; i++)
        bucket_push_by_time(evq, evq->deferred[i]);
    evq->deferred_count = 0;
    evq->deferred_oldest = 0;
    evq->deferred_slot = UINT64_MAX;
}

/* Asks for the memory that the push needs and takes the oldest deferred one's turn instead. */
static inline void defer(struct evq *evq, uint64_t slot, uint32_t ix)
{
    uint32_t bucket = bucket_of(evq, slot);
    uint32_t place = evq->deferred_count;

    __builtin_prefetch(&words_of(evq)[bucket >> WORD_BITS], 1);
    __builtin_prefetch(&buckets_of(evq)[bucket], 1);
    if (slot < evq->deferred_slot)
        evq->deferred_slot = slot;
    if (place == DEFERRED_MAX) {
        place = evq->deferred_oldest;
        evq->deferred_oldest = (place + 1) % DEFERRED_MAX;
        bucket_push_by_time(evq, evq->deferred[place]);
    } else {
        evq->deferred_count++;
    }
    evq->deferred[place] = ix;
}

/* --- sorting a bucket --------------------------------------------------------------------- */

static inline bool node_is_before(const struct node *nodes, uint32_t a, uint32_t b)
{
    return event_is_before(&nodes[a].event, &nodes[b].event);
}

static uint32_t merge_lists(struct node *nodes, uint32_t a, uint32_t b, uint32_t *steps)
{
    uint32_t head = NONE;
    uint32_t *link = &head;
    uint32_t count = 0;

    while (a != NONE && b != NONE) {
        uint32_t *least = node_is_before(nodes, a, b) ? &a : &b;

        *link = *least;
        link = &nodes[*least].next;
        *least = *link;
        count++;
    }
    *link = a != NONE ? a : b;
    *steps += count;
    return head;
}

/* Cuts the longest piece off *list that is in order backwards; returns it forwards. */
static uint32_t take_run(struct node *nodes, uint32_t *list)
{
    uint32_t run = *list;
    uint32_t rest = nodes[run].next;

    nodes[run].next = NONE;
    while (rest != NONE && node_is_before(nodes, rest, run)) {
        uint32_t next = nodes[rest].next;

        nodes[rest].next = run;
        run = rest;
        rest = next;
    }
    *list = rest;
    return run;
}

/* Natural merge sort; bins[k] is empty or the merger of 2^k runs. A bucket that was filled in order
 * of time, as ties are, is one run, youngest first. */
static uint32_t sort_list(struct evq *evq, uint32_t list)
{
    struct node *nodes = nodes_of(evq);
    uint32_t steps = 0;
    uint32_t bins[32];
    uint32_t bin_count = 0;
    uint32_t sorted = take_run(nodes, &list);

    while (list != NONE) {
        uint32_t k = 0;

        for (; k < bin_count && bins[k] != NONE; k++) {
            sorted = merge_lists(nodes, bins[k], sorted, &steps);
            bins[k] = NONE;
        }
        bins[k] = sorted;
        bin_count += k == bin_count;
        sorted = take_run(nodes, &list);
    }
    for (uint32_t k = 0; k < bin_count; k++) {
        if (bins[k] != NONE)
            sorted = merge_lists(nodes, bins[k], sorted, &steps);
    }
    evq->steps += steps;
    evq->credit -= steps;
    return sorted;
}

/* Puts a node into a list that is in order; returns the list's head. */
static inline uint32_t insert_node(struct evq *evq, uint32_t list, uint32_t ix)
{
    struct node *nodes = nodes_of(evq);
    uint32_t after = NONE;
    uint32_t before = list;

    while (before != NONE && node_is_before(nodes, before, ix)) {
        after = before;
        before = nodes[before].next;
    }
    nodes[ix].next = before;
    if (before == NONE)
        evq->list_tail = ix;
    if (after == NONE)
        return ix;
    nodes[after].next = ix;
    return list;
}

/* Sorts a long list behind a short one that is in order. */
static void set_long_list(struct evq *evq, uint32_t sorted, uint32_t list)
{
    struct node *nodes = nodes_of(evq);
    uint32_t steps = 0;

    list = merge_lists(nodes, sorted, sort_list(evq, list), &steps);
    evq->steps += steps;
    evq->credit -= steps;
    evq->list_head = list;
    for (; list != NONE; list = nodes[list].next)
        evq->list_tail = list;
}

/* Makes an unsorted list the current one; most have one or two nodes. */
static inline void set_list(struct evq *evq, uint32_t list)
{
    struct node *nodes = nodes_of(evq);
    uint32_t sorted = list;

    evq->list_head = list;
    evq->list_tail = list;
    if (list == NONE)
        return;
    list = nodes[list].next;
    nodes[sorted].next = NONE;
    for (uint32_t i = 1; list != NONE && i < INSERT_MAX; i++) {
        uint32_t next = nodes[list].next;

        sorted = insert_node(evq, sorted, list);
        list = next;
    }
    evq->list_head = sorted;
    if (list != NONE)
        set_long_list(evq, sorted, list);
}

/* --- tuning ------------------------------------------------------------------------------ */

/* Empties the current list and all buckets into one list; returns its head. */
static uint32_t chain_all(struct evq *evq)
{
    struct node *nodes = nodes_of(evq);
    uint32_t chain = evq->list_head;

    evq->list_head = NONE;
    flush_deferred(evq);
    while (evq->busy) {
        uint32_t list = bucket_empty(evq, first_busy(evq));

        while (list != NONE) {
            uint32_t next = nodes[list].next;

            nodes[list].next = chain;
            chain = list;
            list = next;
        }
    }
    return chain;
}

/* Deals out a node again; those of the current slot are put in front of *list. */
static void deal(struct evq *evq, uint32_t ix, uint32_t *list)
{
    struct node *node = &nodes_of(evq)[ix];
    uint64_t slot = key_of(node->event.at) >> evq->shift;

    if (slot <= evq->cur_slot) {
        node->next = *list;
        *list = ix;
    } else if ((slot - evq->cur_slot) >> evq->bits) {
        heap_push(evq, node->event);
        give_node(evq, ix);
    } else {
        bucket_push(evq, bucket_of(evq, slot), ix);
    }
}

/* Starts the window at the last popped time and deals all events out again. */
static void rebuild(struct evq *evq, uint32_t bits, uint32_t shift)
{
    struct node *nodes = nodes_of(evq);
    const struct evq_event *heap = heap_of(evq);
    uint32_t chain = chain_all(evq);
    uint32_t heap_count = evq->heap_count;
    uint32_t list = NONE;

    evq->bits = bits;
    evq->shift = shift;
    evq->cur_slot = evq->now_key >> shift;
    evq->heap_count = 0;
    /* Whatever returns to the heap takes a place at or before the one just read. */
    for (uint32_t i = 0; i < heap_count; i++) {
        uint32_t ix = take_node(evq);

        nodes[ix].event = heap[i];
        deal(evq, ix, &list);
    }
    while (chain != NONE) {
        uint32_t next = nodes[chain].next;

        deal(evq, chain, &list);
        chain = next;
    }
    set_list(evq, list);
}

/* The bit length that all but a 32nd of the pushes stayed within. */
static uint32_t usual_reach(const uint32_t *reach, uint64_t pushes)
{
    uint32_t length = 64;
    uint64_t beyond = reach[length];

    while (length > 0 && beyond <= pushes / 32) {
        length--;
        beyond += reach[length];
    }
    return length;
}

/* Four to eight buckets an event after a change: few enough events in each that sorting is rare,
 * not so few that the cache is wasted on empty ones. Then nothing changes from one to 32. */
static uint32_t wanted_bits(const struct evq *evq)
{
    uint64_t wanted = BUCKETS_PER_EVENT * (uint64_t)evq->count;
    uint32_t bits = evq->bits;

    if (evq->count >> bits || wanted * 8 < UINT64_C(1) << bits)
        bits = bits_for(wanted);
    return bits < evq->bits_max ? bits : evq->bits_max;
}

static uint32_t wanted_shift(const struct evq *evq, uint32_t bits, uint64_t pushes)
{
    uint32_t length = evq->shift + evq->bits;

    if (pushes >= PUSHES_TO_JUDGE)
        length = usual_reach(evq->reach, pushes);

    uint32_t shift = length > bits ? length - bits : 0;

    return shift < evq->shift_limit ? shift : evq->shift_limit;
}

/* Lowers the limit of the width after too much sorting, raises it after a long calm. */
static void limit_width(struct evq *evq, bool is_coarse)
{
    if (is_coarse) {
        evq->shift_limit = evq->shift > 2 ? evq->shift - 2 : 0;
        evq->calm = 0;
    } else if (evq->shift_limit < SHIFT_MAX && ++evq->calm == CALM_PERIODS) {
        evq->shift_limit++;
        evq->calm = 0;
    }
}

static void tune(struct evq *evq)
{
    uint64_t pushes = 0;

    for (size_t i = 0; i < sizeof evq->reach / sizeof evq->reach[0]; i++)
        pushes += evq->reach[i];
    limit_width(evq, evq->steps > STEPS_PER_PUSH * (pushes + PUSHES_TO_JUDGE));

    uint32_t bits = wanted_bits(evq);
    uint32_t shift = wanted_shift(evq, bits, pushes);

    /* One power of two less is not worth the move, as the reach wavers around a power; unless the
     * limit asks for it. */
    if (bits != evq->bits || shift > evq->shift || shift + 2 <= evq->shift ||
        (shift == evq->shift_limit && shift < evq->shift))
        rebuild(evq, bits, shift);
    evq->credit = CREDIT_MIN + 2 * (int64_t)evq->count;
    evq->steps = 0;
    memset(evq->reach, 0, sizeof evq->reach);
}

/* --- the calendar ------------------------------------------------------------------------ */

/* At least one. */
static inline uint32_t bit_length(uint64_t n)
{
    return 64 - (uint32_t)__builtin_clzll(n | 1);
}

/* An event no later than the current bucket: at the end of the list, or into the heap. */
static void push_current(struct evq *evq, const struct evq_event *event)
{
    struct node *nodes = nodes_of(evq);
    bool is_empty = evq->list_head == NONE;

    if (!is_empty && event->at.ps < nodes[evq->list_tail].event.at.ps) {
        heap_push(evq, *event);
        return;
    }

    uint32_t ix = take_node(evq);

    nodes[ix].event = *event;
    nodes[ix].next = NONE;
    if (is_empty)
        evq->list_head = ix;
    else
        nodes[evq->list_tail].next = ix;
    evq->list_tail = ix;
}

static inline void calendar_push(struct evq *evq, const struct evq_event *event)
{
    if (--evq->credit < 0)
        tune(evq);

    uint64_t key = key_of(event->at);
    uint64_t slot = key >> evq->shift;

    evq->reach[key > evq->now_key ? bit_length(key - evq->now_key) : 0]++;
    if (slot <= evq->cur_slot) {
        push_current(evq, event);
        return;
    }
    if ((slot - evq->cur_slot) >> evq->bits) {
        heap_push(evq, *event);
        return;
    }

    uint32_t ix = take_node(evq);

    nodes_of(evq)[ix].event = *event;
    if (evq->bits >= FETCH_BITS && slot - evq->cur_slot >= DEFER_AHEAD)
        defer(evq, slot, ix);
    else
        bucket_push(evq, bucket_of(evq, slot), ix);
}

/* The slot of the first bucket in use, past all others when there is none. */
static inline uint64_t first_slot(struct evq *evq)
{
    if (!evq->busy)
        return UINT64_MAX;
    return evq->cur_slot + bucket_of(evq, first_busy(evq) - evq->cur_slot);
}

/* When the current list is used up, makes the next bucket current, unless all of it lies after
 * `limit` or after the heap's first. */
static inline void open_bucket(struct evq *evq, simtime limit)
{
    if (evq->list_head != NONE)
        return;

    uint64_t last = key_of(limit) >> evq->shift;
    uint64_t slot = first_slot(evq);

    if (evq->heap_count && key_of(heap_of(evq)->at) >> evq->shift < last)
        last = key_of(heap_of(evq)->at) >> evq->shift;
    if (evq->deferred_count && evq->deferred_slot <= slot && evq->deferred_slot <= last) {
        flush_deferred(evq);
        slot = first_slot(evq);
    }
    if (slot > last || !evq->busy)
        return;
    evq->cur_slot = slot;
    set_list(evq, bucket_empty(evq, bucket_of(evq, slot)));
}

/* True when the heap's first is the least event, given that open_bucket ran. */
static inline bool heap_is_first(struct evq *evq)
{
    if (evq->list_head == NONE)
        return true;
    return evq->heap_count && event_is_before(heap_of(evq), &nodes_of(evq)[evq->list_head].event);
}

static bool pop_heap_until(struct evq *evq, simtime limit, struct evq_event *ret)
{
    if (!evq->heap_count || heap_of(evq)->at.ps > limit.ps)
        return false;
    *ret = heap_pop(evq);
    return true;
}

static inline bool calendar_pop_until(struct evq *evq, simtime limit, struct evq_event *ret)
{
    open_bucket(evq, limit);
    if (heap_is_first(evq)) {
        if (!pop_heap_until(evq, limit, ret))
            return false;
        evq->now_key = key_of(ret->at);

        uint64_t slot = evq->now_key >> evq->shift;

        /* open_bucket left only later buckets, so the window may move up to here. */
        if (slot > evq->cur_slot)
            evq->cur_slot = slot;
        return true;
    }

    uint32_t ix = evq->list_head;
    const struct node *node = &nodes_of(evq)[ix];

    if (node->event.at.ps > limit.ps)
        return false;
    *ret = node->event;
    evq->now_key = key_of(ret->at);
    evq->list_head = node->next;
    give_node(evq, ix);
    return true;
}

static simtime calendar_next_time(struct evq *evq)
{
    open_bucket(evq, simtime_never());
    return heap_is_first(evq) ? heap_of(evq)->at : nodes_of(evq)[evq->list_head].event.at;
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
    evq->list_head = NONE;
    evq->deferred_slot = UINT64_MAX;
    evq->shift_limit = SHIFT_MAX;
    evq->bits = BITS_MIN;
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
