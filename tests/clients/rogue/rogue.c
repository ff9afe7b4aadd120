/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A program that opens its first RDMA device and then misbehaves, for tests of verdicts:
 *   hang   waits in the kernel by a call that nobody interposes
 *   spin   computes for ever
 *   abort  raises SIGABRT
 *   kill   raises SIGKILL
 *   exit   exits with code 7
 *   poll   polls an empty completion queue for ever
 *   watch  the same, and looks at the clock each time, for a timeout that is years away
 *   nap    sleeps a second, over and over
 *   deaf   as watch, and ignores SIGTERM
 *   later-X  sleeps a millisecond, and then does X
 *   write  writes over the memory that it shares with the others
 *   segv, overflow, _exit, atexit
 *          ends by a wild write, a stack that never ends, _exit(7), exit() within exit()
 *   unmap  takes away what it shares with the others, then polls
 *   files  closes all its descriptors behind the C library's back, then polls
 *   quiet  blocks all signals and handles what can be handled, then ends well; quiet-spin computes
 *          for ever instead
 *   daemon leaves its session and its parent, then polls
 *   ring, command, flood, channel, bell
 *          damages its own segment, so that cursors, a command, a full ring or what a thread says
 *          make no sense, or speaks for somebody else's thread; then polls
 * With a second word, `lock`, it does so with the scheduler's lock in its hand.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <infiniband/verbs.h>

#include "verbs-shim/proto/proto.h"

static volatile uint64_t sink;

static void poll_for_ever(struct ibv_context *context)
{
    struct ibv_cq *cq = ibv_create_cq(context, 16, NULL, NULL, 0);
    struct ibv_wc wc;

    while (cq && ibv_poll_cq(cq, 1, &wc) == 0)
        ;
}

static void watch_for_ever(struct ibv_context *context)
{
    struct ibv_cq *cq = ibv_create_cq(context, 16, NULL, NULL, 0);
    struct timespec now = {0};
    struct ibv_wc wc;

    while (cq && ibv_poll_cq(cq, 1, &wc) == 0 && now.tv_sec < INT32_MAX)
        (void)clock_gettime(CLOCK_MONOTONIC, &now);
}

/* Every shared mapping that may be written and is no file of the disk's. */
static void write_over_shared_memory(void)
{
    FILE *maps = fopen("/proc/self/maps", "r");
    char line[512];

    while (maps && fgets(line, sizeof line, maps)) {
        unsigned long start;
        unsigned long end;
        char rights[8];

        if (!strstr(line, "memfd:") || sscanf(line, "%lx-%lx %7s", &start, &end, rights) != 3 ||
            rights[1] != 'w')
            continue;
        /* The first pages hold what everybody reads. */
        memset((void *)start, 0xa5, end - start < 1048576 ? end - start : 1048576);
    }
    if (maps)
        (void)fclose(maps);
}

/* The last mapping of that name. */
static void *find_mapping(const char *name)
{
    FILE *maps = fopen("/proc/self/maps", "r");
    char line[512];
    void *found = NULL;

    while (maps && fgets(line, sizeof line, maps)) {
        unsigned long start;

        if (strstr(line, name) && sscanf(line, "%lx-", &start) == 1)
            found = (void *)start;
    }
    if (maps)
        (void)fclose(maps);
    return found;
}

/* As a thread that is inside the scheduler. */
static void take_lock(void)
{
    struct proto_hub *hub = find_mapping("memfd:tbmesh-hub");
    uint32_t nobody = 0;

    if (!hub)
        exit(3);
    while (!atomic_compare_exchange_weak(&hub->lock, &nobody, (uint32_t)gettid()))
        nobody = 0;
}

static void unmap_all(void)
{
    FILE *maps = fopen("/proc/self/maps", "r");
    unsigned long starts[128];
    unsigned long ends[128];
    size_t count = 0;
    char line[512];

    while (maps && count < 128 && fgets(line, sizeof line, maps)) {
        if (strstr(line, "memfd:tbmesh") &&
            sscanf(line, "%lx-%lx", &starts[count], &ends[count]) == 2)
            count++;
    }
    if (maps)
        (void)fclose(maps);
    while (count-- > 0)
        (void)syscall(SYS_munmap, starts[count], ends[count] - starts[count]);
}

// NOLINTNEXTLINE(misc-no-recursion): until the stack is full
static uint64_t overflow(uint64_t depth)
{
    volatile uint64_t here[512] = {depth};

    if (here[0] == UINT64_MAX)
        return 0; /* never */
    return overflow(depth + 1) + here[depth % 512];
}

typedef long kernel_call(long number, ...);

/* The C library's own `syscall`, not whatever stands before it. */
static kernel_call *unseen(void)
{
    void *library = dlopen("libc.so.6", RTLD_NOW);
    void *address = library ? dlsym(library, "syscall") : NULL;
    kernel_call *call;

    if (!address)
        exit(3);
    memcpy(&call, &address, sizeof call);
    return call;
}

