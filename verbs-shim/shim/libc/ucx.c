/* SPDX-License-Identifier: Apache-2.0 */
/*
 * DOC: UCX
 *
 * Two names that UCX exports, and that give way to ours wherever UCX itself uses them: the switch
 * of its rdtsc, and what tells its workers apart. Of the latter two peers choose the one with the
 * greater number to order how they connect; made of the number of the thread and of an address, it
 * would let virtual times depend on what else the machine runs.
 */
#include <dlfcn.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "verbs-shim/shim/actor.h"
#include "verbs-shim/shim/export.h"

/* 0: UCX reads its clock with gettimeofday. */
// NOLINTNEXTLINE(readability-identifier-naming): the name is UCX's
SHIM_EXPORT extern int ucs_arch_x86_enable_rdtsc;
int ucs_arch_x86_enable_rdtsc = 0;

/* Spreads numbers that lie close together (the last steps of MurmurHash3, 64 bits). */
static uint64_t spread(uint64_t x)
{
    x = (x ^ (x >> 33)) * UINT64_C(0xff51afd7ed558ccd);
    x = (x ^ (x >> 33)) * UINT64_C(0xc4ceb9fe1a85ec53);
    return x ^ (x >> 33);
}

/* A number that no other call of the run gives; before the process belongs to one, UCX's own. */
SHIM_EXPORT uint64_t ucs_generate_uuid(uint64_t seed);
SHIM_EXPORT uint64_t ucs_generate_uuid(uint64_t seed)
{
    static _Atomic uint32_t count;
    const struct proto_agreed *agreed = client_agreed();
    /* UCX may have been loaded long after the first call of a wrapper: not in the table. */
    void *address = agreed == NULL ? dlsym(RTLD_NEXT, "ucs_generate_uuid") : NULL;
    uint64_t (*own)(uint64_t);

    if (address != NULL) {
        memcpy(&own, &address, sizeof own);
        return own(seed);
    }
    if (agreed != NULL)
        seed = agreed->client;
    return spread(((seed + 1) << 32) | atomic_fetch_add(&count, 1));
}
