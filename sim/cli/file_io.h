/* SPDX-License-Identifier: Apache-2.0 */
/* The only open() of the simulator: whole files in, whole sets of files out. */
#ifndef SIM_CLI_FILE_IO_H
#define SIM_CLI_FILE_IO_H

#include <stdbool.h>
#include <stddef.h>

#include "sim/base/arena.h"
#include "sim/base/err.h"
#include "sim/scenario/scenario.h"

/* The most that is read of one file. */
#define FILE_BYTES_MAX ((size_t)16 * 1024 * 1024)

/*
 * Reads a regular file, or standard input when the path is "-".
 *
 * Returns:  true and the bytes in the arena, with a NUL behind the last.
 * Errors:   what stands in the way: no such file, a folder, a device or pipe, too large,
 * unreadable.
 */
bool file_read(const char *path, struct arena *arena, struct source_text *ret, struct err *reterr);

/* Files that appear together or not at all. */
struct file_set;

/* `folder` is made, with its parents, when the set is written. */
struct file_set *file_set_new(const char *folder);
/* Removes what was written under temporary names, if the set was not completed. */
void file_set_free(struct file_set *set);
/* One more file; the bytes are borrowed until file_set_write. */
void file_set_add(struct file_set *set, const char *name, const char *bytes, size_t length);

/*
 * Writes all files under temporary names beside their final ones, waits until the disk has them,
 * and renames them.
 *
 * Returns:  true when every file is in place. Otherwise no file of the set is under its final name,
 *           no temporary file is left, folders made for it are gone, and *ret_error says why (to be
 *           freed with g_free).
 */
bool file_set_write(struct file_set *set, char **ret_error);

/* One file at a path, as file_set_write does it. */
bool file_write(const char *path, const char *bytes, size_t length, char **ret_error);

#endif
