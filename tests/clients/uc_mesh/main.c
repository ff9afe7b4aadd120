/* SPDX-License-Identifier: Apache-2.0 */
/*
 * DOC: uc_mesh
 *
 * Collectives between 2 to 8 computers over UC SEND and RECV, with MLX JACCL's buffer rules and
 * environment variables; plain verbs, so that the same source runs on Thunderbolt RDMA of Macs:
 *
 *   cc -std=c17 -O2 -D_DARWIN_C_SOURCE -I. tests/clients/uc_mesh/ *.c -lrdma -o uc_mesh
 *
 * Every repetition is timed on its own by the monotonic clock; filling and comparing the data are
 * outside. Ranks meet on the TCP side channel before and after each size, never within one.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "tests/clients/uc_mesh/collective.h"
#include "tests/clients/uc_mesh/data.h"
#include "tests/clients/uc_mesh/fault.h"
#include "tests/clients/uc_mesh/group.h"
#include "tests/clients/uc_mesh/matrix.h"
#include "tests/clients/uc_mesh/options.h"
#include "tests/clients/uc_mesh/pool.h"
#include "tests/clients/uc_mesh/side.h"

enum exit_code {
    EXIT_RIGHT,
    EXIT_WRONG,
    EXIT_USE,
    EXIT_CALL
};

/* What one rank found for one size. */
struct result {
    uint64_t median_ns;
    uint64_t min_ns;
    uint64_t max_ns;
    uint64_t wrong; /* elements, over all checked repetitions */
};

struct program {
    struct options options;
    struct matrix matrix;
    struct side side;
    struct group group;
    struct pool pool;
    struct fault fault;
};

static uint64_t now_ns(void)
{
    struct timespec now = {0, 0};

    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000U + (uint64_t)now.tv_nsec;
}

static int compare_u64(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a;
    uint64_t y = *(const uint64_t *)b;

    return (x > y) - (x < y);
}

static void check(struct program *p, const struct collective *c, uint32_t repetition,
                  struct result *result)
{
    uint64_t first = 0;
    uint64_t wrong = data_check(c, repetition, &first);

    if (wrong && !result->wrong)
        (void)fprintf(stderr,
                      "uc_mesh: rank %u: repetition %" PRIu32 ": %" PRIu64
                      " elements are wrong, the first at %" PRIu64 "\n",
                      p->options.rank, repetition, wrong, first);
    result->wrong += wrong;
}

/* All repetitions of one size; spans[repeat] is for the times. */
static bool measure(struct program *p, struct collective *c, uint64_t *spans, struct result *ret)
{
    const struct options *o = &p->options;

    *ret = (struct result){0};
    for (uint32_t i = 0; i < o->warmup + o->repeat; i++) {
        bool has_data = i == 0 || !o->fills_once;
        bool is_last = i + 1 == o->warmup + o->repeat;
        uint64_t begin;

        if (has_data)
            data_fill(c, i);
        begin = now_ns();
        if (!collective_run(c, &p->fault))
            return false;
        if (i >= o->warmup)
            spans[i - o->warmup] = now_ns() - begin;
        if (has_data && (o->checks_all || o->fills_once || is_last))
            check(p, c, i, ret);
    }
    qsort(spans, o->repeat, sizeof *spans, compare_u64);
    ret->median_ns = spans[(o->repeat - 1) / 2];
    ret->min_ns = spans[0];
    ret->max_ns = spans[o->repeat - 1];
    return true;
}

static double gbps(uint64_t bytes, uint64_t span_ns)
{
    return span_ns ? 8.0 * (double)bytes / (double)span_ns : 0.0;
}

static void print_tsv(const struct program *p, uint64_t bytes, const struct result *all)
{
    const struct options *o = &p->options;

    for (unsigned r = 0; r < p->group.ranks; r++)
        printf("%s\t%s\t%u\t%u\t%s\t%u\t%" PRIu64 "\t%" PRIu32 "\t%" PRIu64 "\t%" PRIu64
               "\t%" PRIu64 "\t%.3f\t%s\n",
               options_op_name(o->op), p->group.is_ring ? "ring" : "mesh", p->group.ranks,
               p->group.wire_count, o->dtype == DTYPE_INT32 ? "int32" : "float32", r, bytes,
               o->repeat, all[r].median_ns, all[r].min_ns, all[r].max_ns,
               gbps(bytes, all[r].median_ns), all[r].wrong ? "wrong" : "ok");
}

