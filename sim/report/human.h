/* SPDX-License-Identifier: Apache-2.0 */
/* Quantities for people: four significant digits and a unit. Programs read integers instead. */
#ifndef SIM_REPORT_HUMAN_H
#define SIM_REPORT_HUMAN_H

#include <stdint.h>

#include "sim/base/units.h"
#include "sim/fabric/param.h"

#define HUMAN_TEXT_MAX 40

/* "5.633 us" */
void human_span(char ret[HUMAN_TEXT_MAX], simspan span);
/* Payload, in bytes: "9.312 GB/s"; "-" for zero. */
void human_byte_rate(char ret[HUMAN_TEXT_MAX], bitrate rate);
/* Exact when it is a whole number of a binary unit: "64 KiB"; else "1.5 KiB" or "1000 B". */
void human_size(char ret[HUMAN_TEXT_MAX], bytecount size);
/* part / whole in percent, rounded to one decimal below 10 and to none from 10 on; "-" when whole
 * is not positive. */
void human_percent(char ret[HUMAN_TEXT_MAX], int64_t part, int64_t whole);
/* A parameter's value in the units that scenarios are written in: "74.5 Gb/s", "4 KiB". */
void human_param(char ret[HUMAN_TEXT_MAX], enum param_unit unit, int64_t value);
/* part / whole in percent, as text with three decimals: "12.346"; "0.000" when whole is 0. The
 * same on every machine, since only integers are divided. */
void percent_text(char ret[HUMAN_TEXT_MAX], int64_t part, int64_t whole);

#endif
