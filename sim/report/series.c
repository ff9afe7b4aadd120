/* SPDX-License-Identifier: Apache-2.0 */
/*
 * DOC: Names of series
 *
 * A legend has room for a few words, so a name holds only what differs. Operation and library make
 * the base; two items with the same base get each attribute of the table below in which any two of
 * them differ; what is still equal is numbered.
 */
#include "sim/report/series.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "sim/base/units.h"
#include "sim/fabric/fabric.h"
#include "sim/report/human.h"

#define ATTRIBUTE_TEXT_MAX 64

typedef void print_fn(const struct run_item *item, char ret[ATTRIBUTE_TEXT_MAX]);

static void print_jaccl(const struct run_item *item, char ret[ATTRIBUTE_TEXT_MAX])
{
    (void)snprintf(ret, ATTRIBUTE_TEXT_MAX, "%s", jaccl_version_name(item->jaccl));
}

static void print_nodes(const struct run_item *item, char ret[ATTRIBUTE_TEXT_MAX])
{
    (void)snprintf(ret, ATTRIBUTE_TEXT_MAX, "%zu nodes", item->node_count);
}

static void print_ends(const struct run_item *item, char ret[ATTRIBUTE_TEXT_MAX])
{
    (void)snprintf(ret, ATTRIBUTE_TEXT_MAX, "rank %u to %u", item->from, item->to);
}

static void print_dtype(const struct run_item *item, char ret[ATTRIBUTE_TEXT_MAX])
{
    (void)snprintf(ret, ATTRIBUTE_TEXT_MAX, "%s", dtype_name(item->dtype));
}

static void print_reduction(const struct run_item *item, char ret[ATTRIBUTE_TEXT_MAX])
{
    (void)snprintf(ret, ATTRIBUTE_TEXT_MAX, "%s", reduction_name(item->reduction));
}

static void print_handoff(const struct run_item *item, char ret[ATTRIBUTE_TEXT_MAX])
{
    (void)snprintf(ret, ATTRIBUTE_TEXT_MAX, "handoff %s", handoff_name(item->handoff));
}

static void print_wires(const struct run_item *item, char ret[ATTRIBUTE_TEXT_MAX])
{
    if (item->wires == 0)
        (void)snprintf(ret, ATTRIBUTE_TEXT_MAX, "all cables");
    else
        (void)snprintf(ret, ATTRIBUTE_TEXT_MAX, "%u cable%s", item->wires,
                       item->wires == 1 ? "" : "s");
}

static void print_chunk(const struct run_item *item, char ret[ATTRIBUTE_TEXT_MAX])
{
    char size[HUMAN_TEXT_MAX];

    human_size(size, item->chunk);
    (void)snprintf(ret, ATTRIBUTE_TEXT_MAX, "chunk %s",
                   item->chunk.bytes == 0 ? "by the library" : size);
}

static void print_depth(const struct run_item *item, char ret[ATTRIBUTE_TEXT_MAX])
{
    if (item->depth == 0)
        (void)snprintf(ret, ATTRIBUTE_TEXT_MAX, "depth by the library");
    else
        (void)snprintf(ret, ATTRIBUTE_TEXT_MAX, "depth %u", item->depth);
}

static void print_count(const struct run_item *item, char ret[ATTRIBUTE_TEXT_MAX])
{
    (void)snprintf(ret, ATTRIBUTE_TEXT_MAX, "%llu messages", (unsigned long long)item->count);
}

static void print_root(const struct run_item *item, char ret[ATTRIBUTE_TEXT_MAX])
{
    (void)snprintf(ret, ATTRIBUTE_TEXT_MAX, "root %u", item->root);
}

static void print_duplex(const struct run_item *item, char ret[ATTRIBUTE_TEXT_MAX])
{
    (void)snprintf(ret, ATTRIBUTE_TEXT_MAX, "%s", item->is_duplex ? "both ways" : "one way");
}

static void print_trip(const struct run_item *item, char ret[ATTRIBUTE_TEXT_MAX])
{
    (void)snprintf(ret, ATTRIBUTE_TEXT_MAX, "%s", item->is_round_trip ? "round trip" : "half");
}

