/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TESTS_EMULATOR_TSC_TSC_FAKE_H
#define TESTS_EMULATOR_TSC_TSC_FAKE_H

#include <stdint.h>

/* How often a patched instruction has been executed. Absent without the preloaded driver. */
__attribute__((visibility("default"), weak)) uint64_t tsc_fake_reads(void);
__attribute__((visibility("default"), weak)) int tsc_fake_rescan(void);

#endif
