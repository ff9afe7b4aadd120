/* SPDX-License-Identifier: Apache-2.0 */
/*
 * DOC: uc_conformance
 *
 * What Thunderbolt RDMA of Macs does, case by case, each with the fact and who says so. Plain
 * verbs, so that it runs on hardware as well: on two Macs with one cable,
 *
 *   cc -std=c17 -D_DARWIN_C_SOURCE -I. tests/conformance/ *.c tests/clients/uc_mesh/side.c \
 *       tests/clients/uc_mesh/fault.c -lrdma -o uc_conformance
 *   JACCL_RANK=0 JACCL_COORDINATOR=ip:port ./uc_conformance      and JACCL_RANK=1 on the other
 *
 * Without JACCL_COORDINATOR, or with --alone, only the cases of one rank run. Output is TAP, from
 * rank 0. Exit code: 0 all passed, 1 a case failed, 2 bad use, 3 no device or no other rank.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/conformance/suite.h"

static const struct row_table *const tables[] = {&device_rows, &limit_rows, &state_rows, &post_rows,
                                                 &frame_rows};
#define TABLE_COUNT (sizeof tables / sizeof *tables)

struct options {
    const char *device;
    const char *only;
    enum variant variant;
    bool is_list;
    bool is_alone;
};

static bool read_options(int argc, char **argv, struct options *ret)
{
    *ret = (struct options){.variant = VARIANT_OBSERVED};
    for (int i = 1; i < argc; i++) {
        const char *value = i + 1 < argc ? argv[i + 1] : NULL;

        if (strcmp(argv[i], "--list") == 0)
            ret->is_list = true;
        else if (strcmp(argv[i], "--alone") == 0)
            ret->is_alone = true;
        else if (!value)
            return false;
        else if (strcmp(argv[i], "--only") == 0)
            ret->only = argv[++i];
        else if (strcmp(argv[i], "--device") == 0)
            ret->device = argv[++i];
        else if (strcmp(argv[i], "--variant") == 0 && strcmp(value, "technote") == 0)
            ret->variant = VARIANT_TECHNOTE, i++;
        else if (strcmp(argv[i], "--variant") == 0 && strcmp(value, "observed") == 0)
            ret->variant = VARIANT_OBSERVED, i++;
        else
            return false;
    }
    return true;
}

static bool is_chosen(const struct row *row, const struct options *options)
{
    return (row->variants & options->variant) &&
           (!options->only || strstr(row->name, options->only));
}

static void look_at_port(struct lab *lab)
{
    static const uint8_t mapped[12] = {[10] = 0xff, [11] = 0xff};
    struct ibv_port_attr port = {.lid = 0};

    if (ibv_query_port(lab->context, 1, &port))
        return;
    lab->is_active = port.state == IBV_PORT_ACTIVE;
    lab->lid = port.lid;
    for (int i = 0; i < port.gid_tbl_len && !lab->has_gid; i++)
        lab->has_gid = ibv_query_gid(lab->context, 1, i, &lab->gid) == 0 &&
                       memcmp(lab->gid.raw, mapped, sizeof mapped) == 0;
}

/* The named device, or the first whose port is active. */
static bool open_lab(struct lab *lab, const char *wanted)
{
    int count = 0;
    struct ibv_device **list = ibv_get_device_list(&count);
    void *memory = NULL;

    for (int i = 0; list && i < count && !lab->context; i++) {
        if (wanted && strcmp(wanted, ibv_get_device_name(list[i])) != 0)
            continue;
        lab->context = ibv_open_device(list[i]);
        if (!lab->context)
            continue;
        look_at_port(lab);
        if (wanted || lab->is_active)
            continue;
        (void)ibv_close_device(lab->context);
        lab->context = NULL;
    }
    if (list)
        ibv_free_device_list(list);
    lab->pd = lab->context ? ibv_alloc_pd(lab->context) : NULL;
    if (!lab->pd || posix_memalign(&memory, (size_t)sysconf(_SC_PAGESIZE), SUITE_MEMORY))
        return false;
    lab->memory = memory;
    lab->mr = ibv_reg_mr(lab->pd, memory, SUITE_MEMORY, SUITE_ACCESS);
    return lab->mr != NULL;
}

