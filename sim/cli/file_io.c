/* SPDX-License-Identifier: Apache-2.0 */
/*
 * DOC: Files
 *
 * A result that is cut off looks like a result. So a set of files is first written whole under
 * temporary names in its own folder (a rename does not cross file systems), flushed to the disk
 * (a full disk may say so only then), and renamed last. SIGINT and SIGTERM wait meanwhile: the
 * set is small, and a process that ended in between would leave the temporary files behind.
 *
 * SIGXFSZ and SIGPIPE are ignored by main(), so that a limit on file sizes is an error of write()
 * like a full disk.
 */
#define _GNU_SOURCE

#include "sim/cli/file_io.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <glib.h>

#define READ_PIECE_BYTES ((size_t)64 * 1024)

static bool refuse(struct err *reterr, const char *path, const char *why)
{
    return err_set(reterr, ERR_SYNTAX, (struct src_pos){path, 0, 0}, "%s", why);
}

/* O_NONBLOCK, so that a pipe without a writer is refused instead of waited for. */
static int open_regular(const char *path, struct err *reterr)
{
    struct stat status;
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);

    if (fd < 0) {
        refuse(reterr, path, g_strerror(errno));
        return -1;
    }

    const char *why = NULL;

    if (fstat(fd, &status) != 0)
        why = g_strerror(errno);
    else if (S_ISDIR(status.st_mode))
        why = "this is a directory, a file is needed";
    else if (!S_ISREG(status.st_mode))
        why = "this is a device, a pipe or a socket; a file is needed, or '-' for standard input";
    else if ((uint64_t)status.st_size > FILE_BYTES_MAX)
        why = "larger than 16 MiB, which is the most that is read";
    if (!why)
        return fd;
    refuse(reterr, path, why);
    (void)close(fd);
    return -1;
}

static bool read_all(int fd, const char *name, GByteArray *into, struct err *reterr)
{
    char piece[READ_PIECE_BYTES];

    for (;;) {
        ssize_t got = read(fd, piece, sizeof piece);

        if (got == 0)
            return true;
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            return refuse(reterr, name, g_strerror(errno));
        g_byte_array_append(into, (const unsigned char *)piece, (guint)got);
        if (into->len > FILE_BYTES_MAX)
            return refuse(reterr, name, "larger than 16 MiB, which is the most that is read");
    }
}

bool file_read(const char *path, struct arena *arena, struct source_text *ret, struct err *reterr)
{
    bool is_stdin = strcmp(path, "-") == 0;
    const char *name = is_stdin ? "standard input" : path;
    int fd = is_stdin ? STDIN_FILENO : open_regular(path, reterr);

    if (fd < 0)
        return false;

    GByteArray *bytes = g_byte_array_new();
    bool ok = read_all(fd, name, bytes, reterr);

    if (ok)
        *ret = (struct source_text){
            .name = arena_copy_text(arena, name, strlen(name)),
            .bytes =
                arena_copy_text(arena, bytes->data ? (const char *)bytes->data : "", bytes->len),
            .length = bytes->len,
        };
    g_byte_array_unref(bytes);
    if (!is_stdin)
        (void)close(fd);
    return ok;
}

struct pending_file {
    char *path;      /* owned */
    char *temporary; /* owned; NULL before it exists and after the rename */
    const char *bytes;
    size_t length;
    bool is_in_place;
};

struct file_set {
    char *folder;       /* owned */
    GArray *files;      /* owned, of struct pending_file */
    GPtrArray *folders; /* owned: folders made for this set, outermost first */
};

struct file_set *file_set_new(const char *folder)
{
    struct file_set *set = g_new0(struct file_set, 1);

    set->folder = g_strdup(folder);
    set->files = g_array_new(FALSE, TRUE, sizeof(struct pending_file));
    set->folders = g_ptr_array_new_with_free_func(g_free);
    return set;
}

static struct pending_file *file_at(struct file_set *set, guint ix)
{
    return &g_array_index(set->files, struct pending_file, ix);
}

static void remove_temporaries(struct file_set *set)
{
    for (guint i = 0; i < set->files->len; i++) {
        struct pending_file *file = file_at(set, i);

        if (file->temporary)
            (void)unlink(file->temporary);
        g_clear_pointer(&file->temporary, g_free);
    }
}

void file_set_free(struct file_set *set)
{
    if (!set)
        return;
    remove_temporaries(set);
    for (guint i = 0; i < set->files->len; i++)
        g_free(file_at(set, i)->path);
    g_array_unref(set->files);
    g_ptr_array_unref(set->folders);
    g_free(set->folder);
    g_free(set);
}

void file_set_add(struct file_set *set, const char *name, const char *bytes, size_t length)
{
    struct pending_file file = {
        .path = g_build_filename(set->folder, name, NULL), .bytes = bytes, .length = length};

    g_array_append_val(set->files, file);
}

