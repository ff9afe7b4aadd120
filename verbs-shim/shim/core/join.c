/* SPDX-License-Identifier: Apache-2.0 */
/*
 * DOC: Joining
 *
 * A process of a run finds the conductor's socket in its environment. It joins when it is clear
 * that it will use verbs: at start if one of its objects is linked against libibverbs, UCX or an
 * MPI, else when it loads a verbs library or makes its first verbs call. Shells, launchers and
 * tools that merely inherit the environment never do, and notice nothing.
 *
 * Joining waits until every rank is there; then the clock stands at zero for all of them.
 */
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "verbs-shim/proto/proto.h"
#include "verbs-shim/sched/sched.h"
#include "verbs-shim/shim/actor.h"
#include "verbs-shim/shim/core/client.h"
#include "verbs-shim/shim/core/sys.h"
#include "verbs-shim/shim/guest.h"
#include "verbs-shim/shim/tsc_hook.h"

#define LINE_FROM 500 /* far above the numbers that programs expect for their own files */

enum join_state {
    JOIN_NOT_YET,
    JOIN_DONE,
    JOIN_REFUSED
};

struct client client;
static _Atomic int join_state;

const struct proto_agreed *client_agreed(void)
{
    return client.segment ? &client.segment->agreed : NULL;
}

bool client_is_joined(void)
{
    return atomic_load_explicit(&join_state, memory_order_acquire) == JOIN_DONE;
}

int client_line(void)
{
    return client_is_joined() ? client.socket : -1;
}

void client_move_line(void)
{
    int moved = fcntl(client.socket, F_DUPFD_CLOEXEC, LINE_FROM);

    if (moved < 0)
        moved = fcntl(client.socket, F_DUPFD_CLOEXEC, 3);
    if (moved < 0)
        return;
    sys_close(client.socket);
    client.socket = moved;
}

void client_ring(enum proto_bell_why why, uint32_t actor)
{
    const struct proto_bell bell = {.why = (uint32_t)why, .actor = actor};

    sys_send(client.socket, &bell, sizeof bell);
}

static bool refuse(const char *why)
{
    atomic_store_explicit(&join_state, JOIN_REFUSED, memory_order_release);
    /* The others must not wait for it. */
    if (client.socket > 0)
        sys_close(client.socket);
    client.socket = -1;
    if (why)
        shim_log("cannot join the simulation: %s", why);
    return false;
}

bool client_find_rank(uint32_t *ret)
{
    static const char *const names[] = {PROTO_ENV_RANK, "OMPI_COMM_WORLD_RANK", "PMIX_RANK",
                                        "PMI_RANK"};

    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        const char *text = getenv(names[i]); // NOLINT(concurrency-mt-unsafe): start-up
        char *end;
        unsigned long rank;

        if (!text || !*text)
            continue;
        rank = strtoul(text, &end, 10);
        if (*end || rank >= PROTO_RANKS_MAX)
            return false;
        *ret = (uint32_t)rank;
        return true;
    }
    return false;
}

/* Connects the life line. */
static int dial(const char *name)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    size_t length = strlen(name);
    int low;
    int fd;

    if (length >= sizeof address.sun_path - 1) {
        errno = ENAMETOOLONG;
        return -1;
    }
    memcpy(address.sun_path + 1, name, length);
    low = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
    if (low < 0)
        return -1;
    fd = fcntl(low, F_DUPFD_CLOEXEC, LINE_FROM);
    if (fd < 0)
        fd = low; /* few descriptors are allowed */
    else
        sys_close(low);
    if (connect(fd, (const struct sockaddr *)&address,
                (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + length)) == 0)
        return fd;
    low = errno;
    sys_close(fd);
    errno = low;
    return -1;
}

/* Receives the next descriptors, at most PROTO_FDS_A_MESSAGE; returns how many, 0 and errno if
 * there are none. */
static uint32_t receive_fds(int fd, int fds[PROTO_FDS_A_MESSAGE])
{
    union {
        struct cmsghdr align;
        char bytes[CMSG_SPACE(PROTO_FDS_A_MESSAGE * sizeof(int))];
    } control;
    char byte;
    struct iovec part = {.iov_base = &byte, .iov_len = 1};
    struct msghdr message = {.msg_iov = &part,
                             .msg_iovlen = 1,
                             .msg_control = control.bytes,
                             .msg_controllen = sizeof control.bytes};
    const struct cmsghdr *head;
    uint32_t count = 0;

    if (recvmsg(fd, &message, MSG_CMSG_CLOEXEC) != 1)
        return 0;
    head = CMSG_FIRSTHDR(&message);
    if (head && head->cmsg_type == SCM_RIGHTS) {
        count = (uint32_t)((head->cmsg_len - CMSG_LEN(0)) / sizeof(int));
        memcpy(fds, CMSG_DATA(head), count * sizeof(int));
    }
    errno = EPROTO;
    if (!(message.msg_flags & MSG_CTRUNC))
        return count;
    /* Some did not fit into the process. */
    while (count > 0)
        sys_close(fds[--count]);
    errno = EMFILE;
    return 0;
}

