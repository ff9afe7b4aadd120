/* SPDX-License-Identifier: Apache-2.0 */
/* Where datagrams go, and the header that they bring. */
#ifndef VERBS_SHIM_SHIM_VERBS_AH_H
#define VERBS_SHIM_SHIM_VERBS_AH_H

#include <stdbool.h>
#include <stdint.h>

#include <infiniband/verbs.h>

#include "verbs-shim/proto/proto.h"
#include "verbs-shim/shim/verbs/objects.h"

#define AH_MTU 4096U /* of a datagram */

struct ah {
    struct ibv_ah ibv;
    struct pd *pd;  /* borrowed */
    uint32_t place; /* PROTO_PLACE */
    uint8_t header[PROTO_GRH_BYTES];
};

/* Does it name a port, by GID or, on InfiniBand, by LID? */
bool ah_is_named(const struct ibv_ah_attr *attr);
/* What completions say of a header, as their service level. */
uint8_t ah_header_kind(const unsigned char *header);
/* The header of a datagram of `length` bytes. */
void ah_put_header(const struct ah *ah, uint32_t length, unsigned char *ret);

#endif
