/* SPDX-License-Identifier: Apache-2.0 */
/* Virtual time in the units and epochs of the C library's clocks. */
#ifndef VERBS_SHIM_SHIM_LIBC_VCLOCK_H
#define VERBS_SHIM_SHIM_LIBC_VCLOCK_H

#include <stdbool.h>
#include <sys/time.h>
#include <time.h>

#include "sim/base/units.h"

/* What the clock shows at `t`. */
struct timespec vclock_show(clockid_t clock, simtime t);
/* The time at which the clock shows `when`; before the run's start: zero. */
simtime vclock_read(clockid_t clock, const struct timespec *when);
/* A duration; simtime_never() when the sum lies beyond all times. */
simtime vclock_after(simtime now, const struct timespec *span);
simtime vclock_after_ms(simtime now, int ms);
/* The rest of a wait until `t`. */
struct timespec vclock_rest(simtime now, simtime t);

static inline bool vclock_is_span(const struct timespec *span)
{
    return span->tv_sec >= 0 && span->tv_nsec >= 0 && span->tv_nsec < 1000000000L;
}

/* Is this one of the clocks that run without the CPU? */
bool vclock_is_settable(clockid_t clock);

#endif
