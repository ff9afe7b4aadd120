/* SPDX-License-Identifier: Apache-2.0 */
/* Waiting for another thread of this process. */
#ifndef VERBS_SHIM_SHIM_LIBC_SYNC_H
#define VERBS_SHIM_SHIM_LIBC_SYNC_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include "verbs-shim/shim/actor.h"
#include "verbs-shim/shim/libc/wait.h"

struct sync_waiter;

/*
 * Joins the queue of `key`, an address. Then check the condition once more, then wait.
 * `is_shared`: another process may do the waking.
 * NULL: too many wait at once; sync_wait then returns at once as if woken.
 */
struct sync_waiter *sync_enter(const void *key, bool is_shared);
/* Until woken or `deadline`. The waiter is gone afterwards. */
enum wait_end sync_wait(struct actor *a, struct sync_waiter *w, simtime deadline);
bool sync_is_woken(const struct sync_waiter *w);
/* Leaves the queue without having waited. */
void sync_leave(struct sync_waiter *w);

/*
 * Wakes the first `count` of the queue. `a`: NULL from a thread that is not under the clock.
 * Returns: how many.
 */
uint32_t sync_wake(struct actor *a, const void *key, uint32_t count);
/* Lets the thread's wait, if it is in one, end as if woken. */
void sync_wake_thread(struct actor *a, pthread_t thread);
/* Moves what sync_wake(from, keep) leaves over to the queue of `to`; how many. */
uint32_t sync_requeue(const void *from, const void *to, uint32_t count);

/* In a child of fork: nobody waits. */
void sync_forget_all(void);

#endif
