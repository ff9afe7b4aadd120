/* SPDX-License-Identifier: Apache-2.0 */
/*
 * DOC: Files that stand for devices and for the processor
 *
 * UCX and others look for devices in /sys/class/infiniband and /dev/infiniband before they open
 * one; perftest asks /proc/cpuinfo how fast rdtsc counts. The conductor makes a tree of such files
 * for each rank and names it in TBMESH_TREE; these paths, and what lies below the folders, lead
 * there, for every process of a rank, under the clock or not. Paths relative to a directory of the
 * tree need nothing. realpath says where the file really is.
 *
 * The C library opens files also by itself (fopen, opendir, scandir), so these are wrapped as well;
 * names ending in 64 are the same functions on a 64-bit machine.
 */
#include <dirent.h>
#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "verbs-shim/proto/proto.h"
#include "verbs-shim/shim/actor.h"
#include "verbs-shim/shim/export.h"
#include "verbs-shim/shim/libc/fifo.h"
#include "verbs-shim/shim/libc/real.h"

#define RANK_DIGITS 2U

static char tree[PATH_MAX];

/* A name that ends in '-' is one of several, by rank. */
static void find_root(const char *name)
{
    size_t length = name ? strlen(name) : 0;
    uint32_t rank;

    if (length == 0 || length + RANK_DIGITS >= sizeof(tree))
        return;
    if (name[length - 1] != '-') {
        memcpy(tree, name, length + 1);
        return;
    }
    if (!client_find_rank(&rank))
        return;
    memcpy(tree, name, length);
    if (rank >= 10)
        tree[length++] = (char)('0' + rank / 10 % 10);
    tree[length++] = (char)('0' + rank % 10);
    tree[length] = '\0';
}

/* The tree's folder; NULL: none. */
static const char *tree_find(void)
{
    enum {
        UNKNOWN,
        NONE,
        FOUND,
    };
    static _Atomic int state = UNKNOWN;

    if (atomic_load_explicit(&state, memory_order_acquire) == UNKNOWN) {
        find_root(getenv(PROTO_ENV_TREE)); // NOLINT(concurrency-mt-unsafe): start-up
        atomic_store_explicit(&state, tree[0] ? FOUND : NONE, memory_order_release);
    }
    return atomic_load_explicit(&state, memory_order_acquire) == FOUND ? tree : NULL;
}

static bool is_in_tree(const char *path)
{
    static const char *const files[] = {"/proc/cpuinfo",
                                        "/sys/devices/system/cpu/cpu0/tsc_freq_khz"};
    static const char node[] = "/dev/infiniband";
    static const char class[] = "/sys/class/infiniband"; /* and infiniband_verbs, and so on */

    for (size_t i = 0; i < sizeof(files) / sizeof(*files); i++) {
        if (strcmp(path, files[i]) == 0)
            return true;
    }
    if (strncmp(path, class, sizeof(class) - 1) == 0)
        return true;
    return strncmp(path, node, sizeof(node) - 1) == 0 &&
           (path[sizeof(node) - 1] == '\0' || path[sizeof(node) - 1] == '/');
}

struct place {
    char text[PATH_MAX];
};

/* Where the path leads: itself, or `place`. */
static const char *lead(const char *path, struct place *place)
{
    const char *root;
    size_t root_length;
    size_t length;

    if (!path || path[0] != '/' || !is_in_tree(path))
        return path;
    root = tree_find();
    if (!root)
        return path;
    root_length = strlen(root);
    length = strlen(path);
    if (root_length + length >= sizeof(place->text))
        return path;
    memcpy(place->text, root, root_length);
    memcpy(place->text + root_length, path, length + 1);
    return place->text;
}

static bool has_mode(int flags)
{
    return (flags & O_CREAT) || (flags & O_TMPFILE) == O_TMPFILE;
}

