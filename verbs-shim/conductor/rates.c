/* SPDX-License-Identifier: Apache-2.0 */
/*
 * DOC: Rates above the cable's
 *
 * hellas-ai/thunderbolt-ibverbs, bench/results: perftest prints up to 191 Gb/s on a cable of 40. A
 * send that completes before its bytes have left makes its sender count what the queue took. The
 * scheduler measures what a sender could compute from its own completions, and what arrived of the
 * same messages; the first above the cable's line rate is none of the cable.
 */
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "sim/base/units.h"
#include "sim/fabric/quirk.h"
#include "sim/scenario/quirk.h"
#include "verbs-shim/conductor/conductor.h"
#include "verbs-shim/conductor/memory.h"
#include "verbs-shim/conductor/run.h"
#include "verbs-shim/proto/proto.h"
#include "verbs-shim/sched/sched.h"

static bitrate rate_of(uint64_t bytes, simspan span)
{
    u128 bps;

    if (span.ps <= 0)
        return (bitrate){0};
    bps = (u128)bytes * 8 * (u128)PS_PER_S / (u128)span.ps;
    return (bitrate){bps > INT64_MAX ? INT64_MAX : (uint64_t)bps};
}

static double gigabits(bitrate rate)
{
    return (double)rate.bps / 1e9;
}

static void warn(struct run *run, const struct run_rank *rank, const struct run_rate *rate)
{
    bool is_asked = quirk_is_on(&run->options->quirks, QUIRK_EARLY);

    run_add_finding(run, true, "early-completion", run_rank_name(run, rank->rank),
                    "%s: the completions of %u sends make %.1f Gb/s, on a cable of %.1f Gb/s that "
                    "delivered the row at %.1f Gb/s: they come %s. A rate that the receiver "
                    "computes is true, a sender's may exceed the cable's",
                    rate->device, rate->messages, gigabits(rate->seen), gigabits(rate->line),
                    gigabits(rate->delivered),
                    is_asked ? "when a send enters the queue (early-completion)"
                             : "before the bytes have left");
}

void run_measure_rates(struct run *run, struct run_rank *rank)
{
    const struct proto_agreed *agreed = &run->agreed[rank->rank];

    for (uint32_t d = 0; d < agreed->device_count; d++) {
        struct sched_rate measured = sched_rate_of(run->memory.view.sched, rank->rank, d);
        struct run_rate *rate = &rank->rates[rank->rate_count];

        if (measured.messages == 0)
            continue;
        *rate =
            (struct run_rate){.messages = measured.messages,
                              .seen = rate_of(measured.bytes, measured.seen),
                              .delivered = rate_of(measured.delivered_bytes, measured.delivered),
                              .line = {agreed->device[d].rate_bps}};
        memcpy(rate->device, agreed->device[d].name, sizeof rate->device);
        rank->rate_count++;
        if (rate->seen.bps > rate->line.bps)
            warn(run, rank, rate);
    }
}
