/* SPDX-License-Identifier: Apache-2.0 */
/*
 * DOC: Changing code under its feet
 *
 * The pages of a site are copied, the copy is changed, made executable, and moved over the original
 * by one mremap. So no page is ever writable and executable at once, and no page is ever not
 * executable: a thread that runs there sees the old instruction or the new one, both whole.
 *
 * The move is a plain system call: UCX replaces mremap by a function of four arguments, which would
 * move the page to whatever address a register happens to hold.
 */
#include "verbs-shim/shim/tsc/tsc_patch.h"

#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

static const uint8_t ud2[2] = {0x0f, 0x0b};
/* Of one byte, in 64-bit mode (push of a segment register before). */
#define NO_INSTRUCTION 0x06

static void *pointer_of(uint64_t address)
{
    /* NOLINTNEXTLINE(performance-no-int-to-ptr): sites are addresses in code */
    return (void *)(uintptr_t)address;
}

bool tsc_is_patched(const struct tsc_site *site)
{
    return memcmp(pointer_of(site->address), ud2, sizeof(ud2)) == 0;
}

/* Patches sites that all lie in the pages from `low` to `high`. */
static bool patch_pages(uint64_t low, uint64_t high, const struct tsc_site *sites, size_t count)
{
    size_t size = high - low;
    uint8_t *copy = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    if (copy == MAP_FAILED)
        return false;
    memcpy(copy, pointer_of(low), size);
    for (size_t i = 0; i < count; i++) {
        uint8_t *at = copy + (sites[i].address - low);

        memset(at, 0x90, sites[i].length);
        if (sites[i].kind == TSC_LOADER)
            *at = NO_INSTRUCTION;
        else
            memcpy(at, ud2, sizeof(ud2));
    }
    if (mprotect(copy, size, PROT_READ | PROT_EXEC) == 0 &&
        syscall(SYS_mremap, copy, size, size, MREMAP_MAYMOVE | MREMAP_FIXED, pointer_of(low)) != -1)
        return true;
    munmap(copy, size);
    return false;
}

size_t tsc_patch_sites(const struct tsc_site *sites, size_t count)
{
    uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);
    size_t done = 0;

    while (done < count) {
        uint64_t low = sites[done].address / page * page;
        uint64_t high;
        size_t n = 0;

        /* All sites that touch the pages so far, which the last of them may extend by one. */
        do {
            const struct tsc_site *s = &sites[done + n];

            high = (s->address + s->length + page - 1) / page * page;
            n++;
        } while (done + n < count && sites[done + n].address < high);
        if (!patch_pages(low, high, sites + done, n))
            break;
        done += n;
    }
    return done;
}
