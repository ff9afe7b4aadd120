/* SPDX-License-Identifier: Apache-2.0 */
/* Finds rdtsc and rdtscp in the bytes of one function. */
#ifndef VERBS_SHIM_SHIM_TSC_TSC_FIND_H
#define VERBS_SHIM_SHIM_TSC_TSC_FIND_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum tsc_kind {
    TSC_RDTSC,
    TSC_RDTSCP,
    TSC_LOADER, /* no read: the return of the function that the loader calls for debuggers */
};

struct tsc_site {
    uint64_t address;
    uint32_t object; /* for whoever keeps a table of them */
    uint8_t length;  /* of the instruction, prefixes included */
    uint8_t kind;    /* enum tsc_kind */
};

/* Room for one function at a time; grows to the largest. All zero: empty. */
struct tsc_scratch {
    uint8_t *mark;  /* owned: what a byte of the function is */
    uint32_t *todo; /* owned: addresses from which the flow has still to be followed */
    size_t size;    /* bytes of a function that fit */
};

void tsc_scratch_done(struct tsc_scratch *scratch);

/* Where the byte pattern of either instruction next occurs at or after `from`; `size`: nowhere. */
size_t tsc_next_candidate(const uint8_t *code, size_t size, size_t from);

/*
 * Calls `found` for each rdtsc or rdtscp that the function at `code` can execute, in ascending
 * order. An instruction counts if control reaches it from the function's start by direct flow, or
 * if it lies in a stretch that nothing reaches (cases of a switch, landing pads) and that stretch
 * reads as code from end to end. `address` is where code[0] runs.
 *
 * Returns: false, errno ENOMEM.
 */
bool tsc_find_sites(struct tsc_scratch *scratch, const uint8_t *code, size_t size, uint64_t address,
                    bool (*found)(void *ctx, const struct tsc_site *site), void *ctx);

#endif
