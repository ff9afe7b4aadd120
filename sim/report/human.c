/* SPDX-License-Identifier: Apache-2.0 */
/*
 * DOC: Quantities for people
 *
 * Rounded by integers, half away from zero, so that the same value is the same text on every
 * machine.
 */
#include "sim/report/human.h"

#include <stdbool.h>
#include <stdio.h>

#include "sim/scenario/quantity.h"

struct human_unit {
    uint64_t scale;
    const char *name;
};

static const uint64_t powers[] = {1, 10, 100, 1000};

/* value * 10^decimals / scale, rounded. */
static uint64_t scaled(uint64_t value, uint64_t scale, uint32_t decimals)
{
    return (uint64_t)(((u128)value * powers[decimals] + scale / 2) / scale);
}

/* Four significant digits of value / unit.scale. */
static void print_digits(char ret[HUMAN_TEXT_MAX], uint64_t value, const struct human_unit *unit)
{
    uint32_t decimals = 3;

    while (decimals > 0 && scaled(value, unit->scale, decimals) >= 10000)
        decimals--;

    uint64_t digits = scaled(value, unit->scale, decimals);
    uint64_t whole = digits / powers[decimals];

    if (decimals == 0 || unit->scale == 1)
        (void)snprintf(ret, HUMAN_TEXT_MAX, "%llu %s",
                       (unsigned long long)scaled(value, unit->scale, 0), unit->name);
    else
        (void)snprintf(ret, HUMAN_TEXT_MAX, "%llu.%0*llu %s", (unsigned long long)whole,
                       (int)decimals, (unsigned long long)(digits % powers[decimals]), unit->name);
}

/* The largest unit that the value reaches; units ascend. */
static void print_in_units(char ret[HUMAN_TEXT_MAX], uint64_t value, const struct human_unit *units,
                           size_t count)
{
    const struct human_unit *unit = &units[0];

    for (size_t i = 1; i < count; i++) {
        if (value >= units[i].scale)
            unit = &units[i];
    }
    print_digits(ret, value, unit);
}

void human_span(char ret[HUMAN_TEXT_MAX], simspan span)
{
    static const struct human_unit units[] = {
        {1, "ps"}, {PS_PER_NS, "ns"}, {PS_PER_US, "us"}, {PS_PER_MS, "ms"}, {PS_PER_S, "s"},
    };

    print_in_units(ret, span.ps > 0 ? (uint64_t)span.ps : 0, units, sizeof units / sizeof units[0]);
}

void human_byte_rate(char ret[HUMAN_TEXT_MAX], bitrate rate)
{
    static const struct human_unit units[] = {
        {8, "B/s"},           {8000, "kB/s"},          {8000000, "MB/s"},
        {8000000000, "GB/s"}, {8000000000000, "TB/s"},
    };

    if (rate.bps == 0)
        (void)snprintf(ret, HUMAN_TEXT_MAX, "-");
    else
        print_in_units(ret, rate.bps, units, sizeof units / sizeof units[0]);
}

void human_size(char ret[HUMAN_TEXT_MAX], bytecount size)
{
    static const char *const names[] = {"B", "KiB", "MiB", "GiB", "TiB"};
    uint32_t unit = 0;

    while (unit < 4 && size.bytes >= UINT64_C(1024) << (10 * unit))
        unit++;

    uint64_t scale = UINT64_C(1) << (10 * unit);
    uint64_t tenths = size.bytes / scale * 10 + size.bytes % scale * 10 / scale;

    if (size.bytes % scale == 0)
        (void)snprintf(ret, HUMAN_TEXT_MAX, "%llu %s", (unsigned long long)(size.bytes / scale),
                       names[unit]);
    else if (size.bytes * 10 % scale == 0)
        (void)snprintf(ret, HUMAN_TEXT_MAX, "%llu.%llu %s", (unsigned long long)(tenths / 10),
                       (unsigned long long)(tenths % 10), names[unit]);
    else
        (void)snprintf(ret, HUMAN_TEXT_MAX, "%llu B", (unsigned long long)size.bytes);
}

/* part * factor / whole, rounded half away from zero, at most INT64_MAX; whole > 0. */
static int64_t ratio(int64_t part, int64_t factor, int64_t whole)
{
    bool is_negative = part < 0;
    uint64_t magnitude = is_negative ? -(uint64_t)part : (uint64_t)part;
    u128 exact = ((u128)magnitude * (uint64_t)factor + (uint64_t)whole / 2) / (uint64_t)whole;
    int64_t rounded = exact > (u128)INT64_MAX ? INT64_MAX : (int64_t)exact;

    return is_negative ? -rounded : rounded;
}

void human_percent(char ret[HUMAN_TEXT_MAX], int64_t part, int64_t whole)
{
    if (whole <= 0) {
        (void)snprintf(ret, HUMAN_TEXT_MAX, "-");
        return;
    }

    int64_t tenths = ratio(part, 1000, whole);
    int64_t magnitude = tenths < 0 ? -tenths : tenths;

    if (magnitude == 0)
        (void)snprintf(ret, HUMAN_TEXT_MAX, "0");
    else if (magnitude < 100)
        (void)snprintf(ret, HUMAN_TEXT_MAX, "%s%lld.%lld", tenths < 0 ? "-" : "",
                       (long long)(magnitude / 10), (long long)(magnitude % 10));
    else
        (void)snprintf(ret, HUMAN_TEXT_MAX, "%lld", (long long)ratio(part, 100, whole));
}

void human_param(char ret[HUMAN_TEXT_MAX], enum param_unit unit, int64_t value)
{
    quantity_format(ret, quantity_kind_of_param(unit), value);
}

void percent_text(char ret[HUMAN_TEXT_MAX], int64_t part, int64_t whole)
{
    int64_t thousandths = whole > 0 ? ratio(part, 100000, whole) : 0;
    int64_t magnitude = thousandths < 0 ? -thousandths : thousandths;

    (void)snprintf(ret, HUMAN_TEXT_MAX, "%s%lld.%03lld", thousandths < 0 ? "-" : "",
                   (long long)(magnitude / 1000), (long long)(magnitude % 1000));
}
