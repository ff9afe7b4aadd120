/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Preloaded: patches the process's rdtsc with libtbmesh-tsc.so (TSC_LIBRARY), over a counter that
 * moves by 1,000 cycles a read. TSC_COUNT names a file that gets the number of sites.
 */
#include "tests/emulator/tsc/tsc_fake.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static _Atomic uint64_t reads;
static int (*rescan)(void);
static int (*program_action)(const struct sigaction *, struct sigaction *);

static uint64_t next_cycles(void)
{
    uint64_t n = atomic_fetch_add(&reads, 1) + 1;
    struct timespec no_time = {0};

    errno = EXDEV; /* whatever happens here is none of the program's business */
    nanosleep(&no_time, NULL);
    return (UINT64_C(7) << 32) + n * 1000;
}

static void say(const char *text)
{
    (void)!write(STDERR_FILENO, text, strlen(text));
    (void)!write(STDERR_FILENO, "\n", 1);
}

uint64_t tsc_fake_reads(void)
{
    return atomic_load(&reads);
}

int tsc_fake_rescan(void)
{
    return rescan();
}

static void *find(void *library, const char *name)
{
    void *p = dlsym(library, name);

    if (!p) {
        say(dlerror());
        _exit(99);
    }
    return p;
}

static int (*next_sigaction(void))(int, const struct sigaction *, struct sigaction *)
{
    int (*f)(int, const struct sigaction *, struct sigaction *);

    *(void **)(void *)&f = dlsym(RTLD_NEXT, "sigaction");
    return f;
}

__attribute__((visibility("default"))) int sigaction(int number, const struct sigaction *act,
                                                     struct sigaction *old)
{
    if (number == SIGILL && program_action)
        return program_action(act, old);
    return next_sigaction()(number, act, old);
}

__attribute__((constructor)) static void start(void)
{
    int (*install)(uint64_t(*)(void), void (*)(const char *));
    const char *path = getenv("TSC_LIBRARY");
    const char *count = getenv("TSC_COUNT");
    void *library;

    if (!path)
        return;
    library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (!library) {
        say(dlerror());
        _exit(99);
    }
    *(void **)(void *)&install = find(library, "tbmesh_tsc_install");
    *(void **)(void *)&rescan = find(library, "tbmesh_tsc_rescan");
    int sites = install(next_cycles, say);

    *(void **)(void *)&program_action = find(library, "tbmesh_tsc_sigaction");
    if (count) {
        int fd = open(count, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

        dprintf(fd, "%d\n", sites);
        close(fd);
    }
    if (sites < 0)
        _exit(98);
}
