/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Any bytes as an executable file. Beyond "no crash" and "it ends": found or an error and never
 * both, and a second look says the same.
 */
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "verbs-shim/conductor/program.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(bool holds)
{
    if (!holds)
        abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    int fd = memfd_create("program", MFD_CLOEXEC);
    struct err errs[2] = {{0}};
    struct arena arena;
    char path[32];
    bool is_found[2];

    if (fd < 0)
        return 0;
    require(fchmod(fd, 0700) == 0 && write(fd, data, size) == (ssize_t)size);
    (void)snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    arena_init(&arena);
    for (int i = 0; i < 2; i++) {
        const char *found = NULL;

        is_found[i] = program_find(path, &arena, &found, &errs[i]);
        require(is_found[i] == (errs[i].code == ERR_NONE));
        require(!is_found[i] || strcmp(found, path) == 0);
    }
    require(is_found[0] == is_found[1] && strcmp(errs[0].text, errs[1].text) == 0);
    arena_done(&arena);
    (void)close(fd);
    return 0;
}
