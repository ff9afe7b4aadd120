/* SPDX-License-Identifier: Apache-2.0 */
/* Loaded while the program runs. */
#include <stdint.h>
#include <x86intrin.h>

__attribute__((visibility("default"))) uint64_t module_read(void);

__attribute__((visibility("default"))) uint64_t module_first_read;

__attribute__((constructor)) static void read_at_once(void)
{
    module_first_read = __rdtsc();
}

uint64_t module_read(void)
{
    return __rdtsc();
}
