/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/core/support/program.h"

#include <stdlib.h>

const char *const spread_names[SPREAD_COUNT] = {
    [SPREAD_UNIFORM] = "uniform",         [SPREAD_TIES] = "ties", [SPREAD_BIMODAL] = "bimodal",
    [SPREAD_EXPONENTIAL] = "exponential", [SPREAD_FAR] = "far",   [SPREAD_PAST] = "past",
    [SPREAD_CLUSTERS] = "clusters",
};

uint64_t draw(struct draws *draws)
{
    uint64_t n =
        draws->seed * UINT64_C(0xd1342543de82ef95) + ++draws->index * UINT64_C(0x9e3779b97f4a7c15);

    n = (n ^ n >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    n = (n ^ n >> 27) * UINT64_C(0x94d049bb133111eb);
    return n ^ n >> 31;
}

static int64_t draw_ahead(struct draws *draws, enum spread spread, simtime now)
{
    uint64_t n = draw(draws);
    int64_t burst = 1000000;

    switch (spread) {
    case SPREAD_UNIFORM:
        return (int64_t)(n % 100000);
    case SPREAD_TIES:
        return (now.ps / burst + 1 + (int64_t)(n % 2)) * burst - now.ps;
    case SPREAD_BIMODAL:
        return n % 10 ? (int64_t)(n >> 32) % 1000 : 1000000000 + (int64_t)(n >> 32) % 1000;
    case SPREAD_EXPONENTIAL:
        return (int64_t)(n >> (24 + n % 40));
    case SPREAD_FAR:
        return n % 4 ? (int64_t)(n >> 10) % (3600 * PS_PER_S) : SIMTIME_NEVER_PS - (int64_t)(n % 3);
    case SPREAD_PAST:
        return (int64_t)(n % 2000) - 1500;
    case SPREAD_CLUSTERS:
        return (now.ps / PS_PER_S + 1) * PS_PER_S - now.ps + (int64_t)(n % 4096);
    case SPREAD_COUNT:
        break;
    }
    abort();
}

simtime draw_time(struct draws *draws, enum spread spread, simtime now)
{
    simtime at;

    if (__builtin_add_overflow(now.ps, draw_ahead(draws, spread, now), &at.ps))
        return simtime_never();
    return at;
}

struct evq *queue_new(enum evq_kind kind, uint32_t capacity)
{
    void *mem = aligned_alloc(64, evq_mem_size(kind, capacity));

    if (!mem)
        abort();
    return evq_init(mem, kind, capacity);
}

void queue_free(struct evq *evq)
{
    free(evq);
}
