/* SPDX-License-Identifier: Apache-2.0 */
/* Loads libtbmesh-tsc.so, which lies beside this object, and is its clock. */
#include <dlfcn.h>
#include <stdatomic.h>
#include <stdint.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "verbs-shim/shim/actor.h"
#include "verbs-shim/shim/guest.h"
#include "verbs-shim/shim/tsc_hook.h"

#define NS_PER_S UINT64_C(1000000000)

static struct tsc_hook hook;
static _Atomic(const struct tsc_hook *) loaded;

const struct tsc_hook *tsc_hook(void)
{
    return atomic_load_explicit(&loaded, memory_order_acquire);
}

/* Nanoseconds, and so cycles at 1 GHz. */
static uint64_t now_cycles(void)
{
    struct actor *a = actor_self();
    struct timespec ts = {0};

    if (a) {
        actor_charge(a, PROTO_CHARGE_CLOCK, 1);
        return (uint64_t)(actor_now(a).ps / PS_PER_NS);
    }
    syscall(SYS_clock_gettime, CLOCK_MONOTONIC, &ts); /* not under the clock: real time */
    return (uint64_t)ts.tv_sec * NS_PER_S + (uint64_t)ts.tv_nsec;
}

static void say(const char *text)
{
    shim_log("%s", text);
}

/* "libtbmesh-tsc.so" in the folder of the object that holds this function. */
static bool find_library(char *path, size_t size)
{
    static const char name[] = "libtbmesh-tsc.so";
    Dl_info self;
    const char *slash;
    size_t folder;

    if (!dladdr(&hook, &self) || !self.dli_fname)
        return false;
    slash = strrchr(self.dli_fname, '/');
    folder = slash ? (size_t)(slash - self.dli_fname) + 1 : 0;
    if (folder + sizeof name > size)
        return false;
    memcpy(path, self.dli_fname, folder);
    memcpy(path + folder, name, sizeof name);
    return true;
}

void tsc_start(void)
{
    int (*install)(uint64_t(*)(void), void (*)(const char *)) = NULL;
    char path[1024];
    void *library;
    int sites;

    if (tsc_hook() || !find_library(path, sizeof path))
        return;
    library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (!library) {
        // NOLINTNEXTLINE(concurrency-mt-unsafe): glibc keeps the text for each thread
        shim_log("rdtsc tells real time: %s", dlerror());
        return;
    }
    *(void **)(void *)&install = dlsym(library, "tbmesh_tsc_install");
    *(void **)(void *)&hook.rescan = dlsym(library, "tbmesh_tsc_rescan");
    *(void **)(void *)&hook.sigaction = dlsym(library, "tbmesh_tsc_sigaction");
    *(void **)(void *)&hook.effect = dlsym(library, "tbmesh_tsc_effect");
    if (!install || !hook.rescan || !hook.sigaction || !hook.effect) {
        shim_log("rdtsc tells real time: %s is of another version", path);
        return;
    }
    sites = install(now_cycles, say);
    if (sites < 0)
        shim_log("rdtsc tells real time: error %d", -sites);
    else
        atomic_store_explicit(&loaded, &hook, memory_order_release);
}