/* Makes the folder and its parents, remembering which are new. */
static bool make_folders(struct file_set *set, char **ret_error)
{
    GPtrArray *wanted = g_ptr_array_new_with_free_func(g_free);
    char *path = g_strdup(set->folder);
    bool ok = true;

    while (!g_file_test(path, G_FILE_TEST_EXISTS) && strcmp(path, ".") != 0) {
        char *parent = g_path_get_dirname(path);

        g_ptr_array_add(wanted, path);
        path = parent;
    }
    g_free(path);
    for (guint i = wanted->len; ok && i > 0; i--) {
        const char *folder = g_ptr_array_index(wanted, i - 1);

        /* Somebody else may have made it meanwhile: then it is not ours to remove. */
        if (mkdir(folder, 0777) == 0)
            g_ptr_array_add(set->folders, g_strdup(folder));
        else if (errno != EEXIST) {
            *ret_error =
                g_strdup_printf("cannot make the folder %s: %s", folder, g_strerror(errno));
            ok = false;
        }
    }
    g_ptr_array_unref(wanted);
    return ok;
}

static bool write_all(int fd, const char *bytes, size_t length)
{
    while (length > 0) {
        ssize_t put = write(fd, bytes, length);

        if (put < 0 && errno == EINTR)
            continue;
        if (put <= 0)
            return false;
        bytes += put;
        length -= (size_t)put;
    }
    return true;
}

static bool write_temporary(struct pending_file *file, mode_t mode, char **ret_error)
{
    struct stat status;
    char *temporary;
    bool ok;
    int fd;

    /* A rename would put a file where the directory, or the device, was. */
    if (stat(file->path, &status) == 0 && !S_ISREG(status.st_mode)) {
        *ret_error = g_strdup_printf("cannot write %s: it is a directory or a device", file->path);
        return false;
    }
    temporary = g_strconcat(file->path, ".XXXXXX", NULL);
    fd = g_mkstemp_full(temporary, O_WRONLY | O_CLOEXEC, 0600);
    if (fd < 0) {
        *ret_error = g_strdup_printf("cannot write %s: %s", file->path, g_strerror(errno));
        g_free(temporary);
        return false;
    }
    file->temporary = temporary;
    ok = fchmod(fd, mode) == 0 && write_all(fd, file->bytes, file->length) && fsync(fd) == 0;
    if (!ok)
        *ret_error = g_strdup_printf("cannot write %s: %s", file->path, g_strerror(errno));
    if (close(fd) != 0 && ok) {
        *ret_error = g_strdup_printf("cannot write %s: %s", file->path, g_strerror(errno));
        ok = false;
    }
    return ok;
}

static bool rename_all(struct file_set *set, char **ret_error)
{
    for (guint i = 0; i < set->files->len; i++) {
        struct pending_file *file = file_at(set, i);

        if (rename(file->temporary, file->path) != 0) {
            *ret_error = g_strdup_printf("cannot write %s: %s", file->path, g_strerror(errno));
            return false;
        }
        g_clear_pointer(&file->temporary, g_free);
        file->is_in_place = true;
    }
    return true;
}

/* After a crash of the machine a rename that did not reach the disk is a missing file. Not every
 * file system lets a folder be flushed, and the files are whole either way. */
static void flush_folder(const char *folder)
{
    int fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

    if (fd < 0)
        return;
    (void)fsync(fd);
    (void)close(fd);
}

static void take_back(struct file_set *set)
{
    remove_temporaries(set);
    for (guint i = 0; i < set->files->len; i++)
        if (file_at(set, i)->is_in_place)
            (void)unlink(file_at(set, i)->path);
    for (guint i = set->folders->len; i > 0; i--)
        (void)rmdir(g_ptr_array_index(set->folders, i - 1));
}

static mode_t mode_of_new_files(void)
{
    mode_t mask = umask(0);

    (void)umask(mask);
    return 0666 & ~mask;
}

bool file_set_write(struct file_set *set, char **ret_error)
{
    mode_t mode = mode_of_new_files();
    sigset_t stop_signals;
    sigset_t before;
    bool ok;

    (void)sigemptyset(&stop_signals);
    (void)sigaddset(&stop_signals, SIGINT);
    (void)sigaddset(&stop_signals, SIGTERM);
    (void)sigaddset(&stop_signals, SIGHUP);
    (void)sigprocmask(SIG_BLOCK, &stop_signals, &before);
    ok = make_folders(set, ret_error);
    for (guint i = 0; ok && i < set->files->len; i++)
        ok = write_temporary(file_at(set, i), mode, ret_error);
    ok = ok && rename_all(set, ret_error);
    if (ok)
        flush_folder(set->folder);
    else
        take_back(set);
    (void)sigprocmask(SIG_SETMASK, &before, NULL);
    return ok;
}

/* Devices and pipes have no half files. */
static bool write_device(const char *path, const char *bytes, size_t length, char **ret_error)
{
    int fd = open(path, O_WRONLY | O_CLOEXEC | O_NOCTTY);
    bool ok = fd >= 0 && write_all(fd, bytes, length);

    if (!ok)
        *ret_error = g_strdup_printf("cannot write %s: %s", path, g_strerror(errno));
    if (fd >= 0)
        (void)close(fd);
    return ok;
}

bool file_write(const char *path, const char *bytes, size_t length, char **ret_error)
{
    struct stat status;

    if (stat(path, &status) == 0 && !S_ISREG(status.st_mode) && !S_ISDIR(status.st_mode))
        return write_device(path, bytes, length, ret_error);

    char *folder = g_path_get_dirname(path);
    char *name = g_path_get_basename(path);
    struct file_set *set = file_set_new(folder);
    bool ok;

    file_set_add(set, name, bytes, length);
    ok = file_set_write(set, ret_error);
    file_set_free(set);
    g_free(name);
    g_free(folder);
    return ok;
}