static void *map(int fd, size_t bytes, int rights)
{
    void *p = mmap(NULL, bytes, rights, MAP_SHARED | MAP_NORESERVE, fd, 0);
    int error = errno;

    sys_close(fd);
    errno = error;
    return p == MAP_FAILED ? NULL : p;
}

/* Maps the descriptor that comes at this place of the order in proto.h. */
static bool map_one(const struct proto_welcome *welcome, uint32_t place, int fd)
{
    uint32_t own = welcome->client;
    uint32_t heads = welcome->is_inline ? 1 : 0;
    uint32_t segments = welcome->is_inline ? welcome->client_count : 1;

    if (place < heads) {
        client.hub = map(fd, welcome->hub_bytes, PROT_READ | PROT_WRITE);
        // NOLINTNEXTLINE(bugprone-casting-through-void): the block is aligned to a page
        client.view.sched = (void *)((char *)client.hub + PROTO_HUB_BYTES);
        return client.hub != NULL;
    }
    place -= heads;
    if (place < segments) {
        struct proto_segment *segment =
            map(fd, sizeof(struct proto_segment), PROT_READ | PROT_WRITE);

        client.view.segments[welcome->is_inline ? place : own] = segment;
        return segment != NULL;
    }
    place -= segments;
    client.peer_arenas[place] =
        map(fd, PROTO_ARENA_BYTES, place == own ? PROT_READ | PROT_WRITE : PROT_READ);
    if (place == own)
        // NOLINTNEXTLINE(performance-no-int-to-ptr): only the own one may be written
        client.arena = (uint8_t *)(uintptr_t)client.peer_arenas[place];
    return client.peer_arenas[place] != NULL;
}

/* Maps what the welcome brings. False: errno. */
static bool map_all(const struct proto_welcome *welcome)
{
    int fds[PROTO_FDS_A_MESSAGE];
    uint32_t place = 0;

    while (place < welcome->fd_count) {
        uint32_t count = receive_fds(client.socket, fds);

        if (count == 0)
            return false;
        for (uint32_t i = 0; i < count; i++) {
            if (place == welcome->fd_count || !map_one(welcome, place, fds[i]))
                return false;
            place++;
        }
    }
    client.segment = client.view.segments[welcome->client];
    errno = EPROTO;
    return client.segment->agreed.magic == PROTO_MAGIC &&
           client.segment->agreed.version == PROTO_VERSION;
}

/* Says what this process lacks to take part. */
static bool refuse_for(int error, const struct proto_welcome *welcome)
{
    struct rlimit limit = {0};

    if (error == EMFILE) {
        (void)getrlimit(RLIMIT_NOFILE, &limit);
        shim_log("it may open %lu files (ulimit -n); 64 more than the program's own are enough",
                 (unsigned long)limit.rlim_cur);
        return refuse("too few file descriptors");
    }
    if (error == ENOMEM) {
        (void)getrlimit(RLIMIT_AS, &limit);
        shim_log("it needs %u GiB of addresses and hardly any memory (ulimit -v%s)",
                 welcome->client_count + 1,
                 limit.rlim_cur == RLIM_INFINITY ? " is unlimited" : " allows less");
        return refuse("shared memory cannot be mapped");
    }
    return refuse(error == EPROTO ? "another version of the conductor answers"
                                  : "the conductor is gone");
}

static bool is_sane(const struct proto_welcome *welcome)
{
    uint32_t count = welcome->client_count;
    uint32_t segments = welcome->is_inline ? 1 + count : 1;

    return welcome->magic == PROTO_MAGIC && welcome->version == PROTO_VERSION &&
           count <= PROTO_CLIENTS_MAX && welcome->client < count &&
           welcome->fd_count == segments + count;
}

static bool join(const char *name)
{
    struct proto_hello hello = {.magic = PROTO_MAGIC, .version = PROTO_VERSION};
    struct proto_welcome welcome = {0};

    if (!client_find_rank(&hello.rank))
        return refuse("no rank in the environment (" PROTO_ENV_RANK ")");
    strncpy(hello.program, program_invocation_short_name, sizeof hello.program - 1);
    client.socket = dial(name);
    if (client.socket < 0)
        return refuse_for(errno, &welcome);
    if (send(client.socket, &hello, sizeof hello, MSG_NOSIGNAL) != (ssize_t)sizeof hello ||
        recv(client.socket, &welcome, sizeof welcome, 0) != (ssize_t)sizeof welcome)
        return refuse("the conductor does not answer");
    if (welcome.status) {
        welcome.why[sizeof welcome.why - 1] = '\0';
        return refuse(welcome.why);
    }
    if (!is_sane(&welcome))
        return refuse_for(EPROTO, &welcome);
    client.number = welcome.client;
    client.client_count = welcome.client_count;
    if (!map_all(&welcome))
        return refuse_for(errno, &welcome);
    atomic_store_explicit(&join_state, JOIN_DONE, memory_order_release);
    (void)pthread_atfork(NULL, NULL, client_forget);
    actor_begin(client.number * PROTO_CLIENT_ACTORS);
    actor_name(client.number * PROTO_CLIENT_ACTORS, pthread_self());
    tsc_start();
    return true;
}