SHIM_EXPORT int open(const char *path, int flags, ...)
{
    struct place place;
    mode_t mode = 0;

    if (has_mode(flags)) {
        va_list args;

        va_start(args, flags);
        mode = va_arg(args, mode_t);
        va_end(args);
    }
    if (fifo_waits(AT_FDCWD, path, flags))
        return fifo_open(AT_FDCWD, path, flags);
    return REAL(open)(lead(path, &place), flags, mode);
}

SHIM_EXPORT int openat(int folder, const char *path, int flags, ...)
{
    struct place place;
    mode_t mode = 0;

    if (has_mode(flags)) {
        va_list args;

        va_start(args, flags);
        mode = va_arg(args, mode_t);
        va_end(args);
    }
    if (fifo_waits(folder, path, flags))
        return fifo_open(folder, path, flags);
    return REAL(openat)(folder, lead(path, &place), flags, mode);
}

static FILE *open_fifo(const char *path, const char *mode)
{
    int fd = fifo_open(AT_FDCWD, path, fifo_flags(mode));
    FILE *file = fd == -1 ? NULL : fdopen(fd, mode);

    if (!file && fd != -1)
        (void)close(fd);
    return file;
}

SHIM_EXPORT FILE *fopen(const char *restrict path, const char *restrict mode)
{
    struct place place;

    if (fifo_waits(AT_FDCWD, path, fifo_flags(mode)))
        return open_fifo(path, mode);
    return REAL(fopen)(lead(path, &place), mode);
}

/* For programs with large files: the two have had one off_t on 64 bits ever since. */
SHIM_EXPORT int open64(const char *path, int flags, ...) __attribute__((alias("open")));
SHIM_EXPORT int openat64(int folder, const char *path, int flags, ...)
    __attribute__((alias("openat")));
SHIM_EXPORT FILE *fopen64(const char *restrict path, const char *restrict mode)
    __attribute__((alias("fopen")));

SHIM_EXPORT int stat(const char *restrict path, struct stat *restrict ret)
{
    struct place place;

    return REAL(stat)(lead(path, &place), ret);
}

SHIM_EXPORT int lstat(const char *restrict path, struct stat *restrict ret)
{
    struct place place;

    return REAL(lstat)(lead(path, &place), ret);
}

SHIM_EXPORT int fstatat(int folder, const char *restrict path, struct stat *restrict ret, int flags)
{
    struct place place;

    return REAL(fstatat)(folder, lead(path, &place), ret, flags);
}

SHIM_EXPORT int stat64(const char *restrict path, struct stat64 *restrict ret)
{
    struct place place;

    return REAL(stat64)(lead(path, &place), ret);
}

SHIM_EXPORT int lstat64(const char *restrict path, struct stat64 *restrict ret)
{
    struct place place;

    return REAL(lstat64)(lead(path, &place), ret);
}

SHIM_EXPORT int fstatat64(int folder, const char *restrict path, struct stat64 *restrict ret,
                          int flags)
{
    struct place place;

    return REAL(fstatat64)(folder, lead(path, &place), ret, flags);
}

SHIM_EXPORT int statx(int folder, const char *restrict path, int flags, unsigned mask,
                      struct statx *restrict ret)
{
    struct place place;

    return REAL(statx)(folder, lead(path, &place), flags, mask, ret);
}

SHIM_EXPORT int access(const char *path, int mode)
{
    struct place place;

    return REAL(access)(lead(path, &place), mode);
}

SHIM_EXPORT int faccessat(int folder, const char *path, int mode, int flags)
{
    struct place place;

    return REAL(faccessat)(folder, lead(path, &place), mode, flags);
}

SHIM_EXPORT ssize_t readlink(const char *restrict path, char *restrict buf, size_t size)
{
    struct place place;

    return REAL(readlink)(lead(path, &place), buf, size);
}

SHIM_EXPORT ssize_t readlinkat(int folder, const char *restrict path, char *restrict buf,
                               size_t size)
{
    struct place place;

    return REAL(readlinkat)(folder, lead(path, &place), buf, size);
}

