/* SPDX-License-Identifier: Apache-2.0 */
/*
 * DOC: rdtsc in virtual time
 *
 * rdtsc is an instruction, so no interposed function sees it. Every one in the program and its
 * libraries is replaced by ud2, which is as long, and the SIGILL that ud2 raises is answered with
 * the virtual time (tsc_trap.c). The counter runs at exactly 1 GHz: a cycle is a nanosecond.
 *
 * Which bytes are an rdtsc is decided by decoding the functions around them (tsc_elf.c knows where
 * those begin, tsc_find.c decodes). A candidate that lies in no known function is left alone and
 * counted: a wrong guess would change a program, a missed site reads the real clock, and the user
 * is told.
 *
 * Libraries that come later: the loader calls an empty function for debuggers whenever the list of
 * objects has changed (r_brk in link.h), before any code of a new object runs. Its return is a site
 * as well, and there the search is made again. A wrapper around dlopen could not: dlopen wants to
 * be called by the program itself, since its return address says whose search path counts.
 *
 * Why not prctl(PR_SET_TSC), which makes the processor itself fault: under hypervisors it may say
 * that it is on and do nothing, and where it works it also stops the vDSO's clocks, on which the C
 * library and this shim rely. Code that a program generates at run time is therefore not covered.
 *
 * Cost: a read takes one signal, 10 to 15 us; perftest does one or two a message.
 */
#include "verbs-shim/shim/tsc/tsc.h"

#include <errno.h>
#include <link.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "verbs-shim/shim/tsc/tsc_elf.h"
#include "verbs-shim/shim/tsc/tsc_find.h"
#include "verbs-shim/shim/tsc/tsc_patch.h"
#include "verbs-shim/shim/tsc/tsc_trap.h"

/* An array in pages of its own: the program's allocator is left alone. */
struct array {
    void *items; /* owned */
    size_t count, bytes;
};

/* An object that has been looked at. */
struct known {
    uint64_t base;
    uint64_t name;       /* hash of its path */
    uint64_t first_site; /* 0: it has none */
    uint32_t seen;       /* scan in which it was last there */
};

struct scan {
    struct array objects; /* struct known; an index is never used again */
    struct array sites;   /* struct tsc_site: all that are in force */
    struct array fresh;   /* struct tsc_site: found in this scan */
    struct tsc_scratch scratch;
    void (*say)(const char *text);
    uint32_t number; /* of this scan */
    bool is_installed;
    bool has_failed; /* out of memory */
};

/* One a process, as the code that it patches. */
static struct scan scan;

static void *array_add(struct array *a, size_t item_bytes)
{
    if ((a->count + 1) * item_bytes > a->bytes) {
        size_t bytes = a->bytes > 0 ? 2 * a->bytes : 65536;
        void *p = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

        if (p == MAP_FAILED)
            return NULL;
        if (a->items) {
            memcpy(p, a->items, a->count * item_bytes);
            munmap(a->items, a->bytes);
        }
        a->items = p;
        a->bytes = bytes;
    }
    return (char *)a->items + a->count++ * item_bytes;
}

static uint64_t hash_text(const char *s)
{
    uint64_t h = UINT64_C(14695981039346656037); /* FNV-1a */

    for (; *s; s++)
        h = (h ^ (uint8_t)*s) * UINT64_C(1099511628211);
    return h;
}

/* Objects whose clock is the real one: they are below the shim, or are the shim. */
static bool is_exempt(const char *path)
{
    static const char *const prefixes[] = {"libc.so",   "ld-linux",      "linux-vdso",
                                           "libtbmesh", "libibverbs.so", "librdma.dylib",
                                           "libZydis",  "libZycore"};
    const char *slash = strrchr(path, '/');
    const char *name = slash ? slash + 1 : path;

    for (size_t i = 0; i < sizeof(prefixes) / sizeof(*prefixes); i++) {
        if (strncmp(name, prefixes[i], strlen(prefixes[i])) == 0)
            return true;
    }
    return false;
}

static void append(char *text, size_t size, const char *more)
{
    size_t used = strlen(text);

    strncpy(text + used, more, size - used - 1);
    text[size - 1] = '\0';
}

