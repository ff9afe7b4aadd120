/* SPDX-License-Identifier: Apache-2.0 */
/* Where functions begin and end in a loaded object. */
#ifndef VERBS_SHIM_SHIM_TSC_TSC_ELF_H
#define VERBS_SHIM_SHIM_TSC_TSC_ELF_H

#include <link.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct tsc_range {
    uint64_t start;
    uint64_t size;
};

/* A loaded object; all pointers lead into it. */
struct tsc_object {
    uint64_t base;             /* what is added to the file's addresses */
    uint64_t low, high;        /* what it occupies */
    const char *path;          /* borrowed */
    const uint8_t *unwind;     /* .eh_frame_hdr; NULL: none */
    const ElfW(Sym) * symbols; /* .dynsym; NULL: none */
    size_t symbol_count;
    uint8_t *file; /* owned mapping, made when first needed: for .symtab */
    size_t file_size;
    const ElfW(Sym) * file_symbols; /* borrowed from file */
    size_t file_symbol_count;
    bool is_file_tried;
};

void tsc_object_init(struct tsc_object *o, const struct dl_phdr_info *info);
void tsc_object_done(struct tsc_object *o);

/* The function that holds the address, by unwind tables, dynamic symbols or the file's symbols, in
 * this order. False: none of them knows. */
bool tsc_function_at(struct tsc_object *o, uint64_t address, struct tsc_range *ret);

/* Whether functions are known before and behind the address: false for tables that share a segment
 * with code. */
bool tsc_is_among_functions(const struct tsc_object *o, uint64_t address);

#endif
