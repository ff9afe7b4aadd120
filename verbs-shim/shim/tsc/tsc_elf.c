/* SPDX-License-Identifier: Apache-2.0 */
/*
 * DOC: Function bounds of a loaded object
 *
 * Three sources, best first:
 *
 *   .eh_frame_hdr  the unwinder's table, sorted by address, which survives `strip`. Compilers for
 *                  x86-64 write an entry for every function, C or not, and it gives the exact
 *                  length. Read as gcc, clang and all linkers write it: 4-byte entries relative to
 *                  the table itself; another form counts as no table.
 *   .dynsym        what the object exports.
 *   .symtab        from the file, where assembly without unwind entries may still have a size.
 *
 * Layout: the Linux Standard Base, "Exception Frames".
 */
#include "verbs-shim/shim/tsc/tsc_elf.h"

#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

/* The one form of .eh_frame_hdr that linkers write. */
enum {
    UNWIND_VERSION = 1,
    UNWIND_COUNT_ENCODING = 0x03, /* 4 bytes, unsigned */
    UNWIND_TABLE_ENCODING = 0x3b, /* 4 bytes, signed, relative to the table */
    UNWIND_HEAD_BYTES = 12,
};

static uint32_t read_u32(const uint8_t *p)
{
    uint32_t value;

    memcpy(&value, p, sizeof(value));
    return value;
}

static const void *pointer_of(uint64_t address)
{
    /* NOLINTNEXTLINE(performance-no-int-to-ptr): addresses of a loaded object come as numbers */
    return (const void *)(uintptr_t)address;
}

static bool is_inside(const struct tsc_object *o, const void *p, size_t size)
{
    uint64_t at = (uint64_t)(uintptr_t)p;

    return at >= o->low && at <= o->high && size <= o->high - at;
}

/* Number of entries of .dynsym, which only the hash tables know. */
static size_t count_by_gnu_hash(const uint32_t *hash)
{
    uint32_t bucket_count = hash[0];
    uint32_t first = hash[1];
    const uint32_t *buckets = hash + 4 + (size_t)hash[2] * 2; /* the filter has 8-byte words */
    const uint32_t *chain = buckets + bucket_count;
    uint32_t last = 0;

    for (uint32_t i = 0; i < bucket_count; i++)
        if (buckets[i] > last)
            last = buckets[i];
    if (last < first)
        return first;
    while (!(chain[last - first] & 1))
        last++;
    return (size_t)last + 1;
}

static void read_dynamic(struct tsc_object *o, const ElfW(Dyn) * dynamic)
{
    const uint32_t *gnu_hash = NULL;
    const uint32_t *hash = NULL;
    const ElfW(Sym) *symbols = NULL;

    for (; dynamic->d_tag != DT_NULL; dynamic++) {
        uint64_t at = dynamic->d_un.d_ptr; /* glibc has relocated it, other loaders have not */
        const void *p = pointer_of(at < o->base ? at + o->base : at);

        if (dynamic->d_tag == DT_SYMTAB)
            symbols = p;
        else if (dynamic->d_tag == DT_GNU_HASH)
            gnu_hash = p;
        else if (dynamic->d_tag == DT_HASH)
            hash = p;
    }
    if (!symbols || (!gnu_hash && !hash))
        return;
    o->symbols = symbols;
    o->symbol_count = gnu_hash ? count_by_gnu_hash(gnu_hash) : hash[1];
    if (!is_inside(o, symbols, o->symbol_count * sizeof(*symbols)))
        o->symbol_count = 0;
}

void tsc_object_init(struct tsc_object *o, const struct dl_phdr_info *info)
{
    const ElfW(Dyn) *dynamic = NULL;

    *o = (struct tsc_object){.base = info->dlpi_addr, .low = UINT64_MAX, .path = info->dlpi_name};
    if (!o->path || o->path[0] == '\0')
        o->path = "/proc/self/exe";
    for (size_t i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *ph = &info->dlpi_phdr[i];
        uint64_t start = info->dlpi_addr + ph->p_vaddr;

        if (ph->p_type == PT_LOAD) {
            o->low = start < o->low ? start : o->low;
            o->high = start + ph->p_memsz > o->high ? start + ph->p_memsz : o->high;
        } else if (ph->p_type == PT_GNU_EH_FRAME) {
            o->unwind = pointer_of(start);
        } else if (ph->p_type == PT_DYNAMIC) {
            dynamic = pointer_of(start);
        }
    }
    if (o->unwind &&
        (!is_inside(o, o->unwind, UNWIND_HEAD_BYTES) || o->unwind[0] != UNWIND_VERSION ||
         o->unwind[2] != UNWIND_COUNT_ENCODING || o->unwind[3] != UNWIND_TABLE_ENCODING))
        o->unwind = NULL;
    if (dynamic)
        read_dynamic(o, dynamic);
}

void tsc_object_done(struct tsc_object *o)
{
    if (o->file)
        munmap(o->file, o->file_size);
    *o = (struct tsc_object){0};
}

/* Skips a LEB128 number. */
static const uint8_t *skip_leb(const uint8_t *p)
{
    while (*p & 0x80)
        p++;
    return p + 1;
}

/* Bytes of a pointer in an encoding of .eh_frame; 0: not one of fixed size. */
static size_t encoded_size(uint8_t encoding)
{
    switch (encoding & 0x07) {
    case 0x00: /* absolute */
    case 0x04: /* 8 bytes */
        return 8;
    case 0x02:
        return 2;
    case 0x03:
        return 4;
    default:
        return 0;
    }
}