static void close_lab(struct lab *lab)
{
    if (lab->mr)
        (void)ibv_dereg_mr(lab->mr);
    if (lab->pd)
        (void)ibv_dealloc_pd(lab->pd);
    if (lab->context)
        (void)ibv_close_device(lab->context);
    free(lab->memory);
}

/* Returns: false if the side channel broke; *failed counts. */
static bool run_row(struct test *t, const struct row *row, unsigned number, unsigned *failed)
{
    struct fault fault = {""};
    bool ok;

    t->row = row;
    t->is_over = false;
    t->is_skipped = false;
    memset(t->text, 0, sizeof t->text);
    if (row->ranks == 2 && !t->side)
        test_skip(t, "needs two ranks");
    else
        row->fn(t);
    test_clean(t);
    ok = test_end(t, &fault);
    if (!ok)
        (void)snprintf(t->text, sizeof t->text, "%.190s", fault.text);
    *failed += !ok || (t->text[0] && !t->is_skipped);
    if (t->rank == 0 || !t->side) {
        printf("%sok %u - %s: %s [%s]%s%s\n", t->text[0] && !t->is_skipped ? "not " : "", number,
               row->name, row->fact, row->source, t->is_skipped ? " # SKIP " : "",
               t->is_skipped ? t->text : "");
        if (t->text[0] && !t->is_skipped)
            printf("  # %s\n", t->text);
        (void)fflush(stdout);
    }
    return ok;
}

/* Lists the chosen rows, runs them, or only counts them (t NULL, not a list). */
static unsigned walk(struct test *t, const struct options *options, bool prints, unsigned *failed)
{
    unsigned number = 0;

    for (size_t i = 0; i < TABLE_COUNT; i++) {
        for (size_t k = 0; k < tables[i]->count; k++) {
            const struct row *row = &tables[i]->rows[k];

            if (!is_chosen(row, options))
                continue;
            number++;
            if (prints)
                printf("%s\t%u\t%s\t%s\n", row->name, row->ranks, row->source, row->fact);
            else if (t && !run_row(t, row, number, failed))
                return number;
        }
    }
    return number;
}

int main(int argc, char **argv)
{
    static struct lab lab;
    static struct test t;
    struct options options;
    struct side side;
    struct fault fault = {""};
    unsigned failed = 0;
    // NOLINTNEXTLINE(concurrency-mt-unsafe): there is one thread
    const char *coordinator = getenv("JACCL_COORDINATOR");
    // NOLINTNEXTLINE(concurrency-mt-unsafe): as above
    const char *rank = getenv("JACCL_RANK");

    if (!read_options(argc, argv, &options)) {
        (void)fputs("usage: uc_conformance [--list] [--only TEXT] [--device NAME] [--alone]\n"
                    "                      [--variant observed|technote]\n",
                    stderr);
        return 2;
    }
    if (options.is_list)
        return walk(NULL, &options, true, &failed) ? 0 : 2;
    if (!open_lab(&lab, options.device)) {
        (void)fprintf(stderr, "uc_conformance: no usable device (errno %d)\n", errno);
        return 3;
    }
    t.lab = &lab;
    t.variant = options.variant;
    if (coordinator && rank && !options.is_alone) {
        t.rank = strcmp(rank, "0") != 0;
        if (!side_open(&side, t.rank, 2, coordinator, &fault)) {
            (void)fprintf(stderr, "uc_conformance: %s\n", fault.text);
            return 3;
        }
        t.side = &side;
    }
    if (t.rank == 0)
        printf("1..%u\n", walk(NULL, &options, false, &failed));
    (void)walk(&t, &options, false, &failed);
    if (t.side)
        side_close(&side);
    close_lab(&lab);
    return failed > 0;
}
