/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/clients/uc_mesh/data.h"

#include <string.h>

/* Sums over eight ranks stay below 2^13: exact in float32 in every order. */
static uint32_t value(uint64_t i, unsigned rank, uint32_t repetition)
{
    return (uint32_t)((7 * i + UINT64_C(131) * rank + UINT64_C(17) * repetition) % 1009);
}

static void store(char *at, uint32_t number, enum dtype dtype)
{
    if (dtype == DTYPE_FLOAT32) {
        float f = (float)number;

        memcpy(at, &f, sizeof f);
    } else {
        memcpy(at, &number, sizeof number);
    }
}

void data_fill(const struct collective *collective, uint32_t repetition)
{
    const struct group *group = collective->group;
    size_t bytes = (size_t)(collective->elements * DTYPE_BYTES);
    unsigned parts = collective->op == OP_ALL_GATHER ? group->ranks : 1;

    for (uint64_t i = 0; i < collective->elements; i++)
        store(collective->input + i * DTYPE_BYTES, value(i, group->rank, repetition),
              collective->dtype);
    /* All ones is a value that no result has. */
    memset(collective->output, 0xff, bytes * parts);
    if (collective->op == OP_ALL_GATHER)
        memcpy(collective->output + group->rank * bytes, collective->input, bytes);
    else if (collective->op != OP_SEND_RECV)
        memcpy(collective->output, collective->input, bytes);
}

static uint32_t expected(const struct collective *collective, uint64_t i, uint32_t repetition)
{
    uint32_t sum = 0;

    if (collective->op == OP_ALL_GATHER)
        return value(i % collective->elements, (unsigned)(i / collective->elements), repetition);
    if (collective->op == OP_SEND_RECV)
        return value(i, 0, repetition);
    for (unsigned rank = 0; rank < collective->group->ranks; rank++)
        sum += value(i, rank, repetition);
    return sum;
}

/* The elements that this rank's result consists of. */
static void find_range(const struct collective *collective, uint64_t *ret_begin, uint64_t *ret_end)
{
    const struct group *group = collective->group;
    uint64_t block = collective_block(collective->elements, group->ranks);

    *ret_begin = 0;
    *ret_end = collective->elements;
    if (collective->op == OP_ALL_GATHER)
        *ret_end *= group->ranks;
    if (collective->op == OP_SEND_RECV && group->rank != 1)
        *ret_end = 0;
    if (collective->op != OP_REDUCE_SCATTER)
        return;
    *ret_begin = group->rank * block;
    if (*ret_begin > collective->elements)
        *ret_begin = collective->elements;
    if (*ret_begin + block < *ret_end)
        *ret_end = *ret_begin + block;
}

uint64_t data_check(const struct collective *collective, uint32_t repetition, uint64_t *ret_first)
{
    uint64_t wrong = 0;
    uint64_t begin;
    uint64_t end;

    find_range(collective, &begin, &end);
    for (uint64_t i = begin; i < end; i++) {
        char right[DTYPE_BYTES];

        store(right, expected(collective, i, repetition), collective->dtype);
        if (!memcmp(right, collective->output + i * DTYPE_BYTES, sizeof right))
            continue;
        if (wrong == 0)
            *ret_first = i;
        wrong++;
    }
    return wrong;
}