SHIM_EXPORT char *realpath(const char *restrict path, char *restrict buf)
{
    struct place place;

    return REAL(realpath)(lead(path, &place), buf);
}

SHIM_EXPORT char *canonicalize_file_name(const char *path)
{
    return realpath(path, NULL);
}

SHIM_EXPORT DIR *opendir(const char *path)
{
    struct place place;

    return REAL(opendir)(lead(path, &place));
}

SHIM_EXPORT int scandir(const char *restrict path, struct dirent ***restrict ret,
                        int (*want)(const struct dirent *),
                        int (*compare)(const struct dirent **, const struct dirent **))
{
    struct place place;

    return REAL(scandir)(lead(path, &place), ret, want, compare);
}

// NOLINTBEGIN(bugprone-reserved-identifier,readability-identifier-naming): the C library's names
/* Called by programs that were compiled with _FORTIFY_SOURCE, */
int __open_2(const char *path, int flags);
int __open64_2(const char *path, int flags);
int __openat_2(int folder, const char *path, int flags);
int __openat64_2(int folder, const char *path, int flags);
ssize_t __readlink_chk(const char *path, char *buf, size_t size, size_t room);
char *__realpath_chk(const char *path, char *buf, size_t room);
/* or for a C library older than 2.33. */
int __xstat(int version, const char *path, struct stat *ret);
int __lxstat(int version, const char *path, struct stat *ret);
int __fxstatat(int version, int folder, const char *path, struct stat *ret, int flags);
int __xstat64(int version, const char *path, struct stat *ret);
int __lxstat64(int version, const char *path, struct stat *ret);
int __fxstatat64(int version, int folder, const char *path, struct stat *ret, int flags);

SHIM_EXPORT int __open_2(const char *path, int flags)
{
    struct place place;

    return REAL(__open_2)(lead(path, &place), flags);
}

SHIM_EXPORT int __open64_2(const char *path, int flags)
{
    return __open_2(path, flags);
}

SHIM_EXPORT int __openat_2(int folder, const char *path, int flags)
{
    struct place place;

    return REAL(__openat_2)(folder, lead(path, &place), flags);
}

SHIM_EXPORT int __openat64_2(int folder, const char *path, int flags)
{
    return __openat_2(folder, path, flags);
}

SHIM_EXPORT ssize_t __readlink_chk(const char *path, char *buf, size_t size, size_t room)
{
    struct place place;

    return REAL(__readlink_chk)(lead(path, &place), buf, size, room);
}

SHIM_EXPORT char *__realpath_chk(const char *path, char *buf, size_t room)
{
    struct place place;

    return REAL(__realpath_chk)(lead(path, &place), buf, room);
}

SHIM_EXPORT int __xstat(int version, const char *path, struct stat *ret)
{
    struct place place;

    return REAL(__xstat)(version, lead(path, &place), ret);
}

SHIM_EXPORT int __lxstat(int version, const char *path, struct stat *ret)
{
    struct place place;

    return REAL(__lxstat)(version, lead(path, &place), ret);
}

SHIM_EXPORT int __fxstatat(int version, int folder, const char *path, struct stat *ret, int flags)
{
    struct place place;

    return REAL(__fxstatat)(version, folder, lead(path, &place), ret, flags);
}

SHIM_EXPORT int __xstat64(int version, const char *path, struct stat *ret)
{
    return __xstat(version, path, ret);
}

SHIM_EXPORT int __lxstat64(int version, const char *path, struct stat *ret)
{
    return __lxstat(version, path, ret);
}

SHIM_EXPORT int __fxstatat64(int version, int folder, const char *path, struct stat *ret, int flags)
{
    return __fxstatat(version, folder, path, ret, flags);
}
// NOLINTEND(bugprone-reserved-identifier,readability-identifier-naming)
