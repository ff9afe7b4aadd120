/* SPDX-License-Identifier: Apache-2.0 */
/*
 * DOC: Units
 *
 * The only place that turns bytes into time and back. Products are taken in 128 bits, so that
 * neither 2^63 bytes nor a rate of one bit a second overflows on the way; results that do not
 * fit 63 bits of picoseconds (106 days) saturate instead of wrapping.
 */
#include "sim/base/units.h"

#define BIT_PS_PER_BYTE  (8 * (uint64_t)PS_PER_S)
#define BYTES_IN_64_BITS ((uint64_t)INT64_MAX / BIT_PS_PER_BYTE)

/*
 * Time to serialise `size` at `rate`.
 *
 * Returns:  ceil(size * 8 * 10^12 / rate.bps) picoseconds; zero for an empty message;
 *           SIMTIME_NEVER_PS when that does not fit.
 * Requires: rate.bps > 0.
 * Source:   docs/model.md, "Serialisation".
 */
simspan bitrate_send_span(bitrate rate, bytecount size)
{
    /* Most sizes are small enough for a division in one machine word, which is ten times faster. */
    if (size.bytes <= BYTES_IN_64_BITS) {
        uint64_t small = size.bytes * BIT_PS_PER_BYTE;

        return (simspan){(int64_t)u64_div_ceil(small, rate.bps)};
    }

    u128 bits_ps = (u128)size.bytes * 8U * (uint64_t)PS_PER_S;
    u128 span = (bits_ps + rate.bps - 1) / rate.bps;

    if (span > (u128)SIMTIME_NEVER_PS)
        return (simspan){SIMTIME_NEVER_PS};
    return (simspan){(int64_t)span};
}

/*
 * Mean rate of a transfer.
 *
 * Returns:  floor(size * 8 * 10^12 / span) bits a second; zero when span is not positive or the
 *           rate does not fit 64 bits.
 */
bitrate bitrate_from_transfer(bytecount size, simspan span)
{
    if (span.ps <= 0)
        return (bitrate){0};

    u128 bps = (u128)size.bytes * 8U * (uint64_t)PS_PER_S / (uint64_t)span.ps;

    if (bps > UINT64_MAX)
        return (bitrate){0};
    return (bitrate){(uint64_t)bps};
}
