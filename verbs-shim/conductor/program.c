/* SPDX-License-Identifier: Apache-2.0 */
/*
 * DOC: Programs
 *
 * A preloaded library gets into a process through the loader, which the kernel starts only for a
 * file that names one (PT_INTERP). Static programs have none; a set-user-id program's loader
 * ignores what the user wants preloaded. Both would run beside the simulation without a word, so
 * they are refused. A script stands for its interpreter, and `env` for what follows it.
 */
#define _GNU_SOURCE

#include "verbs-shim/conductor/program.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <glib.h>

#define SCRIPTS_MAX  4 /* as the kernel */
#define HEAD_BYTES   4096U
#define HEADERS_MAX  128U
#define WORD_MAX     256U
#define DEFAULT_PATH "/usr/local/bin:/usr/bin:/bin"

#if defined(__x86_64__)
#define OWN_MACHINE EM_X86_64
#elif defined(__aarch64__)
#define OWN_MACHINE EM_AARCH64
#endif

static const struct src_pos nowhere = {0};

static bool is_executable(const char *path)
{
    struct stat st;

    return stat(path, &st) == 0 && S_ISREG(st.st_mode) && access(path, X_OK) == 0;
}

/* Returns false. */
static bool explain_missing(const char *path, struct err *reterr)
{
    struct stat st;

    if (stat(path, &st) != 0)
        (void)err_set(reterr, ERR_REFERENCE, nowhere, "%.200s: %s", path, g_strerror(errno));
    else if (!S_ISREG(st.st_mode))
        (void)err_set(reterr, ERR_REFERENCE, nowhere, "%.200s is no program", path);
    else
        (void)err_set(reterr, ERR_REFERENCE, nowhere, "%.200s may not be executed", path);
    return false;
}

static bool find_in_path(const char *command, struct arena *arena, const char **ret,
                         struct err *reterr)
{
    const char *path = g_getenv("PATH");
    const char *refused = NULL;

    if (strchr(command, '/')) {
        *ret = arena_format(arena, "%s", command);
        return is_executable(command) || explain_missing(command, reterr);
    }
    for (const char *at = path ? path : DEFAULT_PATH; *command;) {
        size_t length = strcspn(at, ":");
        const char *file =
            arena_format(arena, "%.*s%s%s", (int)length, at, length > 0 ? "/" : "./", command);

        if (is_executable(file)) {
            *ret = file;
            return true;
        }
        if (access(file, F_OK) == 0)
            refused = file;
        if (at[length] == '\0')
            break;
        at += length + 1;
    }
    if (refused)
        return explain_missing(refused, reterr);
    (void)err_set(reterr, ERR_REFERENCE, nowhere, "no such command: '%.200s'", command);
    return false;
}

static bool has_interpreter(const unsigned char *head, size_t length, int fd)
{
    const Elf64_Ehdr *elf = (const void *)head;

    if (length < sizeof *elf || elf->e_phentsize != sizeof(Elf64_Phdr))
        return false;
    for (unsigned i = 0; i < elf->e_phnum && i < HEADERS_MAX; i++) {
        Elf64_Phdr header;
        off_t at = (off_t)(elf->e_phoff + (Elf64_Off)i * sizeof header);

        if (pread(fd, &header, sizeof header, at) != (ssize_t)sizeof header)
            return false;
        if (header.p_type == PT_INTERP)
            return true;
    }
    return false;
}

static bool check_elf(const char *path, const unsigned char *head, size_t length, int fd,
                      struct err *reterr)
{
    const Elf64_Ehdr *elf = (const void *)head;

    if (head[EI_CLASS] != ELFCLASS64 || length < sizeof *elf || elf->e_machine != OWN_MACHINE)
        return err_set(reterr, ERR_CONFLICT, nowhere,
                       "%.150s is built for another kind of processor than this one; the "
                       "emulator's library cannot be loaded into it",
                       path);
    if (!has_interpreter(head, length, fd))
        return err_set(reterr, ERR_CONFLICT, nowhere,
                       "%.120s is statically linked, so nothing can be preloaded into it and it "
                       "would not see the simulated devices; link it dynamically",
                       path);
    return true;
}

/* The loader of such a program ignores LD_PRELOAD. */
static bool check_rights(const char *path, int fd, struct err *reterr)
{
    struct stat st;

    if (fstat(fd, &st) != 0)
        return err_set(reterr, ERR_REFERENCE, nowhere, "%.200s: %s", path, g_strerror(errno));
    if (((st.st_mode & S_ISUID) && st.st_uid != getuid()) ||
        ((st.st_mode & S_ISGID) && st.st_gid != getgid()) ||
        (getuid() != 0 && fgetxattr(fd, "security.capability", NULL, 0) > 0))
        return err_set(reterr, ERR_CONFLICT, nowhere,
                       "%.150s runs with rights of its own, so that the loader ignores what is to "
                       "be preloaded; run a copy without them",
                       path);
    return true;
}

/* The next word of a script's first line. */
static const char *next_word(const char *at, char ret[WORD_MAX])
{
    size_t length;

    at += strspn(at, " \t");
    length = strcspn(at, " \t\r\n");
    (void)snprintf(ret, WORD_MAX, "%.*s", (int)length, at);
    return at + length;
}

/* The command that a script's first line leads to. */
static const char *interpreter_of(const char *line, struct arena *arena)
{
    char word[WORD_MAX];
    const char *at = next_word(line, word);
    const char *slash = strrchr(word, '/');
    char next[WORD_MAX];

    if (strcmp(slash ? slash + 1 : word, "env") != 0)
        return arena_format(arena, "%s", word);
    do
        at = next_word(at, next);
    while (*next == '-' || strchr(next, '='));
    return arena_format(arena, "%s", *next ? next : word);
}

/* Looks into one file. A script: true and *ret_next, the command to look at next. */
static bool look(const char *path, struct arena *arena, const char **ret_next, struct err *reterr)
{
    _Alignas(Elf64_Ehdr) unsigned char head[HEAD_BYTES + 1] = {0};
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t length;
    bool ok;

    *ret_next = NULL;
    if (fd < 0)
        return true; /* may be executed but not read: the kernel will say */
    length = read(fd, head, HEAD_BYTES);
    if (length >= 2 && head[0] == '#' && head[1] == '!') {
        head[strcspn((const char *)head, "\n")] = '\0';
        *ret_next = interpreter_of((const char *)head + 2, arena);
        ok = true;
    } else if (length > EI_NIDENT && memcmp(head, ELFMAG, SELFMAG) == 0) {
        ok = check_elf(path, head, (size_t)length, fd, reterr) && check_rights(path, fd, reterr);
    } else {
        ok = err_set(reterr, ERR_CONFLICT, nowhere,
                     "%.200s is neither a program nor a script that begins with #!", path);
    }
    (void)close(fd);
    return ok;
}

bool program_find(const char *command, struct arena *arena, const char **ret, struct err *reterr)
{
    const char *next = NULL;
    const char *path = NULL;

    if (!find_in_path(command, arena, ret, reterr) || !look(*ret, arena, &next, reterr))
        return false;
    for (int i = 0; next && i < SCRIPTS_MAX; i++) {
        if (!find_in_path(next, arena, &path, reterr) || !look(path, arena, &next, reterr))
            return false;
    }
    return true;
}
