/* SPDX-License-Identifier: Apache-2.0 */
/* One UC queue pair to one neighbour over one cable, with its staging buffers. */
#ifndef TESTS_CLIENTS_UC_MESH_WIRE_H
#define TESTS_CLIENTS_UC_MESH_WIRE_H

#include <stdbool.h>
#include <stdint.h>

#include "tests/clients/uc_mesh/fault.h"
#include "tests/clients/uc_mesh/matrix.h"
#include "tests/clients/uc_mesh/platform.h"

#define WIRE_CLASSES   8U /* 4 KiB, 8 KiB, ... 512 KiB */
#define WIRE_CLASS_MIN UINT64_C(4096)
#define WIRE_DEPTH     2U

enum wire_use {
    WIRE_SEND,
    WIRE_RECV,
    WIRE_SHARED, /* one staging buffer for the sends to all peers */
    WIRE_USES
};

/* Page-aligned buffers of every class. */
struct wire_buffers {
    char *at[WIRE_CLASSES][WIRE_DEPTH]; /* owned */
};

/* What the two ends tell each other before RTR. */
struct wire_address {
    uint32_t qpn;
    uint32_t psn;
    uint32_t lid;
    uint8_t gid[16];
};

struct wire {
    char device[MATRIX_NAME_MAX];
    struct ibv_context *context;                             /* owned */
    struct ibv_pd *pd;                                       /* owned */
    struct ibv_cq *cq;                                       /* owned */
    struct ibv_qp *qp;                                       /* owned */
    struct wire_buffers own[2];                              /* WIRE_SEND, WIRE_RECV */
    const struct wire_buffers *shared;                       /* borrowed; NULL: none */
    struct ibv_mr *mrs[WIRE_USES][WIRE_CLASSES][WIRE_DEPTH]; /* owned */
    struct wire_address local;
};

static inline uint64_t wire_class_bytes(unsigned size_class)
{
    return WIRE_CLASS_MIN << size_class;
}

bool wire_buffers_make(struct wire_buffers *buffers, struct fault *fault);
void wire_buffers_free(struct wire_buffers *buffers);

/* Opens the device, makes the queue pair, registers every buffer, goes to INIT and fills
 * wire->local. What was made is released by wire_close, also after a failure. */
bool wire_open(struct wire *wire, const char *device, const struct wire_buffers *shared,
               struct fault *fault);
/* Goes to RTR and RTS. No rank may post before all have done so. */
bool wire_connect(struct wire *wire, const struct wire_address *remote, struct fault *fault);
bool wire_post(struct wire *wire, enum wire_use use, unsigned size_class, unsigned slot,
               uint64_t id, struct fault *fault);
/* The first failing call is the fault; the rest is released all the same. */
bool wire_close(struct wire *wire, struct fault *fault);

static inline char *wire_buffer(const struct wire *wire, enum wire_use use, unsigned size_class,
                                unsigned slot)
{
    return use == WIRE_SHARED ? wire->shared->at[size_class][slot]
                              : wire->own[use].at[size_class][slot];
}

#endif