/* "`count` `what` `path``end`", for the user. */
static void say(size_t count, const char *what, const char *path, const char *end)
{
    char text[512] = "";
    char digits[24];
    char *p = digits + sizeof(digits) - 1;

    if (!scan.say)
        return;
    *p = '\0';
    do {
        *--p = (char)('0' + count % 10);
        count /= 10;
    } while (count > 0);
    append(text, sizeof(text), p);
    append(text, sizeof(text), what);
    append(text, sizeof(text), path);
    append(text, sizeof(text), end);
    scan.say(text);
}

struct search {
    uint32_t object;
    struct known *known; /* borrowed */
};

static bool on_site(void *ctx, const struct tsc_site *found)
{
    const struct search *search = ctx;
    struct tsc_site *site = array_add(&scan.fresh, sizeof(*site));

    if (!site)
        return false;
    *site = *found;
    site->object = search->object;
    if (!search->known->first_site)
        search->known->first_site = site->address;
    return true;
}

/* Searches one executable segment; counts candidates in no known function. */
static bool scan_segment(struct tsc_object *o, struct search *search, const ElfW(Phdr) * ph,
                         size_t *ret_strays)
{
    uint64_t start = o->base + ph->p_vaddr;
    size_t size = ph->p_filesz;
    // NOLINTNEXTLINE(performance-no-int-to-ptr): the loader gives addresses as numbers
    const uint8_t *code = (const uint8_t *)(uintptr_t)start;

    for (size_t at = 0; (at = tsc_next_candidate(code, size, at)) < size;) {
        struct tsc_range f;

        if (!tsc_function_at(o, start + at, &f) || f.start < start || f.size > size ||
            f.start - start > size - f.size) {
            *ret_strays += tsc_is_among_functions(o, start + at);
            at++;
            continue;
        }
        size_t first = f.start - start;

        if (!tsc_find_sites(&scan.scratch, code + first, f.size, f.start, on_site, search))
            return false;
        at = first + f.size;
    }
    return true;
}

static struct known *find_known(const struct dl_phdr_info *info, uint64_t name)
{
    struct known *known = scan.objects.items;

    for (size_t i = scan.objects.count; i-- > 0;) {
        if (known[i].base == info->dlpi_addr && known[i].name == name &&
            known[i].seen + 1 >= scan.number)
            return &known[i];
    }
    return NULL;
}

/* The same name at the same place may be another load of it, from the file. */
static bool is_unchanged(const struct known *known)
{
    struct tsc_site site = {.address = known->first_site};

    return !known->first_site || tsc_is_patched(&site);
}

static int scan_object(struct dl_phdr_info *info, size_t info_size, void *ctx)
{
    const char *path = info->dlpi_name ? info->dlpi_name : "";
    uint64_t name = hash_text(path);
    struct known *known = find_known(info, name);
    struct search search = {.object = (uint32_t)scan.objects.count};
    struct tsc_object o;
    size_t strays = 0;

    (void)info_size;
    (void)ctx;
    if (is_exempt(path))
        return 0;
    if (known && is_unchanged(known)) {
        known->seen = scan.number;
        return 0;
    }
    search.known = array_add(&scan.objects, sizeof(*known));
    if (!search.known) {
        scan.has_failed = true;
        return 1;
    }
    *search.known = (struct known){.base = info->dlpi_addr, .name = name, .seen = scan.number};
    tsc_object_init(&o, info);
    for (size_t i = 0; i < info->dlpi_phnum && !scan.has_failed; i++) {
        const ElfW(Phdr) *ph = &info->dlpi_phdr[i];

        if (ph->p_type == PT_LOAD && (ph->p_flags & (PF_R | PF_W | PF_X)) == (PF_R | PF_X))
            scan.has_failed = !scan_segment(&o, &search, ph, &strays);
    }
    if (strays > 0)
        say(strays, " possible rdtsc outside any known function of ", o.path,
            " left alone: if they are executed, they read the real clock");
    tsc_object_done(&o);
    return scan.has_failed;
}

static int by_address(const void *a, const void *b)
{
    const struct tsc_site *x = a;
    const struct tsc_site *y = b;

    return (x->address > y->address) - (x->address < y->address);
}