bool client_join(void)
{
    static _Atomic int has_begun;
    const char *name;

    if (client_is_joined())
        return true;
    if (atomic_load_explicit(&join_state, memory_order_acquire) == JOIN_REFUSED ||
        atomic_exchange(&has_begun, 1))
        return false;
    name = getenv(PROTO_ENV_SOCKET); // NOLINT(concurrency-mt-unsafe): start-up
    return name && *name ? join(name) : refuse(NULL);
}

void client_forget(void)
{
    atomic_store_explicit(&join_state, JOIN_REFUSED, memory_order_release);
    client_serve_inbox(NULL);
    actor_forget();
    if (client.socket > 0)
        sys_close(client.socket);
    memset(&client, 0, sizeof client);
}

/* Programs that start others and never use verbs themselves, though a library of theirs may. */
static bool is_launcher(void)
{
    static const char *const names[] = {"sh",
                                        "bash",
                                        "dash",
                                        "zsh",
                                        "env",
                                        "timeout",
                                        "nice",
                                        "nohup",
                                        "stdbuf",
                                        "setsid",
                                        "taskset",
                                        "numactl",
                                        "time",
                                        "strace",
                                        "ltrace",
                                        "gdb",
                                        "perf",
                                        "mpirun",
                                        "mpiexec",
                                        "orterun",
                                        "orted",
                                        "prterun",
                                        "prted",
                                        "hydra_pmi_proxy",
                                        "mpiexec.hydra",
                                        "mpirun.openmpi",
                                        "mpiexec.openmpi",
                                        "mpirun.mpich",
                                        "mpiexec.mpich",
                                        "srun"};

    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        if (strcmp(program_invocation_short_name, names[i]) == 0)
            return true;
    }
    return false;
}

/* Verbs, and libraries that load them later, after they have talked to other ranks. */
static bool is_verbs_name(const char *name)
{
    static const char *const libraries[] = {"libibverbs.so", "libuct.so", "libucp.so", "libmpi.so",
                                            "libmpich.so"};
    const char *slash = strrchr(name, '/');

    for (size_t i = 0; i < sizeof libraries / sizeof libraries[0]; i++) {
        if (strncmp(slash ? slash + 1 : name, libraries[i], strlen(libraries[i])) == 0)
            return true;
    }
    return false;
}

/* Stops at an object that needs libibverbs. */
static int needs_verbs(struct dl_phdr_info *info, size_t size, void *ctx)
{
    const ElfW(Dyn) *dynamic = NULL;
    const char *strings = NULL;

    (void)size;
    (void)ctx;
    for (int i = 0; i < info->dlpi_phnum; i++) {
        if (info->dlpi_phdr[i].p_type == PT_DYNAMIC)
            // NOLINTNEXTLINE(performance-no-int-to-ptr): the loader gives addresses as numbers
            dynamic = (const void *)(info->dlpi_addr + info->dlpi_phdr[i].p_vaddr);
    }
    for (const ElfW(Dyn) *d = dynamic; d && d->d_tag != DT_NULL; d++) {
        if (d->d_tag == DT_STRTAB)
            // NOLINTNEXTLINE(performance-no-int-to-ptr): the loader has made it an address
            strings = (const char *)d->d_un.d_ptr;
    }
    for (const ElfW(Dyn) *d = dynamic; strings && d && d->d_tag != DT_NULL; d++) {
        if (d->d_tag == DT_NEEDED && is_verbs_name(strings + d->d_un.d_val))
            return 1;
    }
    return 0;
}

__attribute__((constructor)) static void on_load(void)
{
    const char *cpus = getenv(PROTO_ENV_CPUS); // NOLINT(concurrency-mt-unsafe): start-up

    if (!getenv(PROTO_ENV_SOCKET)) // NOLINT(concurrency-mt-unsafe): start-up
        return;
    if (cpus)
        sys_unsettle_child(cpus);
    if (is_launcher())
        (void)refuse(NULL);
    else if (dl_iterate_phdr(needs_verbs, NULL))
        (void)client_join();
}

__attribute__((destructor)) static void on_unload(void)
{
    client_leave();
}
