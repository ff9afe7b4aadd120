/* SPDX-License-Identifier: Apache-2.0 */
/* What full bridges pass on: the rates of a storm that has saturated, for any graph. */
#ifndef SIM_BRIDGE_LAW_H
#define SIM_BRIDGE_LAW_H

#include <stdbool.h>
#include <stdint.h>

/* Rates are frames in a million seconds: whole numbers that keep six decimals of a frame a second.
 * At most ten thousand million frames a second. */
#define LAW_SECONDS UINT64_C(1000000)

struct law_link {
    uint32_t from, to; /* nodes */
    uint64_t most;     /* what the cable carries; 0: it is cut, or its port does not forward */
    uint64_t carried;  /* out: frames that pass */
    uint64_t dropped;  /* out: frames that found the queue full */
    uint64_t next;     /* scratch */
};

struct law_node {
    bool forwards;
    uint64_t most;     /* what its software takes in; 0: no limit */
    uint64_t arriving; /* out */
    uint64_t taken;    /* out: arriving, less what found the backlog full */
};

struct law {
    struct law_link *links; /* links 2k and 2k + 1 are the two directions of cable k */
    uint32_t link_count;
    struct law_node *nodes;
    uint32_t node_count;
};

/*
 * Starts with every cable full and iterates: a machine takes of what arrives as much as it can, in
 * equal shares, and floods it; a cable carries of what it is offered as much as it can.
 *
 * Returns:  whether that came to rest, within a part in ten million.
 * Validity: only where saturation was observed. A graph in which nothing multiplies, such as one
 *           ring, keeps whatever was put in, and this says that it is full.
 */
bool law_solve(struct law *law);

#endif
