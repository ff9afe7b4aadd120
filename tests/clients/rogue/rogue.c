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
 *   ring, command, flood, channel, bell
 *          damages its own segment, so that cursors, a command, a full ring or what a thread says
 *          make no sense, or speaks for somebody else's thread; then polls
 */
#define _GNU_SOURCE
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

/* The own segment of a process that maps no other. */
static struct proto_segment *find_segment(void)
{
    FILE *maps = fopen("/proc/self/maps", "r");
    char line[512];
    struct proto_segment *found = NULL;

    while (maps && fgets(line, sizeof line, maps)) {
        unsigned long start;

        if (strstr(line, "memfd:tbmesh-segment") && sscanf(line, "%lx-", &start) == 1)
            found = (void *)start;
    }
    if (maps)
        (void)fclose(maps);
    return found;
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
    if (strcmp(how, "hang") == 0)
        (void)syscall(SYS_ppoll, NULL, 0, NULL, NULL, 0);
    else if (strcmp(how, "spin") == 0)
        for (;;)
            sink++;
    else if (strcmp(how, "abort") == 0)
        abort();
    else if (strcmp(how, "kill") == 0)
        (void)raise(SIGKILL);
    else if (strcmp(how, "exit") == 0)
        return 7;
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
