/* SPDX-License-Identifier: Apache-2.0 */
/*
 * DOC: Wrappers and what they wrap
 *
 * libtbmesh.so is preloaded, so its clock_gettime, read, pthread_mutex_lock and so on come before
 * the C library's for everybody who calls through the dynamic linker: the program, libstdc++, every
 * other library. Calls inside the C library do not come here (fopen's open, a FILE's read), nor do
 * bare system calls. Our names carry no version; such a definition satisfies a reference to any.
 *
 * Each wrapper asks actor_self() first. NULL means that this thread is not under the clock (not
 * joined, a launcher, a thread from before): then the C library's function runs and nothing else.
 * An actor has the turn, and with it the whole process: whatever it would wait for can only be
 * done by somebody who gets the turn. So no wrapper blocks in the kernel. It tries, and if that
 * would block it waits with actor_wait (for another thread of this process) or with
 * actor_wait_outside (for the rest of the world).
 *
 * The table is filled by one thread at its first use, which may be long before any constructor of
 * ours. Two threads that meet here write the same values.
 */
#include "verbs-shim/shim/libc/real.h"

#include <dlfcn.h>
#include <stddef.h>
#include <string.h>

struct real_calls real_calls;
_Atomic bool real_is_ready;

static const struct {
    const char *name;
    size_t offset;
} places[] = {
#define X(name, result, params) {#name, offsetof(struct real_calls, name)},
    REAL_LIST(X)
#undef X
};

void real_find_all(void)
{
    for (size_t i = 0; i < sizeof(places) / sizeof(*places); i++) {
        void *address = dlsym(RTLD_NEXT, places[i].name);

        memcpy((char *)&real_calls + places[i].offset, &address, sizeof(address));
    }
    atomic_store_explicit(&real_is_ready, true, memory_order_release);
}
