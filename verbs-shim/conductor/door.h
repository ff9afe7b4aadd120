/* SPDX-License-Identifier: Apache-2.0 */
/* Where clients come in: an abstract socket that only this user's processes may use. */
#ifndef VERBS_SHIM_CONDUCTOR_DOOR_H
#define VERBS_SHIM_CONDUCTOR_DOOR_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "sim/base/err.h"
#include "verbs-shim/conductor/memory.h"
#include "verbs-shim/proto/proto.h"

#define DOOR_NAME_MAX 64

struct door {
    int fd;
    char name[DOOR_NAME_MAX]; /* without the NUL in front */
};

/* `name` tells runs apart and cannot be guessed. */
bool door_open(struct door *ret, const char *name, struct err *reterr);
void door_close(struct door *door);

/* The next caller, whose user is ours; -1: nobody, or somebody else. */
int door_accept(const struct door *door, pid_t *ret_pid);

/* Reads what a caller says first; false: nonsense, hang up. */
bool door_read_hello(int fd, struct proto_hello *ret);

/* Lets the caller in as the client: numbers, then descriptors. False: it hung up. */
bool door_welcome(int fd, uint32_t client, bool is_inline, const struct memory *memory);
void door_refuse(int fd, int status, const char *why);

#endif
