/* SPDX-License-Identifier: Apache-2.0 */
/* Streams of equal messages over several wires, run side by side by one thread. */
#ifndef TESTS_CLIENTS_UC_MESH_PHASE_H
#define TESTS_CLIENTS_UC_MESH_PHASE_H

#include <stdbool.h>
#include <stdint.h>

#include "tests/clients/uc_mesh/fault.h"
#include "tests/clients/uc_mesh/wire.h"

#define PHASE_STREAM_MAX 14U /* to and from seven peers */

enum dtype {
    DTYPE_FLOAT32,
    DTYPE_INT32
};
#define DTYPE_BYTES UINT64_C(4)

struct stream {
    struct wire *wire; /* borrowed */
    bool is_send;
    bool is_added;  /* receive: adds to the vector rather than overwriting it */
    char *base;     /* borrowed; where the slice is in the vector */
    uint64_t bytes; /* of the slice; the vector may end before the last message does */
    uint64_t posted;
    uint64_t done;  /* completed; in order, or it is a fault */
    uint64_t taken; /* receive: given to the vector */
};

struct phase {
    uint32_t number; /* of this thread, part of every wr_id */
    enum dtype dtype;
    unsigned size_class; /* of every message */
    uint64_t messages;   /* of every stream, at least one */
    bool is_shared_send; /* one staging buffer serves all sends */
    bool is_ordered;     /* message m is taken once it is here from everyone, in stream order */
    uint64_t staged;     /* shared: messages that are in the buffers */
    unsigned stream_count;
    struct stream streams[PHASE_STREAM_MAX];
};

/* Sets class and messages for slices of `slice` bytes, of which the largest class is given. */
void phase_cut(struct phase *phase, uint64_t slice, unsigned class_max);
struct stream *phase_add(struct phase *phase, struct wire *wire, bool is_send, char *base,
                         uint64_t bytes);
bool phase_run(struct phase *phase, struct fault *fault);

#endif
