/* SPDX-License-Identifier: Apache-2.0 */
/* Threads that run one function side by side with the caller. */
#ifndef TESTS_CLIENTS_UC_MESH_POOL_H
#define TESTS_CLIENTS_UC_MESH_POOL_H

#include <pthread.h>
#include <stdbool.h>

#include "tests/clients/uc_mesh/fault.h"
#include "tests/clients/uc_mesh/matrix.h"

typedef bool pool_fn(void *data, unsigned index, struct fault *fault);

struct pool_worker {
    struct pool *pool; /* borrowed */
    unsigned index;
    pthread_t thread;
    struct fault fault;
};

struct pool {
    unsigned count; /* threads beside the caller */
    pthread_mutex_t lock;
    pthread_cond_t work; /* a new round, or the end */
    pthread_cond_t idle; /* nobody is running */
    unsigned long round;
    unsigned running;
    bool is_over;
    pool_fn *fn;
    void *data; /* borrowed */
    struct pool_worker workers[MATRIX_WIRE_MAX];
};

bool pool_open(struct pool *pool, unsigned count, struct fault *fault);
/* Calls fn(data, i) for i of 0 .. count - 1 on the threads and for `count` here; returns when all
 * have returned. */
bool pool_run(struct pool *pool, pool_fn *fn, void *data, struct fault *fault);
void pool_close(struct pool *pool);

#endif
