/* SPDX-License-Identifier: Apache-2.0 */
/*
 * DOC: Which `0f 31` is an rdtsc
 *
 * The two bytes also occur inside immediates, displacements and tables, and changing those changes
 * the program. A search for bytes therefore only proposes; what decides is the decoded flow of the
 * function around them.
 *
 *   1. From the function's first byte, every instruction is decoded and followed: to the next one,
 *      and to the target of a direct branch inside the function. Each byte is marked as the start
 *      or the body of an instruction that is reached.
 *   2. What is then unmarked lies in stretches that only an indirect jump or the unwinder enters,
 *      or that are data. A stretch counts as code if it decodes from its first byte to exactly its
 *      last, without an instruction that no user program has: privileged ones, port input and
 *      output, far branches, and `00 00`, which is what the upper half of a table's entry looks
 *      like. A stretch that mixes a table with code is left alone as a whole.
 *   3. A candidate is a site if the instruction that starts there, or up to its prefixes before,
 *      is rdtsc or rdtscp and overlaps no other instruction.
 *
 * Cost: a function is decoded only if it holds a candidate, once.
 */
#include "verbs-shim/shim/tsc/tsc_find.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <Zydis/Zydis.h>

enum mark {
    MARK_START = 1, /* an instruction starts here */
    MARK_BODY = 2,  /* a later byte of one */
};

struct step {
    size_t next;   /* offset behind the instruction */
    size_t target; /* of a direct branch, inside the function; or NO_TARGET */
    bool falls_through;
    bool is_strange; /* user code does not have it */
    bool is_site;
    enum tsc_kind kind;
};

#define NO_TARGET SIZE_MAX

struct walk {
    ZydisDecoder decoder;
    const uint8_t *code; /* borrowed */
    size_t size;
    uint8_t *mark;  /* borrowed from the scratch, as the next */
    uint32_t *todo; /* at most one for each instruction, so `size` entries suffice */
    size_t todo_count;
};

static void *map_pages(size_t size)
{
    void *p = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    return p == MAP_FAILED ? NULL : p;
}

void tsc_scratch_done(struct tsc_scratch *scratch)
{
    if (scratch->mark)
        munmap(scratch->mark, scratch->size);
    if (scratch->todo)
        munmap(scratch->todo, scratch->size * sizeof(*scratch->todo));
    *scratch = (struct tsc_scratch){0};
}

static bool scratch_reserve(struct tsc_scratch *scratch, size_t size)
{
    if (size > scratch->size) {
        size_t rounded = (size + 65535) / 65536 * 65536;

        tsc_scratch_done(scratch);
        scratch->size = rounded;
        scratch->mark = map_pages(rounded);
        scratch->todo = map_pages(rounded * sizeof(*scratch->todo));
    }
    if (!scratch->mark || !scratch->todo) {
        tsc_scratch_done(scratch);
        errno = ENOMEM;
        return false;
    }
    memset(scratch->mark, 0, size);
    return true;
}

/* Length of the pattern of rdtsc or rdtscp at `code`; 0: neither. */
static size_t pattern_at(const uint8_t *code, size_t size)
{
    if (size >= 2 && code[0] == 0x0f && code[1] == 0x31)
        return 2;
    if (size >= 3 && code[0] == 0x0f && code[1] == 0x01 && code[2] == 0xf9)
        return 3;
    return 0;
}

size_t tsc_next_candidate(const uint8_t *code, size_t size, size_t from)
{
    while (from < size) {
        const uint8_t *hit = memchr(code + from, 0x0f, size - from);

        if (!hit)
            return size;
        from = (size_t)(hit - code);
        if (pattern_at(hit, size - from) > 0)
            return from;
        from++;
    }
    return size;
}

static bool ends_flow(const ZydisDecodedInstruction *in)
{
    return in->meta.category == ZYDIS_CATEGORY_RET ||
           in->meta.category == ZYDIS_CATEGORY_UNCOND_BR || in->mnemonic == ZYDIS_MNEMONIC_UD0 ||
           in->mnemonic == ZYDIS_MNEMONIC_UD1 || in->mnemonic == ZYDIS_MNEMONIC_UD2 ||
           in->mnemonic == ZYDIS_MNEMONIC_HLT;
}

static bool is_strange(const ZydisDecodedInstruction *in, const uint8_t *bytes)
{
    return (in->attributes & ZYDIS_ATTRIB_IS_PRIVILEGED) ||
           in->meta.category == ZYDIS_CATEGORY_IO ||
           in->meta.category == ZYDIS_CATEGORY_IOSTRINGOP ||
           in->meta.branch_type == ZYDIS_BRANCH_TYPE_FAR || (bytes[0] == 0 && bytes[1] == 0);
}