/* How the entries of this CIE encode code addresses. */
static uint8_t code_encoding(const uint8_t *cie)
{
    const uint8_t *p = cie + 8; /* length, id */
    uint8_t version = *p++;
    const char *augmentation = (const char *)p;

    p += strlen(augmentation) + 1;
    p = skip_leb(skip_leb(p)); /* alignments of code and data */
    p = version == 1 ? p + 1 : skip_leb(p);
    if (*augmentation++ != 'z')
        return 0;
    p = skip_leb(p);
    for (; *augmentation; augmentation++) {
        if (*augmentation == 'R')
            return *p;
        if (*augmentation == 'L')
            p += 1;
        else if (*augmentation == 'P')
            p += 1 + encoded_size(*p);
    }
    return 0;
}

/* Reads the length of the function that an entry of .eh_frame describes; 0: cannot. */
static uint64_t unwind_length(const struct tsc_object *o, const uint8_t *fde)
{
    if (!is_inside(o, fde, 16) || read_u32(fde) == UINT32_MAX)
        return 0;
    const uint8_t *cie = fde + 4 - read_u32(fde + 4);

    if (!is_inside(o, cie, 16))
        return 0;
    size_t size = encoded_size(code_encoding(cie));
    uint64_t length = 0;

    /* The start comes first; the length has the same size and is never relative. */
    if (size > 0 && is_inside(o, fde + 8, 2 * size))
        memcpy(&length, fde + 8 + size, size);
    return length;
}

static bool find_unwind(const struct tsc_object *o, uint64_t address, struct tsc_range *ret)
{
    if (!o->unwind)
        return false;
    uint64_t here = (uint64_t)(uintptr_t)o->unwind;
    const uint8_t *table = o->unwind + UNWIND_HEAD_BYTES;
    size_t low = 0;
    size_t high = read_u32(o->unwind + 8);

    if (!is_inside(o, table, high * 8))
        return false;
    while (low < high) { /* the first entry that starts behind the address */
        size_t middle = low + (high - low) / 2;
        uint64_t start = here + (uint64_t)(int64_t)(int32_t)read_u32(table + middle * 8);

        if (start <= address)
            low = middle + 1;
        else
            high = middle;
    }
    if (low == 0)
        return false;
    const uint8_t *entry = table + (low - 1) * 8;

    ret->start = here + (uint64_t)(int64_t)(int32_t)read_u32(entry);
    ret->size =
        unwind_length(o, pointer_of(here + (uint64_t)(int64_t)(int32_t)read_u32(entry + 4)));
    return address - ret->start < ret->size;
}

static bool find_symbol(const struct tsc_object *o, const ElfW(Sym) * symbols, size_t count,
                        uint64_t address, struct tsc_range *ret)
{
    for (size_t i = 0; i < count; i++) {
        const ElfW(Sym) *s = &symbols[i];
        uint64_t start = o->base + s->st_value;

        if (ELF64_ST_TYPE(s->st_info) != STT_FUNC || s->st_shndx == SHN_UNDEF || address < start ||
            address - start >= s->st_size)
            continue;
        *ret = (struct tsc_range){.start = start, .size = s->st_size};
        return true;
    }
    return false;
}

static void map_file(struct tsc_object *o)
{
    int fd = open(o->path, O_RDONLY | O_CLOEXEC);
    struct stat st;

    o->is_file_tried = true;
    if (fd < 0)
        return;
    if (fstat(fd, &st) == 0 && st.st_size >= (off_t)sizeof(ElfW(Ehdr))) {
        void *p = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);

        o->file = p == MAP_FAILED ? NULL : p;
        o->file_size = (size_t)st.st_size;
    }
    close(fd);
}

static void read_sections(struct tsc_object *o)
{
    const ElfW(Ehdr) *head = (const void *)o->file;

    if (memcmp(head->e_ident, ELFMAG, SELFMAG) != 0 || head->e_shentsize != sizeof(ElfW(Shdr)) ||
        head->e_shoff > o->file_size || head->e_shoff % _Alignof(ElfW(Shdr)) != 0 ||
        head->e_shnum > (o->file_size - head->e_shoff) / sizeof(ElfW(Shdr)))
        return;
    const ElfW(Shdr) *sections = (const void *)(o->file + head->e_shoff);

    for (size_t i = 0; i < head->e_shnum; i++) {
        const ElfW(Shdr) *s = &sections[i];

        if (s->sh_type != SHT_SYMTAB || s->sh_offset > o->file_size ||
            s->sh_size > o->file_size - s->sh_offset || s->sh_offset % _Alignof(ElfW(Sym)) != 0)
            continue;
        o->file_symbols = (const void *)(o->file + s->sh_offset);
        o->file_symbol_count = s->sh_size / sizeof(ElfW(Sym));
    }
}

bool tsc_function_at(struct tsc_object *o, uint64_t address, struct tsc_range *ret)
{
    if (find_unwind(o, address, ret) || find_symbol(o, o->symbols, o->symbol_count, address, ret))
        return true;
    if (!o->is_file_tried) {
        map_file(o);
        if (o->file)
            read_sections(o);
    }
    return find_symbol(o, o->file_symbols, o->file_symbol_count, address, ret);
}

bool tsc_is_among_functions(const struct tsc_object *o, uint64_t address)
{
    if (!o->unwind)
        return true;
    uint64_t here = (uint64_t)(uintptr_t)o->unwind;
    const uint8_t *table = o->unwind + UNWIND_HEAD_BYTES;
    size_t count = read_u32(o->unwind + 8);

    if (count == 0 || !is_inside(o, table, count * 8))
        return true;
    return address > here + (uint64_t)(int64_t)(int32_t)read_u32(table) &&
           address < here + (uint64_t)(int64_t)(int32_t)read_u32(table + (count - 1) * 8);
}
