/* SPDX-License-Identifier: Apache-2.0 */
/*
 * DOC: Quirks without an effect
 *
 * A switch that does nothing, and says nothing, is taken for one that does no harm. So what is on
 * and cannot act in this run is a warning, at the place that switched it on: a quirk of the other
 * profile; one of devices, with which every device is what it is without; a crash when the cable
 * is cut, where none is.
 *
 * And a queue pair that went stale: a program that gives up by itself leaves no deadlock to
 * explain.
 */
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "sim/base/arena.h"
#include "sim/base/err.h"
#include "sim/fabric/quirk.h"
#include "sim/report/human.h"
#include "sim/scenario/quirk.h"
#include "verbs-shim/conductor/agreed.h"
#include "verbs-shim/conductor/conductor.h"
#include "verbs-shim/conductor/memory.h"
#include "verbs-shim/conductor/run.h"
#include "verbs-shim/proto/proto.h"
#include "verbs-shim/sched/sched.h"

/* Is any rank told something else because of it? */
static bool is_told(const struct run *run, enum quirk quirk)
{
    struct conductor_options without = *run->options;

    without.quirks.on &= ~QUIRK_BIT_OF(quirk);
    for (uint32_t r = 0; r < run->rank_count; r++) {
        struct proto_agreed agreed;

        agreed_fill(run->scenario, &without, run->hosts, r, &agreed);
        agreed.quirks = run->agreed[r].quirks;
        if (memcmp(&agreed, &run->agreed[r], sizeof agreed) != 0)
            return true;
    }
    return false;
}

static bool is_any_cut(const struct run *run)
{
    for (uint32_t r = 0; r < run->rank_count; r++) {
        for (uint32_t d = 0; d < run->agreed[r].device_count; d++) {
            if (run->agreed[r].device[d].cut_at != PROTO_NEVER)
                return true;
        }
    }
    return false;
}

/* Why it cannot act here; NULL: it can. */
static const char *why_idle(const struct run *run, enum quirk quirk)
{
    bool is_verbs = run->options->profile == PROTO_VERBS;

    if (!quirk_acts(quirk, is_verbs ? QUIRK_IN_VERBS : QUIRK_IN_APPLE))
        return is_verbs ? "it is of profile apple" : "it is of profile verbs";
    if (quirk_acts(quirk, QUIRK_IN_DEVICES) && !is_told(run, quirk))
        return "these computers' devices are the same without it";
    if (quirk == QUIRK_CRASH_ON_CUT && !is_any_cut(run))
        return "the scenario cuts no cable of these computers";
    return NULL;
}

static const char *place_of(struct run *run, enum quirk quirk)
{
    const struct src_pos *key = &run->options->quirks.keys[quirk];

    if (!key->file)
        return arena_format(&run->arena, "--quirk %s", quirk_name(quirk));
    return arena_format(&run->arena, "%s:%u:%u", key->file, key->line, key->col);
}

void run_find_idle_quirks(struct run *run)
{
    for (int i = 0; i < QUIRK_COUNT; i++) {
        enum quirk quirk = (enum quirk)i;
        const char *why = quirk_is_on(&run->options->quirks, quirk) ? why_idle(run, quirk) : NULL;

        if (why)
            run_add_finding(run, true, "quirk-without-effect", place_of(run, quirk),
                            "the quirk '%s' has no effect: %s", quirk_name(quirk), why);
    }
    if (run->options->profile == PROTO_VERBS && run->options->variant == PROTO_OBSERVED)
        run_add_finding(run, true, "quirk-without-effect", "--variant observed",
                        "has no effect: it is of profile apple");
}

void run_find_stale(struct run *run)
{
    const struct sched *s = run->memory.view.sched;

    for (uint32_t i = 0; i < sched_qp_count(s); i++) {
        const struct sched_qp_info qp = sched_qp_info(s, i);
        char idle[HUMAN_TEXT_MAX];

        if (!qp.is_stale_sender)
            continue;
        human_span(idle, qp.idle);
        run_add_finding(run, true, "idle-stale", run_rank_name(run, qp.rank),
                        "%s, queue pair 0x%x: after %s without a message nothing that is sent on "
                        "it leaves, and nothing says so; a message a minute kept such a queue pair "
                        "alive (tmc/gojaccl)",
                        run->agreed[qp.rank].device[qp.device].name, qp.qp_num, idle);
    }
}
