/* SPDX-License-Identifier: Apache-2.0 */
/*
 * DOC: What an instruction writes
 *
 * For whoever follows a program instruction by instruction (shim/core/spin.c): the ranges of memory
 * that the next one will write, worked out from the registers. What enters the kernel, and what
 * cannot be followed for sure, is answered with false.
 */
#include <stddef.h>
#include <string.h>
#include <Zydis/Zydis.h>

#include "verbs-shim/shim/tsc/tsc.h"

#define LONGEST 15 /* bytes of an instruction */

/* In the order of Zydis's RAX, RCX, RDX, ... R15. */
static const int general[] = {REG_RAX, REG_RCX, REG_RDX, REG_RBX, REG_RSP, REG_RBP,
                              REG_RSI, REG_RDI, REG_R8,  REG_R9,  REG_R10, REG_R11,
                              REG_R12, REG_R13, REG_R14, REG_R15};

static bool leaves(const ZydisDecodedInstruction *in)
{
    static const ZydisInstructionCategory strange[] = {
        ZYDIS_CATEGORY_SYSCALL,   ZYDIS_CATEGORY_SYSRET, ZYDIS_CATEGORY_INTERRUPT,
        ZYDIS_CATEGORY_SYSTEM,    ZYDIS_CATEGORY_XSAVE,  ZYDIS_CATEGORY_XSAVEOPT,
        ZYDIS_CATEGORY_RDRAND,    ZYDIS_CATEGORY_RDSEED, ZYDIS_CATEGORY_IO,
        ZYDIS_CATEGORY_IOSTRINGOP};

    for (size_t i = 0; i < sizeof strange / sizeof strange[0]; i++) {
        if (in->meta.category == strange[i])
            return true;
    }
    return in->mnemonic == ZYDIS_MNEMONIC_UD2 || in->mnemonic == ZYDIS_MNEMONIC_HLT;
}

/* The range of one operand. False: it cannot be told. */
static bool add_write(const ZydisDecodedInstruction *in, const ZydisDecodedOperand *operand,
                      const ZydisRegisterContext *registers, uint64_t pc, struct tsc_effect *ret)
{
    ZydisDecodedOperand plain = *operand;
    uint32_t bytes = (operand->size + 7U) / 8U;
    uint64_t address;

    if (ret->count == TSC_WRITES || bytes == 0 || bytes > TSC_WRITE_BYTES ||
        operand->mem.type == ZYDIS_MEMOP_TYPE_VSIB || operand->mem.segment == ZYDIS_REGISTER_FS ||
        operand->mem.segment == ZYDIS_REGISTER_GS)
        return false;
    plain.mem.type = ZYDIS_MEMOP_TYPE_MEM;
    if (!ZYAN_SUCCESS(ZydisCalcAbsoluteAddressEx(in, &plain, pc, registers, &address)))
        return false;
    /* A push names the stack pointer as it was. */
    if (operand->visibility == ZYDIS_OPERAND_VISIBILITY_HIDDEN &&
        operand->mem.base == ZYDIS_REGISTER_RSP)
        address -= bytes;
    ret->write[ret->count].address = address;
    ret->write[ret->count++].bytes = bytes;
    return true;
}

bool tbmesh_tsc_effect(const ucontext_t *uc, struct tsc_effect *ret)
{
    const greg_t *gregs = uc->uc_mcontext.gregs;
    uint64_t pc = (uint64_t)gregs[REG_RIP];
    ZydisRegisterContext registers = {.values = {0}};
    ZydisDecodedOperand operands[ZYDIS_MAX_OPERAND_COUNT];
    ZydisDecodedInstruction in;
    ZydisDecoder decoder;

    ret->count = 0;
    (void)ZydisDecoderInit(&decoder, ZYDIS_MACHINE_MODE_LONG_64, ZYDIS_STACK_WIDTH_64);
    // NOLINTNEXTLINE(performance-no-int-to-ptr): where the program is
    if (!ZYAN_SUCCESS(ZydisDecoderDecodeFull(&decoder, (const void *)(uintptr_t)pc, LONGEST, &in,
                                             operands)) ||
        leaves(&in))
        return false;
    for (size_t i = 0; i < sizeof general / sizeof general[0]; i++)
        registers.values[ZYDIS_REGISTER_RAX + i] = (uint64_t)gregs[general[i]];
    registers.values[ZYDIS_REGISTER_RIP] = pc + in.length;
    for (size_t i = 0; i < in.operand_count; i++) {
        if (operands[i].type == ZYDIS_OPERAND_TYPE_MEMORY &&
            operands[i].mem.type != ZYDIS_MEMOP_TYPE_AGEN &&
            operands[i].actions & ZYDIS_OPERAND_ACTION_MASK_WRITE &&
            !add_write(&in, &operands[i], &registers, pc, ret))
            return false;
    }
    return true;
}
