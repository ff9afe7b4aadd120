/* SPDX-License-Identifier: Apache-2.0 */
/*
 * DOC: Questions
 *
 * A socket whose last bytes went out waits for an answer, as far as anybody can tell; sched_hold.c
 * says what follows. Descriptors beyond the table are not counted: their answers then cost time.
 */
#include "verbs-shim/shim/libc/asked.h"

#include <stddef.h>

#include "verbs-shim/shim/actor.h"

#define FDS 1024

static bool waits[FDS];

static bool is_counted(int fd)
{
    return fd >= 0 && fd < FDS && client_agreed() && client_agreed()->has_launcher;
}

void asked_note(int fd, bool is_out)
{
    if (!is_counted(fd) || (!is_out && !waits[fd]))
        return;
    client_asked(is_out, is_out - waits[fd]);
    waits[fd] = is_out;
}

void asked_closed(int fd)
{
    asked_note(fd, false);
}
