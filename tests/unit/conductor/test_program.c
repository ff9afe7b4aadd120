/* SPDX-License-Identifier: Apache-2.0 */
/* Files that are programs, or are not, made by hand: the emulator's library goes into a dynamic one
 * for this processor only. */
#define _GNU_SOURCE
#include <elf.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <criterion/criterion.h>

#include "verbs-shim/conductor/program.h"

#if defined(__x86_64__)
#define OWN   EM_X86_64
#define OTHER EM_AARCH64
#else
#define OWN   EM_AARCH64
#define OTHER EM_X86_64
#endif

static char folder[] = "/tmp/tbmesh-program-XXXXXX";

static const char *path_of(const char *name)
{
    static char path[64];

    (void)snprintf(path, sizeof path, "%s/%s", folder, name);
    return path;
}

static void put(const char *name, const void *bytes, size_t length, mode_t mode)
{
    int fd = open(path_of(name), O_WRONLY | O_CREAT | O_TRUNC, 0600);

    cr_assert(fd >= 0 && write(fd, bytes, length) == (ssize_t)length);
    cr_assert_eq(fchmod(fd, mode), 0);
    cr_assert_eq(close(fd), 0);
}

struct image {
    Elf64_Ehdr head;
    Elf64_Phdr headers[2];
};

/* A dynamic program in as few bytes as program_find reads. */
static struct image image(void)
{
    struct image image = {.head = {.e_machine = OWN,
                                   .e_phoff = sizeof(Elf64_Ehdr),
                                   .e_phentsize = sizeof(Elf64_Phdr),
                                   .e_phnum = 2},
                          .headers = {{.p_type = PT_LOAD}, {.p_type = PT_INTERP}}};

    memcpy(image.head.e_ident, ELFMAG, SELFMAG);
    image.head.e_ident[EI_CLASS] = ELFCLASS64;
    return image;
}

static void put_script(const char *name, const char *first_line)
{
    char text[512];

    (void)snprintf(text, sizeof text, "#!%s\nrest\n", first_line);
    put(name, text, strlen(text), 0700);
}

static void set_up(void)
{
    struct image dynamic = image();

    cr_assert_not_null(mkdtemp(folder));
    cr_assert_eq(setenv("PATH", folder, 1), 0);
    put("dynamic", &dynamic, sizeof dynamic, 0700);
}

static void tear_down(void)
{
    char command[64];

    (void)snprintf(command, sizeof command, "/bin/rm -rf %s", folder);
    cr_expect_eq(system(command), 0);
}

TestSuite(program, .init = set_up, .fini = tear_down);

/* `said`: part of the error; NULL: it is found. */
static void expect(const char *row, const char *command, const char *said)
{
    struct arena arena;
    struct err err = {0};
    const char *path = NULL;
    bool is_found;

    arena_init(&arena);
    is_found = program_find(command, &arena, &path, &err);
    cr_expect_eq(is_found, said == NULL, "%s: %s", row, err.text);
    cr_expect_eq(is_found, err.code == ERR_NONE, "%s", row);
    if (said)
        cr_expect_not_null(strstr(err.text, said), "%s: '%s' does not say '%s'", row, err.text,
                           said);
    arena_done(&arena);
}

Test(program, is_found_as_execvp_would)
{
    put("closed", "#!/bin/sh\n", 10, 0600);
    cr_assert_eq(mkdir(path_of("folder"), 0700), 0);
    expect("by name", "dynamic", NULL);
    expect("by path", path_of("dynamic"), NULL);
    expect("nowhere", "no-such-thing", "no such command: 'no-such-thing'");
    expect("no word", "", "no such command: ''");
    expect("a path to nothing", path_of("nothing"), "No such file");
    expect("a folder", path_of("folder"), "is no program");
    expect("a folder by name", "folder", "is no program");
    expect("closed", "closed", "may not be executed");
}

Test(program, an_elf_file_has_to_be_dynamic_and_of_this_processor)
{
    static const struct {
        const char *name, *said;
        uint16_t machine, entry_size, count;
        uint64_t at;
        unsigned char bits;
        size_t length;
    } rows[] = {
        {"good", NULL, OWN, 56, 2, 64, ELFCLASS64, sizeof(struct image)},
        {"one header, no loader", "statically", OWN, 56, 1, 64, ELFCLASS64, sizeof(struct image)},
        {"no headers", "statically", OWN, 56, 0, 64, ELFCLASS64, sizeof(struct image)},
        {"another processor", "another kind", OTHER, 56, 2, 64, ELFCLASS64, sizeof(struct image)},
        {"32 bits", "another kind", OWN, 56, 2, 64, ELFCLASS32, sizeof(struct image)},
        {"short headers", "statically", OWN, 55, 2, 64, ELFCLASS64, sizeof(struct image)},
        {"headers beyond the end", "statically", OWN, 56, 2, 4096, ELFCLASS64,
         sizeof(struct image)},
        {"headers before the start", "statically", OWN, 56, 2, UINT64_MAX - 7, ELFCLASS64,
         sizeof(struct image)},
        {"cut in its headers", "statically", OWN, 56, 2, 64, ELFCLASS64, 64 + 56 + 55},
        {"cut in its head", "another kind", OWN, 56, 2, 64, ELFCLASS64, 63},
        {"sixteen bytes", "neither a program nor a script", OWN, 56, 2, 64, ELFCLASS64, 16},
        {"empty", "neither a program nor a script", OWN, 56, 2, 64, ELFCLASS64, 0},
    };

    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct image made = image();

        made.head.e_machine = rows[i].machine;
        made.head.e_phentsize = rows[i].entry_size;
        made.head.e_phnum = rows[i].count;
        made.head.e_phoff = rows[i].at;
        made.head.e_ident[EI_CLASS] = rows[i].bits;
        put("made", &made, rows[i].length, 0700);
        expect(rows[i].name, "made", rows[i].said);
    }
}

Test(program, a_script_stands_for_its_interpreter)
{
    char long_line[400];
    struct image fixed = image();

    fixed.head.e_phnum = 1;
    put("fixed", &fixed, sizeof fixed, 0700);
    memset(long_line, 'x', sizeof long_line - 1);
    long_line[sizeof long_line - 1] = '\0';
    const struct {
        const char *line, *said;
    } rows[] = {
        {"dynamic", NULL},
        {"  dynamic  -x y", NULL},
        {"/usr/bin/env dynamic", NULL},
        {"/usr/bin/env -S A=1 dynamic -x", NULL},
        {"fixed", "statically"},
        {"/usr/bin/env fixed", "statically"},
        {"missing", "no such command: 'missing'"},
        {"/usr/bin/env missing", "no such command: 'missing'"},
        {"", "no such command: ''"},
        {long_line, "no such command"},
    };

    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        put_script("script", rows[i].line);
        expect(rows[i].line, "script", rows[i].said);
    }
}

/* As the kernel, which gives up after a few; a script of itself must not hold the run up. */
Test(program, scripts_of_scripts_end)
{
    put_script("one", "dynamic");
    put_script("two", "one");
    put_script("three", "two");
    put_script("self", "self");
    expect("three deep", "three", NULL);
    expect("itself", "self", NULL);
}
