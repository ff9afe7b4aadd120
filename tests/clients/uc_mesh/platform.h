/* SPDX-License-Identifier: Apache-2.0 */
/* All that differs between Linux with rdma-core and a Mac with librdma. */
#ifndef TESTS_CLIENTS_UC_MESH_PLATFORM_H
#define TESTS_CLIENTS_UC_MESH_PLATFORM_H

#include <sys/socket.h>

/* Both ship the verbs header under this name. */
#include <infiniband/verbs.h>

/* A write to a closed socket must be an error, not a signal: Linux has a flag of the call, a Mac
 * an option of the socket. */
static inline int platform_send_flags(void)
{
#ifdef __APPLE__
    return 0;
#else
    return MSG_NOSIGNAL;
#endif
}

static inline int platform_quiet_socket(int fd)
{
#ifdef __APPLE__
    int on = 1;

    return setsockopt(fd, SOL_SOCKET, SO_NOSIGPIPE, &on, sizeof on);
#else
    (void)fd;
    return 0;
#endif
}

#endif
