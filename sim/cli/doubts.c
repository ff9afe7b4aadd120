/* SPDX-License-Identifier: Apache-2.0 */
/*
 * DOC: Doubts
 *
 * A figure hides what it leaves out: that the check refuses a cabling which the engine can run all
 * the same, that a fault came after the last event, that a deadlock kept later entries from
 * running. Each of them is a warning of the result.
 */
#include "sim/cli/doubts.h"

#include <stdbool.h>
#include <string.h>

#include "sim/base/arena.h"
#include "sim/base/err.h"
#include "sim/base/text.h"
#include "sim/base/units.h"
#include "sim/fabric/quirk.h"
#include "sim/report/human.h"
#include "sim/scenario/quirk.h"

struct doubts {
    struct cli *cli;
    const struct scenario *scenario;
    const struct check_result *check;
    const struct sim_result *result;
    const char **texts;
    size_t count;
};

/* One warning for all errors of the check, each kind once: errors stand first and sorted. */
static void doubt_feasibility(struct doubts *d)
{
    struct text names;

    text_init(&names, &d->cli->arena);
    for (size_t i = 0; i < d->check->finding_count; i++) {
        const struct finding *finding = &d->check->findings[i];
        bool is_same = i > 0 && strcmp(d->check->findings[i - 1].id, finding->id) == 0;

        if (finding->severity == CHECK_ERROR && !is_same)
            text_add_item(&names, ", ", finding->id);
    }
    if (!d->check->is_feasible)
        d->texts[d->count++] =
            arena_format(&d->cli->arena,
                         "the check calls this scenario infeasible (%s): Macs would not run it",
                         names.bytes);
}

/* A fault that nobody saw. */
static void doubt_faults(struct doubts *d)
{
    char at[HUMAN_TEXT_MAX];
    char end[HUMAN_TEXT_MAX];

    human_span(end, (simspan){d->result->end.ps});
    for (size_t i = 0; i < d->scenario->fault_count; i++) {
        const struct fault *fault = &d->scenario->faults[i];

        if (fault->kind != FAULT_RATE || fault->at.ps < d->result->end.ps ||
            d->result->is_partial || d->result->is_deadlock)
            continue;
        human_span(at, (simspan){fault->at.ps});
        d->texts[d->count++] = arena_format(
            &d->cli->arena,
            "%s:%u:%u: the fault at %s came after the end of the run, at %s: it had no "
            "effect",
            fault->pos.file, fault->pos.line, fault->pos.col, at, end);
    }
}

static void doubt_frames(struct doubts *d)
{
    for (size_t i = 0; i < d->scenario->fault_count; i++) {
        if (d->scenario->faults[i].kind == FAULT_FRAMES && d->result->frames_lost == 0 &&
            d->result->frames_corrupted == 0) {
            d->texts[d->count++] =
                arena_format(&d->cli->arena,
                             "no frame of %llu was lost or changed: the fault of "
                             "'frames' had no effect",
                             (unsigned long long)d->result->frames);
            return;
        }
    }
}

/* A deadlock is the end of the time line. */
static void doubt_rest(struct doubts *d)
{
    size_t wanted = 0;

    for (size_t i = 0; i < d->scenario->item_count; i++)
        wanted += d->scenario->items[i].size_count;
    if (d->result->is_deadlock && d->result->row_count < wanted)
        d->texts[d->count++] =
            arena_format(&d->cli->arena,
                         "the deadlock ended the run: %zu of %zu rows were not simulated",
                         wanted - d->result->row_count, wanted);
}

/* Most quirks are of what a program meets in a verbs call. */
static void doubt_quirks(struct doubts *d)
{
    const struct quirks *quirks = &d->scenario->quirks;

    for (int i = 0; i < QUIRK_COUNT; i++) {
        const struct src_pos *key = &quirks->keys[i];

        if (quirk_is_on(quirks, (enum quirk)i) && !quirk_acts((enum quirk)i, QUIRK_IN_SIM))
            d->texts[d->count++] =
                arena_format(&d->cli->arena,
                             "%s:%u:%u: the quirk '%s' has no effect here, only "
                             "on programs under 'tbmesh run'",
                             key->file, key->line, key->col, quirk_name((enum quirk)i));
    }
}

void doubts_add(struct cli *cli, const struct scenario *scenario, const struct check_result *check,
                const struct sim_result *result, struct report_head *head)
{
    struct doubts d = {
        .cli = cli,
        .scenario = scenario,
        .check = check,
        .result = result,
        .texts = arena_alloc_array(&cli->arena,
                                   head->warning_count + scenario->fault_count + QUIRK_COUNT + 3,
                                   sizeof *d.texts),
    };

    for (size_t i = 0; i < head->warning_count; i++)
        d.texts[d.count++] = head->warnings[i];
    doubt_feasibility(&d);
    doubt_faults(&d);
    doubt_frames(&d);
    doubt_rest(&d);
    doubt_quirks(&d);
    head->warnings = d.texts;
    head->warning_count = d.count;
}
