/* SPDX-License-Identifier: Apache-2.0 */
#include "verbs-shim/conductor/text_run.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stddef.h>

#include "sim/base/units.h"
#include "sim/report/human.h"
#include "sim/report/table.h"
#include "verbs-shim/conductor/json_run.h"
#include "verbs-shim/proto/proto.h"

#define CALLS "calls"
#define WAITS "waited for"

static const struct table_column rank_columns[] = {
    {"rank", NULL, false},        {"Mac", NULL, true},       {"time", NULL, false},
    {"posts", CALLS, false},      {"polls", CALLS, false},   {"other", CALLS, false},
    {"completion", WAITS, false}, {"thread", WAITS, false},  {"sleep", WAITS, false},
    {"memory", WAITS, false},     {"outside", WAITS, false}, {"hand-overs", NULL, false},
};

void text_print_verdict(const struct run_outcome *outcome, struct text *ret)
{
    text_add(ret, "verdict %s, %.3f us of virtual time, trace hash %016" PRIx64 "%s\n",
             run_verdict_text(outcome->verdict),
             (double)outcome->virtual_end.ps / (double)PS_PER_US, outcome->trace_hash,
             outcome->is_reproducible ? "" : ", not reproducible");
}

static void add_span(struct table *table, int64_t ps)
{
    char cell[HUMAN_TEXT_MAX];

    human_span(cell, (simspan){ps});
    table_add(table, "%s", ps == 0 ? "-" : cell);
}

static void add_calls(struct table *table, const struct proto_stats *stats)
{
    uint64_t posts = stats->calls[PROTO_CHARGE_POST_SEND] + stats->calls[PROTO_CHARGE_POST_MORE] +
                     stats->calls[PROTO_CHARGE_POST_RECV];
    uint64_t polls = stats->calls[PROTO_CHARGE_POLL_EMPTY] + stats->folded +
                     stats->calls[PROTO_CHARGE_POLL_ENTRY];
    uint64_t other = 0;

    for (size_t i = 0; i < PROTO_CHARGE_COUNT; i++)
        other += i == PROTO_CHARGE_REG_PAGE ? 0 : stats->calls[i];
    table_add(table, "%" PRIu64, posts);
    table_add(table, "%" PRIu64, polls);
    table_add(table, "%" PRIu64, other + stats->folded - posts - polls);
}

static void add_row(struct table *table, const struct run_rank *rank, simspan poll_empty)
{
    const struct proto_stats *stats = &rank->stats;

    table_add(table, "%u", rank->rank);
    table_add(table, "%s", rank->host);
    add_span(table, rank->ended.ps);
    add_calls(table, stats);
    add_span(table, run_waited_for_completions(stats, poll_empty));
    add_span(table, stats->waited[PROTO_WAIT_THREAD]);
    add_span(table, stats->waited[PROTO_WAIT_SLEEP]);
    add_span(table, stats->waited[PROTO_WAIT_MEMORY]);
    add_span(table, stats->waited[PROTO_WAIT_OUTSIDE]);
    table_add(table, "%" PRIu64, stats->handovers);
}

/* Who sent how much to whom; nothing when nobody sent anything. */
static void print_bytes(const struct run_outcome *outcome, struct arena *arena, struct text *ret)
{
    size_t count = outcome->rank_count;
    struct table_column *columns = arena_alloc_array(arena, count + 1, sizeof *columns);
    struct table table;
    uint64_t sum = 0;

    columns[0] = (struct table_column){"sent by", NULL, true};
    for (size_t i = 0; i < count; i++)
        columns[i + 1] = (struct table_column){outcome->ranks[i].host, "to", false};
    table_init(&table, arena, columns, count + 1);
    for (size_t i = 0; i < count; i++) {
        table_add(&table, "%s", outcome->ranks[i].host);
        for (size_t to = 0; to < count; to++) {
            char cell[HUMAN_TEXT_MAX];
            uint64_t bytes = outcome->ranks[i].bytes_to[to];

            human_size(cell, (bytecount){bytes});
            table_add(&table, "%s", bytes == 0 ? "-" : cell);
            sum += bytes;
        }
    }
    if (sum > 0) {
        text_add(ret, "\n");
        table_print(&table, 0, ret);
    }
}

void text_print_ranks(const struct run_outcome *outcome, struct arena *arena, struct text *ret)
{
    struct table table;

    table_init(&table, arena, rank_columns, sizeof rank_columns / sizeof rank_columns[0]);
    for (size_t i = 0; i < outcome->rank_count; i++)
        add_row(&table, &outcome->ranks[i], outcome->poll_empty);
    text_add(ret, "\n");
    table_print(&table, 0, ret);
    print_bytes(outcome, arena, ret);
    text_add(ret, "\n");
}