static void exit_again(void)
{
    exit(7);
}

static void ignore(int number)
{
    (void)number;
}

/* Every handler and every mask that a program may have. */
static void be_quiet(void)
{
    struct sigaction action = {.sa_handler = ignore};
    sigset_t all;

    for (int number = 1; number < NSIG; number++)
        (void)sigaction(number, &action, NULL);
    (void)sigfillset(&all);
    (void)sigprocmask(SIG_BLOCK, &all, NULL);
    (void)alarm(1);
}

static void *find_segment(void)
{
    return find_mapping("memfd:tbmesh-segment");
}

/* Ends the process, if it is a way of ending. */
static void end(const char *how)
{
    if (strcmp(how, "abort") == 0)
        abort();
    if (strcmp(how, "kill") == 0)
        (void)raise(SIGKILL);
    if (strcmp(how, "segv") == 0)
        *(volatile int *)(uintptr_t)8 = 1;
    if (strcmp(how, "overflow") == 0)
        sink = overflow(0);
    if (strcmp(how, "exit") == 0)
        exit(7);
    if (strcmp(how, "_exit") == 0)
        _exit(7);
    if (strcmp(how, "atexit") == 0) {
        (void)atexit(exit_again);
        exit(0);
    }
}

/* Tells the conductor that an actor has parked: the life line is the first socket from 500 on. */
static void ring_bell(uint32_t actor)
{
    const struct proto_bell bell = {.why = PROTO_BELL_PARKED, .actor = actor};

    (void)syscall(SYS_sendto, 500, &bell, sizeof bell, MSG_NOSIGNAL, NULL, 0);
}

static void spoil(const char *how)
{
    struct proto_segment *segment = find_segment();
    struct proto_cursors *ring = segment ? &segment->command_ring : NULL;
    uint32_t own = segment ? segment->agreed.client * PROTO_CLIENT_ACTORS : 0;

    if (!ring)
        exit(3);
    if (strcmp(how, "ring") == 0) {
        atomic_fetch_add(&ring->head, 5);
        atomic_fetch_add(&ring->tail, 5);
    } else if (strcmp(how, "command") == 0) {
        segment->commands[atomic_load(&ring->tail) % PROTO_COMMANDS] =
            (struct proto_command){.actor = own, .t = -1};
        atomic_fetch_add(&ring->tail, 1);
    } else if (strcmp(how, "flood") == 0) {
        atomic_fetch_add(&ring->tail, PROTO_COMMANDS + 1);
    } else if (strcmp(how, "channel") == 0) {
        segment->chan[0].park = PROTO_PARK_COUNT;
        ring_bell(own);
    } else {
        ring_bell(own + PROTO_CLIENT_ACTORS);
    }
}

static bool spoils(const char *how)
{
    static const char *const names[] = {"ring", "command", "flood", "channel", "bell"};

    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        if (strcmp(how, names[i]) == 0)
            return true;
    }
    return false;
}

/* What leaves a process that goes on to poll. True: done. */
static bool withdraw(const char *how)
{
    if (strcmp(how, "unmap") == 0)
        unmap_all();
    else if (strcmp(how, "files") == 0)
        (void)unseen()(SYS_close_range, 3, ~0U, 0);
    else if (strcmp(how, "daemon") != 0 || daemon(1, 1) != 0)
        return false;
    return true;
}

int main(int argc, char **argv)
{
    const char *how = argc > 1 ? argv[1] : "";
    struct ibv_device **list = ibv_get_device_list(NULL);
    struct ibv_context *context = list && list[0] ? ibv_open_device(list[0]) : NULL;

    if (!context)
        return 3;
    if (strncmp(how, "later-", 6) == 0) {
        (void)usleep(1000);
        how += 6;
    }
    if (argc > 2 && strcmp(argv[2], "lock") == 0)
        take_lock();
    end(how);
    if (strncmp(how, "quiet", strlen("quiet")) == 0)
        be_quiet();
    if (withdraw(how))
        poll_for_ever(context);
    else if (strcmp(how, "hang") == 0)
        (void)unseen()(SYS_ppoll, NULL, 0, NULL, NULL, 0);
    else if (strcmp(how, "spin") == 0 || strcmp(how, "quiet-spin") == 0)
        for (;;)
            sink++;
    else if (strcmp(how, "poll") == 0)
        poll_for_ever(context);
    else if (strcmp(how, "watch") == 0)
        watch_for_ever(context);
    else if (strcmp(how, "nap") == 0)
        while (sleep(1) == 0)
            ;
    else if (strcmp(how, "deaf") == 0 && signal(SIGTERM, SIG_IGN) != SIG_ERR)
        watch_for_ever(context);
    else if (strcmp(how, "write") == 0)
        write_over_shared_memory();
    else if (spoils(how)) {
        spoil(how);
        poll_for_ever(context);
    }
    (void)ibv_close_device(context);
    return 0;
}
