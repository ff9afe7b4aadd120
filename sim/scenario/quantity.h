/* SPDX-License-Identifier: Apache-2.0 */
/* "850 ns", "80 Gb/s", "64 KiB": a user's quantities, read exactly, by integers only. */
#ifndef SIM_SCENARIO_QUANTITY_H
#define SIM_SCENARIO_QUANTITY_H

#include <stdbool.h>
#include <stdint.h>

#include "sim/base/err.h"
#include "sim/base/units.h"
#include "sim/fabric/param.h"

enum quantity_kind {
    QUANTITY_SPAN,   /* picoseconds: ps, ns, us, ms, s, min */
    QUANTITY_RATE,   /* bits a second: b/s to Tb/s, B/s to TB/s, KiB/s to TiB/s */
    QUANTITY_SIZE,   /* bytes: B, KB to TB, KiB to TiB */
    QUANTITY_LENGTH, /* millimetres: mm, cm, m */
    QUANTITY_COUNT,  /* a whole number without a unit */
    QUANTITY_CHANCE, /* a probability from 0 to 1, in parts per billion */
};

/*
 * Reads `text` as a quantity of that kind, in the unit named above, 0 to INT64_MAX.
 * On failure *ret is left alone and *reterr says what was found and what is accepted.
 */
bool quantity_parse(const char *text, enum quantity_kind kind, struct src_pos pos, int64_t *ret,
                    struct err *reterr);

bool quantity_parse_span(const char *text, struct src_pos pos, simspan *ret, struct err *reterr);
bool quantity_parse_rate(const char *text, struct src_pos pos, bitrate *ret, struct err *reterr);
bool quantity_parse_size(const char *text, struct src_pos pos, bytecount *ret, struct err *reterr);
/* A plain number with at most three decimals, in thousandths; a final "%" is accepted. */
bool quantity_parse_thousandths(const char *text, struct src_pos pos, int64_t *ret,
                                struct err *reterr);

#define QUANTITY_TEXT_MAX 40

/* Writes a value with its unit, to three decimals: "12.346 us", "64 KiB", "80 Gb/s". */
void quantity_format(char ret[QUANTITY_TEXT_MAX], enum quantity_kind kind, int64_t value);

/* The kind of a parameter's value. */
enum quantity_kind quantity_kind_of_param(enum param_unit unit);

#endif