/* Decodes the instruction at `at`; false: there is none. */
static bool step_at(const struct walk *w, size_t at, struct step *ret)
{
    ZydisDecodedInstruction in;

    if (!ZYAN_SUCCESS(
            ZydisDecoderDecodeInstruction(&w->decoder, NULL, w->code + at, w->size - at, &in)))
        return false;
    *ret = (struct step){
        .next = at + in.length,
        .target = NO_TARGET,
        .falls_through = !ends_flow(&in),
        .is_strange = in.length > 1 && is_strange(&in, w->code + at),
        .is_site = in.mnemonic == ZYDIS_MNEMONIC_RDTSC || in.mnemonic == ZYDIS_MNEMONIC_RDTSCP,
        .kind = in.mnemonic == ZYDIS_MNEMONIC_RDTSCP ? TSC_RDTSCP : TSC_RDTSC,
    };
    if (in.raw.imm[0].is_relative) {
        int64_t target = (int64_t)ret->next + in.raw.imm[0].value.s;

        if (target >= 0 && (uint64_t)target < w->size)
            ret->target = (size_t)target;
    }
    return true;
}

static void mark_instruction(struct walk *w, size_t at, size_t next)
{
    w->mark[at] |= MARK_START;
    for (size_t i = at + 1; i < next; i++)
        w->mark[i] |= MARK_BODY;
}

static void follow_flow(struct walk *w)
{
    w->todo[0] = 0;
    w->todo_count = 1;
    while (w->todo_count > 0) {
        size_t at = w->todo[--w->todo_count];
        struct step s;

        while (at < w->size && !(w->mark[at] & MARK_START) && step_at(w, at, &s)) {
            mark_instruction(w, at, s.next);
            if (s.target != NO_TARGET && !(w->mark[s.target] & MARK_START))
                w->todo[w->todo_count++] = (uint32_t)s.target;
            at = s.falls_through ? s.next : w->size;
        }
    }
}

/* Whether the unmarked bytes from `at` to `end` read as code. */
static bool reads_as_code(const struct walk *w, size_t at, size_t end)
{
    struct step s;

    while (at < end) {
        if (!step_at(w, at, &s) || s.is_strange || s.next > end)
            return false;
        if (s.target != NO_TARGET && w->mark[s.target] == MARK_BODY)
            return false;
        at = s.next;
    }
    return true;
}

static void mark_unreached(struct walk *w)
{
    struct step s;
    size_t at = 0;

    while (at < w->size) {
        size_t end = at;

        while (end < w->size && w->mark[end] == 0)
            end++;
        bool is_code = end > at && reads_as_code(w, at, end);

        while (is_code && at < end && step_at(w, at, &s)) {
            mark_instruction(w, at, s.next);
            at = s.next;
        }
        at = end > at ? end : at + 1;
    }
}

/* The site that has its opcode at `candidate`. */
static bool site_at(const struct walk *w, size_t candidate, struct tsc_site *ret)
{
    size_t at = candidate;
    struct step s;

    while (at > 0 && w->mark[at] == MARK_BODY)
        at--;
    if (w->mark[at] != MARK_START || !step_at(w, at, &s) || !s.is_site ||
        s.next != candidate + pattern_at(w->code + candidate, w->size - candidate))
        return false;
    for (size_t i = at + 1; i < s.next; i++)
        if (w->mark[i] != MARK_BODY)
            return false;
    *ret =
        (struct tsc_site){.address = at, .length = (uint8_t)(s.next - at), .kind = (uint8_t)s.kind};
    return true;
}

bool tsc_find_sites(struct tsc_scratch *scratch, const uint8_t *code, size_t size, uint64_t address,
                    bool (*found)(void *ctx, const struct tsc_site *site), void *ctx)
{
    struct walk w = {.code = code, .size = size};
    struct tsc_site site;

    if (size == 0 || size > UINT32_MAX || tsc_next_candidate(code, size, 0) == size)
        return true;
    if (!scratch_reserve(scratch, size))
        return false;
    w.mark = scratch->mark;
    w.todo = scratch->todo;
    ZydisDecoderInit(&w.decoder, ZYDIS_MACHINE_MODE_LONG_64, ZYDIS_STACK_WIDTH_64);
    follow_flow(&w);
    mark_unreached(&w);
    for (size_t at = 0; (at = tsc_next_candidate(code, size, at)) < size; at++) {
        if (!site_at(&w, at, &site))
            continue;
        site.address += address;
        if (!found(ctx, &site))
            return false;
    }
    return true;
}
