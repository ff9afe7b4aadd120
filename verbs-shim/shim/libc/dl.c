/* SPDX-License-Identifier: Apache-2.0 */
/*
 * DOC: Loading a verbs library late
 *
 * A program that opens the verbs library itself is about to need a device: it joins now. The name
 * then goes to the C library's dlopen, which finds our drop-in through LD_LIBRARY_PATH.
 *
 * dlopen looks at its return address to learn whose RUNPATH and namespace count. So ours ends in a
 * jump, not a call: this file is compiled with sibling calls in every preset (CMakeLists.txt), and
 * a test looks up a library through a RUNPATH.
 */
#include <dlfcn.h>
#include <string.h>

#include "verbs-shim/shim/actor.h"
#include "verbs-shim/shim/libc/real.h"

static bool is_verbs_library(const char *path)
{
    static const char *const names[] = {"librdma.dylib", "libibverbs.so", "libibverbs.so.1"};
    const char *slash = strrchr(path, '/');
    const char *name = slash ? slash + 1 : path;

    for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
        if (strcmp(name, names[i]) == 0)
            return true;
    }
    return false;
}

SHIM_EXPORT void *dlopen(const char *path, int mode)
{
    if (path && is_verbs_library(path))
        (void)client_join();
    return REAL(dlopen)(path, mode);
}