/* The slowest rank's figures. */
static void print_text(const struct program *p, uint64_t bytes, const struct result *all)
{
    struct result worst = {0};

    for (unsigned r = 0; r < p->group.ranks; r++) {
        if (all[r].median_ns > worst.median_ns)
            worst.median_ns = all[r].median_ns;
        if (all[r].min_ns > worst.min_ns)
            worst.min_ns = all[r].min_ns;
        if (all[r].max_ns > worst.max_ns)
            worst.max_ns = all[r].max_ns;
        worst.wrong += all[r].wrong;
    }
    printf("%10" PRIu64 " B  median %11.3f us  min %11.3f us  max %11.3f us  %8.3f Gb/s  %s\n",
           bytes, (double)worst.median_ns / 1e3, (double)worst.min_ns / 1e3,
           (double)worst.max_ns / 1e3, gbps(bytes, worst.median_ns), worst.wrong ? "wrong" : "ok");
}

static void print_head(const struct program *p)
{
    if (p->options.is_tsv)
        printf("op\ttopology\tranks\twires\tdtype\trank\tbytes\trepeat\tmedian_ns\tmin_ns\tmax_ns\t"
               "gbps\tdata\n");
    else
        printf("%s, %s of %u ranks, %u wire%s, %s, %" PRIu32 " repetitions, slowest rank\n",
               options_op_name(p->options.op), p->group.is_ring ? "ring" : "mesh", p->group.ranks,
               p->group.wire_count, p->group.wire_count == 1 ? "" : "s",
               p->options.dtype == DTYPE_INT32 ? "int32" : "float32", p->options.repeat);
}

/* One size on all ranks; adds wrong elements of anybody. */
static bool run_size(struct program *p, uint64_t bytes, uint64_t *wrong)
{
    const struct options *o = &p->options;
    unsigned parts = o->op == OP_ALL_GATHER ? p->group.ranks : 1;
    struct collective c = {
        .group = &p->group,
        .pool = p->pool.count > 0 ? &p->pool : NULL,
        .op = o->op,
        .dtype = o->dtype,
        .class_max = o->has_small_buffers ? 0 : WIRE_CLASSES - 1,
        .elements = bytes / DTYPE_BYTES,
        .input = malloc((size_t)bytes),
        .output = malloc((size_t)bytes * parts),
    };
    uint64_t *spans = calloc(o->repeat, sizeof *spans);
    struct result mine;
    struct result all[MATRIX_RANK_MAX];
    bool ok = c.input && c.output && spans;

    if (!ok)
        (void)fault_set(&p->fault, "out of memory");
    ok = ok && side_barrier(&p->side, &p->fault) && measure(p, &c, spans, &mine) &&
         side_all_gather(&p->side, &mine, all, sizeof mine, &p->fault);
    for (unsigned r = 0; ok && r < p->group.ranks; r++)
        *wrong += all[r].wrong;
    if (ok && o->rank == 0)
        (o->is_tsv ? print_tsv : print_text)(p, bytes, all);
    free(spans);
    free(c.output);
    free(c.input);
    return ok;
}

static bool run_sizes(struct program *p, uint64_t *ret_wrong)
{
    *ret_wrong = 0;
    if (p->options.rank == 0)
        print_head(p);
    for (unsigned i = 0; i < p->options.size_count; i++) {
        if (!run_size(p, p->options.sizes[i], ret_wrong))
            return false;
    }
    return true;
}

static bool prepare(struct program *p)
{
    const struct options *o = &p->options;

    if (!matrix_load(o->matrix_path, &p->matrix, &p->fault))
        return false;
    if (o->rank >= p->matrix.ranks)
        return fault_set(&p->fault, "rank %u of a device matrix of %u", o->rank, p->matrix.ranks);
    return side_open(&p->side, o->rank, p->matrix.ranks, o->coordinator, &p->fault) &&
           group_open(&p->group, &p->matrix, o->is_ring, o->wires, &p->side, &p->fault) &&
           pool_open(&p->pool, p->group.wire_count - 1, &p->fault);
}

static enum exit_code run(struct program *p)
{
    uint64_t wrong = 0;
    bool ok = prepare(p) && run_sizes(p, &wrong);

    /* A thread that polls for a peer that failed never ends: the process does. */
    if (ok)
        pool_close(&p->pool);
    ok = group_close(&p->group, &p->fault) && ok;
    side_close(&p->side);
    if (!ok)
        return EXIT_CALL;
    return wrong ? EXIT_WRONG : EXIT_RIGHT;
}

int main(int argc, char **argv)
{
    static struct program program;
    enum exit_code code = EXIT_USE;

    if (!options_read(argc, argv, &program.options, &program.fault)) {
        (void)fprintf(stderr, "uc_mesh: %s\n", program.fault.text);
        return EXIT_USE;
    }
    if (program.options.is_help) {
        (void)fputs(options_usage, stdout);
        return EXIT_RIGHT;
    }
    for (unsigned i = 0; i < MATRIX_RANK_MAX; i++)
        program.side.fds[i] = -1;
    code = run(&program);
    if (code == EXIT_CALL)
        (void)fprintf(stderr, "uc_mesh: rank %u: %s\n", program.options.rank, program.fault.text);
    return (int)code;
}
