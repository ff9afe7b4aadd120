/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Processors. Where ranks take turns they share one (core/sys.c). Programs count processors to
 * decide how many threads to start, and how the turns are organised shall not change what they do:
 * they see the set that they had before.
 */
#include <string.h>
#include <unistd.h>

#include "verbs-shim/shim/core/sys.h"
#include "verbs-shim/shim/guest.h"
#include "verbs-shim/shim/libc/real.h"

/* Puts the old set in place of the one that was read. */
static void show_old(void *mask, size_t size)
{
    unsigned char old[128] = {0};
    size_t bytes = sys_old_cpus(old, size < sizeof(old) ? size : sizeof(old));

    if (bytes == 0)
        return;
    memset(mask, 0, size);
    memcpy(mask, old, bytes);
}

SHIM_EXPORT int sched_getaffinity(pid_t pid, size_t size, cpu_set_t *mask)
{
    int result = REAL(sched_getaffinity)(pid, size, mask);

    if (result == 0 && (pid == 0 || pid == getpid()))
        show_old(mask, size);
    return result;
}

SHIM_EXPORT int pthread_getaffinity_np(pthread_t thread, size_t size, cpu_set_t *mask)
{
    int result = REAL(pthread_getaffinity_np)(thread, size, mask);

    if (result == 0)
        show_old(mask, size);
    return result;
}