static void print_cold(const struct run_item *item, char ret[ATTRIBUTE_TEXT_MAX])
{
    (void)snprintf(ret, ATTRIBUTE_TEXT_MAX, "%s", item->is_cold ? "asleep" : "awake");
}

static void print_gpu_copy(const struct run_item *item, char ret[ATTRIBUTE_TEXT_MAX])
{
    (void)snprintf(ret, ATTRIBUTE_TEXT_MAX, "%s", item->has_gpu_copy ? "GPU copy" : "no GPU copy");
}

static void print_storage(const struct run_item *item, char ret[ATTRIBUTE_TEXT_MAX])
{
    (void)snprintf(ret, ATTRIBUTE_TEXT_MAX, "%s", item->has_storage ? "files" : "memory");
}

static void print_receiver(const struct run_item *item, char ret[ATTRIBUTE_TEXT_MAX])
{
    char rate[HUMAN_TEXT_MAX];

    human_byte_rate(rate, item->receiver_check);
    if (item->receiver_check.bps == 0)
        (void)snprintf(ret, ATTRIBUTE_TEXT_MAX, "not verified");
    else
        (void)snprintf(ret, ATTRIBUTE_TEXT_MAX, "verified at %s", rate);
}

static void print_completion(const struct run_item *item, char ret[ATTRIBUTE_TEXT_MAX])
{
    (void)snprintf(ret, ATTRIBUTE_TEXT_MAX, "completes when %s",
                   item->send_completion == FABRIC_SEND_WHEN_SENT ? "sent" : "queued");
}

static print_fn *const attributes[] = {
    print_jaccl, print_nodes,     print_ends,     print_wires,   print_handoff,  print_dtype,
    print_chunk, print_depth,     print_count,    print_root,    print_duplex,   print_trip,
    print_cold,  print_reduction, print_gpu_copy, print_storage, print_receiver, print_completion,
};

static bool has_same_base(const struct run_item *a, const struct run_item *b)
{
    return a->op == b->op && a->library == b->library;
}

/* Does any item with the same base differ from this one in the attribute? */
static bool is_telling(const struct run_item *items, size_t count, size_t index, print_fn *print)
{
    char own[ATTRIBUTE_TEXT_MAX];
    char other[ATTRIBUTE_TEXT_MAX];

    print(&items[index], own);
    for (size_t i = 0; i < count; i++) {
        if (!has_same_base(&items[i], &items[index]))
            continue;
        print(&items[i], other);
        if (strcmp(own, other) != 0)
            return true;
    }
    return false;
}

static const char *base_name(const struct run_item *items, size_t count, size_t index,
                             struct arena *arena)
{
    const char *library = run_library_name(items[index].library);

    for (size_t i = 0; i < count; i++) {
        if (items[i].op != items[index].op)
            return arena_format(arena, "%s %s", run_op_name(items[index].op), library);
    }
    return library;
}

/* Numbers the names that are still equal, from the second on. */
static void number_equals(const char **names, size_t count, struct arena *arena)
{
    for (size_t i = 0; i < count; i++) {
        uint32_t same = 1;

        for (size_t k = i + 1; k < count; k++) {
            if (strcmp(names[k], names[i]) == 0)
                names[k] = arena_format(arena, "%s (%u)", names[k], ++same);
        }
    }
}

const char **series_names(const struct run_item *items, size_t count, struct arena *arena)
{
    const char **names = arena_alloc_array(arena, count, sizeof *names);

    for (size_t i = 0; i < count; i++) {
        names[i] = base_name(items, count, i, arena);
        for (size_t a = 0; a < sizeof attributes / sizeof attributes[0]; a++) {
            char word[ATTRIBUTE_TEXT_MAX];

            if (!is_telling(items, count, i, attributes[a]))
                continue;
            attributes[a](&items[i], word);
            names[i] = arena_format(arena, "%s, %s", names[i], word);
        }
    }
    number_equals(names, count, arena);
    return names;
}
