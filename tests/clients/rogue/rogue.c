/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A program that opens its first RDMA device and then misbehaves, for tests of verdicts:
 *   hang   waits in the kernel by a call that nobody interposes
 *   spin   computes for ever
 *   abort  raises SIGABRT
 *   kill   raises SIGKILL
 *   exit   exits with code 7
 *   poll   polls an empty completion queue for ever
 *   write  writes over the memory that it shares with the others
 */
#define _GNU_SOURCE
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <infiniband/verbs.h>

static volatile uint64_t sink;

static void poll_for_ever(struct ibv_context *context)
{
    struct ibv_cq *cq = ibv_create_cq(context, 16, NULL, NULL, 0);
    struct ibv_wc wc;

    while (cq && ibv_poll_cq(cq, 1, &wc) == 0)
        ;
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

int main(int argc, char **argv)
{
    const char *how = argc > 1 ? argv[1] : "";
    struct ibv_device **list = ibv_get_device_list(NULL);
    struct ibv_context *context = list && list[0] ? ibv_open_device(list[0]) : NULL;

    if (!context)
        return 3;
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
    else if (strcmp(how, "write") == 0)
        write_over_shared_memory();
    (void)ibv_close_device(context);
    return 0;
}
