/* SPDX-License-Identifier: Apache-2.0 */
/* Element-wise reductions on every element type, in integer arithmetic where IEEE leaves a choice.
 */
#ifndef SIM_WORKLOAD_DTYPE_H
#define SIM_WORKLOAD_DTYPE_H

#include <stdint.h>

#include "sim/workload/run.h"

/* into[i] = reduction(into[i], from[i]) for i < count. The arrays hold packed elements, need no
 * alignment and do not overlap. */
void dtype_reduce(enum dtype dtype, enum reduction reduction, void *into, const void *from,
                  uint64_t count);

/* Writes the element that stands for a small whole number; bool: number is odd. Negative numbers
 * wrap in unsigned types. Exact for |number| <= 256 in every floating type. */
void dtype_put_number(enum dtype dtype, void *element, int64_t number);

/* Conversions by bits; rounding is to nearest, ties to even. */
uint16_t float16_from_float(float value);
float float16_to_float(uint16_t bits);
uint16_t bfloat16_from_float(float value);
float bfloat16_to_float(uint16_t bits);

#endif
