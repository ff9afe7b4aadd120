/* SPDX-License-Identifier: Apache-2.0 */
/* dlopen looks where the program's RUNPATH says, not where the shim's does. */
#include <dlfcn.h>

#include "tests/emulator/emu.h"

int main(void)
{
    void *found = dlopen("libemu_probe.so", RTLD_NOW);

    CHECK(found);
    CHECK(dlsym(found, "emu_probe"));
    CHECK(dlclose(found) == 0);
    CHECK(!dlopen("libemu_nowhere.so", RTLD_NOW));
    CHECK(dlerror());
    CHECK(dlopen(NULL, RTLD_NOW));
    return 0;
}
