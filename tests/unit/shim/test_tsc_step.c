/* SPDX-License-Identifier: Apache-2.0 */
/* What single instructions write, and which of them cannot be followed. */
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <ucontext.h>

#include <criterion/criterion.h>
#include <criterion/new/assert.h>

#include "verbs-shim/shim/tsc/tsc.h"

#define AX 0x10000 /* what the registers hold */
#define CX 0x20
#define SP 0x70000
#define DI 0x90000

struct row {
    const char *name;
    unsigned char code[12];
    bool is_followed;
    uint32_t count;
    uint64_t address[TSC_WRITES];
    uint32_t bytes[TSC_WRITES];
};

static const struct row rows[] = {
    {"nop", {0x90}, true, 0, {0}, {0}},
    {"pause", {0xf3, 0x90}, true, 0, {0}, {0}},
    {"cmp byte [rax], 1", {0x80, 0x38, 0x01}, true, 0, {0}, {0}},
    {"mov eax, [rax + 4*rcx]", {0x8b, 0x04, 0x88}, true, 0, {0}, {0}},
    {"lea rax, [rcx]", {0x48, 0x8d, 0x01}, true, 0, {0}, {0}},
    {"jmp self", {0xeb, 0xfe}, true, 0, {0}, {0}},
    {"ret", {0xc3}, true, 0, {0}, {0}},
    {"mov [rax + 8], ecx", {0x89, 0x48, 0x08}, true, 1, {AX + 8}, {4}},
    {"mov [rax + 4*rcx - 1], cl", {0x88, 0x4c, 0x88, 0xff}, true, 1, {AX + 4 * CX - 1}, {1}},
    {"inc qword [rax]", {0x48, 0xff, 0x00}, true, 1, {AX}, {8}},
    {"lock cmpxchg [rdi], ecx", {0xf0, 0x0f, 0xb1, 0x0f}, true, 1, {DI}, {4}},
    {"xchg [rdi], cx", {0x66, 0x87, 0x0f}, true, 1, {DI}, {2}},
    {"movups [rax + 16], xmm0", {0x0f, 0x11, 0x40, 0x10}, true, 1, {AX + 16}, {16}},
    {"push rax", {0x50}, true, 1, {SP - 8}, {8}},
    {"push word 5", {0x66, 0x6a, 0x05}, true, 1, {SP - 2}, {2}},
    {"call next", {0xe8, 0x00, 0x00, 0x00, 0x00}, true, 1, {SP - 8}, {8}},
    {"call [rax]", {0xff, 0x10}, true, 1, {SP - 8}, {8}},
    {"stosb", {0xaa}, true, 1, {DI}, {1}},
    {"rep stosq", {0xf3, 0x48, 0xab}, true, 1, {DI}, {8}},
    {"pop qword [rax]", {0x8f, 0x00}, true, 1, {AX}, {8}},
    {"syscall", {0x0f, 0x05}, false, 0, {0}, {0}},
    {"int 0x80", {0xcd, 0x80}, false, 0, {0}, {0}},
    {"ud2", {0x0f, 0x0b}, false, 0, {0}, {0}},
    {"mov fs:[0], eax", {0x64, 0x89, 0x04, 0x25, 0x00, 0x00, 0x00, 0x00}, false, 0, {0}, {0}},
    {"xsave [rax]", {0x0f, 0xae, 0x20}, false, 0, {0}, {0}},
    {"fxsave [rax]", {0x0f, 0xae, 0x00}, false, 0, {0}, {0}}, /* 512 bytes */
    {"no instruction", {0x06}, false, 0, {0}, {0}},
};

Test(tsc_step, rows)
{
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        const struct row *row = &rows[i];
        unsigned char code[32] = {0};
        ucontext_t uc = {0};
        struct tsc_effect effect;

        memcpy(code, row->code, sizeof row->code);
        uc.uc_mcontext.gregs[REG_RIP] = (greg_t)(uintptr_t)code;
        uc.uc_mcontext.gregs[REG_RAX] = AX;
        uc.uc_mcontext.gregs[REG_RCX] = CX;
        uc.uc_mcontext.gregs[REG_RSP] = SP;
        uc.uc_mcontext.gregs[REG_RDI] = DI;
        cr_assert(eq(int, tbmesh_tsc_effect(&uc, &effect), row->is_followed), "%s", row->name);
        if (!row->is_followed)
            continue;
        cr_assert(eq(u32, effect.count, row->count), "%s", row->name);
        for (uint32_t k = 0; k < effect.count; k++) {
            cr_expect(eq(u64, effect.write[k].address, row->address[k]), "%s", row->name);
            cr_expect(eq(u32, effect.write[k].bytes, row->bytes[k]), "%s", row->name);
        }
    }
}
