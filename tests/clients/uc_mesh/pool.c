/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/clients/uc_mesh/pool.h"

static void *work(void *data)
{
    struct pool_worker *worker = data;
    struct pool *pool = worker->pool;
    unsigned long seen = 0;

    (void)pthread_mutex_lock(&pool->lock);
    while (!pool->is_over) {
        if (pool->round == seen) {
            (void)pthread_cond_wait(&pool->work, &pool->lock);
            continue;
        }
        seen = pool->round;
        (void)pthread_mutex_unlock(&pool->lock);
        (void)pool->fn(pool->data, worker->index, &worker->fault);
        (void)pthread_mutex_lock(&pool->lock);
        if (--pool->running == 0)
            (void)pthread_cond_signal(&pool->idle);
    }
    (void)pthread_mutex_unlock(&pool->lock);
    return NULL;
}

bool pool_open(struct pool *pool, unsigned count, struct fault *fault)
{
    int code;

    *pool = (struct pool){.is_over = false};
    code = pthread_mutex_init(&pool->lock, NULL);
    if (!code)
        code = pthread_cond_init(&pool->work, NULL);
    if (!code)
        code = pthread_cond_init(&pool->idle, NULL);
    while (!code && pool->count < count) {
        struct pool_worker *worker = &pool->workers[pool->count];

        worker->pool = pool;
        worker->index = pool->count;
        code = pthread_create(&worker->thread, NULL, work, worker);
        pool->count += !code;
    }
    return !code || fault_errno(fault, code, "cannot start threads");
}

bool pool_run(struct pool *pool, pool_fn *fn, void *data, struct fault *fault)
{
    bool ok;

    (void)pthread_mutex_lock(&pool->lock);
    pool->fn = fn;
    pool->data = data;
    pool->running = pool->count;
    pool->round++;
    (void)pthread_cond_broadcast(&pool->work);
    (void)pthread_mutex_unlock(&pool->lock);
    ok = fn(data, pool->count, fault);
    (void)pthread_mutex_lock(&pool->lock);
    while (pool->running > 0)
        (void)pthread_cond_wait(&pool->idle, &pool->lock);
    (void)pthread_mutex_unlock(&pool->lock);
    for (unsigned i = 0; i < pool->count; i++) {
        if (pool->workers[i].fault.text[0])
            ok = fault_set(fault, "%s", pool->workers[i].fault.text);
    }
    return ok;
}

void pool_close(struct pool *pool)
{
    (void)pthread_mutex_lock(&pool->lock);
    pool->is_over = true;
    (void)pthread_cond_broadcast(&pool->work);
    (void)pthread_mutex_unlock(&pool->lock);
    for (unsigned i = 0; i < pool->count; i++)
        (void)pthread_join(pool->workers[i].thread, NULL);
    (void)pthread_cond_destroy(&pool->idle);
    (void)pthread_cond_destroy(&pool->work);
    (void)pthread_mutex_destroy(&pool->lock);
}
