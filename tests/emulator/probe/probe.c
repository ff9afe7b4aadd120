/* SPDX-License-Identifier: Apache-2.0 */
/* A library that only a RUNPATH finds. */
__attribute__((visibility("default"))) int emu_probe(void);

int emu_probe(void)
{
    return 1;
}