/* Adds the fresh sites to those whose object is still there, in order. */
static bool merge_sites(void)
{
    const struct known *known = scan.objects.items;
    const struct tsc_site *fresh = scan.fresh.items;
    struct tsc_site *sites = scan.sites.items;
    size_t kept = 0;

    for (size_t i = 0; i < scan.sites.count; i++) {
        if (sites[i].kind == TSC_LOADER || known[sites[i].object].seen == scan.number)
            sites[kept++] = sites[i];
    }
    scan.sites.count = kept;
    for (size_t i = 0; i < scan.fresh.count; i++) {
        struct tsc_site *site = array_add(&scan.sites, sizeof(*site));

        if (!site)
            return false;
        *site = fresh[i];
    }
    if (scan.sites.count > 0)
        qsort(scan.sites.items, scan.sites.count, sizeof(struct tsc_site), by_address);
    return true;
}

static bool publish(void)
{
    size_t bytes = scan.sites.count * sizeof(struct tsc_site);
    struct tsc_table *table = mmap(NULL, sizeof(*table) + bytes, PROT_READ | PROT_WRITE,
                                   MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    if (table == MAP_FAILED)
        return false;
    table->count = scan.sites.count;
    if (bytes > 0)
        memcpy(table->site, scan.sites.items, bytes);
    tsc_trap_publish(table);
    return true;
}

/* The object list has changed, and the thread that did it holds the loader's lock. */
static void on_loaded(void)
{
    if (_r_debug.r_state == RT_CONSISTENT)
        (void)tbmesh_tsc_rescan();
}

/* Adds the return of the loader's empty function to the sites. False: it is not empty. */
static bool watch_loader(void)
{
    static const uint8_t landing[4] = {0xf3, 0x0f, 0x1e, 0xfa}; /* endbr64 */
    uint64_t address = _r_debug.r_brk;
    const uint8_t *code;
    struct tsc_site *site;

    if (address == 0)
        return false;
    // NOLINTNEXTLINE(performance-no-int-to-ptr): the loader gives addresses as numbers
    code = (const uint8_t *)(uintptr_t)address;
    if (memcmp(code, landing, sizeof(landing)) == 0) {
        code += sizeof(landing);
        address += sizeof(landing);
    }
    site = *code == 0xc3 ? array_add(&scan.fresh, sizeof(*site)) : NULL;
    if (!site)
        return false;
    *site = (struct tsc_site){.address = address, .length = 1, .kind = TSC_LOADER};
    return true;
}

/* Sites, besides the loader's. */
static int search_again(bool is_first)
{
    size_t patched = 0;
    size_t extra = 0;
    int status = 0;

    scan.number++;
    scan.fresh.count = 0;
    scan.has_failed = false;
    extra = is_first && watch_loader();
    if (is_first && extra == 0 && scan.say)
        scan.say("rdtsc in objects that are loaded later reads the real clock");
    dl_iterate_phdr(scan_object, NULL);
    tsc_scratch_done(&scan.scratch);
    /* The handler has to know a site before it can fault. */
    if (scan.has_failed || !merge_sites() || (scan.fresh.count > 0 && !publish()))
        status = -ENOMEM;
    if (status == 0 && scan.fresh.count > 0) {
        qsort(scan.fresh.items, scan.fresh.count, sizeof(struct tsc_site), by_address);
        patched = tsc_patch_sites(scan.fresh.items, scan.fresh.count);
        if (patched < scan.fresh.count)
            say(scan.fresh.count - patched, " rdtsc", "",
                " could not be patched: they read the real clock");
    }
    return status ? status : (int)(patched - extra);
}

int tbmesh_tsc_rescan(void)
{
    return scan.is_installed ? search_again(false) : -EINVAL;
}

int tbmesh_tsc_install(uint64_t (*now_cycles)(void), void (*say_line)(const char *text))
{
    int status;

    if (scan.is_installed)
        return -EALREADY;
    scan.say = say_line;
    status = tsc_trap_install(now_cycles, on_loaded);
    if (status)
        return -status;
    scan.is_installed = true;
    return search_again(true);
}

int tbmesh_tsc_sigaction(const struct sigaction *act, struct sigaction *old)
{
    return tsc_trap_sigaction(act, old);
}
