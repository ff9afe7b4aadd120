/* SPDX-License-Identifier: Apache-2.0 */
/*
 * DOC: Futexes
 *
 * Waits and wakes go to the queue of the word's address (sync.c). Priority inheritance and the bit
 * sets of FUTEX_WAIT_BITSET are not modelled: every waiter matches every wake. A wake of a word
 * that is not private also goes to the kernel, where a process outside the clock may wait.
 *
 * In memory that processes share the waker may be one of them, and the queue is not his: the waiter
 * waits outside until the word has changed. The wake is announced.
 */
#include "verbs-shim/shim/libc/futex.h"

#include <errno.h>
#include <linux/futex.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>

#include "verbs-shim/shim/libc/real.h"
#include "verbs-shim/shim/libc/sync.h"
#include "verbs-shim/shim/libc/vclock.h"

struct futex_call {
    _Atomic uint32_t *word;
    int operation; /* without flags */
    bool is_private;
    bool is_realtime;
    uint32_t value;
    const struct timespec *timeout;
    uint32_t count2; /* where the timeout stands, for operations without one */
    const void *word2;
    uint32_t value3;
};

static const void *address_of(long value)
{
    const void *pointer;

    memcpy(&pointer, &value, sizeof(pointer));
    return pointer;
}

static struct futex_call read_call(const long *arg)
{
    int operation = (int)arg[1];
    struct futex_call c = {
        .operation = operation & FUTEX_CMD_MASK,
        .is_private = (operation & FUTEX_PRIVATE_FLAG) != 0,
        .is_realtime = (operation & FUTEX_CLOCK_REALTIME) != 0,
        .value = (uint32_t)arg[2],
        .timeout = address_of(arg[3]),
        .count2 = (uint32_t)arg[3],
        .word2 = address_of(arg[4]),
        .value3 = (uint32_t)arg[5],
    };

    memcpy(&c.word, &arg[0], sizeof(c.word));
    return c;
}

static simtime deadline_of(const struct actor *a, const struct futex_call *c)
{
    if (!c->timeout)
        return simtime_never();
    if (c->operation == FUTEX_WAIT)
        return vclock_after(actor_now(a), c->timeout);
    return vclock_read(c->is_realtime ? CLOCK_REALTIME : CLOCK_MONOTONIC, c->timeout);
}

#define PAGE ((uintptr_t)4096)

/* Only memory that is shared can be mapped once more: mremap(2), old_size 0. */
static bool is_shared(const struct futex_call *c)
{
    void *page;
    void *twin;

    if (c->is_private)
        return false;
    // NOLINTNEXTLINE(performance-no-int-to-ptr): where the word's page begins
    page = (void *)((uintptr_t)c->word & ~(PAGE - 1));
    twin = mremap(page, 0, PAGE, MREMAP_MAYMOVE);
    return twin != MAP_FAILED && munmap(twin, PAGE) == 0;
}

struct shared_wait {
    const struct futex_call *call; /* borrowed */
    const struct sync_waiter *w;   /* borrowed */
};

static bool try_shared(void *ctx)
{
    const struct shared_wait *wait = ctx;

    return sync_is_woken(wait->w) || atomic_load(wait->call->word) != wait->call->value;
}

static enum wait_end wait_shared(struct actor *a, const struct futex_call *c, struct sync_waiter *w)
{
    struct shared_wait wait = {.call = c, .w = w};
    enum wait_end end = wait_outside(a, try_shared, &wait, deadline_of(a, c));

    sync_leave(w);
    actor_charge(a, PROTO_CHARGE_SYNC, 1);
    return end;
}

/* 0 or errno. */
static int futex_wait(struct actor *a, const struct futex_call *c)
{
    struct sync_waiter *w;
    bool shared;

    if (c->timeout && !vclock_is_span(c->timeout))
        return EINVAL;
    shared = is_shared(c);
    w = sync_enter(c->word, shared);
    if (atomic_load(c->word) != c->value) {
        sync_leave(w);
        return EAGAIN;
    }
    switch (shared && w ? wait_shared(a, c, w) : sync_wait(a, w, deadline_of(a, c))) {
    case WAIT_TIMEOUT:
        return ETIMEDOUT;
    case WAIT_SIGNAL:
        return EINTR;
    case WAIT_DONE:
    case WAIT_RESTART:
        break;
    }
    return 0;
}

static long wake_all_kinds(struct actor *a, const struct futex_call *c, uint32_t count)
{
    long woken = (long)sync_wake(a, c->word, count);

    if ((uint32_t)woken < count && (!c->is_private || client_has_loose())) {
        int flag = c->is_private ? FUTEX_PRIVATE_FLAG : 0;
        long more = REAL(syscall)(SYS_futex, c->word, FUTEX_WAKE | flag,
                                  (long)(count - (uint32_t)woken), NULL, NULL, 0);

        woken += more > 0 ? more : 0;
    }
    if (is_shared(c))
        actor_acted_outside(a);
    return woken;
}

bool futex_serve(struct actor *a, const long *arg, long *ret)
{
    struct futex_call c = read_call(arg);
    int error = 0;

    switch (c.operation) {
    case FUTEX_WAIT:
    case FUTEX_WAIT_BITSET:
        error = futex_wait(a, &c);
        *ret = 0;
        break;
    case FUTEX_WAKE:
    case FUTEX_WAKE_BITSET:
        *ret = wake_all_kinds(a, &c, c.value);
        break;
    case FUTEX_REQUEUE:
    case FUTEX_CMP_REQUEUE:
        if (c.operation == FUTEX_CMP_REQUEUE && atomic_load(c.word) != c.value3) {
            error = EAGAIN;
            break;
        }
        *ret = wake_all_kinds(a, &c, c.value);
        *ret += (long)sync_requeue(c.word, c.word2, c.count2);
        break;
    default:
        return false;
    }
    if (error) {
        errno = error;
        *ret = -1;
    }
    return true;
}
