/* SPDX-License-Identifier: Apache-2.0 */
/*
 * DOC: Shared memory
 *
 * Anonymous files whose size is sealed, so that no client can make another one's mapping fault.
 * Pages come into being when they are touched: an arena of 1 GiB costs what is under way in it. A
 * peer gets a descriptor of an arena that cannot write; the file's mode keeps it from opening a
 * better one through /proc.
 */
#define _GNU_SOURCE

#include "verbs-shim/conductor/memory.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "verbs-shim/conductor/lack.h"

/* A file of that size; -1 and errno. */
static int make_file(const char *name, size_t bytes)
{
    int fd = memfd_create(name, MFD_CLOEXEC | MFD_ALLOW_SEALING);

    if (fd < 0)
        return -1;
    if (ftruncate(fd, (off_t)bytes) != 0) {
        (void)close(fd);
        return -1;
    }
    /* Kernels without seals still have the size that we gave. */
    (void)fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW);
    return fd;
}

static void *map_file(int fd, size_t bytes)
{
    void *p = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, fd, 0);

    return p == MAP_FAILED ? NULL : p;
}

static int open_for_reading(int fd)
{
    char path[40];

    (void)snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    return open(path, O_RDONLY | O_CLOEXEC);
}

static bool make_client(struct memory *m, uint32_t client, struct err *reterr)
{
    m->segment_fds[client] = make_file("tbmesh-segment", sizeof(struct proto_segment));
    if (m->segment_fds[client] < 0)
        return lack_report("shared memory for a segment", reterr);
    m->view.segments[client] = map_file(m->segment_fds[client], sizeof(struct proto_segment));
    if (!m->view.segments[client])
        return lack_report("mapping a segment", reterr);
    m->arena_fds[client] = make_file("tbmesh-arena", PROTO_ARENA_BYTES);
    if (m->arena_fds[client] < 0)
        return lack_report("shared memory for an arena", reterr);
    m->arena_read_fds[client] = open_for_reading(m->arena_fds[client]);
    if (m->arena_read_fds[client] < 0)
        return lack_report("opening an arena for reading", reterr);
    (void)fchmod(m->arena_fds[client], S_IRUSR);
    return true;
}

bool memory_make(struct memory *ret, size_t sched_bytes, uint32_t client_count, struct err *reterr)
{
    const size_t page = (size_t)sysconf(_SC_PAGESIZE);

    memset(ret, 0, sizeof *ret);
    ret->client_count = client_count;
    ret->hub_fd = -1;
    for (uint32_t i = 0; i < client_count; i++)
        ret->segment_fds[i] = ret->arena_fds[i] = ret->arena_read_fds[i] = -1;
    ret->hub_bytes = (PROTO_HUB_BYTES + sched_bytes + page - 1) / page * page;
    ret->hub_fd = make_file("tbmesh-hub", ret->hub_bytes);
    if (ret->hub_fd < 0)
        return lack_report("shared memory for the hub", reterr);
    ret->hub = map_file(ret->hub_fd, ret->hub_bytes);
    if (!ret->hub)
        return lack_report("mapping the hub", reterr);
    for (uint32_t i = 0; i < client_count; i++) {
        if (!make_client(ret, i, reterr))
            return false;
    }
    return true;
}

static void close_one(int fd)
{
    if (fd >= 0)
        (void)close(fd);
}

void memory_done(struct memory *memory)
{
    for (uint32_t i = 0; i < memory->client_count; i++) {
        close_one(memory->segment_fds[i]);
        close_one(memory->arena_fds[i]);
        close_one(memory->arena_read_fds[i]);
        if (memory->view.segments[i])
            (void)munmap(memory->view.segments[i], sizeof(struct proto_segment));
    }
    if (memory->hub)
        (void)munmap(memory->hub, memory->hub_bytes);
    close_one(memory->hub_fd);
    memset(memory, 0, sizeof *memory);
    memory->hub_fd = -1;
}
