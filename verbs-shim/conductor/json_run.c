/* SPDX-License-Identifier: Apache-2.0 */
#include "verbs-shim/conductor/json_run.h"

#include <json-glib/json-glib.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "sim/base/text.h"
#include "sim/report/json_report.h"
#include "verbs-shim/conductor/conductor.h"
#include "verbs-shim/conductor/quirk.h"
#include "verbs-shim/proto/proto.h"

static const char *const charge_names[] = {
#define X(id, name) name,
    PROTO_CHARGE_LIST(X)
#undef X
};

static const char *const park_names[] = {
#define X(id, name) name,
    PROTO_PARK_LIST(X)
#undef X
};

const char *run_verdict_text(enum run_verdict verdict)
{
    static const char *const names[] = {[RUN_OK] = "ok",
                                        [RUN_FAILED] = "failed",
                                        [RUN_DEADLOCK] = "deadlock",
                                        [RUN_LINK_LOST] = "link-lost",
                                        [RUN_FINDING] = "finding",
                                        [RUN_CRASHED] = "crashed"};

    return names[verdict];
}

static void begin_object(JsonBuilder *builder, const char *name)
{
    json_builder_set_member_name(builder, name);
    json_builder_begin_object(builder);
}

static void add_numbers(JsonBuilder *builder, const char *name, const uint64_t *values,
                        size_t count)
{
    json_begin_array(builder, name);
    for (size_t i = 0; i < count; i++)
        json_builder_add_int_value(builder, (gint64)values[i]);
    json_builder_end_array(builder);
}

static void add_rank(JsonBuilder *builder, const struct run_rank *rank, size_t rank_count)
{
    json_builder_begin_object(builder);
    json_add_int(builder, "rank", rank->rank);
    json_add_text(builder, "host", rank->host);
    json_builder_set_member_name(builder, "exit");
    if (rank->is_signal)
        json_builder_add_null_value(builder);
    else
        json_builder_add_int_value(builder, rank->exit);
    json_add_int(builder, "signal", rank->is_signal ? rank->exit : 0);
    json_add_bool(builder, "stopped", rank->is_stopped);
    json_add_bool(builder, "opened_device", rank->opened_device);
    begin_object(builder, "calls");
    for (size_t i = 0; i < PROTO_CHARGE_COUNT; i++)
        json_add_int(builder, charge_names[i], (int64_t)rank->stats.calls[i]);
    json_add_int(builder, "folded_polls", (int64_t)rank->stats.folded);
    json_builder_end_object(builder);
    begin_object(builder, "waited_ps");
    for (size_t i = 0; i < PROTO_PARK_EXIT; i++)
        json_add_int(builder, park_names[i], rank->stats.waited[i]);
    json_builder_end_object(builder);
    add_numbers(builder, "bytes", rank->bytes_to, rank_count);
    add_numbers(builder, "messages", rank->messages_to, rank_count);
    json_builder_end_object(builder);
}

/* A name each; a value, where there is one, behind "=". */
static void add_quirks(JsonBuilder *builder, const struct quirks *quirks)
{
    json_begin_array(builder, "quirks");
    for (int i = 0; i < PROTO_QUIRK_COUNT; i++) {
        char text[128];

        if (!quirk_is_on(quirks, (enum proto_quirk)i))
            continue;
        (void)snprintf(text, sizeof text, "%s%s%s", quirk_name((enum proto_quirk)i),
                       quirks->values[i] ? "=" : "", quirks->values[i] ? quirks->values[i] : "");
        json_builder_add_string_value(builder, text);
    }
    json_builder_end_array(builder);
}

void json_print_run(const struct report_head *head, const struct run_outcome *outcome,
                    struct text *ret)
{
    JsonBuilder *builder = json_report_begin(head);

    json_add_text(builder, "verdict", run_verdict_text(outcome->verdict));
    json_add_int(builder, "virtual_ps", outcome->virtual_end.ps);
    json_add_hash(builder, "trace_hash", outcome->trace_hash);
    json_add_text(builder, "client_compute", "not charged");
    add_quirks(builder, &outcome->quirks);
    json_begin_array(builder, "ranks");
    for (size_t i = 0; i < outcome->rank_count; i++)
        add_rank(builder, &outcome->ranks[i], outcome->rank_count);
    json_builder_end_array(builder);
    json_begin_array(builder, "findings");
    for (size_t i = 0; i < outcome->finding_count; i++) {
        json_builder_begin_object(builder);
        json_add_text(builder, "id", outcome->findings[i].id);
        json_add_text(builder, "severity", outcome->findings[i].is_warning ? "warning" : "error");
        json_add_text(builder, "where", outcome->findings[i].where);
        json_add_text(builder, "why", outcome->findings[i].text);
        json_builder_end_object(builder);
    }
    json_builder_end_array(builder);
    json_report_end(builder, ret);
}
