/* SPDX-License-Identifier: Apache-2.0 */
/* Quantities as types: an instant, a duration, a size and a rate do not mix by accident. */
#ifndef SIM_BASE_UNITS_H
#define SIM_BASE_UNITS_H

#include <stdint.h>

/* An instant: picoseconds since the start of the simulation. */
typedef struct {
    int64_t ps;
} simtime;

/* A duration in picoseconds; never negative unless a comment says so. */
typedef struct {
    int64_t ps;
} simspan;

/* A size or an offset in bytes. */
typedef struct {
    uint64_t bytes;
} bytecount;

/* A rate in bits a second, decimal (80 Gb/s is 80,000,000,000). */
typedef struct {
    uint64_t bps;
} bitrate;

/* The one extension of C that sums and products of quantities need. */
__extension__ typedef unsigned __int128 u128;

#define SIMTIME_NEVER_PS INT64_MAX

#define PS_PER_NS INT64_C(1000)
#define PS_PER_US INT64_C(1000000)
#define PS_PER_MS INT64_C(1000000000)
#define PS_PER_S  INT64_C(1000000000000)

static inline simtime simtime_never(void)
{
    return (simtime){SIMTIME_NEVER_PS};
}

static inline simtime simtime_add(simtime t, simspan d)
{
    return (simtime){t.ps + d.ps};
}

/* later - earlier; the caller knows the order. */
static inline simspan simtime_since(simtime later, simtime earlier)
{
    return (simspan){later.ps - earlier.ps};
}

static inline simtime simtime_max(simtime a, simtime b)
{
    return a.ps > b.ps ? a : b;
}

static inline simtime simtime_min(simtime a, simtime b)
{
    return a.ps < b.ps ? a : b;
}

static inline simspan simspan_add(simspan a, simspan b)
{
    return (simspan){a.ps + b.ps};
}

static inline simspan simspan_mul(simspan a, uint64_t n)
{
    return (simspan){a.ps * (int64_t)n};
}

static inline bytecount bytecount_min(bytecount a, bytecount b)
{
    return a.bytes < b.bytes ? a : b;
}

/* Time to serialise `size` at `rate`: rounds up, 128-bit product. rate.bps > 0. */
simspan bitrate_send_span(bitrate rate, bytecount size);

/*
 * The rate that moves `size` in `span`, rounded down; zero when span is not positive.
 */
bitrate bitrate_from_transfer(bytecount size, simspan span);

/* ceil(a / b) without overflow; b > 0. */
static inline uint64_t u64_div_ceil(uint64_t a, uint64_t b)
{
    return a / b + (a % b != 0);
}

#endif
